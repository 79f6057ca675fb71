"""Situations in words, such as ``"npu, requires_grad, vmap"``, and example arguments to try operators with them."""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import difflib
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch._ops import OpOverload
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from ophook_npu.dispatch import _explain, _keys
from ophook_npu.dispatch._explain import Explanation
from ophook_npu.dispatch._table import one
from ophook_npu.errors import OphookError
from ophook_npu.hooks import targets

# short names as in assembly and MLIR, next to torch's own
_DTYPES: dict[str, torch.dtype] = {
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "f32": torch.float32,
    "f64": torch.float64,
    "i8": torch.int8,
    "i32": torch.int32,
    "i64": torch.int64,
    "u8": torch.uint8,
    "bool": torch.bool,
    "c64": torch.complex64,
    **{
        n: getattr(torch, n)
        for n in ("float16", "bfloat16", "float32", "float64", "int8", "int32", "int64", "complex64")
    },
}
_TENSOR_WORDS = {
    "requires_grad": "floating-point tensors require grad",
    "conj": "complex tensors with the conjugate bit set",
    "neg": "tensors with the negative bit set",
    "sparse": "sparse COO tensors",
    "inference": "tensors made in inference mode",
}
_CONTEXT_WORDS = {
    "vmap": "under torch.vmap, one more dimension in front",
    "grad": "under torch.func.grad",
    "functionalize": "under torch.func.functionalize",
    "autocast": "under torch.autocast for the device",
    "no_grad": "under torch.no_grad",
    "inference_mode": "under torch.inference_mode",
    "mode": "under a TorchDispatchMode that passes every call on",
    "fake": "under a FakeTensorMode",
}
_DEVICES = ("cpu", "cuda", "npu", "meta", "xpu", "mps", "privateuseone", "hpu", "mtia", "xla")


@dataclasses.dataclass(frozen=True)
class Situation:
    """Where a call is made: device, dtype, what its tensors are like, and what it is under, outermost first."""

    device: str = "cpu"
    dtype: torch.dtype = torch.float32
    tensors: tuple[str, ...] = ()
    under: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Situation:
        """From words with commas between, in any order; contexts are entered in the order given, outermost first.

        Raises:
            OphookError: a word that is none.
        """
        device, dtype = "cpu", None
        tensors: list[str] = []
        under: list[str] = []
        private = torch._C._get_privateuse1_backend_name()
        for word in filter(None, (w.strip().lower() for w in text.split(","))):
            if word in _DEVICES or word == private:
                device = word
            elif word in _DTYPES:
                dtype = _DTYPES[word]
            elif word in _TENSOR_WORDS:
                tensors.append(word)
            elif word in _CONTEXT_WORDS:
                under.append(word)
            else:
                words = [*_DEVICES, *_DTYPES, *_TENSOR_WORDS, *_CONTEXT_WORDS]
                near = difflib.get_close_matches(word, words, 1)
                hint = f", did you mean {near[0]!r}" if near else ""
                raise OphookError(f"dispatch why {text}", f"unknown word {word!r}{hint}", allowed=", ".join(words))
        if dtype is None:
            dtype = torch.complex64 if {"conj", "neg"} & set(tensors) else torch.float32
        return cls(device, dtype, tuple(tensors), tuple(under))

    @property
    def here(self) -> bool:
        """Whether tensors can be made on the device."""
        if self.device in ("cpu", "meta"):
            return True
        module = getattr(torch, self.device, None)
        return bool(module is not None and hasattr(module, "is_available") and module.is_available())


def why(op: Any, situation: str | Situation = "", arguments: str | None = None) -> Explanation:
    """Calls ``op`` in ``situation`` and explains which kernels ran.

    Args:
        op: as for :func:`table`; or a function over tensors, if ``arguments`` are given.
        situation: words such as ``"npu, requires_grad, vmap"``; see :meth:`Situation.parse`.
        arguments: such as ``"f32[2,3], f32[3,4]"`` or ``"f32[4], alpha=2"``; without it, small arguments are found
            by trying.

    If the device is not here nothing runs: ``ran`` is ``False`` and what is said follows from the tables as they are
        now,
    which for a private backend means: without its kernels, unless its package is imported.

    Raises:
        OphookError: unknown word or operator, or no arguments were found that the operator accepts.
    """
    where = situation if isinstance(situation, Situation) else Situation.parse(situation)
    name = one(op)
    overload = targets.resolve(name).ops[0]
    args, kwargs = _written(arguments, where) if arguments else example(overload, where)
    if not where.here:
        return _computed(name, args, kwargs, where, overload)
    call, args = _under(where, overload, args)
    return _explain.run(call, args, kwargs, {name})


