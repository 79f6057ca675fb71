"""scripts/fresh_clone.sh: what reaches the commands that it runs in a clone, and what it says of them."""

from __future__ import annotations

import os
import re
import subprocess
import urllib.request
from pathlib import Path

ROOT = Path(__file__).parents[3]


def run(*options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = ["bash", str(ROOT / "scripts" / "fresh_clone.sh"), *options]
    environ = os.environ | environment
    return subprocess.run(command, capture_output=True, text=True, env=environ, timeout=100)


def test_a_command_gets_nothing_but_a_new_home_and_the_index(tmp_path: Path) -> None:
    wheel, into = tmp_path / "torch-9.9.9+cpu-py3-none-any.whl", tmp_path / "new"
    wheel.write_bytes(b"a wheel")
    told = 'env; pwd; python3 -c "import os, urllib.request as r; print(r.build_opener(r.ProxyHandler({})).open("'
    told += "\"os.environ['OPHOOK_TORCH_INDEX'] + 'torch/').read().decode())\""
    done = run("--torch", str(wheel), "--into", str(into), "--", "bash", "-c", told, OPHOOK_SIM="x", PIP_INDEX_URL="y")
    log = (into / "1.log").read_text()
    assert done.returncode == 0, done.stdout + done.stderr
    assert "exit status 0 after" in done.stdout and f"{into / 'clone'}\n" in log and wheel.name in log
    assert f"HOME={into / 'home'}\n" in log and "PIP_CONFIG_FILE=/dev/null\n" in log
    assert "OPHOOK_SIM=" not in log and "PIP_INDEX_URL" not in log
    address = re.search(r"^OPHOOK_TORCH_INDEX=(http://127\.0\.0\.1:\d+/)$", log, re.M)
    assert address
    try:
        urllib.request.build_opener(urllib.request.ProxyHandler({})).open(address[1], timeout=5)
    except OSError:
        return
    raise AssertionError("the index is still served after the script has ended")


def test_a_failure_is_told_with_its_last_lines(tmp_path: Path) -> None:
    done = run("--into", str(tmp_path / "new"), "--", "bash", "-c", "echo '== 1 failed =='; echo the last; exit 3")
    assert done.returncode == 1 and "exit status 3 after" in done.stdout
    assert "    1 failed\n" in done.stdout and done.stdout.endswith("the last\n")


def test_a_folder_that_is_there_is_left_alone(tmp_path: Path) -> None:
    done = run("--into", str(tmp_path), "--", "true")
    assert done.returncode == 2 and "is there already" in done.stderr and not list(tmp_path.iterdir())
    assert run("--torch", str(tmp_path / "no.whl")).returncode == 2
