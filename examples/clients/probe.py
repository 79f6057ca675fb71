"""msprobe's dump of two training steps, on DEVICE; with `read FOLDER`, what its compare of two dumps found."""

import csv
import json
import sys
from pathlib import Path

if sys.argv[1] == "read":
    (table,) = Path(sys.argv[2]).glob("compare_result_*.csv")
    rows = list(csv.DictReader(table.open(encoding="utf-8-sig")))
    norms = [float(row["NormRelativeErr"].rstrip("%")) / 100 for row in rows if row["NormRelativeErr"].endswith("%")]
    results = {row["Result"] for row in rows}
    print(f"compared {len(rows)} values, {sorted(results)}, L2 norms differ by {max(norms, default=0):.1e} at most")
    sys.exit(not rows or max(norms, default=0) > 1e-3 or "error" in results)

device = sys.argv[1]
import torch  # noqa: E402
from msprobe.pytorch import PrecisionDebugger  # noqa: E402

torch.manual_seed(0)
model = torch.nn.Sequential(
    torch.nn.Linear(16, 32), torch.nn.GELU(), torch.nn.LayerNorm(32), torch.nn.Linear(32, 4)
).to(device)  # fmt: skip
x, y = torch.randn(2, 8, 16), torch.randint(4, (2, 8))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
config = {
    "task": "statistics", "dump_path": f"{device}-dump", "rank": [], "step": [], "level": "mix",
    "statistics": {"scope": [], "list": [], "data_mode": ["all"], "summary_mode": "statistics"},
}  # fmt: skip
Path(f"{device}.json").write_text(json.dumps(config))
debugger = PrecisionDebugger(config_path=f"{device}.json")
for step in range(2):
    debugger.start(model=model)
    loss = torch.nn.functional.cross_entropy(model(x[step].to(device)), y[step].to(device))
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    debugger.stop()
    debugger.step()
print(device, loss.item())
