"""The cube unit by its own instructions, against torch: all pairs of types, tails, bias, conversions on the way out."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
import torch
from test_matmul import tiling

from ophook_npu.kernel import Entry
from ophook_npu.kernel.findings import KernelReport
from ophook_npu.kernel.memory import Block
from ophook_npu.kernel.report import MEMORIES
from ophook_npu.kernel.source import INPUT, OUTPUT, TILING, Argument, Settings

SOURCE = Path(__file__).parent / "cube.cpp"
TYPES = {"half": torch.float16, "bfloat": torch.bfloat16, "float": torch.float32, "byte": torch.int8}
SIGN = 1 << 46  # of what a factor is for: the 8 bits have one
NUMBERS = {torch.float32: 0, torch.float16: 1, torch.int8: 2, torch.int32: 3, torch.bfloat16: 27}


def inputs(dtype: torch.dtype, *shape: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(sum(shape))
    if dtype == torch.int8:
        return torch.randint(-20, 20, shape, generator=generator, dtype=torch.int8)
    return torch.randn(shape, generator=generator).to(dtype)


def run(
    name: str, a: torch.Tensor, b: torch.Tensor, out: torch.dtype, *, bias: torch.Tensor | None = None,
    factors: torch.Tensor | None = None, relu: bool = False, nz: int = 0, hf32: int = 0,
    scale: float = 1.0, more: int = 0, times: int = 1, on_wait: bool = True, shape: tuple[int, ...] | None = None,
) -> tuple[torch.Tensor, KernelReport]:  # fmt: skip
    (m, k), n = a.shape, b.shape[1]
    z = Block(shape or (m, n), NUMBERS[out])
    (bits,) = struct.unpack("I", struct.pack("f", scale))
    bits |= more
    tiling = np.frombuffer(struct.pack("8IQ", m, n, k, times, bias is not None, relu, nz, hf32, bits), np.uint8)
    extra = next((t for t in (bias, factors) if t is not None), torch.zeros(n))
    arguments = [
        Argument("a", Block.of(a, name), INPUT), Argument("b", Block.of(b, name), INPUT),
        Argument("bias", Block.of(extra, name), INPUT),
        Argument("z", z, OUTPUT), Argument("tiling", Block.of(tiling, name), TILING),
    ]  # fmt: skip
    report = Entry(SOURCE, name=name).run(arguments, 1, settings=Settings(on_wait=on_wait, strict=True))
    return z.array(True), report


def test_the_report_counts_the_cubes_memories() -> None:
    a, b = inputs(torch.float16, 32, 16), inputs(torch.float16, 16, 48)
    _, report = run("halves", a, b, torch.float32)
    counted = {name: report.counters[f"{name}_used"] for name in MEMORIES}
    wanted = {"ub": 0, "l0a": 32 * 16 * 2, "l0b": 16 * 48 * 2, "l0c": 32 * 48 * 4, "bt": 1024, "fb": 0}
    assert counted == wanted | {"l1": 32 * 16 * 2 + 16 * 48 * 2 + 48 * 4 + 48 * 8}


def product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a.int() @ b.int() if a.dtype == torch.int8 else a.float() @ b.float()


@pytest.mark.parametrize(("m", "n", "k"), [(16, 16, 16), (48, 32, 64), (33, 96, 40), (17, 5, 3), (128, 64, 128)])
@pytest.mark.parametrize("kind", TYPES)
def test_products(kind: str, m: int, n: int, k: int) -> None:
    a, b = inputs(TYPES[kind], m, k), inputs(TYPES[kind], k, n)
    out = torch.int32 if kind == "byte" else torch.float32
    for times in (1, 3):
        z, report = run("halves" if kind == "half" else f"{kind}s", a, b, out, times=times)
        assert not report.findings, "\n".join(map(str, report.findings))
        torch.testing.assert_close(z, times * product(a, b), rtol=1e-4, atol=1e-4)


def test_factors_of_float_may_be_rounded_to_hf32() -> None:
    """The first and the third are halfway between two numbers of HF32, 1 + n / 2,048."""
    a = (1 + torch.tensor([[0.5, 0.5 + 2.0**-12, 1.5]]) / 2048).expand(16, 3).contiguous()
    b = torch.eye(3, 16)
    for hf32, wanted in (
        (0, a[0].tolist()),
        (1, [1, 1 + 1 / 2048, 1 + 2 / 2048]),
        (2, [1, 1 + 1 / 2048, 1 + 1 / 2048]),
    ):
        z, report = run("floats", a, b, torch.float32, hf32=hf32)
        assert not report.findings and z[0, :3].tolist() == wanted, (hf32, z[0, :3].tolist())


@pytest.mark.parametrize("kind", TYPES)
def test_bias_is_added_once(kind: str) -> None:
    a, b = inputs(TYPES[kind], 32, 48), inputs(TYPES[kind], 48, 64)
    out = torch.int32 if kind == "byte" else torch.float32
    bias = (torch.arange(64) * 3 - 50).to(out)
    z, report = run("halves" if kind == "half" else f"{kind}s", a, b, out, bias=bias)
    assert not report.findings, "\n".join(map(str, report.findings))
    torch.testing.assert_close(z, product(a, b) + bias, rtol=1e-4, atol=1e-4)


def test_conversions_on_the_way_out() -> None:
    a, b = inputs(torch.float16, 32, 16), inputs(torch.float16, 16, 32)
    wanted = product(a, b)
    z, report = run("halves_to_half", a, b, torch.float16, relu=True)
    assert not report.findings, "\n".join(map(str, report.findings))
    torch.testing.assert_close(z, wanted.relu().half(), rtol=2e-3, atol=1e-3)
    z, report = run("halves_to_bytes", a, b, torch.int8, scale=8.0, more=SIGN)
    assert not report.findings and (z.int() - (wanted * 8).round().clamp(-128, 127).int()).abs().max() <= 1
    a, b = a.bfloat16(), b.bfloat16()
    z, report = run("bfloats_to_bfloat", a, b, torch.bfloat16)
    assert not report.findings
    torch.testing.assert_close(z.float(), product(a, b), rtol=1e-2, atol=1e-2)
    a, b = inputs(torch.int8, 32, 32), inputs(torch.int8, 32, 32)
    z, report = run("bytes_to_half", a, b, torch.float16, scale=0.125)
    assert not report.findings and torch.equal(z, (product(a, b) * 0.125).half())
    scales = 2.0 ** -torch.arange(32).float().remainder(5)
    factors = scales.view(torch.int32).long()
    z, report = run("bytes_to_half_by_column", a, b, torch.float16, times=2, factors=factors)  # by SetFixPipeConfig
    assert not report.findings and torch.equal(z, (2 * product(a, b) * scales).half())
    z, report = run("bytes_to_half_by_column", a, b, torch.float16, factors=factors)
    assert not report.findings and torch.equal(z, (product(a, b) * scales).half())
    z, report = run("bytes_to_bytes", a, b, torch.int8, scale=0.125, more=SIGN, relu=True)
    assert not report.findings and torch.equal(z.int(), (product(a, b) * 0.125).round().clamp(0, 127).int())


def test_bits_of_a_factor() -> None:
    a, b = inputs(torch.int8, 32, 32), inputs(torch.int8, 32, 32)
    z, report = run("bytes_to_bytes", a, b, torch.int8, scale=0.125)  # without a sign
    assert not report.findings
    assert torch.equal(z.view(torch.uint8).int(), (product(a, b) * 0.125).round().clamp(0, 255).int())
    z, report = run("bytes_to_bytes", a, b, torch.int8, more=SIGN | (-200 & 0x1FF) << 37)  # to 9 bits, then the offset
    assert not report.findings and torch.equal(z.int(), (product(a, b).clamp(-256, 255) - 200).clamp(-128, 127))
    z, report = run("bytes_to_half", a, b, torch.float16, scale=0.5, more=1 << 36 | 3 << 32)
    assert not report.findings and torch.equal(z, ((product(a, b) >> 4) * 0.5).half())


def test_sixteen_columns_behind_fractals_of_thirty_two() -> None:
    a, b = inputs(torch.int8, 32, 32), inputs(torch.int8, 32, 48)
    z, report = run("bytes_to_bytes", a, b, torch.int8, scale=0.125, more=SIGN, nz=True, shape=(32 * 48,))
    assert not report.findings, "\n".join(map(str, report.findings))
    wanted = (product(a, b) * 0.125).round().clamp(-128, 127).to(torch.int8)
    assert torch.equal(z[: 32 * 32].view(32, 32), wanted[:, :32])
    assert torch.equal(z[32 * 32 :].view(32, 16), wanted[:, 32:])


def test_fractals_in_the_other_order() -> None:
    x = inputs(torch.float16, 4, 256)
    z = Block((4, 256), 1)
    arguments = [Argument("x", Block.of(x, "x"), INPUT), Argument("z", z, OUTPUT)]
    report = Entry(SOURCE, name="backwards").run(arguments, 1, settings=Settings(on_wait=True))
    assert not report.errors, [str(f) for f in report.errors]
    assert torch.equal(z.array(True), x.flip(0))


def test_the_result_may_stay_in_fractals() -> None:
    a, b = inputs(torch.float16, 32, 16), inputs(torch.float16, 16, 48)
    z, report = run("halves", a, b, torch.float32, nz=True, shape=(3, 32, 16))
    assert not report.findings, "\n".join(map(str, report.findings))
    torch.testing.assert_close(z.permute(1, 0, 2).reshape(32, 48), product(a, b), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["convolution", "convolution_packed", "convolution_from_the_fifth"])
def test_a_convolution_by_image_to_matrix(name: str) -> None:
    x, filters = inputs(torch.float16, 1, 32, 6, 7), inputs(torch.float16, 16, 32, 3, 3)
    image = x.reshape(2, 16, 6, 7).permute(0, 2, 3, 1).contiguous()  # channels in blocks of 16, last
    # (blocks of channels, 3, 3, filters, 16): each fractal is 16 filters by 16 of the depth
    weights = filters.reshape(16, 2, 16, 3, 3).permute(1, 3, 4, 0, 2).contiguous()
    first = 5 if "fifth" in name else 0
    z = Block((12 - first, 16), 0)
    arguments = [
        Argument("image", Block.of(image, "image"), INPUT), Argument("filters", Block.of(weights, "filters"), INPUT),
        Argument("bias", Block((1,), 0), INPUT), Argument("z", z, OUTPUT), Argument("tiling", Block((8,), 4), TILING),
    ]  # fmt: skip
    report = Entry(SOURCE, name=name).run(arguments, 1, settings=Settings(on_wait=True, strict=True))
    assert not report.findings, "\n".join(map(str, report.findings))
    wanted = torch.nn.functional.conv2d(x.float(), filters.float(), stride=2, padding=1)
    torch.testing.assert_close(z.array(True), wanted[0].reshape(16, 12).t()[first:], rtol=1e-3, atol=1e-3)


def test_conversions_that_do_not_exist_are_refused() -> None:
    a, b = inputs(torch.float16, 16, 16), inputs(torch.float16, 16, 24)
    _, report = run("halves", a, b, torch.float32, nz=True)
    assert "multiples of 16" in next(f.what for f in report.errors if f.call == "Fixpipe")


def test_older_parameters_of_fixpipe() -> None:
    a, b = inputs(torch.float16, 40, 16), inputs(torch.float16, 16, 24)
    z, report = run("halves_to_half", a, b, torch.float16, nz=2, relu=True)
    assert not report.findings, "\n".join(map(str, report.findings))
    torch.testing.assert_close(z, product(a, b).relu().half(), rtol=2e-3, atol=1e-3)
    a, b = inputs(torch.float16, 32, 16), inputs(torch.float16, 16, 48)
    z, report = run("halves", a, b, torch.float32, nz=3, shape=(3, 32, 16))
    assert not report.findings, "\n".join(map(str, report.findings))
    torch.testing.assert_close(z.permute(1, 0, 2).reshape(32, 48), product(a, b), rtol=1e-4, atol=1e-4)
    report = Entry(SOURCE, name="older_matrices").run([Argument("z", Block((16,), 1), OUTPUT)], 1)
    assert any("ndNum other than 1 is not simulated: use FixpipeParamsV220" in f.what for f in report.errors)


def test_a_tensor_that_is_only_declared_is_the_beginning_of_l0c() -> None:
    z = Block((256,), 0)
    report = Entry(SOURCE, name="only_declared").run([Argument("z", z, OUTPUT)], 1)
    assert not report.errors and (z.array(False) == 16).all(), [str(f) for f in report.errors]


SPARSE = 32, 48, 128  # m, n, k


def sparse_case() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """x, the dense half of w by columns, its index by columns, and x w."""
    m, n, k = SPARSE
    random = np.random.default_rng(5)
    x = random.integers(-9, 10, (m, k), np.int8)
    whole, dense = np.zeros((n, k), np.int8), np.zeros((n, k // 2), np.int8)
    index = np.zeros((n, k // 8), np.uint8)
    for j in range(n):
        for g in range(k // 4):
            first, second = sorted(random.choice(4, 2, replace=False))
            dense[j, 2 * g : 2 * g + 2] = whole[j, [4 * g + first, 4 * g + second]] = random.integers(1, 10, 2)
            index[j, g // 2] |= (first | second - 1 << 2) << 4 * (g % 2)
    wanted = torch.from_numpy(x.astype(np.int32)) @ torch.from_numpy(whole.astype(np.int32)).T
    return torch.from_numpy(x), torch.from_numpy(dense), torch.from_numpy(index), wanted


def run_sparse(
    name: str, w: torch.Tensor, tiling: Block, source: Path = SOURCE, x: torch.Tensor | None = None
) -> torch.Tensor:
    given, _, index, _ = sparse_case()
    m, n, k = SPARSE
    if x is None:  # in fractals as L0A has them
        x = given.reshape(m // 16, 16, k // 32, 32).permute(0, 2, 1, 3).contiguous()
    places = index.reshape(n // 16, 16, k // 64, 8).permute(2, 0, 1, 3).contiguous()
    z = Block((m, n), 3)
    arguments = [
        Argument("x", Block.of(x, "x"), INPUT), Argument("w", Block.of(w, "w"), INPUT),
        Argument("index", Block.of(places, "index"), INPUT), Argument("z", z, OUTPUT),
        Argument("tiling", tiling, TILING),
    ]  # fmt: skip
    report = Entry(source, name=name).run(arguments, 1, settings=Settings(on_wait=True, strict=True))
    assert not report.findings, "\n".join(map(str, report.findings))
    return z.array(True)


def test_a_right_matrix_with_two_of_each_four_values() -> None:
    _, n, k = SPARSE
    _, dense, _, wanted = sparse_case()
    fractals = dense.reshape(n // 16, 16, k // 64, 32).permute(2, 0, 1, 3).contiguous()
    nothing = Block.of(np.zeros(1, np.int32), "tiling")
    assert torch.equal(run_sparse("sparse", fractals, nothing), wanted)
    with pytest.raises(AssertionError, match="has loaded no index"):
        run_sparse("sparse_without_index", fractals, nothing)


def test_a_matmul_object_with_two_of_each_four_values() -> None:
    m, n, k = SPARSE
    x, dense, _, wanted = sparse_case()
    sizes = tiling(M=m, N=n, Ka=k, Kb=k, singleCoreM=m, singleCoreN=n, singleCoreK=k, baseM=16, baseN=32, baseK=64)
    assert torch.equal(run_sparse("sparse_object", dense, sizes, SOURCE.with_name("cube_only.cpp"), x), wanted)


YUV420SP, XRGB, RGB, YUV400 = 0, 1, 4, 9
PICTURE = (
    "format", "width", "height", "left", "top", "row", "rows", "above", "below", "before", "behind", "padding", "four",
    "swap", "line", "colors",
)  # fmt: skip


def picture(name: str, *, short: int = 0, **given: int) -> tuple[np.ndarray, np.ndarray, KernelReport]:
    """What LoadImageToLocal gives, and what numpy makes of the same image; without the last ``short`` bytes of it."""
    t = dict.fromkeys(PICTURE, 0) | {"format": RGB, "width": 6, "height": 4, "left": 2, "row": 12, "rows": 8} | given
    rows, row = t["rows"], t["row"]
    each = {YUV420SP: 1.5, XRGB: 4, RGB: 3, YUV400: 1}[t["format"]]
    x = np.random.default_rng(4).integers(0, 256, int(rows * row * each)).astype(np.uint8)
    if t["format"] == YUV420SP:
        colors = x[rows * row :].reshape(rows // 2, row // 2, 2)[:, :, :: -1 if t["swap"] & 2 else 1]
        pixels = np.dstack([x[: rows * row].reshape(rows, row), colors.repeat(2, 0).repeat(2, 1)])
    else:
        pixels = x.reshape(rows, row, -1)
        if t["format"] == XRGB:
            pixels = pixels[:, :, 1:] if t["swap"] & 4 else pixels[:, :, :3]
        if t["swap"] & 1 and t["format"] != YUV400:
            pixels = pixels[:, :, ::-1]
    height = 1 if t["line"] else t["height"]
    part = pixels[t["top"] : t["top"] + height, t["left"] : t["left"] + t["width"]].astype(np.int64)
    if t["colors"] and t["format"] != YUV400:
        matrix = np.array([[298, 0, 409], [298, -100, -208], [298, 516, 0]])
        if t["format"] == YUV420SP:
            part = (part - [16, 128, 128]) @ matrix.T >> 8
        else:
            part = (part @ matrix.T >> 8) + [3, 5, 9]
        part = part.clip(0, 255)
    own = part.shape[2]
    if name == "of_bytes":
        values = (part - np.array([100, 20, 0])[:own]).clip(-128, 127).astype(np.float64)
    else:
        values = (part - np.array([100, 20, 0])[:own] - np.array([0, 0, -8])[:own]) * np.array([1, 0.25, 1])[:own]
    sides = ((t["above"], t["below"]), (t["before"], t["behind"]), (0, 0))
    if t["padding"]:
        values = np.pad(values, sides, "symmetric" if t["padding"] == 3 else "edge")
    else:
        values = np.dstack([np.pad(values[:, :, i], sides[:2], constant_values=i + 1) for i in range(own)])
    wide = np.full((*values.shape[:2], 4 if t["four"] else 32 if name == "of_bytes" else 16), 7.0)
    wide[:, :, :own] = values
    z = Block((wide.size,), 2 if name == "of_bytes" else 1)
    numbers = Block.of(np.array([t[field] for field in PICTURE], np.uint32), "tiling")
    arguments = [
        Argument("x", Block.of(x[: len(x) - short], name), INPUT), Argument("z", z, OUTPUT),
        Argument("tiling", numbers, TILING),
    ]  # fmt: skip
    report = Entry(SOURCE.with_name("pictures.cpp"), name=name).run(arguments, 1, settings=Settings(on_wait=True))
    return z.array(False).astype(np.float64).reshape(wide.shape), wide, report


@pytest.mark.parametrize("name", ["of_bytes", "of_halves"])
@pytest.mark.parametrize(
    "given",
    [
        {}, {"top": 3, "four": 1, "swap": 1}, {"format": XRGB, "swap": 4}, {"format": XRGB, "swap": 5, "line": 1},
        {"format": XRGB}, {"format": YUV400, "height": 8, "before": 2, "behind": 32}, {"format": YUV420SP},
        {"format": YUV420SP, "top": 2, "swap": 2, "padding": 1, "above": 3, "below": 1, "before": 4},
        {"padding": 3, "above": 4, "behind": 6, "before": 1}, {"before": 3, "behind": 1, "four": 1}, {"colors": 1},
        {"format": YUV420SP, "colors": 1}, {"format": YUV420SP, "width": 12, "height": 8, "left": 0},
    ],
)  # fmt: skip
def test_images_become_feature_maps(name: str, given: dict[str, int]) -> None:
    z, wanted, report = picture(name, **given)
    assert not report.findings, [str(f) for f in report.findings]
    np.testing.assert_array_equal(z, wanted.astype(np.float16))


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"left": 1}, "horizStartPos is odd"), ({"format": YUV420SP, "top": 1}, "vertStartPos and srcHorizSize"),
        ({"above": 1}, "padding of constants"), ({"padding": 3, "before": 7}, "no larger than the part"),
        ({"padding": 2}, "paddingMode 2 is not simulated"), ({"before": 33}, "leftPadSize is 33"),
        ({"width": 1}, "horizSize is 1"), ({"format": YUV400, "colors": 1}, "YUV400 has no colors"),
    ],
)  # fmt: skip
def test_images_that_are_refused(given: dict[str, int], what: str) -> None:
    *_, report = picture("of_halves", **given)
    assert any(what in f.what for f in report.errors), [str(f) for f in report.findings]


def test_an_image_ends_where_its_memory_does_and_needs_functions() -> None:
    *_, report = picture("of_halves", top=4, short=200)
    assert "global_bounds" in {f.kind for f in report.errors}, [str(f) for f in report.findings]
    *_, report = picture("without_functions")
    assert any("SetAippFunctions was not called" in f.what for f in report.errors)
