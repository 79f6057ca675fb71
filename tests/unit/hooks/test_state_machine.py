"""2,000 random steps of hooks of all mechanisms on four threads; see state_machine.py."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def test_state_machine():
    program = Path(__file__).with_name("state_machine.py")
    result = subprocess.run(
        [sys.executable, str(program), os.environ.get("OPHOOK_STATE_STEPS", "2000")],
        capture_output=True, text=True, timeout=600, check=False,
        env={**os.environ, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"},
    )  # fmt: skip
    assert result.returncode == 0, result.stderr[-5000:]
