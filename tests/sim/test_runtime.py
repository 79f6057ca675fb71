"""Devices, memory, streams, events and captured graphs, seen through torch.npu."""

import ctypes
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import torch_npu


def test_device_is_the_simulated_soc() -> None:
    assert torch.npu.is_available() and torch.npu.device_count() == 1
    assert torch.npu.get_device_name(0) == "Ascend910B4"
    properties = torch.npu.get_device_properties(0)
    assert properties.total_memory > 1 << 30


def test_the_release_is_what_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = ctypes.CDLL("libascendcl.so")
    parts = ctypes.create_string_buffer(4096)
    text = ctypes.create_string_buffer(128)
    for asked, says in ((None, b"8.5.0"), ("9.0.0", b"9.0.0"), ("8.5.0", b"8.5.0")):
        monkeypatch.delenv("OPHOOK_SIM_CANN", raising=False)
        if asked:
            monkeypatch.setenv("OPHOOK_SIM_CANN", asked)
        assert runtime.aclsysGetVersionStr(ctypes.c_char_p(b"cann"), text) == 0 and text.value == says
        assert runtime.aclsysGetCANNVersion(0, parts) == 0 and parts.value == says
    monkeypatch.setenv("OPHOOK_SIM_CANN", "7.0.0")
    assert runtime.aclsysGetVersionStr(ctypes.c_char_p(b"cann"), text) != 0
    assert runtime.aclsysGetCANNVersion(0, parts) != 0


def test_memory_is_accounted() -> None:
    torch.npu.empty_cache()
    free, total = torch.npu.mem_get_info()
    block = torch.empty(64 << 20, dtype=torch.uint8, device="npu")
    assert torch.npu.mem_get_info()[0] <= free - (64 << 20)
    assert torch.npu.memory_allocated() >= 64 << 20
    del block
    torch.npu.empty_cache()
    assert torch.npu.mem_get_info() == (free, total)


def test_tensors_begin_at_multiples_of_512_bytes() -> None:
    """As on a device: how a kernel adds numbers up may depend on it. For graphs see test_ge_packages.py."""
    dtypes = (torch.int8, torch.float16, torch.float32, torch.complex64)
    held = [torch.ones(count, dtype=dtype).npu() for count in (1, 3, 77, 1000, 1 << 20) for dtype in dtypes]
    del held[::3]  # others take their place
    held += [one + one for one in held] + [one.clone() for one in held]
    assert {one.data_ptr() % 512 for one in held} == {0}


def test_out_of_memory_has_torch_npus_text() -> None:
    _, total = torch.npu.mem_get_info()
    with pytest.raises(torch.OutOfMemoryError, match=r"NPU out of memory\. Tried to allocate"):
        torch.empty(total + (1 << 20), dtype=torch.uint8, device="npu")
    assert torch.ones(4, device="npu").sum().item() == 4  # and life goes on


def test_out_of_a_small_devices_memory(run_sim) -> None:
    code = """
import torch, torch_npu
kept = []
try:
    while True: kept.append(torch.empty(16 << 20, dtype=torch.uint8, device="npu"))
except torch.OutOfMemoryError as error:
    print(len(kept), "blocks;", error)
kept.clear()
print(torch.ones(1 << 20, device="npu").sum().item())
"""
    result = run_sim(code, "--memory", "256")
    assert result.returncode == 0, result.stderr
    assert "256.00 MiB total capacity" in result.stdout and "1048576.0" in result.stdout


def test_streams_are_asynchronous_and_events_measure() -> None:
    source = torch.empty(256 << 20, dtype=torch.uint8, device="npu")
    target = torch.empty_like(source)
    target.copy_(source)
    torch.npu.synchronize()
    start, end = (torch.npu.Event(enable_timing=True) for _ in range(2))
    clock = time.perf_counter()
    start.record()
    for _ in range(8):
        target.copy_(source)
    end.record()
    seen_running = not end.query()
    end.synchronize()
    finished = time.perf_counter() - clock
    assert seen_running and end.query()
    # How much of the time is the device's depends on what else runs on this machine.
    assert 0 < start.elapsed_time(end) / 1000 <= finished + 0.001


def test_a_stream_waits_for_an_event_of_another() -> None:
    first, second = torch.npu.Stream(), torch.npu.Stream()
    data = torch.zeros(64 << 20, dtype=torch.uint8, device="npu")
    torch.npu.synchronize()
    with torch.npu.stream(first):
        for value in range(1, 9):
            data.fill_(value)
        ready = first.record_event()
    with torch.npu.stream(second):
        second.wait_event(ready)
        result = data[-1].clone()
    second.synchronize()
    assert result.item() == 8


def test_event_that_was_not_recorded_has_no_time() -> None:
    start, end = (torch.npu.Event(enable_timing=True) for _ in range(2))
    start.record()
    with pytest.raises(RuntimeError, match=r"time stamp|recorded"):
        start.elapsed_time(end)


def test_pinned_memory() -> None:
    host = torch.arange(1000).pin_memory()
    assert host.is_pinned()
    assert torch.equal(host.to("npu", non_blocking=True).cpu(), torch.arange(1000))


