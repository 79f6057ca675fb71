"""Which operators the simulator has, read from the libraries that were built."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from ophook_npu.elf import exported
from ophook_npu.errors import OphookError
from ophook_npu.soc import CSRC


def operators(root: Path) -> dict[str, list[str]]:
    """Names by kind: ``aclnn`` (``aclnnAdd``, …) of libopapi and the vendor packages, ``graph`` (GE types, ``Add``, …),
    ``atb`` (``RopeParam``, …: what an operation is made from; ``AtbMLA``, …: functions) of libatb.

    The graph types also serve as aclop operators.

    Raises:
        OphookError: a library cannot be read.
    """
    suffix = "GetWorkspaceSize"
    libraries = [root / "lib64" / "libopapi.so", *root.glob("opp/vendors/*/op_api/lib/libcust_opapi.so")]
    symbols = [name for library in libraries for name in exported(library)]
    aclnn = sorted(name.removesuffix(suffix) for name in symbols if name.startswith("aclnn") and name.endswith(suffix))
    boosted = exported(root / "lib64" / "libatb.so")
    made = {found[1] for name in boosted if (found := re.search(r"CreateOperationINS_5infer\d+(\w+Param)E", name))}
    atb = sorted(made) + sorted(name.removesuffix(suffix) for name in boosted if name.endswith(suffix))
    return {"aclnn": aclnn, "graph": sorted(graph_rows(root / "lib64" / "libopapi.so")), "atb": atb}


_OF_ACL = tuple(
    f"lib{name}.so"
    for name in ("ascendcl", "acl_dvpp", "acl_op_compiler", "acl_tdt_channel", "acl_tdt_queue", "msprofiler")
)
_REFUSED = re.compile(r"^// (\w+\.h|[a-z ]+)$|^(REFUSED\w*|UNIMPLEMENTED\w*)\(([^)]*)\)", re.MULTILINE)


def refusals(source: Path) -> Iterator[tuple[str, str, str]]:
    """The functions that a source refuses by name: the macro of their row, the heading above it, the name."""
    heading = ""
    for title, macro, names in _REFUSED.findall(source.read_text()):
        heading = title or heading
        for name in filter(None, re.findall(r'"[^"]*"|(\w+)', names)):
            yield macro, heading, name


def api(root: Path) -> dict[str, tuple[str, str]]:
    """AscendCL's functions that the libraries export: name -> (``simulated`` or ``refused``, of what feature).

    One that is refused can be linked to; called, it fails with 200001 and its name. What the sources say decides.

    Raises:
        OphookError: a library cannot be read.
    """
    refused: dict[str, str] = {}
    for source in sorted([*(CSRC / "acl" / "refused").iterdir(), *(CSRC / "dvpp" / "refused").iterdir()]):
        rows = refusals(source)
        refused.update({name: heading for macro, heading, name in rows if macro != "UNIMPLEMENTED_ALOUD"})
    names = {name for library in _OF_ACL for name in exported(root / "lib64" / library) if name.startswith("acl")}
    return {name: ("refused", refused[name]) if name in refused else ("simulated", "") for name in sorted(names)}


def rows(libopapi: Path) -> dict[str, str]:
    """What each aclnn function of the library tells of its parameters, as in its row: ``(In, self, Out, out)``."""
    suffix = "GetWorkspaceSize"
    names = [name.removesuffix(suffix) for name in exported(libopapi) if name.endswith(suffix)]
    told = _ask(
        libopapi,
        """
import json
answers = {}
for name in json.load(sys.stdin):
    ask = getattr(table, name + "Parameters")
    ask.restype = ctypes.c_char_p
    answers[name] = ask().decode()
print(json.dumps(answers))
""",
        json.dumps(names),
    )
    found: dict[str, str] = json.loads(told)
    return found


def graph_rows(libopapi: Path) -> dict[str, str]:
    """Graph types with their prototypes, ``x1 x2 bias? -> y | transpose_x1:Bool=false``."""
    code = """
import json
table.ophook_ge_type.restype = table.ophook_ge_proto.restype = ctypes.c_char_p
table.ophook_ge_type.argtypes = [ctypes.c_size_t]
table.ophook_ge_proto.argtypes = [ctypes.c_char_p]
answers, index = {}, 0
while (name := table.ophook_ge_type(index)) is not None:
    answers[name.decode()] = table.ophook_ge_proto(name).decode()
    index += 1
print(json.dumps(answers))
"""
    found: dict[str, str] = json.loads(_ask(libopapi, code))
    return found


def _ask(libopapi: Path, code: str, given: str = "") -> str:
    # In a process of its own: libopapi brings torch's libraries with it.
    code = f"import ctypes, sys\ntable = ctypes.CDLL(sys.argv[1])\n{code}"
    result = subprocess.run([sys.executable, "-c", code, str(libopapi)], input=given, capture_output=True, text=True)
    if result.returncode:
        raise OphookError(
            "simulator", f"{libopapi} cannot be loaded: {result.stderr.strip()[-300:]}", todo="ophook-npu doctor"
        )
    return result.stdout
