"""Act when torchair is loaded, without loading it.

torch_npu puts a proxy named ``torchair`` into ``sys.modules`` and imports the real package,
`torch_npu.dynamo.torchair`, on first use, which takes seconds and needs the graph engine. What must be registered with
torchair waits for that moment.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType

from ophook_npu.imported import WhenImported

REAL_NAME = "torch_npu.dynamo.torchair"


def when_loaded(call: Callable[[ModuleType], None]) -> None:
    """Call ``call(torchair)`` now if torchair is loaded, else right after it has been.

    ``torchair`` is the real package; the proxy named torchair is not usable yet at that moment.
    """
    module = sys.modules.get(REAL_NAME)
    if module is not None and hasattr(module, "register_fx_node_ge_converter"):
        call(module)
    else:
        WhenImported(REAL_NAME, call)
