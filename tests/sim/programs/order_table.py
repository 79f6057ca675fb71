"""For test_order.py: planted faults, each with its twin in order; prints the races of each of the two, and its name.

Most faults are two operations on the same memory, the second on another stream: a row each.
"""

import ctypes
import sys
import threading
from collections.abc import Callable
from types import SimpleNamespace

import torch

from ophook_npu import sim

acl = ctypes.CDLL("libascendcl.so")
HOST_TO_DEVICE, DEVICE_TO_HOST, DEVICE_TO_DEVICE = 1, 2, 3


def material() -> SimpleNamespace:
    def ones(*sizes: int, **options) -> torch.Tensor:
        return torch.ones(*sizes, device="npu", **options)

    m = SimpleNamespace(x=ones(32, 32), y=ones(32, 32), z=ones(32, 32), half=ones(32, 32, dtype=torch.float16))
    m.image, m.weight, m.rows = ones(1, 3, 8, 8), ones(4, 3, 3, 3), torch.arange(4, device="npu")
    m.long = ones(10000, 4)
    m.step, m.mask, m.leaf = ones(1), m.x > 0, ones(32, 32).requires_grad_()
    m.many = [ones(8, 8), ones(8, 8)]
    m.pinned, m.kept = torch.ones(32, 32).pin_memory(), []
    return m


def adamw(m) -> None:
    options = {"lr": 0.1, "beta1": 0.9, "beta2": 0.99, "weight_decay": 0.0, "eps": 1e-8}
    torch._fused_adamw_([m.x], [m.y], [m.z], [m.half.float()], [], [m.step], amsgrad=False, maximize=False, **options)


def handle() -> ctypes.c_void_p:
    return ctypes.c_void_p(torch.npu.current_stream().npu_stream)


def copy_async(to, of, size: int, kind: int) -> None:
    assert acl.aclrtMemcpyAsync(ctypes.c_void_p(to), size, ctypes.c_void_p(of), size, kind, handle()) == 0


