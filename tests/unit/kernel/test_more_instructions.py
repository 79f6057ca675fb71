"""Sorting, the math library and flags between cores, against numpy."""

from __future__ import annotations

import math
import platform
from pathlib import Path

import numpy as np
import pytest

from ophook_npu.errors import OphookError
from ophook_npu.kernel import Entry, Report
from ophook_npu.kernel.memory import Block
from ophook_npu.kernel.source import INPUT, OUTPUT, REAL, VALUE, WORKSPACE, Argument

SOURCE = Path(__file__).parent / "more_instructions.cpp"
X = (np.random.default_rng(5).standard_normal(128) * 2).astype(np.float32)


def run(name: str, x: np.ndarray, size: int, cores: int = 1, workspace: bool = False) -> tuple[np.ndarray, Report]:
    result = Block((size,), 0)
    arguments = [Argument("x", Block.of(x, name), INPUT), Argument("z", result, OUTPUT)]
    if workspace:
        arguments.append(Argument("workspace", Block((2 * size,), 0), WORKSPACE))
    meets = name.startswith("neighbours") or name == "nobody_sets"
    report = Entry(SOURCE.with_name("meetings.cpp") if meets else SOURCE, name=name).run(arguments, cores)
    return result.array(False), report


def test_sorting() -> None:
    x = X.copy()
    x[7] = x[90]  # equal values: the first place comes first
    z, report = run("sorts", x, 512)
    assert not report.findings, [str(f) for f in report.findings]
    order = np.argsort(-x, kind="stable")
    for first in (0, 256):
        assert np.array_equal(z[first : first + 128], x[order])
        assert np.array_equal(z[first + 128 : first + 256].view(np.uint32), order)


def test_padding() -> None:
    """isPad says where the value comes from; the padding's widths count with and without it."""
    x = np.arange(1, 21, dtype=np.float32)
    z, report = run("padded", x, 80)
    assert not report.findings, [str(f) for f in report.findings]
    for number, (row, value) in enumerate(zip(z[:64].reshape(4, 16), (7, 8, 9, 10), strict=True)):
        wanted = np.full(16, value, np.float32)
        wanted[3:8] = x[5 * number : 5 * number + 5]
        assert np.array_equal(row, wanted), number
    # Where neither side is padded, the rest of the block is the piece's first element.
    for row, piece in ((z[64:72], x[5:10]), (z[72:], x[10:15])):
        assert np.array_equal(row, [*piece, *[piece[0]] * 3])


def test_tensors_without_a_tpipe() -> None:
    z, report = run("placed", X, 256)
    assert not report.findings, [str(f) for f in report.findings]
    assert np.array_equal(z[:128], np.concatenate([X[:64] + 1, X[64:] * 2]))
    assert np.array_equal(z[128:].view(np.uint16).reshape(16, 16), z[:128].view(np.uint16).reshape(16, 16).T)


def test_math_library() -> None:
    z, report = run("maths", X, 16 * 128)
    assert not report.findings, [str(f) for f in report.findings]
    sigmoid = 1 / (1 + np.exp(-X.astype(np.float64)))
    with np.errstate(invalid="ignore"):
        own_power = np.power(X, X)
    wanted = [
        np.floor(X), np.ceil(X), np.round(X), np.trunc(X), np.tanh(X), sigmoid, [math.erf(v) for v in X], np.sign(X),
        np.sin(X), X**2, 2.0**X, own_power, np.fmod(X, sigmoid.astype(np.float32)), np.minimum(X, 1),
        np.maximum(X, -1), np.log(sigmoid),
    ]  # fmt: skip
    for number, (row, expected) in enumerate(zip(z.reshape(16, 128), wanted, strict=True)):
        assert np.allclose(row, expected, rtol=1e-5, atol=1e-4, equal_nan=True), number


def test_single_numbers_and_older_names() -> None:
    x = np.arange(128, dtype=np.float32)
    z, report = run("singles", x, 64)
    assert z[:5].tolist() == [-3, -2, 1 + 1 / 1024, 1, 3 + 63 + 3]
    assert z[16:18].tolist() == z[24:26].tolist() == [x[:64].sum(), x[64:].sum()]
    # No page says what a device gives for a division by 0; a source may do it and not use the result.
    assert z[32:38].tolist() == [0, 7] * 3
    told = {f.kind for f in report.findings}
    assert not report.errors and told == ({"division_by_zero"} if platform.machine() == "x86_64" else set()), told


def test_names_that_the_vendors_operators_use() -> None:
    x = np.arange(24, dtype=np.float32)
    z, report = run("older", x, 24)
    assert not report.findings, [str(f) for f in report.findings]
    assert z.tolist() == [*x[:8], *x[16:], *[2.5] * 8]


