"""The number of cores is limited for a stream that is named."""

import torch
import torch_npu  # noqa: F401
from taken import take

taken = take("torch_npu/npu/npugraph_ex/scope/__init__.py", "limit_core_num")
with taken.limit_core_num(2, 4, stream=torch.npu.current_stream()):
    x = torch.ones(4, device="npu") * 2
assert x.cpu().tolist() == [2.0] * 4
