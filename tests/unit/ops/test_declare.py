"""What a declaration refuses, by the operator's name and with what is allowed."""

import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch

from ophook_npu.errors import OphookError
from ophook_npu.ops import Operator, broadcast, divided, reduced, register, same_as

ADD = "mylib::declared(Tensor x, Tensor y) -> Tensor"


def add(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return x + y


def declare(schema: str = ADD, cpu: Callable[..., Any] = add, **fields: Any) -> Operator:
    fields.setdefault("outputs", {"z": broadcast("x", "y")})
    return Operator(schema, cpu, list, **fields)


def same(x):
    return x.clone()


def keyword(x, *, y):
    return x + y


def keep(x, a):
    return x.clone()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: declare("declared(Tensor x, Tensor y) -> Tensor"), "no namespace and name; allowed: namespace::name"),
        (lambda: declare("mylib::declared(Tensr x, Tensor y) -> Tensor"), "does not parse"),
        (lambda: declare("mylib::declared(Tensor x, Tensor z) -> Tensor"), r"cpu takes \(x, y\); allowed: \(x, z\)"),
        (
            lambda: declare("mylib::declared(Tensor x, Tensor y=None) -> Tensor"),
            "cpu has no default for y; allowed: None",
        ),
        (lambda: declare(fake=lambda x: x), r"fake takes \(x\); allowed: \(x, y\)"),
        (
            lambda: declare(dtypes={"x w": (torch.half,)}),
            "dtypes names 'w', which is not a tensor of the schema; allowed: x, y",
        ),
        (lambda: declare(dtypes={"x": ("half",)}), "one or more of torch's dtypes"),
        (lambda: declare(cpu=3), "cpu is 3; allowed: a function"),
        (lambda: Operator(ADD, add, [(1, 2)], outputs={"z": broadcast("x", "y")}), "examples is .*allowed: a function"),
        (lambda: declare(outputs=broadcast("x", "y")), "outputs is Broadcast.*allowed: a name and a rule"),
        (lambda: declare(outputs={"z": "x"}), "outputs is .*allowed: a name and a rule"),
        (lambda: declare(dtypes={"x": torch.half}), "dtypes of 'x' are torch.float16; allowed: a tuple"),
        (lambda: declare(outputs={}), "outputs names 0 results, the schema has 1"),
        (lambda: declare(outputs={"z": None}), "the shape of z is said nowhere; allowed: a rule in outputs, or fake="),
        (lambda: declare(outputs={"z": same_as("w")}), "the rule of z names 'w'; allowed: x, y"),
        (lambda: declare(outputs={"z": reduced("x", "y")}), "the rule of z names 'y' as an int"),
        (lambda: declare(shapes={"x": "... d ..."}), "shapes.*names, and ... at most once"),
        (lambda: declare(attributes={"a": "x"}), "attributes without a GE operator type"),
        (lambda: declare(ge="Add Custom"), "an identifier such as AddCustom"),
        (
            lambda: declare(ge="A", attributes={"a": "x"}),
            "GE attribute a comes from 'x'; allowed: an argument that is no tensor",
        ),
        (
            lambda: declare(derivatives={"x": "grad * 2"}),
            "derivative 'x': 'grad [*] 2'; .*next: give any other as backward=",
        ),
        (lambda: declare(backward=lambda ctx, g: g), "backward and setup_context come together"),
        (lambda: declare(vmap="fast"), "vmap='fast'; allowed: 'broadcast', 'loop', a function, or None"),
        (lambda: declare(autocast="half"), "autocast='half'; allowed: 'float32', 'lower', or None"),
        (
            lambda: declare("mylib::kw(Tensor x, *, Tensor y) -> Tensor", keyword),
            "y is a tensor given by keyword, for which torch.library has no rule of vmap; allowed: vmap=None; next",
        ),
        (lambda: broadcast("x"), "got 1 argument"),
        (lambda: divided("x", 1), "by=1; allowed: 2 or more"),
        (
            lambda: Operator("mylib::view(Tensor(a) x) -> Tensor(a)", same, list, outputs={"y": same_as("x")}),
            "x is aliased and not written to",
        ),
        (
            lambda: Operator("mylib::inplace(Tensor(a!) x) -> Tensor(a!)", same, list, outputs={"y": same_as("x")}),
            "a result aliases an argument.*next: return ()",
        ),
        (
            lambda: Operator("mylib::both(Tensor(a!) x) -> Tensor", same, list, outputs={"y": same_as("x")}),
            "writes to x and returns a result",
        ),
        (
            lambda: declare("mylib::s(Tensor x, Scalar? a) -> Tensor", keep, outputs={"y": same_as("x")}, ge="S"),
            r"GE attribute a: argument a is Scalar\?; allowed: int, float, Scalar, .*next: give it a default",
        ),
    ],
)  # fmt: skip
def test_refusals(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(OphookError, match=message):
        make()


def test_every_kind_of_argument_and_result() -> None:
    def cpu(x, other, rest, sizes, scale=2.0, *, mode="add", flag=False, dtype=None):
        total = x * scale + sum(sizes) + sum(rest) + (0 if other is None else other)
        assert mode == "add"
        return (-total if flag else total).to(dtype or x.dtype), total.sum(-1, keepdim=True)

    op = register(
        Operator(
            "mylib::every_kind(Tensor x, Tensor? other, Tensor[] rest, int[] sizes, float scale=2.0, *, "
            "str mode='add', bool flag=False, ScalarType? dtype=None) -> (Tensor, Tensor)",
            cpu,
            list,
            outputs={"a": None, "b": None},
            fake=lambda x, other, rest, sizes, scale=2.0, *, mode="add", flag=False, dtype=None: (
                x.new_empty(x.shape, dtype=dtype or x.dtype),
                x.new_empty((*x.shape[:-1], 1)),
            ),
        )
    )
    x, rest = torch.ones(2, 3), [torch.ones(3), torch.ones(2, 1)]
    a, b = op(x, None, rest, [1, 2], flag=True)
    assert torch.equal(a, torch.full((2, 3), -7.0)) and torch.equal(b, torch.full((2, 1), 21.0))
    torch.library.opcheck(op.default, (x, x, rest, [3]), {"dtype": torch.half})


def test_autocast_casts_what_the_declaration_says() -> None:
    seen = []

    def cpu(x: torch.Tensor) -> torch.Tensor:
        seen.append(x.dtype)
        return x.clone()

    for kind, expected in (("float32", torch.float32), ("lower", torch.bfloat16)):
        op = register(
            Operator(f"mylib::cast_{kind}(Tensor x) -> Tensor", cpu, list, outputs={"y": same_as("x")}, autocast=kind)
        )
        with torch.autocast("cpu", dtype=torch.bfloat16):
            assert op(torch.ones(2, dtype=torch.half)).dtype == expected
        assert op(torch.ones(2, dtype=torch.half)).dtype == torch.half
    assert seen == [torch.float32, torch.half, torch.bfloat16, torch.half]


def test_one_name_one_schema() -> None:
    op = Operator("mylib::taken(Tensor x) -> Tensor", same, list, outputs={"y": same_as("x")})
    assert register(op) is register(op)
    other = Operator("mylib::taken(Tensor x, int n=1) -> Tensor", lambda x, n=1: x, list, outputs={"y": same_as("x")})
    with pytest.raises(OphookError, match=re.escape("it is registered as mylib::taken(Tensor x) -> Tensor")):
        register(other)


def test_a_schema_that_is_there_is_joined() -> None:
    library = torch.library.Library("mylib", "FRAGMENT")
    library.define("joined(Tensor x) -> Tensor")
    op = register(Operator("mylib::joined(Tensor x) -> Tensor", same, list, outputs={"y": same_as("x")}))
    assert torch.equal(op(torch.ones(2)), torch.ones(2))
    library.define("implemented(Tensor x) -> Tensor")
    library.impl("implemented", same, "CPU")
    with pytest.raises(OphookError, match="with a CPU implementation; next: rename the operator"):
        register(Operator("mylib::implemented(Tensor x) -> Tensor", same, list, outputs={"y": same_as("x")}))


def test_the_kit_is_inert() -> None:
    code = "import sys, ophook_npu.ops; assert 'torch' not in sys.modules and 'numpy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_ge_attribute_that_is_not_known_is_refused() -> None:
    from ophook_npu.ops import _ge, declaration

    with pytest.raises(RuntimeError, match=r"\[npu_swiglu_custom\] GE attribute dim is str 'last'; allowed: Int"):
        _ge._attribute(declaration("npu_swiglu_custom"), None, "dim", {"dim": "last"})
    with pytest.raises(OphookError, match="it has no GE operator type; allowed: ge='SomeType'"):
        _ge.register_converter(declaration("crop"), None)
