"""Weights in the device's own format, quantized products and quantization: functions that CANN's example programs call,
each against its documented formula, written out here in float64."""

from __future__ import annotations

import ctypes
import struct

import pytest
import torch
from interfaces import CODES, aclnn, libraries
from torch.nn import functional
from values import close, real, situ, steps_close, unpacked, whole


# ---- weights in the device's own format --------------------------------------------------------------------------
class Weight:
    """A matrix in memory that aclnnCalculateMatmulWeightSizeV2 asks for, moved by aclnnTransMatmulWeight."""

    def __init__(self, values: torch.Tensor) -> None:
        self.opapi, self.acl = libraries()
        lies = values.mT if values.stride(-2) == 1 and values.shape[-2] > 1 else values
        count = ctypes.c_uint64(values.dim())
        self.opapi.aclCreateIntArray.restype = self.opapi.aclCreateTensor.restype = ctypes.c_void_p
        asked = (ctypes.c_int64 * values.dim())(*lies.shape)
        array, elements = ctypes.c_void_p(self.opapi.aclCreateIntArray(asked, count)), ctypes.c_uint64()
        code = CODES[values.dtype]
        assert self.opapi.aclnnCalculateMatmulWeightSizeV2(array, code, ctypes.byref(elements)) == 0
        assert self.opapi.aclDestroyIntArray(array) == 0
        self.elements, self.width, self.memory = elements.value, values.element_size(), ctypes.c_void_p()
        room = ctypes.c_size_t(self.elements * self.width)
        assert self.acl.aclrtMalloc(ctypes.byref(self.memory), room, 0) == 0
        held = lies.contiguous()
        bytes_ = ctypes.c_size_t(held.numel() * self.width)
        assert self.acl.aclrtMemcpy(self.memory, room, ctypes.c_void_p(held.data_ptr()), bytes_, 1) == 0
        self.handle = self.made(values, 2)

    def made(self, values: torch.Tensor, format_: int) -> ctypes.c_void_p:
        """A tensor on this memory with the shape and strides of ``values``, and a storage that is told flat."""
        sizes, strides = ((ctypes.c_int64 * values.dim())(*each) for each in (values.shape, values.stride()))
        count, storage = ctypes.c_uint64(values.dim()), (ctypes.c_int64 * 1)(self.elements)
        made = self.opapi.aclCreateTensor(
            sizes, count, CODES[values.dtype], strides, ctypes.c_int64(0), format_, storage, ctypes.c_uint64(1),
            self.memory,
        )  # fmt: skip
        return ctypes.c_void_p(made)

    def arrange(self) -> int:
        size, executor = ctypes.c_uint64(), ctypes.c_void_p()
        first = self.opapi.aclnnTransMatmulWeightGetWorkspaceSize
        code = first(self.handle, ctypes.byref(size), ctypes.byref(executor))
        again = self.opapi.aclnnTransMatmulWeight(None, size, executor, None)
        return code or again or self.acl.aclrtSynchronizeStream(None)

    def lies(self, dtype: torch.dtype) -> torch.Tensor:
        held = torch.zeros(self.elements, dtype=dtype)
        size = ctypes.c_size_t(self.elements * self.width)
        assert self.acl.aclrtMemcpy(ctypes.c_void_p(held.data_ptr()), size, self.memory, size, 2) == 0
        return held

    def close(self) -> None:
        assert self.opapi.aclDestroyTensor(self.handle) == 0 and self.acl.aclrtFree(self.memory) == 0


