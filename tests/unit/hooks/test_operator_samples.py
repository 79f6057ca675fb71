"""A hook on all of aten that passes every call through changes nothing in what torch's own operator samples do."""

from __future__ import annotations

import fnmatch
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

# What a mechanism does change, and docs/choosing.md says so: mechanism -> cases -> why.
CHANGED: dict[str, dict[str, str]] = {
    "custom_op": {
        "unsafe_chunk *": "the results of an opaque operator have memory of their own",
        "unsafe_split *": "the results of an opaque operator have memory of their own",
        "conj_physical *": "the results of an opaque operator have memory of their own",
        "lu_unpack *": "the gradient is asked for all floating-point results",
        "native_layer_norm *": "the gradient is asked for all floating-point results",
        "native_batch_norm *": "the gradient is asked for all floating-point results",
        "sparse.sampled_addmm float32 #0": "torch.func.vjp takes no sparse CSR tensors",
        "nn.functional.adaptive_avg_pool[23]d error *": "the Python function's own look at its arguments is left out",
        "nn.functional.group_norm error *": "the Python function's own look at its arguments is left out",
        "nn.functional.hardtanh error *": "the Python function's own look at its arguments is left out",
    },
    "backend": {"sparse.sampled_addmm *": "the host-memory device has no kernels for sparse tensors"},
}
# What only the complete run has.
ALSO_CHANGED = {
    "custom_op": {
        "svd complex64 *": "a result that is conjugated only when it is read is one that is",
        "*_lowrank complex64 *": "the phase of a singular vector is free; the product is the same",
        "histogramdd *": "the results of an opaque operator have memory of their own",
    }
}
# Each mechanism on every n-th case; all of them take minutes, so that needs OPHOOK_ALL_SAMPLES=1.
SHORT = ("impl_override", "dispatch_mode/3", "custom_op", "dynamo/80", "backend/8")


@pytest.fixture(scope="module")
def told() -> dict[str, Any]:
    """One process for all: torch's samples take seconds to import, set flags of torch, and backend brings a device."""
    complete = os.environ.get("OPHOOK_ALL_SAMPLES") == "1"
    arguments = ["complete", *(via.split("/")[0] for via in SHORT)] if complete else ["short", *SHORT]
    program = Path(__file__).with_name("operator_samples.py")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", program, *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return {line["via"]: line for line in map(json.loads, done.stdout.splitlines())}


@pytest.mark.parametrize("via", [via.split("/")[0] for via in SHORT])
def test_nothing_changes(told: dict[str, Any], via: str) -> None:
    line = told[via]
    allowed = CHANGED.get(via, {}) | ALSO_CHANGED.get(via, {})
    changed = {
        name: what
        for name, what in line["changed"].items()
        if not any(fnmatch.fnmatchcase(name, pattern) for pattern in allowed)
    }
    assert changed == {}, f"{len(changed)} of {line['cases']} cases"
    assert line["cases"] >= 15 and line["hits"] > line["cases"] // 2


def test_what_is_said_to_change_does(told: dict[str, Any]) -> None:
    for pattern in CHANGED["custom_op"]:
        assert fnmatch.filter(told["custom_op"]["changed"], pattern), f"{pattern} is no longer changed"
