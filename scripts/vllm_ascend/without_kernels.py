"""A vLLM plugin of e2e.py: in each process vllm-ascend is asked for its own kernels before Dynamo is.

An installation without them finds that out by an import that fails, and inside Dynamo torch.compile stops there, on a
device as well. Asked before, it knows the answer.

Two of the kernels are asked for all the same, for the choice of experts and for Gemma's norm. What vllm-ascend does on
an Ascend950, with operators of torch_npu, takes their places.

Two fusions of compiled graphs make operators that vllm-ascend has with triton-ascend only. They are off unless a test
asks for them.

Where a test does not say for which sizes of a batch there are graphs, there are those up to 16, not 51 of them, except
in the one that counts them.

It also keeps what vLLM does on SIGTERM: torchair and npugraph_ex replace that when they are imported, and an engine
that fails would wait for its workers until the time-out (docs/results.md).
"""

from __future__ import annotations

import functools
import os
import signal
from typing import Any

MOST, COUNTS_GRAPHS = 16, "test_aclgraph_capture_replay"
NEEDS_TRITON = {"fuse_qknorm_rope": False, "fuse_muls_add": False}


def of_torchair(handler: object) -> bool:
    return getattr(handler, "__module__", "").startswith(("torchair.", "torch_npu.dynamo."))


def keep_signals() -> None:
    set_handler = signal.signal

    @functools.wraps(set_handler)
    def unless_torchair(number: int, handler: Any) -> Any:
        return signal.getsignal(number) if of_torchair(handler) else set_handler(number, handler)

    signal.signal = unless_torchair
    for number in (signal.SIGTERM, signal.SIGINT):
        if of_torchair(signal.getsignal(number)):
            set_handler(number, signal.SIG_DFL)


def leave_out_fusions() -> None:
    from vllm_ascend.ascend_config import AscendCompilationConfig

    begin = AscendCompilationConfig.__init__

    @functools.wraps(begin)
    def without(self: Any, *args: Any, **kwargs: Any) -> None:
        begin(self, *args, **(NEEDS_TRITON | kwargs))

    AscendCompilationConfig.__init__ = without


def capture_less() -> None:
    from vllm.config import VllmConfig

    choose = VllmConfig._set_cudagraph_sizes

    @functools.wraps(choose)
    def few(self: Any) -> None:
        told = self.compilation_config
        if told.cudagraph_capture_sizes is None and told.max_cudagraph_capture_size is None:
            told.max_cudagraph_capture_size = MOST
        choose(self)

    if COUNTS_GRAPHS not in os.environ.get("PYTEST_CURRENT_TEST", ""):
        VllmConfig._set_cudagraph_sizes = few


def lay_twins() -> None:
    import vllm_ascend.ops  # noqa: F401  # which imports the other in a circle, and has to come first
    from vllm_ascend.device.device_op import A5DeviceAdaptor, BaseDeviceAdaptor

    for name in ("moe_gating_top_k", "npu_gemma_rms_norm"):
        setattr(BaseDeviceAdaptor, name, staticmethod(getattr(A5DeviceAdaptor, name)))


def begin() -> None:
    from vllm_ascend.utils import enable_custom_op

    leave_out_fusions()
    capture_less()
    keep_signals()
    enable_custom_op()
    lay_twins()
