"""``ophook-npu op new``: a package of the user's own, around one operator that works and waits for its real body."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import torch

from ophook_npu.errors import OphookError
from ophook_npu.ops.declare import Operator, default_of, written
from ophook_npu.ops.export import ascendc, cpp, ge, starter, yaml_entries
from ophook_npu.ops.export.kernel import kernel
from ophook_npu.ops.export.templates import TEMPLATES, Template, inputs
from ophook_npu.ops.rules import Broadcast, Rule, broadcast, same_as

_NAME = re.compile(r"^[a-z_]\w*::[a-z]\w*$")
_EXAMPLES = {
    "int": "1", "float": "0.5", "bool": "False", "str": '"a"', "number": "2.0", "ScalarType": "torch.float32",
    "List[int]": "[1, 2]", "List[float]": "[0.5]", "Optional[Tensor]": "None",
    "List[Tensor]": "[torch.randn(2, 3), torch.randn(2, 3)]",
}  # fmt: skip
_ANNOTATIONS = {
    "Tensor": "torch.Tensor", "Optional[Tensor]": "torch.Tensor | None", "List[Tensor]": "list[torch.Tensor]",
    "int": "int", "float": "float", "bool": "bool", "str": "str", "number": "float", "ScalarType": "torch.dtype",
    "List[int]": "list[int]", "List[float]": "list[float]",
}  # fmt: skip

_PYPROJECT = """\
[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "{project}"
version = "0.1.0"
description = "The operator {qualname} for PyTorch on Ascend"
requires-python = ">=3.10"
dependencies = ["ophook-npu", "torch"]

[project.optional-dependencies]
test = ["pytest"]

[tool.setuptools]
packages = ["{name}"]

[tool.setuptools.package-data]
{name} = ["csrc/*", "simulated/*", "ascendc/**/*"]
"""

_INIT = '''\
"""``{name}(…)`` is the operator {qualname}; importing this package registers it."""

from ophook_npu.ops import register

from {name}.operator import OPERATOR

{name} = register(OPERATOR)

__all__ = ["OPERATOR", "{name}"]
'''

_OPERATOR = '''\
"""``{schema}``: its declaration, from which everything else comes.

After a change here: `ophook-npu op check` on this file, and `ophook-npu op export` for the files in csrc/ and ascendc/.
"""

from __future__ import annotations

import torch

from ophook_npu.ops import {imports}

{dtypes}

def cpu({parameters}) -> {result}:
    # Replace this body by what the operator computes. So must you the one in {elsewhere}.
{body}

def examples() -> list[tuple]:
    return [
{examples}    ]


OPERATOR = Operator(
    schema="{schema}",
    cpu=cpu,
{fields}    ge="{type}",
    examples=examples,
)
'''

_TEST = '''\
"""Everything that `ophook-npu op check` finds, one test a check."""

import pytest
from {name} import OPERATOR
from ophook_npu.ops.check import CHECKS, check


@pytest.mark.parametrize("name", CHECKS)
def test_check(name: str) -> None:
    (outcome,) = check(OPERATOR, [name])
    if outcome.status == "not here":
        pytest.skip(outcome.reason)
    assert outcome.status == "pass", outcome.reason
'''

_README = """\
# {name}
`{schema}`

```
pip install -e '.[test]'
ophook-npu op check {name}/operator.py                                        # on this machine's CPU
pytest tests
```
{simulated}
On an Ascend host ASCEND_CUSTOM_OPP_PATH names the installed Ascend C operator package instead.

| file | what it is |
|---|---|
| `{name}/operator.py` | the declaration: write your operator's body there |
{files}
After a change of the declaration: `ophook-npu op export {name}/operator.py --out some/folder`, and copy what changed.
"""

_EXPORTED = """\
| `{name}/csrc/` | the NPU kernel in C++ and op-plugin's YAML, exported from the declaration |
"""

# How the simulated Ascend gets the operator: by its own kernel, or, for lists of tensors, by a stand-in.
_BY_KERNEL = (
    """\
The Ascend C kernel, core by core on this machine's CPU, and the same on the simulated Ascend:
```
ophook-npu kernel check {name}/ascendc
ophook-npu kernel build {name}/ascendc --out package
export ASCEND_CUSTOM_OPP_PATH=$PWD/package
ophook-npu op check {name}/operator.py --device auto
ophook-npu run -- -m pytest tests
```""",
    """\
| `{name}/ascendc/` | the Ascend C project: the kernel (write the body there too), tiling, inference, msopgen's JSON |
""",
)
_BY_STAND_IN = (
    """\
On the simulated Ascend, where C++ of a few lines stands in for the Ascend C kernel:
```
export ASCEND_CUSTOM_OPP_PATH=$(ophook-npu op simulate {name}/simulated)
ophook-npu op check {name}/operator.py --device auto
ophook-npu run -- -m pytest tests
```""",
    """\
| `{name}/simulated/` | what stands in for the Ascend C kernel on the simulated Ascend: write the body there too |
| `{name}/ascendc/` | what an Ascend C project starts from: msopgen's JSON, prototype, host skeleton without tiling |
""",
)

_ACLNN = """\
// {aclnn} for the simulated Ascend: parameters in the order of the C interface, the check made in phase 1, what runs.
#include <ATen/ATen.h>

#include "opapi/aclnn.h"

using namespace sim::aclnn;

namespace {{

void run({parameters}) {{
  // Replace this body by what the operator computes, as in operator.py.
{body}}}

}}  // namespace

// clang-format off
ACLNN({type}, ({row}), when_run(), run({names}))
// clang-format on
"""

_ROW_KINDS = {
    "Tensor": ("In", "const at::Tensor&"), "Optional[Tensor]": ("In", "const at::Tensor&"),
    "List[Tensor]": ("List", "const std::vector<at::Tensor>&"), "int": ("int64_t", "int64_t"),
    "float": ("double", "double"), "number": ("double", "double"), "bool": ("bool", "bool"),
    "str": ("Text", "const std::string&"), "ScalarType": ("Dtype", "at::ScalarType"),
    "List[int]": ("Ints", "const std::vector<int64_t>&"),
    "List[float]": ("Floats", "const std::vector<float>&"),
}  # fmt: skip


def write(name: str, schema: str, out: Path, template: str = "elementwise") -> list[Path]:
    """Make the package in the folder ``out``; returns its files. A template other than ``elementwise`` has a schema.

    Raises:
        OphookError: the name, schema or template is wrong, the schema has something that has no GE form, or the folder
            is there.
    """
    if template not in ("elementwise", *TEMPLATES):
        raise OphookError("op new", f"no template {template!r}", allowed=", ".join(["elementwise", *TEMPLATES]))
    if template != "elementwise" and schema:
        raise OphookError("op new", f"the template {template} has its own schema", todo="leave --schema out")
    if not _NAME.match(name):
        raise OphookError("op new", f"the name is {name!r}", allowed="namespace::operator, in small letters")
    if out.exists() and any(out.iterdir()):
        raise OphookError("op new", f"{out} is there and not empty", todo="name another folder")
    schema = schema or "(Tensor x, Tensor y) -> Tensor"
    texts = _from_template(name, TEMPLATES[template]) if template in TEMPLATES else _files(_placeholder(name, schema))
    for path, text in texts.items():
        (out / path).parent.mkdir(parents=True, exist_ok=True)
        (out / path).write_text(text, encoding="utf-8")
    return [out / path for path in texts]


def _from_template(qualname: str, template: Template) -> dict[str, str]:
    name = qualname.split("::")[1]
    type = _type(name)
    stem = ge.stem_of(type)

    def text(file: str) -> str | None:
        found = template.text(file)
        return None if found is None else template.renamed(found, qualname, type, stem)

    declaration = text("operator")
    assert declaration is not None
    scope: dict[str, Any] = {"__name__": "ophook_npu_template"}
    exec(compile(declaration, "operator.py", "exec", dont_inherit=True), scope)
    op: Operator = scope["OPERATOR"]
    host, tiling = text("host"), text("tiling")
    project = f"{name}/ascendc"
    files = {
        f"{name}/operator.py": declaration,
        f"{project}/inputs.py": inputs(template.larger),
        f"{project}/op_kernel/{stem}.cpp": text("kernel"),
        f"{project}/op_host/{stem}.cpp": host or ascendc.op_host(op, tiling),
        f"{project}/op_host/{stem}_tiling.h": text("tiling_header"),
    }
    return _package(op, _BY_KERNEL) | {path: found for path, found in files.items() if found is not None}


def _type(name: str) -> str:
    return "".join(part.capitalize() for part in name.removeprefix("npu_").split("_"))


def _placeholder(name: str, schema: str) -> Operator:
    """A declaration that is right in form: results are sums of the tensors, arguments written to are counted up."""
    full = schema.strip() if schema.strip().startswith(name) else name + schema.strip()
    try:
        parsed = torch._C.parse_schema(full)
    except RuntimeError as error:
        raise OphookError(
            f"op new {name}", f"the schema {full!r} does not parse: {str(error).strip().splitlines()[0]}",
            allowed='such as "(Tensor x, float scale=1.0) -> Tensor"',
        ) from None  # fmt: skip
    kinds = {a.name: str(a.real_type) for a in parsed.arguments}
    unknown = [n for n, kind in kinds.items() if kind not in _ANNOTATIONS]
    plain = [n for n, kind in kinds.items() if kind == "Tensor"]
    if unknown or not plain:
        what = f"argument {unknown[0]} is {written(kinds[unknown[0]])}" if unknown else "there is no Tensor argument"
        optional = unknown and "Optional" in kinds[unknown[0]]
        raise OphookError(
            f"op new {name}", what, allowed=", ".join(map(written, _ANNOTATIONS)) + "; at least one Tensor",
            todo="give it a default instead of ?" if optional else None,
        )  # fmt: skip
    mutated = [a.name for a in parsed.arguments if a.alias_info is not None and a.alias_info.is_write]
    keyword = any(a.kwarg_only and "Tensor" in kinds[a.name] for a in parsed.arguments)
    rule: Rule = broadcast(*plain) if len(plain) > 1 else same_as(plain[0])
    letters = "yzuvw" if len(parsed.returns) <= 5 else ""
    names = [r.name or (letters[i] if letters else f"out{i}") for i, r in enumerate(parsed.returns)]
    names = [f"{n}_out" if n in kinds else n for n in names]
    elementwise = len(plain) == len(kinds) and len(names) == 1 and not mutated and not keyword
    scope: dict[str, Any] = {"torch": torch}
    # What operator.py will hold.
    exec(f"def cpu({_parameters(parsed.arguments)}):\n{_body(plain, mutated, len(names))}", scope)
    return Operator(
        schema=full,
        cpu=scope["cpu"],
        examples=list,
        outputs=dict.fromkeys(names, rule),
        dtypes={
            " ".join(n for n, kind in kinds.items() if "Tensor" in kind): (torch.float16, torch.float32, torch.bfloat16)
        },
        derivatives=dict.fromkeys(plain, "grad") if elementwise else {},
        vmap=None if keyword else "loop",
        ge=_type(name.split("::")[1]),
    )


def _parameters(arguments: Any, annotated: bool = False) -> str:
    texts = [_parameter(a, annotated) for a in arguments]
    keywords = sum(a.kwarg_only for a in arguments)
    if keywords:
        texts.insert(len(texts) - keywords, "*")
    return ", ".join(texts)


def _parameter(a: Any, annotated: bool = False) -> str:
    text: str = a.name + (f": {_ANNOTATIONS[str(a.real_type)]}" if annotated else "")
    if not a.has_default_value():
        return text
    return f"{text} = {default_of(a)!r}" if annotated else f"{text}={default_of(a)!r}"


def _body(plain: list[str], mutated: list[str], results: int) -> str:
    if mutated:
        return "".join(f"    {n}.add_(1)\n" for n in mutated)
    total = " + ".join(plain) if len(plain) > 1 else f"{plain[0]}.clone(memory_format=torch.contiguous_format)"
    one = f"({total}).contiguous()" if len(plain) > 1 else total
    if results == 1:
        return f"    return {one}\n"
    return f"    total = {one}\n    return {', '.join(['total', *['total.clone()'] * (results - 1)])}\n"


def _files(op: Operator) -> dict[str, str]:
    name, stem = op.name, ge.file_stem(op)
    plain = [n for n in op.tensors if str(op.argument(n).real_type) == "Tensor"]
    results = len(op.outputs)
    result = {0: "None", 1: "torch.Tensor"}.get(results, f"tuple[{', '.join(['torch.Tensor'] * results)}]")
    group = next(iter(op.dtypes))
    fields = ""
    imports = (["broadcast"] if len(plain) > 1 else ["same_as"]) if results else []
    if results:
        rule = next(iter(op.outputs.values()))
        text = f"broadcast({_quoted(plain)})" if isinstance(rule, Broadcast) else f"same_as({_quoted(plain[:1])})"
        listed = ", ".join(f"{_quoted([n])}: {text}" for n in op.outputs)
        fields += f"    outputs={{{listed}}},\n"
    fields += f'    dtypes={{"{group}": DTYPES}},\n'
    if op.derivatives:
        listed = ", ".join(_quoted([n]) + ': "grad"' for n in op.derivatives)
        fields += f"    derivatives={{{listed}}},\n"
    if op.vmap is None:
        fields += "    vmap=None,\n"
    own_kernel = starter.fits(op)
    elsewhere = f"ascendc/op_kernel/{stem}.cpp" if own_kernel else f"simulated/{stem}_aclnn.cpp"
    operator = _OPERATOR.format(
        imports=", ".join(["Operator", *imports]), schema=op.schema.replace('"', '\\"'),
        parameters=_parameters(op.arguments, True), result=result, elsewhere=elsewhere,
        dtypes="DTYPES = (torch.float16, torch.float32, torch.bfloat16)\n",
        body=_body(plain, list(op.mutated), results), examples=_examples(op, plain), fields=fields, type=op.ge,
    )  # fmt: skip
    package = _package(op, _BY_KERNEL if own_kernel else _BY_STAND_IN) | {f"{name}/operator.py": operator}
    project = f"{name}/ascendc"
    if own_kernel:
        package |= {
            f"{project}/op_kernel/{stem}.cpp": starter.kernel(op),
            f"{project}/op_host/{stem}.cpp": ascendc.op_host(op, starter.tiling(op)),
            f"{project}/op_host/{stem}_tiling.h": starter.tiling_header(op),
        }
        if _called_in_order(op):
            package[f"{project}/inputs.py"] = inputs([_example(op, plain, "130, 5003", "5003")])
    else:
        package |= {
            f"{project}/op_host/{stem}.cpp": ascendc.op_host(op),
            f"{project}/op_host/{stem}_tiling.h": ascendc.tiling_header(op),
            f"{name}/simulated/{stem}_aclnn.cpp": _aclnn(op, plain),
            f"{name}/simulated/{stem}_proto.cpp": ge.inference(op),
        }
    return package


def _package(op: Operator, route: tuple[str, str]) -> dict[str, str]:
    """All but the declaration's file and what the Ascend C project has of its own."""
    name, stem = op.name, ge.file_stem(op)
    simulated, listed = (text.format(name=name) for text in route)
    package = {
        "pyproject.toml": _PYPROJECT.format(project=name.replace("_", "-"), name=name, qualname=op.qualname),
        "README.md": _README.format(
            name=name, schema=op.schema, simulated=simulated,
            files=(_EXPORTED.format(name=name) if None not in op.outputs.values() else "") + listed,
        ),
        f"tests/test_{name}.py": _TEST.format(name=name),
        f"{name}/__init__.py": _INIT.format(name=name, qualname=op.qualname),
    }  # fmt: skip
    if None in op.outputs.values():  # a shape that no named rule says has no form in C++
        return package
    package |= {
        f"{name}/csrc/{cpp.kernel_file(op)}": kernel(op),
        f"{name}/csrc/op_plugin_functions.yaml": yaml_entries.functions(op),
        f"{name}/ascendc/{stem}.json": ascendc.msopgen(op),
        f"{name}/ascendc/op_proto/{stem}_proto.h": ge.header(op),
    }
    derivatives = yaml_entries.derivatives(op)
    if derivatives:
        package[f"{name}/csrc/derivatives.yaml"] = derivatives
    return package


def _quoted(names: list[str]) -> str:
    return ", ".join(f'"{n}"' for n in names)


def _examples(op: Operator, plain: list[str]) -> str:
    chosen = (("2, 3", "3", bool(op.derivatives)), ("4, 1", "4, 5", False))
    return "".join(f"        {_example(op, plain, *one)},\n" for one in chosen)


def _example(op: Operator, plain: list[str], first: str, rest: str, grad: bool = False) -> str:
    """Arguments in the order of the schema, as text; ``first`` is the first tensor's shape."""
    values = []
    for a in op.arguments:
        kind = str(a.real_type)
        if kind == "Tensor":
            shape = first if a.name == plain[0] or op.mutated else rest
            values.append(f"torch.randn({shape}{', requires_grad=True' if grad else ''})")
        elif a.has_default_value():
            values.append(repr(default_of(a)))
        else:
            values.append(_EXAMPLES[kind])
    return f"({', '.join(values)}{',' if len(values) == 1 else ''})"


def _called_in_order(op: Operator) -> bool:
    """Whether a kernel takes the schema's arguments as they stand: tensors first, then numbers."""
    names = [a.name for a in op.arguments]
    kinds = {str(op.argument(name).real_type) for name in op.ge_attributes.values()}
    return not op.mutated and names[: len(op.tensors)] == list(op.tensors) and kinds <= {"int", "float", "bool"}


def _aclnn(op: Operator, plain: list[str]) -> str:
    row, parameters, names = [], [], []
    for a in [*(op.argument(n) for n in op.tensors), *(op.argument(n) for n in op.ge_attributes.values())]:
        kind, cpp_type = ("Ref", "at::Tensor&") if a.name in op.mutated else _ROW_KINDS[str(a.real_type)]
        row.append(f"{kind},{a.name}")
        parameters.append(f"[[maybe_unused]] {cpp_type} {a.name}")
        names.append(a.name)
    for n in op.outputs:
        row.append(f"Out,{n}")
        parameters.append(f"const at::Tensor& {n}")
        names.append(n)
    total = plain[0]
    for n in plain[1:]:
        total = f"at::add({total}, {n})"
    body = "".join(f"  write({n}, {total});\n" for n in op.outputs) or "".join(f"  {n}.add_(1);\n" for n in op.mutated)
    return _ACLNN.format(
        aclnn=op.aclnn_name,
        parameters=", ".join(parameters),
        body=body,
        type=op.ge,
        row=", ".join(row),
        names=", ".join(names),
    )
