"""`op check` passes what is right, and finds each planted fault and no other."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import typer
from typer.testing import CliRunner

from ophook_npu.cli import op as op_commands
from ophook_npu.errors import OphookError
from ophook_npu.ops import _OPERATORS, Operator, declaration, same_as
from ophook_npu.ops.check import CHECKS, check

COUNT = iter(range(1000))


@pytest.mark.parametrize("name", _OPERATORS)
def test_what_ships_passes(name: str) -> None:
    outcomes = {outcome.check: outcome for outcome in check(declaration(name))}
    assert list(outcomes) == list(CHECKS)
    assert [f"{o.check}: {o.reason}" for o in outcomes.values() if o.status == "fail"] == []
    for always in (
        "schema",
        "examples",
        "mutation",
        "aliasing",
        "opcheck",
        "fake",
        "dtypes",
        "vmap",
        "compile",
        "export",
    ):
        assert outcomes[always].status == "pass", outcomes[always]


def twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2


def double_grad(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
    return grad * 2


def keep(ctx: Any, inputs: Any, output: Any) -> None:
    pass


def planted(cpu: Callable[..., Any] = twice, schema: str = "(Tensor x) -> Tensor", **fields: Any) -> Operator:
    fields.setdefault("outputs", {"y": same_as("x")})
    fields.setdefault("examples", lambda: [(torch.randn(3, 4, requires_grad=True),), (torch.randn(2),)])
    fields.setdefault("dtypes", {"x": (torch.float32,)})
    fields.setdefault("backward", double_grad)
    fields.setdefault("setup_context", keep)
    return Operator(f"mylib::planted{next(COUNT)}{schema}", cpu, **fields)


def failures(op: Operator) -> dict[str, str]:
    return {outcome.check: outcome.reason for outcome in check(op) if outcome.status == "fail"}


def test_without_a_fault_nothing_fails() -> None:
    assert failures(planted()) == {}


def test_a_missing_mutates_args_is_found() -> None:
    def writes(x: torch.Tensor) -> torch.Tensor:
        x.add_(1)
        return x * 2

    found = failures(planted(writes, backward=None, setup_context=None))
    assert "it writes to x, which the schema does not say; write Tensor(a!) x there" in found["mutation"]
    assert "opcheck" in found


def test_a_declared_write_that_does_not_happen_is_found() -> None:
    op = planted(
        lambda x: None, "(Tensor(a!) x) -> ()", outputs={}, backward=None, setup_context=None,
        examples=lambda: [(torch.randn(3),)],
    )  # fmt: skip
    assert "says that it writes to x; with no example it does" in failures(op)["mutation"]


def test_a_result_that_is_an_argument_is_found() -> None:
    found = failures(planted(lambda x: x, backward=None, setup_context=None))
    assert "y shares memory with x" in found["aliasing"]


def test_a_fake_of_another_shape_is_found() -> None:
    found = failures(planted(outputs={"y": None}, fake=lambda x: x.new_empty(x.shape[:1])))
    assert "fake gives y as float32[3], the kernel float32[3, 4], for (float32[3, 4])" in found["fake"]


def test_a_fake_of_other_strides_is_found() -> None:
    found = failures(planted(lambda x: (x * 2).t().contiguous().t() if x.dim() == 2 else x * 2))
    assert "strides [4, 1], the kernel [1, 3]" in found["fake"]


def test_a_wrong_gradient_is_found() -> None:
    def wrong(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        return grad * 3

    found = failures(planted(backward=wrong))
    assert list(found) == ["gradient"] and "Jacobian mismatch" in found["gradient"]


def test_a_wrong_vmap_rule_is_found() -> None:
    def wrong(info: Any, dims: Any, x: torch.Tensor) -> Any:
        return x.movedim(dims[0], 0) * 3, 0

    found = failures(planted(vmap=wrong))
    assert list(found) == ["vmap"] and "vmap with in_dims (0,) gives another y" in found["vmap"]


def test_a_dtype_that_is_declared_and_does_not_run_is_found() -> None:
    def picky(x: torch.Tensor) -> torch.Tensor:
        if x.dtype == torch.float16:
            raise RuntimeError("[picky] no halves")
        return x * 2

    found = failures(planted(picky, dtypes={"x": (torch.float32, torch.float16)}))
    assert list(found) == ["dtypes"] and "x may have dtype torch.float16, which raises" in found["dtypes"]


def test_an_operator_that_cannot_be_registered_stops_at_the_schema() -> None:
    first = planted()
    check(first, ["schema"])
    other = dataclasses.replace(
        first, schema=first.schema.replace("Tensor x)", "Tensor x, int n=1)"), cpu=lambda x, n=1: x
    )
    outcomes = check(other)
    assert [o.check for o in outcomes] == ["schema"] and "it is registered as" in outcomes[0].reason


def command(*arguments: str) -> Any:
    app = typer.Typer()
    op_commands.register(app)
    return CliRunner().invoke(app, ["op", *arguments])


def test_command_line(tmp_path: Path) -> None:
    passed = command("check", "npu_add_custom", "--only", "schema", "--only", "fake", "--only", "aclnn")
    assert passed.exit_code == 0 and "not here" in passed.stdout and "sets of arguments" in passed.stdout
    strict = command("check", "npu_add_custom", "--only", "schema", "--only", "aclnn", "--strict")
    assert strict.exit_code == 1
    file = tmp_path / "planted.py"
    file.write_text(
        "import torch\nfrom ophook_npu.ops import Operator, same_as\n"
        "OP = Operator('mylib::p(Tensor x) -> Tensor', lambda x: x.add_(1) * 2, lambda: [(torch.ones(2),)],"
        " outputs={'y': same_as('x')})\n"
    )
    failed = command("check", str(file), "--only", "schema", "--only", "mutation")
    assert failed.exit_code == 1 and "it writes to x" in failed.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("check npu_ad_custom", "no operator 'npu_ad_custom'"),
        ("check npu_add_custom --only speed", "no check 'speed'"),
        ("check none.py", "no file"),
        ("new Scale --schema x --out new", "the name is 'Scale'"),
        ("export crop --out out", "it has no GE type and no aclnn function"),
    ],
)
def test_command_line_refusals(arguments: str, message: str) -> None:
    refused = command(*arguments.split())
    assert isinstance(refused.exception, OphookError) and message in str(refused.exception)
