"""Every shell and Python block of README and docs runs as it is pasted, in a shell that has nothing set; or the page
says, in a comment above the block, why it is not run: ``<!-- not run: why -->``.

What a reader pastes from one page goes into one shell, and its Python blocks into one ``python``, in their order.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "README.zh.md", *sorted((ROOT / "docs").glob("*.md"))]
_BLOCK = re.compile(r"(?:<!-- not run: (?P<why>[^\n]*?) -->\n)?^```(?P<language>\w*)\n(?P<code>.*?)^```$", re.M | re.S)
_COMMENT = re.compile(r"\s+# .*$", re.M)

# Pages whose shell blocks other tests run, because they take more than a page: where.
ELSEWHERE = {"docs/first-operator.md": "tests/sim/test_ops_pages.py::test_the_first_operator"}

# The files that the pages' commands speak of. The program is one that takes a device, and several processes.
FILES = {
    "train.py": """
import os, sys
import torch
import torch.distributed as dist
assert torch.npu.is_available(), sys.argv
if "RANK" in os.environ:
    dist.init_process_group("hccl")
    torch.npu.set_device(dist.get_rank())
    total = torch.ones(2).npu()
    dist.all_reduce(total)
    assert total.tolist() == [dist.get_world_size()] * 2
    dist.destroy_process_group()
loss = torch.nn.Linear(4, 1).npu()(torch.ones(2, 4).npu()).sum()
loss.backward()
# One write: torchrun starts its ranks with -u, where print() writes each word by itself and two ranks' words mix.
sys.stdout.write(" ".join(["trained", torch.npu.get_device_name(), *sys.argv[1:]]) + "\\n")
""",
    "tests/test_program.py": "import torch\n\ndef test_npu(): assert (torch.ones(2).npu() + 1).tolist() == [2, 2]\n",
}


class Block(NamedTuple):
    page: str
    language: str
    code: str
    why_not: str | None


def blocks(page: Path) -> list[Block]:
    name = page.relative_to(ROOT).as_posix()
    found = [Block(name, m["language"], m["code"], m["why"]) for m in _BLOCK.finditer(page.read_text())]
    return [block for block in found if block.language in ("bash", "sh", "python")]


def run(page: str, language: str) -> str:
    """What is pasted from a page: all its blocks in that language that are run."""
    return "\n".join(b.code for b in blocks(ROOT / page) if b.language == language and b.why_not is None)


def without_what_ran(page: str, script: str) -> str:
    """Not again what is pasted from README as it is here: each line starts a process or more that imports torch."""
    if page == "README.md":
        return script
    ran = {
        _COMMENT.sub("", line) for line in run("README.md", "bash").splitlines() if line.startswith("ophook-npu run ")
    }
    return "\n".join(line for line in script.splitlines() if _COMMENT.sub("", line) not in ran)


def plain(folder: Path, script: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """bash, with nothing set but the way to the virtual environment and the cache of built libraries."""
    environ = {name: os.environ[name] for name in ("HOME", "OPHOOK_NPU_CACHE", "LANG") if name in os.environ}
    environ["PATH"] = f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin"
    command = ["bash", "-c", f"set -eo pipefail\n{script}"]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=280, env={**environ, **environment}
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / ".venv").symlink_to(sys.prefix)  # what ./run_op_plugin.sh makes
    return tmp_path


def checked(result: subprocess.CompletedProcess[str]) -> str:
    assert result.returncode == 0, f"{result.stdout[-2000:]}\n{result.stderr[-4000:]}"
    return result.stdout


SHELL = ["README.md", "docs/simulator.md"]
PYTHON = ["docs/custom-operators.md", "docs/dispatcher.md", "docs/observing.md"]


def test_every_block_is_run_or_says_why_not() -> None:
    every = [block for page in PAGES for block in blocks(page)]
    assert len(every) > 60
    for block in every:
        english = block.page.replace(".zh.md", ".md")
        if block.why_not is None:
            places = [*SHELL, *ELSEWHERE] if block.language != "python" else ["README.md", *PYTHON]
            assert english in places, f"{block.page}: nothing runs\n{block.code}"
        else:
            assert len(block.why_not) >= 10, f"{block.page}: no reason above\n{block.code}"
    for page, test in ELSEWHERE.items():
        file, name = test.split("::")
        text = (ROOT / file).read_text()
        assert f"def {name}(" in text and Path(page).name in text


def test_chinese_pages_hold_the_same_blocks() -> None:
    for page in PAGES:
        if page.name.endswith(".zh.md"):
            english = page.with_name(page.name.replace(".zh.md", ".md"))
            for one, other in zip(blocks(page), blocks(english), strict=True):
                assert _COMMENT.sub("", one.code) == _COMMENT.sub("", other.code), page.name
                assert (one.why_not is None) == (other.why_not is None)


def test_a_block_without_reason_is_noticed() -> None:
    text = (
        "<!-- not run: why -->\n```bash\nx\n```\n```python\ny\n```\n\n<!-- not run: far away -->\n\n```bash\nz\n```\n"
    )
    assert [(m["code"], m["why"]) for m in _BLOCK.finditer(text)] == [("x\n", "why"), ("y\n", None), ("z\n", None)]


@pytest.mark.slow
@pytest.mark.parametrize("page", SHELL)
def test_shell_blocks(page: str, folder: Path) -> None:
    script = without_what_ran(page, run(page, "bash"))
    assert "eval" in script and "AUTOLOAD" not in script
    printed = checked(plain(folder, script))
    if page == "README.md":
        assert "trained Ascend910B4 --epochs 1" in printed and "1 passed" in printed
        assert printed.count("trained Ascend910B4\n") == 2
        assert "No running processes found in NPU 0" in printed or "Process memory(MB)" in printed
    else:
        assert "trained Ascend910B1 --epochs 1" in printed and "Chip Name                      : 910B" in printed
        assert "--devices 2 -- torchrun" not in script


def test_the_readmes_python_in_the_shell_that_it_speaks_of(folder: Path) -> None:
    (folder / "page.py").write_text(run("README.md", "python"))
    lines = [b.code for b in blocks(ROOT / "README.md") if b.language == "bash" and b.code.startswith("source")]
    printed = checked(plain(folder, f"{lines[0]}\npython page.py"))
    assert "aten::add" in printed


def test_the_readmes_python_blocks_in_a_plain_shell(folder: Path) -> None:
    for number, block in enumerate(b for b in blocks(ROOT / "README.md") if b.language == "python"):
        (folder / f"{number}.py").write_text(block.code)
        checked(plain(folder, f"python {number}.py"))


@pytest.mark.parametrize("page", PYTHON)
def test_python_blocks(page: str, folder: Path) -> None:
    (folder / "page.py").write_text(run(page, "python"))
    assert 'eval "$(ophook-npu env --cpu)"' in (ROOT / page).read_text()
    assert checked(plain(folder, 'eval "$(ophook-npu env --cpu)"\npython page.py'))


def test_torch_npus_sanitizer_reports_a_race_and_not_what_a_wait_orders(tmp_path: Path) -> None:
    program = """
