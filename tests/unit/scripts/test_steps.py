"""scripts/lib.sh: a step says how long is left on a terminal, and in a log only what it was and how long it took."""

import os
import subprocess
from pathlib import Path

LIB = Path(__file__).parents[3] / "scripts" / "lib.sh"
PROGRAM = f"""
set -euo pipefail
source {LIB}
begin_steps "$1" 1
slow() {{
    echo "note: from elsewhere"
    echo "  simulated Ascend: 37% compiled, about 179 s left"
    sleep 2.5
    return "$1"
}}
step "build the simulated Ascend" "try again" slow "$2"
"""


def on_terminal(logs: Path, status: int) -> tuple[str, int]:
    terminal, end = os.openpty()
    process = subprocess.Popen(["bash", "-c", PROGRAM, "-", str(logs), str(status)], stdout=end, stderr=end)
    os.close(end)
    text = b""
    while True:
        try:
            read = os.read(terminal, 4096)
        except OSError:  # the other end is closed
            break
        if not read:
            break
        text += read
    os.close(terminal)
    return text.decode(), process.wait()


def test_a_terminal_shows_the_time_left_and_then_the_time_taken(tmp_path: Path) -> None:
    text, status = on_terminal(tmp_path, 0)
    assert status == 0
    *before, last = text.rstrip().split("\r\033[K")
    assert any("simulated Ascend: 37% compiled, about 179 s left" in line for line in before)
    assert "left" not in last and last.startswith("[1/1] build the simulated Ascend") and " s\r\n" in last


def test_a_step_that_fails_says_so_on_a_line_of_its_own(tmp_path: Path) -> None:
    text, status = on_terminal(tmp_path, 3)
    assert status == 1
    assert "FAILED after" in text.split("\r\033[K")[-1] and "try again" in text


def test_a_log_has_one_line_for_a_step_and_one_for_its_note(tmp_path: Path) -> None:
    command = ["bash", "-c", PROGRAM, "-", str(tmp_path), "0"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert (
        text.count("\n") == 2
        and text.endswith(" s\n      from elsewhere\n")
        and "left" not in text
        and "\033" not in text
    )
