"""An operator project as msopgen lays it out: ``op_host`` and ``op_kernel``."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ophook_npu.errors import OphookError
from ophook_npu.kernel import build, native
from ophook_npu.kernel.memory import DTYPES, name_of
from ophook_npu.plural import counted

# By the number of a ScalarType.
_SCALARS = ("uint64", "int64", "uint32", "int32", "uint16", "int16", "uint8", "int8", "float32", "float16")
_ADD = re.compile(r"^\s*(?:OP_ADD|IMPL_OP_OPTILING)\s*\(\s*(\w+)", re.MULTILINE)
REQUIRED, OPTIONAL, DYNAMIC = 2, 1, 3
_CPP = (".cpp", ".cc", ".cxx")  # what CMake takes for C++
# A source in op_host that is of the operator's own aclnn function: CANN puts it into libcust_opapi.so.
_OWN_API = re.compile(r'^\s*#\s*include\s*["<]opdev/', re.MULTILINE)


_ARCH = re.compile(r'^\s*#\s*include\s*"(?:[^"]*/)?(arch\d+)/', re.MULTILINE)


@dataclass(frozen=True)
class OpParameter:
    name: str
    kind: int
    dtypes: tuple[int, ...]
    initial: tuple[tuple[int, float], ...] = ()
    """InitValue: a ScalarType and a number, or one for each data type."""
    listed: bool = False
    """DataTypeList: each of them goes with every choice of the others'."""
    follows: str = ""
    """Whose data type it has."""
    values: bool = False
    """ValueDepend: the host side reads its numbers."""
    scalar: int = 0
    """What the aclnn function takes: 1 aclScalar, 2 aclScalarList."""
    to: int = -1
    """The data type that such a scalar becomes."""
    to_of: str = ""
    """The parameter whose data type it becomes."""
    computed: bool = False
    """OutputShapeDependOnCompute: the kernel tells its shape."""
    version: int = 0
    """Of the first of the operator's aclnn functions that takes it."""
    queried: tuple[int, ...] = ()
    """DataTypeForBinQuery: for each of the data types the one whose kernel is taken."""

    def starts_with(self, dtype: int) -> np.ndarray | None:
        """What is repeated in an output's memory before a kernel runs that asked for it."""
        if not self.initial:
            return None
        kind, number = self.initial[self.dtypes.index(dtype) if len(self.initial) > 1 else 0]
        return np.array([number], _SCALARS[kind])


@dataclass(frozen=True)
class Attribute:
    name: str
    type: str
    required: bool
    default: Any
    version: int = 0


