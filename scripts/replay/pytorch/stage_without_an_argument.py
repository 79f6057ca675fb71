"""A stage of a pipeline has an argument that is always None: it goes from the stage and from its call."""

from types import SimpleNamespace

import torch
import torch_npu  # noqa: F401
from taken import take

taken = take("torch_npu/distributed/pipelining/_pipelining_patch.py", "_prune_none_root_placeholders")


class Root(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stage = torch.fx.symbolic_trace(lambda x, nothing, y: x + y)

    def forward(self, x: torch.Tensor, nothing: None, y: torch.Tensor) -> torch.Tensor:
        return self.stage(x, nothing, y)


class Tracer(torch.fx.Tracer):
    def is_leaf_module(self, module: torch.nn.Module, name: str) -> bool:
        return True


root = Root()
for node, value in zip(root.stage.graph.nodes, (torch.ones(2), None, torch.ones(2)), strict=False):
    node.meta["val"] = value
split = torch.fx.GraphModule(root, Tracer().trace(root))
pipe = SimpleNamespace(num_stages=1, split_gm=split, get_stage_module=lambda index: split.stage)
taken._prune_none_root_placeholders(pipe)
x = torch.ones(2, device="npu")
assert split(x, None, x).cpu().tolist() == [2, 2]
