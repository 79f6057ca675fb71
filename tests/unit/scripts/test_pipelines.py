"""What other projects' pipelines use: the GitHub action, its problem matcher, the GitLab component, the container."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from ophook_npu import __version__
from ophook_npu.kernel.findings import Mistake
from ophook_npu.sim import variables

ROOT = Path(__file__).resolve().parents[3]
ACTION = ROOT / "setup-ophook-npu"


def read(path: str) -> list[Any]:
    return list(yaml.safe_load_all((ROOT / path).read_text(encoding="utf-8")))


def scripts(tree: Any) -> list[str]:
    """Every `run`, `script` and the like below."""
    if isinstance(tree, list):
        return [found for one in tree for found in scripts(one)]
    if not isinstance(tree, dict):
        return []
    found = [text for name, text in tree.items() if name == "run" and isinstance(text, str)]
    for name in ("before_script", "script", "after_script"):
        found += [line for line in tree.get(name) or () if isinstance(line, str)]
    return found + scripts(list(tree.values()))


@pytest.mark.parametrize(
    ("path", "least"),
    [
        ("setup-ophook-npu/action.yml", 2),
        ("templates/ophook-npu.yml", 7),
        (".github/workflows/test.yml", 3),
        (".github/workflows/release.yml", 8),
        (".github/workflows/nightly.yml", 2),
        (".github/workflows/weekly.yml", 3),
    ],
)
def test_every_script_of_a_pipeline_is_shell_and_names_files_that_are_there(path: str, least: int) -> None:
    found = scripts(read(path))
    assert len(found) >= least, found
    for text in found:
        plain = re.sub(r"\$\{\{.*?\}\}|\$\[\[.*?\]\]", "value", text)
        checked = subprocess.run(["bash", "-n", "-c", plain], capture_output=True, text=True)
        assert checked.returncode == 0, (text, checked.stderr)
        named = re.findall(r"(?:\.ci|scripts)/[\w.]+", text)
        assert [name for name in named if not (ROOT / name).exists()] == []


def test_the_action_tells_the_steps_that_follow(tmp_path: Path) -> None:
    (action,) = read("setup-ophook-npu/action.yml")
    assert sorted(action["inputs"]) == ["devices", "soc", "torch_npu"]
    for page in ("docs/ci.md", "docs/ci.zh.md"):
        blocks = re.findall(r"```yaml\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)
        steps = [step for block in map(yaml.safe_load, blocks) if isinstance(block, list) for step in block]
        (ours,) = (step for step in steps if step.get("uses") == "REPOSITORY/setup-ophook-npu@TAG")
        assert ours["with"].keys() == action["inputs"].keys()
    last, told = action["runs"]["steps"][-1], tmp_path / "env"
    assert last["env"] == {"SOC": "${{ inputs.soc }}", "DEVICES": "${{ inputs.devices }}"}
    environ = {"GITHUB_ENV": str(told), "GITHUB_ACTION_PATH": str(ACTION), "SOC": "Ascend950PR", "DEVICES": "2"}
    done = subprocess.run(["bash", "-c", last["run"]], env={**os.environ, **environ}, capture_output=True, text=True)
    assert told.read_text() == "OPHOOK_SIM_SOC=Ascend950PR\nOPHOOK_SIM_DEVICES=2\n", done.stderr
    command, path = done.stdout.strip().rsplit("::", 1)
    assert command == "::add-matcher" and json.loads(Path(path).read_text())["problemMatcher"]
    known = "".join(path.read_text(encoding="utf-8") for path in Path(variables.__file__).parent.glob("*.py"))
    assert all(f'"{name}"' in known for name in ("OPHOOK_SIM_SOC", "OPHOOK_SIM_DEVICES"))


@pytest.mark.parametrize(("severity", "owner"), [("error", 0), ("strict", 1), ("note", 1)])
def test_the_problem_matcher_reads_what_kernel_check_prints(severity: str, owner: int) -> None:
    printed = str(Mistake("alignment", severity, "DataCopy", "op_kernel/add.cpp", 41, "a length of 280", todo="pad"))
    found = []
    for number, matcher in enumerate(json.loads((ACTION / "matcher.json").read_text())["problemMatcher"]):
        (pattern,) = matcher["pattern"]
        found += [
            (number, pattern, match) for match in map(re.compile(pattern["regexp"]).match, printed.split("\n")) if match
        ]
    ((number, pattern, match),) = found
    assert number == owner
    assert [match[pattern[name]] for name in ("file", "line", "code")] == ["op_kernel/add.cpp", "41", "alignment"]
    assert match[pattern["message"]] == "DataCopy: a length of 280 [alignment]"


def test_a_release_that_does_not_exist_is_refused() -> None:
    command = ["bash", str(ROOT / "scripts" / "install_pair.sh"), "python3", "latest"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2 and "torch_npu latest; allowed: a release such as 2.13.0" in done.stderr


def test_the_changelog_has_the_version() -> None:
    assert re.search(rf"^## \[{re.escape(__version__)}\]", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M)


def test_the_pythons_that_are_promised_are_those_that_ci_has() -> None:
    (test,) = read(".github/workflows/test.yml")
    promised = re.findall(r"Programming Language :: Python :: (3\.\d+)", (ROOT / "pyproject.toml").read_text())
    assert test["jobs"]["python"]["strategy"]["matrix"]["python"] == promised


def test_the_site_has_every_page() -> None:
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    named = set(re.findall(r"[\w-]+\.md\b", text.split("\nnav:\n")[1]))
    pages = {page.name for page in (ROOT / "docs").glob("*.md") if not page.name.endswith(".zh.md")}
    assert named == pages | {"index.md"}


STAND_INS = {
    "debootstrap": 'for last; do :; done; mkdir -p "$4"',
    "mount": "",
    "umount": "",
    # The command runs in the root's folder of this machine; compilers and installers only say that they were asked.
    "chroot": 'export ROOT=$1; shift; for last; do :; done; printf "%s\\n" "$last" >> "$ROOT/asked"',
}


@pytest.mark.parametrize(
    ("option", "asked"),
    [
        ((), ["apt-get update", "install_pair.sh python3", "ophook-npu run -- train.py"]),
        (("--dev",), ["sudo apt-get update", "scripts/setup_venv.sh .venv dev", "train.py"]),
    ],
)
def test_the_steps_of_the_containers_can_be_run_without_docker(
    option: tuple[str, ...], asked: list[str], tmp_path: Path
) -> None:
    for name, body in STAND_INS.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{body}\n")
        (tmp_path / name).chmod(0o755)
    root = tmp_path / "root"
    command = [sys.executable, ROOT / "scripts/container_steps.py", root, *option, "--", "train.py"]
    paths = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    ended = subprocess.run(command, env=paths, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    lines = (root / "asked").read_text().splitlines()
    assert len(lines) == 3, lines
    for line, part in zip(lines, asked, strict=True):
        assert part in line
    copied = root / ("workspaces/ophook-npu" if option else "opt/ophook-npu")
    assert (copied / "pyproject.toml").read_bytes() == (ROOT / "pyproject.toml").read_bytes()
    assert not (copied / ".venv").exists()


def test_an_instruction_that_cannot_be_tried_is_named(tmp_path: Path) -> None:
    code = "import container_steps; container_steps.steps('FROM a\\nHEALTHCHECK NONE')"
    ended = subprocess.run([sys.executable, "-c", code], cwd=ROOT / "scripts", capture_output=True, text=True)
    assert ended.returncode == 1
    assert ended.stderr == "container_steps: HEALTHCHECK is not an instruction that this script runs\n"
