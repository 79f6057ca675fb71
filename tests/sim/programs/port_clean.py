"""A training program in which nothing is to be found."""

import torch
from torch import nn

data = [torch.randn(8, 16).pin_memory() for _ in range(3)]
make = nn.utils.skip_init  # with random numbers, what is made on the device differs from what is made on a CPU
net = nn.Sequential(make(nn.Linear, 16, 32, device="npu"), nn.GELU(), make(nn.Linear, 32, 4, device="npu"))
for parameter in net.parameters():
    nn.init.constant_(parameter, 0.01)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for batch in data:
    x = batch.to("npu", non_blocking=True)
    loss = net(x).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
