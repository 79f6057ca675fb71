"""The compilers of AI CPU kernels, ``toolkit/toolchain/hcc/bin``: the host's, because the simulated device's CPUs run
what the host runs. A library gets what CANN has in ``libcpu_kernels_context.a``; it is compiled when the first library
is linked.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from ophook_npu import toolchain
from ophook_npu.errors import OphookError
from ophook_npu.soc import CSRC

FOLDER = CSRC / "aicpu"
_OLD_ABI = b"RegistCpuKernelERKSs"  # what objects with the old std::string ask for


def _context(given: Sequence[str]) -> Path:
    from ophook_npu.kernel import build

    objects = (Path(one) for one in given if one.endswith(".o"))
    old = any(_OLD_ABI in one.read_bytes() for one in objects if one.is_file())
    flags = ("-std=c++11", "-O1", "-fPIC", "-fvisibility=hidden", f"-D_GLIBCXX_USE_CXX11_ABI={int(not old)}")
    return build.object(FOLDER / "context.cpp", (*flags, f"-I{CSRC}", f"-I{FOLDER / 'inc'}"), [CSRC, FOLDER / "inc"])


def main(arguments: Sequence[str] | None = None) -> int:
    """``gcc`` or ``g++``, and what it is told."""
    language, *given = arguments or sys.argv[1:]
    try:
        command = list(toolchain.compiler())
        if language == "gcc":
            command = shlex.split(os.environ.get("CC", "gcc"))
        if "-shared" in given:
            given += [str(_context(given)), "-lpthread"]
            if root := os.environ.get("OPHOOK_SIM_ROOT"):  # as on a device, securec.h's functions are there
                given += ["-Wl,--as-needed", f"{root}/lib64/libc_sec.so"]
    except OphookError as error:
        print(error, file=sys.stderr)
        return 1
    return subprocess.call([*command, *given])


if __name__ == "__main__":
    sys.exit(main())
