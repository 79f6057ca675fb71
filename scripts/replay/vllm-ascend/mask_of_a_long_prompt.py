"""A model that takes 4,096 tokens asks for the mask of a token behind the 2,048th."""

from types import SimpleNamespace

import torch
import torch_npu
from taken import take

tools = take("vllm_ascend/utils.py", "nd_to_nz_spec")
taken = take(
    "vllm_ascend/_310p/attention/attention_mask.py",
    "AttentionMaskBuilder310",
    ACL_FORMAT_FRACTAL_NZ=29,
    nd_to_nz_spec=tools.nd_to_nz_spec,
    nd_to_nz_2d=None,
)
Builder = taken.AttentionMaskBuilder310
device = torch.device("npu")
builder = Builder(device, 4096) if Builder.__init__.__code__.co_argcount == 3 else Builder(device)
told = SimpleNamespace(query_start_loc=torch.tensor([0, 2]), seq_lens=torch.tensor([2500]))
mask = torch_npu.npu_format_cast(builder.get_splitfuse_mask(told, device), 2).cpu()  # (1, columns / 16, tokens, 16)
rows = mask[0].transpose(0, 1).reshape(mask.shape[2], -1)
assert torch.isfinite(rows[0, :2499]).all() and torch.isinf(rows[0, 2499:4096]).all(), "the mask ends before the token"
