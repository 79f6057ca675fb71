"""What the CMake files of operator projects call (csrc/package/cmake: OpPackage.cmake, MsOpGen.cmake): an operator
package, as a file that installs it (``custom_opp_*.run``), or as a library with a CMake package that programs link to.
"""

from __future__ import annotations

import io
import json
import os
import platform
import shutil
import sys
import tarfile
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ophook_npu import toolchain
from ophook_npu.errors import OphookError
from ophook_npu.kernel import package
from ophook_npu.kernel.project import Project

_WHERE = "npu_op_package"


@dataclass(frozen=True)
class Description:
    """Lines ``key=value``, as OpPackage.cmake writes them."""

    file: Path
    values: dict[str, list[str]]

    @classmethod
    def read(cls, file: Path) -> Description:
        values: dict[str, list[str]] = defaultdict(list)
        for line in file.read_text().splitlines():
            key, _, value = line.partition("=")
            values[key].append(value)
        return cls(file, values)

    @property
    def name(self) -> str:
        return self.values["name"][0]

    def project(self) -> Project:
        """Raises:
        OphookError: a source is not there, or an option means nothing here.
        """
        if not self.values["base"]:
            raise OphookError(_WHERE, f"{self.name} has no kernels", todo="npu_op_kernel_library, npu_op_package_add")
        base = Path(self.values["base"][0])
        named: dict[str, Path] = {}
        folders = [base]
        for one in self.values["kernel"]:
            op_type, folder, file = one.split(":")
            folders.append(base / folder)
            if file:
                named[op_type] = base / folder / file
        given = {Path(one) for one in self.values["include"]}
        include = [folder for folder in dict.fromkeys([*folders, *sorted(given)]) if folder.is_dir()]
        hosts = [Path(one) for one in self.values["hosts"]]
        others = {file for folder in folders if folder.is_dir() for file in folder.glob("*.cpp")} - {*hosts}
        kernels = sorted({*others, *named.values()})
        project = Project.listed(self.file.parent, hosts, kernels, include, of_types=named, defines=self._defines())
        project.host_macros = tuple(one for one in self.values["options"] if one.startswith(("-D", "-U")))
        project.begin = package.beginning()
        project.own_api = tuple(path for path in map(Path, self.values["api"]) if path.is_file())
        return project

    def _defines(self) -> dict[str, str]:
        found = {}
        for one in self.values["kernel_option"]:
            for_type, _, option = one.partition(":")
            if not option.startswith("-D"):
                continue  # how the device's compiler works: here a kernel is compiled with -g anyway
            if for_type != "ALL":
                raise OphookError(_WHERE, f"{option} for {for_type} alone is not simulated", allowed="ALL")
            name, _, value = option.removeprefix("-D").partition("=")
            found[name] = value or "1"
        return found


def build(description: Description, out: Path) -> None:
    """Compile the operators and lay the package out in ``out``."""
    from ophook_npu.sim.packages import build_project

    build_project(description.project(), out)
    for one in description.values["files"]:
        place, _, file = one.partition(":")
        (out / place).mkdir(parents=True, exist_ok=True)
        shutil.copy(file, out / place)


# Behind it: the package as a tar archive.
_INSTALLER = r"""#!/bin/sh
# Installs the operator package @NAME into $ASCEND_OPP_PATH/vendors, or below --install-path.
set -e
refuse() { echo "[ERROR] $1" >&2; exit 1; }
opp="$ASCEND_OPP_PATH" given=""
for one in "$@"; do
    case "$one" in
        --install-path=*) given="${one#--install-path=}" opp="$given" ;;
        --quiet) ;;
        *) refuse "$one is not simulated; allowed: --install-path=DIR, --quiet" ;;
    esac
done
[ -n "$opp" ] || refuse "neither ASCEND_OPP_PATH nor --install-path says where to install"
place="$opp/vendors/@NAME"
[ ! -e "$place" ] || [ -d "$place/op_impl" ] || refuse "$place is no operator package"
rm -rf "$place"
mkdir -p "$place"
tail -n +@LINES "$0" | tar -x -C "$place"
if [ -n "$given" ]; then
    mkdir "$place/bin"
    echo "export ASCEND_CUSTOM_OPP_PATH=$(cd "$place" && pwd):\${ASCEND_CUSTOM_OPP_PATH}" > "$place/bin/set_env.bash"
else
    config="$opp/vendors/config.ini"
    [ -e "$config" ] || : > "$config"
    others=$(sed -n 's/^load_priority=//p' "$config" | tr ',' '\n' | grep -vx '@NAME' | paste -sd, -)
    echo "load_priority=@NAME${others:+,$others}" > "$config.new"
    mv "$config.new" "$config"
fi
echo SUCCESS
exit 0
"""


def pack(name: str, package: Path, out: Path) -> None:
    """Write ``custom_opp_….run``: a script that installs the package ``name``, with the package behind it."""
    script = _INSTALLER.replace("@NAME", name)
    script = script.replace("@LINES", str(script.count("\n") + 1))
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        archive.add(package, arcname=".")
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_bytes(script.encode() + packed.getvalue())
    out.chmod(0o755)


def system() -> str:
    """What CANN has in the names of such files: the operating system and the machine, ``ubuntu_x86_64``."""
    try:
        name = platform.freedesktop_os_release()["ID"]
    except OSError:
        name = sys.platform
    return f"{name}_{platform.machine()}"


