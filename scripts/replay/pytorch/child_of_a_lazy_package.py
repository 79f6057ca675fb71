"""A module of torchair is imported by the short name: the package that stands in for it lazily has it, too."""

import sys
from types import ModuleType

from taken import lay

lay("torch_npu/dynamo/__init__.py")
import torch_npu  # noqa: E402, F401
import torchair  # noqa: E402

assert torchair.CompilerConfig is not None
sys.modules["torchair.late"] = ModuleType("torchair.late")
assert torchair.late is sys.modules["torchair.late"]
