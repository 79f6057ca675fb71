"""Tiling keys by template: each key that a selection lists runs its own instance, and no other key runs."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from ophook_npu import kernel
from ophook_npu.errors import OphookError
from ophook_npu.kernel.templates import dispatch

PROJECT = Path(__file__).parent / "templates"


@pytest.fixture(scope="module")
def scale() -> kernel.Kernel:
    return kernel.load(PROJECT)


@pytest.mark.parametrize(
    ("dtype", "tiles", "negate"),
    [("float16", 1, False), ("float16", 2, False), ("float16", 1, True), ("float16", 2, True), ("float32", 1, False),
     ("float32", 2, False)],
)  # fmt: skip
def test_each_key_runs_its_instance(scale: kernel.Kernel, dtype: str, tiles: int, negate: bool) -> None:
    x = np.arange(64, dtype=dtype)
    assert np.array_equal(scale(x, tiles=tiles, negate=negate), x * (-tiles if negate else tiles))
    assert not scale.findings, [str(f) for f in scale.findings]


@pytest.mark.parametrize(
    ("dtype", "tiles", "negate", "values"),
    [
        ("float16", 3, False, "D_T_X=1, F_X=2, TILES=3, NEGATE=0"),
        ("float32", 1, True, "D_T_X=0, F_X=2, TILES=1, NEGATE=1"),
    ],
)
def test_a_key_that_no_selection_lists_is_refused(
    scale: kernel.Kernel, dtype: str, tiles: int, negate: bool, values: str
) -> None:
    with pytest.raises(OphookError, match=f"no ASCENDC_TPL_SEL of ScaleTemplate lists {values}"):
        scale(np.ones(64, dtype), tiles=tiles, negate=negate)


def test_keys_differ_and_each_choice_has_its_own(scale: kernel.Kernel) -> None:
    host, prototype = scale.project.host, scale.prototype
    templates = json.loads(host.ascendc_templates(b"ScaleTemplate"))
    assert len({key["key"] for key in templates["keys"]}) == len(templates["keys"]) == 6
    source = scale.project.kernel_source(prototype)
    for choice, count in (({"x": 1, "z": 1}, 4), ({"x": 0, "z": 0}, 2)):
        calls, cores = dispatch(source, prototype, templates, choice)
        assert calls.count("case ") == count and cores == "AIV_ONLY"
    with pytest.raises(OphookError, match="is a template, and the host side declares no tiling keys"):
        dispatch(source, prototype, {}, {"x": 1})
    with pytest.raises(OphookError, match="has 4 template parameters; allowed: 1, which"):
        dispatch(source, prototype, {**templates, "arguments": templates["arguments"][:1]}, {"x": 1})
