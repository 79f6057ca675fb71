"""npu-smi: the layout of the real one, read as projects read it, and memory in use as it is."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ophook_npu import sim

ROOT = sim.active()
TOOL = str(ROOT / "bin" / "npu-smi") if ROOT else "npu-smi"


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not among the other processes of this user."""
    monkeypatch.setenv("OPHOOK_SIM_LEDGER", str(tmp_path / "ledger"))
    for name in ("OPHOOK_SIM_SOC", "OPHOOK_SIM_DEVICES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPHOOK_SIM_MEMORY", str(8 << 30))


def smi(*arguments: str, **environment: str) -> str:
    result = subprocess.run([TOOL, *arguments], capture_output=True, text=True, env={**os.environ, **environment})
    assert result.returncode == 0, result.stderr
    return result.stdout


HOLD = """
import torch
torch.npu.set_device({device})  # before anything opens device 0
held = torch.empty(100 << 20, dtype=torch.uint8, device="npu:{device}")
torch.npu.synchronize()
print("ready", flush=True)
input()
del held
torch.npu.empty_cache()
print("freed", flush=True)
input()
"""


# The same of a program without torch, which starts at once.
HOLD_BY_ACL = """
import ctypes
acl, held = ctypes.CDLL("libascendcl.so"), ctypes.c_void_p()
assert acl.aclInit(None) == acl.aclrtSetDevice({device}) == 0
assert acl.aclrtMalloc(ctypes.byref(held), ctypes.c_size_t(100 << 20), 0) == 0
print("ready", flush=True)
input()
"""


@pytest.fixture
def holding(request: pytest.FixtureRequest) -> Iterator[subprocess.Popen[str]]:
    """A process that holds 100 MiB of the device."""
    command = [sys.executable, "-c", getattr(request, "param", HOLD_BY_ACL).format(device=1)]
    environ = {**os.environ, "OPHOOK_SIM_DEVICES": "2"}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environ) as process:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        yield process
        process.kill()


def test_the_table_has_the_real_ones_frame() -> None:
    lines = smi("info", OPHOOK_SIM_DEVICES="2").splitlines()
    assert {len(line) for line in lines} == {98} and all(line[0] + line[-1] in ("||", "++") for line in lines)
    assert re.match(r"\| npu-smi (\S+) +Version: (\S+) +\|$", lines[1])
    assert lines[3].split() == ["|", "NPU", "Name", "|", "Health", "|", "Power(W)", "Temp(C)", "Hugepages-Usage(page)|"]
    assert lines[4].split() == ["|", "Chip", "|", "Bus-Id", "|", "AICore(%)", "Memory-Usage(MB)", "HBM-Usage(MB)", "|"]
    # What cannot be read from a simulated device is not invented.
    assert [cell.split() for cell in lines[6].split("|")[1:-1]] == [["0", "910B4"], ["OK"], ["-", "-", "0", "/", "0"]]
    row = [cell.split() for cell in lines[7].split("|")[1:-1]]
    assert row == [["0"], ["-"], ["-", "0", "/", "0", "0", "/", "8192"]]
    assert [line for line in lines if "No running processes found in NPU 1" in line]


def by_card(text: str) -> dict[int, tuple[str, int, int]]:
    """As vllm-ascend's and others' parsers do: two rows a chip; the last `used / total` of the second is the HBM."""
    found = {}
    rows = re.findall(
        r"^\|\s+(\d+)\s+(\S+)\s+\|\s*(\w+)\s*\|[^|]*\|\n\|\s+(\d+)[^|]*\|[^|]*\|[^|]*?(\d+)\s*/\s*(\d+)\s*\|$",
        text,
        re.M,
    )
    for npu, name, health, _chip, used, total in rows:
        assert health == "OK"
        found[int(npu)] = (name, int(used), int(total))
    return found


@pytest.mark.parametrize("holding", [HOLD], indirect=True, ids=["torch"])
def test_memory_in_use_is_what_processes_hold(holding: subprocess.Popen[str]) -> None:
    def seen() -> str:
        return smi("info", OPHOOK_SIM_DEVICES="2")

    text = seen()
    assert by_card(text)[0] == ("910B4", 0, 8192)
    name, used, total = by_card(text)[1]
    assert (name, total) == ("910B4", 8192) and 100 <= used < 200
    rows = re.findall(r"^\| +(\d+) +(\d+) +\| +(\d+) +\| (\S+) +\| (\d+) +\|$", text, re.M)
    assert rows == [("1", "0", str(holding.pid), rows[0][3], str(used))] and rows[0][3].startswith("python")
    assert "No running processes found in NPU 0" in text and "found in NPU 1" not in text
    assert holding.stdin is not None and holding.stdout is not None
    holding.stdin.write("\n")
    holding.stdin.flush()
    assert holding.stdout.readline() == "freed\n"
    assert by_card(seen())[1][1] < used - 99
    assert str(holding.pid) in seen()  # it still has the device open


