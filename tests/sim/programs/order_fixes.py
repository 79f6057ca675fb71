"""For test_order.py: more faults of order_table.py's kind, after public fixes of vllm-ascend and of trainers."""

import ctypes

import torch
import torch_npu
from order_table import DEVICE_TO_HOST, HOST_TO_DEVICE, acl, captured, copy_async, material, run

main, Stream, Event = torch.npu.current_stream, torch.npu.Stream, torch.npu.Event


def noise_of_the_sampler(ordered: bool) -> None:
    """The consumer waits, but the allocator is not told of it (vllm-ascend #13394)."""
    m, side = material(), Stream()
    torch.npu.synchronize()
    with torch.npu.stream(side):
        q = torch.ones(32, 32, device="npu").exponential_()
    main().wait_stream(side)
    m.x.div_(q)
    if ordered:
        q.record_stream(main())
    del q
    with torch.npu.stream(side):
        m.kept.append(torch.ones(32, 32, device="npu"))


def noise_without_a_wait(ordered: bool) -> None:
    """The copy is made on one stream and the wait comes before it (vllm-ascend #11973)."""
    m, side = material(), Stream()
    torch.npu.synchronize()
    if not ordered:
        main().wait_stream(side)
    with torch.npu.stream(side):
        m.y.copy_(m.pinned, non_blocking=True)
    if ordered:
        main().wait_stream(side)
    m.x.div_(m.y)


def start_locations(ordered: bool) -> None:
    """A slice of a pinned buffer is written for the next step while it is copied (vllm-ascend #12079, #12630)."""
    here, there = torch.zeros(64, dtype=torch.int32).pin_memory(), torch.zeros(64, device="npu").int()
    prepared = Event()
    torch.npu.synchronize()
    for step in range(2):
        if ordered and step:
            prepared.synchronize()
        here.numpy()[1:9] = step
        there[:9].copy_(here[:9], non_blocking=True)
        prepared.record()
    torch.npu.synchronize()


def the_other_half(ordered: bool) -> None:
    """The half that the host writes is the one that is copied; in the twin it is the other, on pages of its own."""
    here, there = torch.zeros(4096).pin_memory(), torch.zeros(2048, device="npu")
    torch.npu.synchronize()
    there.copy_(here[:2048], non_blocking=True)
    (here[2048:] if ordered else here[:2048]).fill_(1)
    torch.npu.synchronize()


def offloaded_weights(ordered: bool) -> None:
    """The next layer's weights come into the buffer that this layer still multiplies with."""
    m, copies = material(), Stream()
    torch.npu.synchronize()
    for _ in range(2):
        if ordered:
            copies.wait_stream(main())
        with torch.npu.stream(copies):
            m.y.copy_(m.pinned, non_blocking=True)
        main().wait_stream(copies)
        m.kept.append(m.x @ m.y)


def stale_event(ordered: bool) -> None:
    """The event of the first step is waited for in the second."""
    m, side, event = material(), Stream(), Event()
    torch.npu.synchronize()
    for step in range(2):
        m.x.mul_(2)
        if ordered or not step:
            event.record()
        side.wait_event(event)
        with torch.npu.stream(side):
            m.kept.append(m.x + 1)
        main().wait_stream(side)


def two_hops(ordered: bool) -> None:
    """The third stream waits for the first, and not for what the second makes of it."""
    m, second, third = material(), Stream(), Stream()
    torch.npu.synchronize()
    m.x.mul_(2)
    second.wait_stream(main())
    with torch.npu.stream(second):
        m.y.add_(m.x)
    third.wait_stream(second if ordered else main())
    with torch.npu.stream(third):
        m.kept.append(m.y + 1)


def sampled_tokens(ordered: bool) -> None:
    """The next step writes the tokens that a stream of copies brings to the host."""
    m, copies, copied = material(), Stream(), Event()
    torch.npu.synchronize()
    copies.wait_stream(main())
    with torch.npu.stream(copies):
        m.pinned.copy_(m.x, non_blocking=True)
        copied.record()
    if ordered:
        main().wait_event(copied)
    m.x.fill_(5)
    copied.synchronize()
    m.pinned.sum()


def cache_blocks(ordered: bool) -> None:
    """Blocks of a cache are sent while the model writes new keys into them."""
    m, sends = material(), Stream()
    torch.npu.synchronize()
    sends.wait_stream(main())
    with torch.npu.stream(sends):
        m.kept.append(m.x.index_select(0, m.rows))
    if ordered:
        main().wait_stream(sends)
    torch_npu.npu_scatter_nd_update_(m.x, m.rows.reshape(-1, 1), m.y[:4])


def storage_freed(ordered: bool) -> None:
    """A sharded parameter's storage is given back while another stream multiplies with it."""
    m, side = material(), Stream()
    torch.npu.synchronize()
    with torch.npu.stream(side):
        m.kept.append(m.y @ m.x)
    if ordered:
        main().wait_stream(side)
    m.x.untyped_storage().resize_(0)
    m.kept.append(torch.ones(32, 32, device="npu"))