ROWS: dict[str, tuple[Callable, Callable]] = {
    "scaled, then read": (lambda m: m.x.mul_(2), lambda m: m.x + 1),
    "read, then overwritten": (lambda m: m.kept.append(m.x + 1), lambda m: m.x.fill_(3)),
    "two writes": (lambda m: m.x.add_(1), lambda m: m.x.mul_(2)),
    "a new result": (lambda m: setattr(m, "out", m.x @ m.y), lambda m: m.out + 1),
    "into out=": (lambda m: torch.add(m.x, m.y, out=m.z), lambda m: m.z.sum()),
    "a half precision cast": (lambda m: m.half.copy_(m.x), lambda m: m.half * 2),
    "a copy within the device": (lambda m: m.y.copy_(m.x), lambda m: m.x.zero_()),
    "a transposed view": (lambda m: m.x.t().add_(1), lambda m: m.x + 1),
    "a column": (lambda m: m.x[:, 3].mul_(2), lambda m: m.x[5].sum()),
    "rows by index": (lambda m: m.x.index_fill_(0, m.rows, 2.0), lambda m: m.x.sum()),
    "put by index": (lambda m: m.x.__setitem__(m.rows, 3.0), lambda m: m.x + 1),
    "gathered rows": (lambda m: m.kept.append(m.x[m.rows]), lambda m: m.x.zero_()),
    "an index that changes": (lambda m: m.kept.append(m.x[m.rows]), lambda m: m.rows.zero_()),
    "a mask that changes": (lambda m: m.x.masked_fill_(m.mask, 2), lambda m: m.mask.zero_()),
    "one of two concatenated": (lambda m: m.kept.append(torch.cat(m.many)), lambda m: m.many[1].zero_()),
    "one of a list in place": (lambda m: torch._foreach_add_(m.many, 1.0), lambda m: m.many[1] + 1),
    "one of a list multiplied": (lambda m: torch._foreach_mul_(m.many, [m.y[:8, :8]] * 2), lambda m: m.y.zero_()),
    "a momentum of the optimizer": (adamw, lambda m: m.z + 1),
    "a gradient of the optimizer": (adamw, lambda m: m.y.zero_()),
    "a convolution's weight": (
        lambda m: m.kept.append(torch.nn.functional.conv2d(m.image, m.weight)), lambda m: m.weight.add_(1)
    ),
    "a softmax": (lambda m: setattr(m, "out", m.x.softmax(-1)), lambda m: m.out.add_(1)),
    "a layer norm's input": (
        lambda m: m.kept.append(torch.nn.functional.layer_norm(m.x, (32,))), lambda m: m.x.add_(1)
    ),
    "an embedding's table": (
        lambda m: m.kept.append(torch.nn.functional.embedding(m.rows, m.x)), lambda m: m.x.add_(1)
    ),
    "random numbers": (lambda m: m.x.normal_(), lambda m: m.x + 1),
    "a gradient": (lambda m: (m.leaf * 2).sum().backward(), lambda m: m.leaf.grad + 1),
    "a reduction": (lambda m: setattr(m, "out", m.x.sum()), lambda m: m.out + 1),
    "sorted values": (lambda m: setattr(m, "out", m.x.sort()), lambda m: m.out.indices + 1),
    "a copy from the host": (lambda m: m.x.copy_(m.pinned, non_blocking=True), lambda m: m.x + 1),
    "a copy to the host": (lambda m: m.pinned.copy_(m.x, non_blocking=True), lambda m: m.x.zero_()),
    "pyACL: a copy, then read": (
        lambda m: copy_async(m.x.data_ptr(), m.y.data_ptr(), 4096, DEVICE_TO_DEVICE), lambda m: m.x + 1
    ),
    "a column of a long matrix": (lambda m: m.long[:, 1].mul_(2), lambda m: m.long[:, 1].sum()),
    "rows of a long matrix and a column": (lambda m: m.long[:, 2].mul_(2), lambda m: m.long[7:9].add_(1)),
    "two copies by one pinned buffer": (
        lambda m: m.pinned.copy_(m.x, non_blocking=True), lambda m: m.y.copy_(m.pinned, non_blocking=True)
    ),
    "cached keys put by index": (
        lambda m: m.x.index_copy_(0, m.rows, m.y[:4]), lambda m: torch.nn.functional.softmax(m.x, -1)
    ),
    "pyACL: memory set": (
        lambda m: acl.aclrtMemsetAsync(ctypes.c_void_p(m.x.data_ptr()), 4096, 0, 4096, handle()), lambda m: m.x + 1
    ),
}  # fmt: skip


def from_row(first: Callable, second: Callable) -> Callable:
    def fault(ordered: bool) -> None:
        m, side = material(), torch.npu.Stream()
        torch.npu.synchronize()
        first(m)
        if ordered:
            side.wait_stream(torch.npu.current_stream())
        with torch.npu.stream(side):
            m.kept.append(second(m))
        torch.npu.synchronize()

    return fault


def given_back(ordered: bool) -> None:
    m, side = material(), torch.npu.Stream()
    torch.npu.synchronize()
    with torch.npu.stream(side):
        m.kept.append(m.x + 1)
    if ordered:
        m.x.record_stream(side)
    del m.x
    m.kept.append(torch.empty(32, 32, device="npu").fill_(3))


def read_early(ordered: bool) -> None:
    m = material()
    m.pinned.copy_(m.x, non_blocking=True)
    if ordered:
        torch.npu.current_stream().synchronize()
    m.pinned.sum()


def source_overwritten(ordered: bool) -> None:
    m, event = material(), torch.npu.Event()
    m.x.copy_(m.pinned, non_blocking=True)
    event.record()
    if ordered:
        event.synchronize()
    m.pinned.zero_()


def item_of_another_stream(ordered: bool) -> None:
    m, side = material(), torch.npu.Stream()
    torch.npu.synchronize()
    with torch.npu.stream(side):
        total = m.x.sum()
    if ordered:
        torch.npu.current_stream().wait_stream(side)
    total.item()


