"""One run of a published kernel: what it is given and what it must give."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ophook_npu.kernel.check import compare
from ophook_npu.kernel.findings import KernelReport
from ophook_npu.kernel.memory import Block, dtype_of
from ophook_npu.kernel.source import BOTH, INPUT, OUTPUT, REAL, TILING, VALUE, WORKSPACE, Argument, Entry, Settings

Array = Any  # an array, or a tensor of torch for bfloat16
SGL, VLLM = "sgl-project/sgl-kernel-npu", "vllm-project/vllm-ascend"


@dataclass
class Case:
    """``name`` of ``source`` (a path in ``repository``) on ``cores`` cores; `add` says what it gets, in order."""

    repository: str
    source: str
    name: str
    cores: int
    label: str = ""
    macros: dict[str, str] = field(default_factory=dict)
    prelude: str = ""
    tiling_key: int = 0
    arguments: list[Argument] = field(default_factory=list)
    wanted: dict[str, Array] = field(default_factory=dict)

    def input(self, name: str, value: Array) -> Case:
        return self.add(name, Block.of(value, name), INPUT)

    def output(self, name: str, wanted: Array, role: int = OUTPUT) -> Case:
        self.wanted[name] = wanted
        return self.add(name, Block(tuple(wanted.shape), dtype_of(wanted, name)), role)

    def changed(self, name: str, before: Array, wanted: Array) -> Case:
        """What the kernel reads and writes."""
        self.wanted[name] = wanted
        return self.add(name, Block.of(before, name), BOTH)

    def value(self, *values: int) -> Case:
        for number in values:
            self.arguments.append(Argument(f"argument {len(self.arguments)}", number, VALUE))
        return self

    def real(self, value: float) -> Case:
        self.arguments.append(Argument(f"argument {len(self.arguments)}", value, REAL))
        return self

    def workspace(self, size: int) -> Case:
        block = Block((size,), 4)
        block.view[:] = 0
        return self.add("workspace", block, WORKSPACE)

    def tiling(self, dtype: Any, **fields: int) -> Case:
        """A structure, as a numpy dtype with the offsets of C++, and its fields."""
        data = np.zeros(1, np.dtype(dtype, align=True))
        for name, number in fields.items():
            data[name] = number
        return self.add("tiling", Block.of(data.view(np.uint8), "tiling"), TILING)

    def add(self, name: str, block: Block, role: int) -> Case:
        self.arguments.append(Argument(name, block, role))
        return self

    def run(self, entry: Entry) -> tuple[KernelReport, str]:
        """The report, and how the result differs from what was wanted: "" where it does not."""
        report = entry.run(self.arguments, self.cores, tiling_key=self.tiling_key, settings=Settings())
        blocks = {a.name: a.block for a in self.arguments if isinstance(a.block, Block)}
        texts = []
        for name, wanted in self.wanted.items():
            text = compare(blocks[name].array(not isinstance(wanted, np.ndarray)), wanted)
            if text:
                texts.append(f"{name}: {text}")
        return report, "; ".join(texts)


Maker = Callable[[], Case]
u32, u64, i32, i64 = "u4", "u8", "i4", "i8"


def fields(kind: str, names: str) -> list[tuple[str, str]]:
    return [(name, kind) for name in names.split()]
