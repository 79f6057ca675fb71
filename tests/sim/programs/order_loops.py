"""For test_order.py: planted faults of training loops, loaders, optimizers and threads, as in order_table.py."""

import ctypes
import threading

import torch
import torch.utils.checkpoint
import torch_npu
from order_table import DEVICE_TO_DEVICE, DEVICE_TO_HOST, acl, from_row, handle, material, run

main, Stream, Event, on = torch.npu.current_stream, torch.npu.Stream, torch.npu.Event, torch.npu.stream


def ones(*sizes: int) -> torch.Tensor:
    x = torch.ones(*(sizes or (32, 32)), device="npu")
    torch.npu.synchronize()
    return x


def model() -> torch.nn.Module:
    made = torch.nn.Sequential(torch.nn.Linear(32, 32), torch.nn.ReLU(), torch.nn.Linear(32, 32)).npu()
    torch.npu.synchronize()
    return made


def into_out(m) -> None:
    m.out = ones(2, 8, 8)
    torch.stack(m.many, out=m.out)


def running_mean(m) -> None:
    m.out = torch.zeros(3, device="npu")
    m.kept.append(torch.nn.functional.batch_norm(m.image, m.out, m.image[0, :, 0, 0].clone(), training=True))


def clipped(m) -> None:
    m.leaf.grad = m.x
    torch.nn.utils.clip_grad_norm_([m.leaf], 1.0)


def in_blocks(m) -> None:
    torch.npu.config.allow_internal_format = True
    torch_npu.npu_format_cast_(m.half, 29)  # FRACTAL_NZ


def checkpointed(m) -> None:
    m.out = torch.utils.checkpoint.checkpoint(lambda x: (x * 2).relu(), m.leaf, use_reentrant=False)


ROWS = {
    "windows that overlap": (
        lambda m: m.x.view(-1)[:100].unfold(0, 16, 8)[0].mul_(2), lambda m: m.x.view(-1)[:100].unfold(0, 16, 8)[1].sum()
    ),
    "the same bytes as another type": (lambda m: m.x.view(torch.int32).bitwise_and_(-2), lambda m: m.x + 1),
    "a real view of complex numbers": (
        lambda m: torch.view_as_complex(m.x.view(-1, 2)).mul_(2), lambda m: m.x[3].sum()
    ),
    "accumulated by index": (lambda m: m.x.index_put_((m.rows,), m.y[:4], accumulate=True), lambda m: m.x[3] + 1),
    "a batch norm's running mean": (running_mean, lambda m: m.out + 1),
    "a clipped norm": (clipped, lambda m: m.x + 1),
    "checkpointed activations": (checkpointed, lambda m: m.out.detach() + 1),
    "a stack into out=": (into_out, lambda m: m.out[1] + 1),
    "a format cast in place": (in_blocks, lambda m: m.half + 1),
    "an operator by its type name": (lambda m: m.kept.append(torch_npu.npu_mish(m.x)), lambda m: m.x.zero_()),
}  # fmt: skip


def storage_grown(ordered: bool) -> None:
    m, side = material(), Stream()
    torch.npu.synchronize()
    with on(side):
        m.kept.append(m.x + 1)
    if ordered:
        main().wait_stream(side)
    m.x.resize_(64, 64)
    m.kept.append(torch.zeros(32, 32, device="npu"))


def storage_given_to_another(ordered: bool) -> None:
    m, side = material(), Stream()
    torch.npu.synchronize()
    with on(side):
        m.kept.append(m.y + 1)
    if ordered:
        m.y.record_stream(side)
    m.y.set_(m.x)
    m.kept.append(torch.zeros(32, 32, device="npu"))


def optimizer_on_a_side_stream(ordered: bool) -> None:
    net, side, x = model(), Stream(), ones()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, foreach=True)
    net(x).sum().backward()
    side.wait_stream(main())
    with on(side):
        optimizer.step()
    if ordered:
        main().wait_stream(side)
    net(x)


def average_of_weights(ordered: bool) -> None:
    net, side, x = model(), Stream(), ones()
    average = [p.detach().clone() for p in net.parameters()]
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, foreach=True)
    for _ in range(2):
        net(x).sum().backward()
        optimizer.step()
        side.wait_stream(main())
        with on(side), torch.no_grad():
            torch._foreach_lerp_(average, [p.detach() for p in net.parameters()], 0.1)
        if ordered:
            main().wait_stream(side)
    torch.npu.synchronize()


def gradients_set_to_none(ordered: bool) -> None:
    net, side, x = model(), Stream(), ones()
    optimizer, kept = torch.optim.SGD(net.parameters(), lr=0.1), []
    net(x).sum().backward()
    side.wait_stream(main())
    with on(side):
        kept += [p.grad.norm() for p in net.parameters()]
    if ordered:
        for p in net.parameters():
            p.grad.record_stream(side)
    optimizer.zero_grad(set_to_none=True)
    net(x).sum().backward()