def test_a_process_that_was_killed_is_gone(holding: subprocess.Popen[str], tmp_path: Path) -> None:
    assert str(holding.pid) in smi("info", OPHOOK_SIM_DEVICES="2")
    assert len(list((tmp_path / "ledger").iterdir())) == 1
    holding.send_signal(signal.SIGKILL)
    holding.wait()
    assert "No running processes found in NPU 1" in smi("info", OPHOOK_SIM_DEVICES="2")
    assert not list((tmp_path / "ledger").iterdir())


def test_processes_of_another_machine_are_not_on_this_one(holding: subprocess.Popen[str]) -> None:
    text = smi("info", OPHOOK_SIM_DEVICES="2", OPHOOK_SIM_SOC="Ascend910B1")
    assert "No running processes found in NPU 1" in text and by_card(text)[1][:2] == ("910B1", 0)


def test_usages_and_processes_of_one_npu(holding: subprocess.Popen[str]) -> None:
    usages = dict(
        re.findall(r"^\s*(.+?)\s+: (.+)$", smi("info", "-t", "usages", "-i", "1", OPHOOK_SIM_DEVICES="2"), re.M)
    )
    assert usages["HBM Capacity(MB)"] == "8192" and usages["HBM Usage Rate(%)"] in ("1", "2")
    assert usages["Aicore Usage Rate(%)"] == "NA"
    listed = smi("info", "-t", "proc-mem", "-i", "1", "-c", "0", OPHOOK_SIM_DEVICES="2")
    assert re.search(rf"Process id:{holding.pid}\s+Process name:python\S*\s+Process memory\(MB\):1\d\d\b", listed)
    assert "No process in device." in smi("info", "-t", "proc-mem", "-i", "0", OPHOOK_SIM_DEVICES="2")


def test_a_forked_child_does_not_change_its_parents_figures() -> None:
    code = """
import ctypes, os, subprocess, sys
core = ctypes.CDLL("libophook_sim_core.so")
assert core.sim_init() == 0 and core.sim_set_device(0) == 0
def more(mib):
    assert core.sim_malloc(ctypes.c_size_t(mib << 20), ctypes.byref(ctypes.c_void_p())) == 0
more(10)
if os.fork() == 0:
    more(20)
    sys.exit(0)
os.wait()
print(subprocess.run(["npu-smi", "info", "-t", "proc-mem", "-i", "0"], capture_output=True, text=True).stdout)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.count("Process id:") == 1 and "Process memory(MB):10\n" in done.stdout, done.stderr


def test_a_folder_of_somebody_else_is_not_used(tmp_path: Path) -> None:
    open_to_all = tmp_path / "open"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    code = "import torch; print(torch.ones(2).npu().sum().item())"
    environ = {**os.environ, "OPHOOK_SIM_LEDGER": str(open_to_all)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environ)
    assert done.stdout == "2.0\n" and not list(open_to_all.iterdir()), done.stderr


def test_lists() -> None:
    assert smi("info", "-l", OPHOOK_SIM_DEVICES="2").split("\n\n") == [
        "\tTotal Count                    : 2",
        "\tNPU ID                         : 0\n\tChip Count                     : 1",
        "\tNPU ID                         : 1\n\tChip Count                     : 1\n",
    ]
    head, *rows = smi("info", "-m", OPHOOK_SIM_DEVICES="2").strip().split("\n")
    assert re.split(r"\s{2,}", head.strip()) == ["NPU ID", "Chip ID", "Chip Logic ID", "Chip Name"]
    assert [row.split(None, 3) for row in rows] == [["0", "0", "0", "Ascend 910B4"], ["1", "0", "1", "Ascend 910B4"]]
    assert {len(row.split()) for row in rows} == {5}  # what some count devices by


@pytest.mark.parametrize("soc", ["Ascend910B1", "Ascend910B4", "Ascend910_9391", "Ascend950PR_9589", "Ascend310P3"])
def test_the_soc_is_found_as_projects_find_it(soc: str) -> None:
    """`Ascend<Chip Name>` where there is no NPU Name, else `<Chip Name>_<NPU Name>`."""
    npu, chip = smi("info", "-m", OPHOOK_SIM_SOC=soc).splitlines()[1].split()[:2]
    board = smi("info", "-t", "board", "-i", npu, "-c", chip, OPHOOK_SIM_SOC=soc)
    fields = {line.split(":")[0].strip(): line.split()[-1] for line in board.splitlines()}
    name = fields["Chip Name"]
    assert (f"{name}_{fields['NPU Name']}" if "NPU Name" in fields else f"Ascend{name}") == soc
    assert fields["PCIe Bus Info"] == fields["Firmware Version"] == "NA"


def test_two_chips_of_a_card() -> None:
    environ = {"OPHOOK_SIM_SOC": "Ascend910_9392", "OPHOOK_SIM_DEVICES": "4"}
    assert [row.split() for row in smi("info", "-m", **environ).splitlines()[1:]] == [
        [str(device // 2), str(device % 2), str(device), "Ascend910"] for device in range(4)
    ]
    text = smi("info", **environ)
    assert "Phy-ID" in text and text.count("No running processes") == 2
    assert len(re.findall(r"^\| [01]     [0-3]  ", text, re.M)) == 4


def test_the_whole_board() -> None:
    fields = dict(re.findall(r"^\s*(.+?)\s+: (.+)$", smi("info", "-t", "board", "-i", "0"), re.M))
    assert fields["NPU ID"] == "0" and fields["Chip Count"] == "1"
    assert {fields[name] for name in ("Product Name", "Serial Number", "Software Version", "PCIe Bus Info")} == {"NA"}


def fields(text: str) -> list[tuple[str, str]]:
    return re.findall(r"^\t(.{30}) : (.+)$", text, re.M)


def test_what_is_common_to_chips() -> None:
    """As op-plugin's test of advance_step_flashattn counts the cores; what a simulated device has not is NA."""
    text = smi("info", "-t", "common", "-i", "0")
    found = {name.strip(): value for name, value in fields(text)}
    assert found["Aicore Count"] == "20" and int(re.search("Aicore Count.*", text)[0][-3:]) == 20  # type: ignore[index]
    assert found["HBM Usage Rate(%)"] == "0" and found["Temperature(C)"] == found["Aicore Usage Rate(%)"] == "NA"
    one = smi("info", "-t", "common", "-i", "0", "-c", "0")
    assert [name for name, _ in fields(text)][3:] == [name for name, _ in fields(one)]


