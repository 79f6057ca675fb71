"""What code generation and build leave in torch_npu's tree, kept in a record so that it can be taken out again.

Upstream's steps write into the tree: hundreds of generated files, changes of tracked ones, modes, folders. Asked of git
before and after each step, the difference is what the step left. Files that others made or changed are not in it, or
differ from what was recorded: they stay, and are named.

    python -m ophook_npu.patch.traces begin TREE
    python -m ophook_npu.patch.traces end TREE [--build]
    python -m ophook_npu.patch.traces restore TREE
    python -m ophook_npu.patch.traces others TREE           what differs from the commits, once all is taken out
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from dataclasses import asdict, dataclass, field
from pathlib import Path

from ophook_npu.errors import OphookError
from ophook_npu.patch.command import start

RECORD = Path("third_party") / "op-plugin.ophook-traces.json"
_OWN = ("op-plugin.ophook-", "op-plugin.ophook")  # this record and the journal of the patch
_STATUS = ["status", "--porcelain", "-z", "--ignored=matching", "--untracked-files=all", "--no-renames"]


@dataclass
class BuildRecord:
    """Paths as ``repository//path``; the repository as seen from the tree, ``.`` for the tree itself."""

    made: dict[str, str] = field(default_factory=dict)  # digest; empty for a folder
    changed: dict[str, str] = field(default_factory=dict)  # tracked files that were as committed; digest
    running: dict[str, str] | None = None  # what git said when the step began

    @staticmethod
    def load(tree: Path) -> BuildRecord:
        path = tree / RECORD
        if not path.is_file():
            return BuildRecord()
        try:
            return BuildRecord(**json.loads(path.read_text(encoding="utf-8")))
        except (ValueError, TypeError) as error:
            raise OphookError(
                "traces", f"{path} is damaged: {error}", todo=f"remove it; git -C {tree} status"
            ) from error

    def save(self, tree: Path) -> None:
        part = (tree / RECORD).with_suffix(".part")
        part.write_text(json.dumps(asdict(self), indent=1), encoding="utf-8")
        part.replace(tree / RECORD)


def _git(folder: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True)
    except OSError:
        return None
    return done.stdout.decode(errors="surrogateescape") if done.returncode == 0 else None


def _repositories(tree: Path) -> list[Path]:
    """The tree and every submodule in it that is a clone."""
    found = [tree] if (tree / ".git").exists() else []
    found += sorted(path.parent for path in (tree / "third_party").rglob(".git"))
    return found


def _status(tree: Path) -> dict[str, str]:
    """What is not as committed: ``repository//path`` → git's two letters."""
    found = {}
    for repository in _repositories(tree):
        said = _git(repository, *_STATUS, "--ignore-submodules=all") or ""
        for entry in filter(None, said.split("\0")):
            code, path = entry[:2], entry[3:]
            if path.rsplit("/", 1)[-1].startswith(_OWN):
                continue
            found[f"{repository.relative_to(tree).as_posix()}//{path}"] = code
    return found


def _path(tree: Path, name: str) -> Path:
    repository, path = name.split("//", 1)
    return tree / repository / path


def _digest(path: Path) -> str:
    """Of content and mode; empty for what is no file."""
    if not path.is_file() or path.is_symlink():
        return ""
    return hashlib.sha256(f"{path.stat().st_mode:o} ".encode() + path.read_bytes()).hexdigest()


def begin(tree: Path) -> None:
    """Before a step. What an earlier step left that was killed is put into the record first."""
    record = BuildRecord.load(tree)
    if record.running is not None:
        _account(tree, record, build=True)
    for known in (record.made, record.changed):
        for name, digest in list(known.items()):
            if _digest(_path(tree, name)) != digest:
                del known[name]  # somebody else's since
    record.running = _status(tree)
    record.save(tree)


def end(tree: Path, *, build: bool = False) -> None:
    """After a step, also one that failed. ``build``: it took hours; what is new may be the user's."""
    record = BuildRecord.load(tree)
    if record.running is not None:
        _account(tree, record, build=build)
        record.running = None
        record.save(tree)


def _account(tree: Path, record: BuildRecord, *, build: bool) -> None:
    before = record.running or {}
    for name, code in _status(tree).items():
        digest = _digest(_path(tree, name))
        known = name in record.made or name in record.changed
        if name in before and not known:
            continue
        if code in ("??", "!!"):
            if known or not build or _of_the_build(name, code):
                record.made[name] = digest
        else:
            record.changed[name] = digest


def _of_the_build(name: str, code: str) -> bool:
    """Hours pass, and a virtual environment of the user's, say, may come to lie in the tree meanwhile."""
    repository, path = name.split("//", 1)
    top = path.split("/", 1)[0]
    if repository != "." or top == "third_party":
        return True
    return code == "!!" and (top in ("build", "dist", "torch_npu", "torchnpugen", "patch") or top.endswith(".egg-info"))


def restore(tree: Path) -> list[str]:
    """Take out what the steps left. Returns what was left in place, with the reason."""
    record = BuildRecord.load(tree)
    if record.running is not None:
        _account(tree, record, build=True)
    left = []
    folders = set()
    for name, digest in record.made.items():
        path = _path(tree, name)
        if path.is_symlink() or (path.is_file() and _digest(path) == digest):
            path.unlink()
        elif path.is_dir() and name.endswith("/") and not (path / ".git").exists():
            shutil.rmtree(path)
        elif path.exists():
            left.append(f"{path.relative_to(tree)}: changed since it was generated")
            continue
        folders.add(path.parent)
    for name, digest in record.changed.items():
        path = _path(tree, name)
        if path.is_file() and _digest(path) != digest:
            left.append(f"{path.relative_to(tree)}: changed since the build changed it")
            continue
        repository, relative = name.split("//", 1)
        if _git(tree / repository, "checkout", "--quiet", "--", relative) is None:
            left.append(f"{path.relative_to(tree)}: git cannot restore it")
    # Deepest first; git does not know of folders, and an empty one was made by what lay in it.
    for folder in sorted(folders, key=lambda one: len(one.parts), reverse=True):
        while folder != tree and folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()
            folder = folder.parent
    (tree / RECORD).unlink(missing_ok=True)
    return left


def main(arguments: list[str]) -> int:
    match arguments:
        case ["begin", tree]:
            begin(Path(tree).resolve())
        case ["end", tree, *option] if option in ([], ["--build"]):
            end(Path(tree).resolve(), build=bool(option))
        case ["restore", tree]:
            folder = Path(tree).resolve()
            if not _repositories(folder):
                print(f"{folder} is not a git clone: what was generated stays")
                return 0
            left = restore(folder)
            for text in left:
                print(f"left in place: {text}")
            return 1 if left else 0
        case ["others", tree]:
            # Code that was generated or built before this route's first run is no trace of it, and looks the same.
            if found := list(_status(Path(tree).resolve())):
                print(f"not as committed, and not this route's: {len(found)}, {found[0].replace('//', '/')} the first")
                print(f"to see them: git -C {tree} status --ignored")
        case _:
            raise OphookError(
                "traces", "wrong use", allowed="begin TREE, end TREE [--build], restore TREE, others TREE"
            )
    return 0


if __name__ == "__main__":
    start(main)
