"""The porting report: each planted case is found with its line, and nothing is found where nothing is."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import torch
import torch_npu

from ophook_npu import hooks, native, observe
from ophook_npu.errors import OphookError
from ophook_npu.observe import port as porting
from ophook_npu.observe.program import run

PROGRAMS = Path(__file__).parent / "programs"
COPIES = ("pageable", "contiguous", "made_contiguous")


@pytest.fixture
def report():
    """Runs a program of the folder under Port, in this process; with ``trace`` also its modules once more."""
    ports = []

    def of(name, trace=False, **options):
        path = PROGRAMS / name
        ports.append(observe.Port(main=path, **options))
        status = run([str(path)], ports[-1])
        if trace:
            ports[-1].trace()
        return status, ports[-1].result()

    yield of
    for port in ports:
        port.remove()
    hooks.purge()


def planted(name):
    """(line, code, operator) of what a program says is to be found in it."""
    lines = (PROGRAMS / name).read_text().splitlines()
    said = [(i + 1, line.partition("# find: ")[2]) for i, line in enumerate(lines)]
    return {(i, *one.split(" ", 1)) for i, text in said if text for one in text.split("; ")}


def found(report, name):
    return {
        (one.key.where.line, one.key.code, one.key.operator)
        for one in report.findings
        if one.key.where.file.endswith(name)
    }


def test_each_planted_case_is_found_with_its_line_and_count(report, capsys):
    status, result = report("port_planted.py")
    assert status == 0 and result.error is None, capsys.readouterr().err
    wanted, got = planted("port_planted.py"), found(result, "port_planted.py")
    assert wanted - got == set(), sorted(got - wanted)
    by_code = {one.key.code: one for one in result.findings}
    assert result.steps == 2 and by_code["shape"].count == by_code["mixed"].count == by_code["print"].count == 2
    assert by_code["item"].key.where.module == "" and by_code["item"].key.where.function == "forward"
    assert by_code["to_host"].bytes == 2 * 8 * 16 * 4
    fallback = next(one for one in result.findings if one.key.operator == "aten::_linalg_eigh.eigenvalues")
    assert fallback.bytes == 2 * 4 * (32 * 32 + 2 * (32 + 32 * 32))  # the matrix there, results there and back
    # A call that was refused here is one finding, which names each product whose pages refuse it.
    refused = [dict(one.key.values)["message"] for one in result.findings if one.key.operator == "aten::relu"]
    assert len(refused) == 1 and "INT16; Ascend910B/Ascend910_93/Ascend950 allows" in refused[0] and result.stops
    # What a line only calls is told apart from what it does.
    inside = {dict(one.key.values).get("inside") for one in result.findings if one.key.code == "waits_as_written"}
    assert inside == {None, "DataLoader._custom_dataloader_iter"}
    assert "nothing on this line: DataLoader" in result.text() and "(inside Module.npu)" in result.text()
    assert result.peaks[0] > 0 and any(place.startswith("port_planted.py") for place, _, _ in result.alive)
    assert {one.key.operator for one in result.of("fused")} == {"AdamW"}


def test_nothing_is_found_where_nothing_is(report):
    status, result = report("port_clean.py", trace=True, apply=True)
    assert status == 0 and result.findings == [], result.text()
    assert result.steps == 3 and not result.stops
    assert result.calls > 50 and "nothing was found" in result.text()


def test_what_graphs_and_lists_mind_is_found_with_its_line(report):
    status, result = report("port_graph.py", trace=True)
    assert status == 0 and planted("port_graph.py") == found(result, "port_graph.py"), result.text()
    by_code = {one.key.code: one for one in result.findings}
    assert dict(by_code["recompile"].key.values) == {"shapes": "3"} and by_code["recompile"].count == 2
    assert by_code["absent"].key.products == ("Ascend950",) and not result.stops
    assert by_code["absent"].kind == "rules" and result.kinds[-1] == "rules" and not result.of("refused")
    assert "By CANN's pages Ascend950 refuses" in "\n".join(result.verdict())
    captured = {one.key.operator: one.count for one in result.of("graph") if one.key.code == "capture"}
    assert set(captured.values()) == {4} and by_code["item"].key.where.module == ""
    graph = torch.npu.NPUGraph()  # and a captured graph does refuse what the report says of it
    with pytest.raises(RuntimeError), torch.npu.graph(graph):
        torch.tensor(2.0).npu()
    torch.npu.synchronize()


def test_what_runs_before_the_first_step_only_is_not_counted_by_step(report):
    _, result = report("port_planted.py")
    copies = {(one.key.where.line, one.key.where.phase): one.count for one in result.of("copies")}
    lines = (PROGRAMS / "port_planted.py").read_text().splitlines()
    moved, batch = (1 + next(i for i, line in enumerate(lines) if text in line) for text in ("Net().npu()", "(8, 16)"))
    assert copies[moved, "before"] == 4 and copies[batch, "forward"] == 2  # parameters; the first batch comes again
    assert "4 calls before the first step" in result.text()


def test_silent_casts_are_found_and_what_the_simulator_lacks_is_not_judged(report):
    status, result = report("port_casts.py")
    assert status == 0 and planted("port_casts.py") == found(result, "port_casts.py"), result.text()
    by_code = {one.key.code: one for one in result.findings}
    asked = {code: dict(one.key.values) for code, one in by_code.items() if code in ("narrowed", "retyped")}
    assert asked["narrowed"] == {"asked": "float64", "got": "float32"}
    assert asked["retyped"] == {"asked": "int64", "got": "int32"}
    assert by_code["refused_here"].count == 1 and result.stops  # also where it is the only call
    assert by_code["not_simulated"].key.known == "simulator"
    assert "1 call could not be judged" in result.text()


def test_without_a_compiler_the_same_is_found(report, monkeypatch):
    def none(name):
        raise OphookError("compile", "no compiler")

    _, result = report("port_casts.py")
    monkeypatch.setattr(native, "extension", none)
    _, plain = report("port_casts.py")
    assert plain.findings == result.findings != [] and plain.calls == result.calls


def test_fused_operators_that_were_missed_are_tried(report, monkeypatch):
    status, result = report("port_fused.py", trace=True, apply=True)
    assert status == 0 and planted("port_fused.py") == {
        one for one in found(result, "port_fused.py") if one[1] not in ("fused_whole", *COPIES)
    }
    (whole,) = [dict(one.key.values) for one in result.of("fused") if one.key.code == "fused_whole"]
    assert whole["places"] == "6" and float(whole["off"]) < 1e-5
    tried = {one.key.operator: one for one in result.of("fused") if one.key.code == "fused_tried"}
    assert tried["rotary embedding"].count == 2
    assert all(float(dict(one.key.values)[name]) < 1e-5 for one in tried.values() for name in ("off", "gradients"))

    # An operator that computes something else is told from one that only rounds, and one that fails from both.
    inner = torch_npu.npu_swiglu
    monkeypatch.setattr(torch_npu, "npu_swiglu", lambda x, dim=-1: inner(x, dim) * 1.01)
    monkeypatch.setattr(torch_npu, "npu_rotary_mul", lambda x, *_: x.nothing)
    _, result = report("port_fused.py", trace=True, apply=True)
    codes = {one.key.operator: (one.key.code, dict(one.key.values)) for one in result.of("fused")}
    assert codes["SwiGLU"][0] == "fused_off" and codes["SwiGLU"][1]["off"] == "0.01"
    assert codes["rotary embedding"][0] == "fused_failed" and "nothing" in codes["rotary embedding"][1]["reason"]
    assert codes["Net"][0] == "whole_failed" and "nothing" in codes["Net"][1]["reason"]


def test_backward_is_found_at_the_line_of_its_forward(report, tmp_path):
    program = tmp_path / "late.py"
    program.write_text(
        "import torch\n"
        "x = torch.eye(4, device='npu').requires_grad_()\n"
        "y = torch.linalg.eigvalsh(x)\n"
        "y.sum().backward()\n"
    )
    port = observe.Port()
    assert run([str(program)], port) == 0
    backward = [one for one in port.result().findings if one.key.where.phase == "backward"]
    port.remove()
    assert all(one.key.where.line == 3 for one in backward if one.kind == "fallback")


def test_steps_end_the_program_and_what_was_refused_does_not(report):
    status, result = report("port_planted.py", steps=1)
    assert status == 0 and result.steps == 1 and result.error is None
    assert {one.count for one in result.of("refused") if one.key.code == "refused_here"} == {1}


def test_a_step_that_a_scaler_leaves_out_is_one_and_what_it_does_is_not_the_lines(report, tmp_path):
    program = tmp_path / "scaled.py"
    program.write_text(
        "import torch\n"
        "x = torch.ones(2, device='npu', requires_grad=True)\n"
        "optimizer, scaler = torch.optim.SGD([x]), torch.amp.GradScaler('npu')\n"
        "for i in range(3):\n"
        "    scaler.scale((x * (torch.inf if i == 0 else 1)).sum()).backward()\n"
        "    scaler.step(optimizer)\n"
        "    scaler.update()\n"
    )
    port = observe.Port(graph=False)
    assert run([str(program)], port) == 0
    result = port.result()
    port.remove()
    assert result.steps == 3
    said = {(one.key.where.line, dict(one.key.values).get("inside")) for one in result.of("synchronizes")}
    assert (6, "GradScaler.step") in said and not any(inside is None for _, inside in said)


def test_a_program_that_asks_for_no_device_goes_on_where_its_host_memory_meets_the_device(tmp_path):
    program = tmp_path / "on_cpu.py"
    program.write_text(
        "import numpy as np, torch\n"
        "from torch.utils.data import DataLoader, TensorDataset\n"
        "net = torch.nn.Linear(5, 2)\n"
        "given = torch.from_numpy(np.ones((4, 5), dtype='float32'))\n"
        "for (x,) in DataLoader(TensorDataset(given), batch_size=2, shuffle=True):\n"
        "    net(x).sum().backward()\n"
        "wide = torch.nn.Linear(5, 2).double()\n"
        "drawn = torch.randn(3, generator=torch.Generator())\n"
        "kinds = torch.unique(torch.zeros(4))\n"
        "x = torch.ones(1, 1, 8, dtype=torch.float64)\n"
        "torch.nn.Conv1d(1, 2, 3).double()(x).sum().backward()\n"
        "torch.nn.LayerNorm(8).double()(x)\n"
    )
    torch.set_default_device("npu")
    try:
        port = observe.Port(graph=False)
        assert run([str(program)], port) == 0
        result = port.result()
        port.remove()
    finally:
        torch.set_default_device(None)
    refused = {(one.key.code, one.key.operator, one.key.where.line) for one in result.of("refused")}
    assert refused >= {("in_host_memory", "aten::addmm", 6), ("generator", "aten::randn.generator", 8)}
    assert refused >= {("mixed", "aten::conv1d", 11), ("mixed", "aten::native_layer_norm", 12)}
    assert all(code != "generator" or line == 8 for code, _, line in refused)  # a sampler's is not the program's
    # What was asked for by the line is to be changed there, whichever function of torch's written in Python does it.
    asked = {one.key.where.line: dict(one.key.values).get("inside") for one in result.findings}
    narrowed = {one.key.where.line for one in result.of("refused") if one.key.code == "narrowed"}
    assert narrowed == {7, 11, 12} and asked[7] is None and asked[9] is None
    waits = [(one.key.where.line, one.key.code) for one in result.of("synchronizes") if one.key.where.line > 6]
    assert waits == [(9, "shape")]  # and what the report itself casts is not the program's


def test_what_compares_data_types_before_any_operator_goes_on_too(tmp_path, capsys):
    """Modules and functions of torch's that refuse float64 beside float32 themselves, forward and backward."""
    program = tmp_path / "float64.py"
    program.write_text(
        "import numpy, torch\n"
        "from torch.nn.utils.rnn import pack_padded_sequence as packed\n"
        "n, x = torch.nn, torch.ones(2, 3, 8, dtype=torch.float64, requires_grad=True)\n"
        "outputs = {\n"
        "    'gru': n.GRU(8, 4, batch_first=True).double()(x)[0],\n"
        "    'lstm': n.LSTM(8, 4, 2, bidirectional=True).double()(x)[0],\n"
        "    'packed': n.LSTM(8, 4).double()(packed(x, torch.tensor([2, 2, 1], device='cpu')))[0].data,\n"
        "    'rnn': n.RNN(8, 4).double()(x)[0],\n"
        "    'prelu': n.PReLU().double()(x),\n"
        "    'bilinear': n.Bilinear(8, 8, 2).double()(x, x),\n"
        "    'encoder': n.TransformerEncoderLayer(8, 2, 16).double()(x),\n"
        "}\n"
        "n.GRU(8, 4)(torch.from_numpy(numpy.ones((2, 3, 8), dtype='float32')))\n"
        "for name, output in outputs.items():\n"
        "    (gradient,) = torch.autograd.grad(output.sum(), x)\n"
        "    print(name, output.dim(), gradient.dtype)\n"
        "try:\n"
        "    torch.nn.functional.linear(x, torch.ones(3, 7))\n"
        "except RuntimeError:\n"
        "    print('and what is the own error of the program stays one')\n"
    )
    torch.set_default_device("npu")
    try:
        port = observe.Port(graph=False)
        assert run([str(program)], port) == 0, port.error
        result = port.result()
        port.remove()
    finally:
        torch.set_default_device(None)
    printed = capsys.readouterr().out
    assert len(re.findall(r" torch\.float64$", printed, re.M)) == 7 and "stays one" in printed, printed
    mixed = {
        (one.key.operator.split(".")[0], one.key.where.line) for one in result.of("refused") if one.key.code == "mixed"
    }
    assert mixed >= {("aten::gru", 5), ("aten::lstm", 7), ("aten::prelu", 9), ("aten::bilinear", 10)}
    assert {line for _, line in mixed} >= set(range(5, 12))
    assert {one.key.code for one in result.of("refused") if one.key.where.line == 13} == {"in_host_memory"}