def test_error_of_a_running_operator_comes_at_synchronization_and_is_reported_once() -> None:
    index = torch.tensor([7], device="npu")
    weight = torch.ones(3, 4, device="npu")
    with pytest.raises(RuntimeError, match=r"\[simulated Ascend\] aclnnEmbedding: .*index out of range"):
        torch.nn.functional.embedding(index, weight)
        torch.npu.synchronize()
    torch.npu.synchronize()
    assert (weight + 1).sum().item() == 24


def test_synchronous_mode_raises_at_the_call(run_sim) -> None:
    code = """
import torch, torch_npu
weight, index = torch.ones(3, 4, device="npu"), torch.tensor([7], device="npu")
try: torch.nn.functional.embedding(index, weight)
except RuntimeError as error: print("raised:", "index out of range" in str(error))
else: print("nothing raised")
"""
    result = run_sim(code, "--sync", TASK_QUEUE_ENABLE="0")
    assert "raised: True" in result.stdout, result.stdout + result.stderr


def test_captured_graph_replays_on_new_data() -> None:
    x = torch.zeros(8, device="npu")
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        y = x * 2 + 1
    for value in (1.0, 5.0):
        x.fill_(value)
        graph.replay()
        assert y.cpu().tolist() == [value * 2 + 1] * 8


def test_capture_draws_in_a_stream_that_waits() -> None:
    x = torch.zeros(8, device="npu")
    side = torch.npu.Stream()
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        y = x + 1
        side.wait_stream(torch.npu.current_stream())
        with torch.npu.stream(side):
            z = y * 3
        torch.npu.current_stream().wait_stream(side)
        w = z + y
    x.fill_(2)
    graph.replay()
    assert w.cpu().tolist() == [12.0] * 8


def test_synchronizing_a_capturing_stream_is_refused() -> None:
    graph = torch.npu.NPUGraph()
    with pytest.raises(RuntimeError, match="107027"):
        with torch.npu.graph(graph):
            torch.npu.current_stream().synchronize()
    assert torch.ones(2, device="npu").sum().item() == 2


def left_inside_a_group(x: torch.Tensor) -> None:
    torch.npu.graph_task_group_begin(torch.npu.current_stream())
    x.mul_(2)
    raise ValueError("the user's own")


def fork_that_does_not_come_back(x: torch.Tensor) -> None:
    side = torch.npu.Stream()
    side.wait_stream(torch.npu.current_stream())
    with torch.npu.stream(side):
        x.mul_(2)


@pytest.mark.torch_npu("2.10", "an earlier one keeps a capture that was left open, and later ones fail")
@pytest.mark.parametrize("body, code", [(left_inside_a_group, "107033"), (fork_that_does_not_come_back, "107025")])
def test_a_capture_that_is_left_open_is_refused_and_gone(body: Callable, code: str) -> None:
    x = torch.ones(4, device="npu")
    with pytest.raises(RuntimeError, match=code):
        with torch.npu.graph(torch.npu.NPUGraph()):
            body(x)
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        torch.npu.graph_task_group_begin(torch.npu.current_stream())
        y = x + 1
        group = torch.npu.graph_task_group_end(torch.npu.current_stream())
    updates = torch.npu.Stream()
    with torch.npu.stream(updates):
        torch.npu.graph_task_update_begin(updates, group)
        torch.sub(x, 1, out=y)
        torch.npu.graph_task_update_end(updates)
    graph.replay()
    assert y.tolist() == [0.0] * 4


def test_a_prefetch_changes_nothing() -> None:
    weight, before = torch.arange(8.0, device="npu"), torch.ones(2, device="npu")
    torch_npu.npu_prefetch(weight, before, 1 << 20, 4)
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        torch_npu.npu_prefetch(weight, None, 16)
        y = weight * 2
    graph.replay()
    assert y.tolist() == [2.0 * i for i in range(8)]
    call = ctypes.CDLL("libascendcl.so").aclrtCmoAsync
    at, size = ctypes.c_void_p(weight.data_ptr()), ctypes.c_size_t(16)
    assert [call(None, size, 0, None), call(at, ctypes.c_size_t(0), 0, None)] == [100000] * 2
    assert [call(at, size, kind, None) for kind in range(5)] == [0, 0, 200001, 0, 207000]


def test_two_devices(run_sim) -> None:
    code = """
import torch, torch_npu
assert torch.npu.device_count() == 2
a = torch.arange(4, device="npu:0")
b = a.to("npu:1")
print(b.device, (b + 1).cpu().tolist(), torch.npu.current_device())
"""
    result = run_sim(code, "--devices", "2")
    assert result.stdout.split("\n")[0] == "npu:1 [1, 2, 3, 4] 0", result.stdout + result.stderr


def test_expandable_segments(run_sim) -> None:
    code = """
import torch, torch_npu
a = torch.ones(10 << 20, device="npu"); b = torch.ones(30 << 20, device="npu")
print((a.sum() + b.sum()).item()); del a, b; torch.npu.empty_cache(); print(torch.npu.memory_reserved())
"""
    result = run_sim(code, PYTORCH_NPU_ALLOC_CONF="expandable_segments:True")
    assert result.stdout.split() == [str(float(40 << 20)), "0"], result.stdout + result.stderr


