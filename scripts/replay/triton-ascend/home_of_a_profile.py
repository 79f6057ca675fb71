"""A kernel is measured with the profiler, whose files go into a folder of the user's."""

import csv
import os
import tempfile
from pathlib import Path

import torch
import torch_npu  # noqa: F401
from taken import FOLDER, take


def kernels(folder: str, *more: object) -> int:
    (table,) = Path(folder).rglob("kernel_details.csv")
    return len(list(csv.DictReader(table.open(encoding="utf-8"))))


path = "third_party/ascend/backend/testing.py"
names = ("get_home_dir",) if "def get_home_dir" in (FOLDER / path).read_text(encoding="utf-8") else ()
taken = take(
    "third_party/ascend/backend/testing.py", *names, "_rm_dic", "do_bench_npu", _collect_prof_result=kernels
)  # fmt: skip
x = torch.ones(64, device="npu")
with tempfile.TemporaryDirectory() as folder:
    os.environ["TRITON_HOME"] = folder
    assert taken.do_bench_npu(lambda: x + 1, warmup=1, active=2) == 3
    assert os.listdir(f"{folder}/.triton/profile_results") == []