def event_recorded_too_early(ordered: bool) -> None:
    m, side, event = material(), torch.npu.Stream(), torch.npu.Event()
    torch.npu.synchronize()
    if not ordered:
        event.record()
    m.x.mul_(2)
    if ordered:
        event.record()
    side.wait_event(event)
    with torch.npu.stream(side):
        m.kept.append(m.x + 1)


def waits_on_the_wrong_stream(ordered: bool) -> None:
    m, side, other = material(), torch.npu.Stream(), torch.npu.Stream()
    torch.npu.synchronize()
    with torch.npu.stream(other):
        m.x.mul_(2)
    side.wait_stream(other if ordered else torch.npu.current_stream())
    with torch.npu.stream(side):
        m.kept.append(m.x + 1)


def blocking_copy(ordered: bool) -> None:
    m, there = material(), ctypes.create_string_buffer(4096)
    torch.npu.synchronize()
    m.x.mul_(2)
    if ordered:
        torch.npu.synchronize()
    assert acl.aclrtMemcpy(there, 4096, ctypes.c_void_p(m.x.data_ptr()), 4096, DEVICE_TO_HOST) == 0


def freed(ordered: bool) -> None:
    block = ctypes.c_void_p()
    assert acl.aclrtMalloc(ctypes.byref(block), 4096, 0) == 0
    assert acl.aclrtMemsetAsync(block, 4096, 1, 4096, handle()) == 0
    if ordered:
        torch.npu.synchronize()
    assert acl.aclrtFree(block) == 0
    try:
        torch.npu.synchronize()
    except RuntimeError as error:  # the task came so late that it failed, which is reported once
        assert not ordered and "was freed" in str(error)


def freed_host(ordered: bool) -> None:
    block, m = ctypes.c_void_p(), material()
    assert acl.aclrtMallocHost(ctypes.byref(block), 4096) == 0
    copy_async(m.x.data_ptr(), block.value, 4096, HOST_TO_DEVICE)
    if ordered:
        torch.npu.synchronize()
    assert acl.aclrtFreeHost(block) == 0
    try:
        torch.npu.synchronize()
    except RuntimeError as error:
        assert not ordered and "was given back since" in str(error)


def prefetched(ordered: bool) -> None:
    side, here = torch.npu.Stream(), torch.ones(32, 32).pin_memory()
    with torch.npu.stream(side):
        x = here.to("npu", non_blocking=True)
    if ordered:
        torch.npu.current_stream().wait_stream(side)
        x.record_stream(torch.npu.current_stream())
    x * 2


def backward_on_another_stream(ordered: bool) -> None:
    m, side = material(), torch.npu.Stream()
    optimizer = torch.optim.AdamW([m.leaf], lr=0.1, foreach=True)
    torch.npu.synchronize()
    with torch.npu.stream(side):
        (m.leaf * 2).sum().backward()
    if ordered:
        torch.npu.current_stream().wait_stream(side)
    optimizer.step()


def buffers_in_turn(ordered: bool) -> None:
    here, there = [torch.ones(1024).pin_memory() for _ in range(2)], torch.ones(1024, device="npu")
    events = [torch.npu.Event() for _ in here]
    for step in range(4):
        if step > 1 and ordered:
            events[step % 2].synchronize()
        here[step % 2].numpy()[:] = step
        there.copy_(here[step % 2], non_blocking=True)
        events[step % 2].record()


def worker_thread(ordered: bool) -> None:
    m, side = material(), torch.npu.Stream()
    torch.npu.synchronize()

    def work() -> None:
        with torch.npu.stream(side):
            m.x.mul_(3)
        if ordered:
            side.synchronize()

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    m.kept.append(m.x + 1)


def captured(body: Callable) -> tuple[SimpleNamespace, torch.npu.NPUGraph]:
    m, graph = material(), torch.npu.NPUGraph()
    torch.npu.synchronize()
    with torch.npu.graph(graph):
        body(m)
    return m, graph


def forked(m, ordered: bool) -> None:
    main, side = torch.npu.current_stream(), torch.npu.Stream()
    side.wait_stream(main)
    with torch.npu.stream(side):
        m.x.mul_(2)
    if ordered:
        main.wait_stream(side)
    m.x.add_(1)
    if not ordered:
        main.wait_stream(side)


