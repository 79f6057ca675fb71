"""Which variables nothing reads before a program uses a device, an operator or the terminal: those that differ in no
other may be forks of one process. The tests that set them see what they do; of TASK_QUEUE_ENABLE, test_runtime.py asks
torch_npu.
"""

_EARLY = (
    "OPHOOK_SIM_CANN",
    "OPHOOK_SIM_FAULTS",
    "OPHOOK_SIM_ROOT",
    "OPHOOK_SIM_RULES",
    "OPHOOK_SIM_TRITON",
)  # and what begins so
_LATE = frozenset(
    {"ATTACKERS", "COLUMNS", "COMMON", "GROUP_PACKAGE", "ON_HOSTS", "ON_HOSTS_SERVERS", "ON_HOSTS_TABLE", "ONLY",
     "PROFILE", "SOC_VERSION", "TASK_QUEUE_ENABLE", "TURNS"}
)  # fmt: skip


def is_late(name: str) -> bool:
    return name in _LATE or (name.startswith(("HCCL_", "OPHOOK_SIM_")) and not name.startswith(_EARLY))
