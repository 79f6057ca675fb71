"""The libraries and programs of the simulated Ascend: which sources, compiled how, linked to what.

The one description of them; `ophook_npu.sim.build` compiles it for users, `ophook_npu.sim.developer` changes how for
those who work on it.
"""

from __future__ import annotations

import functools
import os
import re
import shlex
from dataclasses import replace
from pathlib import Path

from ophook_npu import __version__
from ophook_npu.cache import TORCH_LINK
from ophook_npu.npu.installed import Wheel
from ophook_npu.soc import CSRC
from ophook_npu.toolchain import Library

FLAGS = "OPHOOK_SIM_CXXFLAGS"
"""The variable with more flags for the compiler and the linker; where it is set, warnings are shown."""

# Bytes of source that are compiled as one file: several units even of the smaller libraries, for several cores. Over
# ATen they are larger: each does again, for 2 s, what its precompiled header left to the end of the file.
_UNIT, _ATEN_UNIT = 250_000, 300_000

# Errors in CI. What a brace does not say has the default that stands next to the member.
_WARNINGS = ("-Wall", "-Wextra", "-Wno-missing-field-initializers")

# Messages and symbols name files as the package does, not where they lay when they were compiled. What computes is
# ATen's own compiled kernels, and the C library's copies: -O1 costs nothing at run time and a sixth less to compile.
# -Og takes a quarter less again, and a first phase half as long again: it is for what is not `_busy`, below.
_COMMON = (
    "-std=c++20",
    "-O1",
    "-fPIC",
    "-fvisibility=hidden",
    *_WARNINGS,
    f"-I{CSRC}",
    f"-ffile-prefix-map={CSRC}=csrc",
)


def _every(*folders: str) -> tuple[Path, ...]:
    return tuple(path for folder in folders for path in sorted((CSRC / folder).glob("*.cpp")))


# Kernels of which a launch is one call of ATen or two, so that their own instructions are a part of it that counts,
# and what all kernels and checks use.
_SHORT = (
    *("arithmetic", "batch_norm", "conv", "gated", "group_norm", "index", "lists", "loss", "matmul", "pattern"),
    *("pooling", "reduce", "rotary", "scatter", "shape", "sizes", "tensors"),
)


@functools.cache
def _busy() -> frozenset[Path]:
    """What each launch runs through, the checks of first phases, and loops: sums, and kernels that read numbers. (A
    source that sets its own level sets that of the precompiled header, -O1, for all behind it in its unit, too.)
    """
    kernels = (
        one for one in _every("kernels") if one.stem in _SHORT or re.search(rb"data_ptr|GCC optimize", one.read_bytes())
    )
    return frozenset([*_every("core", "opapi"), CSRC / "hccl" / "types.cpp", *kernels])


