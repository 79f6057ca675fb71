"""The sources of a vendor package that are written for its operators: aclnn functions, their header and their tables,
and prototypes with their inference.
"""

# ruff: noqa: E501 - rows of generated C++
from __future__ import annotations

from collections.abc import Sequence

from ophook_npu.errors import OphookError
from ophook_npu.kernel import build as compilers
from ophook_npu.kernel.memory import label_of, name_of
from ophook_npu.kernel.project import DYNAMIC, OPTIONAL, Attribute, OpParameter, Prototype

# attribute: (number of its kind, C type in aclnn, the field of ophook_attribute, type in a GE prototype)
_ATTRIBUTES = {
    "Int": (1, "int64_t", "whole", "Int"), "Float": (2, "double", "real", "Float"), "Bool": (3, "bool", "whole", "Bool"),
    "String": (4, "const char*", "text", "String"), "ListInt": (5, "const aclIntArray*", "array", "ListInt"),
    "ListFloat": (6, "const aclFloatArray*", "array", "ListFloat"), "ListBool": (7, "const aclBoolArray*", "array", "ListBool"),
}  # fmt: skip


def refuse_others(prototype: Prototype) -> None:
    """Raises:
    OphookError: the operator is one that packages do not carry.
    """
    prototype.refuse()
    if other := [f"{a.name} of type {a.type}" for a in prototype.attrs if a.type not in _ATTRIBUTES]:
        what = f"{prototype.type} has the attribute {', '.join(other)}"
        raise OphookError("kernel build", what, allowed=", ".join(_ATTRIBUTES))
    if _versions(prototype) != list(range(len(_versions(prototype)))):
        what = f"{prototype.type} has Version {', '.join(map(str, _versions(prototype)[1:]))}"
        raise OphookError("kernel build", what, allowed="1, 2, … without a gap")
    for one in _versioned(prototype):
        if one.version and not _has_default(one):
            what = f"{prototype.type}: {one.name} has Version({one.version})"
            raise OphookError("kernel build", what, allowed="optional inputs, and attributes with a default, no list")
    names = [parameter.name for parameter in prototype.inputs]
    for parameter in prototype.inputs:
        _form(parameter)
        if parameter.to_of and parameter.to_of not in names:
            what = f'{prototype.type}: {parameter.name} has To("{parameter.to_of}")'
            raise OphookError("kernel build", what, allowed=", ".join(names))


def _versioned(prototype: Prototype) -> list[OpParameter | Attribute]:
    return [*prototype.inputs, *prototype.attrs]


def _has_default(one: OpParameter | Attribute) -> bool:
    """What an aclnn function that does not take it puts in its place."""
    if isinstance(one, OpParameter):
        return one.kind == OPTIONAL
    return not (one.required or one.default is None or one.type.startswith("List"))


def _same_as(prototype: Prototype) -> list[int]:
    names = [p.name for p in prototype.inputs]
    return [names.index(p.name) if p.name in names else -1 for p in prototype.outputs]


# By ophook_form what an aclnn function takes.
_TAKEN = (
    "aclTensor", "aclTensorList", "aclIntArray", "aclFloatArray", "aclBoolArray", "aclScalar", "aclScalarList", "aclTensor",
)  # fmt: skip
_TENSOR, _LIST, _SCALAR, _UNREAD = 0, 1, 5, 7
_ARRAYS = {2: {2, 3, 4, 6, 7, 8, 9, 10}, 3: {0}, 4: {12}}  # by form the data types of which it has the values


def _form(p: OpParameter) -> int:
    """Raises:
    OphookError: ValueDepend has no such data types.
    """
    if p.kind == DYNAMIC:
        return _LIST
    if p.scalar:
        return _SCALAR + p.scalar - 1
    if not p.values:
        return _TENSOR
    if found := next((form for form, types in _ARRAYS.items() if types.issuperset(p.dtypes)), None):
        return found
    raise OphookError(
        "kernel build", f"{p.name} has ValueDepend and the data types {', '.join(map(name_of, p.dtypes))}",
        allowed="DT_FLOAT alone, DT_BOOL alone, or whole numbers of up to 64 bits",
    )  # fmt: skip


# First phases of an operator that takes more than tensors: the function, one that takes tensors for values that the host
# reads, and one that takes nothing but tensors, for graphs.
_OWN, _OF_TENSORS, _OF_GRAPHS = range(3)