def test_an_error_of_the_program_is_in_the_verdict(report, tmp_path, capsys):
    program = tmp_path / "wrong.py"
    program.write_text("import torch\ntorch.zeros(2, device='npu') + torch.zeros(3, device='npu')\n")
    port = observe.Port()
    assert run([str(program)], port) == 1
    result = port.result()
    port.remove()
    assert result.stops and "RuntimeError" in result.error and "RuntimeError" in capsys.readouterr().err
    assert result.error.endswith("(wrong.py:2)")


def test_a_report_is_read_back_as_it_was(report, tmp_path):
    _, result = report("port_planted.py", steps=1)
    path = tmp_path / "report.json"
    path.write_text(json.dumps(result.to_json()))
    assert porting.read(path) == result


def test_a_program_for_cuda_on_the_command_line(run_python, tmp_path):
    page, data = tmp_path / "report.html", tmp_path / "report.json"
    options = ("--from-cuda", "--html", str(page), "--json", str(data), "--lang", "zh", "--fail-on", "cuda")
    done = run_python("-m", "ophook_npu", "port", *options, "--format", "github", "--", str(PROGRAMS / "port_cuda.py"))
    assert done.returncode == 1, done.stdout + done.stderr
    result = porting.read(data)
    assert planted("port_cuda.py") - found(result, "port_cuda.py") == set(), found(result, "port_cuda.py")
    assert not any(one.key.code == "cuda_transfer" for one in result.findings) and result.transferred
    text = page.read_text(encoding="utf-8")
    assert '<html lang="zh">' in text and "仅限 CUDA 的代码" in text and "flash_attn" in text
    assert "能否在昇腾上运行" in text and "可以在 Ascend910B4 上运行" in done.stderr
    assert re.search(r"^::error file=\S*port_cuda\.py,line=\d+,title=\w+::", done.stderr, re.M), done.stderr


