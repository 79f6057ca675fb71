"""A program that was written for another device still compiles its scripts."""

from taken import lay

lay("torch_npu/contrib/transfer_to_npu.py")
import torch  # noqa: E402
import torch_npu  # noqa: E402
from torch_npu._init.patches.monkey_patches import _apply_patches  # noqa: E402

torch_npu._apply_patches = _apply_patches  # its name then
from torch_npu.contrib import transfer_to_npu  # noqa: E402, F401


def more(x: torch.Tensor) -> torch.Tensor:
    return x + 1


script = torch.jit.script(more)
assert isinstance(script, torch.jit.ScriptFunction), f"a script is a {type(script).__name__}"
assert script(torch.ones(2, device="cuda")).cpu().tolist() == [2, 2]
