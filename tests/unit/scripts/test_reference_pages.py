"""The pages on names and commands are what docstrings and help texts say, and no public name is without a docstring."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from ophook_npu import observe

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("reference_pages", ROOT / "scripts/reference_pages.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_public_name_has_a_docstring(script: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    assert script.undocumented() == []
    monkeypatch.setattr(observe.Stats, "report", lambda self: "")
    monkeypatch.setattr(observe.Site, "__doc__", "Site(op: str)")
    assert script.undocumented() == ["ophook_npu.observe.Site", "observe.Stats.report"]


@pytest.mark.parametrize("page", ["reference", "commands"])
def test_the_page_is_what_the_script_writes(script: ModuleType, page: str) -> None:
    text = getattr(script, page)()
    assert len(text) > 20_000 and (ROOT / f"docs/{page}.md").read_text("utf-8") == text, (
        "run scripts/reference_pages.py"
    )
    assert str(ROOT) not in text and sys.prefix not in text


def test_a_docstring_becomes_a_page(script: ModuleType) -> None:
    text = "First, as in docs/choosing.md\nand :func:`~a.b.hook`.\n\n"
    text += "Args:\n    one, two: what ``x`` is;\n        more, *.py.\n\nLast."
    assert script.rendered(text) == (
        "First, as in [choosing.md](choosing.md) and `hook`.\n\n*Arguments*\n\n"
        "- `one`, `two`: what `x` is; more, \\*.py.\n\nLast."
    )
