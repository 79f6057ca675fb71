"""Parameters of a captured graph are updated on a stream of their own, which has to wait for the earlier replay."""

import enum
from contextlib import nullcontext
from types import SimpleNamespace

import torch
import torch_npu  # noqa: F401
from taken import take


class Manager:
    def __init__(self, *given: object, **named: object) -> None:
        self.vllm_config, self._capture_descs = None, {}

    def needs_capture(self) -> bool:
        return False

    def run_fullgraph(self, desc: object) -> None:
        pass


class Mode(enum.Enum):
    FULL = 1

    def has_full_cudagraphs(self) -> bool:
        return True


updated = []


def update(backend: object, stream: torch.npu.Stream, *given: object) -> None:
    with torch.npu.stream(stream):
        updated.append(torch.npu.Event())
        updated[-1].record(stream)


class Once:
    def info_once(self, *given: object) -> None:
        pass


taken = take(
    "vllm_ascend/worker/v2/aclgraph_utils.py",
    "collect_sorted_captured_token_sizes",
    "ModelAclGraphManager",
    ModelCudaGraphManager=Manager,
    set_forward_context=lambda *given, **named: nullcontext(),
    get_forward_context=lambda: None,
    update_full_graph_params=update,
    logger=Once(),
)
runner = SimpleNamespace(
    dp_size=1, model_state=SimpleNamespace(attn_metadata=None), speculative_config=None,
    attn_groups=[[SimpleNamespace(backend=None)]], update_stream=torch.npu.Stream(),
)  # fmt: skip
manager = taken.ModelAclGraphManager(None, torch.device("npu"), Mode.FULL, 1, runner)
manager.device = torch.device("npu")
earlier = torch.npu.ExternalEvent()
earlier.wait(torch.npu.current_stream())  # the replay before is not finished
manager.run_fullgraph(SimpleNamespace(num_tokens=1, cg_mode=Mode.FULL))
early = any(updated[0].query() for _ in range(1000))
earlier.record(torch.npu.Stream())
torch.npu.synchronize()
assert not early, "the parameters are updated while the earlier replay runs"
