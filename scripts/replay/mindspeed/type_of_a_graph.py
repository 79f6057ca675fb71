"""A feed-forward network of int8 with a given output type is converted into GE's graph."""

from types import SimpleNamespace

import torch
import torch_npu  # noqa: F401
import torchair  # noqa: F401
from taken import take
from torchair.ge_concrete_graph import ge_graph

library = torch.library.Library("mindspeed", "DEF")
library.define("npu_ffn(Tensor x, Tensor weight1, Tensor weight2, str activation) -> Tensor")
converters = []
taken = take(
    "mindspeed/op_builder/ffn_builder.py",
    "FFNOpBuilder.register_op_ir",
    AS_LIBRARY=library,
    register_fx_node_ge_converter=lambda operator: converters.append,
    FFN=lambda *tensors, output_dtype, **more: output_dtype,
)
taken.register_op_ir(None)
x = SimpleNamespace(dtype=ge_graph.DataType.DT_INT8)
assert converters[0](x, None, None, "relu", output_dtype=torch.bfloat16) == 1
