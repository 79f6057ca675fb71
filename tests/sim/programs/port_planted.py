"""A training program with one case of each kind; what is to be found stands after the line: code and operator."""

import torch
from torch import nn

torch.manual_seed(0)


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
        return self.last(values.tile(y.shape[0], 1))


net = Net().npu()
optimizer = torch.optim.AdamW(net.parameters())
for _ in range(2):
    x = torch.randn(8, 16).npu()  # find: pageable aten::_to_copy
    loss = net(x).square().mean()
    torch.linalg.solve(torch.eye(4).npu(), torch.eye(4, device="npu"))  # find: fallback aten::_linalg_solve_ex.result
    x.nonzero()  # find: shape aten::nonzero
    x[x > 0]  # find: shape aten::index.Tensor
    x.double()  # find: narrowed aten::_to_copy
    (x > 0).to(torch.int16).relu()  # find: refused aten::relu
    x.t().contiguous()  # find: contiguous aten::clone
    x.cpu()  # find: to_host aten::_to_copy
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    torch.npu.synchronize()  # find: waits_as_written torch.npu.synchronize
    print(loss)  # find: print print(tensor)
