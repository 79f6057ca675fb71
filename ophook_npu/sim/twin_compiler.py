"""What stands between g++ and its parts where kernels are functions of a host program: `kernel.build.translated`.

The vendor's package is a CMake package, so the project's own compiler compiles kernels. With ``-no-integrated-cpp
-wrapper`` it has this program run each of its parts: the preprocessor, whose text is translated, and the compiler.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path


def main(command: list[str]) -> int:
    if "-fpreprocessed" not in command:
        return subprocess.call(command)
    with tempfile.TemporaryDirectory() as folder:
        at = next((i for i, one in enumerate(command) if one.endswith((".ii", ".i"))), None)
        if at is None:  # -pipe: the preprocessor hands it over
            at, source = command.index("-"), Path(folder) / "piped.ii"
            source.write_bytes(sys.stdin.buffer.read())
            command = [*command[:at], str(source), *command[at + 1 :]]
        return subprocess.call([*command, *_translated(Path(command[at]))])


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
    sys.exit(main(sys.argv[1:]))
