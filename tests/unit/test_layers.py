"""Who imports whom: no circle of modules, and no import against the order in docs/architecture.md; one name, one class.

An import inside a function counts as one at the top: it only hides a circle. What a table of names resolves on first
use (``ophook_npu/__init__.py``) is no import.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = "ophook_npu"
Imports = dict[str, set[str]]


def imports(package: Path) -> Imports:
    """Module -> the modules of the same package that it imports, wherever in its source."""
    paths = {_name(package, path): path for path in package.rglob("*.py")}
    return {name: {found for found in _imported(name, path, paths) if found != name} for name, path in paths.items()}


def _name(package: Path, path: Path) -> str:
    return ".".join(path.relative_to(package.parent).with_suffix("").parts).removesuffix(".__init__")


def _imported(name: str, path: Path, known: dict[str, Path]) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            asked = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
            base = above[: len(above) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            asked = [f"{module}.{alias.name}" for alias in node.names]
        else:
            continue
        for each in asked:
            while each and each not in known:
                each = each.rpartition(".")[0]
            if each:
                yield each


def part(module: str) -> str:
    """Folder or file at the top of the package."""
    return module.split(".")[1] if "." in module else module


def layers(page: str) -> dict[str, int]:
    """Part -> its line in the table, 1 at the top."""
    section = page.split("## Who imports whom")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (\d+) \| (.*) \|$", section, re.M)
    return {name: int(number) for number, names in rows for name in re.findall(r"`(\w+)`", names)}


def upward(found: Imports, order: dict[str, int]) -> list[str]:
    return [
        f"{module} imports {other}"
        for module, others in sorted(found.items())
        for other in sorted(others)
        if part(other) != part(module) and order.get(part(other), 99) <= order.get(part(module), 0)
    ]


def circle(found: Imports) -> list[str]:
    try:
        TopologicalSorter(found).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


@pytest.fixture(scope="module")
def ours() -> Imports:
    found = imports(ROOT / PACKAGE)
    found[PACKAGE].clear()  # imported when they are asked for; in its source for type checkers only
    return found


def test_no_module_imports_itself_round_a_corner(ours: Imports) -> None:
    assert len(ours) > 100 and circle(ours) == []


def test_imports_go_down_the_layers_of_the_architecture(ours: Imports) -> None:
    order = layers((ROOT / "docs" / "architecture.md").read_text(encoding="utf-8"))
    parts = {part(module) for module in ours} - {PACKAGE, "__main__"}
    assert set(order) == parts, "the table in docs/architecture.md lists each folder and file of the package once"
    below = {module: {other for other in others if other != PACKAGE} for module, others in ours.items()}
    del below[f"{PACKAGE}.__main__"]
    assert upward(below, order) == []


def test_the_checks_can_fail(tmp_path: Path) -> None:
    package = tmp_path / "p"
    for name, text in {
        "__init__": "",
        "low": "def f():\n    from p.high import inner\n",
        "high/__init__": "from .inner import g\n",
        "high/inner": "import p.low\n",
    }.items():
        (package / f"{name}.py").parent.mkdir(parents=True, exist_ok=True)
        (package / f"{name}.py").write_text(text)
    found = imports(package)
    assert found["p.low"] == {"p.high.inner"} and found["p.high"] == {"p.high.inner"}
    assert set(circle(found)) == {"p.low", "p.high.inner"}
    table = "## Who imports whom\n| 1 | `high` |\n| 2 | `low` |\n## Next\n| 3 | `other` |\n"
    assert layers(table) == {"high": 1, "low": 2}
    assert upward(found, layers(table)) == ["p.low imports p.high.inner"]


def classes(package: Path) -> dict[str, list[str]]:
    """Class name -> the modules that define one of it."""
    found: dict[str, list[str]] = {}
    for path in sorted(package.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, []).append(_name(package, path))
    return found


def aliases(package: Path) -> dict[str, list[str]]:
    """Name that a module gives to a type (``Row = dict[str, Any]``), without a leading _ -> the modules that do."""
    found: dict[str, list[str]] = {}
    for path in sorted(package.rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Subscript | ast.BinOp):
                for name in (target.id.lstrip("_") for target in node.targets if isinstance(target, ast.Name)):
                    if name[:1].isupper() and not name.isupper():
                        found.setdefault(name, []).append(_name(package, path))
    return found


def test_a_class_name_stands_for_one_thing() -> None:
    found = classes(ROOT / PACKAGE)
    assert len(found) > 150 and {name: modules for name, modules in found.items() if len(modules) > 1} == {}
    of_types = aliases(ROOT / PACKAGE)
    assert "KernelFunction" in of_types and sorted(of_types.keys() & found.keys()) == []


def test_public_names_of_renamed_classes_are_there() -> None:
    from ophook_npu import dispatch, kernel, patch

    names = [patch.Finding, patch.Operator, kernel.Finding, kernel.Report, dispatch.Trace]
    assert [name.__name__ for name in names] == ["TreeCheck", "PatchOperator", "Mistake", "KernelReport", "KernelTrace"]


def portable(source: str) -> str:
    """C++ without what only x86-64 compiles: the branches under a condition that names it."""
    kept, depths = [], []  # for each open #if: whether it is for x86-64
    for line in source.splitlines():
        if re.match(r"\s*#\s*if", line):
            depths.append("__x86_64__" in line)
        elif re.match(r"\s*#\s*endif", line):
            depths.pop()
        elif depths and re.match(r"\s*#\s*(else|elif)", line):
            depths[-1] = False
        elif not any(depths):
            kept.append(line)
    return "\n".join(kept)


def test_what_only_an_x86_processor_has_stands_under_a_condition() -> None:
    """An aarch64 build is not part of CI, and these names stopped it once."""
    names = r"__builtin_cpu_\w+|immintrin|\b_mm\d*_\w+|__attribute__\(\(target|#pragma GCC target|\bREG_(?:ERR|RIP)\b"
    only = re.compile(names)
    sources = [path for path in (ROOT / PACKAGE / "csrc").rglob("*") if path.suffix in {".cpp", ".h", ".inc"}]
    assert len(sources) > 500
    included = {"vectors.inc", "loops.inc"}  # by kernels/loops.cpp, under its conditions
    found = {
        (path.name, name)
        for path in sources
        if path.name not in included
        for name in only.findall(portable(path.read_text(encoding="utf-8")))
    }
    assert found == set()
    assert only.findall(portable("#if defined(__x86_64__)\nREG_ERR\n#else\n_mm_pause()\n#endif")) == ["_mm_pause"]