def test_copies_span_expandable_segments(run_sim) -> None:
    code = """
import torch, torch_npu
there = torch.arange(50 << 18)  # 100 MiB: several handles of a segment
on_device = there.npu()
print(torch.equal(on_device.cpu(), there), torch.equal(on_device.clone().cpu(), there))
"""
    result = run_sim(code, PYTORCH_NPU_ALLOC_CONF="expandable_segments:True")
    assert result.stdout.split() == ["True", "True"], result.stdout + result.stderr


def test_npugraph_ex_writes_results_into_inputs_that_overlap(run_sim) -> None:
    code = """
import torch, torch_npu
def differences(x):
    position = torch.arange(16, device=x.device)[None].expand(2, -1)
    return torch.diff(position, prepend=position[:, :1] - 1, dim=-1) + x
compiled = torch.compile(differences, backend="npugraph_ex", dynamic=False)
print(compiled(torch.zeros(2, 16, dtype=torch.int64).npu()).cpu().unique().tolist())
"""
    assert run_sim(code).stdout.split("\n")[0] == "[1]"


@pytest.mark.parametrize("mode", ["0", "1", "2"])
def test_variables_of_a_forked_program_reach_torch_npu(run_sim, mode: str) -> None:
    """The programs of these tests get TASK_QUEUE_ENABLE after `import torch_npu`: it has not been read by then."""
    code = """
import ctypes, torch_npu
from pathlib import Path
library = ctypes.CDLL(str(Path(torch_npu.__file__).parent / "lib" / "libtorch_npu.so"))
print(getattr(library, "_Z23OpApiGetTaskQueueEnablev")())
"""
    result = run_sim(code, TASK_QUEUE_ENABLE=mode)
    assert result.stdout == f"{mode}\n", result.stdout + result.stderr


def test_the_driver_says_what_torch_npu_asks_it_for() -> None:
    driver = ctypes.CDLL("libascend_hal.so")
    version, count, value = ctypes.c_int32(), ctypes.c_uint32(), ctypes.c_int64(7)
    assert driver.halGetAPIVersion(ctypes.byref(version)) == 0
    assert 0 < version.value < 0x071905  # from there on torch_npu's profiler would read the device's counter
    assert driver.drvGetDevNum(ctypes.byref(count)) == 0 and count.value == torch.npu.device_count()
    assert driver.halGetDeviceInfo(0, 0, 24, ctypes.byref(value)) == 0xFFFE and value.value == 7
    assert driver.drvGetDevNum(None) == driver.halGetAPIVersion(None) == 3
    assert torch.npu._raw_device_count_ascend_hal() == torch.npu.device_count()


def test_a_thread_without_a_device_says_so_before_aclinit_too(run_sim) -> None:
    """torch_npu asks before it calls aclInit, and takes this answer for device 0."""
    code = """
import torch, torch_npu
swapped = torch_npu.empty_with_swapped_memory([2], dtype=torch.float32, device="npu:0").fill_(3)
print(torch.empty_like(swapped).fill_(1).mul_(swapped).cpu().tolist())
"""
    result = run_sim(code)
    assert result.stdout.split("\n")[0] == "[3.0, 3.0]", result.stdout + result.stderr


def test_a_preloaded_library_stands_before_a_function_and_finds_it(run_sim, tmp_path: Path) -> None:
    """By RTLD_NEXT, as tools do that count what a program allocates."""
    source, library, told = tmp_path / "hook.c", tmp_path / "libhook.so", tmp_path / "told"
    source.write_text("""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
int aclrtMallocAlign32(void** out, size_t size, int policy) {
  int (*next)(void**, size_t, int) = (int (*)(void**, size_t, int))dlsym(RTLD_NEXT, "aclrtMallocAlign32");
  FILE* told = fopen(getenv("HOOK_TOLD"), "a");
  fprintf(told, "%zu %s\\n", size, next ? "found" : "missing");
  fclose(told);
  return next ? next(out, size, policy) : -1;
}
""")
    subprocess.run(["gcc", "-shared", "-fPIC", str(source), "-o", str(library), "-ldl"], check=True)
    code = "import torch, torch_npu; print(torch.ones(1 << 20, device='npu').sum().item())"
    result = run_sim(code, anew=True, LD_PRELOAD=str(library), HOOK_TOLD=str(told))
    assert result.stdout.split("\n")[0] == str(float(1 << 20)), result.stdout + result.stderr
    assert set(told.read_text().split()[1::2]) == {"found"}


def test_a_stream_sleeps() -> None:
    import time

    from interfaces import Refused, aclnn, rules_of

    with rules_of("Ascend950"):
        start = time.perf_counter()
        aclnn("aclnnSleep", [165_000_000])  # a tenth of a second
        assert time.perf_counter() - start >= 0.1
        for cycles in ([], [0], [-5]):
            with pytest.raises(Refused, match="one number above 0 is expected"):
                aclnn("aclnnSleep", cycles)
