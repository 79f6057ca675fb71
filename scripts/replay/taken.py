"""What a replayed program takes of a project's file: the named functions and classes, as they stand there.

The file's imports are taken where they can be had; any other name is missing until the program gives it. So a program
needs no installation of the project, and nothing of the project is in this tree.
"""

from __future__ import annotations

import ast
import logging
import sys
from importlib.machinery import PathFinder, SourceFileLoader
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

FOLDER = Path(sys.argv[1]) if len(sys.argv) > 1 else Path()


def take(path: str, *names: str, **given: Any) -> SimpleNamespace:
    """``take("a/b.py", "function", "Class.method", logger=…)``: with ``function`` and ``method``.

    Without names: with all that the file defines and that can be had from what is given.
    """
    tree = ast.parse((FOLDER / path).read_text(encoding="utf-8"))
    module = ModuleType(f"replayed_{Path(path).stem}")
    sys.modules[module.__name__] = module  # dataclasses look there
    scope = module.__dict__
    scope["logger"] = logging.getLogger("replay")
    imports = [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
    for node in imports:
        try:
            run([node], scope, path)
        except ImportError:
            continue
    scope.update(given)
    if not names:
        for node in tree.body:
            try:
                run([node], scope, path)
            except (ImportError, NameError, AttributeError):
                continue
            scope.update(given)
        return SimpleNamespace(**scope)
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


class lay:
    """``lay("torch_npu/utils/a.py")``, before torch is imported: that module of torch_npu is the project's file."""

    def __init__(self, *paths: str) -> None:
        self.files = {path.removesuffix(".py").removesuffix("/__init__").replace("/", "."): path for path in paths}
        loaded = [name for name in self.files if name in sys.modules]
        if loaded:
            raise SystemExit(f"replay: {loaded[0]} is there already")
        sys.meta_path.insert(0, self)

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        spec = PathFinder.find_spec(name, path) if name in self.files else None
        if spec is not None:  # what the file looks for beside itself is beside the installed one
            spec.loader = SourceFileLoader(name, str(FOLDER / self.files[name]))
        return spec
