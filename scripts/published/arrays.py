"""A convolution with a state, triangular inverses, and block-sparse attention's lists (k2q_csr), in five stages."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from published.case import SGL, VLLM, Case, Maker, fields, i32, i64, u32

_RANDOM = np.random.default_rng(9)


def convolution() -> Case:
    batch, length, width, channels = 3, 1, 4, 64
    x = _RANDOM.standard_normal((batch, length, channels)).astype(np.float16)
    weights = _RANDOM.standard_normal((width, channels)).astype(np.float16)
    states = _RANDOM.standard_normal((5, width - 1, channels)).astype(np.float16)
    bias = _RANDOM.standard_normal(channels).astype(np.float16)
    which = np.array([4, 0, 2], np.int32)
    after, y = states.copy(), np.empty_like(x)
    for b, place in enumerate(which):
        window = np.concatenate([states[place], x[b]]).astype(np.float32)
        total = (window * weights.astype(np.float32)).sum(0) + bias.astype(np.float32)
        y[b, 0], after[place] = total / (1 + np.exp(-total)), window[1:]
    source = "csrc/causal_conv1d_update/op_kernel/causal_conv1d_update.cpp"
    case = Case(SGL, source, "causal_conv1d_update_half", 3, "float16, width 4, 64 channels, SiLU, 3 cores")
    case.input("x", x).input("weight", weights).changed("convState", states, after).input(
        "convStateIndices", which
    ).input("bias", bias)
    case.input("accepted", np.zeros(batch, np.int32)).input("starts", np.arange(batch + 1, dtype=np.int32))
    case.output("y", y).workspace(32)
    kinds = fields(
        i64, "cores per tail batch length channels width state indices bias accepted starts activation padding"
    )
    return case.tiling(
        kinds, cores=3, per=1, tail=1, batch=batch, length=length, channels=channels, width=width, state=width - 1,
        indices=1, bias=1, accepted=0, starts=0, activation=1, padding=-1,
    )  # fmt: skip


def inverse(name: str, dtype: type) -> Case:
    size, count = 16, 3
    upper = np.triu(_RANDOM.integers(-2, 3, (count, size, size)), 1) / 4 + np.eye(size)
    # The kernel takes a matrix by columns: row k of its input is column k.
    given = upper.swapaxes(1, 2).astype(dtype)
    wanted = np.linalg.inv(upper).swapaxes(1, 2).astype(dtype)
    case = Case(
        SGL, "csrc/tri_inv/op_kernel/tri_inv_kernel.cpp", name, count, f"{np.dtype(dtype)}, 3 matrices of 16, 3 cores"
    )
    case.input("vec_in", given).output("vec_out", wanted)
    return case.tiling(fields(u32, "blocks elements size"), blocks=count, elements=given.size, size=size)


HEADS, TOKENS, TOPK, GROUPS = 2, 12, 3, 2
STARTS, BLOCKS = np.array([0, 5, 12], np.int32), np.array([0, 4, 7], np.int32)
ROWS, MOST = int(BLOCKS[-1]), int(np.diff(BLOCKS).max())
_TILING = (
    fields(i64, "H T topk N B totalRows maxKv rowMapElems tileEdges numTiles totalUnits workPer maxIters usedCores")
    + fields(i32, "orderMethod useGather emitTileEdges isArch35 numGroups qPerGroup reserved0 useSimt qGlobalOffset")
)  # fmt: skip


def _lists() -> dict[str, np.ndarray]:
    """What each stage of the five computes: which queries attend to each block of keys, by head."""
    batch = np.repeat(np.arange(2), np.diff(STARTS)).astype(np.int32)
    random = np.random.default_rng(1)
    sizes = np.diff(BLOCKS)
    q2k = np.full((HEADS, TOKENS, TOPK), -1, np.int32)
    for h in range(HEADS):
        for t in range(TOKENS):
            some = random.permutation(sizes[batch[t]])[:TOPK]
            q2k[h, t, : some.size] = some
    q2k[0, 3, 1] = -1
    row_map = np.full((2, MOST), -1, np.int32)
    for b in range(2):
        row_map[b, : sizes[b]] = BLOCKS[b] + np.arange(sizes[b])
    per = TOKENS // GROUPS
    counts = np.zeros((GROUPS, HEADS, ROWS), np.int32)
    edges: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for h in range(HEADS):
        for t in range(TOKENS):
            for s, block in enumerate(q2k[h, t]):
                if block >= 0:
                    row = int(row_map[batch[t], block])
                    counts[t // per, h, row] += 1
                    edges.setdefault((h, row), []).append((t - int(STARTS[batch[t]]), s))
    total = counts.sum(0).astype(np.int32)
    pointers = np.concatenate([np.zeros((HEADS, 1), np.int64), np.cumsum(total, 1)], 1).astype(np.int32)
    base = (pointers[None, :, :-1] + np.cumsum(counts, 0) - counts).astype(np.int32)
    queries, slots = (np.full((HEADS, TOKENS * TOPK), -1, np.int32) for _ in range(2))
    for (h, row), found in edges.items():
        for i, (query, slot) in enumerate(found):
            queries[h, pointers[h, row] + i], slots[h, pointers[h, row] + i] = query, slot
    return {
        "q2k": q2k, "row_map": row_map, "batch": batch, "counts": counts, "base": base, "total": total,
        "pointers": pointers, "queries": queries, "slots": slots,
    }  # fmt: skip


def _scratch(*known: str) -> np.ndarray:
    """The stages' common memory, with these parts of it filled in; 0 elsewhere."""
    all_ = _lists()
    parts = [
        all_[name] if name in known else np.zeros_like(all_[name])
        for name in ("row_map", "batch", "counts", "base", "total")
    ]
    return np.concatenate([part.reshape(-1) for part in parts]).astype(np.int32)


