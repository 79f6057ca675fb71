"""The pair of wheels."""

import re
from pathlib import Path

import pytest

from ophook_npu import doctor
from ophook_npu.errors import OphookError
from ophook_npu.npu import installed
from ophook_npu.npu.installed import Wheel


def test_the_installed_pair_fits() -> None:
    torch, torch_npu = installed.require()
    assert torch.release == torch_npu.release and (torch.path / "lib").is_dir()


def test_wrong_pair_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installed, "torch_wheel", lambda: Wheel("torch", "2.12.1+cpu", Path()))
    monkeypatch.setattr(installed, "torch_npu_wheel", lambda: Wheel("torch_npu", "2.13.0", Path()))
    with pytest.raises(
        OphookError, match=r"torch 2.12.1\+cpu and torch_npu 2.13.0 are no pair.*pip install .* torch==2.13"
    ):
        installed.require()


def test_what_is_too_old_is_told_with_what_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installed, "torch_wheel", lambda: Wheel("torch", "2.6.0+cpu", Path()))
    monkeypatch.setattr(installed, "torch_npu_wheel", lambda: Wheel("torch_npu", "2.6.0.post5", Path()))
    with pytest.raises(OphookError, match=r"2.6.0.post5 is older .*allowed: 2.7 or later; run so far: 2.7, 2.8"):
        installed.require()
    page = (Path(__file__).parents[3] / "docs" / "versions.md").read_text(encoding="utf-8")
    assert all(re.search(rf"(\| |torch_npu ){version}\.", page) for version in installed.RAN)


def _torch_in(folder: Path, version: str, cuda: str) -> Wheel:
    lines = [
        "from typing import Optional",
        f"__version__ = '{version}'",
        f"cuda: Optional[str] = {cuda}",
        "hip: Optional[str] = None",
    ]
    (folder / "version.py").write_text("\n".join(lines) + "\n")
    return Wheel("torch", version, folder)


def test_a_torch_with_cuda_is_refused_before_torch_npu_ends_the_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def pair(version: str, cuda: str) -> None:
        monkeypatch.setattr(installed, "torch_wheel", lambda: _torch_in(tmp_path, version, cuda))
        monkeypatch.setattr(installed, "torch_npu_wheel", lambda: Wheel("torch_npu", version.split("+")[0], Path()))

    pair("2.13.0+cu130", "'13.0'")
    with pytest.raises(OphookError, match=r"is a build with CUDA 13\.0.*.*CPU.*-index-url http.* torch==2\.13\.0\+cpu"):
        installed.require()
    assert [row.topic for row in doctor._wheels() if row.status == "fail"][:1] == ["torch"]
    pair("2.13.0+cpu", "None")
    assert installed.require()
    pair("2.10.0+cu128", "'12.8'")  # runs next to torch_npu 2.10
    assert installed.require()
    assert installed.cuda_of(Wheel("torch", "2.13.0", tmp_path / "nowhere")) is None


@pytest.mark.parametrize("absent", ["torch", "torch_npu"])
def test_absent_wheel_is_named(monkeypatch: pytest.MonkeyPatch, absent: str) -> None:
    monkeypatch.setattr(installed, f"{absent}_wheel", lambda: None)
    with pytest.raises(OphookError, match=rf"\[{absent}\] it is not installed.*pip install"):
        installed.require()


def test_operators_in_torch_npus_own_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["npu_add_custom", "npu_rms_norm_custom"]
    library = tmp_path / "lib/libtorch_npu.so"
    library.parent.mkdir()
    wheel = Wheel("torch_npu", "2.10.0+git1234567", tmp_path)
    assert installed.built_in(names, wheel) == []
    library.write_bytes(b"")
    assert installed.built_in(names, wheel) == []
    # A text about the operator is not the operator.
    library.write_bytes(b"ELF\0[npu_add_custom] x has\0aclnn_npu_rms_norm_custom(Tensor\0")
    assert installed.built_in(names, wheel) == []
    library.write_bytes(b"ELF\0npu_add_custom(Tensor x, Tensor y) -> Tensor\0")
    assert installed.built_in(names, wheel) == ["npu_add_custom"]
    monkeypatch.setattr(installed, "torch_npu_wheel", lambda: wheel)
    (found,) = doctor._built_in()
    assert found.status == "ok"
    assert found.text == "built from source with npu_add_custom in it: no extension is needed"


def test_the_published_torch_npu_has_operators_of_its_own_and_none_of_ours() -> None:
    assert installed.built_in(["npu_rms_norm", "npu_add_custom"]) == ["npu_rms_norm"]
    assert doctor._built_in() == []
