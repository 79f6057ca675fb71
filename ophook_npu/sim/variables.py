"""The environment that puts a program on the simulated Ascend: what CANN's ``set_env.sh`` would set.

One source for `ophook-npu run`, `ophook-npu env`, the simulator's own ``set_env.sh`` and `sim.enable`.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, MutableMapping
from pathlib import Path

from ophook_npu import soc as socs
from ophook_npu.errors import OphookError
from ophook_npu.npu import autoload

# Variable -> folder below the root that comes first in it. MindSpore looks for CANN's name in its libraries' path.
SEARCHED = {
    "LD_LIBRARY_PATH": "cann/lib64", "PATH": "bin", "PYTHONPATH": "python/site-packages", "CMAKE_PREFIX_PATH": "cmake",
}  # fmt: skip
TOOLS = ("npu-smi", "msprof", "bisheng", "msopprof")  # the programs in bin
_MOST_DEVICES = 64
CANN_VERSIONS = ("8.5.0", "9.0.0")
"""The CANN releases that can be simulated, the default first."""
# Triton has no compiler for an NPU here; its interpreter runs a program's kernels, from and to memory of the device.
_INTERPRET = "TRITON_INTERPRET"
# What builds of kernels and extensions ask for, in CANN's examples as in other projects.
_BUILT_FOR = "SOC_VERSION"
_OPTIONAL = ("OPHOOK_SIM_MEMORY", "OPHOOK_SIM_SYNC", "OPHOOK_SIM_CANN", "OPHOOK_SIM_FAULTS")


def environment(
    root: Path,
    *,
    soc: str | None = None,
    devices: int | None = None,
    memory: int | None = None,
    synchronous: bool = False,
    cann: str | None = None,
) -> dict[str, str]:
    """The variables that a program needs to run on the simulator at ``root``, without those of `SEARCHED`.

    Args:
        soc: None takes OPHOOK_SIM_SOC, or else the default.
        devices: None takes OPHOOK_SIM_DEVICES, or else 1.
        memory: bytes for each device; None takes the SoC's own, or three quarters of the host's if that is less.
        cann: the release that the simulator says it is; None takes OPHOOK_SIM_CANN, or else the first of CANN_VERSIONS.

    Raises:
        OphookError: an unknown SoC or release, or a number that no machine has.
    """
    if devices is None:
        given = os.environ.get("OPHOOK_SIM_DEVICES", "1")
        if not given.isdigit():
            raise OphookError("devices", f"OPHOOK_SIM_DEVICES={given}", allowed=f"1 to {_MOST_DEVICES}")
        devices = int(given)
    if not 1 <= devices <= _MOST_DEVICES:
        raise OphookError("devices", f"{devices} devices asked for", allowed=f"1 to {_MOST_DEVICES}")
    release = cann or os.environ.get("OPHOOK_SIM_CANN")
    if release and release not in CANN_VERSIONS:
        raise OphookError("cann", f"CANN {release} is not simulated", allowed=", ".join(CANN_VERSIONS))
    chip = socs.check(soc or os.environ.get("OPHOOK_SIM_SOC") or socs.DEFAULT)
    variables = {
        **_places(str(root), release or CANN_VERSIONS[0]),
        "OPHOOK_SIM_SOC": chip,
        _BUILT_FOR: chip,
        "OPHOOK_SIM_DEVICES": str(devices),
        _INTERPRET: os.environ.get(_INTERPRET, "1"),
    }
    if memory is not None:
        if memory <= 0:
            raise OphookError("memory", f"{memory} bytes of device memory asked for", allowed="a positive number")
        variables["OPHOOK_SIM_MEMORY"] = str(memory)
    if synchronous:
        variables["OPHOOK_SIM_SYNC"] = "1"
    if release:
        variables["OPHOOK_SIM_CANN"] = release
    return variables


def home(release: str) -> str:
    """The folder below the root that is CANN's of one release: links, and what says which release it is."""
    return f"cann-{release}"


def _places(root: str, release: str) -> dict[str, str]:
    toolkit = f"{root}/{home(release)}"
    return {
        "ASCEND_HOME_PATH": toolkit,
        "ASCEND_INSTALL_PATH": toolkit,
        "ASCEND_TOOLKIT_HOME": toolkit,
        "ASCEND_OPP_PATH": f"{root}/opp",
        "ASCENDC_CMAKE_DIR": f"{toolkit}/tikcpp/ascendc_kernel_cmake",
        "OPHOOK_SIM_ROOT": root,
    }


def apply(environ: MutableMapping[str, str], variables: Mapping[str, str]) -> None:
    """Write ``variables`` into ``environ`` and put the simulator first where the loader and the shell look.

    A second time changes nothing, and another simulator that was there makes way.
    """
    _out_of_searches(environ)
    environ.update(variables)
    for name, folder in SEARCHED.items():
        first = f"{variables['OPHOOK_SIM_ROOT']}/{folder}"
        there = environ.get(name) or (os.defpath if name == "PATH" else "")
        rest = [entry for entry in there.split(":") if entry and entry != first]
        environ[name] = ":".join([first, *rest])


