"""Compiled code sees an event of npu with its own type."""

import os

os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
import torch
import torch_npu  # noqa: F401
from taken import take
from torch._dynamo.variables.streams import EventVariable

if "python_type" in EventVariable.__dict__:  # not in the torch of that fix
    del EventVariable.python_type
taken = take("torch_npu/utils/_dynamo.py")
for name in ("patch_event_variable_python_type", "patch_stream_event_variable_python_type"):
    getattr(taken, name, lambda: None)()
value = object.__new__(EventVariable)
value.value = torch.npu.Event()
found = value.python_type()
assert found is torch.npu.Event, f"an event of npu is a {found}"
