"""One kernel function in one source file, run directly: what an operator's call comes down to."""

from __future__ import annotations

import ctypes
import functools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ophook_npu import recipes
from ophook_npu.errors import OphookError
from ophook_npu.kernel import build, native
from ophook_npu.kernel.findings import KernelReport
from ophook_npu.kernel.memory import Block, size_of
from ophook_npu.kernel.socs import Soc, find
from ophook_npu.plural import counted

INPUT, OUTPUT, BOTH, WORKSPACE, TILING, VALUE, REAL = range(7)
KINDS = {"AIV_ONLY": 0, "AIC_ONLY": 3, "MIX_AIC_1_2": 1, "MIX_AIC_1_1": 2, "MIX_AIV_1_0": 0, "MIX_AIC_1_0": 3}
_TASK_TYPE = re.compile(r"KERNEL_TASK_TYPE(?:_DEFAULT)?\s*\((?:[^,()]*,)?\s*KERNEL_TYPE_(\w+)\s*\)")
# A source that asks for which core it is compiled, as the device's compiler lets it, is compiled for each.
_CORE_MACRO = re.compile(
    r"__DAV_(?:C220_)?(?:CUBE|VEC)__|[=,<]\s*(?:AscendC::)?g_coreType\s*[,>]|\bconstexpr\b[^;{}]*\bg_coreType\b"
)
_TILING_KEYS = re.compile(r"\bTILING_KEY_(?:IS|LIST)\s*\(\s*([^()]+?)\s*\)")
_CASE = re.compile(r"\bcase (\d+)ull:")  # of the calls that templates.dispatch writes
# What a compiled kernel calls of the runtime: cube instructions, vector instructions, and Matmul's, which has both.
_CUBE = {"mmad", "fixpipe", "fixpipe_to_l1", "load_fractals", "load_image", "load_sparse", "load_transposed"}
_VECTOR = {"binary", "cast", "compare", "duplicate", "gather", "reduce", "select", "unary", "whole", "with_scalar"}
_MATMUL = "matmul_register"
# Of a source that is compiled for each kind of core, its text tells.
_CUBE_CALL = re.compile(r"\b(?:Mmad|Fixpipe|mad|copy_matrix_cc_to_\w+)\s*(?:<[^;()]*>)?\(")
_MATMUL_OBJECT = re.compile(r"\bREGIST_MATMUL_OBJ\b|\bMatmul(?:Impl)?\s*<")
_VECTOR_PART = re.compile(r"\bASCEND_IS_AIV\b|<\s*(?:AscendC::)?AIV\s*>|\b__DAV_(?:C220_)?VEC__")
_ENTRY = re.compile(r"__global__\s+(?:__aicore__\s+)?(?:__vector__\s+)?void\s+(\w+)\s*\(")


def units(called: frozenset[str]) -> tuple[bool, bool]:
    """Whether functions of the runtime are the cube unit's, and whether some are the vector unit's."""
    return not _CUBE.isdisjoint(called), not _VECTOR.isdisjoint(called)


def kind_by(cube: bool, vector: bool) -> int:
    """The cores of a kernel that has instructions of these units."""
    return KINDS["AIV_ONLY" if not cube else "MIX_AIC_1_2" if vector else "AIC_ONLY"]


def asks_for_core(files: Iterable[Path]) -> bool:
    """Whether one of a source's own files asks for which kind of core it is compiled."""
    return any(_CORE_MACRO.search(path.read_text(errors="replace")) for path in files)


def core_macros(cube: bool) -> dict[str, str]:
    """What the device's compiler defines for a kind of core."""
    return dict.fromkeys(("__DAV_C220_CUBE__", "__DAV_CUBE__") if cube else ("__DAV_C220_VEC__", "__DAV_VEC__"), "1")


