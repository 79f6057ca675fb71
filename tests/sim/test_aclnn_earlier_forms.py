"""Forms of operators that torch_npu calls on an older CANN only, and that C++ extensions may call: by ctypes."""

from __future__ import annotations

import ctypes
from typing import Any

import torch
import torch_npu

LIBRARY = ctypes.CDLL("libopapi.so")
ACL_DTYPES = {torch.float32: 0, torch.float16: 1, torch.int8: 2, torch.int32: 3, torch.int64: 9}


def handle(name: str, *arguments: Any) -> ctypes.c_void_p:
    function = getattr(LIBRARY, name)
    function.restype = ctypes.c_void_p
    return ctypes.c_void_p(function(*arguments))


def acl_tensor(tensor: torch.Tensor) -> ctypes.c_void_p:
    count = ctypes.c_uint64(tensor.dim())
    sizes, strides = ((ctypes.c_int64 * tensor.dim())(*each) for each in (tensor.shape, tensor.stride()))
    kind, nd, start = ctypes.c_int(ACL_DTYPES[tensor.dtype]), ctypes.c_int(2), ctypes.c_int64(0)
    address = ctypes.c_void_p(tensor.data_ptr())
    return handle("aclCreateTensor", sizes, count, kind, strides, start, nd, sizes, count, address)


