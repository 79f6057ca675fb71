"""Steps of optimizers by the graph engine's types: against torch's optimizers, and against the formulas of TensorFlow's
documentation where torch has none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import interfaces
import pytest
import torch


def real(*sizes: int) -> torch.Tensor:
    return torch.randn(*sizes)


def one(value: float, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.tensor([value], dtype=dtype)


@pytest.fixture(autouse=True)
def _same_numbers() -> None:
    torch.manual_seed(0)


# ---- as torch's optimizers, for some steps ---------------------------------------------------------------------------
def stepped(optimizer: type[torch.optim.Optimizer], grads: list[torch.Tensor], **options: Any) -> torch.Tensor:
    parameter = torch.nn.Parameter(torch.linspace(-1, 1, 6))
    own = optimizer([parameter], **options)
    for grad in grads:
        parameter.grad = grad
        own.step()
    return parameter.detach()


# The type; how many states it has; what is in front of the gradient and behind it; attributes; torch's optimizer.
# A number may depend on the step (from 1 on).
Numbers = Callable[[int], list[torch.Tensor]]
STEPS: dict[str, tuple[str, int, Numbers, Numbers, dict[str, Any], type[torch.optim.Optimizer], dict[str, Any]]] = {
    "momentum": ("ApplyMomentum", 1, lambda _: [one(0.1)], lambda _: [one(0.9)], {},
                 torch.optim.SGD, {"lr": 0.1, "momentum": 0.9}),
    "nesterov": ("ApplyMomentumD", 1, lambda _: [one(0.1)], lambda _: [one(0.9)], {"use_nesterov": True},
                 torch.optim.SGD, {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
    "plain": ("ApplyGradientDescent", 0, lambda _: [one(0.1)], lambda _: [], {}, torch.optim.SGD, {"lr": 0.1}),
    "adadelta": ("ApplyAdadeltaD", 2, lambda _: [one(0.5), one(0.9), one(1e-6)], lambda _: [], {},
                 torch.optim.Adadelta, {"lr": 0.5}),
    "adadelta in place": ("ApplyAdadelta", 2, lambda _: [one(0.5), one(0.9), one(1e-6)], lambda _: [], {},
                          torch.optim.Adadelta, {"lr": 0.5}),
    "adagrad": ("ApplyAdagrad", 1, lambda _: [one(0.1)], lambda _: [], {}, torch.optim.Adagrad, {"lr": 0.1, "eps": 0}),
    "adagrad D": ("ApplyAdagradD", 1, lambda _: [one(0.1)], lambda _: [], {},
                  torch.optim.Adagrad, {"lr": 0.1, "eps": 0}),
    "adagrad v2": ("ApplyAdagradV2", 1, lambda _: [one(0.1), one(0.25)], lambda _: [], {},
                   torch.optim.Adagrad, {"lr": 0.1, "eps": 0.25}),
    "adagrad v2 D": ("ApplyAdagradV2D", 1, lambda _: [one(0.1)], lambda _: [], {"epsilon": 0.25},
                     torch.optim.Adagrad, {"lr": 0.1, "eps": 0.25}),
    "adamax": ("ApplyAdaMax", 2, lambda i: [one(0.9**i), one(0.1), one(0.9), one(0.99), one(0.0)], lambda _: [], {},
               torch.optim.Adamax, {"lr": 0.1, "betas": (0.9, 0.99), "eps": 0}),
    "adamax D": ("ApplyAdaMaxD", 2, lambda i: [one(0.9**i), one(0.1), one(0.9), one(0.99), one(0.0)], lambda _: [], {},
                 torch.optim.Adamax, {"lr": 0.1, "betas": (0.9, 0.99), "eps": 0}),
    "adam": ("ApplyAdam", 2, lambda i: [one(0.9**i), one(0.99**i), one(0.1), one(0.9), one(0.99), one(0.0)],
             lambda _: [], {}, torch.optim.Adam, {"lr": 0.1, "betas": (0.9, 0.99), "eps": 0}),
}  # fmt: skip


@pytest.mark.parametrize("name", STEPS)
def test_a_type_steps_as_torch_does(name: str) -> None:
    of, states, front, behind, attributes, optimizer, options = STEPS[name]
    grads = [real(6) for _ in range(3)]
    x = [torch.linspace(-1, 1, 6), *(torch.zeros(6) for _ in range(states))]
    for i, grad in enumerate(grads, 1):
        # A node's outputs are those it has in memory of its own; the states that are none are changed where they are.
        made = interfaces.graph(of, *x, *front(i), grad, *behind(i), **attributes)
        x[: len(made)] = made
    torch.testing.assert_close(x[0], stepped(optimizer, grads, **options))
    assert all(state.any() for state in x[1:])


@pytest.mark.parametrize("options", [{}, {"dampening": 0.25, "weight_decay": 0.1}, {"nesterov": True}], ids=str)
def test_sgd_is_damped_from_the_second_step_on(options: dict[str, Any]) -> None:
    grads = [real(6) for _ in range(3)]
    x, kept, first = torch.linspace(-1, 1, 6), torch.zeros(6), torch.ones(6)
    for grad in grads:
        (x,) = interfaces.graph("SGD", x, grad, one(0.1), kept, one(0.9), first, **options)
    torch.testing.assert_close(x, stepped(torch.optim.SGD, grads, lr=0.1, momentum=0.9, **options))
    assert not first.any()


# ---- as formulas -----------------------------------------------------------------------------------------------------
def keras(x: torch.Tensor, a: torch.Tensor, g: torch.Tensor, nesterov: bool) -> list[torch.Tensor]:
    a = a * 0.9 - g * 0.1
    return [x + a * 0.9 - g * 0.1 if nesterov else x + a, a]


def rms(x: torch.Tensor, s: torch.Tensor, k: torch.Tensor, g: torch.Tensor) -> list[torch.Tensor]:
    s = 0.9 * s + 0.1 * g * g
    k = 0.5 * k + 0.1 * g / (s + 0.01).sqrt()
    return [x - k, s, k]


def centered(x: torch.Tensor, m: torch.Tensor, s: torch.Tensor, k: torch.Tensor, g: torch.Tensor) -> list[torch.Tensor]:
    m, s = 0.9 * m + 0.1 * g, 0.9 * s + 0.1 * g * g
    k = 0.5 * k + 0.1 * g / (s - m * m + 0.01).sqrt()
    return [x - k, m, s, k]


def ftrl(x: torch.Tensor, a: torch.Tensor, z: torch.Tensor, g: torch.Tensor, shrinkage: float) -> list[torch.Tensor]:
    new = a + g * g
    z = z + g + 2 * shrinkage * x - (new**0.5 - a**0.5) / 0.1 * x
    x = torch.where(z.abs() > 0.2, (z.sign() * 0.2 - z) / (new**0.5 / 0.1 + 2 * 0.3), 0.0)
    return [x, new, z]


def proximal(x: torch.Tensor, rate: torch.Tensor | float) -> torch.Tensor:
    return x.sign() / (1 + rate * 0.3) * (x.abs() - rate * 0.2).clamp_min(0)


def proximal_adagrad(x: torch.Tensor, a: torch.Tensor, g: torch.Tensor) -> list[torch.Tensor]:
    a = a + g * g
    return [proximal(x - g * 0.1 / a.sqrt(), 0.1 / a.sqrt()), a]


def dual(a: torch.Tensor, s: torch.Tensor, g: torch.Tensor) -> list[torch.Tensor]:
    a, s = a + g, s + g * g
    return [-0.1 * a.sign() * (a.abs() - 0.2 * 7).clamp_min(0) / (0.3 * 7 * 0.1 + s.sqrt()), a, s]


def amsgrad(x: torch.Tensor, m: torch.Tensor, v: torch.Tensor, w: torch.Tensor, g: torch.Tensor) -> list[torch.Tensor]:
    m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g * g
    w = torch.maximum(w, v)
    return [x - 0.1 * (1 - 0.8) ** 0.5 / (1 - 0.6) * m / (w.sqrt() + 0.01), m, v, w]


def sign(x: torch.Tensor, m: torch.Tensor, g: torch.Tensor, power: bool) -> list[torch.Tensor]:
    m = 0.9 * m + 0.1 * g
    same = 0.5 * g.sign() * m.sign()
    return [x - 0.1 * ((2.0 * same).exp() if power else 2.0 + same) * g, m]


def once(g: torch.Tensor, v: torch.Tensor, m: torch.Tensor, x: torch.Tensor, decay: float) -> list[torch.Tensor]:
    v, m = v * 0.99 + g * g * 0.02, m * 0.9 + g * 0.2
    return [v, m, x - 0.1 * (m / (v.sqrt() + 0.01) + decay * x)]


def lamb(g: torch.Tensor, v: torch.Tensor, m: torch.Tensor, x: torch.Tensor) -> list[torch.Tensor]:
    v, m = v * 0.99 + g * g * 0.01, m * 0.9 + g * 0.1
    return [m / (1 - 0.9**3) / ((v / (1 - 0.99**3)).sqrt() + 0.01) + 0.5 * x, v, m]


def lars(x: torch.Tensor, g: torch.Tensor, clip: bool) -> list[torch.Tensor]:
    trust = 0.5 * x.norm() / (g.norm() + 0.2 * x.norm() + 0.01)
    return [(g + 0.2 * x) * (min(trust / 0.1, 1.0) if clip else trust)]


def by_rows(step: Callable[..., list[torch.Tensor]], *x: torch.Tensor, at: list[int]) -> list[torch.Tensor]:
    """What the step makes of one row after the other; the last of `x` has the gradients of the rows."""
    after = [each.clone() for each in x[:-1]]
    for row, grad in zip(at, x[-1], strict=True):
        for each, new in zip(after, step(*(each[row] for each in after), grad), strict=True):
            each[row] = new
    return after


def adadelta(x: torch.Tensor, s: torch.Tensor, u: torch.Tensor, g: torch.Tensor) -> list[torch.Tensor]:
    s = 0.9 * s + 0.1 * g * g
    step = (u + 0.01).sqrt() / (s + 0.01).sqrt() * g
    return [x - 0.1 * step, s, 0.9 * u + 0.1 * step**2]


# x and g: parameters and gradient; s, t: states that are not negative, m, k: any; o: a number. "node | what it gives".
FORMULAS = """
ApplyKerasMomentum(x, m, o(0.1), g, o(0.9)) | keras(x, m, g, False)
ApplyKerasMomentumD(x, m, o(0.1), g, o(0.9), use_nesterov=True) | keras(x, m, g, True)
FusedMulApplyMomentum(x, m, o(0.1), g, o(0.9), o(0.5)) | [x - 0.1 * (0.9 * m + 0.5 * g), 0.9 * m + 0.5 * g]
FusedMulApplyKerasMomentum(x, m, o(0.1), g, o(0.9), o(0.5)) | keras(x, m, 0.5 * g, False)
FusedMulApplyMomentumExtern(x, m, o(0.1), g, o(0.9), o(0.5), x.half()) | [x - 0.1 * (0.9 * m + 0.5 * g), (x - 0.1 * (0.9 * m + 0.5 * g)).half(), 0.9 * m + 0.5 * g]
ApplyRMSProp(x, s, m, o(0.1), o(0.9), o(0.5), o(0.01), g) | rms(x, s, m, g)
ApplyRMSPropD(x, s, m, o(0.1), g, rho=0.9, momentum=0.5, epsilon=0.01) | rms(x, s, m, g)
ApplyCenteredRMSProp(x, m / 9, s, k, o(0.1), o(0.9), o(0.5), o(0.01), g) | centered(x, m / 9, s, k, g)
ApplyCenteredRMSPropD(x, m / 9, s, k, o(0.1), o(0.9), o(0.5), o(0.01), g) | centered(x, m / 9, s, k, g)
ApplyAdagradD(x, s, o(0.1), g, update_slots=False) | [x - 0.1 * g / s.sqrt(), s]
ApplyProximalGradientDescent(x, o(0.1), o(0.2), o(0.3), g) | [proximal(x - 0.1 * g, 0.1)]
ApplyProximalGradientDescent(x, o(0.1), o(0.0), o(0.3), g) | [(x - 0.1 * g) / 1.03]
ApplyProximalAdagrad(x, s, o(0.1), o(0.2), o(0.3), g) | proximal_adagrad(x, s, g)
ApplyProximalAdagradD(x, s, o(0.1), o(0.2), o(0.3), g) | proximal_adagrad(x, s, g)
ApplyAdagradDA(x, m, s, g, o(0.1), o(0.2), o(0.3), torch.tensor([7])) | dual(m, s, g)
ApplyAdagradDAD(x, m, s, g, o(0.1), o(0.2), o(0.3), torch.tensor([7])) | dual(m, s, g)
ApplyFtrl(x, s, m, g, o(0.1), o(0.2), o(0.3), o(-0.5)) | ftrl(x, s, m, g, 0.0)
ApplyFtrlD(x, s, m, g, o(0.1), o(0.2), o(0.3), o(-0.5)) | ftrl(x, s, m, g, 0.0)
ApplyFtrlV2(x, s, m, g, o(0.1), o(0.2), o(0.3), o(0.4), o(-0.5)) | ftrl(x, s, m, g, 0.4)
ApplyFtrlV2D(x, s, m, g, o(0.1), o(0.2), o(0.3), o(0.4), o(-0.5)) | ftrl(x, s, m, g, 0.4)
ApplyAdamWithAmsgrad(x, m, s, t, o(0.6), o(0.8), o(0.1), o(0.9), o(0.99), o(0.01), g) | amsgrad(x, m, s, t, g)
ApplyAdamWithAmsgradV2(x, m, s, t, o(0.6), o(0.8), o(0.1), o(0.9), o(0.99), o(0.01), g) | amsgrad(x, m, s, t, g)
ApplyAdamWithAmsgradD(x, m, s, t, o(0.6), o(0.8), o(0.1), g, beta1=0.9, beta2=0.99, epsilon=0.01) | amsgrad(x, m, s, t, g)
ApplyAddSign(x, m, o(0.1), o(2.0), o(0.5), o(0.9), g) | sign(x, m, g, False)
ApplyAddSignD(x, m, o(0.1), o(2.0), o(0.5), o(0.9), g) | sign(x, m, g, False)
ApplyPowerSign(x, m, o(0.1), o(2.0), o(0.5), o(0.9), g) | sign(x, m, g, True)
ApplyPowerSignD(x, m, o(0.1), o(2.0), o(0.5), o(0.9), g) | sign(x, m, g, True)
AdamApplyOne(g, s, m, x, o(0.1), o(0.9), o(0.2), o(0.99), o(0.02), o(0.01)) | once(g, s, m, x, 0.0)
AdamApplyOneAssign(g, s, m, x, o(0.1), o(0.9), o(0.2), o(0.99), o(0.02), o(0.01)) | once(g, s, m, x, 0.0)
AdamApplyOneWithDecay(g, s, m, x, o(0.1), o(0.9), o(0.2), o(0.99), o(0.02), o(0.5), o(0.01)) | once(g, s, m, x, 0.5)
AdamApplyOneWithDecayAssign(g, s, m, x, o(0.1), o(0.9), o(0.2), o(0.99), o(0.02), o(0.5), o(0.01)) | once(g, s, m, x, 0.5)
LambApplyOptimizerAssign(g, s, m, x, o(0.9), o(0.1), o(0.99), o(0.01), o(0.01), o(3), o(1), o(0.5)) | lamb(g, s, m, x)
LambApplyWeightAssign(o(3), o(2), o(0.1), g, x) | [x - 0.15 * g]
LambApplyWeightAssign(o(0), o(2), o(0.1), g, x) | [x - 0.1 * g]
LarsV2(x, g, o(0.2), o(0.1), hyperpara=0.5, epsilon=0.01) | lars(x, g, False)
LarsV2Update(x, g, x.square().sum().view(1), g.square().sum().view(1), o(0.2), o(0.1), hyperpara=0.5, epsilon=0.01, use_clip=True) | lars(x, g, True)
SparseApplyAdagrad(x, s, o(0.1), r, i) | by_rows(lambda x, s, g: [x - 0.1 * g / (s + g * g).sqrt(), s + g * g], x, s, r, at=at)
SparseApplyAdagradD(x, s, r, i, lr=0.1) | by_rows(lambda x, s, g: [x - 0.1 * g / (s + g * g).sqrt(), s + g * g], x, s, r, at=at)
SparseApplyAdagradV2(x, s, o(0.1), o(0.2), r, i, update_slots=False) | by_rows(lambda x, s, g: [x - 0.1 * g / (s.sqrt() + 0.2), s], x, s, r, at=at)
SparseApplyAdagradV2D(x, s, r, i, lr=0.1, epsilon=0.2) | by_rows(lambda x, s, g: [x - 0.1 * g / ((s + g * g).sqrt() + 0.2), s + g * g], x, s, r, at=at)
SparseApplyFtrl(x, s, m, r, i, o(0.1), o(0.2), o(0.3), o(-0.5)) | by_rows(lambda *x: ftrl(*x, 0.0), x, s, m, r, at=at)
SparseApplyFtrlD(x, s, m, r, i, lr=0.1, l1=0.2, l2=0.3, lr_power=-0.5) | by_rows(lambda *x: ftrl(*x, 0.0), x, s, m, r, at=at)
SparseApplyFtrlV2(x, s, m, r, i, o(0.1), o(0.2), o(0.3), o(0.4), o(-0.5)) | by_rows(lambda *x: ftrl(*x, 0.4), x, s, m, r, at=at)
SparseApplyFtrlV2D(x, s, m, r, i, lr=0.1, l1=0.2, l2=0.3, l2_shrinkage=0.4, lr_power=-0.5) | by_rows(lambda *x: ftrl(*x, 0.4), x, s, m, r, at=at)
SparseApplyProximalAdagrad(x, s, o(0.1), o(0.2), o(0.3), r, i) | by_rows(proximal_adagrad, x, s, r, at=at)
SparseApplyProximalAdagradD(x, s, o(0.1), o(0.2), o(0.3), r, i) | by_rows(proximal_adagrad, x, s, r, at=at)
SparseApplyRMSProp(x, s, m, o(0.1), o(0.9), o(0.5), o(0.01), r, i) | by_rows(rms, x, s, m, r, at=at)
SparseApplyRMSPropD(x, s, m, o(0.1), r, i, rho=0.9, momentum=0.5, epsilon=0.01) | by_rows(rms, x, s, m, r, at=at)
SparseApplyAdadelta(x, s, t, o(0.1), o(0.9), o(0.01), r, i) | by_rows(adadelta, x, s, t, r, at=at)
SparseApplyAdadeltaD(x, s, t, o(0.1), o(0.9), r, i, epsilon=0.01) | by_rows(adadelta, x, s, t, r, at=at)
"""  # noqa: E501


def calls() -> list[tuple[str, str, str]]:
    """Their types, arguments and tensors, as tests/sim/test_ge_rules.py makes nodes of them."""
    tensors = "o=number, i=whole(3), r=real(3, 3)" + "".join(f", {name}=positive(5, 3)" for name in "xgmkst")
    lines = [line.partition(" | ")[0].partition("(") for line in FORMULAS.strip().splitlines()]
    return [(of, arguments.strip()[:-1], tensors) for of, _, arguments in lines]


@pytest.mark.parametrize("line", FORMULAS.strip().splitlines(), ids=lambda line: line.partition("(")[0])
def test_a_type_is_its_formula(line: str) -> None:
    call, wanted = (part.strip() for part in line.split(" | "))
    at = [4, 0, 4]
    names = {
        **globals(), "o": one, "x": real(5, 3), "g": real(5, 3), "m": real(5, 3), "k": real(5, 3), "at": at,
        "s": real(5, 3).square() + 1, "t": real(5, 3).square(), "r": real(3, 3), "i": torch.tensor(at).int(),
    }  # fmt: skip
    expected = eval(wanted, names)
    of, _, arguments = call.partition("(")
    given, named = eval(f"(lambda *a, **k: (a, k))({arguments}", names)
    got = interfaces.graph(of, *given, **named)
    # The outputs, and the states behind them that the prototype does not name.
    torch.testing.assert_close([*got, *given[len(got) : len(expected)]], expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("line", [2, 5, 15, 18, 38], ids=lambda i: FORMULAS.strip().splitlines()[i].partition("(")[0])
def test_half_types_are_rounded_once(line: int, dtype: torch.dtype) -> None:
    call, wanted = (part.strip() for part in FORMULAS.strip().splitlines()[line].split(" | "))
    at = [4, 0, 4]
    narrow = {"x": real(5, 3), "g": real(5, 3), "m": real(5, 3), "s": real(5, 3).square() + 1, "r": real(3, 3)}
    narrow = {name: each.to(dtype) for name, each in narrow.items()}
    common = {**globals(), "i": torch.tensor(at).int(), "at": at}
    of, _, arguments = call.partition("(")
    given, named = eval(
        f"(lambda *a, **k: (a, k))({arguments}", {**common, **narrow, "o": lambda v: one(v, torch.float32)}
    )
    expected = eval(wanted, {**common, **{name: each.float() for name, each in narrow.items()}})
    got = interfaces.graph(of, *given, **named)
    assert {each.dtype for each in got} == {dtype}
    tolerance = torch.finfo(dtype).eps
    torch.testing.assert_close(got, [each.to(dtype) for each in expected[: len(got)]], rtol=tolerance, atol=tolerance)


# ---- what does not fit -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: ("ApplyMomentum", x, x[:2], one(0.1), x, one(0.9)), "has to be shaped like float32[5, 3]"),
        (lambda x: ("ApplyMomentum", x, x, x, x, one(0.9)), "input 2 is one number, not float32[5, 3]"),
        (lambda x: ("ApplyMomentum", x, x, one(0.1), x.half(), one(0.9)), "gradient float16[5, 3] is not of the"),
        (lambda x: ("ApplyAdagrad", x.int(), x.int(), one(0.1), x.int()), "float16 and bfloat16 are simulated"),
        (lambda x: ("LarsV2", x.half(), x.half(), one(0.1), one(0.1)), "input 0 is float16[5, 3]; allowed: float32"),
        (lambda x: ("SparseApplyProximalAdagrad", x, x, one(1), one(0), one(0), x, torch.tensor([1])),
         "float32[5, 3] has to have a row for each index"),
        (lambda x: ("SparseApplyProximalAdagrad", x, x, one(1), one(0), one(0), x[:1], one(1)),
         "input 6 is float32[1]; allowed: int32, int64"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(call: Callable[[torch.Tensor], tuple[Any, ...]], message: str) -> None:
    with pytest.raises(interfaces.Refused) as refused:
        interfaces.graph(*call(real(5, 3)))
    assert message in str(refused.value)
