"""torch.ops runs the project's own kernel on the NPU, or on the simulated Ascend, in eager mode.

ASCEND_CUSTOM_OPP_PATH=$PWD/my_package ophook-npu run -- examples/ascendc_matmul/run.py
"""

import sys
from pathlib import Path

import torch
import torch_npu

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
from inputs import inputs, reference  # noqa: E402 - beside this file, which may have been started from elsewhere


def main() -> None:
    (library,) = HERE.glob("ascendc_matmul*.so")
    torch.ops.load_library(str(library))
    for x, weight, bias, transposed in inputs():
        on_device = (tensor.npu() for tensor in (x, weight, bias))
        y = torch.ops.ascendc_matmul.matmul_bias(*on_device, transposed).cpu()
        wanted = reference(x, weight, bias, transposed)
        torch.testing.assert_close(y, wanted, rtol=2e-2, atol=2e-2)
        print(f"{x.dtype!s:15} {list(x.shape)} x {list(weight.shape)}{' transposed' if transposed else ''}: equal")
    print(torch_npu.npu.get_device_name())


if __name__ == "__main__":
    main()
