"""docs/ascend-c.md lists every kind of finding with its planted faults, and which much used functions are there."""

from __future__ import annotations

import re
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_faults import planted

from ophook_npu import toolchain
from ophook_npu.kernel import build
from ophook_npu.kernel.kinds import kinds
from ophook_npu.sim.build import CSRC

DOCS = Path(__file__).parents[3] / "docs"


def every_planted() -> Iterator[tuple[str, str, str]]:
    """(file, name, kind) of every fault; tests/sim/test_threads.py runs those of threads."""
    yield from ((path.name, name, kind) for path, name, kind, _ in planted())
    threads = DOCS.parent / "tests" / "sim" / "programs" / "asc" / "thread_faults.asc"
    for name, kind in re.findall(r"// FAULT (\w+): (\w+)$", threads.read_text(), re.MULTILINE):
        yield threads.name, name, kind


def table() -> str:
    shown = defaultdict(list)
    for file, name, kind in every_planted():
        shown[kind].append(f"`{name}` ({file})")
    rows = ["| kind | level | what to do | planted faults |", "|---|---|---|---|"]
    rows += [f"| `{k.name}` | {k.severity} | {k.todo} | {', '.join(shown[k.name])} |" for k in kinds()]
    return "\n".join(rows)


def used() -> str:
    """The functions of used.inc with how many kernels use each: test_every_used_function_is_there looks for them."""
    text = (CSRC / "ascendc" / "used.inc").read_text()
    return ", ".join(f"`{name}` {count}" for name, count in re.findall(r"USED\((\w+), (\d+)\)", text))


# What Ascend950 alone has; and whose members the others are, where they are no functions of the namespace.
REGISTERS = {"UpdateMask", "LoadAlign", "StoreAlign", "asc_vf_call", "CreateMask"}
MEMBERS = {
    "GlobalTensor<float>": {"SetGlobalBuffer"},
    "LocalTensor<float>": {"ReinterpretCast", "GetPhyAddr", "GetSize"},
    "TQue<TPosition::VECIN, 1>": {"AllocTensor", "FreeTensor", "EnQue", "DeQue"},
    "TBuf<TPosition::VECCALC>": {"GetWithOffset"},
    "TPipe": {"InitBuffer", "FetchEventID", "AllocEventID", "ReleaseEventID", "Reset", "Destroy"},
    "Product": {"SetTensorA", "SetTensorB", "IterateAll", "SetOrgShape"},
}


GLOBAL = {"GetTPipePtr"}  # in no namespace


def test_every_used_function_is_there(tmp_path: Path) -> None:
    """Each by its own name for the compiler: a function or template of AscendC, a member, or a macro."""
    names = re.findall(r"USED\((\w+), \d+\)", (CSRC / "ascendc" / "used.inc").read_text())
    assert len(names) == len(set(names)) >= 85 and set(names) >= REGISTERS
    lines = ['#include "kernel_operator.h"', '#include "lib/matmul_intf.h"']
    # The names that kernels know these by.
    known = {path.relative_to(build.forwards()) for path in build.forwards().rglob("*.h")}
    known = {name for name in known if name.parts[0].startswith(("kernel_", "lib", "adv_api"))}
    refused = {name for name in known if "conv3d" in str(name)}  # test_refused has them
    assert len(refused) == 6
    known -= refused
    assert len(known) >= 30 and Path("lib/math/kernel_operator_tanh_intf.h") in known
    lines += [*(f'#include "{name}"' for name in sorted(known)), "namespace AscendC {"]
    lines += [
        "using Side = MatmulType<TPosition::GM, CubeFormat::ND, half>;",
        "using Product = Matmul<Side, Side, Side>;",
    ]
    of = {name: owner for owner, members in MEMBERS.items() for name in members}
    for number, name in enumerate(sorted(set(names) - REGISTERS)):
        if name in of:
            lines.append(f"struct Probe{number} : {of[name]} {{ using {of[name]}::{name}; }};")
        elif name.isupper():
            lines += [f"#ifndef {name}", f'#error "{name} is no macro"', "#endif"]
        else:
            owner = "" if name in GLOBAL else "AscendC"
            lines.append(f"namespace probe{number} {{ using {owner}::{name}; }}")
    source = tmp_path / "names.cpp"
    source.write_text("\n".join([*lines, "}", ""]))
    folders = [f"-I{folder}" for folder in (CSRC / "ascendc" / "include", build.forwards())]
    command = [*toolchain.compiler(), "-std=c++20", "-fsyntax-only", *folders, str(source)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    probes = [f"using {'' if name.startswith('asc_') else 'AscendC::Reg'}::{name};" for name in REGISTERS]
    source.write_text("\n".join(['#include "kernel_operator.h"', "namespace probe {", *probes, "}", ""]))
    done = subprocess.run([*command, "-D__CCE_AICORE__=310"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ["ascend-c.md", "ascend-c.zh.md"])
def test_list_of_used_functions_is_current(name: str) -> None:
    text = (DOCS / name).read_text()
    assert text.split("<!-- used -->\n")[1].split("\n<!-- end of used -->")[0] == used()


@pytest.mark.parametrize("name", ["ascend-c.md", "ascend-c.zh.md"])
def test_table_of_kinds_is_current(name: str) -> None:
    text = (DOCS / name).read_text()
    assert text.split("<!-- kinds -->\n")[1].split("\n<!-- end of kinds -->")[0] == table()


def test_every_error_but_few_has_a_planted_fault() -> None:
    shown = {kind for _, _, kind in every_planted()}
    missing = {k.name for k in kinds() if k.severity == "error"} - shown
    assert missing <= {"tiling_size"}


@pytest.mark.parametrize("name", ["ascend-c.md", "ascend-c.zh.md"])
def test_every_function_that_computes_says_how_near_it_is(name: str) -> None:
    include = CSRC / "ascendc" / "include" / "ascendc"
    rows = "".join((include / file).read_text() for file in ("vector_ops.inc", "math.inc"))
    computed = set(re.findall(r"^(?:VECTOR_OP|MATH|MATH_WITH)\((\w+)", rows, re.MULTILINE))
    told = (DOCS / name).read_text().split("<!-- numbers -->")[1].split("<!-- end of numbers -->")[0]
    assert len(computed) >= 55 and computed <= set(re.findall(r"\w+", told))
