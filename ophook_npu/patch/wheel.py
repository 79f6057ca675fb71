"""The wheel that a build made, and the one it replaces: ``python -m ophook_npu.patch.wheel find|keep …``.

``find DIST`` prints the one wheel in DIST; ``keep FOLDER`` packs the installed torch_npu into a wheel in FOLDER, so
that it can be put back without a network, and prints it (nothing where none is installed).
"""

from __future__ import annotations

import importlib.metadata
import sys
import zipfile
from pathlib import Path

from ophook_npu.errors import OphookError
from ophook_npu.plural import counted

DISTRIBUTION = "torch_npu"
# Without torchair there are no compiled graphs; upstream leaves it out silently where its folder is empty.
REQUIRED = "torch_npu/dynamo/torchair/"


def find(dist: Path) -> Path:
    """The one torch_npu wheel in ``dist``, which must contain torchair."""
    wheels = sorted(dist.glob("*.whl"))
    if len(wheels) != 1:
        names = ", ".join(wheel.name for wheel in wheels) or "none"
        raise OphookError(
            "build",
            f"{dist} holds {counted(len(wheels), 'wheel')} ({names})",
            allowed="exactly one",
            todo="read the build's log",
        )
    (wheel,) = wheels
    if not wheel.name.startswith("torch_npu-"):
        raise OphookError("build", f"{wheel.name} is no torch_npu wheel")
    try:
        with zipfile.ZipFile(wheel) as archive:
            names_in = archive.namelist()
    except zipfile.BadZipFile as error:
        raise OphookError("build", f"{wheel} is damaged: {error}", todo="build again") from error
    if not any(name.startswith(REQUIRED) for name in names_in):
        raise OphookError(
            "build",
            f"{wheel.name} contains no {REQUIRED}",
            todo="check third_party/torchair/torchair and DISABLE_INSTALL_TORCHAIR=FALSE, then build again",
        )
    return wheel


def keep(folder: Path, name: str = DISTRIBUTION) -> Path | None:
    """Packs the installed distribution as it is on disk, or returns the wheel that an earlier call made of it."""
    try:
        distribution = importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        return None
    tags = [
        line.split(":", 1)[1].strip()
        for line in (distribution.read_text("WHEEL") or "").splitlines()
        if line.startswith("Tag:")
    ]
    if not tags or not distribution.files:
        raise OphookError(
            "install", f"the installed {name} has no WHEEL or RECORD", todo="install it with pip, or uninstall it"
        )
    target = folder / f"{distribution.metadata['Name'].replace('-', '_')}-{distribution.version}-{tags[0]}.whl"
    if target.exists():
        return target
    folder.mkdir(parents=True, exist_ok=True)
    temporary = target.with_suffix(".tmp")
    with zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for file in distribution.files:
            path = Path(str(distribution.locate_file(file)))
            # Scripts above site-packages are made again from entry_points at installation; a RECORD names nothing else
            # outside.
            if (
                ".." in file.parts
                or file.is_absolute()
                or "__pycache__" in file.parts
                or file.name in ("INSTALLER", "REQUESTED", "direct_url.json")
            ):
                continue
            if not path.is_file():
                temporary.unlink()
                raise OphookError(
                    "install", f"the installed {name} lacks {file}", todo="repair it with pip install --force-reinstall"
                )
            archive.write(path, file.as_posix())
    temporary.replace(target)
    return target


def main(arguments: list[str]) -> int:
    usage = "usage: python -m ophook_npu.patch.wheel find DIST | keep FOLDER"
    if len(arguments) != 2 or arguments[0] not in ("find", "keep"):
        print(usage, file=sys.stderr)
        return 2
    try:
        result = find(Path(arguments[1])) if arguments[0] == "find" else keep(Path(arguments[1]))
    except OphookError as error:
        print(error, file=sys.stderr)
        return 1
    if result is not None:
        print(result)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
