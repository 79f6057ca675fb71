"""Faults in one process, a process each: `python faults.py [CASE]...` prints a JSON line for each case.

test_faults.py looks at the lines, and scripts/fault_table.py makes the table of docs/faults.md of them.
"""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch_npu

from ophook_npu.sim import fault

warnings.simplefilter("ignore")


def raised(run: Callable[[], Any]) -> str:
    """The error that it ends with, or nothing."""
    try:
        run()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def twos() -> torch.Tensor:
    return torch.ones(64, 64).npu() + torch.ones(64, 64).npu()


def goes_on() -> bool:
    """Whether the device computes again."""
    try:
        return bool((twos().cpu() == 2).all())
    except RuntimeError:
        return False


def at_the_call() -> dict[str, Any]:
    with fault("aclnnAdd@2=161002") as told:
        first = raised(twos)
        second = raised(twos)
    return {"told": second, "before": first, "made": told.made, "next": goes_on()}


def at_the_synchronization() -> dict[str, Any]:
    with fault("aclnnAdd@2=507015"):
        twos(), twos()
        told = raised(torch.npu.synchronize)
    return {"told": told, "next": goes_on()}


def by_chance() -> dict[str, Any]:
    def counted() -> list[int]:
        bad = []
        with fault("malloc@p=0.3,seed=7=oom"):
            for i in range(20):
                torch.npu.empty_cache()
                if raised(lambda i=i: torch.empty(1 << (21 + i % 2), device="npu")):
                    bad.append(i)
        return bad

    runs = [counted(), counted()]
    return {"told": str(runs[0]), "same": runs[0] == runs[1], "next": goes_on()}


def out_of_memory() -> dict[str, Any]:
    twos()
    with fault("malloc=oom"):
        told = raised(lambda: torch.empty(64 << 20, device="npu"))
    return {"told": told, "next": goes_on()}


def a_copy() -> dict[str, Any]:
    x = torch.ones(8).npu()
    torch.npu.synchronize()
    with fault("copy=507013"):
        told = raised(lambda: (x.cpu(), torch.npu.synchronize()))
    return {"told": told, "next": goes_on()}


def no_more_streams() -> dict[str, Any]:
    twos()
    with fault("stream=207008"):
        told = raised(lambda: [torch.npu.Stream() for _ in range(40)])
    return {"told": told, "next": goes_on()}


def a_wrong_bit() -> dict[str, Any]:
    x = torch.ones(64, 64).npu()
    with fault("aclnnAdd@1=flip"):
        y = (x + x).cpu()
    return {"told": f"{int((y != 2).sum())} element wrong", "wrong": int((y != 2).sum()), "next": goes_on()}


def slow() -> dict[str, Any]:
    x = torch.ones(512, 512).npu()
    times = []
    for order in ((), ("aclnnM*=slow:50",)):
        with fault(*order) as told:
            torch.npu.synchronize()
            begin = time.perf_counter()
            for _ in range(3):
                x @ x
            torch.npu.synchronize()
            times.append(time.perf_counter() - begin)
    return {"told": "no error", "slower": times[1] / times[0], "made": told.made, "next": goes_on()}


def lost() -> dict[str, Any]:
    twos()
    with fault("aclnnAdd@1=lost"):
        told = raised(lambda: (twos(), torch.npu.synchronize()))
        later = raised(lambda: (twos(), torch.npu.synchronize()))
    return {"told": told, "later": later}


def recovered(order: str, persistent: bool) -> dict[str, Any]:
    """What torch_npu documents: the error, stop_device, check_uce_in_memory, restart_device, and on."""
    device = torch.npu.current_device()
    kept = torch.ones(8 << 20).npu()  # large: each has a segment of its own, that can be given back
    torch.npu.synchronize()
    with fault(order):
        told = raised(lambda: (kept.add_(1) if persistent else kept + 1, torch.npu.synchronize()))
    stopped = torch_npu.npu.stop_device(device)
    memory = torch_npu.npu.check_uce_in_memory(device)
    torch_npu.npu.restart_device(device)
    after = raised(lambda: (kept + 1, torch.npu.synchronize()))
    return {"told": told, "stopped": stopped, "memory": memory, "after": after, "next": goes_on()}


def uncorrectable_kept() -> dict[str, Any]:
    return recovered("aclnnInplaceAdd*=uce", True)


def uncorrectable_temporary() -> dict[str, Any]:
    return recovered("aclnnAdd*=uce", False)


def ecc() -> dict[str, Any]:
    return recovered("aclnnInplaceAdd*=ecc", True)


def suspected() -> dict[str, Any]:
    return recovered("aclnnAdd*=507055", False)


def hangs_until_stopped() -> dict[str, Any]:
    device = torch.npu.current_device()
    twos()
    torch.npu.synchronize()
    with fault("aclnnAdd@1=hang"):
        twos()
        stopper = threading.Timer(1.0, lambda: torch_npu.npu.stop_device(device))
        stopper.start()
        told = raised(torch.npu.synchronize)
        stopper.join()
        between = raised(twos)
    torch_npu.npu.restart_device(device)
    return {"told": told, "between": between, "next": goes_on()}


