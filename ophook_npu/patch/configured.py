"""Bring scripts/source_cmake to a build that cmake has configured before, by this checkout, by another, or without.

    python -m ophook_npu.patch.configured SOURCE_CMAKE BUILD

cmake reads the variable CMAKE_TOOLCHAIN_FILE once, when it configures a folder for the first time, and keeps the path.
So the files are copied into BUILD, where they stay when this checkout moves or goes; a path of ours that is kept there
from elsewhere is replaced; and a folder that was configured without (by upstream's own script) is told of the file in
its cache. Prints the path for CMAKE_TOOLCHAIN_FILE.
"""

from __future__ import annotations

import re
from pathlib import Path

from ophook_npu.errors import OphookError
from ophook_npu.patch.command import start

FOLDER = "ophook-cmake"
_NAME = "toolchain.cmake"
# The file of ours that counts, in a checkout and in a build.
_OURS = re.compile(rf"^CMAKE_TOOLCHAIN_FILE:\w+=(.*/(?:source_cmake|{FOLDER})/{re.escape(_NAME)})$", re.MULTILINE)
_TOLD = re.compile(r"^CMAKE_PROJECT_TORCHNPU_INCLUDE:\w+=.*$", re.MULTILINE)


def _write(path: Path, content: str) -> None:
    """cmake configures again where a file that it read is newer; the same content keeps its time."""
    if not path.is_file() or path.read_text(encoding="utf-8") != content:
        path.write_text(content, encoding="utf-8")


def bring(source: Path, build: Path) -> Path:
    """Copy the files to ``build`` and have cmake read them there. Returns the toolchain file."""
    folder = build / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for path in source.glob("*.cmake"):
        _write(folder / path.name, path.read_text(encoding="utf-8"))
    toolchain = folder / _NAME
    cache = build / "CMakeCache.txt"
    if not cache.is_file():
        return toolchain
    text = cache.read_text(encoding="utf-8", errors="surrogateescape")
    kept = _OURS.search(text)
    if kept is None:
        entry = f"CMAKE_PROJECT_TORCHNPU_INCLUDE:FILEPATH={folder / 'torch_npu.cmake'}"
        text = _TOLD.sub(lambda _: entry, text) if _TOLD.search(text) else f"{text.rstrip()}\n{entry}\n"
    elif kept[1] != str(toolchain):
        for system in build.glob("CMakeFiles/*/CMakeSystem.cmake"):
            told = system.read_text(encoding="utf-8", errors="surrogateescape")
            system.write_bytes(told.replace(kept[1], str(toolchain)).encode(errors="surrogateescape"))
        text = text.replace(kept[0], kept[0].replace(kept[1], str(toolchain)))
    cache.write_bytes(text.encode(errors="surrogateescape"))
    return toolchain


def main(arguments: list[str]) -> int:
    match arguments:
        case [source, build]:
            print(bring(Path(source), Path(build).absolute()))
        case _:
            raise OphookError("configured", "wrong use", allowed="SOURCE_CMAKE BUILD")
    return 0


if __name__ == "__main__":
    start(main)
