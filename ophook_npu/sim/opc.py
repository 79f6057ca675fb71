"""What projects of msopgen call for each choice of data types: ``opc SOURCE.py --main_func=… --input_param=…``.

SOURCE.py is Python that the project's own scripts wrote. It imports CANN's compiler (``tbe``, ``impl``), for which
modules of ours stand here, and calls its `compile_op` with the kernel's source and options.
"""

from __future__ import annotations

import argparse
import copy
import dataclasses
import hashlib
import importlib.abc
import importlib.machinery
import importlib.util
import inspect
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

from ophook_npu.errors import OphookError
from ophook_npu.kernel.memory import DTYPES
from ophook_npu.kernel.operator import Kernel
from ophook_npu.kernel.project import OpParameter, Project, Prototype
from ophook_npu.kernel.socs import any_of
from ophook_npu.kernel.source import Entry, Settings
from ophook_npu.sim.op_build import HOST, TILING, type_name
from ophook_npu.sim.rules import family
from ophook_npu.soc import DEFAULT

_CORES = {0: "VectorCore", 3: "AiCore"}
_MAGIC = {0: "RT_DEV_BINARY_MAGIC_ELF_AIVEC", 3: "RT_DEV_BINARY_MAGIC_ELF_AICUBE"}


@dataclasses.dataclass(frozen=True)
class Compilation:
    """What SOURCE.py asks to be compiled."""

    source: Path
    function: str
    options: list[str]


class _Called(Exception):
    def __init__(self, compilation: Compilation) -> None:
        super().__init__()
        self.compilation = compilation


def _compile_op(source: str, function: str, _info: object, options: Sequence[str], *_: object, **__: object) -> None:
    raise _Called(Compilation(Path(source), function, list(options)))


def _untouched(*_: object, **__: object) -> Callable[[Any], Any]:
    return lambda function: function


class _Anything:
    """Constants that have no meaning here, classes that only carry values, messages."""

    def __getattr__(self, name: str) -> Any:
        return _untouched if name == "check_op_params" or name.startswith("register_") else self

    def __call__(self, *_: object, **__: object) -> _Anything:
        return self