def snake(type: str) -> str:
    """AddCustom → add_custom, as msopgen makes names of files and functions."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", type).lower()


@dataclass(frozen=True)
class Prototype:
    """What the project's OpDef declares."""

    type: str
    inputs: tuple[OpParameter, ...]
    outputs: tuple[OpParameter, ...]
    attrs: tuple[Attribute, ...]
    socs: tuple[str, ...]
    infers: bool
    launches_empty: bool = False
    """Whether a call whose outputs are all empty runs the kernel."""
    groups: tuple[str, ...] = ()
    """The attributes that name the groups in which the kernel communicates."""
    kernel: tuple[str, str] = ("", "")
    """The kernel's file and function where the OpDef names them (opFile.value, opInterface.value)."""
    refused: str = ""
    """Why it cannot be run here."""
    kernels: tuple[tuple[str, str, str], ...] = ()
    """By product what the OpDef names, where it names something."""

    def refuse(self) -> None:
        """Raises:
        OphookError: it cannot be run here.
        """
        if self.refused:
            raise OphookError("kernel", f"{self.type}: {self.refused}")

    @property
    def snake(self) -> str:
        """The type as files' names have it."""
        return snake(self.type)

    @property
    def file(self) -> str:
        """The kernel's source, without its suffix."""
        return self.kernel[0] or self.snake

    @property
    def function(self) -> str:
        return self.kernel[1] or self.snake

    @property
    def parameters(self) -> int:
        """Of the kernel: inputs, outputs, shapes that it tells, workspace and tiling."""
        return len(self.inputs) + len(self.outputs) + any(one.computed for one in self.outputs) + 2

    def combinations(self) -> list[dict[str, int]]:
        """Every choice of data types that kernels have types for here, one for each column of the OpDef's lists."""
        return [choice for choice in self._columns() if DTYPES.keys() >= {*choice.values()}]

    def compiled_as(self, choice: dict[str, int]) -> dict[str, int]:
        """The choice whose kernel is taken: that of DataTypeForBinQuery, if it is a choice of the operator's."""

        def others(parameters: tuple[OpParameter, ...]) -> tuple[OpParameter, ...]:
            return tuple(replace(p, dtypes=p.queried or p.dtypes) for p in parameters)

        every = self._columns()
        told = replace(self, inputs=others(self.inputs), outputs=others(self.outputs))._columns()
        return next((other for own, other in zip(every, told, strict=True) if own == choice and other in every), choice)

    def without_type(self) -> list[str]:
        """What `combinations` leaves out: "x DT_COMPLEX64, y DT_COMPLEX64" …"""
        left = [choice for choice in self._columns() if not DTYPES.keys() >= {*choice.values()}]
        return [", ".join(f"{name} {name_of(dtype)}" for name, dtype in choice.items()) for choice in left]

    def _columns(self) -> list[dict[str, int]]:
        parameters = [*self.inputs, *self.outputs]
        own = [p for p in parameters if p.dtypes and not p.listed and not p.follows]
        # By name: an output may be an input.
        lists = {p.name: p for p in parameters if p.listed and not p.follows}
        columns = max((len(p.dtypes) for p in own), default=bool(lists))
        rows = [{p.name: p.dtypes[min(i, len(p.dtypes) - 1)] for p in own} for i in range(columns)]
        for name, p in lists.items():
            rows = [{**row, name: dtype} for row in rows for dtype in p.dtypes]
        for p in parameters:
            rows = [{**row, p.name: row[p.follows]} if p.follows else row for row in rows]
        return [{p.name: row[p.name] for p in parameters if p.name in row} for row in rows]


def _sources(folder: Path) -> list[Path]:
    """Those in the folder itself and, of Atlas A2 and A3 alone, in its arch22, and tilings in op_tiling; if there are
    none, those of the folders in it, one an operator. Another product's belong to them where a tiling includes a header
    of that product's folder: it calls what is there."""

    def of(*patterns: str) -> list[Path]:
        found = (path for pattern in patterns for path in folder.glob(pattern))
        return sorted(path for path in found if path.suffix in _CPP)

    tilings = of("op_tiling/*", "op_tiling/arch22/*")
    named = {match for path in tilings for match in _ARCH.findall(path.read_text(errors="replace"))}
    others = [path for arch in sorted(named - {"arch22"}) for path in of(f"op_tiling/{arch}/*")]
    return [*of("*", "arch22/*"), *tilings, *others] or of("*/*")


_MOST_GROUPS = 2
_REGBASE = ("ascend950", "ascend910_95")
_ATLAS = ("ascend910b", "ascend910_93")


def _kernel(row: dict[str, Any]) -> tuple[str, str]:
    """That of Atlas A2 and A3; other products often have another one."""
    of_others = [soc for soc in row["socs"] if soc not in _REGBASE]
    chosen = [soc for soc in of_others if soc in _ATLAS] or of_others or row["socs"]
    rows = [named for soc, *named in row.get("kernels", []) if soc in chosen]
    return (rows[0][0], rows[0][1]) if rows else ("", "")


def _groups(row: dict[str, Any]) -> tuple[str, ...]:
    names = {a["name"] for a in row["attrs"] if a["type"] == "String" and a["required"]}
    if other := [name for name in row["groups"] if name not in names]:
        what = f"{row['type']}: MC2().HcclGroup names {', '.join(other)}"
        todo = "declare it: Attr(…).AttrType(REQUIRED).String()"
        raise OphookError("kernel", what, allowed="required attributes of type String", todo=todo)
    if len(row["groups"]) > _MOST_GROUPS:
        what = f"{row['type']}: MC2().HcclGroup names {counted(len(row['groups']), 'group')}"
        raise OphookError("kernel", what, allowed=f"up to {_MOST_GROUPS}")
    return tuple(row["groups"])


