"""Call an operator project's kernel: inference, tiling and the run, as the device's stack does it."""

from __future__ import annotations

import ctypes
import dataclasses
import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ophook_npu.errors import OphookError
from ophook_npu.kernel import native
from ophook_npu.kernel.findings import KernelReport, Mistake
from ophook_npu.kernel.memory import Block, dtype_of, is_tensor, name_of
from ophook_npu.kernel.project import DYNAMIC, OPTIONAL, Attribute, OpParameter, Project, Prototype
from ophook_npu.kernel.socs import find
from ophook_npu.kernel.source import BOTH, INPUT, OUTPUT, TILING, WORKSPACE, Argument, Entry, Settings
from ophook_npu.kernel.templates import declared, dispatch
from ophook_npu.plural import counted

_KINDS = {"Int": 1, "Float": 2, "Bool": 3, "String": 4, "ListInt": 5, "ListFloat": 6, "ListBool": 7, "ListListInt": 8}
_FLOATS = {"float32": 4, "float16": 2, "bfloat16": 2, "float64": 8}


def load(path: str | Path, operator: str | None = None, *, include: Sequence[Path] = (), **settings: Any) -> Kernel:
    """The operator of a project, to be called.

    Args:
        path: the folder that has op_host and op_kernel.
        operator: its type, such as ``AddCustom``, where the project has several.
        include: further folders with headers.
        settings: see `Settings`: soc, checks, strict, on_wait, cores, debug.

    Raises:
        OphookError: no project, the host side does not compile, or no such operator.
    """
    project = Project(path, include)
    chosen = Settings(**settings)
    if chosen.cores is not None and chosen.cores < 1:
        raise OphookError("kernel", f"cores={chosen.cores}", allowed="from 1 on")
    return Kernel(project, project.prototype(operator), chosen)


