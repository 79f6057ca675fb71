"""The messages of ge.proto, as the torch_npu wheel has them: generated code, which is loaded from its file.

Neither torch nor torch_npu is imported: ``atc`` starts fast, and needs no device.
"""

from __future__ import annotations

import functools
import importlib.util
from pathlib import Path
from types import ModuleType

from ophook_npu.sim.atc.errors import AtcError

_FILE = Path("dynamo", "torchair", "_ge_concrete_graph", "ge_ir_by_protoc_3_19_pb2.py")


@functools.cache
def messages() -> ModuleType:
    """The module with ``GraphDef``, ``ModelDef``, ``DataType`` and the others."""
    found = importlib.util.find_spec("torch_npu")
    if found is None or not found.submodule_search_locations:
        raise AtcError("E19999", "torch_npu is not installed.", todo="pip install 'ophook-npu[npu]'")
    path = Path(found.submodule_search_locations[0]) / _FILE
    spec = importlib.util.spec_from_file_location(f"ophook_npu_{_FILE.stem}", path)
    if spec is None or spec.loader is None or not path.is_file():
        raise AtcError("E19999", f"torch_npu has no {_FILE}.", todo="install the torch_npu that this package names")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
