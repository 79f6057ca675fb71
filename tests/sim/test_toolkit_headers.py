"""The toolkit's headers and those of Ascend C's host side: a program may include all of them, in any order."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from ophook_npu import sim, toolchain
from ophook_npu.kernel import build
from ophook_npu.sim import program
from ophook_npu.sim.variables import apply, environment

TILING = Path(__file__).parent / "programs" / "asc" / "host_tiling.asc"


def headers(folder: Path) -> list[str]:
    """Their names as a program writes them; links are followed, as `tiling` is one."""
    found = {file.relative_to(folder) for file in folder.rglob("*.h")}
    for link in folder.iterdir():
        if link.is_symlink() and link.is_dir():
            there = link.resolve()
            found |= {link.relative_to(folder) / file.relative_to(there) for file in there.rglob("*.h")}
    # Those of convolutions are one #error (tests/unit/kernel/test_refused.py).
    return sorted(str(one) for one in found if not one.name.startswith(("conv3d_", "convolution")))


def toolkit() -> Path:
    return (sim.active() or sim.build()) / "include"


def including(names: list[str], file: Path) -> str:
    file.write_text("".join(f'#include "{name}"\n' for name in names))
    return str(file)


@pytest.mark.parametrize("turned", [False, True])
def test_a_host_program_includes_all_headers_of_the_toolkit(turned: bool, tmp_path: Path) -> None:
    names = sorted(headers(toolkit()), reverse=turned)
    assert {"acl/acl.h", "graph/custom_op.h", "tiling/tiling_api.h", "exe_graph/runtime/tiling_context.h"} <= {*names}
    prototypes = toolkit().parent / "opp" / "built-in" / "op_proto" / "inc"
    # The prototypes need the headers alone, and to compile all of them takes 15 s: once.
    source = including(names if turned else sorted([*names, *headers(prototypes)]), tmp_path / "all.cpp")
    folders = [f"-I{toolkit()}", f"-I{prototypes}"]
    done = toolchain.run([*toolchain.compiler(), "-std=c++17", "-fsyntax-only", *folders, source])
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("turned", [False, True])
def test_a_program_with_kernels_includes_those_of_the_host_side_too(turned: bool, tmp_path: Path) -> None:
    host = [name for name in headers(build.ROOT / "host") if not name.startswith("details/") and "/" in name]
    assert {"graph/types.h", "graph/operator.h", "register/op_def_registry.h"} <= {*host}
    forwarded = [name for name in headers(build.forwards()) if name.startswith(("graph/", "exe_graph/", "platform/"))]
    names = sorted({*headers(toolkit()), *host, *forwarded, "kernel_operator.h"}, reverse=turned)
    program.compile(["-fsyntax-only", "-c", including(names, tmp_path / "all.asc")])


def test_a_project_of_an_older_release_compiles(tmp_path: Path) -> None:
    """By its ways through the toolkit: headers of one kind of operators, functions that are bound to a prototype, and a
    plugin with a list of tensors.
    """
    source = tmp_path / "older.cpp"
    source.write_text(
        '#include "array_ops.h"\n#include "register/register.h"\nnamespace ge {\n'
        "REG_OP(Older).INPUT(x, TensorType::ALL()).OUTPUT(y, TensorType::ALL()).OP_END_FACTORY_REG(Older)\n"
        "IMPLEMT_VERIFIER(Older, Verify) { return op.GetInputsSize() ? GRAPH_SUCCESS : GRAPH_FAILED; }\n"
        "VERIFY_FUNC_REG(Older, Verify);\n"
        "IMPLEMT_INFERFUNC(Older, Infer) { return op.GetInputsSize() ? GRAPH_SUCCESS : GRAPH_FAILED; }\n"
        "INFER_FUNC_REG(Older, Infer);\n}\nnamespace domi {\n"
        "Status parse(const ge::Operator& from, ge::Operator& to) {\n"
        '  vector<DynamicInputOutputInfo> of = {{kInput, "args", 4, "in_num", 6}};\n'
        "  return AutoMappingByOpFnDynamic(from, to, of);\n}\n}\n"
    )
    include = toolkit().parent / "compiler" / "include"  # a project goes on from there, and so it is a folder
    folders = [f"-I{include}", f"-I{include}/../../opp/built-in/op_proto/inc"]
    old = ["-std=c++11", "-D_GLIBCXX_USE_CXX11_ABI=0"]
    done = toolchain.run([*toolchain.compiler(), *old, "-w", "-fsyntax-only", *folders, str(source)])
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("compiler", ["bisheng", "g++"])
def test_what_the_headers_take_of_the_graph_engine_is_linked(compiler: str, tmp_path: Path) -> None:
    root, out = toolkit().parent, tmp_path / "tiling"
    if compiler == "bisheng":
        program.compile([str(TILING), "-o", str(out)])
    else:
        how = ["-x", "c++", "-std=c++17", f"-I{toolkit()}", str(TILING), f"-L{root / 'lib64'}", "-ltiling_api"]
        done = toolchain.run([*toolchain.compiler(), *how, "-o", str(out)])
        assert done.returncode == 0, done.stderr
    environ = dict(os.environ)
    apply(environ, environment(root))
    done = subprocess.run([str(out)], env=environ, capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout == "1 24 1 DT_FLOAT\n", done.stdout + done.stderr


def end_of(header: Path, root: Path) -> Path:
    """What is read in the end of a header that does nothing but include another."""
    lines = [line for line in header.read_text().splitlines() if line.strip() and not line.startswith("//")]
    only = re.fullmatch(r'#include ["<](.+?)[">]', "\n".join(lines).replace("#pragma once\n", ""))
    for folder in (header.resolve().parent, root):
        if only and (folder / only[1]).is_file():
            return end_of(folder / only[1], root)
    return header.resolve()


@pytest.mark.parametrize("header", ["graph", "exe_graph", "tiling", "platform", "register"])
def test_each_of_them_stands_alone(header: str, tmp_path: Path) -> None:
    """One of those that end in the same header: that all are found is shown above."""
    names = [name for name in headers(toolkit()) if name.startswith(f"{header}/")]
    ends = {end_of(toolkit() / name, toolkit()): name for name in names}
    assert ends
    for name in ends.values():
        source = including([name], tmp_path / "one.cpp")
        command = [*toolchain.compiler(), "-std=c++17", "-fsyntax-only", f"-I{toolkit()}", source]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{name}: {done.stderr}"
