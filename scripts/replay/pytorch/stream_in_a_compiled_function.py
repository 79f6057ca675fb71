"""Compiled code sees a stream of npu with its own type."""

import os

os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
import torch
from torch._dynamo.variables.streams import StreamVariable

plain = StreamVariable.__dict__.get("python_type")
import torch_npu  # noqa: E402, F401
from taken import take  # noqa: E402

if plain is not None:
    StreamVariable.python_type = plain  # type: ignore[method-assign]
elif "python_type" in StreamVariable.__dict__:
    del StreamVariable.python_type
taken = take("torch_npu/utils/_dynamo.py")
for name in ("patch_event_variable_python_type", "patch_stream_event_variable_python_type"):
    getattr(taken, name, lambda: None)()
value = object.__new__(StreamVariable)
value.value = torch.npu.Stream()
found = value.python_type()
assert found is torch.npu.Stream, f"a stream of npu is a {found}"
