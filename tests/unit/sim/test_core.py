"""The C++ tests of the simulator's core, in their short form, under the sanitizers that this compiler has."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[3] / "scripts" / "test_core.sh"
NO_SUCH_SANITIZER = 77

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("sanitizer", ["thread", "address"])
def test_core_under_a_sanitizer(sanitizer: str) -> None:
    command = [str(SCRIPT), "--short", "--sanitizer", sanitizer]  # begins with a deliberate fault that must be found
    result = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if result.returncode == NO_SUCH_SANITIZER:
        pytest.skip(result.stderr.strip().splitlines()[-1])
    assert result.returncode == 0, result.stdout + result.stderr
    assert " tests of the core, 0 failed" in result.stdout
    assert result.stdout.endswith(
        "strict_memory_is_filled_when_it_is_made_and_when_it_is_freed\n1 tests of the core, 0 failed\n"
    )