def libraries(torch: Wheel, torch_npu: Wheel, *, relocatable: bool = False) -> list[Library]:
    """All of them. ``relocatable``: they look for torch next to the package that holds them, as its folder ``sim``."""
    include = torch_npu.path / "include" / "third_party"
    acl: tuple[str, ...] = ("-idirafter", str(CSRC / "older"))  # for what the wheel at hand does not carry yet
    acl += (f"-isystem{include / 'acl' / 'inc'}", f"-isystem{include / 'hccl' / 'inc'}", f"-isystem{include.parent}")
    aten = (
        "-DAT_PER_OPERATOR_HEADERS",  # a header of ATen that needs an operator then includes that one, not all
        f"-I{CSRC / 'light'}",
        f"-ffile-prefix-map={torch.path}=torch",
        f"-isystem{torch.path / 'include'}",
        f"-isystem{torch.path / 'include' / 'torch' / 'csrc' / 'api' / 'include'}",
    )
    torch_lib = torch.path / "lib"

    # Next to the package, and, for one that is laid out elsewhere as links, by the link that _take puts there.
    place = f"$ORIGIN/../../../torch/lib:$ORIGIN/{TORCH_LINK}" if relocatable else torch_lib
    torch_link = (f"-L{torch_lib}", "-ltorch_cpu", "-lc10", f"-Wl,-rpath,{place}")

    here = ("-Wl,-rpath,$ORIGIN",)
    acl_header = ("torch-npu", include / "acl" / "inc" / "acl" / "acl.h")
    aten_header = ("torch", torch.path / "include" / "ATen" / "ATen.h")
    core = "libophook_sim_core.so"

    def sources(folder: str, *names: str) -> tuple[Path, ...]:
        return tuple(CSRC / folder / f"{name}.cpp" for name in names)

    exported = (*_COMMON, "-DFUNC_VISIBILITY", *acl)  # ACL's headers then export what they declare
    # torchair links the graph engine's C++ interface with the old string ABI, and all of it. As the rows, it is glue.
    engine = ("-std=c++17", "-O1", "-fPIC", *_WARNINGS, "-D_GLIBCXX_USE_CXX11_ABI=0", f"-I{CSRC}", *acl)
    engine += (f"-isystem{CSRC / 'ascendc' / 'host'}",)  # gert's tensors, as operators see them
    registry = (
        *("-std=c++17", "-O1", "-fPIC", "-fvisibility=hidden", *_WARNINGS, f"-I{CSRC}"),
        *("-DOPHOOK_OP_HOST", "-DOPHOOK_PROGRAM_REGISTRY"),
    )
    opdev = (f"-isystem{CSRC / 'include'}", f"-isystem{CSRC / 'include' / 'aclnn'}")
    described = [
        Library(core, _every("core"), _COMMON, link_flags=here, unit=_UNIT),
        Library("libc_sec.so", _every("securec"), _COMMON),
        Library("libascendalog.so", _every("alog"), _COMMON),
        Library("libmsprofiler.so", _every("msprof"), exported, (core,), here, unit=_UNIT),
        Library("libmspti.so", _every("mspti"), exported, (core,), here),
        Library(
            "libascendcl.so",
            (
                *(one for one in _every("acl") if one.stem != "op_compiler"),
                *_every("acl/refused"),  # declared otherwise than in ACL's headers: a unit of its own
            ),
            exported,
            (core, "libmsprofiler.so"),  # where torch_npu looks for half of the profiler's functions, too
            here,
            unit=_UNIT,
            needs=(acl_header,),
        ),
        Library("libacl_op_compiler.so", sources("acl", "op_compiler"), exported, (core, "libascendcl.so"), here),
        Library(
            "libhccl.so",
            _every("hccl"),
            # Its sums are loops without branches.
            (*exported, "-ftree-vectorize", "-fvect-cost-model=dynamic", f"-isystem{torch.path / 'include'}"),
            (core,),
            here,
            unit=_UNIT,
        ),
        Library("libhcomm.so", _every("hcomm"), exported, (core, "libhccl.so"), here),
        Library("liblcal.so", _every("lcal"), exported, (core, "libhccl.so"), here),
        Library("libshmem.so", _every("shmem"), exported, (core, "libascendcl.so", "libhccl.so"), here),
        Library("libascend_hal.so", _every("hal"), exported, (core,), here),
        Library("libascend_ml.so", _every("ml"), exported, (core,), here),
        Library("libacl_rtc.so", _every("rtc"), exported, (core,), here),
        Library("libacl_dvpp.so", _every("dvpp", "dvpp/refused"), exported, (core,), here, unit=_UNIT),
        Library(
            "libopapi.so",
            _every("kernels", "opapi", "opapi/rows", "ge/rows", "l0"),
            (*exported, *aten),
            (core, "libascendcl.so", "libhccl.so"),
            (*here, *torch_link),
            prefix=CSRC / "opapi" / "prefix.h",
            unit=_ATEN_UNIT,
            # As the rows, the longer kernels: what they say takes no time against the many calls of ATen.
            glue=(
                CSRC / "opapi" / "rows",
                CSRC / "ge" / "rows",
                *(one for one in _every("kernels") if one not in _busy()),
            ),
            # Written with opdev, whose tensors have the names of ours.
            apart=((CSRC / "l0", (*opdev, f"-isystem{CSRC / 'ascendc' / 'host'}")),),
            needs=(aten_header,),
        ),
        Library(
            "libatb.so",
            _every("atb", "atb/rows"),
            (*exported, *aten),
            (core, "libascendcl.so", "libopapi.so"),
            (*here, *torch_link),
            prefix=CSRC / "opapi" / "prefix.h",
            unit=_ATEN_UNIT,
            glue=(CSRC / "atb", CSRC / "atb" / "rows"),
            needs=(aten_header,),
        ),
        Library(
            "libophook_kernel.so",  # for packages that run their own Ascend C kernels
            sources("package", "kernel_package"),
            (*exported, *aten),
            (core, "libopapi.so", "libhccl.so"),
            (*here, *torch_link),
            prefix=CSRC / "opapi" / "prefix.h",  # libopapi's own: compiled once for both
            needs=(aten_header,),
        ),
        Library(
            "libgraph.so",
            # torchair finds libc_sec's functions behind this one, also where a linker drops what looks unneeded.
            (
                *sources("ge", "parse", "write", "graph_types", "operator", "inference_context", "registry"),
                *sources("ge", "graph", "graph_build", "graph_edit", "print"),
                *_every("securec"),
                *sources("ascendc/program", "platform"),  # libtiling_api is another name of it
            ),
            engine,
            (core, "libascendcl.so"),
            here,
            unit=_UNIT,
        ),
        Library(
            "libge_runner.so",
            sources(
                *("ge", "infer", "compile", "aclnn_call", "aicpu_call", "custom", "eager_call", "execute", "gears"),
                *("ir_build", "loaded", "offline", "offline_aipp", "session", "tasks"),
            ),
            engine,
            (core, "libgraph.so"),
            here,
            unit=_UNIT,
        ),
        Library("libacl_tdt_channel.so", sources("tdt", "channel"), exported, (core,), here),
        Library("libacl_tdt_queue.so", sources("tdt", "queue"), exported, (core, "libascendcl.so"), here),
        Library("libplatform.so", sources("ascendc/program", "platform"), _COMMON, (core,), here),
        Library("libfmk_parser.so", sources("ge", "empty"), engine),
        # What a program registers that tests an operator's tiling, say; an operator's own library has one of its own.
        Library("libopp_registry.so", sources("ascendc/host", "registry", "templates"), registry),
        Library("libascend_protobuf.so", sources("ge", "empty"), engine),
        Library(
            "npu-smi",
            sources("tools", "npu_smi"),
            (*_COMMON, f'-DOPHOOK_NPU_VERSION="{__version__}"'),
            (core,),
            ("-Wl,-rpath,$ORIGIN/../lib64",),
            folder="bin",
            program=True,
        ),
    ]
    described = [replace(one, seldom=frozenset(one.sources) - _busy()) for one in described]
    more = tuple(shlex.split(os.environ.get(FLAGS, "")))
    if not more:
        return described
    linked = tuple(flag for flag in more if flag != "-Werror")
    return [replace(one, flags=one.flags + more, link_flags=one.link_flags + linked, talks=True) for one in described]
