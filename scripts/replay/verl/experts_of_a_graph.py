"""A model stands within a wrapper for graphs: the weights of its experts get their loader all the same."""

from types import SimpleNamespace

import torch
import torch_npu  # noqa: F401
from taken import take


class Experts(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w13_weight = torch.nn.Parameter(torch.ones(2, 2, device="npu"))

    def weight_loader(self) -> None:
        pass


class ModelOfExperts(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        mlp = torch.nn.Module()
        mlp.experts = Experts()
        self.model = SimpleNamespace(layers=[SimpleNamespace(mlp=mlp)])


class ACLGraphWrapper:
    def __init__(self, runnable: ModelOfExperts) -> None:
        self.runnable = runnable

    def __getattr__(self, name: str) -> object:
        return getattr(self.runnable, name)


taken = take("verl/utils/vllm/patch.py", "patch_vllm_moe_model_weight_loader", SUPPORTED_MOE_MODELS=[ModelOfExperts])
model = ModelOfExperts()
taken.patch_vllm_moe_model_weight_loader(ACLGraphWrapper(model))
weight = model.model.layers[0].mlp.experts.w13_weight
assert hasattr(weight, "weight_loader"), "the experts have no loader of weights"