def take_out(environ: MutableMapping[str, str]) -> None:
    """Undo `apply`: no simulator is left in ``environ``. CANN's variables go too where they name the simulator."""
    root = environ.get("OPHOOK_SIM_ROOT")
    if root is None:
        return
    _out_of_searches(environ)
    for name in _places(root, ""):
        if Path(environ.get(name, "/")).is_relative_to(root):
            del environ[name]
    if environ.get(_BUILT_FOR) == environ.get("OPHOOK_SIM_SOC"):
        environ.pop(_BUILT_FOR, None)
    for name in ("OPHOOK_SIM_SOC", "OPHOOK_SIM_DEVICES", *_OPTIONAL):
        environ.pop(name, None)
    if environ.get(_INTERPRET) == "1":
        del environ[_INTERPRET]


def _out_of_searches(environ: MutableMapping[str, str]) -> None:
    root = environ.get("OPHOOK_SIM_ROOT")
    for name, folder in SEARCHED.items():
        if root and name in environ:
            kept = [entry for entry in environ[name].split(":") if entry and entry != f"{root}/{folder}"]
            if kept:
                environ[name] = ":".join(kept)
            else:
                del environ[name]


def exports(before: Mapping[str, str], after: Mapping[str, str], always: tuple[str, ...] = ()) -> str:
    """Lines for ``sh``, ``bash`` and ``zsh`` that turn the environment ``before`` into ``after``.

    Args:
        always: variables that are written, or unset, even if they are the same.
    """
    lines = []
    for name in sorted({*before, *after, *always}):
        if name in after and (before.get(name) != after[name] or name in always):
            lines.append(f"export {name}={shlex.quote(after[name])}")
        elif name not in after and (name in before or name in always):
            lines.append(f"unset {name}")
    return "".join(f"{line}\n" for line in lines)


def always(variables: Mapping[str, str]) -> tuple[str, ...]:
    """What an ``export`` of the simulator's environment holds in any case, so that it can be kept in a file."""
    return (*variables, *SEARCHED, autoload.VARIABLE)


def set_env_script() -> str:
    """``set_env.sh`` of a simulator's folder, for bash, zsh and sh. It finds the folder by itself (bash, zsh), or takes
    OPHOOK_SIM_ROOT (sh, which does not tell a sourced script where it is).
    """
    release = f"${{OPHOOK_SIM_CANN:-{CANN_VERSIONS[0]}}}"
    chosen = {"OPHOOK_SIM_SOC": socs.DEFAULT, "OPHOOK_SIM_DEVICES": "1", _INTERPRET: "1"}
    lines = [
        "# source this file: what CANN's set_env.sh sets, with the simulated Ascend in CANN's place.",
        'if [ -n "${BASH_VERSION:-}" ]; then _ophook_self="${BASH_SOURCE[0]}"',
        'elif [ -n "${ZSH_VERSION:-}" ]; then eval \'_ophook_self="${(%):-%x}"\'',
        'else _ophook_self="${OPHOOK_SIM_ROOT:-.}/set_env.sh"; fi',
        '_ophook_root="$(CDPATH= cd -- "$(dirname -- "$_ophook_self")" && pwd -P)" || _ophook_root=""',
        # From the folder of a release (ASCEND_HOME_PATH), in which this file is a link.
        'if [ -L "$_ophook_root/set_env.sh" ]; then _ophook_root="${_ophook_root%/*}"; fi',
        'if [ ! -e "$_ophook_root/lib64/libascendcl.so" ]; then',
        "    echo \"set_env.sh: no simulated Ascend at '$_ophook_root'; from sh, set OPHOOK_SIM_ROOT first\" >&2",
        "    unset _ophook_self _ophook_root; return 1",
        "fi",
        "_ophook_without() { # FOLDER LIST: LIST without FOLDER",
        '    _ophook_list=":$2:"',
        '    while case "$_ophook_list" in *":$1:"*) true ;; *) false ;; esac; do',
        '        _ophook_list="${_ophook_list%%":$1:"*}:${_ophook_list#*":$1:"}"',
        "    done",
        '    _ophook_list="${_ophook_list#:}"; printf %s "${_ophook_list%:}"',
        "}",
    ]
    for name, folder in SEARCHED.items():
        lines += [
            f'_ophook_rest="$(_ophook_without "${{OPHOOK_SIM_ROOT:-$_ophook_root}}/{folder}" "${{{name}:-}}")"',
            f'_ophook_rest="$(_ophook_without "$_ophook_root/{folder}" "$_ophook_rest")"',
            f'export {name}="$_ophook_root/{folder}${{_ophook_rest:+:$_ophook_rest}}"',
        ]
    lines += [f'export {name}="{value}"' for name, value in _places("$_ophook_root", release).items()]
    lines += [f'export {name}="${{{name}:-{value}}}"' for name, value in chosen.items()]
    # Sample projects' scripts choose theirs first.
    lines += [f'export {_BUILT_FOR}="${{{_BUILT_FOR}:-$OPHOOK_SIM_SOC}}"']
    lines += [f"unset {autoload.VARIABLE}", "unset _ophook_self _ophook_root _ophook_rest; unset -f _ophook_without"]
    return "\n".join(lines) + "\n"