def _with_c_linkage(source: Path, function: str) -> str:
    """C++ to go before a kernel that is not declared extern "C", which is then found by its name, as with CANN."""
    kernel = rf'(extern\s+"C"\s+)?(?:\b__(?:global|aicore|vector|cube)__\s+)+void\s+{function}\s*\(([^()]*)\)'
    found = re.search(kernel, source.read_text(errors="replace")) if function else None
    if not found or found[1]:
        return ""
    types = [re.sub(r"\s*\b\w+\s*$", "", one).strip() for one in found[2].split(",")]
    if not all(re.fullmatch(r"GM_ADDR|__gm__ uint8_t ?\*|u?int\d+_t|float", one) for one in types):
        return ""  # types of its own, which nobody knows before it
    taken = ", ".join(types)
    return f'\n#include "{build.INTERFACE}"\nextern "C" __global__ __aicore__ void {function}({taken});\n'


@dataclass(frozen=True)
class Settings:
    """How to run: with or without checks, which findings, when copies take effect, on which SoC."""

    soc: str | None = None
    checks: bool = True
    strict: bool = False
    on_wait: bool = False
    cores: int | None = None  # None: as many as the tiling asks for
    timeline: bool = False  # the report says when each operation would run, by an estimate
    debug: bool = False  # compiled for a debugger: every line and variable is there


@functools.cache
def _runtime() -> Any:
    return native.runtime(str(build.runtime()))


@dataclass(frozen=True)
class Argument:
    """A block of device memory; or a number that the kernel is given by value: a whole one with the role VALUE, at most
    four floats with REAL.
    """

    name: str
    block: Block | int | float
    role: int


