"""A program made for CUDA, which uses what transfer_to_npu covers and what it does not."""

import torch

try:
    import flash_attn  # find: missing_module flash_attn
except ImportError:
    flash_attn = None


def never_called():
    import triton  # find: source_import triton

    torch.cuda.nvtx.range_push("x")  # find: source_call torch.cuda.nvtx
    return triton


model = torch.nn.Linear(8, 8).cuda()
scaler = torch.cuda.amp.GradScaler(init_scale=1.0)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    x = torch.randn(4, 8).cuda()  # find: pageable aten::_to_copy
    with torch.cuda.amp.autocast():
        loss = model(x).sum()
    scaler.scale(loss).backward()
    scaler.step(optimizer)  # find: item aten::_local_scalar_dense
    scaler.update()
torch.cuda.cudart()  # find: cuda_call torch.cuda.cudart
