"""The cases that converters declare to torchair, run as torchair's smoke test runs them: compiled against eager."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch
import torchair
from torchair._ge_concrete_graph.fx2ge_converter import _declare_supported_converters
from torchair._ge_concrete_graph.supported_declaration import Support, _TypedTensor

from ophook_npu.ops import _OPERATORS, Operator, declaration, register, same_as

NPU = [name for name in _OPERATORS if name.startswith("npu_")]


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def declared(packet: Any) -> list[Support]:
    return _declare_supported_converters()[packet.default].supported_cases


def made(spec: Any) -> Any:
    if isinstance(spec, (list, tuple)):
        return [made(item) for item in spec]
    if not isinstance(spec, _TypedTensor):
        return spec
    if spec.value is not None:
        return torch.tensor(spec.value, dtype=spec.dtype, device="npu")
    return torch.randn(spec.dims).to(spec.dtype).npu()


@pytest.mark.parametrize("name", NPU)
def test_the_declared_cases_pass(name: str) -> None:
    op = declaration(name)
    packet = register(op)

    def call(*args: Any, **kwargs: Any) -> Any:
        return packet.default(*args, **kwargs)

    compiled = torch.compile(call, backend=torchair.get_npu_backend(), dynamic=False)
    cases = declared(packet)
    assert len(cases) >= 5
    seen = set()
    for case in cases:
        args, kwargs = [made(arg) for arg in case.args], {key: made(arg) for key, arg in case.kwargs.items()}
        seen |= {(a.name, arg.dtype) for a, arg in zip(op.arguments, args, strict=False) if hasattr(arg, "dtype")}
        torch._dynamo.reset()
        torch.testing.assert_close(compiled(*args, **kwargs), call(*args, **kwargs))
    for group, allowed in op.dtypes.items():
        for argument in group.split():
            assert {dtype for n, dtype in seen if n == argument} == set(allowed)


def test_declaring_leaves_the_random_state_and_survives_examples_that_raise() -> None:
    def raises() -> list[Any]:
        raise RuntimeError("no examples today")

    operator = Operator(
        "mylib::case_raises(Tensor x) -> Tensor",
        lambda x: x.clone(),
        raises,
        outputs={"y": same_as("x")},
        ge="CaseRaises",
    )
    before = torch.get_rng_state()
    with pytest.warns(RuntimeWarning, match=r"\[case_raises\] examples\(\) raised RuntimeError: no examples today"):
        packet = register(operator)
    assert packet.default not in _declare_supported_converters()
    drawn = Operator(
        "mylib::case_drawn(Tensor x) -> Tensor",
        lambda x: x.clone(),
        lambda: [(torch.randn(2),)],
        outputs={"y": same_as("x")},
        ge="CaseDrawn",
    )
    assert [str(case) for case in declared(register(drawn))] == ["\n  args[0] = Tensor((2,), torch.float32)"]
    assert torch.equal(torch.get_rng_state(), before)
