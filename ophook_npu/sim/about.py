"""What the commands of the toolkit say of themselves: scripts look for a compiler by its ``--version``."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

from ophook_npu import __version__, toolchain

_USAGE = {
    "bisheng": """\
usage: bisheng [-x asc] [--npu-arch=dav-2201] [-c | -shared | -lib] [-o FILE] [option of g++ …] FILE …

Compiles C++ with Ascend C kernels (.asc, .cpp), and links objects and libraries, for the simulated Ascend.""",
    "mssanitizer": """\
usage: mssanitizer [-t memcheck|racecheck|initcheck|synccheck] [--leak-check=yes] [--log-file=FILE] [--] PROGRAM …

Runs a program and tells what its Ascend C kernels do wrong.""",
    "msopprof": """\
usage: msopprof [op|simulator] [--output=FOLDER] [--soc-version=SOC] [--application="PROGRAM …"] [PROGRAM …]

Runs a program and writes a table of what its Ascend C kernels do; cycles are estimates.""",
}


def about(name: str, arguments: Sequence[str]) -> str | None:
    """The answer to ``--help`` or ``--version``, where nothing else stands in the command line."""
    if len(arguments) != 1:
        return None
    if arguments[0] in ("-h", "-help", "--help"):
        return _USAGE[name]
    if arguments[0] not in ("-v", "--version"):
        return None
    text = f"{name} version: {__version__} (simulated Ascend, ophook-npu)"
    if name != "bisheng":
        return text
    done = subprocess.run([*toolchain.compiler(), "--version"], capture_output=True, text=True, check=False)
    return f"{text}\n{done.stdout.splitlines()[0] if done.stdout else ''}".rstrip()
