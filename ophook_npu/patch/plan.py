"""Work out what applying or reverting an operator means for a tree, file by file, and refuse what upstream would not.

Nothing here writes to disk: plans change a view of the tree, and the view is written when every plan stands.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ophook_npu.errors import OphookError
from ophook_npu.patch import journal, yamltext
from ophook_npu.patch.journal import Added, Insertion, PatchRecord
from ophook_npu.patch.layout import Layout
from ophook_npu.patch.spec import PatchOperator, name_of, same_signature

SECTION = "custom"


@dataclass(frozen=True)
class Applied:
    """What :func:`apply` did. ``changed`` is ``False`` if the operator was already there."""

    name: str
    changed: bool
    diff: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Reverted:
    """What :func:`revert` did. ``exact``: every file is byte for byte what it was before the operator was applied."""

    name: str
    changed: bool
    exact: bool
    notes: tuple[str, ...] = ()


@dataclass
class FileChange:
    path: Path
    old: bytes | None  # None: the file does not exist
    new: bytes


class View:
    """The tree's files as they will be: plans read and change this, nothing touches the disk before all plans stand."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._old: dict[Path, bytes | None] = {}
        self._new: dict[Path, bytes] = {}

    def read(self, path: Path) -> bytes | None:
        if path not in self._old:
            self._old[path] = path.read_bytes() if path.is_file() else None
        return self._new.get(path, self._old[path])

    def change(self, path: Path, content: bytes) -> None:
        self.read(path)
        self._new[path] = content

    def paths(self) -> list[Path]:
        return list(self._old)

    def steps(self) -> list[FileChange]:
        return [FileChange(path, self._old[path], new) for path, new in self._new.items() if new != self._old[path]]


def plan(
    layout: Layout, operator: PatchOperator, autograd: bool, records: dict[str, PatchRecord], view: View
) -> Applied:
    known = records.get(operator.name)
    where = f"patch {operator.name}"
    _check_kernels(layout, operator, known, view)
    wanted = [(layout.yaml, SECTION, operator.entry_for(layout))]
    if autograd:
        if layout.derivatives.is_symlink() or not layout.derivatives.is_file():
            raise OphookError(where, f"{layout.derivatives} is missing or a link", todo="leave out --autograd")
        document = yamltext.parse(view.read(layout.derivatives) or b"", layout.derivatives)
        ranged = isinstance(document, dict) and "all_version" in document
        section = yamltext.ROOT if isinstance(document, list) else "backward"
        wanted.append((layout.derivatives, section, operator.derivative_for(layout, ranged)))

    if known is not None and not same_signature(known.signature, operator.signature):
        raise OphookError(
            where, f"applied with another signature: {known.signature}", todo=f"revert {operator.name} first"
        )
    record = known or PatchRecord("applying", operator.signature, layout.version)
    diffs = []
    others = [one for one in records.values() if one is not record]
    for path, section, entry in wanted:
        diffs.append(_plan_entry(layout, operator, record, others, view, path, section, entry))
    for kernel in operator.kernels:
        diffs.append(_plan_kernel(layout, record, view, kernel))
    if not layout.kernels.exists() and layout.relative(layout.kernels) not in record.folders:
        record.folders.append(layout.relative(layout.kernels))
    diff = "".join(diffs)
    unfinished = known is not None and known.state != "applied"
    if diff or unfinished:
        record.state = "applying"
    records[operator.name] = record
    return Applied(operator.name, bool(diff) or unfinished, diff)


def _plan_entry(
    layout: Layout,
    operator: PatchOperator,
    record: PatchRecord,
    others: list[PatchRecord],
    view: View,
    path: Path,
    section: str,
    entry: dict[str, Any],
) -> str:
    content = view.read(path)
    assert content is not None
    relative = layout.relative(path)
    ours = next((one for one in record.insertions if one.path == relative), None)
    if ours is not None and content.count(ours.text.encode()) == 1:
        if yamltext.items_of(yamltext.parse(content, path), section).count(entry) == 1:
            return ""
        raise OphookError(
            f"patch {operator.name}",
            f"the entry in {relative} was applied from another {operator.folder.name} or changed since",
            todo=f"revert {operator.name} first",
        )
    _refuse_existing(operator, content, path, section)
    new, text = yamltext.insert(content, section, entry, path)
    before = journal.digest(without(content, relative, others))
    record.insertions = [one for one in record.insertions if one.path != relative]
    record.insertions.append(Insertion(relative, section, operator.signature, text.decode(), before))
    view.change(path, new)
    return _diff(relative, content, new)


def without(content: bytes, relative: str, records: list[PatchRecord]) -> bytes:
    """The file without what the records say was put in."""
    for record in records:
        for insertion in record.insertions:
            if insertion.path == relative:
                content = content.replace(insertion.text.encode(), b"")
    return content


