"""The prototypes of graph operators in C++, with which a program builds a graph: ``opp/built-in/op_proto/inc``, written
from the simulator's own rows (csrc/ge/rows) when it is laid out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from ophook_npu.errors import OphookError

# Programs of newer releases include one of the first, those of older ones one of the last; each has all operators.
_OLDER = (
    "array batch bitwise control_flow ctc data_flow elewise_calculation functional hcom image linalg list logging "
    "lookup math matrix_calculation nn_batch_norm nn_calculation nn_detect nn_norm nn nn_pooling nn_training "
    "nonlinear_fuc pad parsing quantize random reduce resource_variable rpn save selection set sparse spectral "
    "split_combination state stateful_random stateless_random string transformation"
)
NAMES = (
    "ops_proto_legacy.h", *(f"ops_proto_{part}.h" for part in ("math", "nn", "cv", "transformer")), "all_ops.h",
    *(f"{part}_ops.h" for part in _OLDER.split()), "experiment_ops.h", "nn_other.h",
)  # fmt: skip
_REGISTERED = re.compile(r"\bREG_OP\((\w+)\)")
_DEFAULTS = {
    "Int": "{}", "Bool": "{}", "Float": "static_cast<float>({})", "String": '"{}"', "Type": "static_cast<DataType>({})",
    "ListInt": "{}", "ListBool": "{}", "ListFloat": "{}", "ListListInt": "{}",
    "Tensor": "Tensor()",
}  # fmt: skip


def write(folder: Path, rows: Mapping[str, str], published: Path) -> None:
    """Write the headers into ``folder``.

    Args:
        rows: type -> its prototype, as a row of csrc/ge/rows has it.
        published: a folder with headers of CANN's, whose prototypes stay as they are.

    Raises:
        OphookError: an attribute of a kind that REG_OP has no form for.
    """
    folder.mkdir(parents=True)
    theirs = sorted(published.glob("*.h"))
    known = {name for header in theirs for name in _REGISTERED.findall(header.read_text(errors="replace"))}
    first, *others = NAMES
    lines = [
        "// Graph operators as the simulated Ascend has them. Written when it was laid out; edits are lost.",
        *("#pragma once", '#include "graph/operator_reg.h"'),
        *(f'#include "op_proto/{header.name}"' for header in theirs),
        *("", "namespace ge {"),
        *(line for name in sorted(rows.keys() - known) for line in _reg_op(name, rows[name])),
        "}  // namespace ge",
    ]
    (folder / first).write_text("\n".join(lines) + "\n")
    for name in others:
        (folder / name).write_text(f'#pragma once\n#include "{first}"\n')


def _reg_op(name: str, prototype: str) -> Iterator[str]:
    ports, _, attributes = prototype.partition("|")
    given, _, made = ports.partition("->")
    yield f"REG_OP({name})"
    for word in given.split():
        kind = {"?": "OPTIONAL_INPUT", "*": "DYNAMIC_INPUT"}.get(word[-1], "INPUT")
        yield f"    .{kind}({word.rstrip('?*')}, TensorType::ALL())"
    for word in made.split():
        yield f"    .{'DYNAMIC_' if word[-1] == '*' else ''}OUTPUT({word.rstrip('*')}, TensorType::ALL())"
    for word in attributes.split():
        key, _, rest = word.partition(":")
        kind, preset, value = rest.partition("=")
        if kind not in _DEFAULTS:
            raise OphookError("prototypes", f"{name}: {key} of the kind {kind}", allowed=", ".join(_DEFAULTS))
        if preset:
            yield f"    .ATTR({key}, {kind}, {_DEFAULTS[kind].format(value)})"
        else:
            yield f"    .REQUIRED_ATTR({key}, {kind})"
    yield f"    .OP_END_FACTORY_REG({name});"