def _info(ini: Path, out: Path) -> None:
    """``aic-SOC-ops-info.ini`` as JSON, as packages have it."""
    found: dict[str, dict[str, dict[str, str]]] = {}
    for line in ini.read_text().splitlines():
        key, _, value = line.partition("=")
        if line.startswith("["):
            own = found.setdefault(line.strip("[]"), {})
        elif value:
            of, _, name = key.partition(".")
            own.setdefault(of, {})[name] = value
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(found, indent=4) + "\n")


# The static library is the shared one under another name: operators find their kernels by where it lies.
_CONFIG = """if(NOT TARGET @NAME::@NAME)
    add_library(@NAME::@NAME SHARED IMPORTED)
    get_filename_component(_place "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
    set_target_properties(@NAME::@NAME PROPERTIES
        IMPORTED_LOCATION "${_place}/lib/libcust_opapi.so"
        IMPORTED_SONAME libcust_opapi.so
        INTERFACE_INCLUDE_DIRECTORIES "${_place}/include;$ENV{ASCEND_HOME_PATH}/include"
        INTERFACE_LINK_DIRECTORIES "$ENV{ASCEND_HOME_PATH}/lib64")
endif()
"""


def install(description: Description, package: Path, place: Path) -> None:
    """What TYPE SHARED and STATIC install: headers, a library, and what find_package finds. The folder ``lib`` is the
    package itself, so ASCEND_CUSTOM_OPP_PATH may name it.
    """
    name, lib, include = description.name, place / "lib", place / "include"
    include.mkdir(parents=True, exist_ok=True)
    lib.mkdir(exist_ok=True)
    for header in (*package.glob("op_api/include/*.h"), *package.glob("op_proto/inc/*.h")):
        shutil.copy(header, include)
    for part in package.iterdir():
        if part.is_dir():
            shutil.copytree(part, lib / part.name, dirs_exist_ok=True)
        else:
            shutil.copy(part, lib)
    static = description.values["type"] == ["STATIC"]
    for other in ["libcust_opapi.so", *([f"lib{name}.a"] if static else [])]:
        (lib / other).unlink(missing_ok=True)
        (lib / other).symlink_to(Path("op_api") / "lib" / "libcust_opapi.so")
    config = lib / "cmake" / name / f"{name}-config.cmake"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(_CONFIG.replace("@NAME", name))


def tables(build: Path, package: Path) -> None:
    """What op_build has written of a project that has libraries of its own, compiled into the package: by what its own
    aclnn functions find kernels, and prototypes for graphs.

    Raises:
        OphookError: something does not compile.
    """
    from ophook_npu.sim.op_build import TABLES

    root = Path(os.environ["ASCEND_HOME_PATH"])
    flags = ["-shared", "-fPIC", "-Og", "-std=c++17", f"-I{root / 'include'}", f"-L{root / 'lib64'}"]
    graph = ["-D_GLIBCXX_USE_CXX11_ABI=0", "-lexe_graph", "-lregister", "-ltiling_api"]
    of_graphs = f"op_proto/lib/linux/{platform.machine()}/libophook_opsproto.so"
    libraries = ((TABLES, "op_api/lib/libophook_operators.so", ["-lophook_kernel"]), ("op_proto.cc", of_graphs, graph))
    for source, place, own in libraries:
        # Lists for products that are not built are empty.
        found = [one for one in sorted(build.glob(f"autogen*/**/{source}")) if one.stat().st_size]
        if found:
            (package / place).parent.mkdir(parents=True, exist_ok=True)
            command = [*toolchain.compiler(), *map(str, found), "-o", str(package / place), *flags, *own]
            done = toolchain.run(command)
            if done.returncode:
                raise OphookError(_WHERE, f"{source} of {build} does not compile: {done.stderr.strip()}")


def _described(what: str, file: str, out: str, *places: str) -> None:
    description, package = Description.read(Path(file)), Path(out)
    if what == "build":
        build(description, package)
    elif what == "run":
        pack(description.name, package, Path(places[0]) / f"custom_opp_{system()}.run")
    else:
        install(description, package, Path(places[0]))


def main(arguments: Sequence[str] | None = None) -> int:
    """Of npu_op_package: ``build FILE OUT``, ``run FILE OUT PLACE``, ``install FILE OUT PLACE``.

    Of projects with libraries of their own: ``tables BUILD PACKAGE``. Of msopgen's projects: ``system``, ``info INI
    JSON``, ``pack NAME PACKAGE FILE``, ``kernels AUTOGEN SOURCES COMPUTE_UNIT OUT [OPERATOR:COMPUTE_UNITS:OPTION …]``.
    Of libophook_kernel.so: ``shipped``.
    """
    what, *others = arguments or sys.argv[1:]
    try:
        if what == "system":
            print(system())
        elif what == "shipped":
            from ophook_npu.sim.build import shipped_kernels

            print(shipped_kernels())
        elif what == "info":
            _info(Path(others[0]), Path(others[1]))
        elif what == "pack":
            pack(others[0], Path(others[1]), Path(others[2]))
        elif what == "tables":
            tables(Path(others[0]), Path(others[1]))
        elif what == "kernels":
            from ophook_npu.sim import opc

            autogen, sources, unit, out, *options = others
            opc.compile_all(Path(autogen), Path(sources), unit, Path(out), options)
        else:
            _described(what, *others)
    except OphookError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
