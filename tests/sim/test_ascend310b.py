"""An Atlas 200I DK A2 (Ascend310B): its core and memory, what its pages say that it has not, and an operator of one's
own on it."""

from __future__ import annotations

CODE = """
import ctypes, torch, torch_npu
x = torch.arange(6, dtype=torch.float16, device="npu").reshape(2, 3)
print(torch.npu.get_device_name(0), (x + x).sum().item(), (x @ x.T).cpu().tolist())
acl, value = ctypes.CDLL("libascendcl.so"), ctypes.c_int64()
for attribute in (101, 201):
    acl.aclrtGetDeviceInfo(0, attribute, ctypes.byref(value))
    print("cores", value.value)
fits = ctypes.c_int32()
for soc in (b"Ascend310B1", b"Ascend310P3"):
    print(acl.aclrtCheckArchCompatibility(soc, ctypes.byref(fits)), fits.value)
from ophook_npu import ops
print("own", ops.npu_add_custom(x, x).cpu().tolist())
"""


def test_operators_of_torch_and_an_own_kernel_run(run_sim) -> None:
    done = run_sim(CODE, "--soc", "Ascend310B4")
    assert done.returncode == 0, done.stderr
    assert "Ascend310B4 30.0 [[5.0, 14.0], [14.0, 50.0]]" in done.stdout
    assert "cores 1\ncores 1\n0 1\n0 0\n" in done.stdout
    assert "own [[0.0, 2.0, 4.0], [6.0, 8.0, 10.0]]" in done.stdout