def test_collectives_of_two_ranks_are_counted_and_what_hccl_lacks_is_found(launch):
    done = launch("port_collectives.py", 2)
    assert done.returncode == 0 and "found" in done.stdout, done.stdout + done.stderr


def test_a_module_ended_by_ctrl_c_leaves_a_report(run_python, tmp_path):
    package, data = tmp_path / "mine", tmp_path / "report.json"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "training.py").write_text(
        "import os, signal, sys, torch\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a job in the background ignores it
        "def never():\n"
        "    import triton\n"
        "for step in range(1000):\n"
        "    torch.ones(2, 3, device='npu').nonzero()\n"
        "    if step == int(sys.argv[1]):\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
    )
    command = f"import os; os.chdir({str(tmp_path)!r}); from ophook_npu.cli import main; main()"
    options = ("port", "--json", str(data), "--", "-m", "mine.training", "2")
    done = run_python("-c", command, *options, timeout=120)
    assert done.returncode == 130, done.stdout + done.stderr
    result = porting.read(data)
    assert result.interrupted and not result.stops and "Interrupted: the report covers" in done.stderr
    places = {(one.key.code, one.key.operator, one.key.where.line, one.count) for one in result.findings}
    assert places == {("shape", "aten::nonzero", 6, 3), ("source_import", "triton", 4, 0)}


