"""Put two whole runs side by side, such as eager and compiled or CPU and NPU, even if their operators differ."""

from __future__ import annotations

import dataclasses
import difflib
import itertools
import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from ophook_npu import untrusted
from ophook_npu.errors import OphookError
from ophook_npu.observe._course import Course, Point
from ophook_npu.observe._describe import columns
from ophook_npu.observe._pair import Pair, apart, line
from ophook_npu.observe.digest import Digest, DigestRow
from ophook_npu.plural import counted
from ophook_npu.untrusted import Wrong

_KEEP = 1000
_SUMS = ("norm", "mean", "weighted")


@dataclasses.dataclass
class Alignment:
    """Two runs, side by side.

    Attributes:
        pairs: how many calls of one correspond to a call of the other.
        first: the first pair whose figures differ by more than they may, as (row of a, row of b); ``None`` if all
            agree. All before it agree, so here an error is made.
        differing: how many pairs differ. apart: the first thousand of them.
        fresh: with digests of the inputs too, the pairs that differ although their inputs agree: more places where an
            error is made, of which the others are consequences. ``None`` without.
        only_a, only_b: calls that only one run made, the first thousand; how many of each operator: ``ops_a``,
            ``ops_b``.
    """

    pairs: int = 0
    differing: int = 0
    apart: list[Pair] = dataclasses.field(default_factory=list)
    fresh: list[Pair] | None = None
    only_a: list[DigestRow] = dataclasses.field(default_factory=list)
    only_b: list[DigestRow] = dataclasses.field(default_factory=list)
    ops_a: Counter[str] = dataclasses.field(default_factory=Counter)
    ops_b: Counter[str] = dataclasses.field(default_factory=Counter)
    course: Course = dataclasses.field(default_factory=Course, repr=False)

    @property
    def first(self) -> Pair | None:
        """The first pair that differs, as (row of a, row of b); ``None`` if all agree."""
        return self.apart[0] if self.apart else None

    def verdict(self) -> str:
        """In words, without the tables."""
        a_only, b_only = self.ops_a.total(), self.ops_b.total()
        lines = [f"{counted(self.pairs, 'call')} in both runs, {a_only} only in a, {b_only} only in b"]
        if self.pairs == 0:
            lines.append("the runs have no call in common, so nothing was compared")
        elif self.first is None:
            lines.append("all that correspond agree")
        else:
            a, b = self.first
            where = f" in module {a['module']}" if a["module"] is not None else ""
            node = "".join(f", {row['node']} of {name}" for name, row in (("a", a), ("b", b)) if "node" in row)
            lines.append(
                f"first divergence: {a['op']} ({a['phase']}{where}), call {a['n']} of a and {b['n']} of b{node}"
            )
            for x, y in zip(a["results"], b["results"], strict=False):
                digits = {name: _digits(x[name], y[name]) for name in _SUMS}
                lines += [f"  a {_show(x, digits)}", f"  b {_show(y, digits)}"]
            lines.append(f"{counted(self.differing, 'pair')} apart from there on")
            if self.fresh is not None:
                names = Counter(pair[0]["op"] for pair in self.fresh)
                made = ", ".join(f"{name} {count}x" if count > 1 else name for name, count in names.most_common(10))
                lines.append(f"of these, {len(self.fresh)} had agreeing inputs, so made an error themselves: {made}")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.verdict()

    def report(self, top: int = 20) -> str:
        """The verdict, the first pairs that differ, and what only one run calls."""
        parts = [self.verdict()]
        if self.apart:
            rows = [["a", "b", "operator", "phase", "module", "result", "apart"]]
            parts.append(columns([*rows, *map(line, self.apart[:top])], frozenset({0, 1, 6})))
        for name, ops in (("a", self.ops_a), ("b", self.ops_b)):
            if ops:
                parts.append(f"only in {name}: " + ", ".join(f"{op} {n}x" for op, n in ops.most_common(top)))
        return "\n\n".join(parts)

    def to_json(self) -> dict[str, Any]:
        """The alignment for ``json.dumps``."""
        return {
            "pairs": self.pairs,
            "differing": self.differing,
            "first": self.first,
            "fresh": self.fresh,
            "only_a": dict(self.ops_a),
            "only_b": dict(self.ops_b),
        }

    def html(self, path: str | Path, title: str = "Two runs") -> None:
        """Writes the report as one self-contained file."""
        from ophook_npu.observe.pages.alignment import align_page

        Path(path).write_text(align_page(title, self), encoding="utf-8")