def _computed(name: str, args: Any, kwargs: Any, where: Situation, overload: OpOverload) -> Explanation:
    """What the tables say for a device that is not here; the thread's keys are those of a call on the CPU."""
    call, cpu_args = _under(dataclasses.replace(where, device="cpu"), overload, args)
    seen = _explain.run(call, cpu_args, kwargs, {name})
    brought = {}
    for argument, keys in seen.args.items():
        backend = _keys.key_of_device(where.device)
        moved = [key.replace("CPU", backend) if key.endswith("CPU") else key for key in keys]
        brought[argument] = _keys.key_set(moved)
    note = f"there is no {where.device} here, so this follows from the tables alone, as they are in this process"
    if where.device == "npu":
        note += "; to see it run: ophook-npu dispatch --device auto …"
    return _explain.computed(name, brought, _keys.key_set(seen.include), _keys.key_set(seen.exclude), note)


class _Pass(TorchDispatchMode):
    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def _under(
    where: Situation, call: Callable[..., Any], args: tuple[Any, ...]
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """``call`` wrapped in the situation's contexts, and the arguments it then takes."""
    device = where.device
    contexts: dict[str, Callable[[], Any]] = {
        "autocast": lambda: torch.autocast(device),
        "no_grad": torch.no_grad,
        "inference_mode": torch.inference_mode,
        "mode": _Pass,
    }
    for word in reversed(where.under):
        if word in contexts:
            call = _inside(contexts[word], call)
        elif word == "vmap":
            args = pytree.tree_map_only(torch.Tensor, _twice, args)
            in_dims = pytree.tree_map(lambda leaf: 0 if isinstance(leaf, torch.Tensor) else None, args)
            call = torch.vmap(call, in_dims=in_dims, randomness="different")
        elif word == "grad":
            call = _grad(call)
        elif word == "functionalize":
            call = torch.func.functionalize(call)
        elif word == "fake":
            call = _faked(call)
    return call, args


def _twice(tensor: torch.Tensor) -> torch.Tensor:
    return torch.stack([tensor.detach(), tensor.detach()]).requires_grad_(tensor.requires_grad)


def _inside(context: Callable[[], Any], call: Callable[..., Any]) -> Callable[..., Any]:
    def inside(*args: Any, **kwargs: Any) -> Any:
        with context():
            return call(*args, **kwargs)

    return inside


def _grad(call: Callable[..., Any]) -> Callable[..., Any]:
    def summed(*args: Any, **kwargs: Any) -> Any:
        results = [r for r in pytree.tree_leaves(call(*args, **kwargs)) if isinstance(r, torch.Tensor)]
        return results[0].abs().sum() if results[0].is_complex() else results[0].sum()

    return torch.func.grad(summed)


def _faked(call: Callable[..., Any]) -> Callable[..., Any]:
    def fake(*args: Any, **kwargs: Any) -> Any:
        from torch._subclasses.fake_tensor import FakeTensorMode

        with FakeTensorMode() as mode:
            args, kwargs = pytree.tree_map_only(torch.Tensor, mode.from_tensor, (args, kwargs))
            return call(*args, **kwargs)

    return fake


def _tensor(shape: tuple[int, ...], dtype: torch.dtype, where: Situation) -> torch.Tensor:
    device = where.device if where.here else "cpu"
    with torch.inference_mode() if "inference" in where.tensors else contextlib.nullcontext():
        if dtype.is_floating_point or dtype.is_complex:
            tensor = torch.rand(shape, dtype=dtype, device=device)
        else:
            tensor = torch.ones(shape, dtype=dtype, device=device)
        if "sparse" in where.tensors:
            tensor = tensor.to_sparse()
        if "conj" in where.tensors and dtype.is_complex:
            tensor = tensor.conj()
        if "neg" in where.tensors:
            tensor = torch._neg_view(tensor)
    if "requires_grad" in where.tensors and (dtype.is_floating_point or dtype.is_complex):
        tensor = tensor.detach().requires_grad_()
    return tensor


def _written(text: str, where: Situation) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments from text: Python literals, and tensors written as ``f32[2,3]``."""

    def value(node: ast.expr) -> Any:
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id in _DTYPES:
            shape = ast.literal_eval(node.slice)
            return _tensor(shape if isinstance(shape, tuple) else (shape,), _DTYPES[node.value.id], where)
        if isinstance(node, (ast.List, ast.Tuple)):
            return [value(element) for element in node.elts]
        return ast.literal_eval(node)

    try:
        parsed = ast.parse(f"f({text})", mode="eval").body
        assert isinstance(parsed, ast.Call)
        return tuple(map(value, parsed.args)), {k.arg: value(k.value) for k in parsed.keywords if k.arg}
    except (SyntaxError, ValueError) as error:
        raise OphookError(
            "dispatch arguments",
            f"cannot read {text!r}: {error}",
            allowed=f"Python literals and tensors such as f32[2,3]; dtypes {', '.join(_DTYPES)}",
        ) from error


_SHAPES: tuple[tuple[tuple[int, ...], ...], ...] = (
    ((4, 4),),
    ((2, 4, 4), (2, 4, 4), (4, 4)),
    ((2, 3, 8, 8), (4, 3, 3, 3), (4,)),
    ((2, 3, 8), (4, 3, 3), (4,)),
    ((4, 4), (4,)),
    ((4,),),
    ((2, 3, 8, 8),),
    ((),),
)


def example(op: OpOverload, where: Situation | None = None) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Small arguments that ``op`` accepts, found by trying shapes and numbers on it without computing (meta tensors).

    Raises:
        OphookError: none of those tried fits.
    """
    where = where or Situation()
    problem = "it takes arguments of a type that there is no example of"
    for args, kwargs in _candidates(op, where):
        try:
            # On the meta device first, where odd arguments do no harm; then on copies, for what meta kernels let pass.
            for copy in (_on_meta, _on_cpu):
                tried_args, tried_kwargs = pytree.tree_map_only(torch.Tensor, copy, (args, kwargs))
                with torch.no_grad(), torch.random.fork_rng(devices=[]):
                    op(*tried_args, **tried_kwargs)
            return args, kwargs
        except NotImplementedError:
            return args, kwargs  # no kernel there: the first guess is as good as any
        except Exception as error:
            problem = str(error).splitlines()[0] if str(error) else type(error).__name__
    raise OphookError(
        f"dispatch why {op._name}",
        f"no example arguments found: {problem}",
        allowed=str(op._schema),
        todo='say them, like --args "f32[2,3], f32[3,4], alpha=2"',
    )


def _on_meta(tensor: torch.Tensor) -> torch.Tensor:
    return torch.empty(tensor.shape, dtype=tensor.dtype, device="meta")


def _on_cpu(tensor: torch.Tensor) -> torch.Tensor:
    return torch.ones(tensor.shape, dtype=tensor.dtype)


def _candidates(op: OpOverload, where: Situation) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    required = [a for a in op._schema.arguments if not a.has_default_value()]
    dtype_lists = ((where.dtype,), (where.dtype, torch.int64))
    for shapes, dtypes, number in itertools.product(_SHAPES, dtype_lists, (0, 1, 2)):
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        tensors = 0
        for argument in required:
            shape = shapes[min(tensors, len(shapes) - 1)]
            dtype = dtypes[min(tensors, len(dtypes) - 1)]
            kind = str(argument.type)
            if kind in ("Tensor", "Optional[Tensor]"):
                value: Any = _tensor(shape, dtype, where)
                if argument.is_out:
                    value = _tensor((0,), where.dtype, dataclasses.replace(where, tensors=()))
                elif argument.alias_info is not None and argument.alias_info.is_write:
                    value = value.detach()
                tensors += 1
            elif kind in ("List[Tensor]", "List[Optional[Tensor]]"):
                value = [_tensor(shape, dtype, where) for _ in range(2)]
                tensors += 1
            elif kind in _VALUES:
                value = _VALUES[kind](shape, number)
            else:
                return
            if argument.kwarg_only:
                kwargs[argument.name] = value
            else:
                args.append(value)
        yield tuple(args), kwargs


_VALUES: dict[str, Callable[[tuple[int, ...], int], Any]] = {
    "int": lambda shape, number: number,
    "SymInt": lambda shape, number: number,
    "float": lambda shape, number: 0.5,
    "bool": lambda shape, number: number == 2,
    "str": lambda shape, number: "none",
    "number": lambda shape, number: 2,
    "Optional[int]": lambda shape, number: None,
    "Optional[number]": lambda shape, number: None,
    "Optional[float]": lambda shape, number: None,
    "Optional[List[int]]": lambda shape, number: [number],
    "List[int]": lambda shape, number: list(shape) if number == 0 else [number],
    "List[SymInt]": lambda shape, number: list(shape) if number == 0 else [number],
    "List[bool]": lambda shape, number: [True, True, True][: number + 1],
    "Device": lambda shape, number: torch.device("cpu"),
    "ScalarType": lambda shape, number: torch.float32,
}
