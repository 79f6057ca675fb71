"""``ophook-npu`` in a fork of the tests' server: a Python program that it starts is a fork, too.

For tests about what a command does with a program; how Python starts under it is another test's.
"""

import ctypes
import importlib
import os
import sys
import weakref
from collections.abc import Mapping
from typing import NoReturn

from late import is_late

from ophook_npu.cli import _command, _order, main, run
from ophook_npu.demo.forked import run_to_the_end
from ophook_npu.npu import autoload


def become(arguments: list[str], environ: Mapping[str, str]) -> NoReturn:
    _, argv = _command.command(arguments, environ)
    assert argv[0] == sys.executable, arguments
    changed = {name for name in {*os.environ, *environ} if os.environ.get(name) != environ.get(name)}
    changed.discard(autoload.VARIABLE)  # the server has torch without torch_npu
    # The simulator's libraries, which torch_npu loads, read theirs when they are loaded.
    read = {name for name in changed if not is_late(name) and not name.startswith("OPHOOK_SIM_")}
    assert not read and "torch_npu" not in sys.modules, f"an import reads {sorted(read)}: start this one anew"
    for name in changed:
        os.environ.pop(name, None)
        if name in environ:
            os.environ[name] = environ[name]
    importlib.import_module("torch_npu")
    # The simulator's libraries tell at their end what they found: only Python is not taken apart.
    os._exit = ctypes.CDLL(None).exit
    run_to_the_end(argv[1:])


def beside(arguments: list[str], environ: Mapping[str, str]) -> int:
    sys.stdout.flush()
    sys.stderr.flush()
    number = os.fork()
    if number == 0:
        for one in weakref.finalize._registry:  # type: ignore[attr-defined]
            one.atexit = False  # the command's temporary folders are not the program's to remove
        become(arguments, environ)
    status = os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    _order.beside, run.become = beside, become
    main()
