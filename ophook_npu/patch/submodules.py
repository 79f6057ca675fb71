"""The other repositories that a torch_npu tree is made of: there, and at the commit that the tree pins."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

from ophook_npu.patch.finding import TreeCheck

# Upstream's build does without these.
_OPTIONAL = ("googletest", "torch-mlir", "Tensorpipe")
_TORCHAIR = Path("third_party") / "torchair" / "torchair"


def check_submodules(tree: Path, *, others: bool = False) -> list[TreeCheck]:
    """Findings about the submodules of ``tree`` and those of torchair in it; ``others``: another commit is wanted."""
    if not (tree / ".gitmodules").is_file():
        return [TreeCheck("submodules", False, ".gitmodules is missing", "check that the tree is complete")]
    # The first code generation moves acl_src's headers here and deletes acl_src.
    moved = (tree / "third_party" / "acl" / "inc" / "acl" / "acl.h").is_file()
    paths = _paths(tree)
    needed = [path for path in paths if _name(path) not in _OPTIONAL and not ("acl_src" in path and moved)]
    missing = [path for path in needed if _empty(tree / path)]
    todo = (
        f"git -C {shlex.quote(str(tree))} submodule update --init --recursive -- {' '.join(missing)}" if missing else ""
    )
    found = [TreeCheck("submodules", not missing, f"missing: {', '.join(missing)}" if missing else "all there", todo)]
    present = [path for path in paths if not _empty(tree / path)]
    found += [_commits(tree, present, others=others)]
    if not _empty(tree / _TORCHAIR):
        found.append(_torchair(tree / _TORCHAIR))
    for path in paths:
        if _name(path) == "Tensorpipe" and path not in present:
            found.append(TreeCheck("RPC", True, "left out: Tensorpipe is absent (torch.distributed.rpc on the NPU)"))
    return found


def _paths(tree: Path) -> list[str]:
    text = (tree / ".gitmodules").read_text(encoding="utf-8")
    return re.findall(r"^\s*path\s*=\s*(.+?)\s*$", text, re.MULTILINE)


def _name(path: str) -> str:
    return path.rsplit("/", 1)[-1]


def _empty(folder: Path) -> bool:
    return not folder.is_dir() or not any(entry.name != ".git" for entry in folder.iterdir())


def _git(folder: Path, *arguments: str) -> str:
    """What git prints, empty where it fails or is absent."""
    try:
        done = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, text=True)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _commits(tree: Path, paths: list[str], *, others: bool) -> TreeCheck:
    """Only submodules that are clones can be asked; in a source archive the files are what they are."""
    wrong, asked = [], 0
    for path in paths:
        if not (tree / path / ".git").exists():
            continue
        pinned = _git(tree, "rev-parse", "--verify", "--quiet", f"HEAD:{path}")
        here = _git(tree / path, "rev-parse", "HEAD")
        if not pinned or not here:
            continue
        asked += 1
        if pinned != here:
            wrong.append((path, here, pinned))
    if not wrong:
        return TreeCheck("commits", True, f"{asked} of {len(paths)} submodules are clones, at the pinned commits")
    text = "; ".join(f"{path} is at {here[:10]}, the tree pins {pinned[:10]}" for path, here, pinned in wrong)
    if others:
        return TreeCheck("commits", True, text)
    names = " ".join(path for path, _, _ in wrong)
    return TreeCheck(
        "commits",
        False,
        text,
        f"git -C {shlex.quote(str(tree))} submodule update -- {names}, or pass --allow-dirty to build with it",
    )


def _torchair(torchair: Path) -> TreeCheck:
    """torchair's build updates its own submodules in the middle; those that are there need no network then."""
    if not (torchair / ".gitmodules").is_file():
        return TreeCheck("torchair", True, "has no submodules")
    missing = [path for path in _paths(torchair) if _empty(torchair / path)]
    if missing:
        return TreeCheck(
            "torchair",
            False,
            f"without {', '.join(missing)}, which its build would download midway",
            f"git -C {shlex.quote(str(torchair))} submodule update --init --recursive",
        )
    return TreeCheck("torchair", True, "its own submodules are there")
