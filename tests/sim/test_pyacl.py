"""pyACL: the module ``acl`` of the simulated toolkit, with the conventions of CANN's."""

from __future__ import annotations

import math
import os
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import acl
import numpy
import pytest
import torch
from acl.rt import memcpy
from torch.nn import functional
from values import close, real

HOST_TO_DEVICE, DEVICE_TO_HOST, DEVICE_TO_DEVICE = 1, 2, 3
HUGE_FIRST = 0


@pytest.fixture(autouse=True)
def device() -> Iterator[None]:
    assert acl.init() == 0 and acl.rt.set_device(0) == 0
    yield
    acl.get_recent_err_msg()


def test_bytes_come_back_from_the_device_as_they_went() -> None:
    sent = bytes(range(256)) * 8
    here, there = (acl.rt.malloc(len(sent), HUGE_FIRST) for _ in range(2))
    assert here[1] == there[1] == 0 and here[0] != there[0]
    host, ret = acl.rt.malloc_host(len(sent))
    assert ret == 0
    assert memcpy(here[0], len(sent), acl.util.bytes_to_ptr(sent), len(sent), HOST_TO_DEVICE) == 0
    assert memcpy(there[0], len(sent), here[0], len(sent), DEVICE_TO_DEVICE) == 0
    assert memcpy(host, len(sent), there[0], len(sent), DEVICE_TO_HOST) == 0
    assert acl.util.ptr_to_bytes(host, len(sent)) == sent
    assert acl.rt.memset(here[0], len(sent), 7, 100) == 0
    assert memcpy(host, len(sent), here[0], 101, DEVICE_TO_HOST) == 0
    assert acl.util.ptr_to_bytes(host, 101) == b"\7" * 100 + sent[100:101]
    assert acl.rt.free_host(host) == acl.rt.free(here[0]) == acl.rt.free(there[0]) == 0


def test_a_wrong_call_gives_a_code_and_the_reason() -> None:
    assert memcpy(1, 8, 2, 4096, HOST_TO_DEVICE) == 107000
    assert "do not fit" in acl.get_recent_err_msg() and acl.get_recent_err_msg() is None
    pointer, ret = acl.rt.malloc(1 << 50, HUGE_FIRST)
    assert (pointer, ret) == (0, 207001)
    with pytest.raises(TypeError, match="aclrtMemcpy takes 5 arguments, 2 were given"):
        memcpy(1, 2)
    assert acl.rt.set_device(99) != 0


def test_a_function_that_takes_nothing_looks_at_nothing() -> None:
    assert acl.rt.synchronize_device(0) == 0 and acl.rt.get_device_count(7) == acl.rt.get_device_count()
    assert acl.mdl.destroy_dataset(acl.mdl.create_dataset("")) == 0
    with pytest.raises(TypeError, match="aclrtFree takes 1 arguments, 0 were given"):
        acl.rt.free()


def test_numpy_arrays_and_addresses() -> None:
    sent = numpy.arange(12, dtype=numpy.float32).reshape(3, 4)
    host, _ = acl.rt.malloc_host(sent.nbytes)
    device, _ = acl.rt.malloc(sent.nbytes, HUGE_FIRST)
    assert memcpy(device, sent.nbytes, acl.util.numpy_to_ptr(sent), sent.nbytes, HOST_TO_DEVICE) == 0
    assert memcpy(host, sent.nbytes, device, sent.nbytes, DEVICE_TO_HOST) == 0
    assert (acl.util.ptr_to_numpy(host, (3, 4), 11) == sent).all()
    with pytest.raises(ValueError, match="not contiguous"):
        acl.util.numpy_to_ptr(sent.T)
    assert acl.rt.free(device) == acl.rt.free_host(host) == 0


