"""`ophook-npu kernel check` as a user runs it, also on a project with a fault and one that does not compile."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[3] / "op_plugin_patch" / "ascendc"
INPUTS = """
import numpy as np

def inputs():
    return [(np.arange(70, dtype=np.float32), np.arange(70, dtype=np.float32))]

def reference(x, y):
    return x + y
"""


def plain(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """In a shell that has nothing set."""
    command = [sys.executable, "-m", "ophook_npu", "kernel", "check", *map(str, arguments)]
    environ = {name: os.environ[name] for name in ("HOME", "PATH", "OPHOOK_NPU_CACHE", "LANG") if name in os.environ}
    return subprocess.run(command, capture_output=True, text=True, timeout=300, env=environ)


Check = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def check(run_python: Check) -> Check:
    return lambda *arguments: run_python("-m", "ophook_npu", "kernel", "check", *map(str, arguments))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy that a test may change, in a folder whose name is no plain word."""
    folder = tmp_path / "my ópérator"
    for name in ("op_host", "op_kernel"):
        shutil.copytree(PROJECT / name, folder / name)
    (folder / "inputs.py").write_text(INPUTS)
    return folder


def change(project: Path, old: str, new: str) -> int:
    """Replaces ``old`` in the kernel; the line where that is."""
    source = project / "op_kernel" / "add_custom.cpp"
    text = source.read_text()
    assert text.count(old) == 1
    source.write_text(text.replace(old, new))
    return text[: text.index(old)].count("\n") + 1


def test_the_repositorys_operator_passes(tmp_path: Path) -> None:
    done = plain(PROJECT, "--json", tmp_path / "out.json")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "AddCustom: 5 runs, 0 failed; 0 errors, 0 others" in done.stdout
    (result,) = json.loads((tmp_path / "out.json").read_text())
    assert result["operator"] == "AddCustom" and not result["failed"] and not result["findings"]


def test_a_fault_is_told_with_its_line(check: Check, project: Path) -> None:
    line = change(
        project, "AscendC::DataCopyPad(z_[offset], z, copy);", "(void)copy; AscendC::DataCopy(z_[offset], z, length);"
    )
    done = check(project, "--inputs", project / "inputs.py", "--cores", "1")
    assert done.returncode == 1, done.stdout + done.stderr
    assert (
        f"add_custom.cpp:{line}: error: DataCopy: a length of 280 bytes is no multiple of 32 [alignment]" in done.stdout
    )
    assert "next: use DataCopyPad" in done.stdout
    assert "1 finding of missing values behind it" in done.stdout and "[unwritten]" not in done.stdout
    assert "6 of 70 elements differ" in done.stdout
    again = check(project, "--inputs", project / "inputs.py", "--cores", "1", "--format", "sarif")
    (run,) = json.loads(again.stdout)["runs"]
    places = [one["locations"][0]["physicalLocation"] for one in run["results"] if one["ruleId"] == "alignment"]
    assert again.returncode == 1 and [place["region"]["startLine"] for place in places] == [line]
    assert run["tool"]["driver"]["name"] == "ophook-npu kernel check"


def test_a_call_that_is_not_there_is_named(check: Check, project: Path) -> None:
    line = change(project, "AscendC::Add(z, x, y, length);", "AscendC::SoftPlus(z, x, y, length);")
    done = check(project, "--inputs", project / "inputs.py")
    assert done.returncode == 2
    assert f"add_custom.cpp:{line}" in done.stderr and "SoftPlus" in done.stderr
    assert "AscendC::SoftPlus is not implemented here" in done.stderr


def test_an_endless_loop_ends(check: Check, project: Path) -> None:
    change(project, "    op.Process();", "    for (volatile bool on = true; on;) {}\n    op.Process();")
    done = check(project, "--inputs", project / "inputs.py", "--timeout", "1")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "did not end within 1 s" in done.stdout


def test_a_crash_is_a_result(check: Check, project: Path) -> None:
    line = change(project, "    op.Process();", "    *reinterpret_cast<volatile int*>(8) = 1;\n    op.Process();")
    told = project / "told.json"
    done = check(project, "--inputs", project / "inputs.py", "--json", told)
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"the kernel ends its process: SIGSEGV at {project}/op_kernel/add_custom.cpp:{line}\n" in done.stdout
    assert {one["where"] for one in json.loads(told.read_text())[0]["outcomes"]} == {"crash"}


