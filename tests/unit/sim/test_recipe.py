"""What the simulator is made of is read once, and again after any change."""

import importlib
import os
from pathlib import Path

import pytest

build = importlib.import_module("ophook_npu.sim.build")  # the package has a function of that name


def test_a_change_is_seen_and_nothing_else_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = []
    source = tmp_path / "package" / "csrc" / "a.cpp"
    source.parent.mkdir(parents=True)
    source.write_text("one")
    monkeypatch.setenv("OPHOOK_NPU_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(build, "CSRC", source.parent)
    monkeypatch.setattr(build, "_recipe", lambda torch, torch_npu: read.append(source.read_text()) or f"of {read[-1]}")
    assert [build.recipe(), build.recipe(), read] == ["of one", "of one", ["one"]]
    written = source.stat()
    source.write_text("two")
    os.utime(source, ns=(written.st_atime_ns, written.st_mtime_ns))
    assert [build.recipe(), read] == ["of two", ["one", "two"]]
    monkeypatch.setenv("OPHOOK_SIM_CXXFLAGS", "-O0")
    assert [build.recipe(), len(read)] == ["of two", 3]
    (tmp_path / "cache" / "sim" / "recipe").write_bytes(b"\xff damaged")
    assert [build.recipe(), build.recipe(), len(read)] == ["of two", "of two", 4]