def test_dequantization() -> None:
    x = np.random.default_rng(3).integers(-500, 500, 64).astype(np.int16)
    z, report = run("dequantized", x.view(np.float32), 64)
    assert not report.findings, [str(f) for f in report.findings]
    signed, plain = z[:32].view(np.int8).reshape(4, 2, 16), z[32:].view(np.uint8).reshape(4, 2, 16)
    blocks, lanes = x.reshape(4, 16).astype(np.float64), np.arange(16)
    assert np.array_equal(signed[:, 0], np.clip(np.rint(blocks * 0.5) - 3, -128, 127))
    assert np.array_equal(signed[:, 1], np.clip(np.rint(blocks * 0.25), -128, 127))
    assert not plain[:, 0].any() and np.array_equal(plain[:, 1], np.clip(np.rint(blocks * lanes / 8) + lanes, 0, 255))


def test_whole_numbers_to_half_with_a_rounding_mode() -> None:
    x = (np.arange(64, dtype=np.float32) - 32) * 257
    z, report = run("narrowed", x, 64)
    assert not report.findings, [str(f) for f in report.findings]
    assert np.array_equal(z, (x / 2).astype(np.float16))


@pytest.mark.parametrize("name", ["neighbours_right", "neighbours_by_all"])
def test_flags_between_cores(name: str) -> None:
    x = np.arange(3 * 128, dtype=np.float32)
    z, report = run(name, x, x.size, 3, True)
    assert not report.findings, [str(f) for f in report.findings]
    assert np.array_equal(z, x + np.roll(x, -128))


def test_the_first_cores_meet_without_the_others() -> None:
    x = np.arange(2 * 128, dtype=np.float32)
    z, report = run("neighbours_of_two", x, x.size, 3, True)
    assert not report.findings, [str(f) for f in report.findings]
    assert np.array_equal(z, x + np.roll(x, -128))


def test_buffers_at_places_of_the_kernels_choice() -> None:
    z, report = run("at_places", X, 72)
    assert not report.findings, [str(f) for f in report.findings]
    assert z[:3].tolist() == [1024 - 64, 128, 6 * 512] and np.array_equal(z[8:], X[64:])


def test_a_missing_flag_between_cores_is_found() -> None:
    _, report = run("neighbours_wrong", np.zeros(3 * 128, np.float32), 3 * 128, 3, True)
    assert "missing_sync_all" in {f.kind for f in report.errors}


def test_a_flag_that_nobody_sets_is_a_deadlock() -> None:
    _, report = run("nobody_sets", np.zeros(8, np.float32), 8, 2, True)
    found = [f for f in report.findings if f.kind == "deadlock"]
    assert found and "waits for flag 3, which nobody sets" in found[0].what and found[0].line


def test_operators_of_whole_tensors_and_numbers_by_value() -> None:
    result = Block((128,), 0)
    arguments = [
        Argument("x", Block.of(X, "x"), INPUT), Argument("z", result, OUTPUT), Argument("whole", 7, VALUE),
        Argument("real", 0.25, REAL), Argument("other", -3, VALUE),
    ]  # fmt: skip
    report = Entry(SOURCE, name="by_operators").run(arguments, 1)
    assert not report.findings, [str(f) for f in report.findings]
    z = result.array(False)
    assert z[:4].tolist() == [7, 0.25, -3, 5]
    assert np.allclose(z[4:], ((X + X) * X - X)[4:], rtol=1e-6)
    with pytest.raises(OphookError, match="gets 33 arguments; allowed: up to 32"):
        Entry(SOURCE, name="by_operators").run([Argument("n", 1, VALUE)] * 33, 1)


def test_cores_that_wait_for_one_another() -> None:
    x = np.arange(3 * 128, dtype=np.float32)
    z, report = run("one_after_another", x, x.size, 3, True)
    assert not report.findings, [str(f) for f in report.findings]
    assert np.array_equal(z.reshape(3, 128), np.cumsum(x.reshape(3, 128), 0))


def test_instructions_that_compute_and_convert() -> None:
    z, report = run("composites", X, 6 * 128)
    assert not [f for f in report.findings if f.kind != "written_twice"], [str(f) for f in report.findings]
    x = X.astype(np.float16).astype(np.float32)
    sums, products, bytes_, scaled, added, twice = z.reshape(6, 128)
    assert np.array_equal(sums, np.maximum(X + X, 0).astype(np.float16))
    quarter = (0.25 * X).astype(np.float16).astype(np.float32)
    assert np.array_equal(products, np.rint((x * quarter).astype(np.float16)))
    assert np.array_equal(bytes_, np.clip(2 * np.rint(40 * X), 0, 127)) and bytes_.max() == 127
    assert np.array_equal(scaled, np.maximum(np.rint(8 * X), 0))
    assert np.allclose(added, np.maximum(X * X + X, 0), rtol=1e-6, atol=1e-6)
    assert np.array_equal(twice, X + X)


