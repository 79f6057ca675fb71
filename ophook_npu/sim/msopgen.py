"""``msopgen gen``: an operator project from the description of its operators in JSON.

Options and JSON are those of the guide (MindStudio, msOpGen). The project is made of the files in csrc/package/msopgen,
which call csrc/package/cmake/MsOpGen.cmake; it builds before anything is written into it.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ophook_npu.errors import OphookError
from ophook_npu.kernel.host_text import Operand, definition, tiling_header
from ophook_npu.kernel.project import snake
from ophook_npu.sim.rules import family
from ophook_npu.soc import CSRC

_WHERE = "msopgen"
_HOME = "/usr/local/Ascend/latest"  # in the template
_TEMPLATE = CSRC / "package" / "msopgen"
_FRAMEWORKS = ("tf", "tensorflow", "pytorch", "onnx", "aclnn")
_PARSERS = {"tf": "tensorflow", "tensorflow": "tensorflow", "onnx": "onnx"}

_NUMBERS = "FLOAT16 FLOAT DOUBLE INT8 INT16 INT32 INT64 UINT8 UINT16 UINT32 UINT64"
_COLLECTIONS = {
    "numbertype": f"{_NUMBERS} QINT8 QUINT8 COMPLEX32 COMPLEX64 COMPLEX128 QINT32 INT2",
    "realnumbertype": _NUMBERS,
    "quantizedtype": "QINT8 QUINT8 QINT16 QUINT16 QINT32",
    "BasicType": f"{_NUMBERS} COMPLEX32 COMPLEX64 COMPLEX128 QINT8 QUINT8 QINT32 QINT16 QUINT16 INT2",
    "IndexNumberType": "INT32 INT64",
    "all": f"{_NUMBERS} BF16 BOOL STRING COMPLEX32 COMPLEX64 COMPLEX128 QINT8 QUINT8 QINT16 QUINT16 QINT32 INT2",
}
_OWN_NAMES = {"half": "FLOAT16", "fp16": "FLOAT16", "fp32": "FLOAT", "float32": "FLOAT", "bfloat16": "BF16"}
_PLAIN = (
    "float", "float16", "bf16", "double", "bool", "int2", "int8", "int16", "int32", "int64", "uint1", "uint8", "uint16",
    "uint32", "uint64", "qint8", "qint16", "qint32", "quint8", "quint16", "complex32", "complex64", "complex128",
    "string", "resource",
)  # fmt: skip
_ATTRIBUTES = {
    "int": "Int", "float": "Float", "string": "String", "bool": "Bool", "list_int": "ListInt",
    "list_float": "ListFloat", "list_bool": "ListBool", "list_list_int": "ListListInt",
}  # fmt: skip


def _warn(text: str) -> None:
    print(f"[WARNING] {text}", file=sys.stderr)


def _types(name: str) -> list[str]:
    if name in _COLLECTIONS:
        return [f"DT_{one}" for one in _COLLECTIONS[name].split()]
    if name not in _OWN_NAMES and name not in _PLAIN:
        allowed = ", ".join([*_PLAIN, *_OWN_NAMES, *_COLLECTIONS])
        raise OphookError(_WHERE, f'"type": "{name}" is no data type', allowed=allowed)
    return [f"DT_{_OWN_NAMES.get(name) or name.upper()}"]


def _operands(op_type: str, key: str, rows: Any) -> list[Operand]:
    found: dict[str, Operand] = {}
    for row in rows or ():
        told = row if isinstance(row, dict) else {}
        name, given = told.get("name"), [told.get(one) for one in ("type", "format")]
        listed = [[one] if isinstance(one, str) else one for one in given if isinstance(one, str | list)]
        if not isinstance(name, str) or len(listed) < len(given):
            # Published projects have other keys there, which CANN's command passes over, too.
            _warn(f'{op_type}: {key} {json.dumps(row)} is left out; needed: "name", "type" and "format"')
            continue
        name, (types, formats) = name.strip(), listed
        if len(formats) == 1:
            formats = formats * len(types)
        elif len(types) == 1:
            types = types * len(formats)
        if len(types) != len(formats):
            what = f'{op_type}: {name} has {len(types)} of "type" and {len(formats)} of "format"'
            raise OphookError(_WHERE, what, allowed="as many, or one that goes for all")
        pairs = [(type_, format_) for one, format_ in zip(types, formats, strict=True) for type_ in _types(one.strip())]
        kind = row.get("param_type", "required")
        if kind not in ("required", "optional", "dynamic"):
            _warn(f'{op_type}: {name} has "param_type": {kind!r}; "required" is taken')
            kind = "required"
        if name in found:
            _warn(f"{op_type}: {name} is there twice in {key}; the last one counts")
        found[name] = Operand(name, kind, [type_ for type_, _ in pairs], [format_ for _, format_ in pairs])
    return [*found.values()]


def _default(kind: str, value: Any) -> str:
    """In C++, from JSON: ``[1, 2]`` is ``{1, 2}``."""
    if kind == "String":
        return json.dumps(str(value or ""), ensure_ascii=False)
    if value is None:
        return ""
    text = value.strip() if isinstance(value, str) else json.dumps(value)
    return text.replace("[", "{").replace("]", "}")


def _attributes(op_type: str, rows: Any) -> list[tuple[str, str, str | None]]:
    found: list[tuple[str, str, str | None]] = []
    for row in rows or ():
        name, kind = str(row.get("name", "")).strip(), _ATTRIBUTES.get(str(row.get("type", "")).strip())
        if not name or kind is None:
            _warn(f"{op_type}: the attribute {json.dumps(row)} is left out; allowed types: {', '.join(_ATTRIBUTES)}")
            continue
        optional = row.get("param_type") == "optional"
        found.append((name, kind, _default(kind, row.get("default_value")) if optional else None))
    return found


_HOST = """// Host side of @TYPE: prototype, shape and data type inference, tiling.
#include "@STEM_tiling.h"

