"""Run the Python blocks of a Markdown page in order and put what they print into the ``text`` block after each.

python docs/execute.py docs/dispatcher.md docs/dispatcher.zh.md     rewrites the outputs, and page.ipynb for page.md
python docs/execute.py --check docs/dispatcher.md                   only tells whether they are true
"""

from __future__ import annotations

import contextlib
import difflib
import io
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

BLOCK = re.compile(r"```python\n(?P<code>.*?)```\n(?:\n```text\n(?P<output>.*?)```\n)?", re.DOTALL)


@contextlib.contextmanager
def chdir(folder: str) -> Iterator[None]:
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def executed(text: str) -> str:
    """``text`` with true outputs. Blocks share one namespace; an exception ends the run."""
    namespace: dict[str, Any] = {"__name__": "__main__"}

    def run(block: re.Match[str]) -> str:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(block["code"], "<page>", "exec"), namespace)
        output = "\n".join(line.rstrip() for line in printed.getvalue().rstrip().splitlines())
        shown = f"\n```text\n{output}\n```\n" if output else ""
        return f"```python\n{block['code']}```\n{shown}"

    # Blocks may write files; they must not land in the reader's directory.
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        return BLOCK.sub(run, text)


def notebook(text: str) -> str:
    """The page as a Jupyter notebook with its outputs."""
    cells: list[dict[str, Any]] = []

    def prose(part: str) -> None:
        if part.strip():
            cells.append({"cell_type": "markdown", "metadata": {}, "source": part.strip().splitlines(keepends=True)})

    end = 0
    for block in BLOCK.finditer(text):
        prose(text[end : block.start()])
        end = block.end()
        printed = (block["output"] or "").splitlines(keepends=True)
        outputs = [{"name": "stdout", "output_type": "stream", "text": printed}] if printed else []
        code = block["code"].rstrip().splitlines(keepends=True)
        cells.append({"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": outputs, "source": code})
    prose(text[end:])
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    kernel = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    return json.dumps({"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}, indent=1) + "\n"


def main(arguments: list[str]) -> int:
    check = "--check" in arguments
    wrong = 0
    for path in (Path(a).resolve() for a in arguments if a != "--check"):
        text = path.read_text()
        true = executed(text)
        if check:
            lines = list(
                difflib.unified_diff(text.splitlines(), true.splitlines(), str(path), "what it prints", lineterm="")
            )
            print("\n".join(lines) or f"{path.name}: true")
            wrong += bool(lines)
        else:
            path.write_text(true)
            if path.with_suffix(".ipynb").exists():
                path.with_suffix(".ipynb").write_text(notebook(true))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
