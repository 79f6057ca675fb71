"""What a capture forbids: each call with its code, in each mode of the capture and of the thread, by CANN's checks."""

from pathlib import Path

PROGRAM = Path(__file__).parent / "programs" / "captures.py"


def test_each_call_answers_in_a_capture_as_the_device_does(run_python) -> None:
    done = run_python(str(PROGRAM))
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    seen, wrong = done.stdout.split()[:2]
    assert (int(seen) >= 400, wrong) == (True, "0"), done.stdout
