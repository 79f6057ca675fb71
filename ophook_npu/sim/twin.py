"""Kernels as functions of a host program, compiled by its own C++ compiler: what CMake's package tikicpulib is told.

The vendor's package has one target for each processor. Here they differ in macros alone: `ascendc/program/twin.cpp`
takes the processor from one.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from ophook_npu import sim
from ophook_npu import soc as socs
from ophook_npu.kernel import build
from ophook_npu.kernel.socs import Soc, find
from ophook_npu.sim import twin_compiler
from ophook_npu.sim.program import folders, launchers, linked

# Targets of the vendor's whose names are a family's, or a processor's that is not simulated: which one runs instead.
_FAMILIES = {"ascend910b": "Ascend910B1", "ascend910_93": "Ascend910_9391", "ascend950": "Ascend950PR_9589",
             "Ascend950PR_9599": "Ascend950PR_9589", "ascend310p": "Ascend310P1",
             "ascend310b": "Ascend310B1"}  # fmt: skip

_OF_THREADS = 310


def names() -> dict[str, str]:
    """Target -> processor. Projects write the names in lower case, too, or in part of it (``ascend910B1``)."""
    told = {name: name for name in socs.names()} | _FAMILIES
    first = {f"a{name[1:]}": soc for name, soc in told.items()}
    return {name.lower(): soc for name, soc in told.items()} | first | told


def macros(soc: Soc) -> Iterator[str]:
    yield from ("ASCENDC_CPU_DEBUG=1", "__CCE_KT_TEST__=1", f"__CCE_AICORE__={soc.architecture}")
    yield f"__NPU_ARCH__={soc.npu_arch}"
    yield f'OPHOOK_TWIN_SOC="{soc.name}"'


def options(soc: Soc) -> list[str]:
    """What makes g++ take this processor's kernels."""
    how = ["-std=c++20"]  # whatever the project asks for: see kernel.build.standard
    if soc.architecture != _OF_THREADS:
        return how
    wrapper = f"{sys.executable},-I,-m,{twin_compiler.__name__}"
    return [*how, "-DOPHOOK_OF_THREADS", "-no-integrated-cpp", "-wrapper", wrapper]


def targets() -> str:
    """CMake's lines that define them. Builds the simulator and the runtime of kernels where they are not built."""
    root = sim.active() or sim.build()
    include = ";".join(str(folder) for folder in folders(root))
    libraries = ";".join([*map(str, launchers(twin=True)), *linked(root)])
    lines = []
    for target, name in names().items():
        how = ";".join(options(find(name)))
        defined = ";".join(one.replace('"', '\\"') for one in macros(find(name)))
        lines.append(
            f"add_library(tikicpulib::{target} INTERFACE IMPORTED GLOBAL)\n"
            f"set_target_properties(tikicpulib::{target} PROPERTIES\n"
            f'  INTERFACE_INCLUDE_DIRECTORIES "{include}"\n'
            f'  INTERFACE_COMPILE_DEFINITIONS "{defined}"\n'
            "  INTERFACE_COMPILE_FEATURES cxx_std_20\n"  # CMAKE_CXX_STANDARD, which may be 17, comes behind the options
            f'  INTERFACE_COMPILE_OPTIONS "{build.ALIASING};$<$<CXX_COMPILER_ID:GNU>:{how}>"\n'
            f'  INTERFACE_LINK_LIBRARIES "{libraries}")\n'
        )
    return "".join(lines)
