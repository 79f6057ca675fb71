"""AddCustom in eager mode. Alone on an Ascend host: `python test_ops_custom.py`; elsewhere: `ophook-npu run --
test_ops_custom.py`.
"""

import argparse
import json
import sys
import time

import torch
import torch_npu

from ophook_npu import ops

DTYPES = (torch.float16, torch.float32, torch.bfloat16, torch.int32)
SHAPES = (
    ("8x2048, the sample's", (8, 2048), (8, 2048)),
    ("broadcast both ways", (3, 1, 5), (4, 1)),
    ("0-d and 2-d", (), (2, 3)),
    ("zero elements", (0, 4), (1, 4)),
    ("odd length", (1000003,), (1,)),
)


def random(shape, dtype):
    return (torch.randn(shape) * 100).to(dtype)


def check(x, y):
    """Run on the NPU and on the CPU; gives the largest absolute difference."""
    on_npu = torch.ops.npu.npu_add_custom(x, y)
    on_cpu = torch.ops.npu.npu_add_custom(x.cpu(), y.cpu())
    assert on_npu.device.type == "npu", on_npu.device
    assert (on_npu.shape, on_npu.dtype) == (on_cpu.shape, on_cpu.dtype), (on_npu.shape, on_npu.dtype)
    if on_cpu.numel() == 0:
        return 0.0
    return (on_npu.cpu().double() - on_cpu.double()).abs().max().item()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", help="write the result to this file")
    options = parser.parse_args()
    start = time.perf_counter()
    torch.manual_seed(0)
    ops.register("npu_add_custom")
    print(f"device: {torch.npu.get_device_name(0)}, torch {torch.__version__}, torch_npu {torch_npu.__version__}")
    errors = {}
    for dtype in DTYPES:
        for name, x_shape, y_shape in SHAPES:
            errors[f"{dtype} {name}"] = check(random(x_shape, dtype).npu(), random(y_shape, dtype).npu())
        transposed = random((64, 48), dtype).npu().t()
        errors[f"{dtype} transposed and sliced"] = check(transposed, random((96, 64), dtype).npu()[::2])

    x = torch.randn(3, 1, 5).npu().requires_grad_()
    y = torch.randn(4, 1).npu().requires_grad_()
    torch.ops.npu.npu_add_custom(x, y).sum().backward()
    assert torch.equal(x.grad.cpu(), torch.full((3, 1, 5), 4.0)), x.grad
    assert torch.equal(y.grad.cpu(), torch.full((4, 1), 15.0)), y.grad

    for name, error in errors.items():
        print(f"  {name}: max error {error:g}")
    worst = max(errors.values())
    passed = worst == 0
    result = {
        "eager": {
            "passed": passed,
            "cases": len(errors) + 1,
            "max_error": worst,
            "seconds": time.perf_counter() - start,
        }
    }
    if options.json:
        with open(options.json, "w") as file:
            json.dump(result, file)
    cases = len(errors)  # always many
    print(f"eager: {'pass' if passed else 'FAIL'}, {cases} cases and the backward, max error {worst:g}")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
