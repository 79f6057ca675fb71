"""The package as it is published: the source distribution and the wheel hold what they need, away from the checkout."""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from environments import Environment

from ophook_npu import __version__, wheel

URL = "https://example.org/ascend/hooks"
CHECKOUT = Path(__file__).resolve().parents[2]


def files_of(folder: Path) -> set[str]:
    """Below the checkout, as git knows them (also those that are not yet added)."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", str(folder)]
    listed = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=True).stdout.split("\n")
    return {name for name in listed if name and (CHECKOUT / name).is_file()}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What is in git."""
    copy = tmp_path_factory.mktemp("checkout")
    for name in files_of(CHECKOUT):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(CHECKOUT / name, copy / name)
    return copy


def build(tree: Path, out: Path, umask: int = 0o022) -> tuple[Path, Path]:
    """The source distribution, and the wheel made of it, as a release makes them."""
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(tree)]
    environ = {**os.environ, "OPHOOK_PROJECT_URL": URL}
    subprocess.run(command, check=True, capture_output=True, env=environ, umask=umask)
    return next(out.glob("*.tar.gz")), next(out.glob("*.whl"))


@pytest.fixture(scope="module")
def built(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return build(tree, tmp_path_factory.mktemp("dist"))


def test_the_version_is_written_once(built: tuple[Path, Path]) -> None:
    source, wheel = built
    assert source.name == f"ophook_npu-{__version__}.tar.gz"
    assert wheel.name == f"ophook_npu-{__version__}-py3-none-any.whl"
    written = [
        name
        for name in files_of(CHECKOUT / "ophook_npu") | {"pyproject.toml"}
        if re.search(
            rf"""version\w*\s*=\s*["']{re.escape(__version__)}["']""", (CHECKOUT / name).read_text(errors="replace")
        )
    ]
    # ops/new.py: the version of a package that a user begins
    assert sorted(written) == ["ophook_npu/__init__.py", "ophook_npu/ops/new.py"]


def test_an_index_page_has_what_it_shows(built: tuple[Path, Path]) -> None:
    with zipfile.ZipFile(built[1]) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        told = archive.read(name).decode().split("\n\n", 1)[0]
    assert "Author: ophook-npu contributors" in told
    assert "Keywords: " in told
    assert "Classifier: Operating System :: POSIX :: Linux" in told and "Requires-Python: >=3.10" in told
    assert f"Project-URL: Issues, {URL}/issues" in told
    with zipfile.ZipFile(built[1]) as archive:
        page = archive.read(name).decode().split("\n\n", 1)[1]
    links = re.findall(r"\]\(([^)\s]+)\)", page)
    assert f"{URL}/blob/main/docs/simulator.md" in links and f"{URL}/blob/main/README.zh.md" in links
    assert [link for link in links if not link.startswith(("https://", "#"))] == []


def test_the_same_tree_gives_the_same_bytes(tree: Path, built: tuple[Path, Path], tmp_path: Path) -> None:
    with tarfile.open(built[0]) as archive:
        assert {(member.mtime, member.uid, member.uname) for member in archive.getmembers()} == {(315532800, 0, "")}
    for path in tree.rglob("*"):
        os.utime(path)
    for first, again in zip(built, build(tree, tmp_path, umask=0o077), strict=True):
        assert again.name == first.name and again.read_bytes() == first.read_bytes()


def test_the_wheel_holds_every_file_of_the_package(built: tuple[Path, Path]) -> None:
    with zipfile.ZipFile(built[1]) as archive:
        inside = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert inside == files_of(CHECKOUT / "ophook_npu")
    assert {"ophook_npu/py.typed", "ophook_npu/hooks/_host_device.cpp", "ophook_npu/csrc/opapi/aclnn.h"} <= inside


def test_the_source_distribution_is_the_checkout(built: tuple[Path, Path]) -> None:
    with tarfile.open(built[0]) as archive:
        inside = {member.name.split("/", 1)[1] for member in archive.getmembers() if member.isfile()}
    left_out = {name for name in files_of(CHECKOUT) - inside if not name.startswith(".")}
    assert left_out == set()


@pytest.fixture(scope="module")
def environment(built: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Environment:
    made = Environment(tmp_path_factory.mktemp("venv") / "venv")
    made.install(built[1])
    return made


def test_the_installed_package_works_away_from_the_checkout(environment: Environment, tmp_path: Path) -> None:
    program = (
        "import ophook_npu, json\n"
        "from ophook_npu.sim.build import location\n"
        "from ophook_npu.npu import autoload\n"
        "autoload.settle()\n"
        "from ophook_npu.npu.installed import require\n"
        "from ophook_npu.ops import declaration, extension\n"
        "from ophook_npu.sim.build import CSRC\n"
        "from ophook_npu.sim.libraries import libraries\n"
        "built = {s for l in libraries(*require()) for s in l.sources}\n"
        "missing = [str(s) for s in built if not s.is_file()]\n"
        "other = ('aicpu', 'ascendc', 'vendor')\n"  # what kernels and custom operators are built with
        "here = {p for p in CSRC.rglob('*.cpp') if p.relative_to(CSRC).parts[0] not in other}\n"
        "missing += [f'{path} is in no library' for path in sorted(here - built)]\n"
        "plan = extension._plan(declaration('npu_add_custom'))\n"
        "print(json.dumps([ophook_npu.__file__, str(location()), missing, sorted(plan.texts)]))\n"
    )
    result = environment.run("python", "-c", program, cwd=tmp_path, OPHOOK_NPU_CACHE=str(tmp_path / "cache"))
    assert result.returncode == 0, result.stderr
    file, location, missing, texts = json.loads(result.stdout)
    assert Path(file).is_relative_to(environment.site)
    assert Path(location).parent == tmp_path / "cache" / "sim" and missing == []
    assert any(name.endswith(".cpp") for name in texts)


def test_the_same_sources_have_the_same_simulator_wherever_they_lie(environment: Environment, tmp_path: Path) -> None:
    from ophook_npu.sim.build import recipe

    program = "from ophook_npu.sim.build import recipe; print(recipe())"
    result = environment.run("python", "-c", program, cwd=tmp_path, OPHOOK_NPU_CACHE=str(tmp_path / "cache"))
    assert result.stdout.strip() == recipe(), result.stderr


def test_doctor_runs_from_the_installed_package(environment: Environment, tmp_path: Path) -> None:
    result = environment.run("ophook-npu", "doctor", "--json", cwd=tmp_path, OPHOOK_NPU_CACHE=str(tmp_path / "cache"))
    assert "torch_npu" in result.stdout and "Traceback" not in result.stderr, result.stderr


@pytest.mark.parametrize(
    ("made", "status", "platform"),
    [("manylinux_2_35_x86_64", 0, "manylinux_2_35_x86_64"), ("linux_x86_64", 0, None), ("", 1, None)],
)
def test_a_wheel_of_the_simulator_is_tagged_as_auditwheel_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: str, status: int, platform: str | None
) -> None:
    """What stands in for auditwheel writes a wheel of that platform, or none. Its word on ours was read by hand."""
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    lines = ["#!/bin/sh", f'echo "$@" > {tmp_path}/asked', 'while [ "$1" != -w ]; do shift; done']
    lines += [f'touch "$2/s-1-cp311-none-{made}.whl"'] if made else []
    (tmp_path / "auditwheel").write_text("\n".join([*lines, f"exit {status}", ""]))
    (tmp_path / "auditwheel").chmod(0o755)
    assert wheel._audited(tmp_path / "s-1-cp311-none-linux_x86_64.whl", {"libb.so", "liba.so"}) == platform
    assert (tmp_path / "asked").read_text().startswith("repair --exclude liba.so --exclude libb.so -w ")
    (tmp_path / "auditwheel").unlink()
    monkeypatch.setenv("PATH", str(tmp_path))
    assert wheel._audited(tmp_path / "s.whl", set()) is None