class _Modules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """``tbe``, ``impl`` and, in newer releases, ``asc_op_compile_base``, whatever is asked of them."""

    def __init__(self, soc: str, family: str) -> None:
        self.made: list[str] = []
        specs = {"SOC_VERSION": soc, "SHORT_SOC_VERSION": family, "FULL_SOC_VERSION": soc, "AICORE_TYPE": "AiCore"}
        self._known: dict[str, Any] = {
            "compile_op": _compile_op,
            "compile_op_with_customized_config": _compile_op,
            "get_soc_spec": lambda name: specs.get(name, ""),
            "get_code_channel": lambda *_: 0,
            "get_current_build_config": lambda *_: None,
            "get_default_build_config": lambda *_: None,
        }

    def find_spec(self, name: str, path: object, target: object = None) -> importlib.machinery.ModuleSpec | None:
        if name.partition(".")[0] not in ("tbe", "impl", "asc_op_compile_base"):
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        self.made.append(spec.name)
        return ModuleType(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        module.__dict__["__getattr__"] = lambda name: self._known.get(name, _Anything())


def compilation(source: Path, function: str, operands: Sequence[Any], soc: str, family: str) -> Compilation:
    """What SOURCE.py's ``function`` hands to the compiler.

    Raises:
        OphookError: it does not come to that.
    """
    finder = _Modules(soc, family)
    sys.meta_path.insert(0, finder)
    try:
        spec = importlib.util.spec_from_file_location("ophook_opc_source", source)
        if spec is None or spec.loader is None:
            raise OphookError("opc", f"{source} is no Python", todo="give the .py that the project's scripts wrote")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        called = getattr(module, function)
        for name, operand in zip(inspect.signature(called).parameters, operands, strict=False):
            for one in operand if isinstance(operand, list) else [operand]:
                if isinstance(one, dict):
                    one["param_name"] = name  # older scripts tell the macros' names by it
        called(*operands, kernel_name=function, impl_mode="")
    except _Called as asked:
        return asked.compilation
    except Exception as error:  # whatever that Python does
        raise OphookError("opc", f"{source}, {function}: {error}") from error
    finally:
        sys.meta_path.remove(finder)
        for name in finder.made:
            sys.modules.pop(name, None)
    raise OphookError("opc", f"{source}: {function} compiles nothing", allowed="a function that calls compile_op")


def _hosts(start: Sequence[Path]) -> Iterator[Path]:
    """Host sides: of this build first, then of installed packages, as the device's compiler looks for them."""
    for place in start:
        for folder in place.parents:
            yield from sorted(folder.glob(f"autogen*/**/{HOST}"))
    packages = [Path(one) for one in os.environ.get("ASCEND_CUSTOM_OPP_PATH", "").split(":") if one]
    opp = Path(os.environ["ASCEND_OPP_PATH"]) if os.environ.get("ASCEND_OPP_PATH") else None
    if opp:  # a build of CANN's own operators puts its tilings where CANN has them
        yield from (opp / "op_impl" / "built-in" / "ai_core" / "tbe" / "op_tiling").glob("lib/linux/*/liboptiling.so")
        packages += sorted((opp / "vendors").glob("*"))
    for package in packages:
        yield from (package / "op_impl" / "ai_core" / "tbe").glob(TILING)


def _with_options(host: Path, op_type: str, source: Path, options: Sequence[str]) -> Project:
    defines = {}
    for option in " ".join(options).split():
        if option.startswith("-D") and not option.startswith(("-DDTYPE_", "-DORIG_DTYPE_", "-DFORMAT_")):
            name, _, value = option.removeprefix("-D").partition("=")
            defines[name] = value or "1"
    include = [Path(option.removeprefix("-I")) for option in options if option.startswith("-I")]
    include = [source.parent, *(folder for folder in include if folder.is_dir())]
    return Project.compiled(host, {op_type: source}, include, defines)


def _project(op_type: str, asked: Compilation, places: Sequence[Path]) -> Project:
    found: Project | None = None
    for host in _hosts(places):
        try:
            project = _with_options(host, op_type, asked.source, asked.options)
        except OphookError:  # another vendor's
            continue
        if found is None and op_type in project.prototypes:
            if project.tiles(op_type):
                return project
            found = project
        elif found and project.tiles(op_type):  # its tiling is in a library of its own
            found.tiled_by(project)
            return found
    if found:
        return found
    raise OphookError(
        "opc", f"no library has the host side of {op_type}",
        todo="build the project's op_host first, or let ASCEND_CUSTOM_OPP_PATH name the installed package",
    )  # fmt: skip


def _types(node: dict[str, Any]) -> set[str]:
    described = [one[0] if isinstance(one, list) else one for one in (*node["inputs"], *node["outputs"])]
    return {one["dtype"] for one in described if one}


def _given(prototype: Prototype, node: dict[str, Any]) -> dict[str, str]:
    """The data types of a description, by the names of the prototype: its parameters are those of the prototype one by
    one, whatever it calls them. By its own names where it leaves some out.
    """
    given: dict[str, str] = {}
    for parameters, side in ((prototype.inputs, node["inputs"]), (prototype.outputs, node["outputs"])):
        described = [one[0] if isinstance(one, list) else one for one in side]
        names = [one.name for one in parameters]
        if len(names) != len(described):
            names = [one["name"] if one else "" for one in described]
        given |= {name: one["dtype"] for name, one in zip(names, described, strict=True) if one}
    return given


def _choice(kernel: Kernel, node: dict[str, Any]) -> int:
    """Which of the operator's choices of data types a description is."""
    given = _given(kernel.prototype, node)
    for i, choice in enumerate(kernel.prototype.combinations()):
        if all(type_name(dtype) == given.get(name, type_name(dtype)) for name, dtype in choice.items()):
            return i
    raise OphookError("opc", f"{kernel.prototype.type}: the OpDef does not list {given}")


def run(options: argparse.Namespace) -> None:
    """Write ``BIN.o`` and ``BIN.json`` for each description in the file that ``--input_param`` names.

    Raises:
        OphookError: something does not compile, or nothing tells the operator's host side.
    """
    try:
        param = json.loads(Path(options.input_param).read_text(encoding="utf-8"))
        op_type, nodes = param["op_type"], param["op_list"]
    except (OSError, ValueError, KeyError) as error:
        allowed = 'JSON with "op_type" and "op_list"'
        raise OphookError("opc", f"--input_param={options.input_param}: {error}", allowed=allowed) from error
    for node in nodes:
        _compile(options, op_type, node)


def _compile(options: argparse.Namespace, op_type: str, node: dict[str, Any]) -> None:
    source, out = Path(options.source).resolve(), Path(options.output).resolve()
    attributes = [one["value"] for one in node.get("attrs", ())]
    operands = copy.deepcopy([*node["inputs"], *node["outputs"], *attributes])
    asked = compilation(source, options.main_func, operands, options.soc_version, _family(options.soc_version))
    project = _project(op_type, asked, (source, out))
    kernel = Kernel(project, project.prototype(op_type), Settings(any_of(options.soc_version)))
    if without := sorted(_types(node) - {type_name(number) for number in DTYPES}):
        # A repository lists each choice of its own; the others of the operator are for use.
        why = f"{op_type}: no kernel for {', '.join(without)}, which kernels have no type for here"
        print(f"[WARNING] {why}", file=sys.stderr)
        (out / f"{node['bin_filename']}.o").write_text(f"{why}\n")
        (out / f"{node['bin_filename']}.json").write_text(json.dumps(_about(node, 0, [], b"")) + "\n")
        return
    choice = _choice(kernel, node)
    _write(kernel.prototype, choice, _entry(kernel, choice), node, out)


def _entry(kernel: Kernel, choice: int) -> Entry:
    entry = kernel.entry(kernel.prototype.combinations()[choice])
    # Who loads it knows nothing else of the kernel.
    kind = f'extern "C" __attribute__((visibility("default"))) const int ophook_kind = {entry.kind};'
    return dataclasses.replace(entry, calls=f"{entry.calls}\n{kind}\n")


def _write(prototype: Prototype, choice: int, entry: Entry, node: dict[str, Any], out: Path) -> None:
    """Compile the kernel for one choice of data types; write it and what tells about it."""
    out.mkdir(parents=True, exist_ok=True)
    name, alias = node["bin_filename"], out / f"{prototype.snake}_{choice}.so"
    _place(entry.build(), out / f"{name}.o", alias)
    if cube := entry.build_cube():
        _place(cube, out / f"{name}_cube.o", alias.with_name(f"{alias.stem}_cube.so"))
    about = _about(node, entry.kind, entry.tiling_keys or [0], (out / f"{name}.o").read_bytes())
    (out / f"{name}.json").write_text(json.dumps(about, indent=4) + "\n")


def _about(node: dict[str, Any], kind: int, keys: Sequence[int], binary: bytes) -> dict[str, Any]:
    name, digest = node["bin_filename"], hashlib.sha256(binary).hexdigest()
    return {
        "binFileName": name, "binFileSuffix": ".o", "blockDim": -1, "coreType": _CORES.get(kind, "MIX"),
        "kernelName": name, "kernelList": [{"kernelName": f"{name}_{key}"} for key in keys],
        "magic": _MAGIC.get(kind, "RT_DEV_BINARY_MAGIC_ELF"), "sha256": digest,
        "supportInfo": {
            "implMode": "high_performance", "int64Mode": False, "simplifiedKeyMode": 0, "staticKey": digest,
            "inputs": node["inputs"], "outputs": node["outputs"], "attrs": node.get("attrs", []),
            "opMode": "dynamic", "optionalInputMode": "gen_placeholder", "deterministic": "ignore",
        },
    }  # fmt: skip


def compile_all(autogen: Path, sources: Path, unit: str, out: Path, options: Sequence[str] = ()) -> None:
    """Compile the kernels of a project of msopgen for all choices of data types, each operator's into its own folder.

    Args:
        autogen: where `op_build` wrote.
        sources: the kernels' folder.
        unit: the product, as AddConfig names it: ``ascend910b``.
        options: ``OPERATOR or ALL:PRODUCTS or nothing:OPTION``.

    Raises:
        OphookError: something does not compile, or an operator has no kernel.
    """
    _family(unit)
    host = autogen / HOST
    of_unit = [one for one in Project.compiled(host, {}).prototypes.values() if unit in one.socs]
    work: list[tuple[Prototype, int, Entry]] = []
    for prototype in of_unit:
        if not (source := next(iter(sorted(sources.rglob(f"{prototype.file}.cpp"))), None)):
            raise OphookError("opc", f"{prototype.type} has no kernel", allowed=f"{sources}/{prototype.file}.cpp")
        given = [one.split(":", 2) for one in options]
        own = [option for of, units, option in given if of in ("ALL", prototype.type) and unit in (units or unit)]
        project = _with_options(host, prototype.type, source, own)
        kernel = Kernel(project, project.prototype(prototype.type), Settings(any_of(unit)))
        work += [(prototype, choice, _entry(kernel, choice)) for choice in range(len(prototype.combinations()))]

    def write(one: tuple[Prototype, int, Entry]) -> None:
        prototype, choice, entry = one
        types = prototype.combinations()[choice]

        def described(parameters: Sequence[OpParameter]) -> list[dict[str, Any]]:
            return [
                {"name": p.name, "dtype": type_name(types[p.name]), "format": "ND", "shape": [-2]} for p in parameters
            ]

        node = {"inputs": described(prototype.inputs), "outputs": described(prototype.outputs)}
        name = f"{prototype.type}_{hashlib.md5(json.dumps(node).encode(), usedforsecurity=False).hexdigest()}"
        _write(prototype, choice, entry, node | {"bin_filename": name}, out / prototype.function)

    with ThreadPoolExecutor(max(1, len(work))) as pool:  # toolchain.run holds them back
        list(pool.map(write, work))


def _place(library: Path, binary: Path, alias: Path) -> None:
    """The binary under its own name, and under the one by which libcust_opapi.so asks for it."""
    shutil.copy(library, binary)
    alias.unlink(missing_ok=True)
    alias.symlink_to(binary.name)


def _family(soc: str) -> str:
    try:
        return family(soc)
    except OphookError:
        # A package for several products is built as a whole; nothing here runs this part of it.
        print(f"[WARNING] {soc} is not simulated: its kernels are compiled as those of {DEFAULT}", file=sys.stderr)
        return soc


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="opc")
    parser.add_argument("source")
    for name in ("main_func", "input_param", "soc_version", "output"):
        parser.add_argument(f"--{name}", required=True)
    # How the device's compiler works: nothing of it changes what a kernel computes here.
    for name in ("impl_mode", "simplified_key_mode", "op_mode", "op_debug_config", "tiling_key", "core_type", "log"):
        parser.add_argument(f"--{name}")
    try:
        run(parser.parse_args(arguments))
    except OphookError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
