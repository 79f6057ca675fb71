"""The porting report without a device: patterns, sources, the report as data and as a page."""

from __future__ import annotations

import ast
import dataclasses
import json
from pathlib import Path

import pytest
import torch
from test_html_pages import check
from torch import nn

from ophook_npu import observe
from ophook_npu.cli import port as command
from ophook_npu.errors import OphookError
from ophook_npu.observe.pages.port import port_page
from ophook_npu.observe.port import (
    KINDS,
    Finding,
    Report,
    cuda,
    differences,
    finding,
    fused,
    graphs,
    grown,
    read,
    words,
)
from ophook_npu.observe.port.terms import TERMS, term
from ophook_npu.observe.port.where import FRAMEWORK, LIBRARY, NOWHERE, OWN, Where, kind_of
from ophook_npu.observe.program import file_of

LINES = Path(__file__).read_text().splitlines()


class Norm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(width)), 1e-6

    def forward(self, x):
        wide = x.to(torch.float32)
        variance = wide.pow(2).mean(-1, keepdim=True)
        wide = wide * torch.rsqrt(variance + self.eps)
        return self.weight * wide.to(x.dtype)  # RMSNorm


class Block(nn.Module):
    """A layer of a Llama, written out; what is to be found stands after the line."""

    def __init__(self, width=24, heads=2):
        super().__init__()
        self.norm, self.heads = Norm(width), heads
        self.q, self.k, self.v = (nn.Linear(width, width, bias=False) for _ in range(3))
        self.gate, self.up, self.down = nn.Linear(width, 40), nn.Linear(width, 40), nn.Linear(40, width)

    def turned(self, x, cos, sin):
        half = x.shape[-1] // 2
        other = torch.cat((-x[..., half:], x[..., :half]), dim=-1)
        return x * cos + other * sin  # rotary embedding

    def forward(self, x, cos, sin):
        y = self.norm(x)
        q, k, v = (p(y).unflatten(-1, (self.heads, -1)).transpose(1, 2) for p in (self.q, self.k, self.v))
        q, k = self.turned(q, cos, sin), self.turned(k, cos, sin)
        weights = torch.softmax(torch.matmul(q, k.transpose(2, 3)) * q.shape[-1] ** -0.5, -1)
        x = x + torch.matmul(weights, v).transpose(1, 2).flatten(2)  # attention
        return x + self.down(nn.functional.silu(self.gate(x)) * self.up(x))  # SwiGLU


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_patterns_of_fused_operators_are_found_at_their_lines(dtype):
    model = Block().to(dtype)
    lowered, found = [], finding.Findings()

    def backend(gm, inputs):
        lowered.append(graphs.lower(gm, inputs))
        return gm.forward

    torch.compile(model, backend=backend)(torch.randn(2, 5, 24, dtype=dtype), *torch.rand(2, 5, 12, dtype=dtype))
    torch._dynamo.reset()
    assert len(lowered) == 1 and not isinstance(lowered[0], str), lowered
    fused.missed(lowered, found)
    got = {(one.key.operator, LINES[one.key.where.line - 1].rpartition("# ")[2], one.count) for one in found.all()}
    assert got == {
        ("RMSNorm", "RMSNorm", 1), ("rotary embedding", "rotary embedding", 2), ("attention", "attention", 1),
        ("SwiGLU", "SwiGLU", 1),
    }  # fmt: skip


def test_a_pattern_inside_torchs_own_modules_is_found_with_its_module():
    lowered, found = [], finding.Findings()

    def backend(gm, inputs):
        lowered.append(graphs.lower(gm, inputs))
        return gm.forward

    torch.compile(nn.Sequential(nn.Linear(8, 8), nn.Sequential(nn.RMSNorm(8))), backend=backend)(torch.randn(2, 8))
    torch._dynamo.reset()
    fused.missed(lowered, found)
    assert [(one.key.operator, one.key.where.module) for one in found.all()] == [("RMSNorm", "1.0")]


def test_a_graph_break_and_other_shapes_are_found():
    class Breaks(nn.Module):
        def forward(self, x):
            y = x + 1
            torch._dynamo.graph_break()  # here
            return y * 2

    modules, found = graphs.Modules(), finding.Findings()
    model = Breaks()
    for size in (2, 3, 3):
        modules.called(model, (torch.ones(size),), {})
    graphs._one(*modules.first[id(model)][:3], True, found, [])
    (one,) = found.all()
    assert one.key.code == "break" and "# here" in LINES[one.key.where.line - 1]
    assert len(modules.shapes[id(model)]) == 2


