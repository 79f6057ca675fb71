"""The package says which data types it does not take."""

from taken import lay

lay("torch_npu/_init/registry/backend.py")
import torch  # noqa: E402
import torch_npu  # noqa: E402

assert torch.qint8 in torch_npu.unsupported_dtype
