"""``python -m ophook_npu.sim.atc --singleop=FILE --output=DIR --soc_version=SOC``."""

from __future__ import annotations

import sys
from pathlib import Path

from ophook_npu.sim.atc.errors import AtcError
from ophook_npu.sim.atc.single import write_models


def main(arguments: list[str]) -> int:
    """Convert; gives the exit status."""
    given = dict(one.removeprefix("--").split("=", 1) for one in arguments if one.startswith("--") and "=" in one)
    print("ATC start working now, please wait for a moment.")
    try:
        for key in ("singleop", "output", "soc_version"):
            if not given.get(key):
                raise AtcError("E10004", f"--{key} is empty")
        write_models(Path(given["singleop"]), Path(given["output"]), given["soc_version"])
    except AtcError as error:
        print(f"ATC run failed, Please check the detail log, Try 'atc --help' for more information\n{error}")
        return 1
    print("ATC run success, welcome to the next use.")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