#include "register/op_def_registry.h"

namespace optiling {

static ge::graphStatus TilingFunc(gert::TilingContext* context)
{
    // How the work is cut into blocks: yours.
    @TYPETilingData tiling;
    tiling.set_size(@SIZE);
    context->SetBlockDim(8);
    tiling.SaveToBuffer(context->GetRawTilingData()->GetData(), context->GetRawTilingData()->GetCapacity());
    context->GetRawTilingData()->SetDataSize(tiling.GetDataSize());
    return ge::GRAPH_SUCCESS;
}

} // namespace optiling

namespace ge {

static graphStatus InferShape(gert::InferShapeContext* context)
{
@SHAPE    return GRAPH_SUCCESS;
}

static graphStatus InferDataType(gert::InferDataTypeContext* context)
{
@DTYPE    return GRAPH_SUCCESS;
}

} // namespace ge

"""
# By the name that CANN's command gives it: published kernels read it.
_FIELD = "uint32_t, size"
_KERNEL = """#include "kernel_operator.h"

extern "C" __global__ __aicore__ void @STEM(@PARAMETERS)
{
    GET_TILING_DATA(tilingData, tiling);
    // The kernel: yours.
}
"""
_PLUGIN = """#include "register/register.h"

namespace domi {
REGISTER_CUSTOM_OP("@TYPE")
    .FrameworkType(@FRAMEWORK)
    .OriginOpType("@TYPE")
    .ParseParamsByOperatorFn(AutoMappingByOpFn);
} // namespace domi
"""
_PLUGIN_CMAKE = """aux_source_directory(${CMAKE_CURRENT_SOURCE_DIR} plugin_srcs)
add_library(cust_@SHORT_parsers SHARED ${plugin_srcs})
target_link_libraries(cust_@SHORT_parsers PRIVATE intf_pub graph)
install(TARGETS cust_@SHORT_parsers LIBRARY DESTINATION packages/vendors/${vendor_name}/framework/@FOLDER)
"""


def files(op: dict[str, Any], socs: Sequence[str], framework: str) -> dict[str, str]:
    """What is written for one operator, by its place in the project.

    Raises:
        OphookError: the description is wrong.
    """
    type_ = op["op"]
    stem = snake(type_)
    inputs = _operands(type_, "input_desc", op.get("input_desc"))
    outputs = _operands(type_, "output_desc", op.get("output_desc"))
    columns = {len(one.types) for one in (*inputs, *outputs)}
    if len(columns) > 1:
        counts = ", ".join(f"{one.name} {len(one.types)}" for one in (*inputs, *outputs))
        raise OphookError(_WHERE, f"{type_}: numbers of data types differ: {counts}", allowed="as many in each")
    same = bool(inputs and outputs)
    size = "static_cast<uint32_t>(context->GetInputShape(0)->GetStorageShape().GetShapeSize())" if inputs else "0"
    host = _HOST.replace("@SIZE", size)
    host = host.replace("@SHAPE", "    *context->GetOutputShape(0) = *context->GetInputShape(0);\n" if same else "")
    dtype = "    context->SetOutputDataType(0, context->GetInputDataType(0));\n"
    host = host.replace("@DTYPE", dtype if same else "").replace("@TYPE", type_).replace("@STEM", stem)
    host += definition(type_, inputs, outputs, _attributes(type_, op.get("attr")), socs)
    names = [one.name for one in inputs]
    names += [f"{one.name}_ref" if one.name in names else one.name for one in outputs]
    parameters = ", ".join(f"GM_ADDR {name}" for name in [*names, "workspace", "tiling"])
    made = {
        f"op_host/{stem}.cpp": host,
        f"op_host/{stem}_tiling.h": tiling_header(type_, stem, _FIELD),
        f"op_kernel/{stem}.cpp": _KERNEL.replace("@STEM", stem).replace("@PARAMETERS", parameters),
    }
    if parser := _PARSERS.get(framework):
        short = "tf" if parser == "tensorflow" else parser
        folder = f"framework/{short}_plugin"
        text = _PLUGIN_CMAKE.replace("@SHORT", short).replace("@FOLDER", parser)
        made[f"{folder}/CMakeLists.txt"] = text
        text = _PLUGIN.replace("@FRAMEWORK", parser.upper()).replace("@TYPE", type_)
        made[f"{folder}/{parser}_{stem}_plugin.cc"] = text
    return made


def product(soc: str) -> str:
    """A SoC as AddConfig names its product: ``Ascend910B1`` → ``ascend910b``."""
    try:
        return family(soc).lower()
    except OphookError:  # of products that are not simulated
        soc = soc.lower()
        return next((one for one in ("ascend310b", "ascend310", "ascend910") if soc.startswith(one)), soc)


def _products(units: str) -> list[str]:
    found = []
    for unit in units.split(","):
        kind, _, soc = unit.partition("-")
        if kind.lower() != "ai_core" or not re.fullmatch(r"ascend[0-9a-z_-]{3,20}", soc.lower()):
            allowed = "ai_core-SOC, several with commas: ai_core-ascend910b"
            todo = None
            if kind.lower() in ("aicpu", "ai_cpu"):
                todo = "copy a project of AI CPU operators that is there: it builds and runs (docs/ascend-c.md)"
            raise OphookError(_WHERE, f"-c {unit}", allowed=allowed, todo=todo)
        found.append(product(soc))
    return [*dict.fromkeys(found)]


def _chosen(ops: dict[str, dict[str, Any]], name: str, ask: Callable[[str], str]) -> dict[str, Any]:
    if not name and len(ops) == 1:
        return next(iter(ops.values()))
    if not name:
        print("There is more than one operator in the file:")
        for i, one in enumerate(ops, 1):
            print(i, one)
        try:
            number = ask("The number of the operator: ")
        except EOFError:
            number = ""
        if number.isdigit() and 0 < int(number) <= len(ops):
            return [*ops.values()][int(number) - 1]
        name = number
    if name not in ops:
        raise OphookError(_WHERE, f"no operator {name!r} in the file", allowed=", ".join(ops), todo="name one with -op")
    return ops[name]


def _read(file: Path) -> dict[str, dict[str, Any]]:
    try:
        rows = json.loads(file.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError) as error:
        raise OphookError(_WHERE, f"-i {file}: {error}", allowed="JSON: a list of operators") from error
    rows = [rows] if isinstance(rows, dict) else rows
    ops = {row["op"]: row for row in rows if isinstance(row, dict) and isinstance(row.get("op"), str)}
    if not ops or not all(name.isidentifier() for name in ops):
        allowed = 'a list of {"op": "AddCustom", "input_desc": …}'
        raise OphookError(_WHERE, f"-i {file} has no operator", allowed=allowed)
    return ops


def generate(options: argparse.Namespace) -> Path:
    """Write the project, or with ``-m 1`` one more operator into it.

    Returns:
        Its folder.

    Raises:
        OphookError: an option or the description is wrong, or the folder has a project. Nothing is written then.
    """
    if options.language.lower() != "cpp":
        what = f"-lan {options.language}: operators in Python (TBE, TIK) are not simulated"
        raise OphookError(_WHERE, what, allowed="-lan cpp")
    framework = options.framework.lower()
    if framework not in _FRAMEWORKS:
        raise OphookError(_WHERE, f"-f {options.framework} is not simulated", allowed=", ".join(_FRAMEWORKS))
    if options.mode not in ("0", "1"):
        raise OphookError(_WHERE, f"-m {options.mode}", allowed="0 for a new project, 1 to add an operator to one")
    socs = _products(options.compute_unit)
    made = files(_chosen(_read(Path(options.input)), options.operator, input), socs, framework)
    out = Path(options.output)
    if options.mode == "0":
        if there := next((name for name in ("CMakeLists.txt", "build.sh") if (out / name).exists()), None):
            what = f"{out} has a project: {there} is there"
            raise OphookError(_WHERE, what, todo="-m 1 adds an operator; for a new project remove the folder")
        shutil.copytree(_TEMPLATE, out, dirs_exist_ok=True)
        (out / "build.sh").chmod(0o755)
        presets = out / "CMakePresets.json"
        text = presets.read_text().replace('"ascend910b"', f'"{";".join(socs)}"')
        home = os.environ.get("ASCEND_HOME_PATH") or _HOME  # as CANN's does
        presets.write_text(text.replace(_HOME, home))
    for place, text in made.items():
        (out / place).parent.mkdir(parents=True, exist_ok=True)
        (out / place).write_text(text)
    return out


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="msopgen", description="An operator project from JSON.")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, why in (("compile", "TBE and AI CPU"), ("sim", "dumps of CANN's simulator")):
        commands.add_parser(name, help=f"not simulated: {why}", add_help=False)
    gen = commands.add_parser("gen", help="write a project", allow_abbrev=False)
    gen.add_argument("-i", "--input", required=True, help="JSON with the operators")
    gen.add_argument("-f", "--framework", default="tf", help=f"one of {', '.join(_FRAMEWORKS)}")
    gen.add_argument("-c", "--compute_unit", required=True, help="ai_core-SOC, several with commas")
    gen.add_argument("-out", "--output", default=".", help="the project's folder")
    gen.add_argument("-m", "--mode", default="0", help="0: a new project; 1: add an operator to it")
    gen.add_argument("-op", "--operator", default="", help="which operator of the file")
    gen.add_argument("-lan", "--language", default="py", help="cpp")
    options, more = parser.parse_known_args(arguments)
    try:
        if options.command != "gen":
            raise OphookError(_WHERE, f"msopgen {options.command} is not simulated", allowed="msopgen gen")
        if more:
            parser.error(f"unrecognized arguments: {' '.join(more)}")
        print(f"[INFO] {generate(options)} is written")
    except OphookError as error:
        print(f"[ERROR] {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
