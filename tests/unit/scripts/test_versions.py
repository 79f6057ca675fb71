"""The table of releases, and the torch without CUDA with which releases are tried."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[3] / "scripts"
sys.path.insert(0, str(SCRIPTS))
import torch_without_cuda  # noqa: E402
import version_table  # noqa: E402


def library(folder: Path, name: str, code: str, *options: str) -> Path:
    (folder / "code.cpp").write_text(code)
    command = [
        "g++",
        "-shared",
        "-fPIC",
        "-o",
        name,
        f"-Wl,-soname,{name}",
        "code.cpp",
        "-L.",
        "-Wl,-rpath,$ORIGIN",
        *options,
    ]
    subprocess.run(command, cwd=folder, check=True)
    return folder / name


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    """A wheel of "torch" whose libtorch_cpu asks a library of CUDA's in it for a function, a variable and a type."""
    types = "struct Base { virtual ~Base(); virtual int value(); };"
    cuda = (
        f"{types} Base::~Base() {{}} int Base::value() {{ return 7; }} int devices() {{ return 7; }} int variable = 7;"
    )
    uses = (
        f"#include <typeinfo>\n{types} int devices(); extern int variable;"
        'extern "C" int answer() { variable = 5; return devices() + variable; }'
        'extern "C" const char* named() { return typeid(Base).name(); }'
    )
    lib = tmp_path / "torch/lib"
    lib.mkdir(parents=True)
    files = {library(lib, "libtorch_cuda.so", cuda), library(lib, "libtorch_cpu.so", uses, "-ltorch_cuda")}
    info = "torch-9.0.0.dist-info"
    texts = {
        f"{info}/METADATA": "Name: torch\nVersion: 9.0.0\nRequires-Dist: nvidia-nccl==2\nRequires-Dist: sympy\n",
        f"{info}/RECORD": "old",
        "torch/version.py": "__version__ = '9.0.0+cu1'\ncuda: Optional[str] = '1'\n",
    }
    made = tmp_path / "torch-9.0.0-1-cp311-cp311-manylinux_2_28_x86_64.whl"
    with zipfile.ZipFile(made, "w") as archive:
        for file in files:
            archive.write(file, f"torch/lib/{file.name}")
        for name, text in texts.items():
            archive.writestr(name, text)
    return made


def test_a_torch_without_cuda_loads_and_finds_no_device(wheel: Path, tmp_path: Path) -> None:
    made = torch_without_cuda.convert(wheel, "9.0.0", tmp_path)
    assert made.name == "torch-9.0.0+cpu-cp311-cp311-manylinux_2_28_x86_64.whl"
    with zipfile.ZipFile(made) as archive:
        archive.extractall(tmp_path / "installed")
        listed = {
            row[0]: row for row in csv.reader(io.StringIO(archive.read("torch-9.0.0+cpu.dist-info/RECORD").decode()))
        }
        assert sorted(listed) == sorted(archive.namelist())
        for name, digest, _ in listed.values():
            assert not digest or digest == torch_without_cuda.digest(archive.read(name))
        assert (
            archive.read("torch-9.0.0+cpu.dist-info/METADATA")
            == b"Name: torch\nVersion: 9.0.0+cpu\nRequires-Dist: sympy\n"
        )
        assert archive.read("torch/version.py") == b"__version__ = '9.0.0+cpu'\ncuda: Optional[str] = None\n"
    code = (
        "import ctypes, sys; lib = ctypes.CDLL(sys.argv[1]); lib.named.restype = ctypes.c_char_p; "
        "print(lib.answer(), lib.named().decode())"
    )
    library = tmp_path / "installed/torch/lib/libtorch_cpu.so"
    done = subprocess.run([sys.executable, "-c", code, library], capture_output=True, text=True, check=True)
    assert done.stdout == "5 4Base\n"  # 0 devices; what it wrote into the variable; a type that has its name


def test_the_last_result_of_each_release_is_in_the_table(tmp_path: Path) -> None:
    tried, ok = version_table.Tried, {"build": "ok", "demo": "ok"}
    results = [
        tried("2.13.0", "3.11", ok, {"sim": {"passed": 3}, "unit": {"passed": 2, "failed": 1}}),
        tried("2.9.1", "3.11", {"build": "g++: a | b"}),
        tried(
            "2.13.0",
            "3.11",
            ok,
            {"sim": {"passed": 4, "skipped": 1}, "unit": {"passed": 3}},
            {"tests/unit/a.py::b": "`x`"},
        ),
    ]
    log = tmp_path / "log"
    log.write_text("".join(json.dumps(vars(result)) + "\n" for result in results))
    page = tmp_path / "page.md"
    page.write_text(f"before\n{version_table.BEGIN}\nold\n{version_table.END}\n")
    assert version_table.main(["--log", str(log), "--table", str(page)]) == 0
    assert (
        "| 2.9.1 | 3.11 | g++: a \\| b | – | – | – |\n| 2.13.0 | 3.11 | ok | ok | 4 / 4 | 3 / 3 |" in page.read_text()
    )
    assert "**2.13.0, Python 3.11**\n\n- `unit/a.py::b`: `x`\n" in page.read_text()


def test_a_release_needs_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        version_table.main(["--log", str(tmp_path / "log"), "2.13.0"])
    assert "--keep" in capsys.readouterr().err
