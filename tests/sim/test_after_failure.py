"""After a task failed: the device answers with it until it is reset, as on hardware; torch_npu's recovery calls."""

from pathlib import Path

PROGRAM = str(Path(__file__).parent / "programs" / "after_failure.py")
KEPT = ["synchronize: 507015", "other stream: 507015", "query: 507015", "memory: True", "blocking copy: 0"]
WHOLE = ["synchronize: None", "other stream: None", "query: True", "memory: True", "blocking copy: 0"]
RECOVERED = [
    "stop: 0",
    "restart: None",
    "operator after: 8.0",
    "synchronize after: None",
    "fails again: 507015",
    "rebuilt: None",
    "kept tensors are unsafe: RuntimeError",
    "new tensors: 2.0",
]


def test_a_failure_stays_until_the_device_is_recovered(run_python) -> None:
    done = run_python(PROGRAM, OPHOOK_SIM_AFTER_FAILURE="", TASK_QUEUE_ENABLE="0")  # as a device is
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.splitlines() == ["fails: 507015", *KEPT, *KEPT, "operator: 507015", *RECOVERED]


def test_a_failure_is_reported_once_where_that_is_asked_for(run_python) -> None:
    done = run_python(PROGRAM, OPHOOK_SIM_AFTER_FAILURE="continue", TASK_QUEUE_ENABLE="1")
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.splitlines() == ["fails: 507015", *WHOLE, *WHOLE, "operator: 8.0", *RECOVERED]


def test_the_option_of_run_and_a_setting_that_there_is_not(run_sim, run_python) -> None:
    program = "import os; print(os.environ['OPHOOK_SIM_AFTER_FAILURE'])"
    assert run_sim(program, "--after-failure", "poison", anew=True).stdout == "poison\n"
    refused = run_sim("", "--after-failure", "forget", anew=True)
    assert refused.returncode == 2 and "allowed: poison, continue" in refused.stderr, refused.stderr
    refused = run_python("-c", "import torch; torch.ones(1).npu()", OPHOOK_SIM_AFTER_FAILURE="forget")
    assert refused.returncode == 1 and "OPHOOK_SIM_AFTER_FAILURE=forget" in refused.stderr, refused.stderr[-2000:]


def test_what_waits_for_nobody_ends_with_the_device(run_python) -> None:
    """Each stream's destruction waits for its tasks, so a wait that did not end would not come back from it."""
    program = """
import ctypes, torch
acl, P = ctypes.CDLL("libascendcl.so"), ctypes.c_void_p
x, far = torch.ones(4, device="npu"), torch.tensor([9]).npu()
torch.npu.synchronize()
def made(call, *arguments):
    assert getattr(acl, call)(ctypes.byref(out := P()), *arguments) == 0, call
    return out
streams, notify, shared, word = [made("aclrtCreateStream") for _ in range(3)], made("aclrtCreateNotify", 0), \
    made("aclrtCreateEventExWithFlag", 0x40), made("aclrtMalloc", ctypes.c_size_t(8), 0)
late = made("aclrtCreateStream")
acl.aclrtWaitAndResetNotify(notify, late, 0)
acl.aclrtRecordEvent(shared, late)  # after a wait that nobody ends
acl.aclrtWaitAndResetNotify(notify, streams[0], 0)
acl.aclrtStreamWaitEvent(streams[1], shared)
acl.aclrtValueWait(word, ctypes.c_uint64(7), 1, streams[2])
for stream in streams: acl.aclrtSetStreamFailureMode(stream, 1)
torch.gather(x, 0, far)
try: torch.npu.synchronize()
except RuntimeError as error: print("507015" in str(error))
print(acl.aclrtSynchronizeEvent(shared), acl.aclrtSynchronizeEventWithTimeout(shared, 10000))
print(*[acl.aclrtDestroyStream(stream) for stream in [*streams, late]])
"""
    done = run_python("-c", program, OPHOOK_SIM_AFTER_FAILURE="", TASK_QUEUE_ENABLE="0", timeout=60)
    assert done.stdout.splitlines() == ["True", "507015 507015", "0 0 0 0"], done.stdout + done.stderr[-3000:]
