"""Temporary tensors: what a function may use of one that goes on to the end of the memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ophook_npu.kernel import Entry
from ophook_npu.kernel.memory import Block
from ophook_npu.kernel.source import INPUT, OUTPUT, Argument

KERNEL = """#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void spread(GM_ADDR x, GM_ADDR z) {
  TPipe pipe;
  TBuf<TPosition::VECCALC> memory;
  pipe.InitBuffer(memory, 65536);
  GlobalTensor<float> from, to;
  from.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(x), 64);
  to.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(z), 512);
  LocalTensor<float> rows = memory.Get<float>(), wide = rows[64], kept = rows[4096];
  LocalTensor<uint8_t> rest = memory.Get<uint8_t>()[8192];
  DataCopy(rows, from, 8);
  DataCopy(kept, from, 64);
  SetFlag<HardEvent::MTE2_V>(EVENT_ID0);
  WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
  const uint32_t wanted[] = {8, 64}, given[] = {8, 1};
  Broadcast<float, 2, 1>(wide, rows, wanted, given, rest);
  PipeBarrier<PIPE_V>();
  Add(wide, wide, kept, 64);
  SetFlag<HardEvent::V_MTE3>(EVENT_ID0);
  WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
  DataCopy(to, wide, 512);
}
"""


def test_what_lies_behind_a_temporary_tensor_is_kept(tmp_path: Path) -> None:
    (tmp_path / "spread.cpp").write_text(KERNEL)
    x, z = Block((64,), 0), Block((512,), 0)
    x.view[:] = np.arange(64, dtype=np.float32).view(np.uint8)
    report = Entry(tmp_path / "spread.cpp", name="spread").run([Argument("x", x, INPUT), Argument("z", z, OUTPUT)], 1)
    assert not report.findings, [str(finding) for finding in report.findings]
    rows = np.repeat(np.arange(8, dtype=np.float32), 64).reshape(8, 64)
    rows[0] += np.arange(64)
    np.testing.assert_array_equal(z.array(False).reshape(8, 64), rows)
