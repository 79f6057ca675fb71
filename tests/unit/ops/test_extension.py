"""ops.extension: AddCustom's library that is built already is found without its declaration, which imports torch."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ophook_npu import toolchain
from ophook_npu.errors import OphookError
from ophook_npu.ops import extension


def test_what_is_built_is_found_by_its_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planned = []

    def plan(op: Any) -> SimpleNamespace:
        def build(staging: Path, progress: object, keep_headers: bool) -> None:
            (staging / "libadd.so").write_text(f"library {len(planned)}")

        planned.append(op.name)
        return SimpleNamespace(soname="libadd.so", recipe=f"{len(planned)}", link_flags=(), build=build)

    monkeypatch.setenv("OPHOOK_NPU_CACHE", str(tmp_path))
    monkeypatch.setattr(extension, "_plan", plan)
    monkeypatch.setattr(extension.prebuilt, "fitting", lambda: None)
    library = extension.build()
    assert extension.build() == library and library.read_text() == "library 1" and planned == ["npu_add_custom"]

    monkeypatch.setattr(toolchain, "compiler_version", lambda command: "g++ (another) 99.1")
    assert extension.build().read_text() == "library 2" and len(planned) == 2

    extension.build().write_text("somebody else's")
    with pytest.raises(OphookError, match=r"libadd\.so was changed"):
        extension.build()


def test_neither_the_module_nor_the_sources_import_torch() -> None:
    code = "import sys; from ophook_npu.ops import extension; extension._sources(); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
