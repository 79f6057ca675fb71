"""Weights of a drafter are asked of another server, with a configuration that holds a weight which cannot be copied."""

import copy
import gc
import time
from contextlib import nullcontext
from types import SimpleNamespace

import torch
import torch_npu  # noqa: F401
from taken import take


class Weight(torch.nn.Parameter):
    def __new__(cls, data: torch.Tensor, *, loader: object) -> "Weight":
        return super().__new__(cls, data, requires_grad=False)  # type: ignore[return-value]

    def __init__(self, data: torch.Tensor, *, loader: object) -> None:
        self.loader = loader


taken = take(
    "vllm_ascend/model_loader/netloader/netloader.py", "ModelNetLoaderElastic.load_model",
    initialize_model=lambda **given: None, elastic_load=lambda **given: None, deepcopy=copy.deepcopy, gc=gc, time=time,
    set_default_torch_dtype=lambda kind: nullcontext(),
)  # fmt: skip
torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
loader = SimpleNamespace(
    model_path="m", source=[{"device_id": 0}], listen_port=1, _is_draft_model=lambda config: False,
    revert_to_default=lambda model, config, device, prefix: (SimpleNamespace(eval=lambda: config.quant_config), False),
)  # fmt: skip
config = SimpleNamespace(
    device_config=SimpleNamespace(device="npu", device_type="npu"), quant_config={"bits": 8},
    parallel_config=SimpleNamespace(tensor_parallel_size=1, pipeline_parallel_size=1),
    weights=[Weight(torch.zeros(2, device="npu"), loader=None)],
)  # fmt: skip
loaded = taken.load_model(loader, config, SimpleNamespace(model="m", dtype=torch.float16))
assert loaded == {"bits": 8}
