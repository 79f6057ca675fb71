"""What functions of each element and reductions of Ascend C refuse, which faults are told, and their host side."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from ophook_npu.errors import OphookError
from ophook_npu.sim import program

HEAD = """
#include "kernel_operator.h"
using namespace AscendC;
using Bytes = LocalTensor<uint8_t>;
"""
OPERANDS_OF = (
    "LocalTensor<float> f, LocalTensor<half> h, LocalTensor<bfloat16_t> w, LocalTensor<int32_t> i, "
    "LocalTensor<bool> t, Bytes u"
)
REFUSED = {
    "BitwiseAnd(f, f, f, 8)": "BitwiseAnd: int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t, int64_t, uint64_t",
    "LogicalOr(f, f, f, 8)": "LogicalOr: the destination is of bool",
    "IsInf(h, f, 8)": "IsInf: the destination is of bool or has the source's type",
    "Rint(i, i, 8)": "Rint: half, float",
    "Clamp(f, f, 1, 2.0f, 8)": "Clamp: min and max have the destination's type",
    "Where(f, f, f, u, 8)": "Where: the condition is of bool",
    "Ands(i, i, 3, 8)": "Ands: int16_t, uint16_t, int64_t, uint64_t",
    "Subs(f, f, 3, 8)": "Subs: the scalar must have the tensor's type",
    "Adds(u, uint8_t(1), u, 8, 1, {1, 1, 8, 8})": "Adds: with a mask half, bfloat16_t, int16_t, int32_t, float",
    "MulsCast(f, f, 2.0f, 8)": "MulsCast: the destination is of half",
    "Atan<half, false, arc>(h, h, 8)": "Atan: this algorithm is for float alone (Atan.md)",
    "Fmod<float, false, often>(f, f, f, 8)": "Fmod: iterationNum is 1 to 11",
    "Power(w, w, w, 8)": "Power: INTRINSIC has integers, half and float, DOUBLE_FLOAT_TECH bfloat16_t, half and float",
    "Sqrt<half, root>(h, h, 8)": "Sqrt: this algorithm is for float alone (Sqrt.md)",
    "ReduceSum<half, Pattern::Reduce::AR>(h, h, rows, true)": "ReduceSum: int32_t, uint32_t, float, int64_t, uint64_t",
    "PhiloxRandom<8>(f, {1, 2}, {1, 2, 3, 4}, 8)": "PhiloxRandom: Rounds is 7 or 10",
    "PhiloxRandom(h, {1, 2}, {1, 2, 3, 4}, 8)": "PhiloxRandom: uint32_t, int32_t, float",
}
CONSTANTS = """
  static constexpr AtanConfig arc{AtanAlgo::POLYNOMIAL_APPROXIMATION};
  static constexpr FmodConfig often{FmodAlgo::ITERATION_COMPENSATION, 12};
  static constexpr SqrtConfig root{SqrtAlgo::FAST_INVERSE};
  const uint32_t rows[] = {2, 16};
