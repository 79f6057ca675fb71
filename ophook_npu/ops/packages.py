"""Custom operator packages for the simulated Ascend, built from a folder of sources.

On an Ascend host such a package is what an Ascend C operator project installs. For the simulator it is the same files
(``op_api/lib/libcust_opapi.so``, ``op_proto/lib/linux/…/libcust_opsproto.so``), whose arithmetic is ATen's::

    *_aclnn.cpp     rows of ophook_npu/csrc/opapi/aclnn.h, for libcust_opapi.so
    *_proto.cpp     prototypes with inference, as `ophook-npu op export` writes them, for libcust_opsproto.so
"""

from __future__ import annotations

import platform
from pathlib import Path

from ophook_npu import cache, recipes, sim, toolchain
from ophook_npu.errors import OphookError
from ophook_npu.npu.installed import require
from ophook_npu.sim.build import CSRC
from ophook_npu.toolchain import Library


def simulate(folder: Path) -> Path:
    """Build the package in ``folder`` for the simulator; ``ASCEND_CUSTOM_OPP_PATH=<the result>`` installs it for a
    program.

    Raises:
        OphookError: there are no sources, or they do not compile.
    """
    return build(folder, sim.active() or sim.build())


def build(folder: Path, simulator: Path) -> Path:
    """The package's root, built for the simulator at that root if it is not there yet. Raises OphookError as above."""
    aclnn, protos = (tuple(sorted(folder.glob(f"*_{kind}.cpp"))) for kind in ("aclnn", "proto"))
    if not aclnn or not protos:
        raise OphookError("packages", f"{folder} has no *_aclnn.cpp or no *_proto.cpp", allowed="one or more of each")
    torch, torch_npu = require()
    include = torch_npu.path / "include" / "third_party"
    acl = (f"-isystem{include / 'acl' / 'inc'}", f"-isystem{include.parent}")
    aten = (f"-isystem{torch.path / 'include'}", f"-isystem{torch.path / 'include/torch/csrc/api/include'}")
    lib, torch_lib = simulator / "lib64", torch.path / "lib"
    from_simulator = (f"-L{lib}", f"-Wl,-rpath,{lib}", "-l:libophook_sim_core.so")
    common = ("-O2", "-fPIC", "-Wall", f"-I{CSRC}", *acl)
    libraries = [
        Library(
            "libcust_opapi.so", aclnn, ("-std=c++20", "-fvisibility=hidden", "-DFUNC_VISIBILITY", *common, *aten),
            link_flags=(*from_simulator, "-l:libopapi.so", f"-L{torch_lib}", "-ltorch_cpu", "-lc10",
                        f"-Wl,-rpath,{torch_lib}", f"-Wl,-rpath-link,{lib}"),
            folder="op_api/lib",
        ),
        Library(
            "libcust_opsproto.so", protos, ("-std=c++17", "-D_GLIBCXX_USE_CXX11_ABI=0", *common),
            link_flags=(*from_simulator, "-l:libgraph.so", f"-Wl,-rpath-link,{lib}"),
            folder=f"op_proto/lib/linux/{platform.machine()}",
        ),
    ]  # fmt: skip
    stamp = f"torch {torch.version} torch_npu {torch_npu.version} {platform.machine()} {simulator.name}"
    roots = [folder, CSRC]
    keys = [toolchain.object_key(s, library.flags, roots, stamp) for library in libraries for s in library.sources]
    root = cache.cache_dir() / "packages" / recipes.digest([str(simulator), *keys])

    def make(staging: Path) -> None:
        toolchain.build(libraries, staging, include_roots=roots, stamp=stamp)

    return cache.publish(root, make)