class Project:
    """The sources of a project.

    Args:
        path: the project's folder, or a folder above whose only project it is.
        include: further folders with headers.

    Raises:
        OphookError: there is no op_host or op_kernel.
    """

    host_macros: tuple[str, ...] = ()
    """What the compiler gets for op_host: -DNAME=VALUE."""
    begin = "aclnn"
    """Of the names of the functions."""
    own_api: tuple[Path, ...] = ()
    """Sources of the project's own aclnn functions, which call those."""

    def __init__(self, path: str | Path, include: Sequence[Path] = ()) -> None:
        self.path = Path(path).resolve()
        self._take(_sources(self.path / "op_host"), _sources(self.path / "op_kernel"), include)

    @classmethod
    def listed(
        cls,
        path: Path,
        hosts: Sequence[Path],
        kernels: Sequence[Path],
        include: Sequence[Path] = (),
        *,
        of_types: Mapping[str, Path] | None = None,
        defines: Mapping[str, str] | None = None,
    ) -> Project:
        """A project whose build lists its sources, wherever they are.

        Args:
            path: what messages name.
            of_types: which of ``kernels`` is an operator's, where its name does not tell.
            defines: macros of the kernels.

        Raises:
            OphookError: as the constructor.
        """
        project = cls.__new__(cls)
        project.path = path
        project._take(hosts, kernels, include)
        project._by_type, project._defines = dict(of_types or {}), dict(defines or {})
        return project

    @classmethod
    def compiled(
        cls,
        host: Path,
        kernels: Mapping[str, Path],
        include: Sequence[Path] = (),
        defines: Mapping[str, str] | None = None,
    ) -> Project:
        """A project whose host library another build has made.

        Args:
            kernels: by operator type.
            defines: macros of the kernels.

        Raises:
            OphookError: the library cannot be loaded, or is no host side of operators.
        """
        project = cls.__new__(cls)
        project.path, project.hosts, project.include = host.parent, [], [folder.resolve() for folder in include]
        project.kernels, project._by_type, project._defines = [*kernels.values()], dict(kernels), dict(defines or {})
        try:
            project.host = native.host(str(host))
        except OSError as error:
            raise OphookError("kernel", str(error), todo="build the project's op_host") from error
        except AttributeError as error:
            what = f"{host} has no operators of this simulator in it"
            raise OphookError("kernel", what, todo="link op_host with -lexe_graph of this toolkit") from error
        return project

    def _take(self, hosts: Sequence[Path], kernels: Sequence[Path], include: Sequence[Path]) -> None:
        self._by_type: dict[str, Path] = {}
        self._defines: dict[str, str] = {}
        self.include = [folder.resolve() for folder in include]
        self.kernels = list(kernels)
        self.hosts = [one for one in hosts if not (one.is_file() and _OWN_API.search(one.read_text(errors="replace")))]
        if not self.hosts or not self.kernels:
            missing = [name for name, found in (("op_host", self.hosts), ("op_kernel", self.kernels)) if not found]
            raise OphookError(
                "kernel", f"{self.path} has no C++ in {' and '.join(missing)}",
                allowed="an operator project with op_host/*.cpp and op_kernel/*.cpp",
            )  # fmt: skip
        for source in (*self.hosts, *self.kernels):
            if not source.is_file():
                raise OphookError(
                    "kernel", f"{source} is no file" + (", but a link to nowhere" if source.is_symlink() else ""),
                    todo="copy the project with its files, for example by cp -rL",
                )  # fmt: skip

    @property
    def roots(self) -> list[Path]:
        nested = {source.parent for source in (*self.hosts, *self.kernels)}
        ours = [self.path / "op_host", self.path / "op_kernel", self.path]
        return [*ours, *sorted(nested - set(ours)), *self.include]

    def host_library(self) -> Path:
        return build.host(self.hosts, self.roots, self.host_macros)

    @functools.cached_property
    def host(self) -> Any:
        return native.host(str(self.host_library()))

    @functools.cached_property
    def tiling(self) -> Any:
        """The library that has the tilings: the same, or `tiled_by`'s."""
        return self.host

    def tiles(self, type: str) -> bool:
        """Whether the host side has a tiling function of the operator."""
        asked = getattr(self.host, "ascendc_tiles", None)  # not in what an older version built
        return bool(asked and asked(type.encode()))

    def tiled_by(self, other: Project) -> None:
        self.tiling = other.host

    @functools.cached_property
    def prototypes(self) -> dict[str, Prototype]:
        """By operator type. Builds the host side."""

        def parameters(row: dict[str, Any]) -> tuple[tuple[OpParameter, ...], tuple[OpParameter, ...]]:
            found: list[OpParameter] = []
            for r in (*row["inputs"], *row["outputs"]):
                dtypes, follows = tuple(r["dtypes"]), r["follows"]
                if follows:
                    known = {one.name: one.dtypes for one in found}
                    if follows not in known:
                        what = f"{row['type']}: {r['name']} follows {follows}"
                        raise OphookError("kernel", what, allowed=", ".join(known) or "nothing before it")
                    dtypes = known[follows]
                initial = tuple(map(tuple, r["initial"]))
                if r.get("queried") and len(r["queried"]) != len(dtypes):
                    what = (
                        f"{row['type']}: {r['name']} has {counted(len(r['queried']), 'type')} for DataTypeForBinQuery"
                    )
                    raise OphookError("kernel", what, allowed=f"{len(dtypes)}, as DataType has")
                found.append(
                    OpParameter(
                        r["name"], r["kind"], dtypes, initial, r["listed"], follows, r["values"], r["scalar"], r["to"],
                        r["to_of"], r["computed"], r.get("version", 0), tuple(r.get("queried", ())),
                    )
                )  # fmt: skip
            inputs = len(row["inputs"])
            return tuple(found[:inputs]), tuple(found[inputs:])

        return {
            row["type"]: Prototype(
                row["type"], *parameters(row),
                tuple(
                    Attribute(a["name"], a["type"], a["required"], a["default"], a.get("version", 0))
                    for a in row["attrs"]
                ),
                tuple(row["socs"]), row["infer"], row["launches_empty"], _groups(row), _kernel(row),
                row["refused"], tuple(map(tuple, row.get("kernels", ()))),
            )
            for row in json.loads(self.host.ascendc_describe())
        }  # fmt: skip

    def prototype(self, type: str | None = None) -> Prototype:
        """The operator ``type``, or the project's only one.

        Raises:
            OphookError: there is none, or several and none was named.
        """
        if type is None and len(self.prototypes) == 1:
            return next(iter(self.prototypes.values()))
        if type not in self.prototypes:
            what = f"no operator {type}" if type else f"{counted(len(self.prototypes), 'operator')}, and none was named"
            raise OphookError(
                "kernel", f"{self.path}: {what}", allowed=", ".join(self.prototypes) or "OP_ADD in op_host"
            )
        return self.prototypes[type]

    def kernel_source(self, prototype: Prototype) -> Path:
        if prototype.type in self._by_type:
            return self._by_type[prototype.type]
        if named := [source for source in self.kernels if source.stem == prototype.file]:
            return named[0]
        function = re.compile(rf"\bvoid\s+{prototype.function}\s*\(")
        for source in self.kernels:
            if function.search(source.read_text(errors="replace")):
                return source
        raise OphookError(
            "kernel",
            f"no kernel for {prototype.type}",
            allowed=f"op_kernel/{prototype.file}.cpp with {prototype.function}(…)",
        )

    def macros(self, prototype: Prototype, choice: dict[str, int]) -> dict[str, str]:
        """What the kernel is compiled with for one choice of data types."""
        macros = dict(self._defines)
        for name, dtype in choice.items():
            label, cpp, _ = DTYPES[dtype]
            macros[f"DTYPE_{name.upper()}"] = cpp
            macros[f"ORIG_DTYPE_{name.upper()}"] = label
            macros[f"FORMAT_{name.upper()}"] = "FORMAT_ND"
        macros |= {label: str(number) for number, (label, _, _) in DTYPES.items()}
        macros["FORMAT_ND"] = "2"
        return macros
