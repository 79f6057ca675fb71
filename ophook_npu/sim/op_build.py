"""What projects of msopgen call while CMake reads them: ``op_build LIBRARY FOLDER``.

LIBRARY is the project's host side, linked to ours (`kernel.build.host_archive`). FOLDER gets, of every operator, its
two aclnn functions and its prototype in C++, and ``aic-SOC-ops-info.ini``, from which the project's own scripts make
what calls `opc`.
"""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from ophook_npu.errors import OphookError
from ophook_npu.kernel import package, package_text
from ophook_npu.kernel.memory import label_of
from ophook_npu.kernel.project import DYNAMIC, OPTIONAL, Attribute, Project, Prototype
from ophook_npu.soc import CSRC

HOST = "libophook_ops.so"  # the host side, where opc finds it
TABLES = "ophook_operators.cpp"  # what own aclnn functions find a package's kernels by
TILING = "op_tiling/liboptiling.so"  # and where an installed package has it
INFERENCE = "libcust_opsproto_rt2.0.so"
_KINDS = {DYNAMIC: "dynamic", OPTIONAL: "optional"}
# By the number of a data type, as these files name them; others are DT_… in small letters.
_TYPES = {0: "float32", 11: "double", 27: "bfloat16"}


def type_name(dtype: int) -> str:
    return _TYPES.get(dtype) or label_of(dtype).removeprefix("DT_").lower()


def build(library: Path, out: Path) -> list[str]:
    """Returns:
    Why operators were left out.

    Raises:
        OphookError: the library is no host side of operators.
    """
    if prefix := os.environ.get("OPS_DIRECT_ACCESS_PREFIX"):
        raise OphookError("op_build", f"OPS_DIRECT_ACCESS_PREFIX={prefix} is not simulated", allowed="functions aclnn…")
    begin = package.beginning()
    project = Project.compiled(library, {})
    made: list[Prototype] = []
    left: list[str] = []
    for prototype in project.prototypes.values():
        try:
            package_text.refuse_others(prototype)
        except OphookError as error:
            left.append(str(error))
            continue
        left += [f"{prototype.type}: no kernel for {types}" for types in prototype.without_type()]
        made.append(prototype)
    # Repositories whose own build calls op_build have tilings and inferences in libraries of their own.
    apart = os.environ.get("OPS_PROTO_SEPARATE") == "1"
    tables = ""
    for prototype in made:
        files = [(choice, f"{prototype.snake}_{i}.so") for i, choice in enumerate(prototype.combinations())]
        tables += package_text.table(prototype, files)
        if os.environ.get("OPS_ACLNN_GEN") == "0":  # the functions are the project's own
            continue
        text = package_text.aclnn(prototype, files, -1, begin).replace('"package/', f'"{CSRC}/package/')
        text = f"#define OPHOOK_KERNEL_BY_NAME\n{text}"
        (out / f"{begin}_{prototype.snake}.cpp").write_text(text)
        (out / f"{begin}_{prototype.snake}.h").write_text(package_text.header(prototype, begin))
    (out / TABLES).write_text(tables.replace('"package/', f'"{CSRC}/package/'))
    host = f"op_proto/lib/linux/{platform.machine()}/{INFERENCE}" if apart else f"op_impl/ai_core/tbe/{TILING}"
    texts = [package_text.proto(prototype, host) for prototype in made]
    (out / "op_proto.cc").write_text("".join(texts).replace('"ascendc/', f'"{CSRC}/ascendc/'))
    (out / "op_proto.h").write_text(package_text.proto_header(made))
    for prototype in made if apart else ():
        (out / f"{prototype.snake}_proto.h").write_text(package_text.proto_header([prototype]))
    by_soc: dict[str, list[Prototype]] = defaultdict(list)
    for prototype in made:
        for soc in prototype.socs:
            by_soc[soc].append(prototype)
    for soc, own in by_soc.items():
        text = "\n".join(line for prototype in own for line in _info(prototype, soc))
        (out / f"aic-{soc}-ops-info.ini").write_text(text + "\n")
    shutil.copy(library, out / HOST)
    return left


def _info(prototype: Prototype, soc: str) -> Iterator[str]:
    choices = prototype.combinations()
    yield f"[{prototype.type}]"
    for side, parameters in (("input", prototype.inputs), ("output", prototype.outputs)):
        for i, parameter in enumerate(parameters):
            yield f"{side}{i}.name={parameter.name}"
            yield f"{side}{i}.dtype=" + ",".join(type_name(choice[parameter.name]) for choice in choices)
            yield f"{side}{i}.format=" + ",".join("ND" for _ in choices)
            yield f"{side}{i}.shape=all"
            yield f"{side}{i}.paramType={_KINDS.get(parameter.kind, 'required')}"
    if prototype.attrs:
        yield "attr.list=" + ",".join(attribute.name for attribute in prototype.attrs)
    for attribute in prototype.attrs:
        name = f"attr_{attribute.name}"
        yield f"{name}.type={_attribute_type(attribute)}"
        yield f"{name}.value=all"
        yield f"{name}.paramType={'required' if attribute.required else 'optional'}"
        if not attribute.required and attribute.default is not None:
            yield f"{name}.defaultValue={_text(attribute)}"
    yield from (f"{flag}.flag=true" for flag in ("dynamicShapeSupport", "dynamicRankSupport", "dynamicCompileStatic"))
    file, function = next(((file, function) for of, file, function in prototype.kernels if of == soc), ("", ""))
    yield f"opFile.value={file or prototype.snake}"
    yield f"opInterface.value={function or prototype.snake}"


def _attribute_type(attribute: Attribute) -> str:
    return "str" if attribute.type == "String" else attribute.type[0].lower() + attribute.type[1:]


def _text(attribute: Attribute) -> str:
    value = attribute.default
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(str, value)) + "]"
    return str(value).lower() if attribute.type == "Bool" else str(value)


def main(arguments: Sequence[str] | None = None) -> int:
    given = list(arguments or sys.argv[1:])
    if "--aicpu" in given:  # LIBRARY FOLDER --aicpu: a list of operators, which the project's scripts make JSON of
        print("[WARNING] OpDef::AICPU is not simulated: the package has no AI CPU kernels", file=sys.stderr)
        Path(given[1], "aicpu_kernel.ini").write_text("")
        return 0
    try:
        library, out = map(Path, given)
    except ValueError:
        print("op_build LIBRARY FOLDER: two arguments", file=sys.stderr)
        return 2
    try:
        for why in build(library.resolve(), out.resolve()):
            print(f"[WARNING] {why}", file=sys.stderr)
    except OphookError as error:
        print(f"[ERROR] {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
