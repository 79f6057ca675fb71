"""What only a graph compiler, a captured graph or a list minds; what is to be found stands after the line."""

import torch
import torch_npu
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.utils.skip_init(nn.Linear, 8, 8, device="npu")
        nn.init.constant_(self.inner.weight, 0.1)
        nn.init.constant_(self.inner.bias, 0.1)

    def forward(self, x):  # find: recompile Net
        y = self.inner(x)
        y = y * torch.tensor(2.0).npu()  # find: pageable aten::_to_copy; capture aten::_to_copy
        if y.sum() > 1e9:  # find: item aten::_local_scalar_dense; capture aten::_local_scalar_dense; break Net
            y = y * 2
        return y.kthvalue(2).values  # find: no_converter aten::kthvalue


torch_npu.npu.config.allow_internal_format = True
net = Net()
with torch.no_grad():
    for rows in (3, 4, 5, 4):
        x = torch.ones(rows, 8).pin_memory().to("npu", non_blocking=True)
        net(x)
weights = torch_npu.npu_format_cast(net.inner.weight, 29)  # find: format npu::npu_format_cast
assert torch_npu.get_npu_format(weights) == 29
torch_npu.npu.config.allow_internal_format = False
torch.ones(3).pin_memory().npu()  # find: blocking aten::_to_copy
places = torch.arange(4, device="npu")
torch.zeros(4, device="npu").scatter_add(0, places, torch.ones(4, device="npu"))  # find: unordered aten::scatter_add
x[:4].gather(0, places.view(4, 1))  # find: absent aten::gather
nn.functional.dropout(x, 0.5)  # find: random aten::native_dropout
nn.functional.conv2d(x.view(1, 1, 4, 8), torch.ones(1, 1, 3, 3, device="npu"))  # find: hf32 aten::convolution
