"""Tiling keys by template: each key that a selection lists runs its own instance, and no other key runs."""

from __future__ import annotations

import json
import shutil
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
    # Of TILES the key has the place in the declaration, 1 2 3 6 7 16: its 8 bits lie behind two of as many.
    assert {(key["values"][2], key["key"] >> 16 & 255) for key in templates["keys"]} == {(1, 0), (2, 1)}
    source = scale.project.kernel_source(prototype)
    for choice, count in (({"x": 1, "z": 1}, 4), ({"x": 0, "z": 0}, 2)):
        calls, cores = dispatch(source, prototype, templates, choice)
        assert calls.count("case ") == count and cores == "AIV_ONLY"
    with pytest.raises(OphookError, match="is a template, and nothing declares tiling keys"):
        dispatch(source, prototype, {}, {"x": 1})
    with pytest.raises(OphookError, match="has 4 template parameters; allowed: 1, which"):
        dispatch(source, prototype, {**templates, "arguments": templates["arguments"][:1]}, {"x": 1})


def _changed(folder: Path, file: str, *changes: tuple[str, str]) -> Path:
    """The project in ``folder``, with its ``file`` changed."""
    shutil.copytree(PROJECT, folder)
    text = (folder / file).read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (folder / file).write_text(text)
    return folder


def test_bits_count_the_values_of_a_number(tmp_path: Path) -> None:
    """Not how large they are: two values fit into one bit."""

    def loaded(name: str, values: str) -> kernel.Kernel:
        change = ("8_BW, ASCENDC_TPL_UI_MIX, 2, 1, 3, 6, 7, 16", f"1_BW, ASCENDC_TPL_UI_LIST, {values}")
        return kernel.load(_changed(tmp_path / name, "op_kernel/tiling_key_scale_template.h", change))

    x = np.arange(64, dtype="float32")
    assert np.array_equal(loaded("two", "1, 2")(x, tiles=2), 2 * x)
    with pytest.raises(OphookError, match="TILES is declared with 3 values, which 1 bits do not hold"):
        loaded("three", "1, 2, 300")(x, tiles=2)
    with pytest.raises(OphookError, match="an ASCENDC_TPL_SEL has TILES=2, which ASCENDC_TPL_UINT_DECL does not list"):
        loaded("other", "1, 3")(x, tiles=1)


def test_a_host_side_that_adds_the_key_up_itself_includes_no_declaration(tmp_path: Path) -> None:
    """CANN takes it from what the kernel includes."""
    key = "D_T_X | F_X << 8 | (TILES - 1) << 16 | uint64_t(NEGATE) << 24"
    project = _changed(
        tmp_path / "own", "op_host/scale_template.cpp",
        ('#include "../op_kernel/tiling_key_scale_template.h"', "constexpr uint32_t C_FORMAT_ND = 2;"),
        ("ASCENDC_TPL_SEL_PARAM(context, D_T_X, F_X, TILES, NEGATE)", f"context->SetTilingKey({key})"),
        ("GET_TPL_TILING_KEY(D_T_X, F_X, TILES, NEGATE)", key),
    )  # fmt: skip
    scale = kernel.load(project)
    x = np.arange(64, dtype="float16")
    for tiles, negate in ((1, False), (2, True)):
        assert np.array_equal(scale(x, tiles=tiles, negate=negate), x * (-tiles if negate else tiles))


def test_the_kind_of_cores_may_be_an_argument(tmp_path: Path) -> None:
    """ASCENDC_TPL_KERNEL_TYPE_DECL: the kernel is given it. Of several inputs that bind a type the first one counts."""
    flags, only = "ASCENDC_TPL_BOOL_DECL(NEGATE, 0, 1), ", "ASCENDC_TPL_AIV_ONLY"
    folder = _changed(
        tmp_path / "shared", "op_kernel/tiling_key_scale_template.h",
        ("ASCENDC_TPL_INPUT(0)", "ASCENDC_TPL_INPUT(0), ASCENDC_TPL_OUTPUT(7)"),
        (flags, f"{flags}ASCENDC_TPL_KERNEL_TYPE_DECL(K, ASCENDC_TPL_AIC_ONLY, {only})"),
        (f"ASCENDC_TPL_KERNEL_TYPE_SEL({only})", f"ASCENDC_TPL_SHARED_KERNEL_TYPE_SEL(K, {only})"),
    )  # fmt: skip
    host, source = folder / "op_host/scale_template.cpp", folder / "op_kernel/scale_template.cpp"
    host.write_text(host.read_text().replace("TILES, NEGATE)", "TILES, NEGATE, ASCENDC_TPL_AIV_ONLY)"))
    text = source.read_text().replace("bool NEGATE>", "bool NEGATE, int K>")
    source.write_text(text.replace("TILES <= 2);", "TILES <= 2 && K == ASCENDC_TPL_AIV_ONLY);"))
    scale, x = kernel.load(folder), np.arange(64, dtype="float32")
    assert np.array_equal(scale(x, tiles=2, negate=False), 2 * x) and not scale.findings