def test_cuda_is_found_in_a_source_that_does_not_run():
    source = (
        "import triton.language as tl\nfrom flash_attn.ops import x\nimport torch\ntorch.cuda.nvtx.mark('x')\nnumpy.x\n"
    )
    named = {(line, name) for line, name, _ in cuda._named(ast.parse(source), False)}
    assert named == {(1, "triton.language"), (2, "flash_attn.ops"), (4, "torch.cuda.nvtx")}


@pytest.fixture
def report():
    where = Where("/home/me/train.py", 12, "forward", "/home/me/train.py", 12, "layers.0")
    other = where._replace(module="layers.1")
    found = [
        Finding(finding.key("refused", "refused_here", "aten::x<b>", where, message="no <script>"), 2),
        Finding(finding.key("fallback", "fallback", "aten::y", where), 3, 4096),
        Finding(finding.key("fallback", "fallback", "aten::y", other), 1, 1024),
        Finding(finding.key("cuda", "source_import", "triton", NOWHERE, "source", instead="z"), 0),
    ]
    return Report(
        "Ascend910B4",
        "2.13.0",
        2,
        100,
        5,
        7,
        found,
        peaks=[1 << 20],
        alive=[("train.py:3", 1 << 19, 2)],
        collectives=[("c10d::allreduce_", 4, 320)],
    )


def test_what_breaks_or_costs_most_comes_first_and_a_call_counts_once():
    where = Where("/home/me/train.py", 12, "forward", "/home/me/train.py", 12, "")

    def at(line, kind, code, operator, count, size=0, **values):
        key = finding.key(kind, code, operator, where._replace(line=line), **values)
        return Finding(key, count, size)

    found = [
        at(1, "numerics", "random", "aten::native_dropout", 900),
        at(2, "rules", "absent", "aten::cos", 800, products=("Ascend950",), message="m"),
        at(3, "synchronizes", "item", "aten::_local_scalar_dense", 4),
        at(3, "graph", "capture", "aten::_local_scalar_dense", 4),
        at(4, "copies", "pageable", "aten::copy_", 2, 100_000_000),
        at(5, "copies", "contiguous", "aten::clone", 300),
        at(6, "refused", "converted", "aten::mm", 6, asked="a", functions="f"),
        at(6, "refused", "refused_here", "aten::mm", 6, message="m"),
        at(7, "memory", "too_small", "peak", 0, 1 << 40, socs="Ascend910B4"),
    ]
    result = Report("Ascend910B4", "2.13.0", 2, 2000, 0, 7, found)
    # Refused, then what the host waits for, and only then what is called most.
    assert result.kinds == ["refused", "synchronizes", "copies", "memory", "graph", "numerics", "rules"]
    assert [one.key.where.line for one in result.first()] == [6, 4, 3, 5, 1, 2]
    assert result.amount("refused") == "3 calls per step"  # of one call two things are said
    assert [one.key.where.line for one in result.grouped("copies")] == [4, 5]
    page = port_page(result, "train.py")
    for kind, amount in (("refused", "3 calls per step"), ("synchronizes", "2 calls per step")):
        name = term(kind)
        assert f">{name}<b>{amount}</b>" in page  # the tile says what stands over the table
        assert f"<h2>{name}</h2><span>{len(result.grouped(kind))} found; {amount}" in page
    without_steps = dataclasses.replace(result, steps=0, findings=[at(1, "copies", "pageable", "x", 1, 8)])
    assert "1 call; 8 B" in without_steps.text()


@pytest.mark.parametrize("lang", words.LANGUAGES)
def test_a_page_and_a_text_in_each_language(report, lang):
    text = port_page(report, "train.py <b>", lang)
    page = check(text)
    shown = " ".join(page.text)
    assert f'<html lang="{lang}">' in text and "aten::x<b>" in shown and "no <script>" in shown
    assert term("stops", lang, product="Ascend910B4") in shown
    assert "train.py:12" in report.text(lang) and term("fallback", lang) in report.text(lang)


def test_modules_of_one_place_are_one_row(report):
    (row,) = report.grouped("fallback")
    assert (row.count, row.bytes, row.key.where.module) == (4, 5120, "layers.0") and len(report.of("fallback")) == 2
    assert report.share(row) == 0.04 and report.per_step(row.count) == 2


