"""A row that is written wrongly is one error with its name, whatever is wrong with it; a right row is expanded."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from ophook_npu import toolchain
from ophook_npu.soc import CSRC

CHECK, RUN = "like(out, self)", "write(out, self)"
WRONG = {
    "(In, self, Out)": (f"{CHECK}, {RUN}", "parameters are kinds with names: a_name_is_missing"),
    "(In, In, other, Out, out)": (f"{CHECK}, {RUN}", "no_such_kind_other no_such_kind_out a_name_is_missing"),
    "(In, self, Tensor, x, Out, out)": (f"{CHECK}, {RUN}", "parameters are kinds with names: no_such_kind_Tensor"),
    "(at::Tensor, self, Out, out)": (f"{CHECK}, {RUN}", "no_such_kind_at::Tensor"),
    "(In, self, unsigned, n, Out, out)": (f"{CHECK}, {RUN}", "no_such_kind_unsigned"),
    "(In, self, Out, out)": (f"{CHECK}, same_dtype({{self, out}}), {RUN}", "one check, and one thing that runs"),
    "(In, a, Out, out)": (f"{CHECK}, {RUN}, {RUN}", "several go into parentheses: (a, b)"),
    "(In, b, Out, out)": (RUN, "a check and what runs; the last is missing"),
}


def compiled(tmp_path: Path, rows: list[str], *flags: str) -> subprocess.CompletedProcess[str]:
    source = tmp_path / "rows.cpp"
    source.write_text('#include "opapi/row.h"\n' + "\n".join(rows) + "\n", encoding="utf-8")
    command = [*toolchain.compiler(), "-std=c++20", f"-I{CSRC}", *flags, str(source)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.parametrize("macro", ["ACLNN(Op{}, ", "ACL_FUNCTION(aclnnOp{0}, Op{0}, "])
def test_each_mistake_is_one_error_that_names_the_row(tmp_path: Path, macro: str) -> None:
    rows = [f"{macro.format(i)}{parameters}, {rest})" for i, (parameters, (rest, _)) in enumerate(WRONG.items())]
    done = compiled(tmp_path, rows, "-fsyntax-only", "-fno-diagnostics-show-caret")
    errors = [line for line in done.stderr.splitlines() if " error: " in line]
    assert done.returncode and len(errors) == len(WRONG), done.stderr
    for i, (line, (_, told)) in enumerate(zip(errors, WRONG.values(), strict=True)):
        assert re.search(rf"static assertion failed: \W?aclnnOp{i}: a row", line) and told in line, line
    assert len(done.stderr.splitlines()) < 15 * len(WRONG)


def test_a_right_row_is_three_functions(tmp_path: Path) -> None:
    rows = ["#define BOTH In, x, In, y", f"ACLNN(Op, (BOTH, int64_t, dim, Out, out), ({CHECK}, like(x, y)), {RUN})"]
    done = compiled(tmp_path, rows, "-E", "-P")
    assert done.returncode == 0 and "static_assert" not in done.stdout, done.stdout + done.stderr
    for text in (
        'aclnnOpParameters() { return "(In, x, In, y, int64_t, dim, Out, out)"; }',
        "int aclnnOpGetWorkspaceSize(In x , In y , int64_t dim , Out out, uint64_t* workspace",
        "int aclnnOp(void* workspace, uint64_t size, aclOpExecutor* executor, void* stream)",
    ):
        assert text in done.stdout


def test_the_kinds_are_those_that_a_row_can_have() -> None:
    """What a call is given, and the names that opapi/aclnn.h gives to it."""
    header = (CSRC / "opapi" / "aclnn.h").read_text(encoding="utf-8")
    kinds = set(re.findall(r"^#define no_such_kind_(\w+)$", (CSRC / "opapi" / "row.h").read_text(), re.M))
    given = re.search(r"using Given = std::variant<(.*?)>;", header, re.S)
    assert given
    section = header.split("// ---- parameter kinds of a row")[1].split("// ----")[0].partition("SIM_API")[0]
    named = set(re.findall(r"^using (\w+) =|^struct (\w+) \{", section, re.M))
    written = set(re.findall(r"\w+", given[1]))
    assert written | {one or other for one, other in named} | {"int"} == kinds
