"""A checkpoint is loaded on a machine for npu, which has no transformer_engine."""

import tempfile
from types import SimpleNamespace

from taken import take

taken = take(
    "verl/utils/checkpoint/megatron_checkpoint_manager.py",
    "MegatronCheckpointManager.load_checkpoint",
    get_dist_checkpoint_path=lambda path: path,
    load_dist_checkpointing=lambda **given: {"rng_state": [1]},
    log_with_rank=lambda *given, **named: None,
)
loaded = []
manager = SimpleNamespace(
    should_load_model=False, should_load_optimizer=False, should_load_extra=True, use_dist_checkpointing=True,
    peft_cls=None, use_hf_checkpoint=False, rank=0, generate_state_dict=lambda *given, **named: {},
    load_rng_states=loaded.append, use_checkpoint_opt_param_scheduler=False,
)  # fmt: skip
with tempfile.TemporaryDirectory() as folder:
    taken.load_checkpoint(manager, folder)
assert loaded == [[1]]