def _form_in(p: OpParameter, phase: int) -> int:
    if phase == _OF_GRAPHS and p.kind != DYNAMIC:
        return _TENSOR
    return _UNREAD if phase == _OF_TENSORS and p.values else _form(p)


def _versions(prototype: Prototype) -> list[int]:
    """Of the operator's aclnn functions: each takes what those before it take, and what is new with it."""
    return sorted({0, *(one.version for one in _versioned(prototype))})


def _signature(prototype: Prototype, phase: int, version: int) -> list[str]:
    """Of a first phase, but for its last two parameters, as CANN names them. What is an input and an output is there
    once.
    """
    same = _same_as(prototype)
    outputs = [p for p, i in zip(prototype.outputs, same, strict=True) if i < 0]

    def taken(i: int, p: OpParameter) -> str:
        kind = _TAKEN[_form_in(p, phase)]
        if i in same:
            return f"{kind}* {p.name}Ref"
        return f"const {kind}* {p.name}{'Optional' if p.kind == OPTIONAL else ''}"

    def written(p: OpParameter) -> str:
        kind = _TAKEN[_LIST if p.kind == DYNAMIC else _TENSOR]
        return f"const {kind}* {'out' if len(outputs) == 1 and 'out' not in others else f'{p.name}Out'}"

    others = {one.name for one in prototype.inputs} | {one.name for one in prototype.attrs}
    signature = [taken(i, p) for i, p in enumerate(prototype.inputs) if p.version <= version]
    signature += [f"{_ATTRIBUTES[a.type][1]} {a.name}" for a in prototype.attrs if a.version <= version]
    return signature + [written(p) for p in outputs]


_LAST = "uint64_t* workspaceSize, aclOpExecutor** executor"
_AS_TENSOR = "reinterpret_cast<const aclTensor*>"  # lists, arrays and scalars go where tensors go


def _names(prototype: Prototype, begin: str) -> list[tuple[str, int]]:
    """The second phases, with the version of each."""
    return [(f"{begin}{prototype.type}{f'V{one}' if one else ''}", one) for one in _versions(prototype)]


def _functions(prototype: Prototype, begin: str = "aclnn") -> list[tuple[str, int, int]]:
    """The names of the first phases, with what each takes and its version; that for graphs no program calls."""
    found = []
    for name, version in _names(prototype, begin):
        found.append((f"{name}GetWorkspaceSize", _OWN, version))
        if any(p.values for p in prototype.inputs):
            found.append((f"{name}TensorGetWorkspaceSize", _OF_TENSORS, version))
    if len(found) > 1 or any(p.scalar for p in prototype.inputs):
        found.append((f"ophook_graph_{prototype.type}", _OF_GRAPHS, _versions(prototype)[-1]))
    return found


def header(prototype: Prototype, begin: str = "aclnn") -> str:
    """What a program includes to call the two phases of one operator, whose names begin so."""
    type_ = begin + prototype.type
    first = "\n".join(
        f"aclnnStatus {name}({', '.join([*_signature(prototype, phase, version), _LAST])});"
        for name, phase, version in _functions(prototype, begin)
        if phase != _OF_GRAPHS
    )
    second = "\n".join(
        f"aclnnStatus {name}(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor, aclrtStream stream);"
        for name, _ in _names(prototype, begin)
    )
    return f"""// {type_} of an operator package. Written when the package was built; edits are lost.
#pragma once
#include "aclnn/acl_meta.h"
#ifdef __cplusplus
extern "C" {{
#endif

{first}
{second}

#ifdef __cplusplus
}}
#endif
"""


_OBJECTS = """#include "package/kernel_package.h"

struct aclIntArray;
struct aclFloatArray;
struct aclBoolArray;
struct aclScalar;
struct aclScalarList;
struct aclTensorList;
"""


def _row(values: Sequence[object]) -> str:
    return ", ".join(map(str, values))


