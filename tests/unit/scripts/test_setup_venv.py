"""scripts/setup_venv.sh takes a torch without CUDA, with the real pip and indexes that these tests serve."""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from ophook_npu.npu import installed

ROOT = Path(__file__).parents[3]
CUDA = "Requires-Dist: nvidia-cudnn-cu13==9.20.0.48\n"

# A Python whose virtual environments use this one's pip, and only write down what else than torch is to be installed.
PYTHON = """#!/bin/sh
case "$*" in
    "-m venv "*) "{python}" -m venv --without-pip "$3" && rm "$3/bin/python" && cp "$0" "$3/bin/python" ;;
    "-m pip install -e "*) echo "$*" >>"$(dirname "$0")/installed" ;;
    *" triton=="*) ;;
    "-m pip "*) PYTHONPATH="{pip}" exec "$(dirname "$0")/python3" "$@" ;;
    *) exec "{python}" "$@" ;;
esac
"""


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A URL with three indexes (PEP 503) below it: of torch with CUDA, of torch for the CPU, and of nothing."""
    folder = tmp_path_factory.mktemp("served")
    for index, version, needs in (("cuda", "2.13.0", CUDA), ("cpu", "2.13.0+cpu", ""), ("bare", "", "")):
        page = folder / index / "torch"
        page.mkdir(parents=True)
        name = f"torch-{version}-py3-none-any.whl"
        (page / "index.html").write_text(f'<a href="{name.replace("+", "%2B")}">{name}</a>' if version else "")
        if version:
            _wheel(page / name, version, needs)
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def _wheel(path: Path, version: str, needs: str) -> None:
    info = f"torch-{version}.dist-info"
    said = {
        "METADATA": f"Metadata-Version: 2.1\nName: torch\nVersion: {version}\n{needs}",
        "WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        "RECORD": f"torch/__init__.py,,\n{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n",
    }
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("torch/__init__.py", "")
        for name, text in said.items():
            file.writestr(f"{info}/{name}", text)


def set_up(folder: Path, own: str, index: str, *extras: str) -> subprocess.CompletedProcess[str]:
    python = folder / "base" / "python3"
    python.parent.mkdir(exist_ok=True)
    # Not by importing pip: that takes setuptools' distutils away from all that runs in this process later.
    pip = importlib.metadata.distribution("pip").locate_file("pip")
    if not (python.parent / "pip").exists():
        (python.parent / "pip").symlink_to(Path(str(pip)))
    python.write_text(PYTHON.format(python=sys.executable, pip=python.parent))
    python.chmod(0o755)
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "OPHOOK_"))}
    environ |= {"PIP_CONFIG_FILE": os.devnull, "PIP_NO_CACHE_DIR": "1", "PIP_RETRIES": "0"}
    environ |= {"PYTHON": str(python), "PIP_INDEX_URL": own, "OPHOOK_TORCH_INDEX": index, "NO_PROXY": "*"}
    command = ["bash", str(ROOT / "scripts" / "setup_venv.sh"), str(folder / "venv"), *extras]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env=environ)


@pytest.mark.parametrize("own", ["cpu", "cuda"])
def test_torch_is_a_build_for_the_cpu(served: str, tmp_path: Path, own: str) -> None:
    index = {"cpu": "bare", "cuda": "cpu"}[own]  # one that is not asked, and one that has it
    done = set_up(tmp_path, f"{served}/{own}", f"{served.replace('//', '//me:secret@')}/{index}")
    assert done.returncode == 0, done.stdout + done.stderr
    where = f"{served.replace('//', '//***@')}/cpu (OPHOOK_TORCH_INDEX names another index)"
    said = f"note: for torch==2.13.0 pip finds a build with CUDA; it comes from {where}"
    assert [line for line in done.stdout.splitlines() if line.startswith("note: ")] == [said] * (own == "cuda")
    assert "secret" not in done.stdout + done.stderr
    assert list((tmp_path / "venv").glob("lib/python*/site-packages/torch-2.13.0+cpu.dist-info"))
    assert list((tmp_path / "venv").glob("lib/python*/site-packages/torch/__pycache__"))
    assert (tmp_path / "venv" / "bin" / "installed").read_text().endswith("[npu]\n")


def test_what_is_asked_for_later_is_added(served: str, tmp_path: Path) -> None:
    index = f"{served}/cpu"
    assert set_up(tmp_path, index, index).returncode == 0
    for extras, told in (("test",), "npu,test"), (("capture",), "capture,npu,test"), (("dev",), "capture,dev,npu,test"):
        done = set_up(tmp_path, "http://127.0.0.1:9", "http://127.0.0.1:9", *extras)  # torch is there
        assert done.returncode == 0, done.stdout + done.stderr
        assert (tmp_path / "venv" / "bin" / "installed").read_text().splitlines()[-1].endswith(f"[{told}]")
    before = (tmp_path / "venv" / "bin" / "installed").read_text()
    assert set_up(tmp_path, index, index, "test", "capture").stdout.startswith("complete: ")
    assert (tmp_path / "venv" / "bin" / "installed").read_text() == before


@pytest.mark.parametrize(
    ("own", "index", "found"),
    [
        ("cuda", "cuda", "a build with CUDA"),
        ("bare", "http://127.0.0.1:9", "nothing that fits (ERROR: Could not find a version that satisfies"),
    ],
)
def test_an_index_without_it_is_named(served: str, tmp_path: Path, own: str, index: str, found: str) -> None:
    wanted = index if "//" in index else f"{served}/{index}"
    done = set_up(tmp_path, f"{served}/{own}", wanted)
    assert f"note: for torch==2.13.0 pip finds {found}" in done.stdout
    assert done.returncode == 1 and f"{wanted}: for torch==2.13.0 pip finds {found}" in done.stderr
    assert "allowed: an index with a build of it for the CPU and for Python 3." in done.stderr
    assert "next: see whether this machine reaches it, or set OPHOOK_TORCH_INDEX to another one" in done.stderr
    assert not (tmp_path / "venv" / "ophook-complete").exists()
    assert not list((tmp_path / "venv").glob("lib/python*/site-packages/torch*"))


def test_pages_name_the_index_that_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPHOOK_TORCH_INDEX", raising=False)
    for page in ("docs/ci.md", "docs/ci.zh.md"):
        text = (ROOT / page).read_text(encoding="utf-8")
        assert text.count("PIP_EXTRA_INDEX_URL") == text.count(installed.torch_index()) == 4