def align(a: Any, b: Any, tolerance: float | None = None) -> Alignment:
    """Finds where two runs first differ.

    Args:
        a, b: :class:`Digest` observers, their rows, or the files they wrote.
        tolerance: relative, for the figures; by default that of :data:`TOLERANCES` for the coarser dtype of both.
            Digests made with ``exact=True`` are by default compared bit for bit.

    Calls correspond if their operators (without overload, in-place or not) and result shapes do, in the same order;
    between them either run may make calls of its own. Random operators correspond, but their numbers are not compared.
    Files are read as they are compared, some thousand rows at a time.
    """
    found = Alignment()
    for left, right in _correspondence(_rows(a), _rows(b)):
        if left is None or right is None:
            row = right if left is None else left
            assert row is not None
            rows, ops = (found.only_b, found.ops_b) if left is None else (found.only_a, found.ops_a)
            ops[row["op"]] += 1
            if len(rows) < _KEEP:
                rows.append(row)
            continue
        found.pairs += 1
        if found.fresh is None and "inputs" in left and "inputs" in right:
            found.fresh = []
        if left["random"]:
            continue
        distance, far = apart(left["results"], right["results"], tolerance)
        found.course.add(Point(left["n"], left["op"], distance, not far))
        if not far:
            continue
        found.differing += 1
        if len(found.apart) < _KEEP:
            found.apart.append((left, right))
        if found.fresh is not None and len(found.fresh) < _KEEP and _same_inputs(left, right, tolerance):
            found.fresh.append((left, right))
    return found


