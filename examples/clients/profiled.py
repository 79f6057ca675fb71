"""Three training steps under torch_npu.profiler, and what its trace has. Argument: host, or host+device"""

import csv
import json
import sys
from collections import Counter, defaultdict
from decimal import Decimal
from itertools import pairwise
from pathlib import Path

import torch
import torch_npu

activity = torch_npu.profiler.ProfilerActivity
on_device = sys.argv[1] == "host+device"
model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4)).npu()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
with torch_npu.profiler.profile(
    activities=[activity.CPU, activity.NPU] if on_device else [activity.CPU],
    schedule=torch_npu.profiler.schedule(wait=0, warmup=1, active=2, repeat=1),
    experimental_config=torch_npu.profiler._ExperimentalConfig(
        profiler_level=torch_npu.profiler.ProfilerLevel.Level1,
        aic_metrics=torch_npu.profiler.AiCMetrics.AiCoreNone,
    ),
    on_trace_ready=torch_npu.profiler.tensorboard_trace_handler("trace"),
) as profiler:
    for _ in range(3):
        model(torch.randn(8, 16).npu()).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        torch.npu.synchronize()
        profiler.step()

output = max(Path("trace").rglob("ASCEND_PROFILER_OUTPUT"), key=lambda path: path.stat().st_mtime, default=Path())
if not (output / "trace_view.json").is_file():
    sys.exit("no trace was written")
events = json.loads((output / "trace_view.json").read_text())
whole = [event for event in events if event["ph"] == "X"]


def time(event):  # nanoseconds: today's microseconds have more digits than a float
    begin = int(Decimal(event["ts"]) * 1000)
    return begin, begin + round(event["dur"] * 1000)


def place(event):
    return event["pid"], event["tid"], event["ts"]


steps = {event["name"]: time(event) for event in whole if event["name"].startswith("ProfilerStep#")}
calls = [time(event) for event in whole if event["name"] == "aten::addmm"]
print(f"trace of {len(steps)} steps, aten::addmm {len(calls)} times")
assert len(steps) == 2 and len(calls) == 4, (steps, calls)
if not on_device:
    sys.exit()

# Tasks: each in its step's time, one after another on their stream, as often in the one step as in the other.
tasks = [event for event in whole if "Task Type" in event["args"]]
of_step = {name: Counter() for name in steps}
of_stream = defaultdict(list)
for task in tasks:
    begin, end = time(task)
    name = next(name for name, (first, last) in steps.items() if first <= begin < end <= last)
    of_step[name][task["name"]] += 1
    of_stream[place(task)[:2]].append((begin, end))
for spans in of_stream.values():
    assert all(end <= begin for (_, end), (begin, _) in pairwise(sorted(spans))), sorted(spans)
assert len({tuple(sorted(counts.items())) for counts in of_step.values()}) == 1, of_step

# Flows: from the operator to its task.
flows = [event for event in events if event.get("cat") == "async_npu"]
starts = {event["id"]: int(Decimal(event["ts"]) * 1000) for event in flows if event["ph"] == "s"}
ends = {place(event): event["id"] for event in flows if event["ph"] == "f"}
addmm = [task for task in tasks if task["name"].startswith("aclnnAddmm")]
launched = sorted(starts[ends[place(task)]] for task in addmm)
assert all(any(first <= begin <= last for first, last in calls) for begin in launched), (launched, calls)
assert len(addmm) == len(set(launched)) == 4, addmm

# Tables of the same tasks.
tables = {path.stem: list(csv.DictReader(path.open())) for path in output.glob("*.csv")}
kernels = [row for row in tables["kernel_details"] if row["Name"].startswith("aclnnAddmm")]
assert Counter(row["Step Id"] for row in kernels) == {"1": 2, "2": 2}, kernels
assert all("8,16" in row["Input Shapes"] or "8,32" in row["Input Shapes"] for row in kernels), kernels
for name in ("api_statistic", "op_statistic", "operator_details", "step_trace_time", "task_time"):
    assert tables.get(name), f"{name}.csv is not there, or empty"
assert all(float(row["Computing"]) > 0 for row in tables["step_trace_time"]) and len(tables["step_trace_time"]) == 2
busy = sum(task["dur"] for task in tasks)
wall = sum(last - first for first, last in steps.values()) / 1000
print(f"{len(tasks)} tasks on the device, {len(addmm)} of them aten::addmm's, {busy:.0f} us of {wall:.0f}")
