"""Products for inference: Atlas 300I (Ascend310P) and Atlas 200I DK A2 (Ascend310B), their cores and memory, and what
their pages and checks say that they have not."""

from __future__ import annotations

COMMON = """
import ctypes, torch, torch_npu
x = torch.arange(6, dtype=torch.float16, device="npu").reshape(2, 3)
print(torch.npu.get_device_name(0), (x + x).sum().item(), (x @ x.T).cpu().tolist())
acl, value = ctypes.CDLL("libascendcl.so"), ctypes.c_int64()
for attribute in (101, 201):
    acl.aclrtGetDeviceInfo(0, attribute, ctypes.byref(value))
    print("cores", value.value)
"""
OF_310P = """
zeros = torch.zeros(1, 3, dtype=torch.float16, device="npu")
print(zeros.scatter_reduce(0, torch.zeros(2, 3, dtype=torch.int64, device="npu"), x, "amax").tolist())
bf16 = ctypes.c_int32()
print(acl.aclGetCannAttribute(1, ctypes.byref(bf16)), bf16.value)
try:
    y = torch.ones(2, 3, dtype=torch.bfloat16).npu()
    torch.add(y, y)
    torch.npu.synchronize()
except RuntimeError as error:
    print(error)
"""
OF_310B = """
fits = ctypes.c_int32()
for soc in (b"Ascend310B1", b"Ascend310P3"):
    print(acl.aclrtCheckArchCompatibility(soc, ctypes.byref(fits)), fits.value)
from ophook_npu import ops
print("own", ops.npu_add_custom(x, x).cpu().tolist())
"""


def test_float16_runs_and_bfloat16_is_refused(run_sim) -> None:
    done = run_sim(COMMON + OF_310P, "--soc", "Ascend310P3")
    assert done.returncode == 0, done.stderr
    assert "Ascend310P3 30.0 [[5.0, 14.0], [14.0, 50.0]]" in done.stdout
    assert "[[3.0, 4.0, 5.0]]" in done.stdout  # Atlas A2 and A3 have only sums
    assert "self has data type BFLOAT16; Ascend310P allows" in done.stdout + done.stderr
    assert "0 0\n" in done.stdout


def test_operators_of_torch_and_an_own_kernel_run(run_sim) -> None:
    done = run_sim(COMMON + OF_310B, "--soc", "Ascend310B4")
    assert done.returncode == 0, done.stderr
    assert "Ascend310B4 30.0 [[5.0, 14.0], [14.0, 50.0]]" in done.stdout
    assert "cores 1\ncores 1\n0 1\n0 0\n" in done.stdout
    assert "own [[0.0, 2.0, 4.0], [6.0, 8.0, 10.0]]" in done.stdout