def loader_and_a_side_stream(ordered: bool) -> None:
    data = torch.utils.data.TensorDataset(torch.ones(16, 32))
    side, out = Stream(), []
    for (batch,) in torch.utils.data.DataLoader(data, batch_size=4, pin_memory=True):
        with on(side):
            there = batch.to("npu", non_blocking=True)
        if ordered:
            main().wait_stream(side)
            there.record_stream(main())
        out.append(there * 2)


def loader_whose_batches_are_changed(ordered: bool) -> None:
    data, there = torch.utils.data.TensorDataset(torch.ones(16, 32)), ones(4, 32)
    for (batch,) in torch.utils.data.DataLoader(data, batch_size=4, pin_memory=True):
        there.copy_(batch, non_blocking=True)
        if ordered:
            main().synchronize()
        batch.mul_(2)


def prefetcher_of_two_batches(ordered: bool) -> None:
    side, here, out = Stream(), torch.ones(32, 32).pin_memory(), []
    with on(side):
        following = here.to("npu", non_blocking=True)
    for _ in range(3):
        main().wait_stream(side)
        batch = following
        if ordered:
            batch.record_stream(main())
        with on(side):
            following = here.to("npu", non_blocking=True)
        out.append(batch @ batch)
        del batch
    torch.npu.synchronize()


def event_that_was_never_recorded(ordered: bool) -> None:
    m, side, event = material(), Stream(), Event()
    torch.npu.synchronize()
    m.x.mul_(2)
    if ordered:
        event.record()
    side.wait_event(event)
    with on(side):
        m.kept.append(m.x + 1)


def event_waited_for_by_the_host_before_its_record(ordered: bool) -> None:
    m, event = material(), Event()
    torch.npu.synchronize()
    m.pinned.copy_(m.x, non_blocking=True)
    if ordered:
        event.record()
    event.synchronize()
    m.pinned.sum()


def event_recorded_again_too_early(ordered: bool) -> None:
    m, side, event = material(), Stream(), Event()
    torch.npu.synchronize()
    m.x.mul_(2)
    event.record()
    if not ordered:
        event.record(side)
    Stream().wait_event(event)
    side.wait_event(event)
    with on(side):
        m.kept.append(m.x + 1)


def stream_left_by_an_exception(ordered: bool) -> None:
    m, side, before = material(), Stream(), main()
    torch.npu.synchronize()
    m.x.mul_(2)
    try:
        if ordered:
            with on(side):
                raise ValueError
        torch.npu.set_stream(side)
        raise ValueError
    except ValueError:
        pass
    m.kept.append(m.x + 1)
    torch.npu.set_stream(before)


def result_on_the_host_read_early(ordered: bool) -> None:
    m = material()
    torch.npu.synchronize()
    there = (m.x * 2).to("cpu", non_blocking=True)
    if ordered:
        main().synchronize()
    there.sum()


def checkpoint_written_by_a_thread(ordered: bool) -> None:
    m, copied = material(), Event()
    torch.npu.synchronize()
    m.pinned.copy_(m.x, non_blocking=True)
    copied.record()

    def write() -> None:
        if ordered:
            copied.synchronize()
        m.pinned.numpy().tobytes()

    thread = threading.Thread(target=write)
    thread.start()
    thread.join()


class Offloaded(torch.autograd.Function):
    """Its backward pass multiplies on a stream of its own."""

    @staticmethod
    def forward(ctx, x, ordered):
        ctx.ordered = ordered
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        side, here = Stream(), main()
        side.wait_stream(here)
        with on(side):
            out = grad * 2
        grad.record_stream(side)
        if ctx.ordered:
            here.wait_stream(side)
            out.record_stream(here)
        return out, None


def backward_pass_with_a_stream_of_its_own(ordered: bool) -> None:
    m = material()
    torch.npu.synchronize()
    Offloaded.apply(m.leaf * 3, ordered).sum().backward()


def activations_packed_on_a_stream_of_copies(ordered: bool) -> None:
    m, copies = material(), Stream()
    torch.npu.synchronize()

    def pack(x):
        copies.wait_stream(main())
        with on(copies):
            here = torch.empty(x.shape, dtype=x.dtype, pin_memory=True)
            here.copy_(x, non_blocking=True)
        x.record_stream(copies)
        return here

    def unpack(here):
        if ordered:
            copies.synchronize()
            return here.to("npu")
        with on(copies):
            return here.to("npu", non_blocking=True)

    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = (m.leaf * 2).exp().sum()
    y.backward()


def module_converted_while_in_use(ordered: bool) -> None:
    net, side, x, kept = model(), Stream(), ones(), []
    with on(side):
        kept.append(net(x))
    if ordered:
        main().wait_stream(side)
    net.half()
    kept += [torch.zeros(32, 32, device="npu") for _ in range(3)]


def weights_swapped(ordered: bool) -> None:
    """A layer's weights are loaded anew while a stream still multiplies with the old ones."""
    net, side, x, kept = model(), Stream(), ones(), []
    state = {name: torch.zeros_like(value, device="cpu") for name, value in net.state_dict().items()}
    with on(side):
        kept.append(net(x))
    if ordered:
        side.synchronize()
    net.load_state_dict(state)


