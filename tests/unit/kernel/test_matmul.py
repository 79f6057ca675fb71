"""Matmul objects against torch, and the tiling of host and kernel. The example's operator runs its own inputs."""

from __future__ import annotations

import ctypes
import re
import runpy
from pathlib import Path

import numpy as np
import pytest
import torch

from ophook_npu import kernel
from ophook_npu.kernel import Entry
from ophook_npu.kernel.findings import KernelReport
from ophook_npu.kernel.memory import Block
from ophook_npu.kernel.operator import _Call
from ophook_npu.kernel.package_text import aclnn
from ophook_npu.kernel.source import BOTH, INPUT, OUTPUT, TILING, WORKSPACE, Argument, Settings
from ophook_npu.sim.build import CSRC

HERE = Path(__file__).parent
EXAMPLE = HERE.parents[2] / "examples" / "ascendc_matmul"
FIELDS = re.findall(
    r"^CUBE_TILING\((\w+)\)", (CSRC / "ascendc/include/ascendc/cube_tiling.inc").read_text(), re.MULTILINE
)
M, N, K = 64, 96, 48


def tiling(**given: int) -> Block:
    values = {
        "usedCoreNum": 2, "M": M, "N": N, "Ka": K, "Kb": K, "singleCoreM": M // 2, "singleCoreN": N, "singleCoreK": K,
        "baseM": 16, "baseN": 32, "baseK": 32, "depthA1": 2, "depthB1": 2, "stepM": 1, "stepN": 1,
        "stepKa": 1, "stepKb": 1, "dbL0A": 1, "dbL0B": 1, "dbL0C": 1, **given,
    }  # fmt: skip
    assert not set(values) - set(FIELDS)
    return Block.of(np.array([values.get(name, 0) for name in FIELDS], np.int32), "tiling")


def run(
    name: str, a: torch.Tensor, b: torch.Tensor, z: Block, t: Block, *, source: str = "matmul.cpp", role: int = OUTPUT,
    blocks: int = 1,
) -> KernelReport:  # fmt: skip
    arguments = [
        Argument("a", Block.of(a, name), INPUT), Argument("b", Block.of(b, name), INPUT), Argument("z", z, role),
        Argument("workspace", Block((M * N,), 0), WORKSPACE), Argument("tiling", t, TILING),
    ]  # fmt: skip
    report = Entry(HERE / source, name=name).run(arguments, blocks, settings=Settings(on_wait=True, strict=True))
    assert not report.findings, "\n".join(map(str, report.findings))
    return report


def matrices(dtype: torch.dtype = torch.float16, k: int = K, n: int = N) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(3)
    return torch.randn(M, k, generator=generator).to(dtype), torch.randn(k, n, generator=generator).to(dtype)


def nz(x: torch.Tensor) -> torch.Tensor:
    """Rows by columns of 16 as fractals lie in memory."""
    return x.reshape(x.shape[0], -1, 16).permute(1, 0, 2).contiguous()


@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize("name", ["through_the_vector_core", "asked_for_at_once", "from_the_workspace"])
def test_tiles_pass_through_the_vector_core(name: str, order: int) -> None:
    a, b = matrices()
    z = Block((M, N), 0)
    run(name, a, b, z, tiling(iterateOrder=0, baseM=16 + 16 * order))
    wanted = torch.nn.functional.leaky_relu(a.float() @ b.float(), 0.1)
    torch.testing.assert_close(z.array(True), wanted, rtol=1e-4, atol=1e-4)


def test_a_tile_goes_to_two_places() -> None:
    a, b = matrices()
    z = Block((M, N), 0)
    run("to_both", a, b, z, tiling(iterateOrder=0))
    torch.testing.assert_close(z.array(True), 3 * (a.float() @ b.float()), rtol=1e-4, atol=1e-4)


def test_one_product_serves_both_vector_cores() -> None:
    a, b = matrices()
    z = Block((M, N), 0)
    run("shared_by_both", a, b, z, tiling(singleCoreM=M))
    torch.testing.assert_close(z.array(True), a.float() @ b.float(), rtol=1e-4, atol=1e-4)


def test_a_product_of_a_product() -> None:
    a, b = matrices(torch.float32, 48, 48)
    z = Block((M, 48), 0)
    run("one_after_the_other", a, b, z, tiling(N=48, singleCoreN=48))
    torch.testing.assert_close(z.array(True), a @ b @ b, rtol=1e-3, atol=1e-3)