def test_streams_run_in_order_and_events_tell_when() -> None:
    stream, ret = acl.rt.create_stream()
    assert ret == 0 and stream
    (start, _), (end, _) = acl.rt.create_event(), acl.rt.create_event()
    size = 1 << 16
    device, _ = acl.rt.malloc(size, HUGE_FIRST)
    host, _ = acl.rt.malloc_host(size)
    assert acl.rt.record_event(start, stream) == 0
    assert acl.rt.memset_async(device, size, 5, size, stream) == 0
    assert acl.rt.memcpy_async(host, size, device, size, DEVICE_TO_HOST, stream) == 0
    assert acl.rt.record_event(end, stream) == 0
    assert acl.rt.synchronize_stream(stream) == 0
    assert acl.util.ptr_to_bytes(host, size) == b"\5" * size
    assert acl.rt.query_event(end) == (0, 0) and acl.rt.stream_query(stream) == (0, 0)
    milliseconds, ret = acl.rt.event_elapsed_time(start, end)
    assert ret == 0 and milliseconds >= 0
    for done in (acl.rt.free(device), acl.rt.free_host(host), acl.rt.destroy_event(start), acl.rt.destroy_event(end)):
        assert done == 0
    assert acl.rt.destroy_stream(stream) == 0


def test_callbacks_come_from_the_stream() -> None:
    stream, _ = acl.rt.create_stream()
    seen: list[object] = []
    over = threading.Event()
    by: set[int] = set()

    def process() -> None:
        by.add(threading.get_ident())
        while not over.is_set():
            acl.rt.process_report(50)

    thread, ret = acl.util.start_thread(process, [])
    assert ret == 0 and acl.rt.subscribe_report(thread, stream) == 0
    assert acl.rt.subscribe_report(thread, stream) == 107011, "a stream has one thread"
    for number in range(3):
        assert acl.rt.launch_callback(seen.append, number, 1, stream) == 0
    assert acl.rt.synchronize_stream(stream) == 0 and seen == [0, 1, 2]
    assert acl.rt.launch_callback(lambda _: by.add(threading.get_ident()), 0, 1, stream) == 0
    assert acl.rt.synchronize_stream(stream) == 0 and by == {thread}
    over.set()
    assert acl.util.stop_thread(thread) == 0 and acl.util.stop_thread(thread) != 0
    assert acl.rt.unsubscribe_report(thread, stream) == 0 and acl.rt.destroy_stream(stream) == 0


def test_devices_contexts_and_memory_tell_about_themselves() -> None:
    assert acl.get_soc_name() == "Ascend910B4" and acl.rt.get_device() == (0, 0)
    assert acl.rt.get_device_count() == (1, 0) and acl.rt.get_run_mode() == (1, 0)
    free, total, ret = acl.rt.get_mem_info(1)
    assert ret == 0 and 0 < free <= total
    pointer, _ = acl.rt.malloc(1 << 20, HUGE_FIRST)
    assert acl.rt.get_mem_info(1)[0] <= free - (1 << 20) and acl.rt.free(pointer) == 0
    before, _ = acl.rt.get_context()
    context, ret = acl.rt.create_context(0)
    assert ret == 0 and acl.rt.get_context() == (context, 0)
    assert acl.rt.set_context(before) == 0 and acl.rt.destroy_context(context) == 0
    assert acl.float16_to_float(acl.float_to_float16(0.5)) == 0.5 and acl.data_type_size(0) == 4


def test_an_operator_runs_by_its_type() -> None:
    values = [1.0, -2.0, 3.0]
    sent, size = struct.pack("3f", *values), 12
    memory = [acl.rt.malloc(size, HUGE_FIRST)[0] for _ in range(2)]
    assert memcpy(memory[0], size, acl.util.bytes_to_ptr(sent), size, HOST_TO_DEVICE) == 0
    descs = [acl.create_tensor_desc(0, [3], 2) for _ in memory]
    assert acl.get_tensor_desc_num_dims(descs[0]) == 1 and acl.get_tensor_desc_dim_v2(descs[0], 0) == (3, 0)
    buffers = [acl.create_data_buffer(one, size) for one in memory]
    assert acl.get_data_buffer_addr(buffers[0]) == memory[0] and acl.get_data_buffer_size(buffers[0]) == size
    attr, (stream, _) = acl.op.create_attr(), acl.rt.create_stream()
    ret = acl.op.compile_and_execute("Abs", descs[:1], buffers[:1], descs[1:], buffers[1:], attr, 0, 0, "", stream)
    assert ret == 0 and acl.rt.synchronize_stream(stream) == 0
    back, _ = acl.rt.malloc_host(size)
    assert memcpy(back, size, memory[1], size, DEVICE_TO_HOST) == 0
    assert struct.unpack("3f", acl.util.ptr_to_bytes(back, size)) == (1.0, 2.0, 3.0)
    acl.op.destroy_attr(attr)
    for one in descs:
        acl.destroy_tensor_desc(one)
    for one in buffers:
        assert acl.destroy_data_buffer(one) == 0
    assert [acl.rt.free(one) for one in memory] == [0, 0] and acl.rt.free_host(back) == acl.rt.destroy_stream(
        stream
    ) == 0


