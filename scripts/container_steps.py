"""Run the steps of the Dockerfile, or of the dev container, in a fresh Debian root instead of a container. Needs root.

    sudo python3 scripts/container_steps.py ROOT [--dev] [--share FOLDER]... [--env NAME=VALUE]... [-- PROGRAM ...]

ROOT is made by debootstrap, with Debian's own Python in place of the one that the image brings. `--share` lays a
folder of this machine at the same place of ROOT, read-only. PROGRAM runs as `docker run IMAGE PROGRAM` runs it; with
`--dev` it is a command in the work tree. Where no Docker runs, this is how the image was tried (docs/ci.md).
Exit status: that of the first step that failed, or of PROGRAM.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
PACKAGES = "python3,python3-venv,python3-pip,python3-dev,ca-certificates,git,sudo"
DEVELOPMENT = "/workspaces/ophook-npu"


@dataclass
class Step:
    """One instruction, with its arguments as one text; lines that end with a backslash are joined."""

    instruction: str
    given: str


@dataclass
class Image:
    """What the steps so far have set."""

    variables: dict[str, str] = field(default_factory=dict)
    folder: str = "/"
    entry: list[str] = field(default_factory=list)


def steps(dockerfile: str) -> list[Step]:
    lines = [line for line in dockerfile.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines)).splitlines()
    found = [Step(*line.split(maxsplit=1)) for line in joined]
    for step in found:
        if step.instruction not in {"ARG", "FROM", "RUN", "COPY", "WORKDIR", "ENTRYPOINT"}:
            raise SystemExit(f"container_steps: {step.instruction} is not an instruction that this script runs")
    return found


def development(settings: str) -> list[Step]:
    """The steps of a devcontainer.json; its commands run in the work tree."""
    given = json.loads(settings)
    commands = [given[name] for name in ("onCreateCommand", "postCreateCommand") if name in given]
    # A dev container works in the user's own checkout, a git repository.
    before = [Step("CLONE", DEVELOPMENT), Step("WORKDIR", DEVELOPMENT)]
    return [*before, *(Step("RUN", command) for command in commands)]


@contextlib.contextmanager
def mounted(root: Path, shared: list[Path]) -> Iterator[None]:
    with contextlib.ExitStack() as undo:
        for folder in [Path("/proc"), Path("/dev"), *shared]:
            place = root / folder.relative_to("/")
            place.mkdir(parents=True, exist_ok=True)
            subprocess.run(["mount", "--rbind", "--make-rslave", folder, place], check=True)
            undo.callback(subprocess.check_call, ["umount", "--recursive", "--lazy", str(place)])
            if folder in shared:
                subprocess.run(["mount", "-o", "remount,bind,ro", place], check=True)
        yield


def execute(root: Path, command: list[str], image: Image, environment: list[str]) -> int:
    inside = f"cd {shlex.quote(image.folder)} && {shlex.join(command)}"
    start = ["env", "-i", "HOME=/root", "PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", *environment]
    return subprocess.run(["chroot", str(root), *start, "/bin/sh", "-c", inside]).returncode


def run(root: Path, found: list[Step], environment: list[str]) -> Image:
    image = Image()
    for step in found:
        print(f"== {step.instruction} {step.given}", flush=True)
        if step.instruction == "ARG":
            name, _, value = step.given.partition("=")
            image.variables[name] = value
        elif step.instruction == "COPY":
            target = root / step.given.split()[1].lstrip("/")
            target.mkdir(parents=True, exist_ok=True)
            tracked = subprocess.run(["git", "ls-files", "-z"], cwd=HERE, capture_output=True, check=True).stdout
            packed = ["tar", "--create", "--null", "--files-from=-"]
            content = subprocess.run(packed, cwd=HERE, input=tracked, capture_output=True, check=True).stdout
            subprocess.run(["tar", "--extract", "--no-same-owner"], cwd=target, input=content, check=True)
        elif step.instruction == "CLONE":
            subprocess.run(["git", "clone", "--quiet", HERE, root / step.given.lstrip("/")], check=True)
        elif step.instruction == "WORKDIR":
            image.folder = step.given
            (root / image.folder.lstrip("/")).mkdir(parents=True, exist_ok=True)
        elif step.instruction == "ENTRYPOINT":
            image.entry = json.loads(step.given)
        elif step.instruction == "RUN":
            variables = [f"{name}={value}" for name, value in image.variables.items()]
            if status := execute(root, ["/bin/sh", "-c", step.given], image, [*environment, *variables]):
                raise SystemExit(status)
    return image


def main() -> int:
    usage = "%(prog)s ROOT [options] [-- PROGRAM [ARGUMENT]...]"
    parser = argparse.ArgumentParser(
        usage=usage, description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("root", type=Path)
    parser.add_argument("--dev", action="store_true", help="the steps of .devcontainer/devcontainer.json")
    parser.add_argument("--suite", default="bookworm", help="Debian's release; default %(default)s, with Python 3.11")
    parser.add_argument("--mirror", default="http://deb.debian.org/debian")
    parser.add_argument("--share", type=Path, action="append", default=[], metavar="FOLDER")
    parser.add_argument("--env", action="append", default=[], metavar="NAME=VALUE")
    # argparse would take PROGRAM's options for its own.
    own = sys.argv[1:].index("--") if "--" in sys.argv[1:] else len(sys.argv) - 1
    given, program = parser.parse_args(sys.argv[1 : own + 1]), sys.argv[own + 2 :]
    found = (
        development((HERE / ".devcontainer/devcontainer.json").read_text())
        if given.dev
        else steps((HERE / "Dockerfile").read_text())
    )
    if given.root.exists():
        parser.error(f"{given.root} exists; give a folder that is to be made")
    subprocess.run(
        ["debootstrap", "--variant=minbase", f"--include={PACKAGES}", given.suite, given.root, given.mirror], check=True
    )
    # The image's Python takes packages from pip; Debian's own asks for an environment.
    for marker in given.root.glob("usr/lib/python3*/EXTERNALLY-MANAGED"):
        marker.unlink()
    with mounted(given.root, [folder.resolve() for folder in given.share]):
        image = run(given.root, found, given.env)
        return execute(given.root, [*image.entry, *program], image, given.env) if program else 0


if __name__ == "__main__":
    sys.exit(main())
