"""For test_order.py: planted faults of servers and schedulers, as in order_table.py; several after public fixes."""

import ctypes
import struct
import threading

import torch
import torch_npu
from order_table import from_row, material, run

main, Stream, Event, on = torch.npu.current_stream, torch.npu.Stream, torch.npu.Event, torch.npu.stream


def ones(*sizes: int) -> torch.Tensor:
    x = torch.ones(*(sizes or (32, 32)), device="npu")
    torch.npu.synchronize()
    return x


ROWS = {
    "a sorted order": (lambda m: setattr(m, "out", m.x.view(-1).sort().indices), lambda m: m.x.view(-1)[m.out]),
    "a page table that grows": (lambda m: m.rows.add_(1).remainder_(4), lambda m: m.x[m.rows].sum()),
    "a causal mask": (lambda m: m.mask.logical_not_(), lambda m: m.x.masked_fill(m.mask, -1e9).softmax(-1)),
    "logits in place": (lambda m: m.x.view(-1).scatter_(0, m.rows, -1e9), lambda m: m.x.view(1, -1).topk(5).values),
    "every second column": (lambda m: m.x[:, ::2].fill_(2), lambda m: m.x[:, 1:4].clone()),
    "a rolled buffer": (lambda m: m.x.copy_(m.x.roll(1, 0)), lambda m: m.x[-1] + 1),
    "rotated by a table": (
        lambda m: m.y.mul_(2), lambda m: torch_npu.npu_rotary_mul(*(t.view(1, 1, 32, 32) for t in (m.x, m.y, m.z)))
    ),
    "a running sum": (lambda m: m.x.cumsum_(0), lambda m: m.x[-1].clone()),
}  # fmt: skip


def overlapping_schedule(ordered: bool) -> None:
    """The scheduler gives a slot to the next request while the last forward pass reads its row (sglang #26380)."""
    slots, pool, forward = torch.arange(4, device="npu"), ones(), Stream()
    kept = []
    torch.npu.synchronize()
    for step in range(2):
        if ordered and step:
            main().wait_stream(forward)
        pool.index_fill_(0, slots, float(step))
        forward.wait_stream(main())
        with on(forward):
            kept.append(pool.index_select(0, slots))


def a_thread_that_waits_for_its_own_stream(ordered: bool) -> None:
    """A thread that saves the cache waits for its current stream, which is not the model's (vllm-ascend #4574)."""
    cache, model, saved, done = ones(), Stream(), [], Event()
    with on(model):
        cache.add_(1)
        done.record()

    def save() -> None:
        torch.npu.set_device(0)
        done.synchronize() if ordered else torch.npu.current_stream().synchronize()
        saved.append(cache.cpu())

    thread = threading.Thread(target=save)
    thread.start(), thread.join()


def another_stream_than_meant(ordered: bool) -> None:
    """Parameters are updated on one stream, and the wait is for a second one (vllm-ascend #4106)."""
    x, y, updates, other = ones(), ones(), Stream(), Stream()
    with on(updates):
        x.add_(1)
    with on(other):
        y.add_(1)
    main().wait_stream(updates if ordered else other)
    x + 1


def two_scratch_caches(ordered: bool) -> None:
    """Layers take turns with two buffers; the transfer for one waits for the layer before, not for two before it."""
    scratch, source, copies, read = [ones(), ones()], ones(), Stream(), [Event(), Event()]
    for layer in range(3):
        with on(copies):
            if layer >= 2 and ordered:
                copies.wait_event(read[layer % 2])
            scratch[layer % 2].copy_(source)
        main().wait_stream(copies)
        scratch[layer % 2] + 1
        read[layer % 2].record()


def recorded_for_the_stream_that_made_it(ordered: bool) -> None:
    """record_stream is told the producer instead of the consumer (diffusers #11081)."""
    side, x = Stream(), torch.ones(32, 32, device="npu")
    torch.npu.synchronize()
    with on(side):
        x + 1
    x.record_stream(side if ordered else main())
    del x
    main().synchronize()  # nothing of the main stream keeps the memory
    _ = [torch.zeros(32, 32, device="npu") for _ in range(64)]  # one of them is where x was


