"""A training program in which nothing is to be found."""

import torch
from torch import nn

data = [torch.randn(8, 16).pin_memory() for _ in range(3)]
net = nn.Sequential(nn.Linear(16, 32, device="npu"), nn.GELU(), nn.Linear(32, 4, device="npu"))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for batch in data:
    x = batch.to("npu", non_blocking=True)
    loss = net(x).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
