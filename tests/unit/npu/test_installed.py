"""The pair of wheels."""

from pathlib import Path

import pytest

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
        OphookError, match=r"torch 2.12.1\+cpu and torch_npu 2.13.0 are no pair.*pip install torch==2.13"
    ):
        installed.require()


@pytest.mark.parametrize("absent", ["torch", "torch_npu"])
def test_absent_wheel_is_named(monkeypatch: pytest.MonkeyPatch, absent: str) -> None:
    monkeypatch.setattr(installed, f"{absent}_wheel", lambda: None)
    with pytest.raises(OphookError, match=rf"\[{absent}\] it is not installed.*pip install"):
        installed.require()
