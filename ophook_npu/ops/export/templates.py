"""Kernels to start from, for `ophook-npu op new --template`: one of each kind, complete with declaration and tiling.

The files of a template are an operator's of its own name, in ``templates/``, or those of an operator that ships here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ophook_npu.soc import CSRC

_HERE = Path(__file__).with_name("templates")
_OPS, _VENDOR = Path(__file__).parents[1], CSRC / "vendor"

_INPUTS = '''\
"""What `ophook-npu kernel check` runs the kernel on: the declaration's examples, and larger ones."""

import runpy
from pathlib import Path

import torch

OPERATOR = runpy.run_path(str(Path(__file__).parents[1] / "operator.py"))["OPERATOR"]


def inputs():
    larger = [
{larger}    ]
    cases = [*OPERATOR.examples(), *larger]
    return [tuple(a.detach() if isinstance(a, torch.Tensor) else a for a in case) for case in cases]


def reference(*arguments):
    return OPERATOR.cpu(*arguments)
'''


@dataclass(frozen=True)
class Template:
    """``name``: of the template's own operator, whose type and functions are called after it."""

    name: str
    what: str
    larger: tuple[str, ...]  # arguments that do not fit a core's local memory, or leave tails

    def text(self, file: str) -> str | None:
        """One of ``operator``, ``kernel``, ``tiling_header``, ``host`` (all of it) and ``tiling`` (the function)."""
        stem = f"{self.name}_custom"
        own = {"operator": "operator.txt", "kernel": "kernel.cpp", "tiling_header": "tiling.h", "host": "host.cpp",
               "tiling": "tiling.cpp"}  # fmt: skip
        shipped = {"operator": _OPS / f"{stem}.py", "kernel": _VENDOR / "op_kernel" / f"{stem}.cpp",
                   "tiling_header": _VENDOR / "op_host" / f"{stem}_tiling.h",
                   "host": _VENDOR / "op_host" / f"{stem}.cpp"}  # fmt: skip
        folder = _HERE / self.name
        path = folder / own[file] if folder.is_dir() else shipped.get(file)
        return path.read_text(encoding="utf-8") if path is not None and path.is_file() else None

    def renamed(self, text: str, qualname: str, type: str, stem: str) -> str:
        """The text with the user's names in place of the template's."""
        own = f"{self.name}_custom"
        camel = "".join(part.capitalize() for part in own.split("_"))
        names = {f"npu::npu_{own}": qualname, own.upper(): stem.upper(), own: stem, camel: type}
        return re.sub("|".join(names), lambda found: names[found[0]], text)


def inputs(larger: Sequence[str]) -> str:
    """inputs.py of the Ascend C project; ``larger``: tuples of arguments, as text."""
    return _INPUTS.format(larger="".join(f"        {one},\n" for one in larger))


TEMPLATES = {
    "reduction": Template(
        "row_sum", "the sum of each row",
        ("(torch.rand(130, 5003),)", "(torch.rand(3, 40_001).half() / 1000,)", "(torch.rand(1, 70_000).bfloat16(),)"),
    ),
    "row_norm": Template(
        "rms_norm", "x / rms(x) * gamma over each row",
        ("(torch.randn(33, 2051), torch.randn(2051))", "(torch.randn(2, 30_011).half(), torch.randn(30_011).half())"),
    ),
    "matmul": Template(
        "matmul", "x (m, k) times weight (k, n) on the cube cores",
        ("(torch.randn(130, 95).half(), torch.randn(95, 517).half())",
         "(torch.randn(512, 300), torch.randn(300, 640))"),
    ),
    "attention": Template(
        "attention", "softmax(query keyᵀ scale) value for each head, on cube and vector cores",
        ("(torch.randn(4, 130, 64).half(), *torch.randn(2, 4, 517, 64).half(), 0.125)",
         "(torch.randn(2, 70, 32), *torch.randn(2, 2, 3001, 32), 0.2)"),
    ),
}  # fmt: skip
