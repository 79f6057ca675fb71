"""``check(operator)``: whether everything that is said of an operator, on every route that is here, agrees."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ophook_npu.ops.check import gradients, kernel, routes, shapes, structure, transforms
from ophook_npu.ops.check.outcome import Failure, NotHere, Outcome
from ophook_npu.ops.declare import Operator

__all__ = ["CHECKS", "Failure", "NotHere", "Outcome", "check"]

# In this order: torch_npu 2.13's torchair cannot be used in a process that used npugraph_ex first, as both define the
# operators npu_define::*.
CHECKS: dict[str, Callable[[Operator], str]] = {
    "schema": structure.schema,
    "examples": structure.examples,
    "mutation": structure.mutation,
    "aliasing": structure.aliasing,
    "opcheck": structure.opcheck,
    "gradient": gradients.gradient,
    "fake": shapes.fake,
    "dtypes": shapes.dtypes,
    "vmap": transforms.vmap,
    "compile": transforms.compiled,
    "export": transforms.exported,
    "kernel": kernel.kernel,
    "prototype": routes.prototype,
    "aclnn": routes.aclnn,
    "torchair static": routes.torchair_static,
    "torchair dynamic": routes.torchair_dynamic,
    "npugraph_ex": routes.npugraph_ex,
}


def check(op: Operator, only: Iterable[str] | None = None) -> list[Outcome]:
    """Run the checks, all or ``only`` those named, and tell what each found. Registers the operator."""
    chosen = list(CHECKS) if only is None else list(only)
    outcomes: list[Outcome] = []
    # The first registers the operator, without which the others have nothing to run.
    for name in dict.fromkeys(["schema", *chosen]):
        try:
            outcomes.append(Outcome(name, "pass", CHECKS[name](op)))
        except NotHere as absent:
            outcomes.append(Outcome(name, "not here", str(absent)))
        except Failure as failure:
            outcomes.append(Outcome(name, "fail", str(failure)))
        except Exception as error:  # an operator may raise anything; the table says what
            text = str(error).strip()
            outcomes.append(Outcome(name, "fail", f"{type(error).__name__}: {text[:1500]}"))
        if name == "schema" and outcomes[-1].status == "fail":
            return outcomes  # nothing else can run
    return [one for one in outcomes if one.check in chosen]
