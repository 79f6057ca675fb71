"""The shipped declarations, and what looks through them, in an installation without the extras of pyproject.toml."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys
for name in ("PIL", "safetensors", "pyarrow", "hypothesis", "expecttest", "matplotlib", "transformers"):
    sys.modules[name] = None  # an import of it fails
import torch
from ophook_npu.ops import declaration, shipped
print(len([declaration(name) for name in shipped()]))
from ophook_npu.ops.pillow_ops import crop_cpu
crop_cpu(torch.zeros(1, 2, 2), [0, 0, 1, 1])
"""


def test_declarations_need_no_extra_and_what_runs_names_it() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120)
    assert int(done.stdout) > 3, done.stderr
    assert "Pillow is not installed" in done.stderr and done.returncode == 1