def test_an_ascend310p_has_no_bfloat16(check: Check) -> None:
    done = check(PROJECT, "--soc", "Ascend310P3")
    assert done.returncode == 1 and "AddCustom: 5 runs, 1 failed" in done.stdout, done.stdout + done.stderr
    assert "Cast: bfloat16_t to float" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--soc", "Ascend910B9"], "unknown SoC 'Ascend910B9'"),
        (["--dma", "late"], "--dma late"),
        (["--format", "junit"], "--format junit"),
        (["--op", "Sub"], "no operator Sub"),
        (["--inputs", "nowhere.npy"], "no such file: nowhere.npy"),
        (["--timeout", "0"], "--timeout 0"),
        (["--json", "/nowhere/out.json"], "/nowhere/out.json cannot be written"),
    ],
)
def test_wrong_use_is_refused(check: Check, arguments: list[str], text: str) -> None:
    done = check(PROJECT, *arguments)
    assert done.returncode == 2, done.stdout + done.stderr
    assert text in done.stderr


def test_sources_may_lie_in_a_folder_for_each_operator(check: Check, project: Path) -> None:
    for name in ("op_host", "op_kernel"):
        (project / name / "add_custom").mkdir()
        for source in (project / name).glob("*.cpp"):
            source.rename(project / name / "add_custom" / source.name)
    headers = project.parent / "headers"
    headers.mkdir()
    (project / "op_host" / "add_custom_tiling.h").rename(headers / "add_custom_tiling.h")
    done = check(project, "-I", headers)  # with the project's own inputs.py
    assert done.returncode == 0 and "AddCustom: 1 run, 0 failed; 0 errors" in done.stdout, done.stdout + done.stderr
    without = check(project)
    assert without.returncode == 2 and "add_custom_tiling.h: No such file" in without.stderr, without.stderr


def test_the_opdef_may_name_the_kernel(check: Check, project: Path) -> None:
    """By its file and its function, for each product. It needs no extern "C"."""
    named = [
        f'    OpAICoreConfig of_{soc}; of_{soc}.ExtendCfgInfo("opFile.value", "{name}_file")'
        f'.ExtendCfgInfo("opInterface.value", "{name}");\n    this->AICore().AddConfig("{soc}", of_{soc});\n'
        for soc, name in (("ascend950", "no_sum"), ("ascend910b", "sum_w_u"))
    ]
    host, kernel = project / "op_host" / "add_custom.cpp", project / "op_kernel" / "add_custom.cpp"
    host.write_text(host.read_text().replace("        this->AICore()", "".join(named) + "        this->AICore()", 1))
    kernel.write_text(
        kernel.read_text().replace(
            'extern "C" __global__ __aicore__ void add_custom(', "__global__ __aicore__ void sum_w_u("
        )
    )
    kernel.rename(kernel.with_name("sum_w_u_file.cpp"))
    done = check(project)
    assert done.returncode == 0 and "AddCustom: 1 run, 0 failed; 0 errors" in done.stdout, done.stdout + done.stderr


def test_host_code_as_the_vendors_repositories_have_it(check: Check, project: Path) -> None:
    """A tiling that calls another product's, messages by opbase's macros, securec.h through the contexts."""
    folder = project / "op_host" / "op_tiling"
    (folder / "arch35").mkdir(parents=True)
    (folder / "arch35" / "other.h").write_text("int other_product(int);\n")
    (folder / "arch35" / "other.cpp").write_text('#include "other.h"\nint other_product(int x) { return x; }\n')
    (folder / "arch20").mkdir()
    (folder / "arch20" / "older.cpp").write_text("#error nobody includes a header of this folder\n")
    (folder / "both.cpp").write_text(
        """#include "arch35/other.h"
#include "exe_graph/runtime/tiling_context.h"
#include "log/log.h"
int both(gert::TilingContext* context) {
  int values[4];
  if (unlikely(memset_s(values, sizeof(values), 0, sizeof(values)) != EOK)) {
    OpLogSub(63, DLOG_ERROR, "both", "%d", 1);
    REPORT_INNER_ERR_MSG("E89999", "%d", 1);
  }
  return other_product(values[0]);
}
"""
    )
    done = check(project)
    assert done.returncode == 0 and "AddCustom: 1 run, 0 failed; 0 errors" in done.stdout, done.stdout + done.stderr


def test_watch_checks_again_after_a_change(project: Path) -> None:
    command = [sys.executable, "-m", "ophook_npu", "kernel", "check", "--watch"]
    command += ["--inputs", str(project / "inputs.py"), str(project)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as watching:
        assert watching.stdout is not None
        first = "".join(iter(watching.stdout.readline, "watching; Ctrl-C ends it\n"))
        (project / "inputs.py").write_text(INPUTS.replace("return x + y", "return x - y"))
        second = "".join(iter(watching.stdout.readline, "watching; Ctrl-C ends it\n"))
        watching.send_signal(signal.SIGINT)
    assert "1 run, 0 failed" in first and "1 run, 1 failed" in second, first + second
