"""What a build of torch_npu needs, checked before hours of compiling."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from ophook_npu.errors import OphookError
from ophook_npu.patch.finding import TreeCheck
from ophook_npu.patch.submodules import check_submodules

# Measured on torch_npu's own units: the common ones stay below 1.2 GB, RegisterNPU.cpp takes 5.7.
GB_PER_JOB = 1.2
GB_BASE = 6.0
# The headers that are compiled once take 0.5, objects, libraries and the wheel the rest.
GB_DISK = 10.0
# From this version on cmake reads the variable that our file for the build is passed by.
_CMAKE_WITH_TOOLCHAIN_VARIABLE = (3, 21)
_PROBE = """
import importlib.metadata as m, json, sys
try:
    import torch
    t, abi = torch.__version__, torch.compiled_with_cxx11_abi()
    cuda = getattr(getattr(torch, "version", None), "cuda", None)
except ImportError:
    t, abi, cuda = None, None, None
def version(name):
    try: return m.version(name)
    except m.PackageNotFoundError: return None
print(json.dumps({"python": "%d.%d" % sys.version_info[:2], "executable": sys.executable, "torch": t, "abi": abi,
                  "cuda": cuda, "setuptools": version("setuptools"), "wheel": version("wheel"),
                  "PyYAML": version("PyYAML")}))
