"""Make a wheel of torch without CUDA from PyPI's wheel with CUDA, to try releases that have no other build at hand.

    python scripts/torch_without_cuda.py 2.10.0 --index INDEX [--python 3.11]
    OPHOOK_TORCH_INDEX=file://$PWD/INDEX scripts/test_versions.sh --npu 2.10

Newer releases of torch_npu cannot be imported next to a torch with CUDA. The wheel leaves out CUDA's libraries.
Stand-ins export the names that the other libraries link; their functions return 0, so torch finds no CUDA device.
The wheel is for trying releases; PyTorch's own builds for the CPU are at https://download.pytorch.org/whl/cpu.
INDEX becomes a folder that pip takes as --index-url. The wheel is for this kind of machine (x86-64 or aarch64). Needs
pip, g++ and binutils.
"""

from __future__ import annotations

import argparse
import base64
import csv
import hashlib
import io
import platform
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

CUDA = re.compile(r"^lib(torch_cuda|c10_cuda|caffe2_nvrtc|torch_nvshmem|cudart|cu[a-z]+|nv[a-z]+|nccl)[-_.\w]*\.so")
# Called while libtorch_python is loaded: they return a reference, into which it writes.
REFERENCES = ("_ZN4c10d15get_gil_checkerEv",)
# Called there too: the constructor of an object whose virtual functions pybind11 looks at.
OBJECTS = ("_ZN4c10d16ProcessGroupNCCL7OptionsC1Eb",)
# How a machine returns 0, and the address of `written`; how it stores that of `functions` in the object it is given.
INSTRUCTIONS = {
    "x86_64": (
        ["xorl %eax, %eax", "ret"],
        ["leaq written(%rip), %rax", "ret"],
        ["leaq functions(%rip), %rax", "movq %rax, (%rdi)", "ret"],
    ),
    "aarch64": (
        ["mov x0, #0", "ret"],
        ["adrp x0, written", "add x0, x0, :lo12:written", "ret"],
        ["adrp x1, functions", "add x1, x1, :lo12:functions", "str x1, [x0]", "ret"],
    ),
}
NEEDS = re.compile(rb"^Requires-Dist: (nvidia-|cuda-|triton).*\n", re.MULTILINE)


def names(library: Path, which: str) -> set[str]:
    shown = subprocess.run(
        ["nm", "-D", "--no-demangle", which, str(library)], capture_output=True, text=True, check=True
    )
    # Weak names that nothing defines stay undefined: a program asks whether they are there.
    return {line.split()[-1].split("@")[0] for line in shown.stdout.splitlines() if line.split()[-2] not in "wv"}


def needed(library: Path) -> set[str]:
    shown = subprocess.run(["readelf", "-d", str(library)], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"\(NEEDED\).*\[(.*)\]", shown))


def data(library: Path) -> dict[str, int]:
    """Bytes of each variable that a library exports."""
    shown = subprocess.run(
        ["nm", "-D", "--no-demangle", "-S", "--defined-only", str(library)], capture_output=True, text=True, check=True
    )
    rows = [line.split() for line in shown.stdout.splitlines()]
    return {row[3].split("@")[0]: int(row[1], 16) for row in rows if len(row) == 4 and row[2] in "BbDdRrVuGg"}


def stand_ins(folder: Path, libraries: list[Path], variables: dict[str, int]) -> list[Path]:
    """Libraries with the names of CUDA's that `libraries` link; the first exports all that nothing else has."""
    linked = sorted({name for library in libraries for name in needed(library) if CUDA.match(name)})
    own = {library.name for library in libraries}
    # A CUDA of this machine's is not there where the wheel goes.
    loaded = [line.split() for library in libraries for line in ldd(library) if " => /" in line]
    system = {words[2] for words in loaded if words[0] not in own and not CUDA.match(words[0])}
    have = {
        name
        for library in [*libraries, *(Path(place) for place in system)]
        for name in names(library, "--defined-only")
    }
    missing = {name for library in libraries for name in names(library, "--undefined-only")} - have
    nothing, reference, constructor = INSTRUCTIONS[platform.machine()]
    # The two words before an object's functions are its offset and its type.
    code, zeros = (
        [".text"],
        [".data", "written: .zero 4096", ".quad 0, type", "functions: .rept 64", ".quad nothing", ".endr"],
    )
    zeros += ["type: .quad _ZTVN10__cxxabiv117__class_type_infoE+16, 1f", '1: .asciz "stand_in"', ".balign 16"]
    for name in sorted(missing, key=lambda name: (name not in REFERENCES + OBJECTS, name)):
        into = zeros if name in variables or name.startswith("_ZT") else code
        into += [f'.globl "{name}"', f'"{name}":']
        if name.startswith("_ZTI"):  # pybind11 asks a type for its name
            zeros += [
                ".quad _ZTVN10__cxxabiv117__class_type_infoE+16",
                ".quad 1f",
                f'1: .asciz "{name[4:]}"',
                ".balign 16",
            ]
        elif into is zeros:
            zeros += [f".zero {variables.get(name, 64)}", ".balign 16"]
        elif name in REFERENCES:
            code += reference
        elif name in OBJECTS:
            code += constructor
    (folder / "names.s").write_text(
        "\n".join([*code, "nothing:", *nothing, *zeros, '.section .note.GNU-stack,"",@progbits', ""])
    )
    made = [folder / name for name in linked]
    for number, library in enumerate(made):
        # Any of them can be loaded alone, so each needs the one that has the names.
        source = ["names.s"] if number == 0 else ["-Wl,--no-as-needed,-rpath,$ORIGIN", made[0].name]
        subprocess.run(
            ["g++", "-shared", "-o", library.name, f"-Wl,-soname,{library.name}", *source], cwd=folder, check=True
        )
    return made


