"""docs/ci.md: its pipelines are well formed and call what there is, and its two test files do what the page says."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from test_pytest_plugin import run

from ophook_npu import cli

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "ci.md").read_text()
BEFORE, AFTER = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def pipelines() -> list[dict[str, Any]]:
    """Without lists of steps: those are parts of one."""
    read = [yaml.safe_load(text) for text in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)]
    return [pipeline for pipeline in read if isinstance(pipeline, dict)]


def lines() -> Iterator[str]:
    """Every shell line of the page."""
    for pipeline in pipelines():
        for job in pipeline.get("jobs", pipeline).values():
            if isinstance(job, dict):
                yield from (step["run"] for step in job.get("steps", []) if "run" in step)
                yield from job.get("script", [])
    for block in re.findall(r"```bash\n(.*?)```", PAGE, re.DOTALL):
        yield from block.splitlines()
    yield from re.findall(r"^RUN (.*)$", PAGE, re.MULTILINE)


def test_the_pipelines_are_whole() -> None:
    one, two, gitlab = pipelines()
    for pipeline in (one, two):
        for job in pipeline["jobs"].values():
            assert job["runs-on"] and all(len(step.keys() & {"run", "uses"}) == 1 for step in job["steps"])
    assert two["jobs"]["test"]["needs"] in two["jobs"]
    assert {"image", "script", "cache"} <= gitlab["ascend"].keys()


def test_the_commands_are_there() -> None:
    app = typer.Typer()
    cli.register(app)
    commands = [line for line in lines() if line.startswith("ophook-npu ")]
    assert len(commands) >= 7
    for line in commands:
        words = shlex.split(re.sub(r"\s+# .*", "", line))[1:]
        command: Any = typer.main.get_command(app)
        while hasattr(command, "commands"):
            command = command.commands[words.pop(0)]
        known = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
        own = words[: words.index("--")] if "--" in words else words
        assert {word for word in own if word.startswith("-")} <= known, line


def test_the_mock_passes_and_the_simulator_tells(tmp_path: Path) -> None:
    for name, text in (("before", BEFORE), ("after", AFTER)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "test_norm.py").write_text(text)
    before = run(tmp_path / "before", "--npu-device", "sim")
    assert before.returncode == 0 and "1 passed" in before.stdout, before.stdout + before.stderr
    after = run(tmp_path / "after", "--npu-device", "sim")
    assert after.returncode == 1 and "1 failed, 1 passed" in after.stdout, after.stdout + after.stderr
    assert re.search(r"aclnnRmsNorm.*9", after.stdout), after.stdout


@pytest.mark.parametrize("soc", re.findall(r"Ascend910\w+", PAGE))
def test_the_products_are_simulated(soc: str) -> None:
    assert f'"{soc}"' in (ROOT / "ophook_npu" / "csrc" / "core" / "socs.inc").read_text()