NCHW, NHWC, HWCN = 0, 1, 16


def by_type(name: str, attr: int, inputs: list[tuple[torch.Tensor, int]], out: list[int], format_: int) -> torch.Tensor:
    """The operator of FLOAT tensors, each in a format, with an output of this shape."""
    stream, _ = acl.rt.create_stream()
    sizes = [x.numel() * 4 for x, _ in inputs] + [4 * math.prod(out)]
    memory = [acl.rt.malloc(size, HUGE_FIRST)[0] for size in sizes]
    for (x, _), where, size in zip(inputs, memory, sizes, strict=False):
        lies = x.contiguous()
        assert memcpy(where, size, lies.data_ptr(), size, HOST_TO_DEVICE) == 0
    told = [(list(x.shape), of) for x, of in inputs] + [(out, format_)]
    descs = [acl.create_tensor_desc(0, shape, of) for shape, of in told]
    buffers = [acl.create_data_buffer(*one) for one in zip(memory, sizes, strict=True)]
    given = descs[:-1], buffers[:-1], descs[-1:], buffers[-1:]
    assert acl.op.compile_and_execute(name, *given, attr, 0, 0, "", stream) == 0
    assert acl.rt.synchronize_stream(stream) == 0
    result = torch.empty(out)
    assert memcpy(result.data_ptr(), sizes[-1], memory[-1], sizes[-1], DEVICE_TO_HOST) == 0
    for one in descs:
        acl.destroy_tensor_desc(one)
    assert [acl.destroy_data_buffer(one) for one in buffers] == [0] * len(buffers)
    assert [acl.rt.free(one) for one in memory] == [0] * len(memory) and acl.rt.destroy_stream(stream) == 0
    return result


@pytest.mark.parametrize("filter_format", [NCHW, HWCN])
@pytest.mark.parametrize("shapes", [((1, 2, 4, 6), (3, 2, 3, 3)), ((2, 2, 2, 2), (2, 2, 2, 2))])
def test_images_with_their_channels_last(shapes: tuple[tuple[int, ...], tuple[int, ...]], filter_format: int) -> None:
    """As the sample acl_compile_and_execute_conv2d has them: each description says the order of its own tensor."""
    x, weight = real(*shapes[0]), real(*shapes[1], seed=1)
    want = functional.conv2d(x, weight, stride=(1, 2), padding=1)
    attr = acl.op.create_attr()
    for name, values in (("strides", [1, 1, 2, 1]), ("pads", [1, 1, 1, 1]), ("dilations", [1, 1, 1, 1])):
        assert acl.op.set_attr_list_int(attr, name, values) == 0
    filter_ = weight.permute(2, 3, 1, 0) if filter_format == HWCN else weight
    inputs = [(x.permute(0, 2, 3, 1), NHWC), (filter_, filter_format)]
    out = by_type("Conv2D", attr, inputs, list(want.permute(0, 2, 3, 1).shape), NHWC)
    close(out.permute(0, 3, 1, 2), want, 1e-5)
    acl.op.destroy_attr(attr)


