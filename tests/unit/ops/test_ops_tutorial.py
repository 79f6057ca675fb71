"""The tutorial and the examples are true: code prints what the pages show, in both languages, and pictures are as
drawn."""

import importlib.util
import runpy
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[3]
DOCS, EXAMPLES = ROOT / "docs", ROOT / "examples" / "custom_ops"


@pytest.fixture(scope="module")
def execute() -> ModuleType:
    spec = importlib.util.spec_from_file_location("execute_pages", DOCS / "execute.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_tutorial_prints_what_it_shows(execute: ModuleType) -> None:
    page = (DOCS / "custom-operators.md").read_text()
    assert len(execute.BLOCK.findall(page)) == 8
    assert execute.executed(page) == page


@pytest.mark.parametrize("name", ["custom-operators", "first-operator"])
def test_both_languages_hold_the_same_code(name: str) -> None:
    def code(path: Path) -> list[str]:
        return path.read_text().split("```")[1::2]

    assert code(DOCS / f"{name}.md") == code(DOCS / f"{name}.zh.md")


def test_the_pictures_are_what_the_example_draws(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from PIL import Image, ImageChops

    monkeypatch.setattr(sys, "argv", ["crop.py", str(tmp_path)])
    runpy.run_path(str(EXAMPLES / "crop.py"), run_name="__main__")
    assert capsys.readouterr().out == "part [3, 40, 40]; gradient inside the box [1.0], sum 4800\n"
    for name in ("crop_picture", "crop_part", "crop_gradient"):
        drawn, shown = (Image.open(folder / f"{name}.png") for folder in (tmp_path, DOCS / "images"))
        assert ImageChops.difference(drawn, shown).getbbox() is None
    gradient = Image.open(tmp_path / "crop_gradient.png")  # 256 pixels for 64: the box is 40 to 200
    assert gradient.getpixel((41, 41)) == (255, 255, 255) and gradient.getpixel((39, 41)) == (0, 0, 0)
    assert gradient.getpixel((199, 199)) == (255, 255, 255) and gradient.getpixel((199, 200)) == (0, 0, 0)


def test_an_operator_of_ones_own(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(EXAMPLES / "own_operator.py"), run_name="__main__")
    printed = capsys.readouterr().out
    assert "tensor([-0.0100,  3.0000])" in printed and " fail " not in printed
    assert "BiasLeakyReluKernelNpuApi.cpp" in printed
