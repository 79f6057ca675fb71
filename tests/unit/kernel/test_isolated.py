"""A run in a process of its own: results, errors, crashes and endless loops all come back."""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
from pathlib import Path

import numpy as np
import pytest

from ophook_npu import toolchain
from ophook_npu.errors import OphookError
from ophook_npu.kernel import build, isolated
from ophook_npu.kernel.build import hint
from ophook_npu.kernel.check import compare
from ophook_npu.kernel.pages import declared, pages

ROOT = Path(__file__).resolve().parents[3]


def test_value_comes_back() -> None:
    assert isolated.call(lambda: {"a": np.arange(3).tolist()}, 30) == {"a": [0, 1, 2]}


def test_error_comes_back_with_its_parts() -> None:
    def refuse() -> None:
        raise OphookError("tiling", "no", allowed="yes", todo="ask")

    with pytest.raises(OphookError, match=r"^\[tiling\] no; allowed: yes; next: ask$"):
        isolated.call(refuse, 30)


def test_crash_is_named() -> None:
    with pytest.raises(OphookError, match="SIGSEGV"):
        isolated.call(lambda: os.kill(os.getpid(), signal.SIGSEGV), 30)


def test_a_crash_of_the_host_side_has_its_line(tmp_path: Path) -> None:
    source, library = tmp_path / "tiling.cpp", tmp_path / build.HOST
    source.write_text("\nint tile(int* p) { return *p; }\n")
    subprocess.run([*toolchain.compiler(), "-g", "-shared", "-fPIC", "-o", library, source], check=True)
    symbols = subprocess.run(["nm", library], capture_output=True, text=True, check=True).stdout
    (at,) = (line.split()[0] for line in symbols.splitlines() if "tile" in line)
    assert build.place(f"/usr/lib/libc.so.6 10\n{library} {at}\n") == f" at {source}:2"


def test_endless_loop_is_ended() -> None:
    def loop() -> None:
        while True:
            pass

    with pytest.raises(OphookError, match="did not end within"):
        isolated.call(loop, 0.3)


def test_a_child_that_answers_and_does_not_leave_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolated.os, "_exit", lambda status: signal.pause())  # in the child; a fork's end can hang
    clock = isolated.time.monotonic
    start = clock()
    monkeypatch.setattr(isolated.time, "monotonic", lambda: start + 100 * (clock() - start))
    assert isolated.call(lambda: "here", 3000) == "here"


def test_compare_names_the_first_difference() -> None:
    a = np.array([[1.0, 2.0], [3.0, float("nan")]], np.float32)
    assert compare(a, a.copy()) == ""
    b = a.copy()
    b[1, 0] = 4
    off = "1 of 4 elements differ from the CPU's, first at [1, 0]: 3.0 and 4.0 (they may differ by 0.00041)"
    assert compare(a, b) == off
    assert compare(a > 1, np.array([[False, True], [False, True]])).startswith("2 of 4 elements differ")
    assert compare(a, a[0]) == "the shape is [2, 2], the reference has [2]"


def test_compare_takes_a_few_sums_that_cancel() -> None:
    wanted = np.full(40_000, 10.0, np.float32)
    wanted[:8] = 0
    got = wanted.copy()
    got[:4] = 9e-5  # 1e-5 of the root mean square
    assert compare(got, wanted) == ""
    got[:5] = 9e-5  # more than a ten-thousandth of the elements
    assert compare(got, wanted).startswith("5 of 40000 elements differ")
    got[:8] = [2e-4, 0, 0, 0, 0, 0, 0, 0]
    assert compare(got, wanted).startswith("1 of 40000 elements differ")
    got[0], wanted[8] = 0, float("nan")
    assert compare(got, wanted).startswith("1 of 40000 elements differ")


def test_hints() -> None:
    assert "not implemented here" in (hint("error: ‘Mmad’ is not a member of ‘AscendC’") or "")
    lacking = next(page for page in pages() if "A2" in page.products and page.name not in declared())
    told = hint(f"error: ‘{lacking.name}’ is not a member of ‘AscendC’")
    assert told and f"{lacking.name} is documented ({lacking.chapter}) and not implemented here" in told
    assert "for Ascend950 alone" in (hint("error: ‘asc_mmad_mx’ was not declared in this scope") or "")
    assert "cube_datamove" in (hint("error: ‘asc_copy_l12l0c_sync’ was not declared in this scope") or "")
    assert "for Atlas A2 and Atlas A3 alone, not for Ascend950" in (
        hint("error: ‘asc_add_relu’ was not declared in this scope", "950") or ""
    )
    assert "DTYPE_X" in (hint("error: ‘DTYPE_X’ was not declared in this scope") or "")
    assert "for op_host" in (hint("fatal error: register/tilingdata_base.h: No such file or directory") or "")
    told = hint("error: ‘class AscendC::TPipe’ has no member named ‘GetBaseAddr’; did you mean ‘Reset’?")
    assert told and told.startswith("GetBaseAddr is documented (SIMD-API/基础API/资源管理/TPipe) and not")
    # Another class has it.
    told = hint("error: ‘class AscendC::GlobalTensor<float>’ has no member named ‘ReinterpretCast’")
    assert told and "for Ascend950 alone" in told
    assert hint("error: ‘class AscendC::TPipe’ has no member named ‘GetPhyAddr’") is None
    assert "set OPHOOK_KERNEL_CXX=clang++" in (
        hint("invalid use of incomplete type ‘struct tla::MakeIntegerSequenceImpl<tla::") or ""
    )
    for unknown in ("error: ‘half’ was not declared in this scope", "error: unknown type name '__gm__'"):
        assert "intrinsics" in (hint(unknown) or "")
    assert "plain pointers" in (hint("error: redefinition of ‘void get(half*, half*, int)’") or "")
    assert hint("error: redefinition of ‘int x’") is None
    assert hint("error: expected ‘;’") is None
    assert hint("error: ‘helper’ was not declared in this scope") is None


def test_every_page_is_in_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """docs/ascend-c-api.md is what the headers are now: scripts/ascend_c_pages.py writes it anew."""
    monkeypatch.syspath_prepend(ROOT / "scripts")
    assert (ROOT / "docs" / "ascend-c-api.md").read_text() == importlib.import_module("ascend_c_pages").document()
    ours = declared()
    assert {"DataCopyPad", "GetAcosTmpBufferFactorSize", "GET_TILING_DATA", "SetGlobalBuffer"} <= ours
    assert not {"basic_string", "unordered_map"} & ours  # of the C++ library that the headers include


def test_work_for_several_threads_ends_in_the_child() -> None:
    """What torch does with its threads: those of the parent are not in a fork of it."""
    import torch

    large = torch.randn(1 << 20)
    assert torch.equal(large.clone() + 1, 1 + large)  # starts the parent's threads
    assert isolated.call(lambda: float((large.clone() * 2).numel()), 60) == float(1 << 20)