def argument(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return acl_tensor(value)
    if isinstance(value, list):
        members = (ctypes.c_void_p * len(value))(*(acl_tensor(item) for item in value))
        return handle("aclCreateTensorList", members, ctypes.c_uint64(len(value)))
    if isinstance(value, ctypes._SimpleCData):
        return value
    kinds = {bool: ctypes.c_bool, int: ctypes.c_int64, float: ctypes.c_double, bytes: ctypes.c_char_p}
    return kinds[type(value)](value) if value is not None else ctypes.c_void_p()


def run(name: str, *values: Any) -> None:
    """Both phases on the current stream; the values in the order of the C interface."""
    torch.npu.synchronize()
    size, executor = ctypes.c_uint64(), ctypes.c_void_p()
    arguments = [argument(value) for value in values]
    assert getattr(LIBRARY, f"aclnn{name}GetWorkspaceSize")(*arguments, ctypes.byref(size), ctypes.byref(executor)) == 0
    stream = ctypes.c_void_p(torch.npu.current_stream().npu_stream)
    assert getattr(LIBRARY, f"aclnn{name}")(ctypes.c_void_p(), size, executor, stream) == 0
    torch.npu.synchronize()


def test_quantization() -> None:
    torch.manual_seed(0)
    x = torch.randn(3, 8).half().npu()
    want, want_scale = torch_npu.npu_dynamic_quant(x)
    got, scale = torch.empty_like(want), torch.empty_like(want_scale)
    run("DynamicQuant", x, None, got, scale)
    assert torch.equal(got, want) and torch.equal(scale, want_scale)

    factor = torch.full((8,), 20.0).half().npu()
    want = torch_npu.npu_quantize(x, factor, None, torch.qint8, -1, False)
    run("AscendQuant", x, factor, None, False, b"round", 2, got)
    assert torch.equal(got, want)
    run("AscendQuant", x, factor, None, True, b"floor", 2, got)
    assert torch.equal(got.cpu(), (x.cpu().float() * 400).floor().clamp(-128, 127).to(torch.int8))

    gamma, divisor = torch.rand(8).half().npu(), torch.rand(8).npu()
    want, _, want_sum = torch_npu.npu_add_rms_norm_quant(x, x, gamma, divisor, None)
    other, total = torch.empty_like(got), torch.empty_like(x)
    run("AddRmsNormQuant", x, x, gamma, divisor, None, None, None, -1, 1e-6, True, got, other, total)
    assert torch.equal(got, want) and torch.equal(total, want_sum)

    sums, weight_scale = torch.randint(-900, 900, (3, 8), dtype=torch.int32).npu(), torch.rand(1, 8).npu()
    left = {"activate_left": True, "quant_mode": 1}
    want, want_scale = torch_npu.npu_dequant_swiglu_quant(sums, weight_scale=weight_scale, **left)
    got, scale = torch.empty_like(want), torch.empty_like(want_scale)
    run("DequantSwigluQuant", sums, weight_scale, None, None, None, None, None, True, b"dynamic", got, scale)
    assert torch.equal(got, want) and torch.equal(scale, want_scale)


def test_products_of_groups() -> None:
    torch.manual_seed(0)
    x, weight, groups = torch.randn(7, 4).half().npu(), torch.randn(2, 4, 5).half().npu(), torch.tensor([3, 7]).npu()
    (want,) = torch_npu.npu_grouped_matmul([x], [weight], group_list=groups, split_item=3, group_type=0)
    got = torch.empty_like(want)
    absent = [None] * 6
    run("GroupedMatmulV4", [x], [weight], *absent, groups, None, None, None, 3, 0, 0, 0, [got], None, None)
    assert torch.equal(got, want)
    (got,) = torch_npu.npu_grouped_matmul([x], [weight[0], weight[1]], group_list=[3, 7], split_item=3)
    torch.testing.assert_close(got.cpu(), want.cpu())  # lists of numbers go to the first form


def test_routing() -> None:
    torch.manual_seed(0)
    x, experts = torch.randn(3, 4).npu(), torch.tensor([[1, 0], [2, 1], [1, 1]], dtype=torch.int32).npu()
    rows, places = torch.empty(5, 4).npu(), torch.empty(6, dtype=torch.int32).npu()
    ends = torch.empty(3, dtype=torch.int32).npu()
    run("MoeInitRoutingV2", x, experts, 5, 0, 3, 0, 1, False, rows, places, ends, None)
    assert ends.tolist() == [1, 5, 6] and places.tolist() == [1, 0, 5, 2, 3, 4]
    assert torch.equal(rows.cpu(), x.cpu()[[0, 0, 1, 2, 2]])

    padded, before = torch.empty(3, 2, 4).npu(), torch.empty(3, dtype=torch.int32).npu()
    run("MoeInitRoutingV2", x, experts, 0, 2, 3, 1, 0, True, padded, places, None, before)
    assert before.tolist() == [1, 4, 1] and places.tolist() == [2, 0, 4, 3, -1, -1]
    assert torch.equal(padded.cpu()[1], x.cpu()[[0, 1]]) and padded[0, 1].abs().sum() == 0

    results, scales = torch.randn(6, 4).npu(), torch.rand(3, 2).npu()
    order = torch.randperm(6).int().npu()
    want = torch_npu.npu_moe_finalize_routing(results, x, x, results, scales, order, experts, 0)
    got = torch.empty_like(want)
    run("MoeFinalizeRouting", results, x, x, results, scales, order, experts, got)
    assert torch.equal(got, want)


def test_one_number_may_go_into_a_tensor_of_one_element() -> None:
    """CANN makes no difference between the shapes ``[]`` and ``[1]`` where an output is one number."""
    x = torch.tensor([3.0, -1.0, 2.0]).npu()
    for shape in ((), (1,)):
        out, other = torch.empty(shape).npu(), torch.empty(shape).npu()
        for name, expected in (("Max", 3.0), ("Min", -1.0), ("Median", 2.0), ("NanMedian", 2.0)):
            run(name, x, out)
            assert out.cpu().tolist() in (expected, [expected])
        run("Prod", x, ctypes.c_int(0), out)
        assert out.sum().item() == -6
        run("AminmaxAll", x, out, other)
        assert (out.sum().item(), other.sum().item()) == (-1, 3)
        target = torch.tensor([0.5, 0.25, 0.25]).npu()
        for reduction, way in ((2, "sum"), (3, "batchmean")):
            run("KlDiv", x, target, reduction, False, out)
            want = torch.nn.functional.kl_div(x.cpu(), target.cpu(), reduction=way)
            torch.testing.assert_close(out.cpu().sum(), want)
        value = torch.full(shape, 7.0).npu()
        run("InplaceFillTensor", other, value)
        assert other.sum().item() == 7


def test_unique_values_without_their_places() -> None:
    x = torch.tensor([[1, 1], [1, 1], [2, 3]]).npu()
    nowhere = torch.empty(0, dtype=torch.int64).npu()
    values, flat, counts = torch.empty_like(x), torch.empty(6, dtype=torch.int64).npu(), torch.empty(6).long().npu()
    run("UniqueConsecutive", x, False, False, 1000, flat, nowhere, nowhere)
    assert flat[:3].tolist() == [1, 2, 3]
    run("UniqueDim", x, True, False, 0, values, torch.empty(7, dtype=torch.int64).npu(), counts)
    assert values[:2].tolist() == [[1, 1], [2, 3]] and counts[:2].tolist() == [2, 1]


def test_tensors_without_dimensions() -> None:
    number = torch.tensor(2.0).npu()
    assert torch.nn.functional.normalize(number, p=1.2, dim=0).item() == 1
    scale, got = torch.tensor([3.0]).half().npu(), torch.empty((), dtype=torch.int8).npu()
    run("AscendQuant", number.half(), scale, None, False, b"round", 2, got)
    assert got.item() == 6