def test_a_program_writes_into_the_log(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("ASCEND_LOG_PRINT_TO_STDOUT", "1")
    script = "import acl; acl.app_log(3, '100 % of it')"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "100 % of it" in done.stdout and "<string>:1" in done.stdout


def test_a_kernel_of_the_programs_own_is_loaded_and_launched(tmp_path: Path) -> None:
    root, binary = Path(os.environ["OPHOOK_SIM_ROOT"]), tmp_path / "increase.o"
    source = Path(__file__).parent / "programs" / "asc" / "increase.asc"  # x[0] += *by + more
    command = [str(root / "bin" / "bisheng"), "-shared", str(source), "-o", str(binary)]
    subprocess.run(command, check=True, timeout=300)
    loaded, ret = acl.rt.binary_load_from_file(str(binary), [])
    kernel, found = acl.rt.binary_get_function(loaded, "increase")
    assert ret == found == 0 and acl.rt.get_function_name(kernel, 64) == ("increase", 0)
    assert acl.rt.binary_get_function(loaded, "other") == (0, 107000)
    stream, _ = acl.rt.create_stream()
    x, by = (acl.rt.malloc(32, HUGE_FIRST)[0] for _ in range(2))
    assert acl.rt.memset(x, 32, 0, 32) == 0
    assert memcpy(by, 4, acl.util.bytes_to_ptr(struct.pack("i", 5)), 4, HOST_TO_DEVICE) == 0

    values = [numpy.array(one) for one in (numpy.uint64(x), numpy.uint64(by), numpy.int32(100))]
    list_, ret = acl.rt.kernel_args_init(kernel)
    added = [acl.rt.kernel_args_append(list_, one.ctypes.data, one.nbytes) for one in values]
    assert ret == 0 and [code for _, code in added] == [0, 0, 0]
    assert acl.rt.kernel_args_finalize(list_) == 0
    assert acl.rt.launch_kernel_with_config(kernel, 1, stream, [{"id": 1, "value": 0}], list_, 0) == 0  # 105
    assert acl.rt.kernel_args_para_update(list_, added[2][0], numpy.array(numpy.int32(0)).ctypes.data, 4) == 0
    assert acl.rt.kernel_args_finalize(list_) == 0
    assert acl.rt.launch_kernel_with_config(kernel, 1, stream, [], list_, 0) == 0  # 5
    with pytest.raises(ValueError, match="options are a list"):
        acl.rt.launch_kernel_with_config(kernel, 1, stream, None, list_, 0)

    whole = binary.read_bytes()
    made = acl.rt.create_binary(acl.util.bytes_to_ptr(whole), len(whole))
    again, ret = acl.rt.binary_load(made)
    packed = struct.pack("QQi4x", x, by, 1000)
    arguments, _ = acl.rt.malloc(len(packed), HUGE_FIRST)
    assert ret == 0 and memcpy(arguments, 24, acl.util.bytes_to_ptr(packed), 24, HOST_TO_DEVICE) == 0
    third, ret = acl.rt.binary_get_function(again, "increase")
    assert ret == 0, acl.get_recent_err_msg()
    assert acl.rt.launch_kernel(third, 1, arguments, len(packed), stream) == 0, acl.get_recent_err_msg()  # 1005
    assert acl.rt.synchronize_stream(stream) == 0
    host, _ = acl.rt.malloc_host(4)
    assert memcpy(host, 4, x, 4, DEVICE_TO_HOST) == 0
    assert struct.unpack("i", acl.util.ptr_to_bytes(host, 4)) == (1115,)
    # Another binary, from memory as well, is not taken for the one before.
    subprocess.run([*command[:-1], str(tmp_path / "heighten.o"), "-Dincrease=heighten"], check=True, timeout=300)
    data = (tmp_path / "heighten.o").read_bytes()
    other, ret = acl.rt.binary_load_from_data(acl.util.bytes_to_ptr(data), len(data), [])
    assert ret == 0 and acl.rt.binary_get_function(other, "heighten")[1] == 0
    assert acl.rt.binary_get_function(other, "increase")[1] == 107000
    assert acl.rt.binary_unload(loaded) == acl.rt.binary_unload(again) == acl.rt.destroy_binary(made) == 0


def test_what_is_not_simulated_fails_by_name() -> None:
    for module in (acl, acl.rt, acl.op, acl.util, acl.mdl):
        with pytest.raises(AttributeError, match=rf"{module.__name__}\.no_such_function is not implemented"):
            module.no_such_function()


def test_it_is_found_in_a_shell_with_set_env(tmp_path: Path) -> None:
    """Where CANN has it: on PYTHONPATH, for any Python; without torch."""
    code = "import acl, sys; print(acl.init(), acl.rt.get_device_count(), 'torch' in sys.modules, acl.__file__)"
    root = os.environ["OPHOOK_SIM_ROOT"]
    plain = {"PATH": "/usr/bin:/bin", "PYTHONPATH": "elsewhere"}
    script = f'source {root}/set_env.sh && {sys.executable} -c "{code}" && echo $PYTHONPATH'
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=plain, timeout=100)
    assert done.returncode == 0, done.stderr
    site = f"{root}/python/site-packages"
    assert done.stdout == f"0 (1, 0) False {site}/acl/__init__.py\n{site}:elsewhere\n"