def test_nothing_of_it_is_left_after_the_block():
    before = (torch._tensor_str._str, torch.optim.Optimizer.__init__, torch.npu.synchronize)
    port = observe.Port()
    with port:
        torch.ones(2, device="npu")
    port.remove()
    assert before == (torch._tensor_str._str, torch.optim.Optimizer.__init__, torch.npu.synchronize)


def test_results_are_compared_where_asked_and_nothing_else_changes(report, tmp_path):
    @torch.library.custom_op("port_test::twice", mutates_args=())
    def twice(x: torch.Tensor) -> torch.Tensor:
        return x * (2 if x.device.type == "cpu" else 2.5)

    program = tmp_path / "half.py"
    program.write_text(
        "import torch\n"
        "x = torch.full((4, 4), 300.0, device='npu', dtype=torch.float16)\n"
        "y = x @ x\n"  # 360,000 is more than float16 holds
        "z = torch.ops.port_test.twice(x.float())\n"
        "assert torch.isinf(y).all() and z.sum().item() > 0\n"
    )
    plain, compared = observe.Port(graph=False), observe.Port(graph=False, compare=True)
    for port in (plain, compared):
        assert run([str(program)], port) == 0
    one, both = plain.result(), compared.result()
    numbers = {f.key.code: f for f in both.findings if f.key.code in ("off", "overflow")}
    places = {code: (f.key.operator, f.key.where.line, f.count) for code, f in numbers.items()}
    assert places == {"overflow": ("aten::mm", 3, 1), "off": ("port_test::twice", 4, 1)}
    assert dict(numbers["off"].key.values) == {"dtype": "float32", "off": "0.25"}
    assert "float16 result is infinite" in both.text()
    assert [f for f in both.findings if f not in numbers.values()] == one.findings and both.calls == one.calls
    for port in (plain, compared):
        port.remove()
