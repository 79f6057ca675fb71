"""Call an operator project's kernel: inference, tiling and the run, as the device's stack does it."""

from __future__ import annotations

import ctypes
import dataclasses
import functools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ophook_npu.errors import OphookError
from ophook_npu.kernel import native
from ophook_npu.kernel.findings import KernelReport, Mistake
from ophook_npu.kernel.memory import Block, dtype_of, is_tensor, name_of
from ophook_npu.kernel.project import OPTIONAL, Attribute, Project, Prototype
from ophook_npu.kernel.socs import find
from ophook_npu.kernel.source import BOTH, INPUT, OUTPUT, TILING, WORKSPACE, Argument, Entry, Settings
from ophook_npu.kernel.templates import dispatch
from ophook_npu.plural import counted

_KINDS = {"Int": 1, "Float": 2, "Bool": 3, "String": 4, "ListInt": 5, "ListFloat": 6}
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
            inputs: one for each input of the prototype; None where an optional one is absent. Further ones are
                attributes, in order.
            outputs: shapes, where the operator infers none.

        Raises:
            OphookError: too few inputs, a type that the operator does not list, or inference or tiling refuses.
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
        like_torch = any(is_tensor(value) for value in tensors)
        tensors = [v if v is None or is_tensor(v) else np.asarray(v) for v in tensors]
        choice = self._choose(tensors)
        blocks = [None if value is None else Block.of(value, prototype.type) for value in tensors]
        call = _Call(self, blocks, choice, attributes, outputs)
        results = call.infer()
        tiling = call.tile()
        self._run(blocks, results, choice, tiling)
        for value, block, parameter in zip(inputs, blocks, prototype.inputs, strict=False):
            if block is not None and self._in_place(parameter.name):
                _write_back(value, block)
        named = [r for r, p in zip(results, prototype.outputs, strict=True) if not self._in_place(p.name)]
        values = tuple(block.array(like_torch) for block in named)
        return values[0] if len(values) == 1 else values

    def needed(self, *inputs: Any) -> Entry:
        """What a call with these inputs runs."""
        tensors = [v if v is None or is_tensor(v) else np.asarray(v) for v in inputs[: len(self.prototype.inputs)]]
        tensors += [None] * (len(self.prototype.inputs) - len(tensors))
        return self.entry(self._choose(tensors), self.settings.debug)

    def entries(self) -> list[Entry]:
        """One for every choice of data types."""
        return [self.entry(choice, self.settings.debug) for choice in self.prototype.combinations()]

    def written(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        """Those of a call's inputs that the operator writes to."""
        return tuple(v for v, p in zip(inputs, self.prototype.inputs, strict=False) if self._in_place(p.name))

    def _in_place(self, name: str) -> bool:
        return any(p.name == name for p in self.prototype.outputs) and any(
            p.name == name for p in self.prototype.inputs
        )

    def _signature(self) -> str:
        return ", ".join(
            [p.name for p in self.prototype.inputs] + [f"{a.name}={a.default}" for a in self.prototype.attrs]
        )

    def _choose(self, tensors: list[Any]) -> dict[str, int]:
        where = self.prototype.type
        given = {
            p.name: dtype_of(v, where) for p, v in zip(self.prototype.inputs, tensors, strict=True) if v is not None
        }
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
        key = (*sorted(choice.items()), debug)
        return self._entry(key)

    @functools.cache  # noqa: B019
    def _entry(self, key: tuple[Any, ...]) -> Entry:
        *pairs, debug = key
        project, prototype = self.project, self.prototype
        prelude = project.host.ascendc_prelude(prototype.type.encode()).decode()
        source = project.kernel_source(prototype)
        templates = json.loads(project.host.ascendc_templates(prototype.type.encode()))
        return Entry(
            source, project.macros(prototype, dict(pairs)), prelude, prototype.snake, project.roots, debug,
            *dispatch(source, prototype, templates, dict(pairs)),
        )  # fmt: skip

    def _run(
        self, blocks: list[Block | None], results: list[Block], choice: dict[str, int], tiling: native.Tiling
    ) -> None:
        prototype = self.prototype
        absent = Block((0,), 4)
        arguments = []
        for p, block in zip(prototype.inputs, blocks, strict=True):
            arguments.append(Argument(p.name, block or absent, BOTH if self._in_place(p.name) else INPUT))
        for p, block in zip(prototype.outputs, results, strict=True):
            if p.initial is not None:
                block.view[:] = 0
            arguments.append(
                Argument(p.name, block, BOTH if self._in_place(p.name) or p.initial is not None else OUTPUT)
            )
        arguments.append(Argument("workspace", Block((tiling.workspace,), 4), WORKSPACE))
        data = Block((tiling.size,), 4)
        data.view[:] = np.frombuffer(bytes(tiling.data[: tiling.size]), np.uint8)
        arguments.append(Argument("tiling", data, TILING))
        cores = self.settings.cores or tiling.block_dim
        self.report = self.entry(choice, self.settings.debug).run(
            arguments, cores, tiling_key=tiling.tiling_key, settings=self.settings
        )
        self.all_findings += self.report.findings


class _Call:
    """One call as the host side sees it."""

    def __init__(
        self, kernel: Kernel, blocks: list[Block | None], choice: dict[str, int], attributes: dict[str, Any],
        shapes: list[tuple[int, ...]] | None,
    ) -> None:  # fmt: skip
        self.kernel, self.blocks, self.choice, self.shapes = kernel, blocks, choice, shapes
        prototype, host = kernel.prototype, kernel.project.host
        self.host, self.prototype = host, prototype
        self._keep: list[Any] = []
        present = [block for block in blocks if block is not None]
        self.inputs = (native.HostTensor * max(1, len(present)))(
            *(self._tensor(b.shape, b.dtype, b.address) for b in present)
        )
        self.outputs = (native.HostTensor * len(prototype.outputs))(
            *(self._tensor((), choice.get(p.name, 0), None) for p in prototype.outputs)
        )
        unknown = set(attributes) - {a.name for a in prototype.attrs}
        if unknown:
            allowed = ", ".join(a.name for a in prototype.attrs) or "no attributes"
            raise OphookError(prototype.type, f"no attribute {', '.join(sorted(unknown))}", allowed=allowed)
        attrs = (native.Attr * max(1, len(prototype.attrs)))(*(self._attr(a, attributes) for a in prototype.attrs))
        counts = (ctypes.c_int32 * len(blocks))(*(int(block is not None) for block in blocks))
        ones = (ctypes.c_int32 * len(prototype.outputs))(*(1 for _ in prototype.outputs))
        soc = dataclasses.replace(find(kernel.settings.soc))
        if kernel.settings.cores:
            soc = dataclasses.replace(soc, vector_cores=kernel.settings.cores)
        self.call = native.HostCall(
            prototype.type.encode(), self.inputs, counts, len(blocks), self.outputs, ones, len(prototype.outputs),
            attrs, len(prototype.attrs), native.host_soc(soc),
        )  # fmt: skip

    def _tensor(self, shape: tuple[int, ...], dtype: int, data: int | None) -> native.HostTensor:
        tensor = native.HostTensor(dtype, len(shape), (ctypes.c_int64 * native.MAX_DIMS)(*shape), data)
        return tensor

    def _attr(self, attribute: Attribute, given: dict[str, Any]) -> native.Attr:
        value = given.get(attribute.name, attribute.default)
        if value is None:
            raise OphookError(self.prototype.type, f"the required attribute {attribute.name} is not given")
        out = native.Attr(kind=_KINDS[attribute.type])
        match attribute.type:
            case "Int" | "Bool":
                out.whole = int(value)
            case "Float":
                out.real = float(value)
            case "String":
                out.text = str(value).encode()
            case "ListInt":
                out.wholes, out.count = (ctypes.c_int64 * len(value))(*value), len(value)
            case "ListFloat":
                out.reals, out.count = (ctypes.c_float * len(value))(*value), len(value)
        self._keep.append(out)
        return out

    def infer(self) -> list[Block]:
        """The outputs, with the shapes that the operator infers; one that is an input, too, is that input's block."""
        if self.shapes is None:
            error = ctypes.create_string_buffer(512)
            if self.host.ascendc_infer(ctypes.byref(self.call), error, len(error)):
                raise OphookError(self.prototype.type, error.value.decode(errors="replace"))
        inputs = {p.name: b for p, b in zip(self.prototype.inputs, self.blocks, strict=True)}
        results = []
        for i, parameter in enumerate(self.prototype.outputs):
            tensor = self.outputs[i]
            if self.shapes is not None:
                shape = tuple(self.shapes[i])
                tensor.rank = len(shape)
                tensor.dims[: len(shape)] = shape
            shape = tuple(tensor.dims[: tensor.rank])
            results.append(inputs.get(parameter.name) or Block(shape, self.choice.get(parameter.name, tensor.dtype)))
        return results

    def tile(self) -> native.Tiling:
        tiling = native.Tiling()
        error = ctypes.create_string_buffer(512)
        if self.host.ascendc_tile(ctypes.byref(self.call), ctypes.byref(tiling), error, len(error)):
            raise OphookError(f"{self.prototype.type} tiling", error.value.decode(errors="replace"))
        return tiling


def _write_back(value: Any, block: Block) -> None:
    result = block.array(is_tensor(value))
    if is_tensor(value):
        value.detach().copy_(result)
    else:
        np.copyto(value, result.view(value.dtype))
