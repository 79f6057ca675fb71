"""Caches of keys and values, slots of tokens, and what goes with speculative decoding."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from published.case import SGL, VLLM, Case, Maker, fields, i32, i64, u32, u64

from ophook_npu.kernel.memory import Block
from ophook_npu.kernel.source import BOTH

_RANDOM = np.random.default_rng(5)


def hello() -> Case:
    x, y = (_RANDOM.standard_normal(8 * 2048).astype(np.float16) for _ in range(2))
    case = Case(
        SGL, "csrc/helloworld/op_kernel/kernel_helloworld.cpp", "helloworld", 8, "float16, 16384 elements, 8 cores"
    )
    return case.input("x", x).input("y", y).output("z", x + y).value(x.size)


def token_bitmask(name: str, dtype: type) -> Case:
    rows, words, tile = 5, 8, 128
    vocabulary = words * 32
    logits = _RANDOM.standard_normal((rows, vocabulary)).astype(dtype)
    mask = _RANDOM.integers(-(2**31), 2**31, (rows, words)).astype(np.int32)
    mask[2] = -1
    bits = (mask[:, :, None] >> np.arange(32)) & 1
    wanted = np.where(bits.reshape(rows, vocabulary) == 1, logits, dtype(-np.inf))
    source = "csrc/apply_token_bitmask/op_kernel/apply_token_bitmask.cpp"
    case = Case(SGL, source, name, 2, f"{np.dtype(dtype)}, 5 rows of 256, 2 cores")
    case.changed("logits", logits, wanted).input("bitmask", mask)
    return case.value(rows, vocabulary, vocabulary, words, rows // 2, rows % 2, tile, 2, dtype().itemsize)


def alloc_extend() -> Case:
    page = 8
    before, after = np.array([5, 16, 3, 0]), np.array([21, 30, 6, 10])
    pages, last = np.arange(40, 60), np.array([12, 95, 66, -1])
    out, used = [], 0
    for start, end, slot in zip(before, after, last, strict=True):
        needed = -(-end // page) - -(-start // page)
        own, used = pages[used : used + needed], used + needed
        for position in range(start, end):
            in_old_page = position < -(-start // page) * page
            out.append(
                slot + 1 + position - start
                if in_old_page
                else own[position // page - -(-start // page)] * page + position % page
            )
    case = Case(
        SGL,
        "csrc/alloc_extend/op_kernel/alloc_extend_kernel.cpp",
        "alloc_extend",
        3,
        "4 sequences, pages of 8, 3 cores",
    )
    case.input("pre_lens", before).input("seq_lens", after).input("last_loc", last).input("free_pages", pages)
    case.output("out_indices", np.array(out)).output("values", np.array([used])).workspace(32)
    kinds = [("batch_size", i32), ("page_size", i32), ("used_core_num", i32), ("total_extend_tokens", i64)]
    return case.tiling(kinds, batch_size=4, page_size=page, used_core_num=3, total_extend_tokens=len(out))


def assign_cache() -> Case:
    batch, pool = 4, 64
    target = _RANDOM.integers(0, 1000, (batch, pool)).astype(np.int32)
    lengths, starts = np.array([16, 8, 24, 13]), np.array([0, 8, 16, 40])
    ends = np.cumsum(lengths)
    source = _RANDOM.integers(0, 1000, 96).astype(np.int32)
    wanted = target.copy()
    for b in range(batch):
        wanted[b, starts[b] : starts[b] + lengths[b]] = source[ends[b] - lengths[b] : ends[b]]
    case = Case(
        SGL, "csrc/assign_cache_op/op_kernel/assign_cache_op.cpp", "assign_cache_op", 4, "int32, 4 rows, 4 cores"
    )
    case.changed("dst", target, wanted).input("src", source).input("dstStart", starts).input("dstEnd", starts + lengths)
    case.input("srcStart", ends - lengths).input("srcEnd", ends).workspace(4096)
    kinds = fields(u32, "batch pool type sync ub")
    return case.tiling(kinds, batch=batch, pool=pool, type=4, sync=1024, ub=65536)


def build_tree() -> Case:
    batch, topk, depth, tokens = 3, 2, 2, 5
    lengths = np.array([6, 4, 9])
    # Of the 6 candidates of a depth of 2 (2 and then 2 of each), 4 are chosen; their parents are known by their number.
    parents = np.array([[-1, 0, 1]] * batch)
    chosen = np.array([[0, 1, 2, 4], [0, 2, 3, 1], [1, 0, 4, 5]])
    chosen.sort(1)
    positions, masks = [], []
    index, following, sibling = (np.full((batch, tokens), -1) for _ in range(3))
    for b in range(batch):
        parent_of = {}
        for t in range(1, tokens):
            number = chosen[b, t - 1] // topk
            parent_of[t] = 0 if number == 0 else list(chosen[b]).index(parents[b, number]) + 1
        index[b] = b * tokens + np.arange(tokens)
        for t in range(tokens - 1, 0, -1):
            sibling[b, t], following[b, parent_of[t]] = following[b, parent_of[t]], t
        for t in range(tokens):
            row, at, steps = np.zeros(tokens, bool), t, 0
            row[0] = True
            while at:
                row[at], at, steps = True, parent_of[at], steps + 1
            masks.append(row), positions.append(lengths[b] + steps)
    # In the full mask what is before the tree's own columns is true already: the caller has set it.
    full, own = [], iter(masks)
    before = []
    for length in lengths:
        for _ in range(tokens):
            row = next(own)
            full += [np.ones(length, bool), row]
            before += [np.ones(length, bool), np.zeros(tokens, bool)]
    case = Case(
        SGL,
        "csrc/build_tree/op_kernel/build_tree_kernel.cpp",
        "build_tree_efficient",
        2,
        "3 trees of 5 tokens, 2 cores",
    )
    case.input("parent_list", parents).input("selected_index", chosen).input("verified_seq_len", lengths)
    case.changed("tree_mask", np.concatenate(before), np.concatenate(full)).output("positions", np.array(positions))
    case.output("retrive_index", index).output("retrive_next_token", following).output("retrive_next_sibling", sibling)
    kinds = fields(i64, "topk depth draft mode") + fields(i32, "batch mask big big_tiles small_tiles")
    mask = sum(row.size for row in full)
    case.workspace(32)
    return case.tiling(
        kinds, topk=topk, depth=depth, draft=tokens, mode=0, batch=batch, mask=mask, big=1, big_tiles=2, small_tiles=1
    )


def cache_locations(mode: int) -> Case:
    batch, pool, row, step = 3, 6, 64, 16
    table = _RANDOM.integers(0, 1000, (pool, row)).astype(np.int32)
    which, starts, lengths = np.array([4, 0, 2]), np.array([8, 0, 32]), np.array([4, 6, 3])
    slots = _RANDOM.integers(1000, 2000, int(lengths.sum())).astype(np.int32)
    ends = np.cumsum(lengths)
    table_wanted, slots_wanted = table.copy(), slots.copy()
    for b in range(batch):
        mine = slice(ends[b] - lengths[b], ends[b])
        place = slice(starts[b], starts[b] + lengths[b])
        if mode == 0:
            table_wanted[which[b], place] = slots[mine]
        else:
            slots_wanted[mine] = table[which[b], place]
    source, cores = "csrc/cache_location_assign/op_kernel/cache_loc_assign_kernel.cpp", 2 if mode == 0 else 1
    label = f"{'into' if mode == 0 else 'out of'} the pool, 3 rows, {cores} core{'s' if cores > 1 else ''}"
    case = Case(SGL, source, "cache_loc_assign", cores, label)
    case.input("reqPoolIndices", which.astype(np.int32)).changed("tokenPool", table, table_wanted)
    case.input("startOffset", starts).input("endOffset", starts + lengths).changed("outCacheLoc", slots, slots_wanted)
    kinds = fields(
        u64,
        "key vcores pool batch rows tail row index index_bytes token token_bytes offset offset_bytes slots slot "
        "slot_bytes",
    )
    case.tiling(
        kinds, key=1, vcores=cores, pool=pool, batch=batch, rows=batch // cores, tail=batch % cores, row=row, index=8,
        index_bytes=32, token=step, token_bytes=step * 4, offset=4, offset_bytes=32, slots=slots.size, slot=16,
        slot_bytes=64,
    )  # fmt: skip
    return case.value(mode)


def store_kv_block() -> Case:
    token, block = 64, 4
    keys = _RANDOM.standard_normal((10, token)).astype(np.float16)
    cache = _RANDOM.standard_normal((6 * block, token)).astype(np.float16)
    lengths, starts, places = (np.array(v, np.int32) for v in ([4, 2, 0, 3, 1], [0, 4, 0, 6, 9], [8, 0, 4, 12, 23]))
    wanted = cache.copy()
    for length, start, place in zip(lengths, starts, places, strict=True):
        wanted[place : place + length] = keys[start : start + length]
    case = Case(
        VLLM,
        "csrc/attention/store_kv_block/op_kernel/store_kv_block.cpp",
        "store_kv_block",
        3,
        "float16, 5 groups, 3 cores",
        tiling_key=2,
    )
    case.input("keyIn", keys).changed("keyCache", cache, wanted).input("groupLen", lengths).input("groupKeyIdx", starts)
    case.input("groupKeyCacheIdx", places).workspace(32)
    kinds = fields(u32, "table type token per tail tokens cache groups")
    return case.tiling(kinds, table=block, type=2, token=token, per=1, tail=2, tokens=10, cache=24, groups=5)


_EAGLE = """
#include <cstdint>
struct CopyAndExpandEagleInputsTilingData {
  uint32_t usedCoreNum, numReqs, reqsPerCore, remainderReqs;
  int32_t paddingTokenId, parallelDraftingTokenId;
  uint32_t numPaddingSlotsPerReq, totalInputTokens, shiftInputIds, totalDraftTokens;
};
using OphookDefaultTiling = CopyAndExpandEagleInputsTilingData;
"""


def eagle_inputs() -> Case:
    slots, padding, drafting = 2, -7, -9
    starts, ends, following = np.array([0, 8, 24, 40]), np.array([6, 20, 39]), np.array([501, 502, 503])
    tokens = np.arange(100, 140)
    places = np.concatenate([np.arange(n) + 10 * i for i, n in enumerate(np.diff(starts))])
    ids, at, rejected, masked, new = [], [], [], [], []
    for r, (start, after, end) in enumerate(zip(starts, starts[1:], ends, strict=False)):
        valid, bad = end - start + 1, after - end - 1
        first = start + r * slots
        new += [first + valid + k for k in range(slots)]
        ids += [*tokens[start : start + valid], following[r], *[drafting] * (slots - 1), *[padding] * bad]
        at += [*(places[start] + np.arange(valid + slots)), *[0] * bad]
        rejected += [0] * (valid + slots) + [1] * bad
        masked += [0] * (valid + 1) + [1] * (slots - 1) + [0] * bad
    source = "csrc/moe/copy_and_expand_eagle_inputs/op_kernel/copy_and_expand_eagle_inputs.cpp"
    case = Case(VLLM, source, "copy_and_expand_eagle_inputs", 2, "3 requests, 2 cores", prelude=_EAGLE, tiling_key=1)
    for name, value in (
        ("tokens", tokens),
        ("positions", places),
        ("next", following),
        ("start", starts),
        ("end", ends),
    ):
        case.input(name, value.astype(np.int32))
    for name, wanted, dtype in (
        ("ids", ids, np.int32), ("places", at, np.int32), ("rejected", rejected, np.int8), ("masked", masked, np.int8),
        ("new", new, np.int32),
    ):  # fmt: skip
        case.output(name, np.array(wanted, dtype))
    unused = np.zeros(40, np.int32)
    case.changed("mapping", unused, unused).workspace(32)
    kinds = fields(u32, "cores reqs per rest") + fields(i32, "padding drafting") + fields(u32, "slots total shift out")
    return case.tiling(
        kinds,
        cores=2,
        reqs=3,
        per=1,
        rest=1,
        padding=padding,
        drafting=drafting,
        slots=slots,
        total=40,
        shift=0,
        out=len(ids),
    )


_TRANSPOSE = """
#include <cstdint>
struct TransposeKvCacheByBlockTilingData {
  uint32_t blockSize, headNum, headDim, splitNum, layerNum, useCoreNum, blockPerCore, tailCoreNum, calBlockNum;
  uint32_t blockSizePerTime, blockSizePerTimeTail, blockSizeSplitNum;
};
using OphookDefaultTiling = TransposeKvCacheByBlockTilingData;
"""


def transpose_kv_cache() -> Case:
    size, heads, width, splits, layers, blocks = 8, 4, 32, 2, 2, 5
    which, elements = np.array([3, 1]), 8 * 4 * 32
    source = "csrc/moe/transpose_kv_cache_by_block/op_kernel/transpose_kv_cache_by_block.cpp"
    case = Case(
        VLLM,
        source,
        "transpose_kv_cache_by_block",
        2,
        "float16, 2 layers of 2 blocks, 2 cores",
        {"DTYPE_KCACHE": "half"},
        _TRANSPOSE,
    )
    lists, caches = [], []
    for side in "kv":
        pairs = []
        for layer in range(layers):
            before = _RANDOM.standard_normal((blocks, elements)).astype(np.float16)
            wanted = before.copy()
            for b in which:  # (splits, size, heads of one, width) -> (size, heads, width)
                wanted[b] = before[b].reshape(splits, size, heads // splits, width).swapaxes(0, 1).reshape(-1)
            pairs.append((f"{side}{layer}", Block.of(before, side), wanted))
        caches += pairs
        lists.append(
            np.array([8, *(block.address for _, block, _ in pairs)], np.uint64)
        )  # a list: where it is, then addresses
    case.input("kCache", lists[0]).input("vCache", lists[1]).input("blockIDs", which).workspace(32)
    kinds = fields(u32, "size heads width splits layers cores per tail blocks time rest split")
    case.tiling(
        kinds,
        size=size,
        heads=heads,
        width=width,
        splits=splits,
        layers=layers,
        cores=2,
        per=2,
        tail=0,
        blocks=2,
        time=size,
        rest=0,
        split=1,
    )
    for name, block, wanted in caches:  # what the lists point to: further arguments, which the kernel does not read
        case.add(name, block, BOTH)
        case.wanted[name] = wanted
    return case


def compressor_metadata() -> Case:
    ratio, block, width, rows = 4, 16, 24, 12
    starts, lengths = np.array([0, 8, 50]), np.array([9, 14, 7])
    table = np.array([[5, 2], [1, 7], [4, -1]])
    cos, sin = (_RANDOM.standard_normal((64, width)).astype(np.float32) for _ in range(2))
    c, s, slots = [], [], []
    for r, (start, length) in enumerate(zip(starts, lengths, strict=True)):
        for place in range(start // ratio, (start + length) // ratio):
            c.append(cos[place * ratio]), s.append(sin[place * ratio])
            slots.append(table[r, place // block] * block + place % block)
    rest = rows - len(slots)
    c += [np.ones(width, np.float32)] * rest
    s += [np.zeros(width, np.float32)] * rest
    source = "csrc/attention/compressor_metadata/op_kernel/compressor_metadata.cpp"
    case = Case(VLLM, source, "compressor_metadata", 2, "float32, 3 requests, 2 cores", tiling_key=1)
    case.input("cos", cos).input("sin", sin).input("cu", np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32))
    case.input("start", starts.astype(np.int32)).input("table", table.astype(np.int32))
    case.output("compressCos", np.stack(c)).output("compressSin", np.stack(s))
    case.output("slotMapping", np.array(slots + [-1] * rest, np.int32)).workspace(32)
    kinds = fields(u32, "rows reqs actual ropes width stride block format ratio cores tile bytes aligned cols")
    return case.tiling(
        kinds, rows=rows, reqs=3, actual=3, ropes=64, width=width, stride=2, block=block, format=1, ratio=ratio,
        cores=2, tile=4, bytes=width * 4, aligned=width * 4, cols=1,
    )  # fmt: skip


def cases() -> Iterator[Maker]:
    yield hello
    yield lambda: token_bitmask("apply_token_bitmask_fp16", np.float16)
    yield lambda: token_bitmask("apply_token_bitmask_fp32", np.float32)
    yield alloc_extend
    yield assign_cache
    yield build_tree
    yield lambda: cache_locations(0)
    yield lambda: cache_locations(1)
    yield store_kv_block
    yield eagle_inputs
    yield transpose_kv_cache
    yield compressor_metadata
