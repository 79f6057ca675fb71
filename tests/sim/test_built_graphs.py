"""Graphs that a C++ program builds from the toolkit's prototypes (graph/graph.h, op_proto/inc) and runs."""

import os
import re
import subprocess
from pathlib import Path

import numpy as np
import offline
import onnx
import pytest

from ophook_npu import sim, toolchain
from ophook_npu.sim.variables import apply, environment

SOURCE = Path(__file__).parent / "programs" / "graph_builder.cpp"
HEADER = "ops_proto_legacy.h"
RIGHT_ONES = ("", "half", "written", "edges", "parsed", "variables", "attributes", "operators", "nodes")
RIGHT = "4 7 2 3 7 16 5 6 | 2 3 4 7 5 6 7 16 | status 0\n"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root, folder = sim.active() or sim.build(), tmp_path_factory.mktemp("graph")
    out, installed = folder / "builder", root / "opp" / "built-in" / "op_proto" / "inc"
    # Of the toolkit's prototypes those that it uses: to compile all takes 15 s, and test_toolkit_headers.py does it.
    text, used = (installed / HEADER).read_text(), set(re.findall(r"\bop::(\w+)", SOURCE.read_text()))
    rows = re.findall(r"^REG_OP\((\w+)\)\n.*?;\n", text, re.M | re.S)
    assert {"Add", "MatMulV2"} <= used & set(rows)
    kept = re.sub(r"^REG_OP\((\w+)\)\n.*?;\n", lambda row: row[0] * (row[1] in used), text, flags=re.M | re.S)
    (folder / HEADER).write_text(kept)
    folders = [folder, root / "include", installed]
    old = "-D_GLIBCXX_USE_CXX11_ABI=0"  # which functions of std::string have in CANN
    command = [*toolchain.compiler(), "-std=c++17", "-w", old, *(f"-I{folder}" for folder in folders), str(SOURCE)]
    done = toolchain.run([*command, f"-L{root / 'lib64'}", "-lgraph", "-lge_runner", "-lgraph_base", "-o", str(out)])
    assert done.returncode == 0, done.stderr
    return out


def run(program: Path, fault: str) -> subprocess.CompletedProcess[str]:
    environ = dict(os.environ)
    apply(environ, environment(sim.active() or sim.build()))
    if fault not in RIGHT_ONES:
        environ["ASCEND_LOG_PRINT_TO_STDOUT"] = "1"
    command = [str(program), fault]
    return subprocess.run(
        command, env=environ, cwd=program.parent, capture_output=True, text=True, timeout=120, check=False
    )


@pytest.mark.parametrize("how", ["", "half"])
def test_a_graph_that_a_program_builds_runs(program: Path, how: str) -> None:
    done = run(program, how)
    assert done.stdout.endswith(RIGHT), done.stdout + done.stderr


def test_it_is_written_and_read_and_converted(program: Path) -> None:
    done = run(program, "written")
    assert done.stdout.endswith(f"{RIGHT}as it was\n"), done.stdout + done.stderr
    x = np.arange(1, 7, dtype=np.float32).reshape(2, 3)
    w = np.array([[1, 0, 0, 1], [0, 1, 0, 1], [0, 0, 1, 1]], np.float32)
    with offline.loaded(str(program.parent / "graph.om")) as model:
        turned, sums = model.run(x, w)
    assert " ".join(f"{one:g}" for one in [*turned.flat, *sums.flat]) == RIGHT.split(" | status")[0].replace("| ", "")


def test_a_model_of_onnx_becomes_a_graph(program: Path) -> None:
    kind, helper = onnx.TensorProto.FLOAT, onnx.helper
    x, y = (helper.make_tensor_value_info(name, kind, [2, 3]) for name in "xy")
    net = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "net", [x], [y])
    onnx.save(helper.make_model(net, opset_imports=[helper.make_opsetid("", 13)]), program.parent / "net.onnx")
    done = run(program, "parsed")
    assert done.stdout.endswith(f"{RIGHT}as it was\n"), done.stdout + done.stderr


def test_its_nodes_know_their_neighbours(program: Path) -> None:
    done = run(program, "edges")
    assert done.stdout.endswith(f"{RIGHT}as it was\n"), done.stdout + done.stderr


def test_graphs_of_a_session_share_its_variables(program: Path) -> None:
    done = run(program, "variables")
    assert done.stdout.endswith("as it was\n"), done.stdout + done.stderr
    assert "another graph of the session has this variable as float32[3], it is float32[1] here" in done.stdout
    assert "node weight (Variable): a first value as the attribute 'value' is not simulated" in done.stdout
    assert "node weight (Variable): variables belong to a session (ge::Session)" in done.stdout


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ("attributes", ()),
        (
            "operators",
            (
                "'halves' (SplitD): its required attribute 'num_split' is not set",
                "'sum' (Add): its prototype registers no shape inference (COMMON_INFER_FUNC_REG)",
                "'sum' (Add): its subgraph 'body': subgraphs are not simulated",
            ),
        ),
        ("nodes", ("no prototype is registered for operator type NoSuchOperator",)),
    ],
)
def test_what_the_interface_has_beside(program: Path, how: str, told: tuple[str, ...]) -> None:
    done = run(program, how)
    assert done.stdout.endswith("as it was\n") and all(one in done.stdout for one in told), done.stdout + done.stderr


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ("unfed", "its required input 'x2' is not fed"),
        ("names", "two operators are named 'x'"),
        ("output", "its input 'x1' does not say which output of 'halves' (SplitD) it reads, which has 2"),
        ("port", "its input 'x1' reads no output of 'halves' (SplitD) that has this name"),
        ("cycle", "it is part of a cycle"),
        ("inputs", "'w' (Data): it is not among the graph's inputs (SetInputs)"),
    ],
)
def test_what_is_no_graph_is_refused(program: Path, fault: str, told: str) -> None:
    done = run(program, fault)
    assert done.returncode == 1 and told in done.stdout, done.stdout + done.stderr