def _stage(name: str, cores: int) -> Case:
    return Case(
        VLLM, f"csrc/attention/k2q_csr/{name}/op_kernel/{name}.cpp", name, cores, f"2 heads, 12 queries, {cores} cores"
    )


def _finish(case: Case, cores: int) -> Case:
    case.workspace(32)
    return case.tiling(
        _TILING, H=HEADS, T=TOKENS, topk=TOPK, N=TOKENS * TOPK, B=2, totalRows=ROWS, maxKv=MOST, rowMapElems=2 * MOST,
        usedCores=cores, useGather=1, numGroups=GROUPS, qPerGroup=TOKENS // GROUPS,
    )  # fmt: skip


def _out(case: Case) -> Case:
    return case.input("scratch_out", np.zeros(8, np.int32))  # the prototype has it; the kernel leaves it alone


def meta() -> Case:
    case = _stage("k2q_csr_meta", 2).input("cu_seqlens", STARTS).input("cu_block_lens", BLOCKS)
    return _finish(_out(case.changed("scratch", _scratch(), _scratch("row_map", "batch"))), 2)


def hist() -> Case:
    case = _stage("k2q_csr_hist", 2).input("q2k", _lists()["q2k"])
    before = _scratch("row_map", "batch")
    return _finish(_out(case.changed("scratch", before, _scratch("row_map", "batch", "counts", "total"))), 2)


def row_prefix() -> Case:
    case = _stage("k2q_csr_row_prefix", 2).input("scratch", _scratch("row_map", "batch", "counts", "total"))
    return _finish(case.output("row_ptr", _lists()["pointers"]), 2)


def tile_prefix() -> Case:
    known = ("row_map", "batch", "counts", "total")
    case = _stage("k2q_csr_tile_prefix", 2).changed("scratch", _scratch(*known), _scratch(*known, "base"))
    return _finish(_out(case.input("row_ptr", _lists()["pointers"])), 2)


def scatter() -> Case:
    lists = _lists()
    case = _stage("k2q_csr_scatter", 2).input("q2k", lists["q2k"]).input("cu_seqlens", STARTS)
    case.input("scratch", _scratch("row_map", "batch", "counts", "base", "total"))
    for name in ("queries", "slots"):
        case.changed(name, np.full_like(lists[name], -1), lists[name])
    return _finish(case, 2)


def cases() -> Iterator[Maker]:
    yield convolution
    yield lambda: inverse("tri_inv_col_sweep_fp16", np.float16)
    yield lambda: inverse("tri_inv_col_sweep_fp32", np.float32)
    yield from (meta, hist, row_prefix, tile_prefix, scatter)
