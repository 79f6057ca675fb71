"""Scripts can be called by their paths; every shell script is strict, and clean for shellcheck where that is there."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
SCRIPTS = sorted(
    [
        ROOT / "run_op_plugin.sh",
        ROOT / ".ci" / "run",
        *(ROOT / "scripts").glob("*.sh"),
        *(ROOT / "op_plugin_patch").rglob("*.sh"),
    ]
)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_script_is_strict_and_parses(script: Path) -> None:
    text = script.read_text()
    sourced = "Sourced, not run." in text
    assert sourced or "set -euo pipefail" in text
    assert "sudo" not in text
    assert subprocess.run(["bash", "-n", str(script)]).returncode == 0
    if shutil.which("shellcheck"):
        result = subprocess.run(
            ["shellcheck", "--severity=warning", "-x", "-P", "SCRIPTDIR", str(script)],
            cwd=ROOT,
            capture_output=True,
            text=True,
        )
        assert result.returncode == 0, result.stdout


def test_what_names_its_interpreter_can_be_called() -> None:
    begins = [path for path in (ROOT / "scripts").iterdir() if path.is_file() and path.read_bytes()[:2] == b"#!"]
    assert len(begins) > 40 and [path.name for path in begins if not os.access(path, os.X_OK)] == []
