"""Drafts by n-grams on Ascend310P: a decode graph has one token for each request, though a draft has three."""

from types import SimpleNamespace

import numpy as np
from taken import take

base = take(
    "vllm_ascend/worker/model_runner_v1.py",
    "NPUModelRunner._pad_query_start_loc_for_fia",
    CUDAGraphMode=SimpleNamespace(FULL=2),
)


class Runner:
    def __init__(self) -> None:
        self.speculative_config = SimpleNamespace(method="ngram")
        self.uniform_decode_query_len, self.arange_np = 4, np.arange(16)
        self.cudagraph_dispatcher = SimpleNamespace(uniform_decode_query_len=4)
        self.query_start_loc = SimpleNamespace(np=np.array([0, 1, 2, 0, 0, 0, 0]), copy_to_gpu=lambda: None)

    _pad_query_start_loc_for_fia = base._pad_query_start_loc_for_fia


taken = take("vllm_ascend/_310p/model_runner_310p.py", NPUModelRunner=Runner, np=np, ACL_FORMAT_FRACTAL_NZ=29)
runner = taken.NPUModelRunner310()
requests = runner._pad_query_start_loc_for_fia(4, 4, 2)
lengths = np.diff(runner.query_start_loc.np[: requests + 1]).tolist()
assert lengths == [1, 1, 1, 1], f"requests of {lengths} tokens in a graph of one token for each"
