"""A function is compiled into a captured graph with options."""

import torch
import torch_npu  # noqa: F401
from taken import take
from torch._dynamo.backends.common import aot_autograd

taken = take("torch_npu/npu/npugraph_ex/__init__.py", "compile_fx")
backend = aot_autograd(fw_compiler=taken.compile_fx({"inplace_pass": False}))
compiled = torch.compile(lambda x: x * 2, backend=backend, dynamic=False)
assert compiled(torch.ones(4, device="npu")).cpu().tolist() == [2.0] * 4