def parameter_replaced(ordered: bool) -> None:
    m, side = material(), Stream()
    torch.npu.synchronize()
    with torch.npu.stream(side):
        m.kept.append(m.leaf.detach() * 2)
    if ordered:
        m.leaf.data.record_stream(side)
    m.leaf.data = torch.empty(0, device="npu")
    m.kept.append(torch.ones(32, 32, device="npu"))


def input_of_a_replay(ordered: bool) -> None:
    """A batch comes into a graph's input by a stream of copies."""
    m, graph = captured(lambda m: setattr(m, "out", m.x * 2))
    copies = Stream()
    torch.npu.synchronize()
    with torch.npu.stream(copies):
        m.x.copy_(m.pinned, non_blocking=True)
    if ordered:
        main().wait_stream(copies)
    graph.replay()


def output_of_a_replay(ordered: bool) -> None:
    m, graph = captured(lambda m: setattr(m, "out", m.x * 2))
    side = Stream()
    torch.npu.synchronize()
    with torch.npu.stream(side):
        graph.replay()
    if ordered:
        main().wait_stream(side)
    m.out.cpu()


def graphs_of_one_pool(ordered: bool) -> None:
    """Two graphs share their memory, and one is replayed beside the other."""
    m, one, two = material(), torch.npu.NPUGraph(), torch.npu.NPUGraph()
    torch.npu.synchronize()
    with torch.npu.graph(one):
        m.kept.append((m.x * 2 + 1).sum())
    with torch.npu.graph(two, pool=one.pool()):
        m.kept.append((m.x * 3 + 1).sum())
    side = Stream()
    one.replay()
    if ordered:
        side.wait_stream(main())
    with torch.npu.stream(side):
        two.replay()


def list_of_copies(ordered: bool) -> None:
    m, side = material(), Stream()
    torch.npu.synchronize()
    with torch.npu.stream(side):
        torch._foreach_copy_(m.many, [torch.zeros(8, 8, device="npu"), m.y[:8, :8]])
    if ordered:
        main().wait_stream(side)
    m.kept.append(torch.cat(m.many))


def expanded_source(ordered: bool) -> None:
    m, side = material(), Stream()
    torch.npu.synchronize()
    m.kept.append(m.y + m.x[:1].expand(32, 32))
    if ordered:
        side.wait_stream(main())
    with torch.npu.stream(side):
        m.x[0, 5:9].zero_()


def attention_and_cache(ordered: bool) -> None:
    q = torch.ones(1, 4, 16, 64, device="npu", dtype=torch.float16)
    k, v, side = q.clone(), q.clone(), Stream()
    torch.npu.synchronize()
    out = torch_npu.npu_fusion_attention(q, k, v, 4, "BNSD", scale=0.1)
    if ordered:
        side.wait_stream(main())
    with torch.npu.stream(side):
        v.mul_(2)
    del out


def two_notifies(ordered: bool) -> None:
    """pyACL: the notify is recorded before the write that it is to tell of."""
    m, side, notify = material(), Stream(), ctypes.c_void_p()
    assert acl.aclrtCreateNotify(ctypes.byref(notify), 0) == 0
    torch.npu.synchronize()
    here, there = (ctypes.c_void_p(s.npu_stream) for s in (main(), side))
    if not ordered:
        assert acl.aclrtRecordNotify(notify, here) == 0
    m.x.mul_(2)
    if ordered:
        assert acl.aclrtRecordNotify(notify, here) == 0
    assert acl.aclrtWaitAndResetNotify(notify, there, 0) == 0
    with torch.npu.stream(side):
        m.kept.append(m.x + 1)
    torch.npu.synchronize()
    assert acl.aclrtDestroyNotify(notify) == 0


def one_staging_buffer(ordered: bool) -> None:
    """pyACL: a buffer brings one tensor to the host and another back, on two streams."""
    m, side = material(), Stream()
    torch.npu.synchronize()
    copy_async(m.pinned.data_ptr(), m.x.data_ptr(), 4096, DEVICE_TO_HOST)
    if ordered:
        side.wait_stream(main())
    with torch.npu.stream(side):
        copy_async(m.y.data_ptr(), m.pinned.data_ptr(), 4096, HOST_TO_DEVICE)


FAULTS = {function.__name__.replace("_", " "): function for function in (
    noise_of_the_sampler, noise_without_a_wait, start_locations, the_other_half, offloaded_weights, stale_event,
    two_hops, sampled_tokens, cache_blocks, storage_freed, parameter_replaced, input_of_a_replay, output_of_a_replay,
    graphs_of_one_pool, list_of_copies, expanded_source, attention_and_cache, two_notifies, one_staging_buffer,
)}  # fmt: skip

if __name__ == "__main__":
    run(FAULTS)
