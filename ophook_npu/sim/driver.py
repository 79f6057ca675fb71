"""The command ``bisheng`` of the simulated toolkit: compiles C++ that holds and launches Ascend C kernels."""

from __future__ import annotations

import sys


def main() -> int:
    from ophook_npu.errors import OphookError
    from ophook_npu.sim import program, twin
    from ophook_npu.sim.about import about

    try:
        if sys.argv[1:] == ["--ophook-twin"]:
            print(twin.targets(), end="")
        elif (text := about("bisheng", sys.argv[1:])) is not None:
            print(text)
        else:
            program.compile(sys.argv[1:])
    except OphookError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
