"""Where the package decides it is: Ascend host, simulated Ascend, or half-installed."""

from pathlib import Path

import pytest

from ophook_npu.errors import OphookError
from ophook_npu.npu import place


def cann(folder: Path, *, without: str = "") -> Path:
    (folder / "lib64").mkdir(parents=True)
    for name in place.LIBRARIES:
        if name != without:
            (folder / "lib64" / name).touch()
    return folder


def devices(folder: Path, count: int) -> Path:
    folder.mkdir()
    for index in range(count):
        (folder / f"davinci{index}").touch()
    (folder / "davinci_manager").touch()
    return folder


def test_nothing_here_means_the_simulator(tmp_path: Path) -> None:
    host = place.detect({}, tmp_path, tmp_path / "none")
    assert host.problem is None
    assert place.choose("auto", host) == "sim"
    with pytest.raises(
        OphookError, match=r"\[device\] no Ascend NPU here.*next: set ASCEND_HOME_DIR, or use --device sim"
    ):
        place.choose("npu", host)


@pytest.mark.parametrize("variable", ["ASCEND_HOME_DIR", "ASCEND_HOME_PATH", None])
def test_complete_host(tmp_path: Path, variable: str | None) -> None:
    home = cann(tmp_path / "cann")
    environ = {variable: str(home)} if variable else {}
    host = place.detect(environ, devices(tmp_path / "dev", 2), home if not variable else tmp_path / "none")
    assert host.is_ascend and host.home == home and len(host.devices) == 2
    assert place.choose("auto", host) == "npu"
    assert place.choose("sim", host) == "sim"


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_a_toolkit_as_it_lies_on_either_machine(tmp_path: Path, machine: str) -> None:
    """Its lib64 is a link into the folder of the machine, and `latest` is a link to the release."""
    release = cann(tmp_path / "8.5.0" / f"{machine}-linux").parent
    (release / "lib64").symlink_to(f"{machine}-linux/lib64")
    latest = tmp_path / "latest"
    latest.symlink_to("8.5.0")
    (tmp_path / "set_env.sh").write_text(f"export ASCEND_OPP_PATH={latest}/opp LD_LIBRARY_PATH={latest}/lib64\n")
    host = place.detect({}, devices(tmp_path / "dev", 1), latest)
    assert host.is_ascend and place.choose("auto", host) == "npu"
    environ = place.ascend_environment(latest, {"PATH": "/usr/bin:/bin"})
    assert (Path(environ["LD_LIBRARY_PATH"]) / "libascendcl.so").resolve().parent.parent.name == f"{machine}-linux"


@pytest.mark.parametrize(
    ("break_it", "message"),
    [
        ("library", r"lacks lib64/libge_runner.so"),
        ("devices", r"there is no NPU"),
        ("cann", r"there are NPUs .*davinci0.* but no CANN"),
        ("folder", r"ASCEND_HOME_DIR=.* is not a folder"),
    ],
)
def test_half_installed_is_an_error_not_a_simulator(tmp_path: Path, break_it: str, message: str) -> None:
    home = cann(tmp_path / "cann", without="libge_runner.so" if break_it == "library" else "")
    dev = devices(tmp_path / "dev", 0 if break_it == "devices" else 1)
    environ = {"cann": {}, "folder": {"ASCEND_HOME_DIR": str(tmp_path / "gone")}}.get(
        break_it, {"ASCEND_HOME_DIR": str(home)}
    )
    host = place.detect(environ, dev, tmp_path / "none")
    for device in ("auto", "npu"):
        with pytest.raises(OphookError, match=message) as caught:
            place.choose(device, host)
        assert caught.value.todo
    assert place.choose("sim", host) == "sim"


def test_the_simulator_is_not_taken_for_cann(tmp_path: Path) -> None:
    for home in (tmp_path, tmp_path / "cann-8.5.0"):
        environ = {"ASCEND_HOME_PATH": str(home), "OPHOOK_SIM_ROOT": str(tmp_path)}
        assert place.detect(environ, tmp_path, tmp_path / "none").home is None
    environ = {"ASCEND_HOME_PATH": str(tmp_path), "OPHOOK_SIM_ROOT": f"{tmp_path}/sim"}
    assert place.detect(environ, tmp_path, tmp_path / "none").home == tmp_path


def test_unknown_device() -> None:
    with pytest.raises(OphookError, match=r"unknown device 'gpu'; allowed: auto, sim, npu, cpu"):
        place.choose("gpu", place.detect({}, Path("/nonexistent")))


def test_environment_comes_from_set_env(tmp_path: Path) -> None:
    home = cann(tmp_path / "with space")
    (home / "set_env.sh").write_text(
        'export ASCEND_OPP_PATH="$1here"; export LD_LIBRARY_PATH=/cann/lib64; echo noise\n'
    )
    environ = place.ascend_environment(home, {"PATH": "/usr/bin:/bin", "KEEP": "a\nb"})
    assert environ["ASCEND_OPP_PATH"] == "here" and environ["KEEP"] == "a\nb"
    (home / "set_env.sh").write_text("echo broken >&2; exit 3\n")
    with pytest.raises(OphookError, match=r"set_env.sh failed: broken"):
        place.ascend_environment(home, {"PATH": "/usr/bin:/bin"})
    (home / "set_env.sh").unlink()
    with pytest.raises(OphookError, match=r"no set_env.sh"):
        place.ascend_environment(home, {})