@dataclass
class Entry:
    """The kernel function of ``source``.

    Args:
        source: the file; its ``__global__`` function is the kernel.
        macros: such as ``{"DTYPE_X": "half"}``.
        prelude: C++ to go before it, for example the structure of its tiling data.
        name: the function, where the file has several.
        calls: C++ to go after it, which calls what is in it: a template for each tiling key.
        cores: which cores it runs on, where that is said elsewhere than in its text, such as AIV_ONLY.
    """

    source: Path
    macros: dict[str, str] = field(default_factory=dict)
    prelude: str = ""
    name: str = ""
    roots: Sequence[Path] = ()
    debug: bool = False
    calls: str = ""
    cores: str = ""
    _address: int = 0

    def prepare(self) -> None:
        """Builds all that a run needs."""
        self.build(), self.build_cube()

    @staticmethod
    def tell_crashes(fd: int) -> None:
        """A signal that ends this process writes to ``fd`` first, in which libraries it was."""
        if hasattr(_runtime(), "ascendc_tell_crashes"):  # not in one that an older package brought
            _runtime().ascendc_tell_crashes(fd)

    def build(self) -> Path:
        """The library with the kernel in it. Raises OphookError where it does not compile."""
        if not self.source.is_file():
            raise OphookError("kernel", f"no such file: {self.source}")
        return self._build(cube=self.kind == KINDS["AIC_ONLY"])

    def build_cube(self) -> Path | None:
        """The library for cube cores, where it is another one. Raises OphookError where it does not compile."""
        return self._build(cube=True) if self._asks and self.kind in (1, 2) else None

    def _build(self, cube: bool) -> Path:
        macros = self.macros | (core_macros(cube) if self._asks else {})
        prelude = (
            self.prelude + build.beside_c(self.name) + ("" if self.calls else _with_c_linkage(self.source, self.name))
        )
        return build.kernel(self.source, macros, prelude, self._roots, self.debug, self.calls)

    @property
    def _roots(self) -> list[Path]:
        return list(self.roots) or [self.source.parent]

    @functools.cached_property
    def _files(self) -> list[Path]:
        """The source and what it includes of its own."""
        return recipes.included(self.source.resolve(), [root.resolve() for root in self._roots])

    @property
    def _texts(self) -> Iterable[str]:
        return (path.read_text(errors="replace") for path in self._files)

    @functools.cached_property
    def _asks(self) -> bool:
        return asks_for_core(self._files)

    @functools.cached_property
    def function(self) -> str:
        """The name of the kernel function."""
        if self.name:
            return self.name
        names = _ENTRY.findall(self.source.read_text(errors="replace"))
        if len(names) != 1:
            raise OphookError(
                "kernel", f"{self.source.name} has {counted(len(names), 'kernel function')}",
                allowed=", ".join(names) or 'a function declared extern "C" __global__ __aicore__',
            )  # fmt: skip
        return str(names[0])

    @functools.cached_property
    def kind(self) -> int:
        """Which cores it runs on: what KERNEL_TASK_TYPE says, else what the instructions of the compiled kernel need,
        as the device's compiler tells it. Raises OphookError where it does not compile.
        """
        if self.cores:
            return KINDS[self.cores]
        text = self.source.read_text(errors="replace")
        if found := _TASK_TYPE.search(text):
            return KINDS.get(found.group(1), 0)
        if self._asks:
            cube, matmul, vector = (bool(one.search(text)) for one in (_CUBE_CALL, _MATMUL_OBJECT, _VECTOR_PART))
        else:
            called = build.called(self._build(cube=False))
            (cube, vector), matmul = units(called), _MATMUL in called
        if matmul and not re.search(r"^#define\s+ASCENDC_CUBE_ONLY", text, re.MULTILINE):
            vector = True
        return kind_by(cube or matmul, vector)

    @functools.cached_property
    def tiling_keys(self) -> list[int] | None:
        """Those that the kernel knows, 0 where it asks for none; None where its text has one that is no number."""
        asked = {
            key for text in self._texts for keys in _TILING_KEYS.findall(text) for key in re.split(r"\s*,\s*", keys)
        } | set(_CASE.findall(self.calls))
        if any(not key.rstrip("uUlL").isdecimal() for key in asked):
            return None
        return sorted({int(key.rstrip("uUlL")) for key in asked}) or [0]

    def address(self) -> int:
        """The address of the compiled function. The first call compiles and loads it."""
        if not self._address:
            self._address = self._load(self.build())
        return self._address

    @functools.cached_property
    def _cube_address(self) -> int | None:
        path = self.build_cube()
        return None if path is None else self._load(path)

    def _load(self, path: Path) -> int:
        _runtime()
        library = ctypes.CDLL(str(path))
        if not hasattr(library, self.function):
            raise OphookError(
                "kernel", f"{self.source.name} has no kernel function {self.function}",
                allowed=f'extern "C" __global__ __aicore__ void {self.function}(…)',
            )  # fmt: skip
        return ctypes.cast(getattr(library, self.function), ctypes.c_void_p).value or 0

    def run(
        self, arguments: Sequence[Argument], block_dim: int, *, tiling: bytes = b"", tiling_key: int = 0,
        settings: Settings | None = None, soc: Soc | None = None, listed: Sequence[Argument] = (),
    ) -> KernelReport:  # fmt: skip
        """Runs the kernel on ``block_dim`` cores over the arguments, in the order of its parameters.

        listed: memory that it finds through an argument, as the tensors of a list.
        """
        if len(arguments) > 32:
            raise OphookError(
                "kernel", f"{self.function} gets {counted(len(arguments), 'argument')}", allowed="up to 32"
            )
        arguments = [*arguments, *listed]
        settings = settings or Settings()
        soc = soc or find(settings.soc)
        memories = (native.Memory * len(arguments))()
        for slot, argument in zip(memories, arguments, strict=True):
            block = argument.block
            if not isinstance(block, Block):
                number = block if argument.role == VALUE else int(np.float32(block).view(np.uint32))
                slot.name, slot.data, slot.role = argument.name.encode(), int(number) & (1 << 64) - 1, argument.role
                continue
            slot.name, slot.data = argument.name.encode(), block.address
            slot.bytes, slot.allocated = block.bytes, block.allocated
            slot.role, slot.element = argument.role, size_of(block.dtype)
        launch = native.Launch(
            self.address(), memories, len(arguments), block_dim, tiling_key,
            native.options(
                soc, kind=self.kind, checks=settings.checks, strict=settings.strict, on_wait=settings.on_wait,
                timeline=settings.timeline,
            ),
            cube_entry=self._cube_address,
        )  # fmt: skip
        text = ctypes.c_void_p()
        _runtime().ascendc_run(ctypes.byref(launch), ctypes.byref(text))
        try:
            return KernelReport.parse(ctypes.string_at(text.value or 0).decode(errors="replace"), block_dim, tiling_key)
        finally:
            _runtime().ascendc_release(text)
