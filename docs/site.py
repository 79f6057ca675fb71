"""Hooks of mkdocs: the README is the first page, and links that leave docs/ go to the repository, if it has an address.

OPHOOK_PROJECT_URL names it, as for setup.py; without it such links become plain text.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import tempfile
from pathlib import Path, PurePosixPath
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
URL = os.environ.get("OPHOOK_PROJECT_URL", "").rstrip("/")
_LINK = re.compile(r"(?<!!)\[([^\]]*)\]\((?!https?:|#)([^)\s#]+)(#[^)\s]*)?\)")
_PAGES = {"index.md": "README.md", "index.zh.md": "README.zh.md"}


def on_config(config: Any) -> Any:
    """The pages as the site has them: a copy of docs/ and of the README, with links that work there."""
    pages = Path(tempfile.mkdtemp(prefix="ophook-site-"))
    atexit.register(shutil.rmtree, pages, ignore_errors=True)
    shutil.copytree(ROOT / "docs" / "images", pages / "images")
    for page in (ROOT / "docs").glob("*.md"):
        text = _within(page.read_text(encoding="utf-8"), PurePosixPath("docs"))
        (pages / page.name).write_text(text, encoding="utf-8")
    for name, source in _PAGES.items():
        text = _within((ROOT / source).read_text(encoding="utf-8"), PurePosixPath())
        (pages / name).write_text(text, encoding="utf-8")
    config["docs_dir"] = str(pages)
    return config


def _within(text: str, folder: PurePosixPath) -> str:
    """Links from a page in ``folder`` of the repository as links from one in docs/."""

    def link(found: re.Match[str]) -> str:
        parts: list[str] = []
        for part in (folder / found[2]).parts:
            if part == "..":
                parts.pop()
            else:
                parts.append(part)
        path, anchor = "/".join(parts), found[3] or ""
        if path in _PAGES.values():
            return f"[{found[1]}](index.md)"
        if path.startswith("docs/") and path.endswith(".md"):
            return f"[{found[1]}]({path.removeprefix('docs/').replace('.zh.md', '.md')}{anchor})"
        return f"[{found[1]}]({URL}/blob/main/{path}{anchor})" if URL else found[1]

    return _LINK.sub(link, text.replace("](docs/images/", "](images/"))