"""


def _refusal(architecture: str, calls: list[str], folder: Path) -> str:
    source = folder / "wrong.asc"
    functions = "".join(f"void f{n}({OPERANDS_OF}) {{{CONSTANTS}  {call};\n}}\n" for n, call in enumerate(calls))
    source.write_text(HEAD + functions)
    with pytest.raises(OphookError) as told:
        program.compile([f"--npu-arch=dav-{architecture}", "-fsyntax-only", "-c", str(source)])
    return str(told.value)


@pytest.mark.parametrize("first", range(0, len(REFUSED), 4))  # no more errors are told at once
def test_what_a_page_does_not_have_does_not_compile(first: int, tmp_path: Path) -> None:
    some = dict(list(REFUSED.items())[first : first + 4])
    told = _refusal("3510", list(some), tmp_path)
    assert [message for message in some.values() if message not in told] == [], told


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("LogicalAnd(t, f, f, 8)", "for Ascend950 alone, not for an Atlas A2"),
        ("Atan<float, false, arc>(f, f, 8)", "Atan: a configuration is for an Ascend950 alone"),
        ("ReduceAll<half, Pattern::Reduce::AR>(h, h, rows, true)", "ReduceAll: uint8_t, float"),
    ],
)
def test_what_an_atlas_a2_has_not(call: str, message: str, tmp_path: Path) -> None:
    assert message in _refusal("2201", [call], tmp_path)


FAULTS = """
#include "acl/acl.h"
#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __vector__ void each() {
  LocalMemAllocator<> all;
  LocalTensor<float> a = all.Alloc<float>(64), b = all.Alloc<float>(64), never = all.Alloc<float>(64);
  Duplicate(a, 1.0f, 64);
  Duplicate(b, 1.0f, 64);
  Subs(a, b, never[3], 64);  // uninitialized: Subs: the scalar was never computed
  SinCos(a, b, a, 64);  // overlap: SinCos: source and destination overlap
  Subs(a, b, a[3], 64);  // overlap: Subs: the scalar is an element of the destination
  PhiloxRandom(a, {1, 2}, {1, 2, 3, 4}, {4, 1, 3});  // parameter: PhiloxRandom: column and stride are multiples of 4
}
int main() {
  aclInit(nullptr);
  aclrtSetDevice(0);
  aclrtStream stream;
  aclrtCreateStream(&stream);
  each<<<1, nullptr, stream>>>();
  return aclrtSynchronizeStream(stream) ? 1 : 0;
}
"""


def test_faults_are_told_with_their_line(tmp_path: Path) -> None:
    source = tmp_path / "faults.asc"
    source.write_text(FAULTS)
    command = [sys.executable, "-m", "ophook_npu", "kernel", "run", "--soc", "Ascend950PR_9589", str(source)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    for number, line in enumerate(FAULTS.splitlines(), 1):
        _, _, wanted = line.partition("// ")
        kind, _, told = wanted.partition(": ")
        found = re.search(rf"faults\.asc:{number}: error: {re.escape(told)}.*\[{kind}\]", done.stderr)
        assert found or not wanted, f"{line}\n{done.stderr}"


_OF_PLATFORM = (
    "BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Fma IsInf IsNan LogicalAnd LogicalAnds LogicalNot LogicalOr LogicalOrs"
)
_OF_PLATFORM += " LogicalXor Rint SinCos Where Round"


def test_the_host_knows_how_much_memory_they_want(tmp_path: Path) -> None:
    calls = [f"Get{name}MaxMinTmpSize(platform, shape, 4, false, most, least)" for name in _OF_PLATFORM.split()]
    calls += [
        f"Get{name}MaxMinTmpSize(shape, 4, false, most, least)"
        for name in ("Digamma", "Hypot", "ReduceXorSum", "Clamp")
    ]
    calls += [f"Get{name}MaxMinTmpSize({name}Config(), shape, 4, false, most, least)" for name in ("Sin", "Cos")]
    for name in ("ReduceAll", "ReduceAny", "ReduceProd"):
        calls.append(f"Get{name}MaxMinTmpSize(shape, ge::DT_FLOAT, ReducePattern::AR, true, false, most, least)")
    of_config = "true, TopKMode::TOPK_NORMAL, true, ge::DT_INT32, TopKConfig(), most, least"
    calls.append(f"GetTopKMaxMinTmpSize(32, 2, 8, false, {of_config})")
    factors = [f"Get{name}TmpBufferFactorSize(platform, 4, most, least)" for name in _OF_PLATFORM.split()]
    factors += [f"Get{name}TmpBufferFactorSize(4, most, least)" for name in ("Digamma", "Hypot", "Mean")]
    lines = [f"  most = least = 0, {call}, good += most >= least && least > 0;" for call in calls]
    lines += [f"  most = 0, {call}, good += most > 0;" for call in factors]
    source = tmp_path / "host.asc"
    source.write_text(
        '#include <cstdio>\n#include "tiling/tiling_api.h"\nusing namespace AscendC;\nint main() {\n'
        "  auto& platform = *platform_ascendc::PlatformAscendCManager::GetInstance();\n"
        "  const ge::Shape shape({4, 64});\n  uint32_t most, least, good = 0;\n"
        + "\n".join(lines)
        + '\n  std::printf("%u", good);\n}\n'
    )
    command = [sys.executable, "-m", "ophook_npu", "kernel", "run", str(source)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.stdout == str(len(lines)), done