import torch
def read(waits):
    other, x = torch.npu.Stream(), torch.ones(8, device="npu") * 2
    if waits:
        other.wait_stream(torch.npu.current_stream())
    with torch.npu.stream(other):
        print("waits:", waits, (x + 1).sum().item())
read(True)
read(False)
"""
    (tmp_path / "streams.py").write_text(program)
    done = plain(tmp_path, "ophook-npu run -- streams.py", TORCH_NPU_SANITIZER="1")
    assert "waits: True 24.0\n" in done.stdout and "waits: False" not in done.stdout, done.stdout + done.stderr
    assert "CUDASanitizerErrors" in done.stderr and "read(False)" in done.stderr, done.stderr


OBSERVERS = ("log", "stats", "trace", "profile", "validate", "compare", "digest --to d", "capture --to c")


# All take the same way into the device; CI walks it with each.
@pytest.mark.parametrize(
    "command", [OBSERVERS[0], *(pytest.param(one, marks=pytest.mark.slow) for one in OBSERVERS[1:])]
)
def test_a_command_that_takes_a_device_brings_it_into_a_plain_shell(folder: Path, command: str) -> None:
    (folder / "on_npu.py").write_text("import torch\nprint('on', torch.ones(2).npu().relu().device)\n")
    printed = plain(folder, f"ophook-npu {command} --device auto on_npu.py")
    assert printed.returncode == 0 and "on npu:0" in printed.stdout, printed.stderr[-2000:]


def test_an_operator_is_checked_in_a_plain_shell(folder: Path) -> None:
    checked_op = checked(plain(folder, "ophook-npu op check --device sim npu_add_custom --only aclnn", COLUMNS="200"))
    assert "as on the CPU" in checked_op


def commands_of_an_example(page: Path) -> list[str]:
    """Its shell blocks, then the last script whose output it shows; tests/unit/hooks/test_examples.py has all."""
    text = page.read_text()
    lines = [line for block in re.findall(r"^```bash\n(.*?)^```", text, re.M | re.S) for line in block.splitlines()]
    return lines + re.findall(r"^```\n\$ (python .*)", text, re.M)[-1:]


# What a page's commands print at the least; `pip` installs nothing here, and other tests run custom_ops' last two.
EXAMPLES = {
    "01_TorchDispatchMode": "cpu torch.float64: largest difference",
    "02_ImplOverride": "forward    43 calls",
    "03_PatternRewrite": "hooked: [1.0, 1.0] (1 replaced)",
    "04_TorchDynamoHooks": "backward: mm, mm, sum.dim_IntList",
    "05_BackendExtensions": "replaced on the device: True",
    "06_PythonHooks": "native after:    True 2 hits",
    "07_RegisteringCustomOps": "inductor: aten::add → example07::add_custom",
    "aclnn_client": "device 1 has 1 102 203 304",
    "applications": "worst difference",
    "ascendc_matmul": "0 failed; 0 errors",
    "custom_ops": "largest difference",
}


def test_every_example_has_its_commands_run() -> None:
    assert sorted(EXAMPLES) == sorted(page.parent.name for page in (ROOT / "examples").glob("*/README.md"))


@pytest.mark.slow
@pytest.mark.parametrize("name", EXAMPLES)
def test_an_examples_commands_in_a_plain_shell(name: str, tmp_path: Path) -> None:
    lines = commands_of_an_example(ROOT / "examples" / name / "README.md")
    skipped = ("pip ", "ophook-npu op check", "ophook-npu run -- examples/custom_ops") if name == "custom_ops" else ()
    copy = tmp_path / "examples"
    shutil.copytree(ROOT / "examples", copy, ignore=shutil.ignore_patterns("build", "*.so", "__pycache__"))
    script = "\n".join(line for line in lines if not line.startswith(skipped))
    if name == "aclnn_client":  # its commands are for its own folder
        script = f"cd {copy / name}\n{script}"
    assert EXAMPLES[name] in checked(plain(tmp_path, script))