def test_a_weight_lies_in_tiles_of_16_rows_by_32_bytes() -> None:
    bytes_ = whole(20, 40).view(torch.uint8)
    for values in (real(20, 40).half(), whole(20, 40), bytes_, real(2, 20, 40).bfloat16()):
        weight = Weight(values)
        assert weight.arrange() == 0
        wide = 32 // values.element_size()
        padded = torch.zeros(*values.shape[:-2], 32, -(-40 // wide) * wide, dtype=values.dtype)
        padded[..., :20, :40] = values
        tiles = padded.unflatten(-1, (-1, wide)).unflatten(-3, (-1, 16)).movedim(-2, -4)
        assert torch.equal(weight.lies(values.dtype), tiles.flatten()) and weight.elements == padded.numel()
        assert weight.arrange() == 161002, "it lies so already"
        weight.close()


@pytest.mark.parametrize("transposed", [False, True])
def test_products_with_weights_in_that_format(transposed: bool) -> None:
    def weight_of(values: torch.Tensor) -> tuple[Weight, torch.Tensor]:
        values = values.mT.contiguous().mT if transposed else values
        weight = Weight(values)
        assert weight.arrange() == 0
        return weight, values

    x = real(5, 20).half()
    weight, values = weight_of(real(20, 24, seed=1).half())
    out = torch.zeros(5, 24).half()
    for function in ("aclnnMatmulWeightNz", "aclnnMm"):
        aclnn(function, x, weight.handle, out.fill_(-1), 0)
        close(out, x.double() @ values.double(), 1e-2)
    weight.close()
    batch, out = real(2, 5, 20).half(), torch.zeros(2, 5, 24).half()
    weight, values = weight_of(real(2, 20, 24, seed=1).half())
    aclnn("aclnnBatchMatMulWeightNz", batch, weight.handle, out, 0)
    close(out, batch.double() @ values.double(), 1e-2)
    weight.close()
    weight, values = weight_of(whole(20, 24, seed=1))
    steps, rows, columns, out = whole(5, 20), real(5).abs(), real(24, seed=1).abs(), torch.zeros(5, 24).half()
    absent = (None, None, None, None)
    want = (steps.double() @ values.double()) * columns * rows[:, None]
    aclnn("aclnnQuantMatmulWeightNz", steps, weight.handle, rows, columns, *absent, None, False, False, 0, out)
    close(out, want, 1e-2)
    aclnn("aclnnQuantMatmulV4", steps, weight.handle, columns, None, rows, None, False, False, out)
    close(out, want, 1e-2)
    third = (*absent, None, None)
    aclnn("aclnnFusedQuantMatmulWeightNz", steps, weight.handle, rows, columns, *third, "gelu_erf", 0, out)
    close(out, functional.gelu(want), 1e-2)
    weight.close()


def test_a_product_with_the_transpose_of_a_weight_that_was_moved() -> None:
    """As llama.cpp has it: the weight (n, k) is moved, and aclnnMm is given another tensor that says FRACTAL_NZ."""
    x, values = real(5, 20).half(), real(24, 20, seed=1).half()
    weight = Weight(values)
    assert weight.arrange() == 0
    turned, out = weight.made(values.T, 29), torch.zeros(5, 24).half()
    aclnn("aclnnMm", x, turned, out, 2)
    close(out, x.double() @ values.double().T, 1e-2)
    assert weight.opapi.aclDestroyTensor(turned) == 0
    weight.close()


def test_quantized_products() -> None:
    x, weight, bias = whole(5, 20), whole(20, 24, seed=1), whole(24, seed=2, dtype=torch.int32)
    scale, out = real(24).abs() / 8, torch.zeros(5, 24).half()
    encoded = torch.zeros(24, dtype=torch.int64)
    aclnn("aclnnTransQuantParamV2", scale, None, encoded)
    kept = (encoded & 0xFFFFFFFF).int().view(torch.float32)
    want = (x.double() @ weight.double() + bias) * kept
    aclnn("aclnnQuantMatmulV2", x, weight, bias, encoded.view(torch.uint64), False, False, out)
    close(out, want, 1e-2)
    aclnn("aclnnQuantMatmulV3", x, weight.T.contiguous(), encoded, None, bias, False, True, out)
    close(out, want, 1e-2)
    aclnn("aclnnQuantMatmulV4", x.T.contiguous(), weight, encoded, None, None, bias, True, False, out)
    close(out, want, 1e-2)
    a, b, small = real(5, 20).half(), real(20, 24, seed=1).half(), torch.zeros(5, 24, dtype=torch.int8)
    aclnn("aclnnBatchMatmulQuant", a, b, encoded.view(torch.uint64), None, False, False, small)
    steps_close(small, (a.double() @ b.double()) * kept)
    batches, weights = whole(3, 5, 32), whole(3, 32, 32, seed=1)
    rows, columns, total = real(3, 5).abs(), real(32).abs().bfloat16(), torch.zeros(5, 32).bfloat16()
    moved = Weight(weights)
    assert moved.arrange() == 0
    given = (rows, columns, *[None] * 5, False, False, 0, [0], False)
    aclnn("aclnnQuantMatmulReduceSumWeightNz", batches, moved.handle, *given, total)
    want = ((batches.double() @ weights.double()) * rows[..., None] * columns.double()).sum(0)
    torch.testing.assert_close(total.double(), want, rtol=1e-2, atol=want.abs().max().item() * 1e-2)
    moved.close()


def test_scales_encoded_on_the_host() -> None:
    opapi, _ = libraries()
    scales, offsets = (ctypes.c_float * 3)(1.0, 0.5, 2.0), (ctypes.c_float * 3)(1.4, -300.0, 7.0)
    result, count = ctypes.POINTER(ctypes.c_uint64)(), ctypes.c_uint64()
    three = ctypes.c_uint64(3)
    call = opapi.aclnnTransQuantParam
    assert call(scales, three, offsets, three, ctypes.byref(result), ctypes.byref(count)) == 0 and count.value == 3
    for value, scale, offset in zip(result[:3], (1.0, 0.5, 2.0), (1, -256, 7), strict=True):
        assert struct.unpack("<f", struct.pack("<I", value & 0xFFFFFFFF))[0] == scale
        assert value >> 37 & 0x1FF == offset & 0x1FF and value >> 46 == 1
    ctypes.CDLL(None).free(result)
    assert call(None, three, None, ctypes.c_uint64(0), ctypes.byref(result), ctypes.byref(count)) == 161001


# ---- quantization ----------------------------------------------------------------------------------------------------
def test_blocks_rotations_and_two_products() -> None:
    x = real(3, 200).half()
    out, scale = torch.zeros(3, 200, dtype=torch.int8), torch.zeros(3, 2)
    aclnn("aclnnDynamicBlockQuant", x, 0.0, "rint", 2, 1, 128, out, scale)
    want = torch.stack([x[:, :128].double().abs().amax(-1), x[:, 128:].double().abs().amax(-1)], 1) / 127
    close(scale, want)
    steps_close(out, x.double() / scale.double().repeat_interleave(128, 1)[:, :200])
    aclnn("aclnnDynamicBlockQuantV2", x, 100.0, "rint", 2, 1, 128, 0.0, out, scale)
    close(scale, want.clamp(max=0.01))
    tokens, left, right = real(4, 2, 8).half(), real(2, 2, seed=1).half(), real(8, 8, seed=2).half()
    packed, factor = torch.zeros(4, 2, 1, dtype=torch.int32), torch.zeros(4)
    aclnn("aclnnFlatQuant", tokens, left, right, 0.9, packed, factor)
    value = left.double() @ (tokens.double() @ right.double())
    close(factor, value.abs().amax((1, 2)) / (7 / 0.9), 1e-3)
    steps_close(unpacked(packed), value / factor.double()[:, None, None], -8, 7)
    part, factors = torch.full((4, 2, 1), 5, dtype=torch.int32), torch.zeros(4)
    aclnn("aclnnFlatQuantV3", tokens, left, right, torch.tensor([1, 2]), 0.9, 0.0, 1, part, factors)
    assert torch.equal(part[:3], packed[:3]) and (part[3] == 5).all() and factors[3] == 0
    wide, rotation = real(3, 128).half(), real(16, 16, seed=3).half()
    turned, rows = torch.zeros(3, 128, dtype=torch.int8), torch.zeros(3)
    aclnn("aclnnRotateQuant", wide, rotation, None, -1, "rint", 0, 0.0, False, turned, rows)
    value = (wide.double().reshape(-1, 16) @ rotation.double()).reshape(3, 128)
    close(rows, value.abs().amax(-1) / 127, 1e-3)
    steps_close(turned, value / rows.double()[:, None])


def test_back_from_whole_numbers() -> None:
    x, scale, offset = whole(3, 8), real(8), real(8, seed=1)
    out = torch.zeros(3, 8).half()
    aclnn("aclnnAscendAntiQuant", x, scale, offset, 1, True, out)
    close(out, (x.double() + offset.double()) * scale.double() ** 2, 2e-3)
    sums, by_column, by_row = whole(3, 8, low=-500, high=500, dtype=torch.int32), real(8).abs(), real(3, seed=1).abs()
    for bias in (whole(8, dtype=torch.int32), real(8, seed=2)):
        aclnn("aclnnDequantBias", sums, by_column, by_row, bias, 1, out)
        early = bias.double() if bias.dtype == torch.int32 else 0
        want = (sums.double() + early) * by_column * by_row.double()[:, None]
        close(out, want if bias.dtype == torch.int32 else want + bias, 2e-3)
    weight, steps, factor = real(8).abs() / 10, torch.zeros(3, 4, dtype=torch.int8), torch.zeros(3)
    value = situ(x.double() * weight.double(), linear=2.0, left=True)
    arguments = (x, weight, None, None)
    aclnn("aclnnDequantSituQuant", *arguments, None, None, None, 1.5, 2.0, True, "dynamic", steps, factor)
    close(factor, value.abs().amax(-1) / 127, 1e-3)
    assert (steps.double() - (value / factor.double()[:, None]).trunc()).abs().max() <= 1


def test_quantization_that_training_imitates() -> None:
    x, scale, zero = real(3, 4) * 3, real(4, seed=1).abs() + 0.05, torch.tensor([0, 1, -2, 3], dtype=torch.int32)
    out, mask = torch.zeros(3, 4), torch.zeros(3, 4, dtype=torch.bool)
    aclnn("aclnnFakeQuantPerChannelAffineCachemask", x, scale, zero, 1, -8, 7, out, mask)
    steps = (x / scale).round() + zero
    close(out, (steps.clamp(-8, 7) - zero) * scale)
    assert torch.equal(mask, (steps >= -8) & (steps <= 7)) and not mask.all()
    aclnn("aclnnFakeQuantPerTensorAffineCachemask", x, scale[:1], zero[1:2], 1.0, -8, 7, out, mask)
    steps = (x / scale[0]).round() + 1
    close(out, (steps.clamp(-8, 7) - 1) * scale[0])
    aclnn("aclnnFakeQuantPerTensorAffineCachemask", x, scale[:1], zero[1:2], 0.0, -8, 7, out, mask)
    assert torch.equal(out, x) and mask.all()


def test_scales_are_encoded_rounded_or_cut() -> None:
    scale = torch.tensor([1.0, 1 + 2**-11, 1 + 3 * 2**-11, 1 + 2**-10, 0.3])
    out = torch.zeros(5, dtype=torch.int64)
    for mode in (0, 1):
        aclnn("aclnnTransQuantParamV3", scale, None, mode, out)
        kept = (out & 0xFFFFFFFF).int().view(torch.float32)
        assert ((out >> 46) == 1).all()
        if mode == 0:
            assert kept[:4].tolist() == [1, 1, 1 + 2**-10, 1 + 2**-10] and kept[4] <= 0.3
        else:
            assert kept[:4].tolist() == [1, 1, 1 + 2 * 2**-10, 1 + 2**-10]
            assert (kept[4] - 0.3).abs() <= 0.3 * 2**-11


def test_swiglu_in_groups_of_rows() -> None:
    x, smooth, groups = real(5, 8), real(2, 4, seed=1).abs() + 0.5, torch.tensor([2, 5], dtype=torch.int32)
    out, factor = torch.zeros(5, 4, dtype=torch.int8), torch.zeros(5)
    aclnn("aclnnSwiGluQuant", x, smooth, None, groups, True, "dynamic", out, factor)
    left, right = x.double().chunk(2, -1)
    value = functional.silu(left) * right * smooth.double().repeat_interleave(torch.tensor([2, 3]), 0)
    close(factor, 127 / value.abs().amax(-1), 1e-3)
    steps_close(out, value * factor.double()[:, None])
