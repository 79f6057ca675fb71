"""An engine on npu sleeps at level 1, as vllm-ascend of that time has no other."""

import sys
from importlib import metadata
from types import ModuleType

from taken import FOLDER, take

take("verl/third_party/vllm/__init__.py")
parts = {"vllm": {"LLM": None}, "vllm.distributed": {"parallel_state": None}, "verl": {}, "verl.utils": {}}
parts |= {"verl.utils.device": {"is_npu_available": True}}
parts |= {"verl.utils.import_utils": {"is_sglang_available": lambda: False}}
for name, values in parts.items():
    sys.modules[name] = ModuleType(name)
    vars(sys.modules[name]).update(values)
metadata.version = lambda package: "0.9.1"
scope = {"__name__": "verl.third_party.vllm"}
exec((FOLDER / "verl/third_party/vllm/__init__.py").read_text(encoding="utf-8"), scope)
assert scope["VLLM_SLEEP_LEVEL"] == 1, f"it would sleep at level {scope['VLLM_SLEEP_LEVEL']}"
