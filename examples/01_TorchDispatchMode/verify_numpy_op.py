"""The numpy implementation gives what torch gives: dtypes, devices, gradients, inference mode, vmap."""

import torch

import ophook_npu


def numpy_mm(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(a.detach().cpu().numpy() @ b.detach().cpu().numpy()).to(a.device)


def devices() -> list[str]:
    accelerator = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else None
    return ["cpu"] if accelerator is None else ["cpu", accelerator.type]


torch.manual_seed(0)
hook = ophook_npu.hook("aten::mm", replace=numpy_mm, via="dispatch_mode", check="always")
for device in devices():
    for dtype in (torch.float32, torch.float64):
        if device == "npu" and dtype == torch.float64:
            print(f"{device} {dtype}: not supported by the device")
            continue
        x = torch.randn(16, 32, dtype=dtype).to(device).requires_grad_()
        w = torch.randn(32, 8, dtype=dtype).to(device).requires_grad_()
        native = torch.mm(x, w)
        gradients = torch.autograd.grad(native.sum(), [x, w])
        hook.reset()
        with hook:
            y = torch.mm(x, w)
            hooked = torch.autograd.grad(y.sum(), [x, w])
            with torch.inference_mode():
                z = x @ w
            torch.vmap(torch.mm)(x.expand(2, 16, 32), w.expand(2, 32, 8))
        torch.testing.assert_close(y, native)
        torch.testing.assert_close(z, native.detach())
        for got, want in zip(hooked, gradients, strict=True):
            torch.testing.assert_close(got, want)
        # forward 1, backward 2, inference 1, vmap 2
        assert hook.hits == 6, hook.hits
        print(f"{device} {dtype}: largest difference {(y - native).abs().max().item():.1e}, {hook.hits} calls replaced")
