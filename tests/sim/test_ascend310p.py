"""An Atlas 300I (Ascend310P): its cores and memory, and what its pages and checks say that it has not."""

from __future__ import annotations

CODE = """
import ctypes, torch, torch_npu
x = torch.arange(6, dtype=torch.float16, device="npu").reshape(2, 3)
print(torch.npu.get_device_name(0), (x + x).sum().item(), (x @ x.T).cpu().tolist())
acl, value = ctypes.CDLL("libascendcl.so"), ctypes.c_int64()
for attribute in (101, 201):
    acl.aclrtGetDeviceInfo(0, attribute, ctypes.byref(value))
    print(value.value)
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


def test_float16_runs_and_bfloat16_is_refused(run_sim) -> None:
    done = run_sim(CODE, "--soc", "Ascend310P3")
    assert done.returncode == 0, done.stderr
    assert "Ascend310P3 30.0 [[5.0, 14.0], [14.0, 50.0]]" in done.stdout
    assert "[[3.0, 4.0, 5.0]]" in done.stdout  # Atlas A2 and A3 have only sums
    assert "self has data type BFLOAT16; Ascend310P allows" in done.stdout + done.stderr
    assert "0 0\n" in done.stdout
