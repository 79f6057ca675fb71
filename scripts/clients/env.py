"""A project's environment: a virtual environment that looks into the shared one for torch, torch_npu and this package.

Two views of the shared one: as it is, and without torch_npu, which is what a machine without NPU has and what the
programs run in on the CPU (with torch_npu installed but no CANN under it, projects fail at `import torch_npu`).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

_VIEW = "OPHOOK_CLIENTS_VIEW"
_PTH = "import os, site; site.addsitedir(os.environ.get({variable!r}, {base!r}))\n"
_VERSIONS = "import sys, importlib.metadata as m; print(*(f'{n} {m.version(n)}' for n in sys.argv[1:]), sep='\\n')"
_LIMIT = 1800


def site_packages(venv: Path) -> Path:
    return next(iter((venv / "lib").glob("python3*/site-packages")))


def without_npu(base: Path, folder: Path) -> Path:
    """A folder with links to all that is in ``base``'s site-packages but torch_npu."""
    entries = [entry for entry in site_packages(base).iterdir() if not re.match(r"torch_?npu", entry.name)]
    if not folder.is_dir() or {entry.name for entry in entries} != {entry.name for entry in folder.iterdir()}:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for entry in entries:
            (folder / entry.name).symlink_to(entry)
    return folder


def _scripts(base: Path, venv: Path) -> None:
    """The shared environment's Python scripts, such as torchrun, for this environment's Python."""
    for script in (base / "bin").iterdir():
        target = venv / "bin" / script.name
        if script.is_symlink() or not script.is_file() or target.exists() or script.stat().st_size > 4096:
            continue
        first, _, rest = script.read_text(encoding="utf-8", errors="replace").partition("\n")
        if first.startswith("#!") and "python" in first:
            target.write_text(f"#!{venv}/bin/python\n{rest}", encoding="utf-8")
            target.chmod(0o755)


def _leave_cuda_out(packages: Path) -> None:
    """pip's torchvision and torchaudio are built for CUDA, and cannot be imported over torch's CPU build. Here they do
    without their operators, as far as torchvision_operators.py has none.
    """
    for library in [*packages.glob("torchvision/*.so"), *packages.glob("torchaudio/lib/*.so")]:
        if b"libcudart" in library.read_bytes():
            library.unlink()
            if library.stem == "_C":
                ours = Path(__file__).parent / "torchvision_operators.py"
                shutil.copy(ours, library.parent / "_meta_registrations.py")


def make(name: str, packages: list[str], options: list[str], base: Path, work: Path, log: Path) -> Path:
    """The environment of ``name`` with ``packages``, made unless it is complete.

    pip runs with an NPU under it: the set-up of some packages imports torch, and asks for devices.

    Raises:
        subprocess.SubprocessError: pip failed, or took half an hour.
    """
    venv = work / name
    complete = venv / "complete"
    wanted = "\n".join([str(base), *packages, *options])
    if complete.is_file() and complete.read_text(encoding="utf-8") == wanted:
        return venv
    shutil.rmtree(venv, ignore_errors=True)
    python = venv / "bin" / "python"
    with log.open("w") as out:
        subprocess.run(
            [base / "bin/python", "-m", "venv", "--without-pip", venv],
            check=True,
            stdout=out,
            stderr=out,
            timeout=_LIMIT,
        )
        text = _PTH.format(variable=_VIEW, base=str(site_packages(base)))
        (site_packages(venv) / "shared.pth").write_text(text, encoding="utf-8")
        pip = ["-m", "pip", "install", "--disable-pip-version-check", *options]
        # What is in the shared environment stays as it is: another torch would be the CUDA build, or not torch_npu's.
        kept = venv / "kept.txt"
        told = subprocess.check_output([python, "-c", _VERSIONS, "torch", "torch_npu"], text=True, timeout=120)
        kept.write_text(told.replace(" ", "=="), encoding="utf-8")
        ours = [python, "-m", "ophook_npu", "run", "--", *pip, "-c", kept, *packages]
        subprocess.run(ours, check=True, stdout=out, stderr=out, timeout=_LIMIT)
    _leave_cuda_out(site_packages(venv))
    _scripts(base, venv)
    complete.write_text(wanted, encoding="utf-8")
    return venv


def sources(package: str, base: Path, work: Path, log: Path) -> Path:
    """The unpacked source distribution of ``package`` (name==version), which has the project's own tests.

    Raises:
        subprocess.SubprocessError: pip cannot download it.
    """
    folder = work / "sources" / package
    if not folder.is_dir():
        with tempfile.TemporaryDirectory(dir=work) as name, log.open("a") as out:
            wanted = ["--quiet", "--no-deps", "--no-binary", ":all:", "--dest", name, package]
            command = [base / "bin/python", "-m", "pip", "download", *wanted]
            subprocess.run(command, check=True, stdout=out, stderr=out, timeout=_LIMIT)
            with tarfile.open(next(Path(name).glob("*.tar.gz"))) as archive:
                archive.extractall(Path(name) / "unpacked", filter="data")
            folder.parent.mkdir(exist_ok=True)
            next((Path(name) / "unpacked").iterdir()).rename(folder)
    return folder


def checkout(address: str, commit: str, work: Path, log: Path) -> Path:
    """The files of a git repository at ``commit``, for a project that is used from its source.

    git's `insteadOf` makes it take a copy that is at hand.

    Raises:
        subprocess.SubprocessError: git cannot get it.
    """
    folder = work / "sources" / f"{address.rpartition('/')[2]}-{commit[:12]}"
    if not folder.is_dir():
        made = folder.with_name(folder.name + ".part")
        shutil.rmtree(made, ignore_errors=True)
        made.mkdir(parents=True)
        with log.open("a") as out:
            for step in (["init", "-q"], ["fetch", "-q", "--depth", "1", address, commit], ["checkout", "-q", commit]):
                subprocess.run(["git", *step], cwd=made, check=True, stdout=out, stderr=out, timeout=_LIMIT)
        made.rename(folder)
    return folder


def versions(venv: Path, names: list[str]) -> list[str]:
    """Each distribution's name and version, as this environment's Python finds it."""
    done = subprocess.run(
        [venv / "bin/python", "-c", _VERSIONS, *names], capture_output=True, text=True, timeout=120, check=True
    )
    return [re.sub(r"\+\w+$", "", line) for line in done.stdout.splitlines()]


def environ(venv: Path, work: Path, view: Path | None) -> dict[str, str]:
    """What a program runs with: this environment first on PATH, no network for the hub, folders of its own."""
    found = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    found["PATH"] = f"{venv / 'bin'}:{found.get('PATH', os.defpath)}"
    found["VIRTUAL_ENV"] = str(venv)
    found |= dict.fromkeys(("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_DATASETS_OFFLINE"), "1")
    found |= {"HF_HOME": str(work / "hf"), "TOKENIZERS_PARALLELISM": "false", "WANDB_MODE": "disabled"}
    found["OPHOOK_SIM_AFTER_FAILURE"] = "continue"  # a test that makes a task fail must not fail those after it
    if view:
        found[_VIEW] = str(view)
    return found
