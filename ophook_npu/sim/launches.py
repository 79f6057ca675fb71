"""How sources that hold no kernels launch one: ``aclrtlaunch_KERNEL(blocks, stream, …)``, declared in a header of its
own and defined where the kernel is. The sample projects' ACLRT_LAUNCH_KERNEL is that name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

_HEADER = """// How {name} is launched. Written by the build of the library that holds it; edits are lost.
#pragma once
#include "acl/acl.h"
#ifndef ACLRT_LAUNCH_KERNEL
#define ACLRT_LAUNCH_KERNEL(kernel) aclrtlaunch_##kernel
#endif
extern "C" uint32_t aclrtlaunch_{name}({parameters});
"""
# Numbers are handed over themselves, and a structure by a pointer to the host's: its bytes are those at the launch.
_NUMBER = re.compile(
    r"(?:const )?(?:bool|u?int(?:8|16|32|64)_t|size_t|float|double|half|(?:(?:un)?signed|char|short|int|long| )+)"
)


@dataclass(frozen=True)
class LaunchedKernel:
    """A kernel that is launched by its name, and the type and the name of each of its parameters."""

    name: str
    parameters: tuple[tuple[str, str], ...]

    def structures(self) -> list[bool]:
        """Which parameters are structures."""
        return [not (_pointer(kind) or _NUMBER.fullmatch(kind)) for kind, _ in self.parameters]


def _pointer(kind: str) -> bool:
    return kind.endswith("*")


def parameters(parts: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Of a function's parameters as they stand: their types and their names."""
    for number, part in enumerate(parts):
        declared = re.fullmatch(r"(.*[\s*&])(\w+)", part.partition("=")[0].strip(), re.DOTALL)
        kind, name = declared.groups() if declared else (part, f"ophook_{number}")
        yield " ".join(kind.split()), name


def definition(kernel: LaunchedKernel, workspace: int) -> str:
    """C++ to go behind the kernel. ``workspace``: 0, or which parameter from the end begins with the system's own
    bytes, of which the kernel sees nothing.
    """
    declared, given = "", []
    for (kind, name), structure in zip(kernel.parameters, kernel.structures(), strict=True):
        declared += f", {kind}{'*' * structure} {name}"
        given.append(f"{'*' * structure}{name}")
    if workspace and len(given) >= -workspace:
        given[workspace] = f"::ophook::program::user_workspace({given[workspace]})"
    call = f"[=](auto... ophook_a) {{ {kernel.name}(ophook_a...); }}"
    launch = f'::ophook::program::launch("{kernel.name}", {call}, ophook_blocks, nullptr, ophook_stream)'
    head = f'extern "C" __attribute__((visibility("default"))) uint32_t aclrtlaunch_{kernel.name}'
    return f"{head}(uint32_t ophook_blocks, void* ophook_stream{declared}) {{ return {launch}({', '.join(given)}); }}\n"


def label(kernel: LaunchedKernel) -> str:
    """C++ to go before the kernel: what its own code is called instead, where its name is `stub`'s."""
    kinds = ", ".join(kind for kind, _ in kernel.parameters)
    return f'extern "C" void {kernel.name}({kinds}) __asm__("ophook_kernel_{kernel.name}"); '


def stub(kernel: LaunchedKernel, of_c: bool = True) -> str:
    """C++ to go behind the kernel: ``KERNEL(blocks, l2ctrl, stream, …)``, which sources call that a host's compiler
    takes. A kernel of C has it as a function of C++ too, since drivers differ there.
    """
    declared = "".join(f", {kind} {name}" for kind, name in kernel.parameters)
    given = ", ".join(name for _, name in kernel.parameters)
    call = f"[=](auto... ophook_a) {{ {kernel.name}(ophook_a...); }}"
    launch = f'::ophook::program::launch("{kernel.name}", {call}, ophook_blocks, ophook_l2, ophook_stream)({given})'
    settings = f"uint32_t ophook_blocks, void* ophook_l2, void* ophook_stream{declared}"
    seen = '__attribute__((visibility("default")))'
    in_c = (
        f'extern "C" {seen} void ophook_stub_{kernel.name}({settings}) __asm__("{kernel.name}");\n'
        f"void ophook_stub_{kernel.name}({settings}) {{ {launch}; }}\n"
    )
    return f"{in_c * of_c}{seen} void {kernel.name}({settings}) {{ {launch}; }}\n"


def write(kernels: Sequence[LaunchedKernel], folder: Path) -> None:
    """Write ``aclrtlaunch_KERNEL.h`` of each. One that says the same stays as old as it is."""
    folder.mkdir(parents=True, exist_ok=True)
    for kernel in kernels:
        declared = ["uint32_t blocks", "aclrtStream stream"]
        for (kind, name), structure in zip(kernel.parameters, kernel.structures(), strict=True):
            # Pointers are to types that only kernels have.
            declared.append(f"{'void*' if _pointer(kind) else kind + '*' * structure} {name}")
        text = _HEADER.format(name=kernel.name, parameters=", ".join(declared))
        header = folder / f"aclrtlaunch_{kernel.name}.h"
        if not header.is_file() or header.read_text() != text:
            header.write_text(text)
