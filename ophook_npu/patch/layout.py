"""Where an op-plugin tree keeps its YAML and its kernels, and which versions it knows.

Two layouts exist. Up to release 6.0.rc2 every torch version has files of its own under ``config/v2rN`` and an entry
says ``impl_ns: op_api``; 6.0.rc2 also carries a top-level YAML that nothing reads. Since 6.0.rc3 the top-level YAML is
the source, an entry says ``op_api: <versions>``, and ``config/v2rN`` is output. gencode.sh shows which one it is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from ophook_npu.errors import OphookError
from ophook_npu.patch import yamltext
from ophook_npu.patch.journal import no_links

VERSION = re.compile(r"^v?(\d+)\.(\d+)(?:\..*)?$")


@dataclass(frozen=True)
class Layout:
    """One op-plugin tree as seen for one torch version."""

    root: Path
    version: str  # "v2.13"
    versions: tuple[
        str, ...
    ]  # every version the tree generates code for, oldest first; only this one in the old layout
    yaml: Path
    derivatives: Path
    kernels: Path
    per_version: bool  # the old layout

    def relative(self, path: Path) -> str:
        """``path`` as it is named inside the tree."""
        return path.relative_to(self.root).as_posix()


def find_layout(op_plugin: Path, torch_version: str) -> Layout:
    """Raises OphookError: no op-plugin tree, empty submodule, symbolic link on the way, version that the tree lacks."""
    match = VERSION.match(torch_version)
    if match is None:
        raise OphookError("patch", f"'{torch_version}' is no torch version", allowed="for example 2.13 or 2.13.0+cpu")
    major, minor = match.groups()
    root = _root(op_plugin)
    gencode = _regular(root, root / "gencode.sh")
    if b"gen_op_plugin_functions" in gencode.read_bytes():
        return _current(root, f"v{major}.{minor}")
    return _per_version(root, f"v{major}.{minor}", f"v{major}r{minor}")


def _root(op_plugin: Path) -> Path:
    root = op_plugin.resolve()
    if not root.is_dir():
        raise OphookError("patch", f"no folder {op_plugin}", todo="name op-plugin's folder with --op-plugin")
    if not any(entry.name != ".git" for entry in root.iterdir()):
        raise OphookError(
            "patch",
            f"{op_plugin} is empty: the submodule is missing",
            todo="git submodule update --init --recursive in torch_npu's tree",
        )
    if not (root / "gencode.sh").exists() or not (root / "op_plugin").is_dir():
        raise OphookError(
            "patch",
            f"{op_plugin} is not an op-plugin tree: gencode.sh or op_plugin/ is missing",
            todo="name third_party/op-plugin of torch_npu's tree",
        )
    return root


def _current(root: Path, version: str) -> Layout:
    yaml = _regular(root, root / "op_plugin" / "config" / "op_plugin_functions.yaml")
    document = yamltext.parse(yaml.read_bytes(), yaml)
    known = document.get("all_version") if isinstance(document, dict) else None
    if not isinstance(known, list) or not known:
        raise OphookError("patch", f"{yaml} has no list all_version", todo="check that the tree is complete")
    versions = tuple(str(item) for item in known)
    if version not in versions:
        raise OphookError(
            "patch",
            f"torch {version} is not in all_version of {yaml}",
            allowed=", ".join(versions),
            todo="take the op-plugin branch that fits the installed torch, or pass --torch-version",
        )
    kernels = _folder(root, root / "op_plugin" / "ops" / "opapi")
    derivatives = root / "op_plugin" / "config" / "derivatives.yaml"
    return Layout(root, version, versions, yaml, derivatives, kernels, per_version=False)


def _per_version(root: Path, version: str, folder: str) -> Layout:
    config = root / "op_plugin" / "config"
    if not (config / folder / "op_plugin_functions.yaml").exists():
        found = sorted(p.name for p in config.glob("v*r*") if (p / "op_plugin_functions.yaml").exists())
        raise OphookError(
            "patch",
            f"torch {version} is not in this tree: {config / folder / 'op_plugin_functions.yaml'} is missing",
            allowed=", ".join(name.replace("r", ".") for name in found) or "none",
            todo="take the op-plugin branch that fits the installed torch, or pass --torch-version",
        )
    yaml = _regular(root, config / folder / "op_plugin_functions.yaml")
    own = _folder(root, root / "op_plugin" / "ops" / folder)
    kernels = own / "opapi"
    # gencode.sh fills the newest versions' folders from older ones; until it ran, opapi may be absent.
    if kernels.exists() or kernels.is_symlink():
        kernels = _folder(root, kernels)
    return Layout(root, version, (version,), yaml, config / folder / "derivatives.yaml", kernels, per_version=True)


def _regular(root: Path, path: Path) -> Path:
    no_links(root, path)
    if not path.is_file():
        raise OphookError("patch", f"{path} is missing", todo="check that the tree is complete")
    return path


def _folder(root: Path, path: Path) -> Path:
    no_links(root, path)
    if not path.is_dir():
        raise OphookError("patch", f"folder {path} is missing", todo="check that the tree is complete")
    return path