"""


@dataclass(frozen=True)
class Interpreter:
    """The Python that builds and will use torch_npu."""

    python: str
    executable: str
    torch: str | None
    abi: bool | None
    cuda: str | None
    setuptools: str | None
    wheel: str | None
    PyYAML: str | None


@lru_cache
def probe(python: str) -> Interpreter:
    environment = {**os.environ, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    try:
        done = subprocess.run([python, "-c", _PROBE], capture_output=True, text=True, env=environment, check=True)
        return Interpreter(**json.loads(done.stdout.splitlines()[-1]))
    except (OSError, subprocess.CalledProcessError, ValueError, IndexError) as error:
        cause = getattr(error, "stderr", "") or str(error)
        raise OphookError(
            "preflight", f"{python} does not run: {cause.strip()}", todo="name another with --python"
        ) from error


def memory_gb() -> float:
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) / 1024**2
    return 0.0


def jobs_for(memory: float, cores: int) -> int:
    """Parallel compilers that memory allows, at least 1, at most one a core."""
    return max(1, min(cores, int((memory - GB_BASE) / GB_PER_JOB)))


def preflight(torch_npu: Path, python: str, jobs: int | None = None, *, other_commits: bool = False) -> list[TreeCheck]:
    """Findings about tree, interpreter, tools, memory and disk. Raises OphookError where ``torch_npu`` is no such tree.

    ``other_commits``: submodules may be at commits that the tree does not pin.
    """
    for name in ("generate_code.sh", "setup.py", "ci/build.sh"):
        if not (torch_npu / name).is_file():
            raise OphookError(
                "preflight", f"{torch_npu} is no torch_npu tree: {name} is missing", todo="name it with --torch-npu-dir"
            )
    interpreter = probe(python)
    return [
        *check_submodules(torch_npu, others=other_commits),
        _quoting(torch_npu),
        _supported_python(torch_npu, interpreter),
        _python_on_path(interpreter),
        _torch(torch_npu, interpreter),
        _abi(interpreter),
        _packages(interpreter),
        _compiler(torch_npu),
        _cmake(interpreter),
        _tools(),
        _ccache(),
        _memory(jobs),
        _disk(torch_npu),
    ]


def _quoting(tree: Path) -> TreeCheck:
    unquoted = re.search(r"^\s*cd \$CDIR", (tree / "generate_code.sh").read_text(encoding="utf-8"), re.MULTILINE)
    if unquoted and re.search(r"\s", str(tree.resolve())):
        return TreeCheck(
            "path", False, f"upstream's scripts do not quote it: {tree.resolve()}", "move it to a path without spaces"
        )
    return TreeCheck("path", True, str(tree.resolve()))


def _supported_python(tree: Path, interpreter: Interpreter) -> TreeCheck:
    match = re.search(r"^SUPPORTED_PY_VERSION=\(([^)]*)\)", (tree / "ci" / "build.sh").read_text(), re.MULTILINE)
    supported = re.findall(r"[\d.]+", match[1]) if match else []
    if not supported:
        return TreeCheck("python", False, "ci/build.sh has no SUPPORTED_PY_VERSION", "check that the tree is complete")
    good = interpreter.python in supported
    todo = "" if good else f"use one of {', '.join(supported)}"
    return TreeCheck("python", good, f"{interpreter.python} ({interpreter.executable})", todo)


def _python_on_path(interpreter: Interpreter) -> TreeCheck:
    """ci/build.sh calls pythonX.Y by name."""
    name = f"python{interpreter.python}"
    found = shutil.which(name)
    same = found is not None and Path(found).parent.resolve() == Path(interpreter.executable).parent.resolve()
    todo = "" if same else f"put {Path(interpreter.executable).parent} first on PATH"
    return TreeCheck("python on PATH", same, f"{name}: {found}", todo)


def _torch(tree: Path, interpreter: Interpreter) -> TreeCheck:
    if interpreter.torch is None:
        return TreeCheck(
            "torch", False, f"not installed for {interpreter.executable}", "install the torch to build for"
        )
    listed = tree / "version.txt"
    if listed.is_file():
        versions = [line for line in listed.read_text().splitlines() if line.strip() and not line.startswith("#")]
    else:
        versions = re.findall(
            r"^VERSION = ['\"]([^'\"]+)", (tree / "setup.py").read_text(encoding="utf-8"), re.MULTILINE
        )
    wanted = interpreter.torch.split(".")[:2]
    good = any(version.split(".")[:2] == wanted for version in versions)
    todo = "" if good else f"this tree builds for {', '.join(versions) or 'no version it names'}; take another --branch"
    return TreeCheck("torch", good, interpreter.torch, todo)


def _abi(interpreter: Interpreter) -> TreeCheck:
    flag = os.environ.get("_GLIBCXX_USE_CXX11_ABI")
    built = "1" if interpreter.abi else "0"
    good = flag is None or flag == built
    detail = f"torch was built with {built}" + (f", _GLIBCXX_USE_CXX11_ABI is {flag}" if flag is not None else "")
    return TreeCheck("C++ ABI", good, detail, "" if good else f"export _GLIBCXX_USE_CXX11_ABI={built}")


def _packages(interpreter: Interpreter) -> TreeCheck:
    modern = interpreter.setuptools is not None and _numbers(interpreter.setuptools) >= (70, 1)
    missing = [] if modern or interpreter.wheel else ["wheel (or setuptools>=70.1)"]
    missing += [] if interpreter.setuptools else ["setuptools"]
    missing += [] if interpreter.PyYAML else ["PyYAML"]
    todo = f"{interpreter.executable} -m pip install setuptools wheel PyYAML" if missing else ""
    return TreeCheck(
        "packages", not missing, f"missing: {', '.join(missing)}" if missing else "setuptools, PyYAML", todo
    )


def _compiler(tree: Path) -> TreeCheck:
    cmake = tree / "CMakeLists.txt"
    match = re.search(r"CMAKE_CXX_STANDARD (\d+)", cmake.read_text(encoding="utf-8")) if cmake.is_file() else None
    standard = match[1] if match else "17"
    compiler = os.environ.get("CXX") or shutil.which("g++") or shutil.which("c++")
    if compiler is None:
        return TreeCheck("compiler", False, "no g++ on PATH", "install g++")
    command = [compiler, f"-std=c++{standard}", "-fsyntax-only", "-x", "c++", "-"]
    try:
        done = subprocess.run(command, input="#include <vector>\nint main() {}\n", capture_output=True, text=True)
    except OSError as error:
        return TreeCheck("compiler", False, f"{compiler}: {error.strerror}", "install g++")
    good = done.returncode == 0
    detail = f"{compiler}, C++{standard}" if good else f"{compiler}: {done.stderr.strip().splitlines()[0]}"
    return TreeCheck("compiler", good, detail, "" if good else f"install a compiler that knows C++{standard}")


def _cmake(interpreter: Interpreter) -> TreeCheck:
    found = [name for name in ("cmake", "cmake3") if shutil.which(name)]
    for name in found:
        match = re.search(r"version (\S+)", subprocess.run([name, "--version"], capture_output=True, text=True).stdout)
        if match and _numbers(match[1]) >= _CMAKE_WITH_TOOLCHAIN_VARIABLE:
            return TreeCheck("cmake", True, f"{name} {match[1]}")
        if match and _numbers(match[1]) >= (3, 18):
            if interpreter.cuda is not None:
                return TreeCheck(
                    "cmake",
                    False,
                    f"{name} {match[1]}; this torch is built with CUDA {interpreter.cuda}, which needs 3.21 or newer",
                    f"{interpreter.executable} -m pip install cmake, or install a CPU build of torch",
                )
            return TreeCheck("cmake", True, f"{name} {match[1]}; --fast needs 3.21 or newer")
    return TreeCheck("cmake", False, "none of 3.18 or newer" if found else "not on PATH", "install cmake 3.18 or newer")


def _memory(jobs: int | None) -> TreeCheck:
    memory = memory_gb()
    most = jobs_for(memory, os.cpu_count() or 1)
    if jobs is None:
        return TreeCheck(
            "memory", memory >= GB_BASE, f"{memory:.0f} GB free: {most} jobs", f"{GB_BASE:.0f} GB are needed"
        )
    needed = GB_BASE + GB_PER_JOB * jobs
    good = memory >= needed
    return TreeCheck(
        "memory",
        good,
        f"{memory:.0f} GB free, {jobs} jobs need {needed:.0f}",
        "" if good else f"pass --jobs {most} or fewer",
    )


def _tools() -> TreeCheck:
    """What upstream's scripts call without looking for it first."""
    missing = [name for name in ("make", "git", "bash") if shutil.which(name) is None]
    detail = f"missing: {', '.join(missing)}" if missing else "make, git, bash"
    return TreeCheck("tools", not missing, detail, f"install {' '.join(missing)}" if missing else "")


def _ccache() -> TreeCheck:
    found = shutil.which("ccache")
    return TreeCheck("ccache", True, f"used: {found}" if found else "not installed; with it, a second build is faster")


def _disk(tree: Path) -> TreeCheck:
    free = shutil.disk_usage(tree).free / 1e9
    # What an interrupted build left there is not needed again.
    built = sum(path.stat().st_size for path in (tree / "build").rglob("*") if path.is_file()) / 1e9
    needed = max(1.0, GB_DISK - built)
    good = free >= needed
    return TreeCheck(
        "disk", good, f"{free:.0f} GB free, {needed:.0f} needed", "" if good else f"make room on the disk of {tree}"
    )


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:2])
