"""An operator registered by torch.library in place of aten::add, in a model nobody edits, eager and compiled, with
an account."""

import torch

import ophook_npu


@torch.library.custom_op("example07::add_custom", mutates_args=())
def add_custom(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(x.numpy() + y.numpy())


@add_custom.register_fake
def _(x, y):
    return torch.empty_like(x + y)


class Residual(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = torch.nn.Linear(8, 8), torch.nn.Linear(8, 8)

    def forward(self, x):
        y = torch.relu(self.a(x)) + x
        y = y + self.b(y)
        y = torch.add(y, x, alpha=2)
        return y + 1


torch.manual_seed(0)
model, x = Residual(), torch.randn(4, 8)
want = model(x)

swapped = ophook_npu.swap(model, "aten::add", add_custom)
torch.testing.assert_close(swapped(x), want)
swapped(x).sum().backward()
print(swapped.report())

for backend in ("aot_eager", "inductor"):
    compiled = torch.compile(model, backend=backend, fullgraph=True)
    with ophook_npu.swap("aten::add", add_custom) as swap:
        got = compiled(x)
    torch.testing.assert_close(got, want)
    print(f"\n{backend}: {swap.report()}")
