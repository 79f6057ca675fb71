"""A training program with one case of each kind; what is to be found stands after the line: code and operator."""

import torch
from torch import nn
from torch.utils.data import DataLoader

torch.manual_seed(0)


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return 3 * gradient * x.double().square()  # find: narrowed aten::_to_copy


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(16, 32)
        self.last = nn.Linear(32, 4)

    def forward(self, x):
        y = torch.relu(self.inner(x))
        if y.sum().item() > 1e9:  # find: item aten::_local_scalar_dense
            y = y * 2
        values = torch.linalg.eigvalsh(y.t() @ y)  # find: fallback aten::_linalg_eigh.eigenvalues
        return Cube.apply(self.last(values.tile(y.shape[0], 1)))


net = Net().npu()
optimizer = torch.optim.AdamW(net.parameters())
for _ in range(2):
    x = torch.randn(8, 16).npu()  # find: pageable aten::_to_copy
    loss = net(x).square().mean()
    torch.linalg.solve(torch.eye(4).npu(), torch.eye(4, device="npu"))  # find: fallback aten::_linalg_solve_ex.result
    x.nonzero()  # find: shape aten::nonzero
    x[x > 0]  # find: shape aten::index.Tensor
    x.double()  # find: narrowed aten::_to_copy
    (x > 0).to(torch.int16).relu()  # find: refused_here aten::relu
    x.t().contiguous()  # find: contiguous aten::clone
    x.cpu()  # find: to_host aten::_to_copy
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    torch.npu.synchronize()  # find: waits_as_written torch.npu.synchronize
    torch.accelerator.synchronize()  # find: waits_as_written torch.accelerator.synchronize
    wide = torch.ones(4, 4, dtype=torch.float64, device="npu")
    wide + torch.eye(4, dtype=torch.float64, device="npu")  # find: refused_here aten::eye
    wide.double() @ wide  # find: refused_here aten::mm
    torch.ones(4, 4, device="npu").double() @ wide  # find: narrowed aten::_to_copy; mixed aten::mm
    list(DataLoader([1.0], num_workers=1))  # find: waits_as_written torch.npu.synchronize
    print(loss)  # find: print print(tensor)
