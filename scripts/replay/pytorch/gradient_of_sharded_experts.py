"""Tokens of experts are sharded over a mesh of devices: the gradient of their permutation is, too."""

from taken import lay

lay("torch_npu/distributed/tensor/_moe_ops.py")
import torch  # noqa: E402
import torch_npu  # noqa: E402
from torch.distributed.tensor import DTensor, Replicate  # noqa: E402

torch.distributed.init_process_group("hccl", store=torch.distributed.HashStore(), rank=0, world_size=1)
mesh = torch.distributed.device_mesh.init_device_mesh("npu", (1,))
tokens, indices = torch.randn(4, 16), torch.tensor([[0], [1], [0], [1]])
there = tokens.bfloat16().npu().requires_grad_()
out, order = torch_npu.npu_moe_token_permute(there, indices.npu())
given = [DTensor.from_local(one, mesh, [Replicate()]) for one in (torch.ones_like(out), order)]
back = torch.ops.npu.npu_moe_token_permute_grad_v2(*given, 4, torch.bfloat16, 1)
assert back.to_local().cpu().eq(1).all()
torch.distributed.destroy_process_group()
