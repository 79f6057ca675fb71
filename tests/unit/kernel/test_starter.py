"""`op new`: its kernel runs at once and gives what its CPU implementation gives; and the pytest fixture."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from ophook_npu.errors import OphookError
from ophook_npu.kernel.cases import unknown
from ophook_npu.kernel.check import check as check_project
from ophook_npu.ops.check import Failure, NotHere
from ophook_npu.ops.check.kernel import kernel, project_of
from ophook_npu.ops.load import load
from ophook_npu.ops.new import write
from ophook_npu.sim.pytest_plugin import checked_kernels

SCHEMAS = {
    "broadcast": "(Tensor a, Tensor b, Tensor c, float rows=0.5) -> Tensor",
    "optional": "(Tensor x, Tensor? bias=None, *, float eps=1e-6) -> (Tensor, Tensor)",
    "in_place": "(Tensor x, *, Tensor(a!) out, Tensor(b!) other) -> ()",
}


def new(folder: Path, name: str, schema: str):
    write(f"mylib::{name}", schema, folder)
    return load(str(folder / name / "operator.py"))[0]


@pytest.mark.parametrize("kind", SCHEMAS)
def test_the_kernel_of_a_new_operator_runs_at_once(kind: str, tmp_path: Path) -> None:
    assert "2 examples, up to" in kernel(new(tmp_path, f"started_{kind}", SCHEMAS[kind]))


def test_tails_and_rows(tmp_path: Path, ascendc_kernel) -> None:
    op = new(tmp_path, "started_tails", "(Tensor a, Tensor b) -> Tensor")
    run = ascendc_kernel(project_of(op), cores=3)
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        for shapes in [((5, 1, 7), (4, 1)), ((), (13,)), ((0, 5), (5,)), ((30_011,), (1,)), ((3, 9_001), (9_001,))]:
            a, b = (torch.randn(shape).to(dtype) for shape in shapes)
            assert torch.equal(run(a, b), (a.float() + b.float()).to(dtype))


def test_a_wrong_kernel_is_told_by_op_check(tmp_path: Path) -> None:
    op = new(tmp_path, "started_wrong", "(Tensor a, Tensor b) -> Tensor")
    source = project_of(op) / "op_kernel" / "started_wrong.cpp"
    right = source.read_text()
    source.write_text(right.replace("AscendC::Add(result, a, b", "AscendC::Sub(result, a, b"))
    with pytest.raises(Failure, match="started_wrong example 0: float32"):
        kernel(op)
    source.write_text(right.replace("tile = queue.template DeQue<T>();\n        Float", "Float"))
    with pytest.raises(Failure, match=r"started_wrong.cpp:\d+: error: .*\[missing_sync\]"):
        kernel(op)


def test_lists_of_tensors_have_no_kernel(tmp_path: Path) -> None:
    op = new(tmp_path, "started_list", "(Tensor x, Tensor[] rest) -> Tensor")
    with pytest.raises(NotHere, match="no Ascend C kernel"):
        kernel(op)
    assert (tmp_path / "started_list" / "simulated").is_dir()


def test_the_fixture_fails_a_test_with_findings(tmp_path: Path) -> None:
    op = new(tmp_path, "started_fixture", "(Tensor a) -> Tensor")
    project = project_of(op)
    source = project / "op_kernel" / "started_fixture.cpp"
    source.write_text(source.read_text().replace("tile = queue.template DeQue<T>();\n        Float", "Float"))
    with pytest.raises(pytest.fail.Exception, match=r"\[missing_sync\]"), checked_kernels() as load_kernel:
        load_kernel(project)(torch.ones(8))
    with checked_kernels() as load_kernel:
        found = load_kernel(project)
        found(torch.ones(8))
        assert "missing_sync" in {f.kind for f in found.all_findings}
        found.all_findings.clear()


def test_a_kernel_that_is_not_there() -> None:
    from ophook_npu.kernel import load as load_kernel

    with pytest.raises(OphookError, match="has no C"):
        load_kernel("/nonexistent")


@pytest.mark.parametrize("template", ["elementwise", "reduction", "row_norm", "matmul", "attention"])
def test_each_template_passes_strict(template: str, tmp_path: Path) -> None:
    name = f"begun_{template}_custom"
    write(f"mylib::{name}", "", tmp_path, template)
    (op,) = load(str(tmp_path / name / "operator.py"))
    project = project_of(op)
    assert project is not None and (op.qualname, project.parent) == (f"mylib::{name}", tmp_path / name)
    (checked,) = check_project(project, declared=unknown, strict=True)
    assert not checked.failed, [o.reason for o in checked.outcomes] + [str(f) for f in checked.findings]
    assert len(checked.outcomes) > len(op.examples()), "the larger inputs too"
    with pytest.raises(OphookError, match=r"has its own schema|no template"):
        write("mylib::other", "(Tensor x) -> Tensor", tmp_path / "x", template if template != "elementwise" else "conv")