def test_a_batch_with_one_right_matrix() -> None:
    generator = torch.Generator().manual_seed(4)
    a, b = torch.randn(3, M, K, generator=generator).half(), torch.randn(K, N, generator=generator).half()
    z = Block((3, M, N), 0)
    run("batched", a, b, z, tiling())
    torch.testing.assert_close(z.array(True), a.float() @ b.float(), rtol=1e-4, atol=1e-4)


def test_products_of_a_group_are_added() -> None:
    generator = torch.Generator().manual_seed(5)
    heads, groups, m, n, k = 2, 3, 48, 32, 32
    a = torch.randn(heads * groups, m, k, generator=generator).half()
    b = torch.randn(heads * groups, k, n, generator=generator).half()
    z = Block((m, heads, n), 0)
    layouts = {
        f"{side}LayoutInfo{axis}": value
        for side, axes in (
            ("A", {"B": 1, "S": m, "N": heads, "G": groups, "D": k}),
            ("B", {"B": 1, "S": k, "N": heads, "G": groups, "D": n}),
            ("C", {"B": 1, "S1": m, "N": heads, "G": 1, "S2": n}),
        )
        for axis, value in axes.items()
    }
    sizes = {"M": m, "N": n, "Ka": k, "Kb": k, "singleCoreM": m, "singleCoreN": n, "singleCoreK": k}
    run("groups_added", a, b, z, tiling(**sizes, **layouts, isBias=1))
    wanted = (a.float() @ b.float()).reshape(heads, groups, m, n).sum(1)
    bias = a.flatten().view(torch.float32)[: heads * n].reshape(heads, 1, n)
    torch.testing.assert_close(z.array(True), (wanted + bias).permute(1, 0, 2), rtol=1e-3, atol=1e-3)


def test_a_batch_on_cube_cores() -> None:
    generator = torch.Generator().manual_seed(4)
    a, b = torch.randn(3, M, K, generator=generator), torch.randn(3, K, N, generator=generator)
    z = Block((3, M, N), 0)
    run("cube_batch", a, b, z, tiling(singleCoreM=M), source="cube_only.cpp")
    torch.testing.assert_close(z.array(True), a @ b, rtol=1e-4, atol=1e-4)


def test_a_matrix_is_transposed_where_the_call_says_so_alone() -> None:
    a, b = matrices()
    z = Block((M, N), 0)
    run("might_be_transposed", a, b, z, tiling())
    torch.testing.assert_close(z.array(True), a.float() @ b.float(), rtol=1e-4, atol=1e-4)


def test_bytes() -> None:
    generator = torch.Generator().manual_seed(3)
    a, b = (torch.randint(-9, 9, shape, generator=generator, dtype=torch.int8) for shape in ((M, K), (N, K)))
    z = Block((M, N), 1)
    run("bytes_to_half", a, b, z, tiling())
    assert torch.equal(z.array(True), (a.int() @ b.int().t()).float().div(8).half())


