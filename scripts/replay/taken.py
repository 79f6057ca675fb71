"""What a replayed program takes of a project's file: the named functions and classes, as they stand there.

The file's imports are taken where they can be had; any other name is missing until the program gives it. So a program
needs no installation of the project, and nothing of the project is in this tree.
"""

from __future__ import annotations

import ast
import logging
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

FOLDER = Path(sys.argv[1]) if len(sys.argv) > 1 else Path()


def take(path: str, *names: str, **given: Any) -> SimpleNamespace:
    """``take("a/b.py", "function", "Class.method", logger=…)``: with ``function`` and ``method``."""
    tree = ast.parse((FOLDER / path).read_text(encoding="utf-8"))
    scope: dict[str, Any] = {"__name__": Path(path).stem, "logger": logging.getLogger("replay")}
    imports = [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
    for node in imports:
        try:
            run([node], scope, path)
        except ImportError:
            continue
    scope |= given
    found = SimpleNamespace()
    for name in names:
        parts = name.split(".")
        bodies: list[Any] = [tree]
        for part in parts:
            bodies = [node for body in bodies for node in body.body if getattr(node, "name", None) == part]
        if not bodies:
            raise SystemExit(f"replay: {path} has no {name}")
        run([bodies[0]], scope, path)
        setattr(found, parts[-1], scope[parts[-1]])
    return found


def run(nodes: list[Any], scope: dict[str, Any], path: str) -> None:
    module = ast.parse("from __future__ import annotations")  # types of the project need not be there
    module.body += nodes
    exec(compile(module, str(FOLDER / path), "exec"), scope)  # the project's code is what is tried
