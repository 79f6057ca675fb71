"""The table from torch's data types to CANN's is indexed by torch's numbers, so its rows stand in their order."""

import re
import sys
from pathlib import Path

import torch

SOURCE = Path(sys.argv[1]) / "csrc/aclnn_torch_adapter/op_api_common.h"  # of "csrc/aclnn_torch_adapter/op_api_common.h"
rows = re.findall(r"_\(at::ScalarType::(\w+), (ACL_\w+)\)", SOURCE.read_text(encoding="utf-8"))
headers = Path(torch.__file__).parent / "include"
text = "".join(path.read_text(encoding="utf-8") for path in headers.rglob("ScalarType.h"))
macro = re.search(r"define AT_FORALL_SCALAR_TYPES_WITH_COMPLEX_AND_QINTS\(_\)(.*?)\n\n", text, re.S)
assert macro is not None
order = [*re.findall(r"_\([\w:<>]+,\s*(\w+)\)", macro[1]), "Undefined", "NumOptions"]
assert len(order) > 40, order
for number, name in enumerate(order):
    found = rows[number] if number < len(rows) else ("nothing", "")
    assert found[0] == name, f"the row of {name}, number {number}, is that of {found[0]}"
