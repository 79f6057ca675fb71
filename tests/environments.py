"""Virtual environments for tests: they take torch and the like from the one that the tests run in."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

HERE = Path(sysconfig.get_paths()["purelib"])


class Environment:
    """A virtual environment with all packages of the one at hand but ours, and with what is installed in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
        self.site = Path(next(folder.glob("lib/python*/site-packages")))
        for path in HERE.iterdir():  # all but the package under test
            if not path.name.startswith(("__editable__", "ophook_npu", "_ophook")) and path.suffix != ".pth":
                (self.site / path.name).symlink_to(path)

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    def install(self, *files: Path) -> None:
        command = [
            sys.executable,
            "-m",
            "pip",
            "--python",
            str(self.python),
            "install",
            "-q",
            "--no-deps",
            "--no-index",
        ]
        subprocess.run([*command, *map(str, files)], check=True)

    def run(self, *command: str, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run one of its programs as a user would, with nothing of this process's environment but HOME."""
        environ = {"HOME": os.environ.get("HOME", "/"), "PATH": f"{self.folder}/bin:{os.defpath}", **variables}
        program = f"{self.folder}/bin/{command[0]}"
        return subprocess.run([program, *command[1:]], cwd=cwd, env=environ, capture_output=True, text=True)
