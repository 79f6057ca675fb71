"""Which times are put back after the code is generated anew, judged with make as the build judges."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ophook_npu.errors import OphookError
from ophook_npu.patch import rebuild

HEADER = "#pragma once\nnamespace op_api {\nint add(int x);\nint mul(int x, int y = {});\n}\n"
NEW = "HIDDEN ::std::tuple<at::Tensor,at::Tensor> npu_norm(const at::Tensor & x, const T & w = {}, double e = 1e-6);"


@pytest.mark.parametrize(
    ("line", "names"),
    [
        (NEW, {"npu_norm"}),
        ("static at::Tensor npu_norm(const at::Tensor & x);", {"npu_norm"}),
        ("", set()),
        # An overload of a name that units already say may be chosen by them.
        ("int add(double x);", None),
        ("int npu_norm(int x) { return x; }", None),
        ("#define npu_norm(x) 1", None),
        ("return npu_norm(x);", None),
        ("virtual int npu_norm(int x);", None),
        ("int npu_norm;", None),
        ("struct npu_norm {", None),
    ],
)
def test_what_counts_as_a_declaration(line: str, names: set[str] | None) -> None:
    after = HEADER.replace("int mul", f"{line}\nint mul")
    assert rebuild.declared(HEADER, after) == names
    assert rebuild.declared(after, HEADER) == names


def test_a_changed_declaration_is_no_new_one() -> None:
    assert rebuild.declared(HEADER, HEADER.replace("add(int x)", "add(int x, int z)")) is None


needs_make = pytest.mark.skipif(shutil.which("make") is None, reason="make is not on PATH")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree with a Makefile in which every unit reads a header."""
    folder = tmp_path / "third_party/op-plugin/op_plugin"
    folder.mkdir(parents=True)
    (tmp_path / "torch_npu/csrc").mkdir(parents=True)
    (folder / "OpApiInterface.h").write_text(HEADER)
    for name in ("add", "mul", "register"):
        (folder / f"{name}.cpp").write_text(f"int {name}_kernel();\n")
    units = "".join(
        f"{name}.o: {folder}/{name}.cpp {folder}/OpApiInterface.h\n\techo {name} >>built\n\ttouch {name}.o\n"
        for name in ("add", "mul", "register")
    )
    (tmp_path / "Makefile").write_text(f"all: add.o mul.o register.o\n{units}")
    for path in tmp_path.rglob("*"):
        os.utime(path, (1_000_000_000, 1_000_000_000))
    return tmp_path


def built(tree: Path) -> list[str]:
    (tree / "built").write_text("")
    subprocess.run(["make", "-C", str(tree)], check=True, capture_output=True, timeout=120)
    return (tree / "built").read_text().split()


def generate(tree: Path, code: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ophook_npu.patch.rebuild", "run", str(tree), sys.executable, "-c", code]
    folder = tree / "third_party/op-plugin/op_plugin"
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)


PREFIX = "from pathlib import Path; h = Path('OpApiInterface.h'); r = Path('register.cpp'); "


@needs_make
def test_only_what_says_the_name_is_compiled_again(tree: Path) -> None:
    assert built(tree) == ["add", "mul", "register"]
    assert built(tree) == []
    done = generate(
        tree,
        PREFIX + "h.write_text(h.read_text().replace('int mul', 'int npu_norm(int x);\\nint mul'));"
        "r.write_text('int npu_norm_user = npu_norm(1);')",
    )
    assert done.returncode == 0, done.stderr
    assert (
        "declarations that came or went: npu_norm\nunchanged otherwise: 1 header; 1 file with these names"
        in done.stdout
    )
    assert built(tree) == ["register"]
    # And away again: the source that still says it is compiled, and would fail there.
    generate(tree, PREFIX + "h.write_text(h.read_text().replace('int npu_norm(int x);\\n', ''))")
    assert built(tree) == ["register"]


@needs_make
@pytest.mark.parametrize(
    ("line", "compiled"),
    [
        ("HIDDEN int npu_norm(int x);", ["register"]),
        ("inline int twice(int x) { return npu_norm(npu_norm(x)); }", ["add", "mul", "register"]),
        ("#define NORM(x) npu_norm(x)", ["add", "mul", "register"]),
        ("int once(int x = npu_norm(1));", ["add", "mul", "register"]),
    ],
)
def test_a_header_that_said_the_name_before(tree: Path, line: str, compiled: list[str]) -> None:
    """As an operator that gets a derivative is declared in one header more; all units read the others."""
    folder = tree / "third_party/op-plugin/op_plugin"
    (folder / "OpApiInterface.h").write_text(HEADER.replace("int mul", f"{line}\nint mul"))
    (folder / "register.cpp").write_text("int npu_norm_user = npu_norm(1);")
    (tree / "torch_npu/csrc/VariableType.h").write_text("#pragma once\n")
    built(tree)
    done = generate(
        tree,
        f"from pathlib import Path; Path({str(tree / 'torch_npu/csrc/VariableType.h')!r})"
        ".write_text('#pragma once\\nint npu_norm(long key, int x);\\n')",
    )
    assert "declarations that came or went: npu_norm" in done.stdout
    assert built(tree) == compiled


@needs_make
def test_any_other_change_makes_everything_stale(tree: Path) -> None:
    built(tree)
    done = generate(tree, PREFIX + "h.write_text(h.read_text().replace('int x)', 'long x)'))")
    assert "changed: third_party/op-plugin/op_plugin/OpApiInterface.h" in done.stdout
    assert built(tree) == ["add", "mul", "register"]


@needs_make
def test_a_file_written_again_with_the_same_content_is_not_compiled(tree: Path) -> None:
    built(tree)
    generate(tree, PREFIX + "r.write_text(r.read_text()); h.write_text(h.read_text())")
    assert built(tree) == []


@needs_make
def test_remember_and_same_between_two_commands(tree: Path) -> None:
    built(tree)
    state = tree / "state"
    assert rebuild.main(["remember", str(tree), str(state)]) == 0
    folder = tree / "third_party/op-plugin/op_plugin"
    (folder / "register.cpp").write_text((folder / "register.cpp").read_text())
    (folder / "mul.cpp").write_text("int other();\n")
    assert rebuild.main(["same", str(state)]) == 0
    assert built(tree) == ["mul"]


@needs_make
def test_a_generation_that_fails_changes_no_time(tree: Path) -> None:
    built(tree)
    done = generate(tree, PREFIX + "r.write_text(r.read_text()); raise SystemExit(7)")
    assert done.returncode == 7
    assert built(tree) == ["register"]


def test_usage() -> None:
    with pytest.raises(OphookError, match="wrong use; allowed: run TREE COMMAND"):
        rebuild.main(["run", "tree"])
