"""What stands between g++ and its parts where kernels are functions of a host program: `kernel.build.translated`.

The vendor's package is a CMake package, so the project's own compiler compiles kernels. With ``-no-integrated-cpp
-wrapper`` it has this program run each of its parts: the preprocessor, whose text is translated, and the compiler.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path


def main(command: list[str]) -> None:
    if "-fpreprocessed" in command:
        command = [*command, *_translated(Path(next(one for one in command if one.endswith((".ii", ".i")))))]
    os.execvp(command[0], command)


def _translated(source: Path) -> tuple[str, ...]:
    """Translate the preprocessor's text where it is; gives what else the compiler is told then."""
    text = source.read_bytes()
    if not any(name in text for name in (b"__simt_vf__", b"__ubuf__", b"addr_reg_b", b"iter_reg_b", b"aicore")):
        return ()
    from ophook_npu.errors import OphookError
    from ophook_npu.kernel import build, threads

    told = text.decode(errors="surrogateescape")
    try:
        source.write_bytes(build.translated(told).encode(errors="surrogateescape"))
    except OphookError as error:
        sys.exit(f"error: {error}")
    return tuple(threads.WATCHED) if threads.FUNCTION in told else ()


if __name__ == "__main__":
    main(sys.argv[1:])
