"""The tutorial is true: its code prints what the page shows; both languages and the notebook hold the same."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest
import torch

from ophook_npu import hooks

DOCS = Path(__file__).parents[3] / "docs"


@pytest.fixture(scope="module")
def execute():
    spec = importlib.util.spec_from_file_location("execute_pages", DOCS / "execute.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(autouse=True)
def _tables_as_found():
    yield
    hooks.purge()  # kernels of hooks stay in the tables while another thread lives, and torch.export starts one


@pytest.fixture(scope="module")
def page():
    return (DOCS / "dispatcher.md").read_text()


def test_outputs_are_what_the_code_prints(execute, page):
    true = execute.executed(page)
    assert len(execute.BLOCK.findall(true)) >= 18
    if torch.__version__.split("+")[0] == "2.13.0":
        # Other versions register kernels on other lines; there the code must still run.
        assert true == page


def test_the_page_on_observers_is_true(execute):
    page = (DOCS / "observing.md").read_text()
    assert len(execute.BLOCK.findall(page)) >= 8
    assert execute.executed(page) == page


def test_a_false_output_is_noticed(execute):
    lie = "```python\nprint(1 + 1)\n```\n\n```text\n3\n```\n"
    assert execute.executed(lie) == lie.replace("3", "2")


def test_both_languages_hold_the_same_code_and_outputs(execute, page):
    chinese = (DOCS / "dispatcher.zh.md").read_text()
    assert execute.BLOCK.findall(chinese) == execute.BLOCK.findall(page)


def test_notebook_is_the_page(execute, page):
    text = (DOCS / "dispatcher.ipynb").read_text()
    assert text == execute.notebook(page)
    cells = json.loads(text)["cells"]
    assert sum(cell["cell_type"] == "code" for cell in cells) == len(execute.BLOCK.findall(page))
