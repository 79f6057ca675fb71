"""The commands of docs/first-operator.md, in order, and the Llama example on both devices."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_the_first_operator(tmp_path: Path) -> None:
    blocks = re.findall(r"```bash\n(.*?)```", (ROOT / "docs" / "first-operator.md").read_text(), re.DOTALL)
    assert len(blocks) == 6
    # Nothing is installed into the environment that runs the tests: the last step takes the package from its folder.
    script = "set -euo pipefail\n" + "".join(blocks).replace(
        "pip install --no-deps --no-build-isolation -e npu_scaled_add", 'export PYTHONPATH="$PWD/npu_scaled_add"'
    )
    assert "PYTHONPATH" in script
    # As in a user's shell: nothing of the simulator that these tests run on.
    environment = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("OPHOOK_SIM", "ASCEND", "TORCH_DEVICE", "LD_LIBRARY"))
    }
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    result = subprocess.run(
        ["bash", "-c", script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=500,
        env={**environment, "PATH": path},
    )
    assert result.returncode == 0, result.stdout + result.stderr[-3000:]
    assert result.stdout.rstrip().endswith("tensor([4., 4., 4.], device='npu:0')")


OLDER = {
    "--device cpu --backend inductor": "it asks triton for an active driver when Inductor is first used",
    "--device npu --backend torchair": "torchair makes a MatMul of more than two dimensions (its issue 481)",
}


@pytest.mark.parametrize(
    "options",
    ["--device cpu", "--device npu", "--device npu --backend aot_eager", "--device npu --backend npugraph_ex"]
    + [
        pytest.param(
            options, marks=[pytest.mark.torch_npu("2.13", why), *([pytest.mark.slow] if "inductor" in options else [])]
        )
        for options, why in OLDER.items()
    ],
)
def test_the_llama_example(run_python, options: str) -> None:
    """The story: ten steps of training with the losses of the original, on every route."""
    result = run_python(str(ROOT / "examples" / "custom_ops" / "llama.py"), *options.split())
    assert result.returncode == 0, result.stdout + result.stderr[-2000:]
    assert "replaced 5 LlamaRMSNorm" in result.stdout and "replaced 2 LlamaMLP" in result.stdout
    assert len(re.findall(r"^step ", result.stdout, re.MULTILINE)) == 10