def test_health_temperature_and_power() -> None:
    two = {"OPHOOK_SIM_SOC": "Ascend910_9392", "OPHOOK_SIM_DEVICES": "2"}
    each = [(name.strip(), value) for name, value in fields(smi("info", "-t", "health", "-i", "0", **two))]
    chips = [pair for chip in "01" for pair in (("Chip ID", chip), ("Health", "OK"))]
    assert each == [("NPU ID", "0"), ("Chip Count", "2"), *chips]
    one = [(name.strip(), value) for name, value in fields(smi("info", "-t", "health", "-i", "0", "-c", "1", **two))]
    assert one == [("Health Status", "OK"), ("Error Code", "NA"), ("Error Information", "NA")]
    assert smi("info", "-t", "temp", "-i", "0", "-c", "0").split() == ["Temperature", "(C)", ":", "NA"]
    assert smi("info", "-t", "power", "-i", "0", "-c", "0").split() == ["NPU", "Real-time", "Power(W)", ":", "NA"]


def test_topology_is_what_acl_tells() -> None:
    table, _legend = smi("info", "-t", "topo", OPHOOK_SIM_DEVICES="3").split("\n\nLegend")
    head, *rows = (line.split() for line in table.splitlines())
    assert head == ["NPU0", "NPU1", "NPU2", "CPU", "Affinity"]
    cpus = Path("/sys/devices/system/cpu/online").read_text().strip()
    links = [["X" if at == other else "HCCS" for other in range(3)] for at in range(3)]
    assert rows == [[f"NPU{at}", *links[at], cpus] for at in range(3)]


def test_watch_writes_a_row_a_second(holding: subprocess.Popen[str]) -> None:
    environ = {**os.environ, "OPHOOK_SIM_DEVICES": "2"}
    command = [TOOL, "info", "watch", "-i", "1", "-s", "tm"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environ) as process:
        assert process.stdout is not None
        head, *rows = (process.stdout.readline().split() for _ in range(3))
        process.kill()
    assert head == ["NpuID(Idx)", "ChipId(Idx)", "Temp(C)", "Memory(%)"] and rows == [["1", "0", "NA", "1"]] * 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["info", "-t", "ecc", "-i", "0"], "`info -t ecc` is not simulated; allowed: board, common, health, memory"),
        (["info", "-t", "topo", "-i", "0"], "info -t topo is of the whole machine"),
        (["info", "-t", "board"], "info -t board needs -i NPU"),
        (["info", "-t", "board", "-i", "1"], "-i 1; this machine has 0 to 0"),
        (["info", "-t", "board", "-i", "0", "-c", "x"], "-c x; this machine has 0 to 0"),
        (["info", "watch", "-s", "u"], "`info watch -s u` is not simulated; allowed: the letters of ptaicmb"),
        (["info", "watch", "-d", "0"], "-d 0; allowed: 1 to 100 seconds"),
        (["info", "watch", "-x"], "`info watch -x` is not simulated"),
        (["set", "-t", "reset", "-i", "0"], "`set` is not simulated"),
    ],
)
def test_what_it_does_not_know_is_refused_by_name(arguments: list[str], message: str) -> None:
    result = subprocess.run([TOOL, *arguments], capture_output=True, text=True)
    assert result.returncode == 1 and result.stdout == "" and message in result.stderr


def test_help_and_version() -> None:
    from ophook_npu import __version__

    assert smi("-v").startswith(f"npu-smi version: {__version__}") and "info -t TYPE" in smi("-h")


def test_it_is_on_path_under_run_and_loads_no_torch() -> None:
    found = subprocess.run(["sh", "-c", "command -v npu-smi"], capture_output=True, text=True).stdout.strip()
    assert found == TOOL
    assert "torch" not in subprocess.run(["ldd", TOOL], capture_output=True, text=True).stdout