def test_a_report_is_read_back_and_others_are_not(report, tmp_path):
    path = tmp_path / "a.json"
    data = report.to_json()
    path.write_text(json.dumps(data))
    assert read(path) == report
    path.write_text(json.dumps({name: value for name, value in data.items() if name != "collectives"}))
    assert read(path) == dataclasses.replace(report, collectives=[])
    wrong = [
        {**data, "collectives": [["x", 1]]},
        {**data, "format": 9}, {**data, "calls": "many"}, {**data, "peaks": [None]},
        {**data, "findings": [{**data["findings"][0], "code": "unheard"}]},
        {**data, "findings": [{**data["findings"][0], "values": {}}]}, [], "x",
    ]  # fmt: skip
    for each in wrong:
        path.write_text(json.dumps(each))
        with pytest.raises(OphookError, match="no porting report"):
            read(path)


def test_two_reports_differ_in_what_came_and_went(report):
    after = dataclasses.replace(report, findings=report.findings[1:])
    text = differences(report, after)
    assert "0 new, 1 gone" in text and "aten::x<b>" in text and "aten::y" not in text
    assert "the same findings" in differences(report, report)
    kind = report.findings[0].kind
    assert not grown(report, report, KINDS) and not grown(report, after, KINDS)
    assert grown(after, report, [kind]) and not grown(after, report, set(KINDS) - {kind})
    more = dataclasses.replace(report.findings[0], count=2 * report.findings[0].count)
    assert grown(report, dataclasses.replace(report, findings=[more, *report.findings[1:]]), [kind])


def test_each_sentence_is_there_in_each_language():
    for code, (english, chinese) in words.SAYS.items():
        assert len(english) == len(chinese) == 2 and all(english + chinese), code
    assert all(len(both) == 2 and all(both) for both in TERMS.values())
    assert set(KINDS) | set(finding.KNOWN) <= set(TERMS)


def test_on_a_plain_cpu_the_report_says_that_nothing_ran_on_a_device():
    port = observe.Port()
    with port:
        torch.ones(2) + 1
    port.remove()
    result = port.result()
    assert result.stops and result.calls == 0 and result.on_cpu == 2 and "all on the CPU" in port.report()


def test_ctrl_c_before_anything_ran_says_so_and_one_while_tracing_keeps_the_rest(report, capsys):
    early = dataclasses.replace(report, calls=0, on_cpu=0, interrupted=True, findings=[])
    assert not early.stops and "nothing can be said" in early.verdict()[0]

    class Interrupted:
        interrupted = False

        def trace(self):
            raise KeyboardInterrupt

    port = Interrupted()
    assert command._traced(port) == 130 and port.interrupted and "interrupted" in capsys.readouterr().err


def test_the_source_that_a_program_begins_with_is_found(tmp_path, monkeypatch):
    package = tmp_path / "apart"
    package.mkdir()
    for name in ("__init__", "__main__", "one"):
        (package / f"{name}.py").touch()
    monkeypatch.chdir(tmp_path)
    assert file_of(["-m", "apart.one", "x"]) == package / "one.py"
    assert file_of(["-m", "apart"]) == package / "__main__.py"
    assert file_of(["apart/one.py"]) == Path("apart/one.py")
    assert file_of(["-c", "1"]) is file_of(["-m", "no.such"]) is file_of(["none.py"]) is None


@pytest.mark.parametrize(
    "file, kind",
    [
        (torch.__file__, FRAMEWORK),
        (json.__file__, FRAMEWORK),
        (pytest.__file__, LIBRARY),
        ("/elsewhere/lib/python3.11/site-packages/torch_npu/utils/_dynamo.py", FRAMEWORK),
        ("/usr/lib/python3/dist-packages/numpy/core.py", LIBRARY),
        (str(Path(json.__file__).parents[1] / "site-packages" / "transformers" / "x.py"), LIBRARY),
        ("/home/you/train.py", OWN),
    ],
)
def test_packages_of_another_environment_are_no_code_of_the_program(file, kind):
    assert kind_of(file) == kind


def test_a_number_of_steps_that_is_none_is_refused():
    with pytest.raises(OphookError, match="steps=0"):
        observe.Port(steps=0)


def test_of_several_ranks_the_first_writes_or_each_its_own(tmp_path, monkeypatch):
    monkeypatch.setenv("RANK", "0")
    assert command._of_rank(tmp_path / "a.json") == tmp_path / "a.json"
    monkeypatch.setenv("RANK", "1")
    assert command._of_rank(tmp_path / "a.json") is command._of_rank(None) is None
    assert command._of_rank(tmp_path / "a{rank}.json") == tmp_path / "a1.json"


def test_a_misspelled_keyword_is_refused_with_the_nearest() -> None:
    with pytest.raises(OphookError, match=r"unknown keyword 'step', did you mean 'steps'\?.*compare, go_on, graph"):
        observe.Port(step=3)