def _refuse_existing(operator: PatchOperator, content: bytes, path: Path, section: str) -> None:
    for other, signature in yamltext.signatures(yamltext.parse(content, path)):
        if name_of(signature) != operator.name:
            continue
        line = yamltext.line_of(content, signature)
        at = f"{path}, line {line}" if line else str(path)
        if not same_signature(signature, operator.signature):
            what = f"another signature of this name is there: {signature} ({at})"
            raise OphookError(f"patch {operator.name}", what, todo="choose another name; upstream refuses duplicates")
        if other != section:
            what = f"the entry is in section '{other}:' ({at})"
            raise OphookError(f"patch {operator.name}", what, allowed=f"'{section}:'", todo="remove it there first")
        what = f"the entry is there already and was not put in by this program ({at})"
        todo = "remove it, or restore the file with git checkout; twice would switch off all structured kernels"
        raise OphookError(f"patch {operator.name}", what, todo=todo)


def _check_kernels(layout: Layout, operator: PatchOperator, known: PatchRecord | None, view: View) -> None:
    """Refusals about kernels in the tree that no record explains."""
    where = f"patch {operator.name}"
    content = view.read(layout.yaml) or b""
    listed = any(
        same_signature(signature, operator.signature)
        for section, signature in yamltext.signatures(yamltext.parse(content, layout.yaml))
        if section == SECTION
    )
    for kernel in operator.kernels:
        target = layout.kernels / kernel.name
        if target.is_symlink():
            raise OphookError(where, f"{target} is a symbolic link", todo="remove it")
        there = view.read(target)
        ours = known is not None and any(one.path == layout.relative(target) for one in known.added)
        if ours and there is not None:
            added = next(one for one in known.added if one.path == layout.relative(target)) if known else None
            if added is not None and journal.digest(there) != added.sha256:
                raise OphookError(
                    where, f"{target} was changed after it was applied", todo="save the change, then revert"
                )
            if there != kernel.read_bytes():
                raise OphookError(
                    where, f"{kernel} differs from what was applied", todo=f"revert {operator.name}, then apply again"
                )
            continue
        if there is not None and there != kernel.read_bytes():
            raise OphookError(where, f"a kernel with other content is at {target}", todo="move it away or rename yours")
        if there is not None and not listed:
            raise OphookError(
                where,
                f"kernel without entry: {target} is there, the entry is not, and neither is recorded",
                todo="remove the file, then apply",
            )
        if there is None and listed and known is None:
            raise OphookError(
                where,
                f"entry without kernel: the entry is in {layout.yaml}, {target.name} is not in the tree",
                todo="remove the entry, or restore the file with git checkout, then apply",
            )


def _plan_kernel(layout: Layout, record: PatchRecord, view: View, kernel: Path) -> str:
    target = layout.kernels / kernel.name
    content = kernel.read_bytes()
    old = view.read(target)
    relative = layout.relative(target)
    if old == content:
        return ""
    record.added = [one for one in record.added if one.path != relative]
    record.added.append(Added(relative, journal.digest(content)))
    view.change(target, content)
    return _diff(relative, old, content)


def unplan(
    root: Path, name: str, record: PatchRecord, others: list[PatchRecord], view: View, doomed: list[Path]
) -> Reverted:
    exact = True
    notes = []
    for insertion in record.insertions:
        path = root / insertion.path
        content = view.read(path)
        if content is None:
            raise OphookError(f"patch {name}", f"{path} is gone", todo="git checkout it, then revert")
        rest = yamltext.remove(content, insertion.text.encode(), path)
        if rest is None:
            if yamltext.line_of(content, insertion.signature) is not None and record.state == "applied":
                raise OphookError(
                    f"patch {name}",
                    f"the entry in {path} was changed after it was applied (line "
                    f"{yamltext.line_of(content, insertion.signature)})",
                    todo="save the change, restore the file with git checkout, then revert",
                )
            notes.append(f"{insertion.path}: the entry was gone already")
            rest = content
        view.change(path, rest)
        if journal.digest(without(rest, insertion.path, others)) != insertion.before:
            exact = False
            notes.append(f"{insertion.path}: other changes were made since and are kept")
    for added in record.added:
        path = root / added.path
        there = view.read(path)
        if there is None:
            notes.append(f"{added.path}: was gone already")
            continue
        if journal.digest(there) != added.sha256:
            raise OphookError(
                f"patch {name}", f"{path} was changed after it was applied", todo="save or remove it first"
            )
        doomed.append(path)
    return Reverted(name, True, exact, tuple(notes))


def _diff(relative: str, old: bytes | None, new: bytes) -> str:
    before = [] if old is None else old.decode(errors="replace").splitlines(keepends=True)
    after = new.decode(errors="replace").splitlines(keepends=True)
    source = "/dev/null" if old is None else f"a/{relative}"
    lines = difflib.unified_diff(before, after, source, f"b/{relative}")
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)
