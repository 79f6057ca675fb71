"""A tensor that was saved is freed when the last name of it goes, without the garbage collector."""

import gc
import io

from taken import lay

lay("torch_npu/utils/serialization.py")
import torch  # noqa: E402
import torch_npu  # noqa: E402, F401

gc.collect()
gc.disable()
before = torch.npu.memory_allocated()
x = torch.ones(1 << 20, device="npu")
torch.save({"x": x}, io.BytesIO())
del x
held = torch.npu.memory_allocated() - before
assert held == 0, f"{held} bytes of a saved tensor are held"
