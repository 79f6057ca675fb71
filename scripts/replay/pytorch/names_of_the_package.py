"""The package has the names that older programs use."""

from taken import lay

lay("torch_npu/_init/core/_exports.py")
import torch_npu  # noqa: E402

assert torch_npu.ParallelStore is torch_npu._C._distributed_c10d.ParallelStore
