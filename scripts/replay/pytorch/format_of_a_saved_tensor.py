"""A tensor is saved in the older format, as it was asked for."""

import io

from taken import lay

lay("torch_npu/utils/serialization.py")
import torch  # noqa: E402
import torch_npu  # noqa: E402

file = io.BytesIO()
torch_npu.utils.serialization.save(torch.ones(2), file, _use_new_zipfile_serialization=False)
assert file.getvalue()[:2] != b"PK", "it is in the newer format"