def _data(prototype: Prototype, variants: Sequence[tuple[dict[str, int], str]]) -> str:
    """What the structures of one operator refer to, in C++."""
    type_, same = prototype.type, _same_as(prototype)
    parameters = [*prototype.inputs, *prototype.outputs]

    def initial(p: OpParameter, choice: dict[str, int]) -> str:
        start = p.starts_with(choice[p.name]) if p.name in choice else None
        return "{0, 0}" if start is None else f"{{{start.nbytes}, {int.from_bytes(start.tobytes(), 'little')}ull}}"

    def becomes(p: OpParameter) -> int:  # where To says nothing, the first data type that the OpDef lists
        if p.to_of:
            return -1 - [one.name for one in prototype.inputs].index(p.to_of)
        return p.to if p.to >= 0 or not p.scalar else p.dtypes[0]

    dtypes = "".join(
        f"const int32_t k{type_}Types{i}[] = {{{_row([choice.get(p.name, -1) for p in parameters])}}};\n"
        f"const ophook_initial k{type_}Initial{i}[] = {{{_row([initial(p, choice) for p in prototype.outputs])}}};\n"
        for i, (choice, _) in enumerate(variants)
    )
    choices = _row([f'{{k{type_}Types{i}, "{file}", k{type_}Initial{i}}}' for i, (_, file) in enumerate(variants)])
    names = _row([f'"{p.name}"' for p in parameters])
    groups = [[a.name for a in prototype.attrs].index(name) for name in prototype.groups]
    return f"""namespace {{
{dtypes}const ophook_choice k{type_}Choices[] = {{{choices}}};
const char* const k{type_}Names[] = {{{names}}};
const int32_t k{type_}Optional[] = {{{_row([*(int(p.kind == OPTIONAL) for p in (*prototype.inputs, *prototype.outputs)), 0])}}};
const int32_t k{type_}Becomes[] = {{{_row([*(becomes(p) for p in prototype.inputs), 0])}}};
const int32_t k{type_}Same[] = {{{_row(same)}}};
const int32_t k{type_}Computed[] = {{{_row([*(int(p.computed) for p in prototype.outputs), 0])}}};
const size_t k{type_}Groups[] = {{{_row([*groups, 0])}}};
}}
"""


def _operator(prototype: Prototype, phase: int, kind: int, count: int) -> str:
    """The structure that a first phase hands over, in C++; its name is ``kTYPE`` and the phase."""
    type_, own = prototype.type, f"k{prototype.type}{phase}"
    parameters = [*prototype.inputs, *prototype.outputs]
    return f"""namespace {{
const int32_t {own}Forms[] = {{{_row([_form_in(p, phase) for p in parameters])}}};
const ophook_operator {own} = {{"{type_}", "{prototype.function}", {kind}, {len(prototype.inputs)}, {len(prototype.outputs)}, {count},
    k{type_}Names, {own}Forms, k{type_}Optional, k{type_}Becomes, k{type_}Same, k{type_}Computed,
    {int(prototype.launches_empty)}, k{type_}Choices, k{type_}Names, k{type_}Groups, {len(prototype.groups)}}};
}}
"""


def table(prototype: Prototype, variants: Sequence[tuple[dict[str, int], str]]) -> str:
    """What the project's own aclnn functions run the operator's kernel by, all inputs being tensors, in C++."""
    type_ = prototype.type
    return f"""{_OBJECTS}{_data(prototype, variants)}{_operator(prototype, _OF_GRAPHS, -1, len(variants))}\
extern "C" OPHOOK_PACKAGE_API const ophook_operator* const ophook_operator_{type_};
extern "C" const ophook_operator* const ophook_operator_{type_} = &k{type_}{_OF_GRAPHS};
"""


def aclnn(prototype: Prototype, variants: Sequence[tuple[dict[str, int], str]], kind: int, begin: str = "aclnn") -> str:
    """The two phases of one operator, in C++.

    Args:
        variants: choices of data types, with the file of each one's kernel.
        kind: of the cores that it runs on; -1: as its kernel says.
        begin: of their names.
    """
    type_, same, attributes = prototype.type, _same_as(prototype), len(prototype.attrs)
    phases = "".join(
        _operator(prototype, p, kind, len(variants)) for p in dict.fromkeys(f[1] for f in _functions(prototype))
    )
    for function, phase, version in _functions(prototype, begin):
        signature = _signature(prototype, phase, version)
        given = iter([one.split()[-1] for one in signature])
        own = f"k{type_}{phase}"
        inputs = [f"{_AS_TENSOR}({next(given)})" if p.version <= version else "nullptr" for p in prototype.inputs]
        values = [next(given) if a.version <= version else _literal(a) for a in prototype.attrs]
        outputs = [f"{_AS_TENSOR}({next(given)})" if at < 0 else "nullptr" for at in same]
        taken = "".join(
            f"    ophook_attributes[{k}].kind = {_ATTRIBUTES[a.type][0]}, "
            f"ophook_attributes[{k}].{_ATTRIBUTES[a.type][2]} = {value};\n"
            for k, (a, value) in enumerate(zip(prototype.attrs, values, strict=True))
        )
        phases += f"""\
extern "C" OPHOOK_PACKAGE_API int {function}({_row([*signature, _LAST])})
{{
    const aclTensor* ophook_inputs[] = {{{_row(inputs)}}};
    const aclTensor* ophook_outputs[] = {{{_row(outputs)}}};
    ophook_attribute ophook_attributes[{max(1, attributes)}] = {{}};
{taken}    return ophook_package_begin(&{own}, ophook_inputs, ophook_attributes, {attributes}, ophook_outputs, workspaceSize, executor);
}}
"""
    for name, _ in _names(prototype, begin):
        phases += f"""\
extern "C" OPHOOK_PACKAGE_API int {name}(void* workspace, uint64_t size, aclOpExecutor* executor, void* stream)
{{
    return ophook_package_launch("{name}", workspace, size, executor, stream);
}}
"""
    return f"{_OBJECTS}{_data(prototype, variants)}{phases}"