@pytest.mark.parametrize("side", ["upper", "lower"])
def test_tiles_of_a_triangle(side: str) -> None:
    a, b = matrices()
    z = Block((M, N), 0)
    z.view[:] = 0
    run(f"{side}_triangle", a, b, z, tiling(singleCoreM=M), role=BOTH)
    row, column = (torch.arange(M) // 16)[:, None], torch.arange(N) // 32
    wanted = (a.float() @ b.float()) * ((row <= column) if side == "upper" else (row >= column))
    torch.testing.assert_close(z.array(True), wanted, rtol=1e-4, atol=1e-4)


def test_products_of_parts_of_k() -> None:
    a, b = matrices()
    z = Block((2, 3, M, 32), 0)  # tiles of 64 by 32, of the first 32 of k and of the last 16
    run("parts_of_k", a, b, z, tiling(singleCoreM=M, baseM=M))
    tiles = z.array(True).reshape(3, 2, M, 32)
    for tile in range(3):
        for part, k in enumerate((slice(0, 32), slice(32, K))):
            wanted = a[:, k].float() @ b[k, tile * 32 : tile * 32 + 32].float()
            torch.testing.assert_close(tiles[tile, part], wanted, rtol=1e-4, atol=1e-4)


def test_one_value_in_place_of_a_matrix() -> None:
    a, b = matrices()
    z = Block((N + 1,), 0)
    run("one_value", a, b, z, tiling())
    wanted = torch.cat([b.float().sum(0), 2 * a[1].float().sum().reshape(1)])
    torch.testing.assert_close(z.array(True), wanted, rtol=1e-3, atol=1e-3)


def test_batches_go_to_the_vector_core() -> None:
    generator = torch.Generator().manual_seed(6)
    m, n, k = 16, 20, 32
    a, b = torch.randn(6, m, k, generator=generator).half(), torch.randn(6, k, n, generator=generator).half()
    z = Block((6, m, 24), 0)
    sizes = {"M": m, "N": n, "Ka": k, "Kb": k, "singleCoreM": m, "singleCoreN": n, "singleCoreK": k}
    t = tiling(**sizes, stepKa=1, stepKb=1)
    arguments = [
        Argument("a", Block.of(a, "a"), INPUT), Argument("b", Block.of(b, "b"), INPUT), Argument("z", z, OUTPUT),
        Argument("workspace", Block((6 * m * 24,), 0), WORKSPACE), Argument("tiling", t, TILING),
    ]  # fmt: skip
    report = Entry(HERE / "matmul.cpp", name="batches_to_the_vector_core").run(
        arguments, 1, settings=Settings(on_wait=True)
    )
    assert {f.kind for f in report.findings} <= {"uninitialized", "uncomputed_tail"}, report.findings
    torch.testing.assert_close(z.array(True)[..., :n], a.float() @ b.float(), rtol=1e-3, atol=1e-3)


def test_factors_that_lie_in_l1() -> None:
    generator = torch.Generator().manual_seed(3)
    a, b = (torch.randint(-9, 9, shape, generator=generator, dtype=torch.int8) for shape in ((M, K), (K, N)))
    factors = 2.0 ** -(torch.arange(N) % 5)
    with_factors = torch.cat([b.flatten(), factors.view(torch.int32).long().view(torch.int8)])
    z = Block((M, N), 1)
    run("factors_in_l1", a, with_factors, z, tiling())
    assert torch.equal(z.array(True), ((a.int() @ b.int()).float() * factors).half())


def test_sums_over_several_calls() -> None:
    a, b = matrices()
    z = Block((M, N), 0)
    bias = a.flatten().view(torch.float32)[:N]  # some numbers of 32 bits
    run("sum_of_parts", a, b, z, tiling(singleCoreK=32, isBias=1))
    torch.testing.assert_close(z.array(True), a.float() @ b.float() + bias, rtol=1e-4, atol=1e-4)


def test_sums_in_memory_of_the_kernels_own() -> None:
    a, b = matrices(torch.float32)
    z = Block((M, N), 0)
    run("sums_in_co1", a, b, z, tiling(singleCoreM=M), source="cube_only.cpp")
    torch.testing.assert_close(z.array(True), a @ b, rtol=1e-4, atol=1e-4)


def test_elements_of_four_bits() -> None:
    generator = torch.Generator().manual_seed(5)
    columns, depth = 20, 64
    a, b = (torch.randint(-8, 8, shape, generator=generator) for shape in ((M, depth), (columns, depth)))
    packed = [(x[:, ::2] & 15 | x[:, 1::2] << 4).to(torch.int8) for x in (a, b)]
    z = Block((M, 24), 3)
    z.view[:] = 0
    t = tiling(N=columns, Ka=depth, Kb=depth, singleCoreN=columns, singleCoreK=depth, baseK=64)
    run("four_bits", *packed, z, t, role=BOTH)
    assert torch.equal(z.array(True)[:, :columns], (a @ b.t()).int())


@pytest.mark.parametrize("order", [0, 1])
def test_fractals(order: int) -> None:
    a, b = matrices()
    z = Block((N // 16, M, 16), 0)
    run("fractals", nz(a.t()), nz(b), z, tiling(singleCoreM=M, iterateOrder=order))
    torch.testing.assert_close(z.array(True), nz(a.float() @ b.float()), rtol=1e-4, atol=1e-4)


def test_cores_add_to_one_result() -> None:
    a, b = matrices(k=64)
    z = Block((M, N), 0)
    z.view[:] = 0
    run("halves_of_k", a, b, z, tiling(Ka=64, Kb=64, singleCoreM=M, singleCoreK=32), role=BOTH)
    torch.testing.assert_close(z.array(True), a.float() @ b.float(), rtol=1e-4, atol=1e-4)


def test_cube_cores_may_ask_themselves() -> None:
    a, b = matrices(torch.float32)
    z = Block((M, N), 0)
    run("cube_only", a, b, z, tiling(), source="cube_only.cpp", blocks=2)
    torch.testing.assert_close(z.array(True), a @ b, rtol=1e-4, atol=1e-4)


def test_a_function_of_the_kernels_own_loads_the_left_matrix() -> None:
    a, b = matrices(torch.float32)
    z = Block((M, N), 0)
    run("callback", a, b, z, tiling(), source="cube_only.cpp", blocks=2)
    turned = a.reshape(2, M // 2, K).flip(1).reshape(M, K)
    torch.testing.assert_close(z.array(True), turned @ b, rtol=1e-4, atol=1e-4)
    with pytest.raises(AssertionError, match="own function left elements"):
        run("callback_short", a, b, z, tiling(), source="cube_only.cpp", blocks=2)


def test_the_example() -> None:
    example = kernel.load(EXAMPLE)
    names = runpy.run_path(str(EXAMPLE / "inputs.py"))
    for arguments in names["inputs"]():
        x, wanted = arguments[0], names["reference"](*arguments)
        close = {torch.float32: 1e-4, torch.float16: 4e-3, torch.bfloat16: 2e-2}[x.dtype]
        torch.testing.assert_close(example(*arguments), wanted, rtol=close, atol=10 * close)
        assert not example.findings, [str(f) for f in example.findings]


def test_a_package_runs_it_on_cube_and_vector_cores() -> None:
    example = kernel.load(EXAMPLE)
    entry = example.entry(example.prototype.combinations()[0])
    assert entry.kind == 1 and entry.build_cube() is None  # one library for both kinds of cores
    assert '"matmul_bias_custom", 1, 3, 1,' in aclnn(example.prototype, [], entry.kind)


def test_tilings_cover_the_result_and_fit_the_memories() -> None:
    example = kernel.load(EXAMPLE)
    for m, n, k in [(1, 1, 1), (16, 16, 16), (1000, 24, 4096), (7, 8192, 64), (4096, 4096, 4096), (333, 777, 55)]:
        for dtype in (torch.float16, torch.float32, torch.bfloat16):
            # Only shapes are looked at.
            blocks = [Block((0,), 0) for _ in range(3)]
            bias = torch.float16 if dtype == torch.float16 else torch.float32
            for block, shape, kind in zip(blocks, ((m, k), (k, n), (n,)), (dtype, dtype, bias), strict=True):
                block.shape, block.dtype = shape, {torch.float16: 1, torch.float32: 0, torch.bfloat16: 27}[kind]
            choice = example._choose([[torch.empty(0, dtype=d)] for d in (dtype, dtype, bias)])
            tile = _Call(example, [[block] for block in blocks], choice, {}, [(m, n)]).tile()
            data = np.frombuffer(ctypes.string_at(tile.data, tile.size), np.int32)
            t = dict(zip(FIELDS, data[2 : 2 + len(FIELDS)].tolist(), strict=True))  # a structure begins at 8 bytes
            pieces = -(-m // t["singleCoreM"]) * -(-n // t["singleCoreN"])
            assert pieces == t["usedCoreNum"] <= 40 and tile.block_dim == (pieces + 1) // 2
            size = dtype.itemsize
            assert t["baseM"] % 16 == t["baseN"] % 16 == t["baseK"] % (32 // size) == 0
            assert t["baseM"] * t["baseN"] * 4 <= 128 << 10
            left, right = t["baseM"] * t["baseK"] * size, t["baseN"] * t["baseK"] * size
            assert left * t["dbL0A"] <= 64 << 10 and right * t["dbL0B"] <= 64 << 10
            assert left * t["depthA1"] + right * t["depthB1"] <= 512 << 10


def test_parts_of_a_tiling() -> None:
    z = Block((5,), 3)
    entry = Entry(HERE / "cube_only.cpp", name="tiling_parts")
    parts = Block.of(np.array([5, 6, 7, 8, 9], np.int32), "tiling")
    report = entry.run([Argument("z", z, OUTPUT), Argument("tiling", parts, TILING)], 1)
    assert not report.findings, "\n".join(map(str, report.findings))
    assert z.array(False).tolist() == [5, 6, 7, 9, 0]
    assert entry.tiling_keys == [3, 7]