def graph_with_a_fork(ordered: bool) -> None:
    captured(lambda m: forked(m, ordered))


def lost_fork(ordered: bool) -> None:
    def body(m) -> None:
        main, side = torch.npu.current_stream(), torch.npu.Stream()
        if ordered:
            side.wait_stream(main)
        with torch.npu.stream(side):
            m.x.mul_(2)
        if ordered:
            main.wait_stream(side)
        m.x.add_(1)

    captured(body)


def two_replays(ordered: bool) -> None:
    _, graph = captured(lambda m: m.x.mul_(2))
    sides = [torch.npu.Stream() for _ in range(2)]
    with torch.npu.stream(sides[0]):
        graph.replay()
    if ordered:
        sides[1].wait_stream(sides[0])
    with torch.npu.stream(sides[1]):
        graph.replay()


def around_a_replay(act: Callable, again: bool = False) -> Callable:
    def fault(ordered: bool) -> None:
        m, graph = captured(lambda m: setattr(m, "out", m.x * 2))
        side = torch.npu.Stream()
        graph.replay()
        if ordered or again:
            side.wait_stream(torch.npu.current_stream())
        with torch.npu.stream(side):
            m.kept.append(act(m))
        if again:
            if ordered:
                torch.npu.current_stream().wait_stream(side)
            graph.replay()
        torch.npu.synchronize()

    return fault


def pinned_input_of_a_graph(ordered: bool) -> None:
    m, graph = captured(lambda m: m.x.copy_(m.pinned, non_blocking=True))
    graph.replay()
    if ordered:
        torch.npu.synchronize()
    m.pinned.zero_()


def compiled(act: Callable) -> Callable:
    def fault(ordered: bool) -> None:
        m, side = material(), torch.npu.Stream()
        torch.npu.synchronize()
        m.out = COMPILED(m.x)
        if ordered:
            side.wait_stream(torch.npu.current_stream())
        with torch.npu.stream(side):
            m.kept.append(act(m))
        torch.npu.synchronize()

    return fault


FAULTS = {name: from_row(*row) for name, row in ROWS.items()} | {
    "memory given back without record_stream": given_back,
    "pinned memory read early": read_early,
    "pinned source overwritten": source_overwritten,
    "an item of another stream": item_of_another_stream,
    "an event recorded too early": event_recorded_too_early,
    "a wait for the wrong stream": waits_on_the_wrong_stream,
    "pyACL: a blocking copy": blocking_copy,
    "pyACL: freed while in use": freed,
    "pyACL: pinned memory freed while in use": freed_host,
    "a batch that was fetched ahead": prefetched,
    "gradients of another stream": backward_on_another_stream,
    "pinned buffers in turn": buffers_in_turn,
    "a worker's stream": worker_thread,
    "a fork in a graph": graph_with_a_fork,
    "a fork that the capture lost": lost_fork,
    "a graph on two streams at once": two_replays,
    "a graph's input overwritten": around_a_replay(lambda m: m.x.fill_(3)),
    "a graph's output read elsewhere": around_a_replay(lambda m: m.out + 1),
    "a graph's output still read at the next replay": around_a_replay(lambda m: m.out + 1, again=True),
    "a graph's input written before the next replay": around_a_replay(lambda m: m.x.fill_(3), again=True),
    "a graph's pinned input overwritten": pinned_input_of_a_graph,
    "torchair: an output": compiled(lambda m: m.out + 1),
    "torchair: an input overwritten": compiled(lambda m: m.x.zero_()),
}


def run(faults: dict[str, Callable]) -> None:
    for name, fault in faults.items():
        if len(sys.argv) > 1 and sys.argv[1] not in name:
            continue
        counts = []
        for ordered in (False, True):
            with sim.check_order() as found:
                fault(ordered)
                torch.npu.synchronize()
            counts.append(len(found.races))
        print(*counts, name, flush=True)


if __name__ == "__main__":
    import torchair

    COMPILED = torch.compile(lambda a: (a * 2 + 1).relu(), backend=torchair.get_npu_backend(), fullgraph=True)
    COMPILED(material().x)
    run(FAULTS)