def recorded_after_the_block(ordered: bool) -> None:
    """The event is recorded when the block of the stream is over, on the stream outside."""
    x, side, third, done = ones(), Stream(), Stream(), Event()
    with on(side):
        x.mul_(2)
        if ordered:
            done.record()
    if not ordered:
        done.record()
    third.wait_event(done)
    with on(third):
        x + 1


def the_current_stream_of_yesterday(ordered: bool) -> None:
    """The stream to wait for was asked for before the program changed it."""
    x, work, side = ones(), Stream(), Stream()
    remembered = main()
    with on(work):
        x.mul_(2)
        side.wait_stream(main() if ordered else remembered)
        with on(side):
            x + 1


def a_table_made_when_first_needed(ordered: bool) -> None:
    """Two threads, a stream each; the first makes a table that both keep, and no event says when it is there."""
    table, ready, made = {}, threading.Event(), Event()

    def first() -> None:
        torch.npu.set_device(0)
        with on(Stream()):
            table["cos"] = torch.arange(1024.0, device="npu").cos()
            made.record()
        ready.set()

    def second() -> None:
        torch.npu.set_device(0)
        ready.wait()
        with on(Stream()):
            if ordered:
                torch.npu.current_stream().wait_event(made)
            table["cos"] * 2

    threads = [threading.Thread(target=one) for one in (first, second)]
    [one.start() for one in threads], [one.join() for one in threads]


def waited_for_by_an_item_of_another_stream(ordered: bool) -> None:
    """`.item()` on the main stream waits for that stream only; the copy that is read runs on a second one."""
    x, here, side = ones(), torch.zeros(32, 32).pin_memory(), Stream()
    with on(side):
        here.copy_(x, non_blocking=True)
        flag = x.sum() if ordered else None
        _ = flag.item() if ordered else None
    (x[0, 0] + 1).item()
    struct.unpack("f", ctypes.string_at(here.data_ptr(), 4))


def adapters_of_a_batch(ordered: bool) -> None:
    """A slot of stacked adapters is loaded while the batch uses that slot; in the twin it is a free one."""
    stacked, loaded, copies = ones(4, 32, 32), ones(32, 32), Stream()
    x = torch.bmm(ones(2, 8, 32), stacked[:2])
    with on(copies):
        stacked[3 if ordered else 1].copy_(loaded)
    x + 1


def weights_reloaded_while_they_are_evaluated(ordered: bool) -> None:
    side, layer = Stream(), torch.nn.Linear(32, 32).npu()
    other = {name: torch.zeros_like(value) for name, value in layer.state_dict().items()}
    torch.npu.synchronize()
    with on(side), torch.no_grad():
        layer(torch.ones(4, 32, device="npu"))
    if ordered:
        main().wait_stream(side)
    layer.load_state_dict(other)


def pinned_and_read_by_its_address(ordered: bool) -> None:
    """C's memmove from a pinned tensor, while a copy writes it."""
    m, got = material(), (ctypes.c_char * 64)()
    torch.npu.synchronize()
    m.pinned.copy_(m.x, non_blocking=True)
    if ordered:
        main().synchronize()
    ctypes.memmove(got, m.pinned.data_ptr(), 64)


def graph_beside_its_own_eager_warm_up(ordered: bool) -> None:
    """The input of a graph is prepared on a side stream for the next replay while the last one reads it."""
    x, graph, side = ones(), torch.npu.NPUGraph(), Stream()
    with torch.npu.graph(graph):
        y = x * 2
    for step in range(2):
        if ordered and step:
            side.wait_stream(main())
        with on(side):
            x.fill_(step)
        main().wait_stream(side)
        graph.replay()
    y + 1


FAULTS = {
    function.__name__.replace("_", " "): function
    for function in (
        overlapping_schedule, a_thread_that_waits_for_its_own_stream, another_stream_than_meant, two_scratch_caches,
        recorded_for_the_stream_that_made_it, recorded_after_the_block, the_current_stream_of_yesterday,
        a_table_made_when_first_needed, waited_for_by_an_item_of_another_stream, adapters_of_a_batch,
        weights_reloaded_while_they_are_evaluated, pinned_and_read_by_its_address, graph_beside_its_own_eager_warm_up,
    )
}  # fmt: skip

if __name__ == "__main__":
    run({name: from_row(*row) for name, row in ROWS.items()} | FAULTS)
