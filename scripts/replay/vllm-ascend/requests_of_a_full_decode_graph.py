"""A batch of two runs in a decode graph of four requests of two tokens: it is padded to the graph's requests."""

import enum
from types import SimpleNamespace

import numpy as np
from taken import take

Mode = enum.Enum("Mode", "FULL FULL_DECODE_ONLY")
taken = take(
    "vllm_ascend/worker/model_runner_v1.py", "NPUModelRunner._pad_query_start_loc_for_fia", CUDAGraphMode=Mode, np=np
)
begins = SimpleNamespace(np=np.array([0, 2, 4, 0, 0, 0, 0, 0]), copy_to_gpu=lambda: None)
runner = SimpleNamespace(
    uniform_decode_query_len=2, query_start_loc=begins, arange_np=np.arange(16),
    compilation_config=SimpleNamespace(cudagraph_mode=Mode.FULL_DECODE_ONLY),
)  # fmt: skip
requests = taken._pad_query_start_loc_for_fia(runner, 8, 4, 2, Mode.FULL, 4)
lengths = np.diff(begins.np[: requests + 1]).tolist()
assert lengths == [2, 2, 2, 2], f"requests of {lengths} tokens in a graph of two tokens for each"
