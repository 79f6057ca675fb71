"""A container shows device 5 as device 0: what is sent over the network names the physical one."""

import os
from types import SimpleNamespace

os.environ |= {"ENABLE_ASCEND_TRANSFER_WITH_MOONCAKE": "true", "ASCEND_NPU_PHY_ID": "5"}

from taken import take

fields = take("python/sglang/srt/environ.py", "EnvField", "EnvBool", "EnvInt")
switch, number = fields.EnvBool(False), fields.EnvInt(-1)
switch.name, number.name = "ENABLE_ASCEND_TRANSFER_WITH_MOONCAKE", "ASCEND_NPU_PHY_ID"
taken = take(
    "python/sglang/srt/disaggregation/mooncake/transfer_engine.py",
    "MooncakeTransferEngine.initialize",
    envs=SimpleNamespace(ENABLE_ASCEND_TRANSFER_WITH_MOONCAKE=switch, ASCEND_NPU_PHY_ID=number),
    get_bool_env_var=lambda name, default: switch.get(),
    get_free_port=lambda: 1234,
)
told = []
engine = SimpleNamespace(gpu_id=0, engine=SimpleNamespace(initialize=lambda *given: told.append(given[0]) or 0))
taken.initialize(engine, "host", None)
assert told == ["host:1234:npu_5"], f"{told[0]} for physical device 5"
