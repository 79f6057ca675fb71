"""Every ATen operator of a training step, process-wide, counted by phase."""

from collections import Counter

import torch

import ophook_npu

model = torch.nn.TransformerEncoderLayer(16, 2, dropout=0.0)
x = torch.randn(4, 3, 16)
counts: Counter[tuple[str, str]] = Counter()
with ophook_npu.hook("aten", before=lambda call: counts.update([(call.phase, call.name)]), via="impl_override") as hook:
    model(x).sum().backward()
for phase in ("forward", "backward"):
    names = {name: n for (p, name), n in counts.items() if p == phase}
    top = sorted(names.items(), key=lambda item: (-item[1], item[0]))[:3]
    print(
        f"{phase:9}{sum(names.values()):4} calls of {len(names)} operators, most often",
        ", ".join(f"{n} {c}x" for n, c in top),
    )
assert sum(counts.values()) == hook.hits
assert counts["backward", "aten::native_layer_norm_backward"] == 2
hook.remove()
