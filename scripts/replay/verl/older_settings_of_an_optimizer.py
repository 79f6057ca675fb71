"""The Megatron that is used with NPUs is older: its settings do not have every field."""

import sys
from types import ModuleType, SimpleNamespace

from taken import take

for name in ("megatron", "megatron.core", "megatron.core.distributed", "megatron.core.utils"):
    sys.modules[name] = ModuleType(name)
sys.modules["megatron.core.distributed"].finalize_model_grads = None
sys.modules["megatron.core.utils"].get_model_config = lambda model: model.config
taken = take("verl/utils/megatron_utils.py", "register_megatron_training_hooks", DDP=SimpleNamespace)
model = SimpleNamespace(config=SimpleNamespace(), ddp_config=SimpleNamespace(overlap_grad_reduce=False))
taken.register_megatron_training_hooks([model], SimpleNamespace(scale_loss=1.0, config=SimpleNamespace()))
assert model.config.grad_scale_func == 1.0
