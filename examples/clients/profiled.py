"""Three training steps under torch_npu.profiler, and what its trace has. Argument: host, or host+device"""

import json
import sys
from pathlib import Path

import torch
import torch_npu

activity = torch_npu.profiler.ProfilerActivity
activities = [activity.CPU, activity.NPU] if sys.argv[1] == "host+device" else [activity.CPU]
model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4)).npu()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
with torch_npu.profiler.profile(
    activities=activities,
    schedule=torch_npu.profiler.schedule(wait=0, warmup=1, active=2, repeat=1),
    on_trace_ready=torch_npu.profiler.tensorboard_trace_handler("trace"),
) as profiler:
    for _ in range(3):
        model(torch.randn(8, 16).npu()).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        profiler.step()
traces = list(Path("trace").rglob("trace_view.json"))
if not traces:
    sys.exit("no trace was written")
names = [event.get("name", "") for event in json.loads(traces[0].read_text())]
steps = {name for name in names if name.startswith("ProfilerStep#")}
print(f"trace of {len(steps)} steps, aten::addmm {names.count('aten::addmm')} times")
sys.exit(not (steps and names.count("aten::addmm") == 4))