def test_masks_of_bits() -> None:
    z, report = run("masked", X, 64 + 2 * 128)
    assert not [f for f in report.findings if f.severity == "error"], [str(f) for f in report.findings]
    places = [0, 2, 64, 66]
    chosen = np.zeros_like(X)
    chosen[places] = X[places]
    assert np.allclose(z[0], X[places].sum(), rtol=1e-6) and (z[8], z[16]) == (X[places].min(), X[places].max())
    assert np.array_equal(z[64:192], chosen)
    assert np.allclose(z[192:], 3 * chosen, rtol=1e-6)


def test_bits_of_a_mask_behind_a_tail_are_nobodys() -> None:
    z, report = run("chosen_tail", X, 104)
    assert not report.findings, [str(f) for f in report.findings]
    assert np.array_equal(z, np.maximum(X[:104], 0))
    for name, size, call in (("chosen_behind", 128, "DataCopy"), ("chosen_by_nothing", 104, "Select")):
        _, report = run(name, X, size)
        assert [(f.kind, f.call) for f in report.errors][:1] == [("uninitialized", call)], (name, report.findings)


def test_elements_one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    x = np.arange(64, dtype=np.float32)
    z, report = run("elements", x, 192)
    wanted = x.copy()
    wanted[:4] = 5, 1 + 5 * 2, 5, -3
    assert np.array_equal(z[:64], wanted) and np.array_equal(z[64:128], np.where(np.arange(64) % 2, 2, wanted))
    assert np.array_equal(z[129:], np.arange(129, 192))
    assert report.output == "0000: 5 11 5 -3 4 5 6 7\n0008: 8\n"
    assert np.array_equal(np.fromfile("elements.bin", np.float32), wanted)
    (finding,) = report.findings
    assert (finding.kind, finding.call) == ("uninitialized", "GetValue"), str(finding)


def test_an_element_is_a_scalar() -> None:
    """As a reference is on the device, for which the data type is deduced."""
    x = np.arange(128, dtype=np.float32)
    z, report = run("by_elements", x, 512)
    assert not report.findings, [str(f) for f in report.findings]
    np.testing.assert_array_equal(z[:128], 2 * x)
    np.testing.assert_array_equal(z[128:256], x + 2)
    np.testing.assert_array_equal(z[256:384], np.full(128, 2))
    np.testing.assert_array_equal(z[384:], np.where(x < 2, x, -1))


def test_masks_of_bits_and_of_registers() -> None:
    x = np.arange(128, dtype=np.float32)
    z, report = run("chosen_by_masks", x, 12 * 64)
    lane, first = np.arange(64), x[:64]
    odd = lane % 2 == 1
    np.testing.assert_array_equal(z[:64], np.where(odd, first, -1))  # each is below 64
    np.testing.assert_array_equal(z[64:128], np.where(odd, 64, -1))
    np.testing.assert_array_equal(z[128:192], np.where(lane < 40, np.where(first >= 10, first, 0.5), -1))
    np.testing.assert_array_equal(z[192:256], np.where(first >= 10, first, 64))
    np.testing.assert_array_equal(z[256:320], np.where(lane < 8, np.where(first >= 10, first, 64), -1))
    np.testing.assert_array_equal(z[320:384], np.where(lane < 8, np.where(first >= 10, first, 5), -1))
    np.testing.assert_array_equal(z[384:448], np.where(odd, first + 1, -1))
    np.testing.assert_array_equal(z[448:512][odd], 7 + lane[odd])
    np.testing.assert_array_equal(z[512:576], np.where(lane < 8, 1 + first * first, 1))
    np.testing.assert_array_equal(z[576:640], np.floor(first / 4 + 0.5))
    np.testing.assert_array_equal(z[640:704], np.where(lane > 0, -1, 0))
    np.testing.assert_array_equal(z[704:], x[64:])  # of bits that `v != o` made; equal where it is 64
    assert report.output == "DumpTensor 1, core 0: [\n  0, 1, 2, \n  3, 4, -\n]\n"
    assert not report.findings, [str(f) for f in report.findings]


def test_enhanced_copies_are_plain_ones() -> None:
    z, report = run("enhanced", X, 32)
    assert not report.findings, [str(f) for f in report.findings]
    np.testing.assert_array_equal(z, np.tile(np.concatenate([X[:8], X[16:24]]), 2))
