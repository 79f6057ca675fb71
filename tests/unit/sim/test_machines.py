"""The machines that a simulator is built for."""

import platform
from pathlib import Path

import pytest

from ophook_npu.errors import OphookError
from ophook_npu.sim.build import _lay_out_releases, _require_platform


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_a_toolkit_names_its_machine_as_cann_does(
    machine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: machine)
    _require_platform()
    _lay_out_releases(tmp_path)
    told = {path.parent.name: path.read_text() for path in tmp_path.glob("cann-*/*-linux/ascend_toolkit_install.info")}
    assert set(told) == {f"{machine}-linux"}
    assert f"arch={machine}\n" in told[f"{machine}-linux"]
    # Builds take this file for a toolkit and read the release from it, such as InfiniTensor/ascendcl's.
    for file in tmp_path.glob("cann-*/version.cfg"):
        release = file.parent.name.removeprefix("cann-")
        assert f"toolkit_running_version=[{release}:{release}]\n" in file.read_text()


def test_another_machine_is_refused_with_those_that_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    with pytest.raises(OphookError, match=r"riscv64 is not supported.*(?s:.)*x86_64 or aarch64"):
        _require_platform()