def hook_that_keeps_a_gradient(ordered: bool) -> None:
    m, side, kept = material(), Stream(), []
    torch.npu.synchronize()
    with on(side):
        y = m.leaf * 2
        y.register_hook(lambda grad: kept.append(grad))
        loss = y.sum()
    side.synchronize()
    with on(side):
        loss.backward()
    if ordered:
        main().wait_stream(side)
    kept[0] + 1


def two_threads_of_pyacl(ordered: bool) -> None:
    m, started = material(), []
    torch.npu.synchronize()
    streams = [ctypes.c_void_p() for _ in range(2)]
    context = ctypes.c_void_p()
    assert acl.aclrtGetCurrentContext(ctypes.byref(context)) == 0
    pointers = [ctypes.c_void_p(t.data_ptr()) for t in (m.x, m.y, m.z)]

    def work(number: int) -> None:
        assert acl.aclrtSetCurrentContext(context) == 0
        assert acl.aclrtCreateStream(ctypes.byref(streams[number])) == 0
        to, of = pointers[number + 1], pointers[number]
        started.append(acl.aclrtMemcpyAsync(to, 4096, of, 4096, DEVICE_TO_DEVICE, streams[number]))
        if ordered:
            assert acl.aclrtSynchronizeStream(streams[number]) == 0

    for number in range(2):
        thread = threading.Thread(target=work, args=(number,))
        thread.start()
        thread.join()
    torch.npu.synchronize()
    assert started == [0, 0]
    for stream in streams:
        assert acl.aclrtDestroyStream(stream) == 0


def memory_of_malloc(ordered: bool) -> None:
    """pyACL: a copy to memory that is not pinned waits for its own stream, and for no other."""
    m, side, there = material(), Stream(), ctypes.create_string_buffer(4096)
    torch.npu.synchronize()
    m.x.mul_(2)
    with on(main() if ordered else side):
        assert acl.aclrtMemcpyAsync(there, 4096, ctypes.c_void_p(m.x.data_ptr()), 4096, DEVICE_TO_HOST, handle()) == 0


def reduced_on_the_device(ordered: bool) -> None:
    """pyACL: aclrtReduceAsync adds into memory that another stream reads."""
    m, side = material(), Stream()
    torch.npu.synchronize()
    to, of = ctypes.c_void_p(m.x.data_ptr()), ctypes.c_void_p(m.y.data_ptr())
    assert acl.aclrtReduceAsync(to, of, ctypes.c_uint64(4096), 10, 0, handle(), None) == 0
    if ordered:
        side.wait_stream(main())
    with on(side):
        m.kept.append(m.x + 1)


INNER_DEVICE_TO_DEVICE = 6  # aclrtMemcpyKind


def copied_by_description(ordered: bool) -> None:
    """pyACL: a copy whose addresses lie in device memory writes what another stream reads."""
    m, side = material(), Stream()
    described = torch.zeros(64, dtype=torch.uint8, device="npu")
    m.kept.append(described)
    torch.npu.synchronize()
    to, of, by = (ctypes.c_void_p(t.data_ptr()) for t in (m.x, m.y, described))
    assert acl.aclrtSetMemcpyDesc(by, INNER_DEVICE_TO_DEVICE, of, to, ctypes.c_size_t(4096), None) == 0
    assert acl.aclrtMemcpyAsyncWithDesc(by, INNER_DEVICE_TO_DEVICE, handle()) == 0
    if ordered:
        side.wait_stream(main())
    with on(side):
        m.kept.append(m.x + 1)


def stream_destroyed_by_force(ordered: bool) -> None:
    m, stream = material(), ctypes.c_void_p()
    assert acl.aclrtCreateStream(ctypes.byref(stream)) == 0
    torch.npu.synchronize()
    to, of = ctypes.c_void_p(m.x.data_ptr()), ctypes.c_void_p(m.y.data_ptr())
    assert acl.aclrtMemcpyAsync(to, 4096, of, 4096, DEVICE_TO_DEVICE, stream) == 0
    if ordered:
        assert acl.aclrtSynchronizeStream(stream) == 0
    assert acl.aclrtDestroyStreamForce(stream) == 0
    m.kept.append(m.x + 1)


FAULTS = {
    function.__name__.replace("_", " "): function
    for function in (
        storage_grown, storage_given_to_another, optimizer_on_a_side_stream, average_of_weights, gradients_set_to_none,
        loader_and_a_side_stream, loader_whose_batches_are_changed, prefetcher_of_two_batches,
        event_that_was_never_recorded, event_waited_for_by_the_host_before_its_record, event_recorded_again_too_early,
        stream_left_by_an_exception,
        result_on_the_host_read_early, checkpoint_written_by_a_thread, backward_pass_with_a_stream_of_its_own,
        activations_packed_on_a_stream_of_copies, module_converted_while_in_use, weights_swapped,
        hook_that_keeps_a_gradient, two_threads_of_pyacl, memory_of_malloc, reduced_on_the_device,
        copied_by_description, stream_destroyed_by_force,
    )
}  # fmt: skip

if __name__ == "__main__":
    run({name: from_row(*row) for name, row in ROWS.items()} | FAULTS)