_INFER = """
// Inference is the operator's own, in the package's host library.
IMPLEMT_COMMON_INFERFUNC(@Infer) {
  static const auto infer = []() -> decltype(&ascendc_infer) {
    Dl_info info;
    static const int anchor = 0;
    if (!dladdr(&anchor, &info) || !info.dli_fname) return nullptr;
    std::string folder = info.dli_fname;
    for (int up = 0; up < 5; ++up) folder.resize(folder.rfind('/') == std::string::npos ? 0 : folder.rfind('/'));
    void* host = dlopen((folder + "/@Host").c_str(), RTLD_NOW | RTLD_LOCAL);
    return host ? reinterpret_cast<decltype(&ascendc_infer)>(dlsym(host, "ascendc_infer")) : nullptr;
  }();
  if (!infer) return GRAPH_FAILED;
  auto tensor = [](const TensorDesc& desc) {
    ascendc_tensor out{};
    const std::vector<int64_t> dims = desc.GetShape().GetDims();
    out.dtype = static_cast<int32_t>(desc.GetDataType());
    out.rank = static_cast<int32_t>(dims.size());
    for (size_t i = 0; i < dims.size() && i < 25; ++i) out.dims[i] = dims[i];
    return out;
  };
  struct Named {
    const char* name;
    bool listed;
  };
  const Named inputs[] = {@InputNames};
  const Named outputs[] = {@OutputNames};
  std::vector<ascendc_tensor> given, results;
  std::vector<int32_t> counts, result_counts;
  for (const Named& one : inputs) {
    const int32_t count = one.listed ? op.GetDynamicInputNum(one.name) : 1;
    counts.push_back(0);
    for (int32_t i = 0; i < count; ++i) {
      const TensorDesc desc = one.listed ? op.GetDynamicInputDesc(one.name, uint32_t(i)) : op.GetInputDescByName(one.name);
      if (desc.GetDataType() != DT_UNDEFINED) given.push_back(tensor(desc)), ++counts.back();
    }
  }
  for (const Named& one : outputs) {
    const int32_t count = one.listed ? op.GetDynamicOutputNum(one.name) : 1;
    result_counts.push_back(count);
    for (int32_t i = 0; i < count; ++i)
      results.push_back(tensor(one.listed ? op.GetDynamicOutputDesc(one.name, uint32_t(i)) : op.GetOutputDescByName(one.name)));
  }
  ascendc_attr attrs[@AttrSpace] = {};
@Attrs  ascendc_call call{"@", given.data(), counts.data(), counts.size(), results.data(), result_counts.data(), result_counts.size(), attrs, @AttrCount, {}};
  char error[512] = "";
  if (infer(&call, error, sizeof error) != 0) return GRAPH_FAILED;
  size_t at = 0;
  for (size_t o = 0; o < result_counts.size(); ++o)
    for (uint32_t i = 0; i < uint32_t(result_counts[o]); ++i, ++at) {
      const Named& one = outputs[o];
      TensorDesc desc = one.listed ? op.GetDynamicOutputDesc(one.name, i) : op.GetOutputDescByName(one.name);
      desc.SetShape(Shape(std::vector<int64_t>(results[at].dims, results[at].dims + results[at].rank)));
      desc.SetDataType(static_cast<DataType>(results[at].dtype));
      const graphStatus updated = one.listed ? op.UpdateDynamicOutputDesc(one.name, i, desc) : op.UpdateOutputDesc(one.name, desc);
      if (updated != GRAPH_SUCCESS) return GRAPH_FAILED;
    }
  return GRAPH_SUCCESS;
}
COMMON_INFER_FUNC_REG(@, @Infer);
"""


