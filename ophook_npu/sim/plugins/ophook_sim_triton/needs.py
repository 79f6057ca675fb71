"""What one program of a Triton kernel needs of a core's local memories.

The interpreter runs one program operation by operation, its loops unrolled; the trace knows which values are alive at
each. triton-ascend's compiler keeps in the unified buffer the values that a vector unit works on, and its need is the
most that is alive at once (triton-ascend's issue 302). This is a lower bound of it: offsets and masks that come from
`tl.arange` become strides and sizes, a value that dies gives its place to the result, operands of `tl.dot` that come
from memory lie in L1, and what some operations take beside their operands is not counted. A row begins at a multiple of
32 bytes; so a shape with short rows takes more than another shape of as many numbers, and where no axis of a load is
contiguous, each number is a row (triton-ascend, docs/en/migration_guide/migrate_from_gpu.md, "UBSIZE").
"""

from __future__ import annotations

import linecache
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

_ALIGNED = 32  # bytes of a row in the unified buffer: triton-ascend, docs/en/programming_guide.md
# An operation whose result is its operand, seen otherwise.
_VIEWS = {"expand_dims", "reshape", "bitcast", "unsplat", "addptr"}
_MEMORY = {"load", "masked_load", "tensor_pointer_load", "descriptor_load"}
_NEW = {"histogram", "gather", "atomic_rmw", "atomic_cas"}
# What reads one place of its operand while it writes another has both at once (a cast to another width, too), and these
# have a buffer beside them, of a block at least: the compiler's operations for them have a `temp_buffer`
# (AscendNPU-IR, HIVMVectorOps.td).
_MOVES = {"broadcast", "reduce", "trans", "reshape"}
_CASTS = {"fp_to_fp", "fp_ext", "fp_trunc"}
_STORES = {"store", "masked_store", "tensor_pointer_store", "descriptor_store"}