class Kernel:
    """``kernel(x, y, attribute=…)`` runs the kernel and returns its outputs: arrays, or tensors where one was given.

    ``report`` is of the last call, ``findings`` are its findings; ``all_findings`` are those of every call.
    """

    def __init__(self, project: Project, prototype: Prototype, settings: Settings) -> None:
        prototype.refuse()
        self.project, self.prototype, self.settings = project, prototype, settings
        self.report = KernelReport()
        self.all_findings: list[Mistake] = []

    @property
    def findings(self) -> list[Mistake]:
        """The findings of the last call."""
        return self.report.findings

    def __repr__(self) -> str:
        return f"<kernel {self.prototype.type} of {self.project.path}>"

    def with_settings(self, **changes: Any) -> Kernel:
        """The same kernel with other settings, such as ``cores=1``."""
        return Kernel(self.project, self.prototype, dataclasses.replace(self.settings, **changes))

    def __call__(self, *inputs: Any, outputs: list[tuple[int, ...]] | None = None, **attributes: Any) -> Any:
        """
        Args:
            inputs: one for each input of the prototype: None where an optional one is absent, a list of tensors
                where it is dynamic. Further ones are attributes, in order.
            outputs: shapes, as a call by ``aclnn`` gives them. Without them the operator infers them; of one that
                registers no inference each is what its inputs broadcast to, or else as the first input.

        Raises:
            OphookError: too few inputs, a list for one tensor or one tensor for a list, a type that the operator does
                not list, or inference or tiling refuses.
        """
        prototype = self.prototype
        count = len(prototype.inputs)
        tensors, rest = list(inputs[:count]), inputs[count:]
        tensors += [None] * (count - len(tensors))
        if len(rest) > len(prototype.attrs):
            raise OphookError(prototype.type, f"given: {counted(len(inputs), 'value')}", allowed=self._signature())
        attributes = {**dict(zip((a.name for a in prototype.attrs), rest, strict=False)), **attributes}
        for parameter, value in zip(prototype.inputs, tensors, strict=True):
            if value is None and parameter.kind != OPTIONAL:
                raise OphookError(prototype.type, f"input {parameter.name} is missing", allowed=self._signature())
            listed = parameter.kind == DYNAMIC
            if value is not None and _is_list(value) != listed:
                forms = ("one tensor", "a list of tensors")
                what = f"input {parameter.name} is {forms[not listed]}"
                raise OphookError(prototype.type, what, allowed=forms[listed])
        like_torch = any(is_tensor(value) for values in tensors for value in _each(values))
        arrays = _arrays(tensors)
        choice = self._choose(arrays)
        blocks = [[Block.of(value, prototype.type) for value in values] for values in arrays]
        call = _Call(self, blocks, choice, attributes, outputs)
        results = call.infer()
        tiling = call.tile()
        written = results or blocks
        if self.prototype.launches_empty or any(block.bytes for own in written for block in own):
            self._run(blocks, results, choice, tiling)
        else:
            self.report = KernelReport()
        for values, own, parameter in zip(inputs, blocks, prototype.inputs, strict=False):
            if self._in_place(parameter.name):
                for value, block in zip(_each(values), own, strict=True):
                    _write_back(value, block)
        named = [(r, p) for r, p in zip(results, prototype.outputs, strict=True) if not self._in_place(p.name)]
        found = [[block.array(like_torch) for block in own] for own, _ in named]
        given = tuple(values if p.kind == DYNAMIC else values[0] for values, (_, p) in zip(found, named, strict=True))
        return given[0] if len(given) == 1 else given

    def needed(self, *inputs: Any) -> Entry:
        """What a call with these inputs runs."""
        arrays = _arrays(inputs[: len(self.prototype.inputs)])
        arrays += [[]] * (len(self.prototype.inputs) - len(arrays))
        return self.entry(self._choose(arrays), self.settings.debug)

    def entries(self) -> list[Entry]:
        """One for every choice of data types."""
        return [self.entry(choice, self.settings.debug) for choice in self.prototype.combinations()]

    def written(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        """Those of a call's inputs that the operator writes to."""
        return tuple(v for v, p in zip(inputs, self.prototype.inputs, strict=False) if self._in_place(p.name))

    def _in_place(self, name: str) -> bool:
        """Whether an output is that input. What has no output has nothing but its inputs to write to."""
        outputs = self.prototype.outputs
        return any(p.name == name for p in self.prototype.inputs) and (
            not outputs or any(p.name == name for p in outputs)
        )

    def _signature(self) -> str:
        return ", ".join(
            [p.name for p in self.prototype.inputs] + [f"{a.name}={a.default}" for a in self.prototype.attrs]
        )

    def _choose(self, arrays: list[list[Any]]) -> dict[str, int]:
        where = self.prototype.type
        given = {p.name: dtype_of(v[0], where) for p, v in zip(self.prototype.inputs, arrays, strict=True) if v}
        combinations = self.prototype.combinations()
        for choice in combinations:
            if all(choice.get(name, dtype) == dtype for name, dtype in given.items()):
                return choice
        allowed = "; ".join(", ".join(f"{n} {name_of(c[n])}" for n in given if n in c) for c in combinations)
        raise OphookError(
            where, "inputs are " + ", ".join(f"{n} {name_of(d)}" for n, d in given.items()), allowed=allowed
        )

    def entry(self, choice: dict[str, int], debug: bool = False) -> Entry:
        """The kernel compiled for one choice of data types."""
        key = (*sorted(self.prototype.compiled_as(choice).items()), debug)
        return self._entry(key)

    @functools.cache  # noqa: B019
    def _entry(self, key: tuple[Any, ...]) -> Entry:
        *pairs, debug = key
        project, prototype = self.project, self.prototype
        prelude = project.tiling.ascendc_prelude(prototype.type.encode()).decode()
        source = project.kernel_source(prototype)
        templates = declared(project, prototype)
        macros = project.macros(prototype, dict(pairs)) | find(self.settings.soc).macros
        return Entry(
            source, macros, prelude, prototype.function, project.roots, debug,
            *dispatch(source, prototype, templates, dict(pairs)),
        )  # fmt: skip

    def _run(
        self, blocks: list[list[Block]], results: list[list[Block]], choice: dict[str, int], tiling: native.Tiling
    ) -> None:
        prototype = self.prototype
        absent = Block((0,), 4)
        arguments: list[Argument] = []
        listed: list[Argument] = []  # the tensors of lists: behind all that the kernel has parameters for

        def add(p: OpParameter, own: list[Block], role: int) -> None:
            if p.kind == DYNAMIC:
                listed.extend(Argument(f"{p.name}[{i}]", block, role) for i, block in enumerate(own))
                arguments.append(Argument(p.name, _described(own), INPUT))
            else:
                arguments.append(Argument(p.name, own[0] if own else absent, role))

        for p, own in zip(prototype.inputs, blocks, strict=True):
            add(p, own, BOTH if self._in_place(p.name) else INPUT)
        for p, own in zip(prototype.outputs, results, strict=True):
            start = p.starts_with(choice[p.name]) if tiling.need_atomic else None
            if start is not None:
                for block in own:
                    block.view[:] = np.resize(start.view(np.uint8), block.view.size)
            add(p, own, BOTH if self._in_place(p.name) or start is not None or p.computed else OUTPUT)
        computed = [own[0] for p, own in zip(prototype.outputs, results, strict=True) if p.computed]
        told = Block((len(computed), _TOLD), 9) if computed else None
        if told:
            told.view[:] = 0xFF
            arguments.append(Argument("shapes of outputs", told, BOTH))
        arguments.append(Argument("workspace", Block((tiling.workspace,), 4), WORKSPACE))
        data = Block((tiling.size,), 4)
        data.view[:] = np.frombuffer(bytes(tiling.data[: tiling.size]), np.uint8)
        arguments.append(Argument("tiling", data, TILING))
        cores = self.settings.cores or tiling.block_dim
        self.report = self.entry(choice, self.settings.debug).run(
            arguments, cores, tiling_key=tiling.tiling_key, settings=self.settings, listed=listed
        )
        self.all_findings += self.report.findings
        if told:
            for block, words in zip(computed, told.view.view(np.uint64).reshape(-1, _TOLD), strict=True):
                block.become(_shape_told(prototype.type, words))


# What a kernel writes of an output whose shape it tells (OutputShapeDependOnCompute): the number of dimensions and
# eight of them, as 64 bits where bit 31 of the first is set, and where the upper half of the first is empty.
_TOLD = 9


def _shape_told(where: str, words: np.ndarray) -> tuple[int, ...]:
    first = int(words[0])
    rank = first & 0x7FFFFFFF
    if first == 2**64 - 1 or rank >= _TOLD:
        allowed = "a number of dimensions up to 8, and their sizes"
        raise OphookError(where, f"the kernel tells no shape: its first word is {first}", allowed=allowed)
    wide = first & 0x80000000 or not first >> 32
    return tuple(int(size) for size in (words if wide else words.view(np.uint32))[1 : rank + 1])


class _Call:
    """One call as the host side sees it."""

    def __init__(
        self, kernel: Kernel, blocks: list[list[Block]], choice: dict[str, int], attributes: dict[str, Any],
        shapes: list[tuple[int, ...]] | None,
    ) -> None:  # fmt: skip
        self.kernel, self.blocks, self.choice, self.shapes = kernel, blocks, choice, shapes
        prototype, host = kernel.prototype, kernel.project.host
        self.host, self.prototype = host, prototype
        self._keep: list[Any] = []
        present = [block for own in blocks for block in own]
        self.inputs = (native.HostTensor * max(1, len(present)))(
            *(self._tensor(b.shape, b.dtype, b.address) for b in present)
        )
        self.lists = {p.name: own for p, own in zip(prototype.inputs, blocks, strict=True) if p.kind == DYNAMIC}
        # A list that is returned is as long as that of its name, or as the first list that is given.
        self.counts = [len(self._list_of(p)) if p.kind == DYNAMIC else 1 for p in prototype.outputs]
        of = [p for p, count in zip(prototype.outputs, self.counts, strict=True) for _ in range(count)]
        self.outputs = (native.HostTensor * max(1, len(of)))(
            *(self._tensor((), choice.get(p.name, 0), None) for p in of)
        )
        unknown = set(attributes) - {a.name for a in prototype.attrs}
        if unknown:
            allowed = ", ".join(a.name for a in prototype.attrs) or "no attributes"
            raise OphookError(prototype.type, f"no attribute {', '.join(sorted(unknown))}", allowed=allowed)
        attrs = (native.Attr * max(1, len(prototype.attrs)))(*(self._attr(a, attributes) for a in prototype.attrs))
        # As an aclnn function has it, one that is absent keeps its place.
        given = [len(own) or -(p.kind != DYNAMIC) for p, own in zip(prototype.inputs, blocks, strict=True)]
        counts = (ctypes.c_int32 * len(blocks))(*given)
        made = (ctypes.c_int32 * len(prototype.outputs))(*self.counts)
        soc = dataclasses.replace(find(kernel.settings.soc))
        if kernel.settings.cores:
            soc = dataclasses.replace(soc, vector_cores=kernel.settings.cores)
        self.call = native.HostCall(
            prototype.type.encode(), self.inputs, counts, len(blocks), self.outputs, made, len(prototype.outputs),
            attrs, len(prototype.attrs), native.host_soc(soc),
        )  # fmt: skip

    def _tensor(self, shape: tuple[int, ...], dtype: int, data: int | None) -> native.HostTensor:
        tensor = native.HostTensor(dtype, len(shape), (ctypes.c_int64 * native.MAX_DIMS)(*shape), data)
        return tensor

    def _attr(self, attribute: Attribute, given: dict[str, Any]) -> native.Attr:
        value = given.get(attribute.name, attribute.default)
        if value is None:
            what, type_ = f"the required attribute {attribute.name} is not given", attribute.type
            allowed = f"a value of type {type_}, behind the inputs in the tuples of inputs() in the project's inputs.py"
            raise OphookError(self.prototype.type, what, allowed=allowed)
        out = native.Attr(kind=_KINDS[attribute.type])
        match attribute.type:
            case "Int" | "Bool":
                out.whole = int(value)
            case "Float":
                out.real = float(value)
            case "String":
                out.text = str(value).encode()
            case "ListInt" | "ListBool":
                out.wholes, out.count = (ctypes.c_int64 * len(value))(*value), len(value)
            case "ListListInt":
                out.lengths, out.lists = (ctypes.c_size_t * len(value))(*map(len, value)), len(value)
                every = [number for each in value for number in each]
                out.wholes, out.count = (ctypes.c_int64 * len(every))(*every), len(every)
            case "ListFloat":
                out.reals, out.count = (ctypes.c_float * len(value))(*value), len(value)
        self._keep.append(out)
        return out

    def _list_of(self, output: OpParameter) -> list[Block]:
        return self.lists.get(output.name) or next(iter(self.lists.values()), [])

    def _assumed(self) -> list[tuple[int, ...]]:
        """The outputs' shapes where the operator infers none."""
        given = list(zip(self.prototype.inputs, self.blocks, strict=True))
        single = [own[0].shape for p, own in given if own and p.kind != DYNAMIC]
        every = single or [block.shape for _, own in given for block in own]
        shapes: list[tuple[int, ...]] = []
        for p in self.prototype.outputs:
            shapes += [block.shape for block in self._list_of(p)] if p.kind == DYNAMIC else [_common(every)]
        return shapes

    def infer(self) -> list[list[Block]]:
        """The outputs, with the shapes that the operator infers; one that is an input, too, is that input's block."""
        if self.shapes is None and not (self.prototype.infers and self.prototype.outputs):
            self.shapes = self._assumed()
        if self.shapes is None:
            error = ctypes.create_string_buffer(512)
            if self.host.ascendc_infer(ctypes.byref(self.call), error, len(error)):
                raise OphookError(self.prototype.type, error.value.decode(errors="replace"))
        inputs = {p.name: own for p, own in zip(self.prototype.inputs, self.blocks, strict=True)}
        results, at = [], 0
        for parameter, count in zip(self.prototype.outputs, self.counts, strict=True):
            own = []
            for tensor, place in ((self.outputs[i], i) for i in range(at, at + count)):
                if self.shapes is not None:
                    shape = tuple(self.shapes[place])
                    tensor.rank = len(shape)
                    tensor.dims[: len(shape)] = shape
                shape = tuple(tensor.dims[: tensor.rank])
                own.append((shape, self.choice.get(parameter.name, tensor.dtype)))
            results.append(inputs.get(parameter.name) or [Block(*one) for one in own])
            at += count
        return results

    def tile(self) -> native.Tiling:
        tiling = native.Tiling()
        error = ctypes.create_string_buffer(512)
        if self.host.ascendc_tile(ctypes.byref(self.call), ctypes.byref(tiling), error, len(error)):
            raise OphookError(f"{self.prototype.type} tiling", error.value.decode(errors="replace"))
        return tiling


def _is_list(value: Any) -> bool:
    """Of tensors; a list of numbers is one tensor."""
    return isinstance(value, list | tuple) and any(hasattr(one, "shape") for one in value)


def _each(value: Any) -> list[Any]:
    """The tensors of one parameter."""
    return [] if value is None else list(value) if _is_list(value) else [value]


def _arrays(inputs: Sequence[Any]) -> list[list[Any]]:
    return [[value if is_tensor(value) else np.asarray(value) for value in _each(values)] for values in inputs]


def _described(blocks: list[Block]) -> Block:
    """What a kernel gets of a list of tensors, and reads with ListTensorDesc: the distance to the addresses; of each
    tensor its dimensions and its place in 32 bits each, and its shape; the addresses."""
    words = [word for i, block in enumerate(blocks) for word in (len(block.shape) | i << 32, *block.shape)]
    words = [8 * (len(words) + 1), *words, *(block.address for block in blocks)]
    block = Block((len(words),), 10)
    block.view[:] = np.array(words, np.uint64).view(np.uint8)
    return block


def _common(shapes: list[tuple[int, ...]]) -> tuple[int, ...]:
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        return shapes[0]


def _write_back(value: Any, block: Block) -> None:
    result = block.array(is_tensor(value))
    if is_tensor(value):
        value.detach().copy_(result)
    else:
        np.copyto(value, result.view(value.dtype))
