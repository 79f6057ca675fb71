"""The first two steps of a fused Adam: its operator takes the powers of the betas from before a step."""

import torch
import torch_npu
from taken import take

taken = take("op_builder/npu/fused_adam.py", "NPUFusedAdam", torch_npu=torch_npu)
torch.manual_seed(0)
ours, grads = torch.randn(16), [torch.randn(16) for _ in range(2)]
theirs = torch.nn.Parameter(ours.clone())
expected = torch.optim.AdamW([theirs], lr=0.1, weight_decay=0.01, eps=1e-8)
weight, first, second = ours.npu(), *(torch.zeros(16, device="npu") for _ in range(2))
for step, grad in enumerate(grads, 1):
    theirs.grad = grad
    expected.step()
    lists = [[grad.npu()], [weight], [first], [second]]
    taken.NPUFusedAdam.multi_tensor_adam(0, None, lists, 0.1, 0.9, 0.999, 1e-8, step, True, True, 0.01)
off = (weight.cpu() - theirs.detach()).abs().max().item()
assert off < 1e-3, f"the weights are {off:.3f} off after two steps"
