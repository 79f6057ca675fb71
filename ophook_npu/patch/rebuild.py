"""Keep what was compiled when the code is generated anew, for one operator more or less.

Upstream's code generation writes several files at every run, also where nothing changed, and an operator adds a line to
headers that all thousand units read. make judges by time alone and would compile all of them again. Here the times are
put back where that is safe:

- a file has its old content;
- a header differs only in declarations of names that it did not have, or that it lost. They cannot change a unit that
  does not say the name; what says it gets a new time. A header that says it in a declaration of its own and nowhere
  else does not: what is compiled from it says the name elsewhere.

    python -m ophook_npu.patch.rebuild run TREE COMMAND…      the command generates code; both rules
    python -m ophook_npu.patch.rebuild remember TREE STATE    before a command that generates code and compiles
    python -m ophook_npu.patch.rebuild same STATE             between the two; the first rule
"""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import re
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ophook_npu.errors import OphookError
from ophook_npu.patch.command import start
from ophook_npu.plural import counted

# Where the code generation of torch_npu and of op-plugin writes.
_FOLDERS = (Path("torch_npu/csrc"), Path("third_party/op-plugin/op_plugin"))
_HEADERS = (".h", ".hpp")
_SOURCES = (".cpp", ".cc", *_HEADERS)
# One declaration of a function on one line, with its result; a default value may be {}.
_DECLARATION = re.compile(r"^\s*[\w:<>,&*\s]+?\b(\w+)\((?:[^{}]|\{\})*\)\s*;\s*$")
# Lines of that form which are something else: statements, and members that change a class's table.
_OTHER = re.compile(r"^\s*(return|throw|delete|new|goto|virtual|using|typedef|friend|extern)\b")


@dataclass(frozen=True)
class Before:
    """One file before the code generation; ``text`` for headers only."""

    mtime: int  # ns
    digest: str
    text: str | None = None


@dataclass
class Settled:
    """What became of the files that were written."""

    same: list[Path] = field(default_factory=list)  # old content, old time
    kept: list[Path] = field(default_factory=list)  # headers with other declarations, old time
    touched: list[Path] = field(default_factory=list)  # files that say one of the names, new time
    stale: list[Path] = field(default_factory=list)  # changed; what reads them is compiled again
    names: set[str] = field(default_factory=set)


def _files(tree: Path) -> Iterator[Path]:
    for folder in _FOLDERS:
        for path in sorted((tree / folder).rglob("*")):
            if path.suffix in _SOURCES and path.is_file() and not path.is_symlink():
                yield path


def remember(tree: Path) -> dict[Path, Before]:
    """Every source and header in the folders that the code generation writes to."""
    found = {}
    for path in _files(tree):
        content = path.read_bytes()
        text = content.decode(errors="surrogateescape") if path.suffix in _HEADERS else None
        found[path] = Before(path.stat().st_mtime_ns, hashlib.sha256(content).hexdigest(), text)
    return found


def declared(old: str, new: str) -> set[str] | None:
    """The names whose declarations alone make the difference, each in one of the texts and absent from the other.

    None: the texts differ in something else.
    """
    before, after = old.splitlines(), new.splitlines()
    removed: list[str] = []
    added: list[str] = []
    for kind, i1, i2, j1, j2 in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind != "equal":
            removed += before[i1:i2]
            added += after[j1:j2]
    names: set[str] = set()
    for lines, other in ((removed, new), (added, old)):
        for line in filter(str.strip, lines):
            name = _name(line)
            if name is None or re.search(rf"\b{name}\b", other):
                return None
            names.add(name)
    return names


def _name(line: str) -> str | None:
    """What a line declares, where it does nothing else."""
    match = None if _OTHER.match(line) else _DECLARATION.match(line)
    return None if match is None else match[1]


def _says(path: Path, text: str, names: re.Pattern[str]) -> bool:
    """Whether a file says one of the names, for a header otherwise than by declaring it."""
    lines = (line for line in text.splitlines() if names.search(line))
    if path.suffix not in _HEADERS:
        return any(True for _ in lines)
    return any((name := _name(line)) is None or not names.fullmatch(name) for line in lines)


def settle(tree: Path, before: dict[Path, Before]) -> Settled:
    """Put back the times of files that are the same or differ only in declarations; see the module."""
    settled = Settled()
    for path, was in before.items():
        if not path.is_file() or path.stat().st_mtime_ns == was.mtime:
            continue
        content = path.read_bytes()
        if hashlib.sha256(content).hexdigest() == was.digest:
            settled.same.append(path)
            continue
        names = None if was.text is None else declared(was.text, content.decode(errors="surrogateescape"))
        if names is None:
            settled.stale.append(path)
        else:
            settled.kept.append(path)
            settled.names |= names
    if settled.names:
        said = re.compile(r"\b(?:" + "|".join(map(re.escape, sorted(settled.names))) + r")\b")
        for path in _files(tree):
            if path not in settled.kept and _says(path, path.read_text(errors="surrogateescape"), said):
                settled.touched.append(path)
    # These first: a run that is killed between the two compiles too much, never too little.
    now = time.time_ns()
    for path in settled.touched:
        os.utime(path, ns=(now, now))
    for path in [*settled.same, *settled.kept]:
        if path not in settled.touched:
            os.utime(path, ns=(path.stat().st_atime_ns, before[path].mtime))
    return settled


def save(tree: Path, state: Path) -> None:
    """What ``same`` needs, as JSON."""
    found = {str(path): [was.mtime, was.digest] for path, was in remember(tree).items()}
    part = state.with_name(state.name + ".part")
    part.write_text(json.dumps(found), encoding="utf-8")
    part.replace(state)


def same(state: Path) -> list[Path]:
    """Put back the times of files that have the content that they had at ``save``. Returns them."""
    kept = []
    for name, (mtime, digest) in json.loads(state.read_text(encoding="utf-8")).items():
        path = Path(name)
        changed = path.is_file() and path.stat().st_mtime_ns != mtime
        if changed and hashlib.sha256(path.read_bytes()).hexdigest() == digest:
            os.utime(path, ns=(path.stat().st_atime_ns, mtime))
            kept.append(path)
    return kept


def run(tree: Path, command: list[str]) -> int:
    """Run the command, which generates code in ``tree``, then settle. Returns the command's exit status."""
    before = remember(tree)
    status = subprocess.run(command).returncode
    if status != 0:
        return status
    settled = settle(tree, before)
    if settled.names:
        print(f"declarations that came or went: {', '.join(sorted(settled.names))}")
        print(
            f"unchanged otherwise: {counted(len(settled.kept), 'header')}; "
            f"{counted(len(settled.touched), 'file')} with these names"
        )
    for path in settled.stale:
        print(f"changed: {path.relative_to(tree)}")
    return 0


def main(arguments: list[str]) -> int:
    match arguments:
        case ["run", tree, *command] if command:
            return run(Path(tree), command)
        case ["remember", tree, state]:
            save(Path(tree), Path(state))
        case ["same", state]:
            print(f"the same as before: {counted(len(same(Path(state))), 'generated file')}")
        case _:
            raise OphookError("rebuild", "wrong use", allowed="run TREE COMMAND…, remember TREE STATE, same STATE")
    return 0


if __name__ == "__main__":
    start(main)