def hangs_until_its_limit() -> dict[str, Any]:
    import ctypes

    twos()
    torch.npu.synchronize()
    ctypes.CDLL("libascendcl.so").aclrtSetOpExecuteTimeOut(1)
    with fault("aclnnAdd@1=hang"):
        twos()
        told = raised(torch.npu.synchronize)
    return {"told": told, "next": goes_on()}


def stress() -> dict[str, Any]:
    twos()
    good = torch_npu.npu.stress_detect()
    with fault("AmlAicoreDetectOnline=574006"):
        bad = torch_npu.npu.stress_detect()
    return {"told": f"stress_detect returns {bad}", "good": good, "bad": bad, "next": goes_on()}


def another_driver() -> dict[str, Any]:
    import ctypes

    text = ctypes.create_string_buffer(128)
    with fault("version:driver=24.1.0"):
        ctypes.CDLL("libascendcl.so").aclsysGetVersionStr(b"driver", text)
    return {"told": text.value.decode(), "next": goes_on()}


def silent_check() -> dict[str, Any]:
    from torch_npu.utils import _step

    # What NPU_ASD_ENABLE=2 does when torch_npu is imported.
    _step.silent_check.set_check_enable(2)
    torch.nn.Module.__call__ = _step._custom_call
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.GELU(), torch.nn.LayerNorm(8)).npu()
    x = torch.randn(4, 8).npu()
    steps = []

    def train() -> None:
        for i in range(105):
            model(x).square().mean().backward()
            torch.npu.synchronize()
            steps.append(i + 1)

    with fault("aclnnGeluBackward@103=flip:30"):  # it judges from its hundredth step on
        told = raised(train)
    return {"told": told, "steps": len(steps), "next": goes_on()}


def feature_detection() -> dict[str, Any]:
    from torch_npu.utils import _step

    # What NPU_ASD_CONFIG=enable:true,strikes_num:1,grad_sample_interval:1 does when torch_npu is imported.
    _step._prase_asd_config({"strikes_num": "1", "grad_sample_interval": "1"})
    _step.matmul_check.set_matmul_hook_enable(1)
    torch.nn.Module.__call__ = _step._custom_call
    logged: list[str] = []
    _step.loggerSilent.warning = logged.append
    with tempfile.TemporaryDirectory() as name:
        torch.distributed.init_process_group("hccl", f"file://{name}/store", rank=0, world_size=1)
        model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.GELU(), torch.nn.Linear(8, 8)).npu()
        x = torch.randn(4, 8).npu()
        with fault("aclnnGeluBackward@20=flip:30"):  # it judges from its tenth gradient on
            for _ in range(22):
                model(x).square().mean().backward()
            torch.npu.synchronize()
        until = time.monotonic() + 30
        while not logged and time.monotonic() < until:
            time.sleep(0.05)  # a thread of torch_npu's reads the gradients' values
        torch.distributed.destroy_process_group()
    told = re.search("feature detection.*", logged[0] if logged else "")
    return {"told": told[0] if told else "", "next": goes_on()}


def disk_full() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as name:
        folder, settings = Path(name) / "dumps", Path(name) / "settings.json"
        folder.mkdir()
        what = {"dump_path": str(folder), "dump_mode": "all", "dump_op_switch": "on", "dump_list": []}
        settings.write_text(json.dumps({"dump": what}))
        torch_npu.npu.init_dump()
        torch_npu.npu.set_dump(str(settings))
        with fault("disk@2+=full") as told:
            for _ in range(3):
                x = torch.ones(64).npu() + 1
            torch.npu.synchronize()
        torch_npu.npu.finalize_dump()
        sizes = sorted(path.stat().st_size for path in folder.rglob("Add*") if path.is_file())
    del x
    return {"told": "no error", "made": told.made, "whole": sizes.count(sizes[-1]), "next": goes_on()}


def killed() -> dict[str, Any]:
    with fault("aclnnAdd@2=kill"):
        twos(), twos()
        torch.npu.synchronize()
    return {"told": "it lives"}


CASES: dict[str, Callable[[], dict[str, Any]]] = {
    name: case
    for name, case in list(globals().items())
    if callable(case) and getattr(case, "__annotations__", {}).get("return") == "dict[str, Any]" and name != "recovered"
}


def run(name: str) -> dict[str, Any]:
    """The case, in a process of its own."""
    into, out = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(100)
        try:
            result = CASES[name]()
        except BaseException:
            result = {"failed": traceback.format_exc()}
        os.write(out, json.dumps(result).encode())
        os._exit(0)
    os.close(out)
    text = b""
    while part := os.read(into, 65536):
        text += part
    os.close(into)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return {"case": name, "status": status, **(json.loads(text) if text else {})}


if __name__ == "__main__":
    # With --next-run, whether a process that starts after the case's computes.
    next_run = "--next-run" in sys.argv
    for wanted in [one for one in sys.argv[1:] if one != "--next-run"] or list(CASES):
        found = run(wanted)
        if next_run:
            CASES["afterwards"] = lambda: {"next": goes_on()}
            found["next_run"] = run("afterwards").get("next", False)
            del CASES["afterwards"]
        print(json.dumps(found), flush=True)
