"""Small op-plugin trees in each layout that upstream ever had, and operators to put into them."""

from __future__ import annotations

from pathlib import Path

CURRENT = """\
all_version: [v2.1, v2.12, v2.13]
official:
  - func: add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
    acl_op: all_version
    op_api: all_version

custom:
  - func: npu_first(Tensor self) -> Tensor
    op_api: [v2.12, newest]

  # kept by hand
  - func: npu_second(Tensor self, *, int n=1) -> Tensor(a!)
    op_api: all_version
    gen_opapi:
      exec: aclnnSecond

symint:
  - func: npu_third(Tensor self, SymInt n) -> Tensor
    op_api: all_version
"""

CURRENT_DERIVATIVES = """\
all_version: [v2.1, v2.12, v2.13]
backward:
- name: npu_first(Tensor self) -> Tensor
  self: grad
  version: all_version

- name: npu_second(Tensor self, *, int n=1) -> Tensor
  self: grad
  version: [v2.12, newest]
"""

# Since 6.0.rc3, before all_version came to this file: one list, versions as text.
RC3_DERIVATIVES = """\
- name: npu_first(Tensor self) -> Tensor
  self: grad
  version: v2.1, v2.12, v2.13
"""

OLD = """\
official:
  - func: add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
    impl_ns: acl_op, op_api
symint:
  - func: npu_third(Tensor self, SymInt n) -> Tensor
    impl_ns: op_api
custom:
  - func: npu_first(Tensor self) -> Tensor
    impl_ns: op_api
  - func: npu_second(Tensor self) -> Tensor
    impl_ns: acl_op
"""

OLD_DERIVATIVES = """\
# Defines derivative formulas

- name: npu_first(Tensor self) -> Tensor
  self: grad

- name: npu_second(Tensor self) -> Tensor
  self: grad
"""

KERNEL = """\
#include "op_plugin/OpApiInterface.h"
namespace op_api {{
at::Tensor {name}(const at::Tensor& x, const at::Tensor& y)
{{
    return x;
}}
}} // namespace op_api
"""


def _put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())


def current(root: Path, yaml: str = CURRENT, derivatives: str = CURRENT_DERIVATIVES) -> Path:
    """Today's layout, and that of 6.0.rc3 with RC3_DERIVATIVES."""
    _put(root / "gencode.sh", "python3 -m torchnpugen.gen_op_plugin_functions\n")
    _put(root / "op_plugin/config/op_plugin_functions.yaml", yaml)
    _put(root / "op_plugin/config/derivatives.yaml", derivatives)
    _put(root / "op_plugin/ops/opapi/FirstKernelNpuOpApi.cpp", "// first\n")
    return root


def old(root: Path, versions: tuple[str, ...] = ("v2r1", "v2r2"), *, decoy: bool = False) -> Path:
    """Up to 6.0.rc2; ``decoy``: with that release's top-level YAML, which nothing reads."""
    _put(root / "gencode.sh", "python3 -m codegen.gen_backend_stubs\n")
    for version in versions:
        _put(root / f"op_plugin/config/{version}/op_plugin_functions.yaml", OLD)
        _put(root / f"op_plugin/config/{version}/derivatives.yaml", OLD_DERIVATIVES)
        _put(root / f"op_plugin/ops/{version}/opapi/FirstKernelNpuOpApi.cpp", "// first\n")
    if decoy:
        _put(
            root / "op_plugin/config/op_plugin_functions.yaml",
            "official:\ncustom:\n  - func: npu_first(Tensor self) -> Tensor\n",
        )
    return root


def operator(
    folder: Path,
    name: str = "npu_add_custom",
    *,
    signature: str = "(Tensor x, Tensor y) -> Tensor",
    keys: str = "    op_api: all_version\n",
    kernel: bool = True,
    derivative: bool = True,
) -> Path:
    _put(folder / "op_plugin_functions.yaml", f"  - func: {name}{signature}\n{keys}")
    if kernel:
        _put(folder / f"{name}Kernel.cpp", KERNEL.format(name=name))
    if derivative:
        _put(folder / "derivatives.yaml", f"- name: {name}{signature}\n  x: grad\n  y: grad\n  version: all_version\n")
    return folder


def snapshot(root: Path) -> dict[str, tuple[bytes, int]]:
    """Every file's bytes and mode, and every folder."""
    found = {}
    for path in sorted(root.rglob("*")):
        if ".git" in path.relative_to(root).parts:
            continue
        content = path.read_bytes() if path.is_file() else b"<folder>"
        found[path.relative_to(root).as_posix()] = (content, path.stat().st_mode)
    return found