def ldd(library: Path) -> list[str]:
    return subprocess.run(["ldd", str(library)], capture_output=True, text=True, check=True).stdout.splitlines()


def digest(content: bytes) -> str:
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")


def convert(wheel: Path, version: str, folder: Path) -> Path:
    plain = f"{version}+cpu"
    with tempfile.TemporaryDirectory() as scratch, zipfile.ZipFile(wheel) as old:
        place = Path(scratch)
        kept = [
            i for i in old.infolist() if not CUDA.match(Path(i.filename).name) and not i.filename.endswith("/RECORD")
        ]
        libraries, variables = [], {}
        for item in old.infolist():
            if not re.fullmatch(r"torch/lib/[^/]+\.so[.\d]*", item.filename):
                continue
            library = Path(old.extract(item, place))
            if CUDA.match(library.name):
                variables |= data(library)
                library.unlink()
            else:
                libraries.append(library)
        tags = wheel.name.removesuffix(".whl").split("-")[-3:]
        made = folder / "-".join(["torch", plain, *tags])
        made = made.with_name(made.name + ".whl")
        record = io.StringIO()
        with zipfile.ZipFile(made, "w", zipfile.ZIP_STORED) as new:

            def put(name: str, content: bytes) -> None:
                new.writestr(name, content)
                csv.writer(record, lineterminator="\n").writerow([name, digest(content), len(content)])

            for item in kept:
                content = old.read(item)
                name = item.filename.replace(f"torch-{version}.dist-info", f"torch-{plain}.dist-info")
                if name.endswith(".dist-info/METADATA"):
                    content = NEEDS.sub(b"", content).replace(
                        f"\nVersion: {version}\n".encode(), f"\nVersion: {plain}\n".encode()
                    )
                if name == "torch/version.py":
                    text = re.sub(
                        r"^__version__ = .*$", f"__version__ = '{plain}'", content.decode(), flags=re.MULTILINE
                    )
                    content = re.sub(r"^cuda(.*?) = .*$", r"cuda\1 = None", text, flags=re.MULTILINE).encode()
                if name == "torch/backends/cuda/__init__.py":  # what is_built() answers
                    content = content.replace(b"torch._C._has_cuda", b"False")
                put(name, content)
            for library in stand_ins(place, libraries, variables):
                put(f"torch/lib/{library.name}", library.read_bytes())
            name = f"torch-{plain}.dist-info/RECORD"
            new.writestr(name, record.getvalue() + f"{name},,\n")
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("version", help="such as 2.10.0")
    parser.add_argument("--index", type=Path, required=True, help="the folder of an index of packages; it is made")
    parser.add_argument(
        "--python", default=f"{sys.version_info[0]}.{sys.version_info[1]}", help="default: this Python's version"
    )
    given = parser.parse_args()
    folder = given.index / "torch"
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=given.index) as scratch:
        pip = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--quiet",
            "--no-deps",
            "--dest",
            scratch,
            "--only-binary=:all:",
        ]
        platforms = [f"--platform=manylinux_2_{libc}_{platform.machine()}" for libc in (28, 17)]
        subprocess.run([*pip, *platforms, f"--python-version={given.python}", f"torch=={given.version}"], check=True)
        made = convert(next(Path(scratch).glob("*.whl")), given.version, folder)
    links = "".join(
        f'<a href="{wheel.name.replace("+", "%2B")}">{wheel.name}</a>\n' for wheel in sorted(folder.glob("*.whl"))
    )
    (folder / "index.html").write_text(f"<!DOCTYPE html><html><body>\n{links}</body></html>\n")
    print(made)


if __name__ == "__main__":
    main()
