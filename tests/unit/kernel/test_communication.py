"""Kernels with Hccl objects, alone in their group: what they compute, and what the vendor's pages refuse.

tests/sim/test_group_kernels.py runs the same project with several ranks.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ophook_npu import kernel
from ophook_npu.errors import OphookError
from ophook_npu.kernel.project import Project

PROJECT = Path(__file__).parent / "communication"
ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL_V, ALL_TO_ALL = 2, 6, 7, 8, 10
X = np.arange(8, dtype=np.float32)


def run(mode: int, command: int = ALL_REDUCE, length: int = 8, tiles: int = 1, size: int = 8, setting: int = 0,
        strict: bool = False) -> Any:  # fmt: skip
    """The result, with the findings: kind, and what."""
    one = kernel.load(PROJECT, "GroupDemo", cores=2, strict=strict)
    given = {"group": "g", "mode": mode, "length": length, "tiles": tiles, "blocks": 2}
    y = one(X[:size], command=command, size=size, setting=setting, **given)
    return y, [(found.kind, found.what) for found in one.findings if found.severity == "error"]


@pytest.mark.parametrize(
    ("mode", "command", "how", "times"),
    [
        (0, ALL_REDUCE, {}, 1),
        (1, ALL_GATHER, {"length": 2, "tiles": 2, "size": 7}, 1),
        (2, REDUCE_SCATTER, {"length": 4, "tiles": 2}, 1),
        (3, ALL_TO_ALL, {"length": 4, "tiles": 2}, 1),
        (5, ALL_REDUCE, {}, 1),
        (7, ALL_REDUCE, {}, 4),
        (8, ALL_REDUCE, {}, 1),
        (10, ALL_REDUCE, {}, 1),
    ],
)
def test_a_kernel_alone_gets_what_it_sends(mode: int, command: int, how: dict[str, int], times: int) -> None:
    y, findings = run(mode, command, **how)
    assert not findings
    assert np.array_equal(y, times * X[: y.size])


# By mode of the kernel: the kind of the first finding, and what it says.
MISTAKES = {
    20: ("parameter", "InitV2 was not called before"),
    21: ("parameter", r"SetCcTilingV2 gave no tiling of command 2 \(HcclCMDType\) before"),
    22: ("deadlock", "waits for round 1 of handle 0; round 1 of AllReduce in line .* was not committed"),
    23: ("deadlock", "waits for round 1 of handle 1; .* the server goes through the tasks in order"),
    24: ("parameter", "dataType is 7; allowed: HCCL_DATA_TYPE_FP32, FP16, BFP16, INT8, INT16, INT32"),
    25: ("parameter", "op is 1; allowed: HCCL_REDUCE_SUM, HCCL_REDUCE_MAX, HCCL_REDUCE_MIN"),
    26: ("parameter", "a task after 63 others of the group; allowed: up to 63"),
    27: ("parameter", "handle 5 was given by no function that prepares a task; allowed: none yet"),
    28: ("parameter", "handle 0 after handle 1; allowed: in the order in which they were prepared"),
    29: ("deadlock", "no Finalize follows"),
    31: ("parameter", "handle 0 is committed 2 times; allowed: as often as its repeat, 1"),
    32: ("deadlock", "AllReduce in line .* was committed 1 times of 2"),
    33: ("missing_sync_all", "core 1 reads what core 0 writes"),
    34: ("input_written", "recvBuf is x, an input"),
    35: ("global_bounds", "reads elements 0 to 1048576 of x, which has 8"),
    36: ("parameter", "handle 0 is waited for 2 times; allowed: as often as its repeat, 1"),
    37: ("parameter", "a second Hccl object of the same context"),
    38: ("parameter", "initTiling is in device memory"),
    39: ("deadlock", "core 0 asks again and again for handle 0, of which 0 rounds of 1 are committed"),
    40: ("uninitialized", ""),
}


@pytest.mark.parametrize("mode", MISTAKES)
def test_a_mistake_is_told(mode: int) -> None:
    kind, what = MISTAKES[mode]
    _, findings = run(mode)
    assert findings and findings[0][0] == kind and re.search(what, findings[0][1]), findings


def test_strict_wants_sync_all_before_finalize() -> None:
    y, findings = run(30)
    assert np.array_equal(y, X) and not findings
    _, findings = run(30, strict=True)
    assert findings and findings[0][0] == "missing_sync_all" and "core 1 may still wait" in findings[0][1]
    assert not run(0, strict=True)[1]


def test_debug_mode_1_moves_nothing() -> None:
    y, findings = run(0, setting=3)
    assert np.isnan(y).all() and [kind for kind, _ in findings] == ["unwritten"]


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ({"mode": 4, "command": 20}, "opType is 20; allowed on an Atlas A2: 2, 6, 7, 8, 10, 18"),
        ({"mode": 0, "setting": 5}, "debugMode is 5; allowed: 1 to 4"),
        ({"mode": 0, "setting": 6}, "groupName has 129 bytes; allowed: up to 128"),
    ],
)
def test_a_tiling_that_a_page_does_not_list_is_refused(
    how: dict[str, int], says: str, capfd: pytest.CaptureFixture[str]
) -> None:
    try:
        run(**how)
    except OphookError as error:
        assert "the tiling function of GroupDemo refuses the call" in str(error)
    assert says in capfd.readouterr().err


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('this->Attr("group").AttrType(OPTIONAL).String("");', "MC2().HcclGroup names group"),
        ('this->Attr("group").AttrType(REQUIRED).Int();', "MC2().HcclGroup names group"),
    ],
)
def test_a_group_is_a_required_attribute_of_text(tmp_path: Path, line: str, says: str) -> None:
    (tmp_path / "op_host").mkdir()
    (tmp_path / "op_kernel").mkdir()
    (tmp_path / "op_host" / "one.cpp").write_text(
        f"""#include "register/op_def_registry.h"
namespace ops {{
class One : public OpDef {{
public:
    explicit One(const char* name) : OpDef(name)
    {{
        {line}
        this->MC2().HcclGroup("group");
        this->MC2().HcclServerType(HcclServerType::AICPU, "ascend910b");
    }}
}};
OP_ADD(One);
}}
"""
    )
    (tmp_path / "op_kernel" / "one.cpp").write_text('#include "kernel_operator.h"\n')
    with pytest.raises(OphookError, match=re.escape(says)):
        Project(tmp_path).prototype()


def test_a_task_waits_for_one_of_another_group() -> None:
    one = kernel.load(PROJECT, "TwoGroupsDemo")
    exchanged, gathered = one(X, first="a", second="b", length=8)
    assert not one.findings
    assert np.array_equal(exchanged, X) and np.array_equal(gathered, X)


def test_cube_cores_multiply_what_was_gathered() -> None:
    one = kernel.load(PROJECT, "GatherProductDemo")
    made = np.random.default_rng(0)
    x, weight = (made.normal(size=size).astype(np.float16) for size in ((64, 32), (32, 48)))
    product, gathered = one(x, weight, group="g", ranks=1, rounds=2)
    assert not one.findings and np.array_equal(gathered, x)
    assert np.allclose(product, x.astype(np.float64) @ weight, rtol=1e-4, atol=1e-3)