def _correspondence(
    a: Iterator[DigestRow], b: Iterator[DigestRow]
) -> Iterator[tuple[DigestRow | None, DigestRow | None]]:
    """All rows of both, in order: pairs, and rows that only one has.

    A window slides over both runs. Inside it the longest common sequence is found; where there is little in common it
    grows, so that a long detour of one run is passed over too.
    """
    left: list[DigestRow] = []
    right: list[DigestRow] = []
    size = _WINDOW
    while True:
        left += itertools.islice(a, max(0, size - len(left)))
        right += itertools.islice(b, max(0, size - len(right)))
        same = 0
        for x, y in zip(left, right, strict=False):
            if _key(x) != _key(y):
                break
            same += 1
            yield x, y
        del left[:same], right[:same]
        if same:
            size = _WINDOW
            continue
        over = len(left) < size and len(right) < size
        if over and not (left and right):
            yield from ((x, None) for x in left)
            yield from ((None, y) for y in right)
            return
        one, other = ([_key(row) for row in rows[:size]] for rows in (left, right))
        matcher = difflib.SequenceMatcher(None, one, other, autojunk=False)
        blocks = [block for block in matcher.get_matching_blocks() if block.size]
        if not over:
            # What lies near the window's end may find a better partner after it.
            blocks = [block for block in blocks if max(block.a, block.b) < size // 2]
            if not blocks and size < _LARGEST:
                size *= 2
                continue
        i = j = 0
        for block in blocks:
            yield from ((x, None) for x in left[i : block.a])
            yield from ((None, y) for y in right[j : block.b])
            yield from zip(left[block.a : block.a + block.size], right[block.b : block.b + block.size], strict=True)
            i, j = block.a + block.size, block.b + block.size
        if not blocks and not over:
            i, j = min(len(left), size) // 2, min(len(right), size) // 2
        if over:
            i, j = len(left), len(right)
        if not blocks or over:
            start = (blocks[-1].a + blocks[-1].size, blocks[-1].b + blocks[-1].size) if blocks else (0, 0)
            yield from ((x, None) for x in left[start[0] : i])
            yield from ((None, y) for y in right[start[1] : j])
        del left[:i], right[:j]
        size = _WINDOW


_WINDOW, _LARGEST = 1000, 16_000


def _rows(given: Any) -> Iterator[DigestRow]:
    if isinstance(given, Digest):
        given = given.to if given.to is not None else given.rows
    if isinstance(given, (str, Path)):
        path = Path(given)
        if not path.is_file():
            raise OphookError("align", f"no such file: {path}", todo="write one with ophook-npu digest or Digest(to=…)")
        return _read(path)
    return iter(given)


def _read(path: Path) -> Iterator[DigestRow]:
    todo = "write one with ophook-npu digest"
    for number, row in untrusted.json_lines(path, "align", "a row of a digest", todo):
        try:
            yield _row(row)
        except Wrong as error:
            raise OphookError("align", f"{path}:{number} is not a row of a digest: {error}", todo=todo) from error


_FIELDS = ("n", "op", "phase", "module", "random", "results")
_OF_FIGURES = ("shape", "dtype", "norm", "mean", "weighted")
_DTYPES = frozenset(str(value).removeprefix("torch.") for value in vars(torch).values() if type(value) is torch.dtype)


def _row(row: DigestRow) -> DigestRow:
    """The row, checked: runs are compared across machines, so somebody else may have written it."""
    untrusted.fields(row, "the row", _FIELDS, ("node", "inputs"))
    untrusted.integer(row["n"], "n", 0)
    untrusted.text(row["op"], "op")
    untrusted.one_of(row["phase"], "phase", ("forward", "backward"))
    if row["module"] is not None:
        untrusted.text(row["module"], "module")
    untrusted.flag(row["random"], "random")
    if "node" in row:
        untrusted.text(row["node"], "node")
    row["results"] = [_figures(figures, "results") for figures in untrusted.items(row["results"], "results")]
    if not row["results"]:
        raise Wrong("there are no results")
    if row.get("inputs") is None:
        row.pop("inputs", None)
    else:
        row["inputs"] = [_figures(figures, "inputs") for figures in untrusted.items(row["inputs"], "inputs")]
    return row


def _figures(figures: DigestRow, name: str) -> DigestRow:
    untrusted.fields(figures, name, _OF_FIGURES, ("bits",))
    shape = [untrusted.integer(size, "shape", 0) for size in untrusted.items(figures["shape"], "shape", 64)]
    untrusted.integer(math.prod(shape), "the number of elements", 0, 1 << 63)
    untrusted.one_of(figures["dtype"], "dtype", _DTYPES)
    for part in ("norm", "mean", "weighted"):
        figures[part] = untrusted.number(figures[part], part)
    if "bits" in figures:
        untrusted.integer(figures["bits"], "bits")
    return figures


def _key(row: DigestRow) -> Any:
    name = row["op"].split(".")[0].rstrip("_")
    return (name, row["phase"], tuple(tuple(result["shape"]) for result in row["results"]))


def _same_inputs(a: DigestRow, b: DigestRow, tolerance: float | None) -> bool:
    x, y = a["inputs"], b["inputs"]
    if [figures["shape"] for figures in x] != [figures["shape"] for figures in y]:
        return False
    return not apart(x, y, tolerance)[1]


def _digits(a: float, b: float) -> int:
    """Significant digits that tell two figures apart, and two more: the order of a sum changes digits after those."""
    apart = next((digits for digits in range(1, 16) if f"{a:.{digits}g}" != f"{b:.{digits}g}"), 2)
    return min(apart + 2, 16)


def _show(result: DigestRow, digits: dict[str, int]) -> str:
    figures = ", ".join(f"{name} {result[name]:.{digits[name]}g}" for name in _SUMS)
    return f"{result['dtype']}{result['shape']}: {figures}"