def running_line(kernel: Callable[..., Any]) -> int:
    """The kernel's own line that is running: of a helper, where the kernel calls it."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name == kernel.__name__ and frame.f_code.co_filename == kernel.__code__.co_filename:
            return frame.f_lineno
        frame = frame.f_back
    return 0


@dataclass
class Value:
    """INDEX: offsets, masks and scalars, which take no place. MEMORY: as loaded. CUBE: a sum in L0C. DATA: in UB."""

    kind: str
    bytes: int
    line: int
    born: int
    handle: Any  # kept, so that no other has its identity
    last: int = 0
    in_ub: bool = False
    beside: int = 0  # bytes beside it while it is made
    widened: bool = False  # a load that was cast to another width
    unrolled: int = 0  # the end of the unrolled loop that it was made in


@dataclass
class ProgramTrace:
    kernel: Callable[..., Any]
    values: dict[int, Value] = field(default_factory=dict)
    at: int = 0
    loads: dict[int, int] = field(default_factory=dict)  # of a line, how often it was run
    products: list[tuple[int, int, int, int]] = field(default_factory=list)  # line, bytes of a, of b, of the sum

    def operation(self, name: str, given: Sequence[Any], results: Sequence[Any]) -> None:
        self.at += 1
        line = running_line(self.kernel)
        known = [value for one in given if (value := self.values.get(id(one)))]
        for value in known:
            value.last = self.at
        if name == "dot":
            self._product(line, given, results)
            return
        kinds = {value.kind for value in known}
        rows = name == "reshape" and bool(kinds - {"INDEX"}) and _bytes(results[0]) != _bytes(given[0])
        passes = name in _CASTS | _STORES | _VIEWS and not rows
        vector = bool(known) and not passes and not self._accumulates(name, known)
        for value in known:
            value.in_ub |= (value.kind == "MEMORY" and (vector or passes)) or (value.kind == "CUBE" and vector)
        for result in results:
            size = _bytes(result)
            if name in _MEMORY:
                kind = "MEMORY"
                if given and "DATA" not in kinds and "MEMORY" not in kinds and _scattered(given[0], result):
                    size = _ALIGNED * result.data.size
                self.loads[line] = self.loads.get(line, 0) + 1
            elif name == "splat" or not (kinds & {"MEMORY", "CUBE", "DATA"} or name in _NEW):
                kind = "INDEX"  # a scalar as the operand of a vector, too
            elif name in _VIEWS and not rows:
                self.values[id(result)] = next(value for value in known if value.kind != "INDEX")
                self.values[id(result)].handle = (self.values[id(result)].handle, result)
                continue
            elif not vector and kinds <= {"CUBE", "INDEX"}:
                kind = "CUBE"
            else:
                kind = "DATA"
            moves = kind == "DATA" and size > _ALIGNED and name in _MOVES
            if moves or (name in _CASTS and size != _bytes(given[0])):
                for one in known:
                    one.last = self.at + 1
            value = Value(kind, size, line, self.at, result, self.at, kind == "DATA", _ALIGNED * moves)
            value.widened = name in _CASTS and "MEMORY" in kinds and size > _bytes(given[0])
            self.values[id(result)] = value
        self.at += 1  # where a move still has its operands

    def _accumulates(self, name: str, known: Sequence[Value]) -> bool:
        """``sum += tl.dot(a, b)`` stays in L0C."""
        return name == "fadd" and {value.kind for value in known} <= {"CUBE", "INDEX"}

    def _product(self, line: int, given: Sequence[Any], results: Sequence[Any]) -> None:
        (result,) = results
        a, b = (_bytes(one) for one in given[:2])
        size = _bytes(result)
        self.products.append((line, a, b, size))
        self.values[id(result)] = Value("CUBE", size, line, self.at, result, self.at)

    def unrolled(self, begin: int) -> None:
        """A loop of ``tl.static_range`` ends that began there."""
        for value in self.values.values():
            if value.born > begin:
                value.unrolled = self.at

    def most(self, unrolled: bool) -> tuple[int, list[Value]]:
        """The most bytes of the unified buffer that are alive at once, and the values that are.

        Each iteration of an unrolled loop may keep its widened load until the loop ends (triton-ascend's issue 2246).
        """
        held = list({id(value): value for value in self.values.values() if value.in_ub}.values())
        changes: dict[int, int] = {}
        for value in held:
            # A value that ends with an operation makes room for its result.
            changes[value.born] = changes.get(value.born, 0) + value.bytes + value.beside
            changes[value.born + 1] = changes.get(value.born + 1, 0) - value.beside
            end = value.last if value.last > value.born else value.born + 1
            if unrolled and value.widened:
                end = max(end, value.unrolled)
            changes[end] = changes.get(end, 0) - value.bytes
        best = now = at = 0
        for when in sorted(changes):
            now += changes[when]
            if now > best:
                best, at = now, when
        alive = [value for value in held if value.born <= at < max(value.last, value.born + 1)]
        return best, sorted(alive, key=lambda value: -value.bytes)

    def told(self, soc: Any) -> Iterator[tuple[str, Exception]]:
        """What does not fit that SoC (`ophook_npu.kernel.socs.Soc`)."""
        bytes_, alive = self.most(unrolled=soc.name.startswith("Ascend950"))
        halves = 2 if self.products else 1  # two vector cores share what a cube core works on
        need = bytes_ // halves
        twice = need + self._again() // halves
        has = f"of {soc.ub:,} bytes of UB ({soc.name})"
        if need > soc.ub:
            by = "; ".join(f"{one.bytes // halves:,} of line {one.line}: {self._text(one.line)}" for one in alive[:3])
            yield self._overflow(alive[0].line, f"would overflow UB: needs {need:,} {has}; by: {by}", need, soc.ub)
        elif twice > soc.ub:
            text = f"needs {need:,} {has}, and {twice:,} with the multi-buffering of loads in loops"
            yield self._overflow(alive[0].line, text, twice, soc.ub)
        for line, a, b, total in dict.fromkeys(self.products):
            for what, size, memory, most in (
                ("the sum of tl.dot needs", total, "L0C", soc.l0c),
                ("the operands of tl.dot need", a + b, "L1", soc.l1),
            ):
                if size > most:
                    text = (
                        f"would overflow {memory}: {what} {size:,} of {most:,} bytes ({soc.name}): {self._text(line)}"
                    )
                    yield self._overflow(line, text, size, most)

    def _overflow(self, line: int, text: str, need: int, limit: int) -> tuple[str, Exception]:
        """The error is the one that Triton's autotuner takes as `this configuration does not fit`."""
        from triton.runtime.errors import OutOfResources

        code = self.kernel.__code__
        told = f"triton kernel {self.kernel.__name__} ({code.co_filename}:{line}) {text}"
        return told, OutOfResources(need, limit, told)

    def _again(self) -> int:
        """The second buffers of loads that a loop runs again, which are there as long as the first."""
        lines: dict[int, int] = {}
        for value in self.values.values():
            if value.kind == "MEMORY" and value.in_ub and self.loads.get(value.line, 0) > 1:
                lines[value.line] = max(lines.get(value.line, 0), value.bytes)
        return sum(lines.values())

    def _text(self, line: int) -> str:
        return linecache.getline(self.kernel.__code__.co_filename, line).strip()


def _scattered(pointers: Any, result: Any) -> bool:
    """Whether no axis of what is loaded is contiguous in memory."""
    if getattr(pointers, "data", None) is None or pointers.data.shape != result.data.shape or result.data.size == 1:
        return False
    apart = result.data.itemsize
    first = pointers.data.astype("int64")
    steps = [first.take([1], axis) - first.take([0], axis) for axis in range(first.ndim) if first.shape[axis] > 1]
    return all(int(step.flat[0]) not in (0, apart) for step in steps)


def _bytes(handle: Any) -> int:
    """In the unified buffer, where a row is a whole number of blocks."""
    shape = handle.data.shape
    if handle.data.size == 1:
        return 0
    bits = max(1, handle.get_element_ty().primitive_bitwidth)
    row = -(-shape[-1] * bits // 8 // _ALIGNED) * _ALIGNED
    return int(row * (handle.data.size // shape[-1]))
