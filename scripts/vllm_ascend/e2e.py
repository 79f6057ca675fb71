"""Run vllm-ascend's own end-to-end tests for one and two devices over the simulated Ascend, and write how each ended.

usage: ophook-npu run --devices 2 --memory 6144 -- e2e.py [--first] CHECKOUT OUT [TEXT…]

As ut.py, whose runner this is: a fork for each file of tests/e2e/pull_request/one_card and two_card, without the
folders for other products, nothing of the checkout changed; TEXT chooses files. With --first only the first test of
each file runs. The order of the files is drawn with a seed: what ran when the time was over is a fair part of all.
The models that the tests ask a hub for have tiny random weights (hub.py), and ModelScope's hub is the same folder.
report.py makes a table of the lines.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import types
from pathlib import Path

import ut

FOLDERS = ("one_card", "two_card")
SECONDS, SEED = 900, 33


def stand_in() -> types.ModuleType:
    """ModelScope's `snapshot_download`, from the folder that huggingface_hub looks into."""
    from huggingface_hub import snapshot_download

    def found(model_id: str = "", *, repo_id: str = "", **_: object) -> str:
        return snapshot_download(model_id or repo_id, local_files_only=True)

    module = types.ModuleType("modelscope")
    module.snapshot_download = found
    return module


def main(checkout: Path, out: Path, *chosen: str) -> None:
    checkout, out = checkout.absolute(), out.absolute()
    hub = out / "hub"
    ut.prepare(checkout, hub)
    os.environ["VLLM_WORKER_MULTIPROC_METHOD"] = "spawn"  # as vllm-ascend's workflows do: tests open the device
    if not hub.exists():
        prompts = (checkout / "tests" / "e2e" / "prompts").glob("*.txt")
        subprocess.run([sys.executable, Path(__file__).with_name("hub.py"), hub, *prompts], check=True)
    sys.modules["modelscope"] = stand_in()
    tests = checkout / "tests" / "e2e"
    every = ut.files(tests / "pull_request", list(chosen))
    files = [file for file in every if file.relative_to(tests).parts[1] in FOLDERS]
    random.Random(SEED).shuffle(files)
    ut.run_files(checkout, tests, files, out, SECONDS)


if __name__ == "__main__":
    folder, results, *texts = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    main(Path(folder), Path(results), *texts)
