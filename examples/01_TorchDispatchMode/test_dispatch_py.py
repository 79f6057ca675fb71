"""torch.mm replaced by numpy inside a with block, in eager mode."""

import torch

import ophook_npu


def numpy_mm(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    print(f"[Hijack] Captured torch.mm! Shapes: {a.shape} x {b.shape}")
    print("[Hijack] Replacing with numpy-based custom op implementation")
    return torch.from_numpy(a.detach().numpy() @ b.detach().numpy())


torch.manual_seed(0)
x, w = torch.randn(3, 4), torch.randn(4, 5)
native = torch.mm(x, w)

print("--- Entering Hijack Mode ---")
with ophook_npu.hook("aten::mm", replace=numpy_mm, via="dispatch_mode") as hook:
    by_name = torch.mm(x, w)
    by_operator = x @ w
print("\n--- Exiting Mode ---")

torch.mm(x, w)  # not captured any more
assert hook.hits == 2
torch.testing.assert_close(by_name, native)
torch.testing.assert_close(by_operator, native)
