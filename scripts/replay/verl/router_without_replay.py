"""The Megatron that is used with NPUs has no functions for the replay of a router: the module can be imported."""

import enum
import sys
from types import ModuleType

from taken import FOLDER, take

take("verl/utils/megatron/router_replay_patch.py")
for name in ("", ".core", ".core.transformer", ".core.transformer.moe", ".core.transformer.moe.moe_utils"):
    sys.modules["megatron" + name] = ModuleType("megatron" + name)
for name, given in ((".moe.router", "TopKRouter"), (".transformer_config", "TransformerConfig")):
    module = sys.modules["megatron.core.transformer" + name] = ModuleType(name)
    setattr(module, given, type(given, (), {}))
scope = {"__name__": "router_replay_patch"}
exec((FOLDER / "verl/utils/megatron/router_replay_patch.py").read_text(encoding="utf-8"), scope)
assert issubclass(scope["RouterReplayAction"], enum.Enum)