_PROTO_HEADER = """// The prototypes of an operator package. Written when the package was built; edits are lost.
#pragma once
#include "graph/operator_reg.h"

namespace ge {{
{}}}  // namespace ge
"""


def proto_header(prototypes: Sequence[Prototype]) -> str:
    return _PROTO_HEADER.format("".join(map(_reg_op, prototypes)))


def _reg_op(prototype: Prototype) -> str:
    lines = []
    for kind, parameters in (("INPUT", prototype.inputs), ("OUTPUT", prototype.outputs)):
        for p in parameters:
            types = ", ".join(label_of(d) for d in dict.fromkeys(p.dtypes))
            macro = f"OPTIONAL_{kind}" if p.kind == OPTIONAL and kind == "INPUT" else kind
            macro = f"DYNAMIC_{kind}" if p.kind == DYNAMIC else macro
            lines.append(f"    .{macro}({p.name}, TensorType({{{types}}}))")
    for a in prototype.attrs:
        ge = _ATTRIBUTES[a.type][3]
        lines.append(
            f"    .REQUIRED_ATTR({a.name}, {ge})" if a.required or a.default is None else
            f"    .ATTR({a.name}, {ge}, {_literal(a)})"
        )  # fmt: skip
    body = "\n".join(lines)
    return f"REG_OP({prototype.type})\n{body}\n    .OP_END_FACTORY_REG({prototype.type});\n"


def proto(prototype: Prototype, host: str = f"op_impl/cpu/{compilers.HOST}") -> str:
    """REG_OP and inference of one operator, in C++. ``host``: where the package has its host library."""
    infer = _INFER.replace("@Host", host)
    for side, parameters in (("@InputNames", prototype.inputs), ("@OutputNames", prototype.outputs)):
        infer = infer.replace(side, ", ".join(f'{{"{p.name}", {int(p.kind == DYNAMIC)}}}' for p in parameters))
    infer = infer.replace("@AttrSpace", str(max(1, len(prototype.attrs)))).replace(
        "@AttrCount", str(len(prototype.attrs))
    )
    infer = infer.replace("@Attrs", "".join(_get(i, a) for i, a in enumerate(prototype.attrs)))
    return f"""#include <dlfcn.h>

#include <string>
#include <vector>

#include "ascendc/host/host.h"
#include "graph/operator_reg.h"

namespace ge {{
{_reg_op(prototype)}{infer.replace("@", prototype.type)}
}}  // namespace ge
"""


def _literal(attribute: Attribute) -> str:
    value = attribute.default
    match attribute.type:
        case "Bool":
            return "true" if value else "false"
        case "String":
            return f'"{value}"'
        case "ListInt" | "ListFloat" | "ListBool":
            return "{" + ", ".join(map(str, value)).lower() + "}"
        case "Float":
            return repr(float(value))
    return str(value)


def _get(index: int, attribute: Attribute) -> str:
    number, at = _ATTRIBUTES[attribute.type][0], f"attrs[{index}]"
    get = f'op.GetAttr("{attribute.name}", '
    match attribute.type:
        case "Int":
            return f"  {at}.kind = {number};\n  (void){get}{at}.whole);\n"
        case "Float":
            return f"  float value{index} = 0;\n  (void){get}value{index});\n  {at}.kind = {number}, {at}.real = value{index};\n"
        case "Bool":
            return f"  bool value{index} = false;\n  (void){get}value{index});\n  {at}.kind = {number}, {at}.whole = value{index};\n"
    if attribute.type == "String":
        return f'  {at}.kind = {number}, {at}.text = "{attribute.default or ""}";\n'
    pointer = "reals" if attribute.type == "ListFloat" else "wholes"
    element = "float" if attribute.type == "ListFloat" else "int64_t"
    asked = f"  std::vector<{element}> value{index};\n  (void){get}value{index});\n"
    if attribute.type == "ListBool":
        asked = f"  std::vector<bool> flags{index};\n  (void){get}flags{index});\n"
        asked += f"  const std::vector<int64_t> value{index}(flags{index}.begin(), flags{index}.end());\n"
    return f"{asked}  {at}.kind = {number}, {at}.{pointer} = value{index}.data(), {at}.count = value{index}.size();\n"
