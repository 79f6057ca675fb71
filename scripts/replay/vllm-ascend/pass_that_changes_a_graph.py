"""A pass replaces an operator of a graph on npu: the graph that runs has to have the new one."""

from types import SimpleNamespace

import torch
import torch_npu  # noqa: F401
from taken import take


class Pass:
    def is_applicable(self, shape: object) -> bool:
        return True

    def is_applicable_for_range(self, shapes: object) -> bool:
        return True

    def __call__(self, module: torch.fx.GraphModule) -> None:
        for node in module.graph.nodes:
            if node.target is torch.add:
                node.target = torch.mul


taken = take(
    "vllm_ascend/compilation/graph_fusion_pass_manager.py",
    "GraphFusionPassManager",
    VllmInductorPass=Pass,
    get_pass_context=lambda: SimpleNamespace(compile_range=None),
)
manager = taken.GraphFusionPassManager()
manager.add(Pass())
module = torch.fx.symbolic_trace(lambda x, y: torch.add(x, y))
arguments = (module, None) if manager.__call__.__code__.co_argcount == 3 else (module,)
fused = manager(*arguments)
x = torch.full((4,), 3.0, device="npu")
assert fused(x, x).cpu().tolist() == [9.0] * 4, "the graph runs without what the pass put into it"
