"""A model written out in operators that torch_npu has as one each; what is to be found stands after the line."""

import torch
from torch import nn

torch.manual_seed(0)
HEADS = 2


class Norm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(width) + 0.5)

    def forward(self, x):
        wide = x.to(torch.float32)
        wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)
        return self.weight * wide.to(x.dtype)  # find: fused_tried RMSNorm


class Net(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.first, self.last = Norm(width), nn.RMSNorm(width, eps=1e-5)
        self.q, self.k, self.v = (nn.Linear(width, width, bias=False) for _ in range(3))
        self.gate, self.up, self.down = nn.Linear(width, 48), nn.Linear(width, 48), nn.Linear(48, width)
        self.register_buffer("mask", torch.full((6, 6), torch.finfo(torch.float32).min).triu(1)[None, None])
        angles = torch.arange(6).outer(torch.tensor([1.0, 0.3, 0.1, 0.03, 1.0, 0.3, 0.1, 0.03]).repeat(2))
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def turned(self, x):
        half = x.shape[-1] // 2
        other = torch.cat((-x[..., half:], x[..., :half]), dim=-1)
        return x * self.cos + other * self.sin  # find: fused_tried rotary embedding

    def other(self, x):
        return (
            x * self.cos + torch.cat((-x[..., 3:], x[..., :3]), dim=-1) * self.sin
        )  # not at the half: no rotary embedding

    def forward(self, x):
        y = self.first(x)
        q, k, v = (p(y).unflatten(-1, (HEADS, -1)).transpose(1, 2) for p in (self.q, self.k, self.v))
        q, k = self.turned(q), self.turned(self.other(k))
        weights = torch.matmul(q, k.transpose(2, 3)) * q.shape[-1] ** -0.5 + self.mask
        weights = torch.softmax(weights, dim=-1, dtype=torch.float32).to(q.dtype)
        weights = nn.functional.dropout(weights, p=0.0, training=self.training)
        x = x + torch.matmul(weights, v).transpose(1, 2).flatten(2)  # find: fused_tried attention
        x = x + self.down(nn.functional.silu(self.gate(x)) * self.up(x))  # find: fused_tried SwiGLU
        return self.last(x)  # find: fused_tried RMSNorm


net = Net().npu()
adam = torch.optim.AdamW(net.parameters(), lr=1e-3)  # find: optimizer_tried AdamW
second = torch.optim.Adam(net.parameters(), lr=1e-3, maximize=True)  # find: optimizer_failed Adam
data = torch.randn(2, 6, 32).npu()
net(data).square().mean().backward()
adam.step()
