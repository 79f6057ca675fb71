"""A model changed without its source: every ReLU a leaky one, every Linear below a path bypassed."""

import torch

import ophook_npu

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(), torch.nn.Linear(4, 4), torch.nn.ReLU())
x = torch.randn(5, 4)
plain = model(x)

with ophook_npu.hook("aten::relu", replace=lambda x: torch.where(x > 0, x, 0.1 * x)):
    leaky = model(x)
print("ReLU is leaky:      ", bool((leaky < 0).any()), "| before:", bool((plain < 0).any()))

with ophook_npu.hook((model, "2"), replace=lambda x: x.clone()) as hook:
    bypassed = model(x)
torch.testing.assert_close(bypassed, torch.relu(model[1](model[0](x))))
print("layer 2 is bypassed:", hook.hits == 1)
print("model is unchanged: ", torch.equal(model(x), plain))
