"""Run vllm-ascend's own end-to-end tests for one and two devices over the simulated Ascend, and write how each ended.

usage: ophook-npu run --devices 2 --memory 6144 -- e2e.py [--first] [--triton] CHECKOUT OUT [TEXT…]

As ut.py, whose runner this is: a fork for each file of tests/e2e/pull_request/one_card and two_card, without the
folders for other products, nothing of the checkout changed; TEXT chooses files. With --first only the first test of
each file runs, and with --triton vLLM takes Triton, whose interpreter runs the kernels. The order of the files is
drawn with a seed: what ran when the time was over is a fair part of all. The models that the tests ask a hub for have
tiny random weights (hub.py). report.py makes a table of the lines.
"""

from __future__ import annotations

import functools
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import quick_spawn
import ut

FOLDERS = ("one_card", "two_card")
SECONDS, SEED = 900, 33


def lay_plugin(folder: Path) -> None:
    """without_kernels.py, where vLLM looks for plugins."""
    told = folder / "without_kernels-0.dist-info"
    told.mkdir(parents=True, exist_ok=True)
    (told / "METADATA").write_text("Metadata-Version: 2.1\nName: without_kernels\nVersion: 0\n")
    (told / "entry_points.txt").write_text("[vllm.general_plugins]\nwithout_kernels = without_kernels:begin\n")
    shutil.copy(Path(__file__).with_name("without_kernels.py"), folder)
    sys.path.insert(0, str(folder))  # what a process that is spawned has, too
    os.environ["PYTHONPATH"] = os.pathsep.join([str(folder), os.environ["PYTHONPATH"]])  # and what a server has


def main(checkout: Path, out: Path, *chosen: str) -> None:
    checkout, out = checkout.absolute(), out.absolute()
    hub = out / "hub"
    ut.prepare(checkout, hub)
    lay_plugin(out / "plugins")
    os.environ |= {"MODELSCOPE_CACHE": str(hub), "VLLM_ASSETS_CACHE": str(hub / "assets")}
    # Without a Triton of its own: in the interpreter the rotation of the 8,192 tokens that each engine first runs takes
    # minutes of a processor, and no graph can be captured.
    if "--triton" not in sys.argv:
        del os.environ["CUDA_VISIBLE_DEVICES"]
    os.environ["PYTHONSAFEPATH"] = "1"  # else `python -m` of a server takes the checkout, which is not built
    os.environ["VLLM_WORKER_MULTIPROC_METHOD"] = "spawn"  # as vllm-ascend's workflows do: tests open the device
    if not hub.exists():
        prompts = (checkout / "tests" / "e2e" / "prompts").glob("*.txt")
        subprocess.run([sys.executable, Path(__file__).with_name("hub.py"), hub, *prompts], check=True)
    import modelscope
    from torch.distributed import distributed_c10d

    # As a torch that is built for the CPU says, beside which torch_npu belongs: PyPI's for x86-64 is built for CUDA.
    distributed_c10d._NCCL_AVAILABLE = False
    # Some fixtures do not ask modelscope for what it has kept only.
    modelscope.snapshot_download = functools.partial(modelscope.snapshot_download, local_files_only=True)
    ut.BEGIN.append(quick_spawn.begin)
    tests = checkout / "tests" / "e2e"
    every = ut.files(tests / "pull_request", list(chosen))
    files = [file for file in every if file.relative_to(tests).parts[1] in FOLDERS]
    random.Random(SEED).shuffle(files)
    ut.run_files(checkout, tests, files, out, SECONDS)


if __name__ == "__main__":
    folder, results, *texts = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    main(Path(folder), Path(results), *texts)
