"""Apply operators to an op-plugin tree, say what state it is in, and take them out again byte for byte."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ophook_npu.errors import OphookError
from ophook_npu.patch import journal, yamltext
from ophook_npu.patch.journal import PatchRecord
from ophook_npu.patch.layout import Layout, find_layout
from ophook_npu.patch.plan import Applied, Reverted, View, plan, unplan, without
from ophook_npu.patch.spec import PatchOperator, name_of


@dataclass(frozen=True)
class Status:
    """state: patched; partly (interrupted, or a piece is gone); not; foreign (changed or put in by others)."""

    name: str
    state: str
    details: tuple[str, ...] = field(default_factory=tuple)


def apply(
    op_plugin: Path,
    operators: Sequence[PatchOperator],
    torch_version: str,
    *,
    autograd: bool = False,
    dry_run: bool = False,
    allow_dirty: bool = False,
) -> list[Applied]:
    """Puts every operator into the tree, or nothing of it where one is refused.

    A second run changes nothing; a run after an interrupted one finishes it. ``autograd`` also writes the derivative.
    ``dry_run`` only computes the diffs. ``allow_dirty`` accepts files with uncommitted changes of others.
    Raises OphookError for everything that upstream would answer with silence or a late failure.
    """
    layout = find_layout(op_plugin, torch_version)
    with journal.lock(layout.root):
        records = journal.load(layout.root)
        view = View(layout.root)
        results = []
        for operator in operators:
            results.append(plan(layout, operator, autograd, records, view))
        notes = () if allow_dirty else _refuse_dirty(layout.root, view, records)
        results = [Applied(r.name, r.changed, r.diff, (*r.notes, *notes)) for r in results]
        if dry_run or not any(result.changed for result in results):
            return results
        for step in view.steps():
            journal.writable(step.path)
        # The record goes first: whatever happens from here on, apply can finish and revert can undo.
        journal.writable(journal.record_path(layout.root))
        journal.save(layout.root, records)
        for folder in {folder for record in records.values() for folder in record.folders}:
            (layout.root / folder).mkdir(exist_ok=True)
        for step in view.steps():
            journal.sweep(step.path)
            journal.write(step.path, step.new)
        for operator in operators:
            records[operator.name].state = "applied"
        journal.save(layout.root, records)
        return results


def revert(op_plugin: Path, names: Sequence[str] = ()) -> list[Reverted]:
    """Takes out the named operators, or all that were applied; others stay. Without a record there is nothing to do.

    Raises OphookError, before anything is written, where a piece was changed by others since.
    """
    root = op_plugin.resolve()
    if not root.is_dir():
        raise OphookError("patch", f"no folder {op_plugin}", todo="name op-plugin's folder with --op-plugin")
    with journal.lock(root):
        records = journal.load(root)
        view = View(root)
        results = []
        doomed: list[Path] = []
        folders: list[str] = []
        for name in names or list(records):
            record = records.get(name)
            if record is None:
                results.append(Reverted(name, False, True, ("nothing recorded for it",)))
                continue
            others = [one for one in records.values() if one is not record]
            results.append(unplan(root, name, record, others, view, doomed))
            folders += record.folders
            record.state = "reverting"
        if not any(result.changed for result in results):
            return results
        for path in [*(step.path for step in view.steps()), *doomed]:
            journal.writable(path)
        journal.save(root, records)
        for step in view.steps():
            journal.sweep(step.path)
            journal.write(step.path, step.new)
        for path in doomed:
            journal.sweep(path)
            path.unlink(missing_ok=True)
        for folder in folders:
            if (root / folder).is_dir() and not any((root / folder).iterdir()):
                (root / folder).rmdir()
        for result in results:
            records.pop(result.name, None)
        journal.save(root, records)
        return results


def status(op_plugin: Path, operators: Sequence[PatchOperator], torch_version: str) -> list[Status]:
    """The state of every recorded operator and of every one given. Changes nothing."""
    layout = find_layout(op_plugin, torch_version)
    records = journal.load(layout.root)
    found = [_state(layout.root, name, record) for name, record in records.items()]
    for operator in operators:
        if operator.name in records:
            continue
        present = _present(layout, operator)
        if present:
            found.append(Status(operator.name, "foreign", (*present, "not recorded: put in by other means")))
        else:
            found.append(Status(operator.name, "not"))
    return found


def _state(root: Path, name: str, record: PatchRecord) -> Status:
    missing: list[str] = []
    foreign: list[str] = []
    for insertion in record.insertions:
        path = root / insertion.path
        content = path.read_bytes() if path.is_file() else b""
        if content.count(insertion.text.encode()) != 1:
            line = yamltext.line_of(content, insertion.signature)
            if line is None:
                missing.append(f"{insertion.path}: the entry is gone")
            else:
                foreign.append(f"{insertion.path}, line {line}: the entry was changed")
    for added in record.added:
        path = root / added.path
        if not path.is_file():
            missing.append(f"{added.path}: is gone")
        elif journal.digest(path.read_bytes()) != added.sha256:
            foreign.append(f"{added.path}: was changed")
    if foreign:
        return Status(name, "foreign", (*foreign, *missing))
    if missing or record.state != "applied":
        interrupted = () if record.state == "applied" else (f"a run was interrupted while {record.state}",)
        return Status(name, "partly", (*interrupted, *missing))
    return Status(name, "patched", (f"for torch {record.torch_version}",))


def _present(layout: Layout, operator: PatchOperator) -> list[str]:
    present = []
    content = layout.yaml.read_bytes()
    for _, signature in yamltext.signatures(yamltext.parse(content, layout.yaml)):
        if name_of(signature) == operator.name:
            present.append(f"{layout.relative(layout.yaml)}, line {yamltext.line_of(content, signature)}: {signature}")
    present += [
        layout.relative(layout.kernels / k.name) for k in operator.kernels if (layout.kernels / k.name).exists()
    ]
    return present


def _refuse_dirty(root: Path, view: View, records: dict[str, PatchRecord]) -> tuple[str, ...]:
    """Files about to be changed must be as committed, apart from what is recorded. Trees without git pass."""
    if not (root / ".git").exists():
        return ()
    for path in view.paths():
        content = path.read_bytes() if path.is_file() else None
        if content is None:
            continue
        relative = path.relative_to(root).as_posix()
        if any(added.path == relative for record in records.values() for added in record.added):
            continue
        content = without(content, relative, list(records.values()))
        committed = subprocess.run(["git", "-C", str(root), "show", f"HEAD:{relative}"], capture_output=True)
        if b"dubious ownership" in committed.stderr:
            return ("git refuses this tree (dubious ownership): whether it is clean was not checked",)
        # git may keep other line ends in the commit than in the folder (core.autocrlf)
        if committed.returncode != 0 or committed.stdout.replace(b"\r\n", b"\n") != content.replace(b"\r\n", b"\n"):
            raise OphookError(
                "patch",
                f"dirty submodule: {root / relative} has changes that are not committed",
                todo=f"git -C '{root}' checkout -- '{relative}', or pass --allow-dirty to keep them",
            )
    return ()
