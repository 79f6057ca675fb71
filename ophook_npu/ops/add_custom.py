"""``npu::npu_add_custom(Tensor x, Tensor y) -> Tensor``: x + y with broadcasting.

x, y: any shapes that broadcast, fp16, fp32, bf16 or int32, the same dtype, on the same device; at most 2^31 - 1 elements.
Returns the broadcast shape, x's dtype.

Backends: CPU (here), Meta (here), autograd (here, sums over broadcast dimensions), vmap (here), NPU (op_plugin_patch, through
aclnnAddCustom), GE graphs (here, operator type AddCustom).
"""

from __future__ import annotations

import sys
from typing import Any

from ophook_npu.errors import OphookError
from ophook_npu.npu.torchair import when_loaded

SCHEMA = "npu_add_custom(Tensor x, Tensor y) -> Tensor"
NAME = "npu::npu_add_custom"
MAX_ELEMENTS = 2**31 - 1  # the kernel counts in 32 bits

_library: Any = None  # keeps the registrations alive


def register() -> Any:
    """Register the operator for every backend that is here; returns ``torch.ops.npu.npu_add_custom``."""
    global _library
    import torch

    if _library is None:
        if "torch_npu" in sys.modules and not _has_npu_kernel(torch):
            from ophook_npu.ops.extension import build

            torch.ops.load_library(str(build()))
        _library = _define(torch)
        # Without a converter torchair compiles no graph that contains the operator.
        when_loaded(_register_converter)
    return torch.ops.npu.npu_add_custom


def _has_npu_kernel(torch: Any) -> bool:
    return torch._C._dispatch_has_kernel_for_dispatch_key(NAME, "PrivateUse1") if _schema(torch) else False


def _schema(torch: Any) -> Any:
    """The schema that torch has under this name, or None."""
    return next((s for s in torch._C._jit_get_schemas_for_operator(NAME) if s.overload_name == ""), None)


def _define(torch: Any) -> Any:
    library = torch.library.Library("npu", "FRAGMENT")
    present = _schema(torch)
    if present is None:
        library.define(SCHEMA, tags=(torch.Tag.pt2_compliant_tag,))
    elif str(present) != f"npu::{SCHEMA}":
        raise OphookError(
            "npu_add_custom", f"torch already has {present}", allowed=f"npu::{SCHEMA}", todo="rename one of the two"
        )

    def check(x: Any, y: Any) -> Any:
        """The output's shape. The messages are the NPU kernel's (op_plugin_patch/AddCustomKernelNpuApi.cpp)."""
        allowed = (torch.float16, torch.float32, torch.bfloat16, torch.int32)
        if x.device != y.device:
            raise RuntimeError(
                f"[npu_add_custom] x is on {x.device}, y is on {y.device}; allowed: both on one device; "
                "next: move one of them with .to()"
            )
        if x.dtype != y.dtype:
            raise RuntimeError(
                f"[npu_add_custom] x has dtype {x.dtype}, y has dtype {y.dtype}; allowed: one dtype for both; "
                "next: convert one of them with .to()"
            )
        if x.dtype not in allowed:
            names = ", ".join(str(dtype).removeprefix("torch.") for dtype in allowed)
            raise RuntimeError(f"[npu_add_custom] x and y have dtype {x.dtype}; allowed: {names}")
        try:
            return torch.broadcast_shapes(x.shape, y.shape)
        except RuntimeError:
            raise RuntimeError(
                f"[npu_add_custom] x has shape {list(x.shape)}, y has shape {list(y.shape)}, which do not broadcast; "
                "allowed: equal sizes, or one of them 1"
            ) from None

    def check_sizes(*tensors: Any) -> None:
        for name, tensor in zip(("x", "y", "the result"), tensors, strict=True):
            if tensor.numel() > MAX_ELEMENTS:
                raise RuntimeError(
                    f"[npu_add_custom] {name} has shape {list(tensor.shape)}, more than {MAX_ELEMENTS} elements; "
                    "allowed: at most that many; next: split the tensor"
                )

    def cpu(x: Any, y: Any) -> Any:
        shape = check(x, y)
        check_sizes(x, y, torch.empty(shape, device="meta"))
        return torch.add(x, y).contiguous()

    def fake(x: Any, y: Any) -> Any:
        return torch.empty(check(x, y), dtype=x.dtype, device=x.device)

    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.shapes = [x.shape for x in inputs]

    def backward(ctx: Any, grad: Any) -> Any:
        wanted = ctx.needs_input_grad
        return tuple(
            grad.sum_to_size(shape) if need else None for shape, need in zip(ctx.shapes, wanted, strict=True)
        )

    def vmap(info: Any, dims: Any, x: Any, y: Any) -> Any:
        # The batch goes first, and the ranks are made equal, so that the batch dimension never broadcasts with another.
        rank = max(t.dim() - (d is not None) for t, d in zip((x, y), dims, strict=True))

        def aligned(tensor: Any, dim: int | None) -> Any:
            if dim is None:
                return tensor
            tensor = tensor.movedim(dim, 0)
            return tensor.reshape(tensor.shape[0], *(1,) * (rank - tensor.dim() + 1), *tensor.shape[1:])

        return torch.ops.npu.npu_add_custom(aligned(x, dims[0]), aligned(y, dims[1])), 0

    library.impl("npu_add_custom", cpu, "CPU")
    torch.library.register_fake(NAME, fake, lib=library)
    torch.library.register_autograd(NAME, backward, setup_context=setup_context, lib=library)
    torch.library.register_vmap(NAME, vmap, lib=library)
    return library


def _register_converter(torchair: Any) -> None:
    import torch

    @torchair.register_fx_node_ge_converter(torch.ops.npu.npu_add_custom.default)
    def convert(x: Any, y: Any, z: Any = None, meta_outputs: Any = None) -> Any:
        return torchair.ge.custom_op("AddCustom", inputs={"x": x, "y": y}, outputs=["z"])
