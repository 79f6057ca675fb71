"""A vLLM plugin of e2e.py: in each process vllm-ascend is asked for its own kernels before Dynamo is.

An installation without them finds that out by an import that fails, and inside Dynamo torch.compile stops there, on a
device as well. Asked before, it knows the answer.
"""

from __future__ import annotations


def begin() -> None:
    from vllm_ascend.utils import enable_custom_op

    enable_custom_op()
