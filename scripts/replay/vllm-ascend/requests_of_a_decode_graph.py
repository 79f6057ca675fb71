"""Three requests run in a decode graph of eight: each padded request has one token, as the graph was captured."""

import enum
from types import SimpleNamespace

import numpy as np
from taken import take

Mode = enum.Enum("Mode", "FULL FULL_DECODE_ONLY")
taken = take(
    "vllm_ascend/worker/v2/model_runner.py", "NPUModelRunner._pad_query_start_loc_for_fia", CUDAGraphMode=Mode, np=np
)
runner = SimpleNamespace(decode_query_len=1, compilation_config=SimpleNamespace(cudagraph_mode=Mode.FULL_DECODE_ONLY))
begins = np.array([0, 1, 2, 3, 0, 0, 0, 0, 0], dtype=np.int32)
begins, requests = taken._pad_query_start_loc_for_fia(runner, 8, 8, 3, begins, Mode.FULL, 8)
assert requests == 8 and np.diff(begins[: requests + 1]).tolist() == [1] * 8, f"{requests} requests: {begins.tolist()}"
