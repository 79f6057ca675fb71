"""MindSpore: a small net trains, function by function (PyNative), as a compiled graph, or on two devices by msrun.

python mindspore_train.py OUT DEVICE [py|graph|two]; DEVICE is Ascend or CPU. OUT gets losses and norms of the weights.
"""

import json
import os
import sys

import mindspore as ms
import numpy as np
from mindspore import nn, ops
from mindspore.communication import get_rank, init

out, device, how = sys.argv[1], sys.argv[2], sys.argv[3]
ms.set_device(device)
ms.set_seed(0)
rank, ranks = 0, 1
if how == "two":
    init()
    rank, ranks = get_rank(), 2


class Net(nn.Cell):
    """Convolution, norm, pooling, and two layers."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, pad_mode="same", has_bias=True)
        self.norm = nn.BatchNorm2d(8)
        self.pool = nn.MaxPool2d(2, 2)
        self.flat = nn.Flatten()
        self.first = nn.Dense(8 * 4 * 4, 32)
        self.layer = nn.LayerNorm((32,))
        self.last = nn.Dense(32, 4)

    def construct(self, x):
        x = self.pool(ops.relu(self.norm(self.conv(x))))
        return self.last(ops.tanh(self.layer(self.first(self.flat(x)))))


net = Net()
for number, parameter in enumerate(net.trainable_params()):
    chance = np.random.RandomState(number).randn(*parameter.shape).astype(np.float32)
    parameter.set_data(ms.Tensor(chance * 0.1 + (1 if "gamma" in parameter.name else 0)))
loss_of, optimizer = nn.CrossEntropyLoss(), nn.Momentum(net.trainable_params(), 0.05, 0.9)


def forward(x, y):
    return loss_of(net(x), y)


gradients_of = ms.value_and_grad(forward, None, optimizer.parameters)
sum_of = ops.AllReduce() if how == "two" else None


def step(x, y):
    loss, gradients = gradients_of(x, y)
    if sum_of is not None:
        gradients = tuple(sum_of(one) / ranks for one in gradients)
    optimizer(gradients)
    return loss


if how == "graph":
    step = ms.jit(step)
data = np.random.RandomState(100)
losses = []
for _ in range(8):
    images, labels = data.randn(16, 3, 8, 8).astype(np.float32), data.randint(0, 4, 16).astype(np.int32)
    if how == "two":  # both ranks see one half each, of samples that are there twice: norms see the same on both
        images, labels = images[:8], labels[:8]
    losses.append(float(step(ms.Tensor(images), ms.Tensor(labels)).asnumpy()))
norms = {one.name: float(np.linalg.norm(one.asnumpy())) for one in net.trainable_params()}
if rank == 0:
    with open(out, "w") as file:
        json.dump({"losses": losses, "norms": norms, "rank": os.environ.get("RANK_ID", "0")}, file)
