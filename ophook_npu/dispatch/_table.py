"""An operator's dispatch table: for each key the kernel, how it got there, and the file that registered it."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator
from typing import Any, Literal

import torch
from torch._ops import OpOverload

from ophook_npu.dispatch import _keys
from ophook_npu.errors import OphookError
from ophook_npu.hooks import targets
from ophook_npu.plural import counted

Kind = Literal[
    "registered", "autograd", "composite explicit", "composite implicit", "backend fallback", "fallthrough", "ambiguous"
]

# How _dispatch_dump_table marks an entry -> our word for it. A fallthrough says so before the mark.
_KINDS: dict[str, Kind] = {
    "kernel": "registered",
    "autograd kernel": "autograd",
    "default backend kernel": "composite explicit",
    "math kernel": "composite implicit",
    "nested kernel": "composite implicit",
    "batched kernel": "composite implicit",
    "ambiguous autogradother": "ambiguous",
    "backend fallback": "backend fallback",
}
KIND_TEXT: dict[str, str] = {
    "registered": "a kernel of its own for this key",
    "autograd": "the operator's one autograd kernel, which serves every backend",
    "composite explicit": "one implementation for every backend; autograd treats the operator as a unit",
    "composite implicit": "a program over other operators; autograd sees those",
    "backend fallback": "the key's kernel for every operator without one of its own",
    "fallthrough": "nothing runs: dispatch goes on to the next key",
    "ambiguous": "a composite implicit kernel and a backend's own contradict each other: calling it raises",
}
# The alias keys that a kernel of each mark can have been registered for.
_ALIASES: dict[str, tuple[str, ...]] = {
    "autograd kernel": ("Autograd",),
    "default backend kernel": ("CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional"),
    "math kernel": ("CompositeImplicitAutograd",),
    "nested kernel": ("CompositeImplicitAutogradNestedTensor",),
    "batched kernel": ("FuncTorchBatchedDecomposition",),
}
_LINE = re.compile(
    r"^(?P<key>\w+): (?P<skip>fallthrough )?(?P<how>registered at )?(?P<where>.*?)(?: \[(?P<mark>[^\]]+)\])?$"
)
_REGISTRATION = re.compile(
    r"^(?P<key>\w+)(?P<alias>\[alias\])?(?P<inactive> \(inactive\))?: (?:fallthrough )?registered at (?P<where>.*?) :: "
)


@dataclasses.dataclass(frozen=True)
class Row:
    """What the dispatcher does with an operator at one key.

    Attributes:
        key: the dispatch key.
        kind: how the kernel got there; :data:`KIND_TEXT` says each in words.
        source: the key it was registered under: ``key`` itself, an alias such as ``CompositeImplicitAutograd``, or
            ``"*"`` for a fallback, which is registered for all operators.
        file: ``path:line`` of the registration, below torch's or the package's root where that is known.
    """

    key: str
    kind: Kind
    source: str
    file: str

    @property
    def group(self) -> str:
        """The kind of key, such as ``autograd`` or ``backend``."""
        return _keys.group_of(self.key)


class Table:
    """A dispatch table as it was when read. Compare two with :func:`diff`.

    Attributes:
        op: ``aten::add.Tensor``.
        schema: its schema.
        rows: by key, in the dispatcher's order, lowest priority first. Keys without a kernel are absent.
        inactive: registrations that a later one for the same key hides.
        others: the other overloads of the operator.
    """

    def __init__(self, op: str) -> None:
        dump = torch._C._dispatch_dump(op)
        self.op = op
        self.schema = str(torch._C._get_schema(*_split(op)))
        self.others = tuple(name for name in _overloads(op) if name != op)
        found = [m.groupdict() for m in map(_REGISTRATION.match, dump.splitlines()) if m]
        aliases = [(r["key"], r["where"]) for r in found if r["alias"] and not r["inactive"]]
        self.inactive = tuple(Row(r["key"], "registered", r["key"], short(r["where"])) for r in found if r["inactive"])
        self.rows: dict[str, Row] = {}
        for line in torch._C._dispatch_dump_table(op).splitlines():
            match = _LINE.match(line)
            if match is None or match["mark"] is None or match["mark"] not in _KINDS:
                if line.strip() and match is not None and match["mark"] is not None:
                    raise OphookError(
                        f"dispatch {op}",
                        f"torch describes a kernel in a way this version does not know: {line!r}",
                        allowed=", ".join(_KINDS),
                    )
                continue
            kind = _KINDS[match["mark"]]
            source = match["key"]
            if kind == "backend fallback":
                source = "*"
            elif kind != "registered":
                # The place alone does not tell: Python's registrations all come from one line of torch.
                possible = [key for key, where in aliases if where == match["where"]]
                source = next((key for key in possible if key in _ALIASES.get(match["mark"], ())), source)
            self.rows[match["key"]] = Row(
                match["key"], "fallthrough" if match["skip"] else kind, source, short(match["where"])
            )

    def __getitem__(self, key: str) -> Row:
        """The row of ``key``.

        Raises:
            OphookError: no such key, or the operator has no kernel for it.
        """
        if key not in self.rows:
            known = key in torch._C.DispatchKey.__members__
            raise OphookError(
                f"dispatch {self.op}",
                f"no kernel for {key}" if known else f"there is no dispatch key {key!r}",
                allowed=", ".join(self.rows),
            )
        return self.rows[key]

    def __contains__(self, key: str) -> bool:
        return key in self.rows

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows.values())

    def __len__(self) -> int:
        return len(self.rows)

    def only(self, keys: Iterable[str]) -> list[Row | str]:
        """The rows of ``keys``, in that order; a key without a kernel comes back as its name.

        Raises:
            OphookError: a name that is no dispatch key.
        """
        result: list[Row | str] = []
        for key in keys:
            name = _key_name(key, self.op)
            result.append(self.rows.get(name, name))
        return result

    def by_group(self) -> dict[str, list[Row]]:
        """The rows, grouped as in :data:`_keys.GROUPS`, highest priority first in each group."""
        groups: dict[str, list[Row]] = {name: [] for name in _keys.GROUPS}
        for row in reversed(self.rows.values()):
            groups[row.group].append(row)
        return {name: rows for name, rows in groups.items() if rows}

    def to_json(self) -> dict[str, Any]:
        """The table for ``json.dumps``."""
        return {
            "op": self.op,
            "schema": self.schema,
            "overloads": list(self.others),
            "rows": [dataclasses.asdict(row) for row in self],
            "inactive": [dataclasses.asdict(row) for row in self.inactive],
        }

    def __str__(self) -> str:
        lines = [self.schema]
        for group, rows in self.by_group().items():
            lines.append(f"{group}: {_keys.GROUPS[group][1]}")
            lines += [f"  {_keys.label(r.key):32} {r.kind:18} {r.file}" for r in rows]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<Table {self.op}: {counted(len(self), 'key')}>"


@dataclasses.dataclass(frozen=True)
class Change:
    """One key at which two tables differ; ``None`` where there is no kernel."""

    key: str
    before: Row | None
    after: Row | None

    def __str__(self) -> str:
        return f"{_keys.label(self.key)}: {_say(self.before)} -> {_say(self.after)}"


def table(op: Any) -> Table:
    """The dispatch table of ``op``, now.

    Args:
        op: an overload, a packet, ``"aten::mm"``, ``"aten::add.Tensor"``. Of a packet or a name without overload it
            is the default overload, else ``.Tensor``, else the first; ``Table.others`` names the rest.

    Raises:
        OphookError: no such operator (with near matches), or a target that is several operators.
    """
    return Table(one(op))


def diff(before: Table | Any, after: Table | Any) -> list[Change]:
    """The keys at which two tables differ in kernel, in the dispatcher's order.

    Args:
        before, after: tables, or operators as for :func:`table`. To see what a hook does, take the table before and
            after.
    """
    old = before if isinstance(before, Table) else table(before)
    new = after if isinstance(after, Table) else table(after)
    keys = list(dict.fromkeys([*old.rows, *new.rows]))
    order = {key: index for index, key in enumerate(_runtime_keys())}
    keys.sort(key=lambda key: order.get(key, len(order)))
    return [Change(key, old.rows.get(key), new.rows.get(key)) for key in keys if old.rows.get(key) != new.rows.get(key)]


def one(op: Any) -> str:
    """The full name of the one overload that ``op`` means."""
    overloads = targets.resolve(op).ops
    if len({o._schema.name for o in overloads}) > 1:
        raise OphookError(
            f"dispatch {op}",
            f"this is {counted(len(overloads), 'overload')} of several operators",
            allowed="one operator, such as 'aten::mm'",
        )
    by_overload = {o._overloadname: o for o in overloads}
    chosen: OpOverload = by_overload.get("default") or by_overload.get("Tensor") or overloads[0]
    return chosen._name


def short(where: str) -> str:
    """A registration's place without the root of the tree it was compiled or installed in.

    ``Python`` for kernels written in Python where torch keeps no place of theirs (before 2.10).
    """
    if where.startswith("/dev/null:"):
        return "Python"
    for root in ("/pytorch/pytorch/", "/site-packages/", "/dist-packages/", "/pytorch/"):
        if root in where:
            return where.split(root, 1)[1]
    return where


def _say(row: Row | None) -> str:
    return "no kernel" if row is None else f"{row.kind} ({row.file})"


def _split(op: str) -> tuple[str, str]:
    name, _, overload = op.partition(".")
    return name, overload


def _overloads(op: str) -> list[str]:
    name = op.partition(".")[0]
    return [o._name for o in targets.resolve(name).ops]


def _runtime_keys() -> list[str]:
    # aten::add.Tensor's table has an entry for nearly every runtime key, in the dispatcher's own order.
    lines = torch._C._dispatch_dump_table("aten::add.Tensor").splitlines()
    return [line.partition(":")[0] for line in lines if ":" in line]


def _key_name(key: str, op: str) -> str:
    wanted = key.strip()
    private = torch._C._get_privateuse1_backend_name()
    known = [name for name in torch._C.DispatchKey.__members__ if not name.startswith(("StartOf", "EndOf"))]
    for name in (*known, *_runtime_keys()):
        if wanted.lower() in (name.lower(), name.lower().replace("privateuse1", private)):
            return name
        if wanted.lower() == name.lower().replace("privateuse1", "npu"):
            return name
    import difflib

    near = difflib.get_close_matches(wanted, known, 3)
    raise OphookError(
        f"dispatch {op}",
        f"there is no dispatch key {wanted!r}",
        allowed=", ".join(near) or "names such as CPU, AutogradCPU, FuncTorchBatched, PrivateUse1",
        todo="without --keys the table lists every key that has a kernel",
    )
