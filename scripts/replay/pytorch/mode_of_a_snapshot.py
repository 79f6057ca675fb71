"""A snapshot of the memory is written to a file that its owner can read."""

import os
import stat
import tempfile

from taken import lay

lay("torch_npu/npu/memory.py")
import torch  # noqa: E402
import torch_npu  # noqa: E402, F401

x = torch.ones(4, device="npu")
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "snapshot.pickle")
    torch.npu.memory._dump_snapshot(path)
    mode = stat.filemode(os.stat(path).st_mode)
assert mode[1] == "r", f"the snapshot's mode is {mode}"
