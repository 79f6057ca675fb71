"""What the check of order costs: CPU time of a step with `--check-order` against one without, and memory in a long run.

    python benchmarks/order_overhead.py [RUNS] [STEPS]

A small model with AdamW, and the same with batches that come from pinned memory by a stream of its own. Runs alternate;
ratios of medians. The third figure is the memory that a checked process has after ten times as many steps, as a ratio.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys

from rich.console import Console
from rich.table import Table

STEP = """
import json, resource, sys, time, torch, torch_npu
pinned, steps = sys.argv[1] == "pinned", int(sys.argv[2])
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10)).npu()
optimizer = torch.optim.AdamW(model.parameters())
here, x = torch.randn(64, 256).pin_memory(), torch.randn(64, 256).npu()
side, main = torch.npu.Stream(), torch.npu.current_stream()
def step():
    batch = x
    if pinned:
        with torch.npu.stream(side):
            batch = here.to("npu", non_blocking=True)
        main.wait_stream(side)
        batch.record_stream(main)
    optimizer.zero_grad()
    model(batch).square().mean().backward()
    optimizer.step()
    torch.npu.synchronize()
    here.fill_(1)
for _ in range(20): step()
began = time.process_time()
for _ in range(steps): step()
spent = (time.process_time() - began) / steps
print(json.dumps({"step": spent, "memory": int(open("/proc/self/statm").read().split()[1])}))
"""


def run(kind: str, checked: bool, steps: int) -> dict[str, float]:
    command = [sys.executable, "-m", "ophook_npu", "run", "--device", "sim", *(["--check-order"] if checked else [])]
    done = subprocess.run([*command, "--", "-c", STEP, kind, str(steps)], capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    runs, steps = (int(text) for text in (sys.argv[1:] + ["5", "200"][len(sys.argv) - 1 :]))
    table = Table("program", "unchecked, ms", "checked, ms", "ratio", f"memory, {10 * steps} steps to {steps}")
    for kind in ("device", "pinned"):
        pairs = [(run(kind, False, steps), run(kind, True, steps)) for _ in range(runs)]
        off, on = (statistics.median(pair[i]["step"] for pair in pairs) * 1e3 for i in (0, 1))
        memory = run(kind, True, 10 * steps)["memory"] / pairs[0][1]["memory"]
        table.add_row(kind, f"{off:.2f}", f"{on:.2f}", f"{on / off:.2f}", f"{memory:.2f}")
    Console().print(table)


if __name__ == "__main__":
    main()
