"""AddCustom's own kernel, core by core, against numpy in each data type: equal to the bit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from ophook_npu import kernel
from ophook_npu.errors import OphookError
from ophook_npu.kernel.check import debug

PROJECT = Path(__file__).parents[3] / "op_plugin_patch" / "ascendc"
DTYPES = (torch.float16, torch.float32, torch.bfloat16, torch.int32)
SHAPES = [
    ((8, 2048), (8, 2048)), ((5, 1, 7), (4, 1)), ((3, 4, 5), (5,)), ((3, 4, 5), (3, 1, 1)), ((), ()), ((), (13,)),
    ((0, 5), (5,)), ((100_003,), (100_003,)), ((33, 257), (33, 257)),
]  # fmt: skip


@pytest.fixture(scope="module")
def add() -> kernel.Kernel:
    return kernel.load(PROJECT)


def tensor(shape: tuple[int, ...], dtype: torch.dtype, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    if dtype == torch.int32:
        return torch.randint(-(2**31), 2**31, shape, generator=generator, dtype=torch.int64).to(torch.int32)
    return (torch.randn(shape, generator=generator) * 100).to(dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(("x_shape", "y_shape"), SHAPES, ids=str)
def test_equals_torch(
    add: kernel.Kernel, dtype: torch.dtype, x_shape: tuple[int, ...], y_shape: tuple[int, ...]
) -> None:
    x, y = tensor(x_shape, dtype, 0), tensor(y_shape, dtype, 1)
    z = add(x, y)
    assert z.dtype == dtype
    assert torch.equal(z, x + y)
    assert not add.findings, [str(f) for f in add.findings]


@pytest.mark.parametrize("cores", [1, 2, 7, 40])
def test_any_number_of_cores(add: kernel.Kernel, cores: int) -> None:
    x, y = tensor((70_001,), torch.float32, 0), tensor((70_001,), torch.float32, 1)
    some = add.with_settings(cores=cores)
    assert torch.equal(some(x, y), x + y)
    assert some.report.block_dim == cores
    assert not some.findings


def test_copies_that_take_effect_late_give_the_same(add: kernel.Kernel) -> None:
    x, y = tensor((64, 1000), torch.float32, 0), tensor((1000,), torch.float32, 1)
    late = add.with_settings(on_wait=True)
    assert torch.equal(late(x, y), x + y)
    assert not late.findings


def test_arrays_in_arrays_out(add: kernel.Kernel) -> None:
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    z = add(x, x)
    assert isinstance(z, np.ndarray)
    assert np.array_equal(z, x + x)
    assert add.report.counters["copied_in"] == 2 * x.nbytes
    assert add.report.counters["copied_out"] == x.nbytes


def test_other_types_are_refused(add: kernel.Kernel) -> None:
    with pytest.raises(OphookError, match="inputs are x float64, y float64; allowed: x float16, y float16; x float32"):
        add(np.zeros(3), np.zeros(3))


def test_shapes_that_do_not_broadcast_are_refused(add: kernel.Kernel) -> None:
    with pytest.raises(OphookError, match="AddCustom refuses these shapes"):
        add(np.zeros(3, np.float32), np.zeros(4, np.float32))


def test_a_missing_input_is_refused(add: kernel.Kernel) -> None:
    with pytest.raises(OphookError, match="input y is missing; allowed: x, y"):
        add(np.zeros(3, np.float32))


def test_more_values_than_there_are_inputs_and_attributes_are_refused(add: kernel.Kernel) -> None:
    x = np.zeros(3, np.float32)
    with pytest.raises(OphookError, match="given: 3 values; allowed: x, y"):
        add(x, x, x)


def test_no_cores_are_refused() -> None:
    with pytest.raises(OphookError, match="cores=0; allowed: from 1 on"):
        kernel.load(PROJECT, cores=0)


def test_a_project_of_broken_links(tmp_path: Path) -> None:
    """As `cp -r` leaves one whose sources are links."""
    for folder in ("op_host", "op_kernel"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "add_custom.cpp").symlink_to("nowhere.cpp")
    with pytest.raises(OphookError, match=r"add_custom\.cpp is no file, but a link to nowhere"):
        kernel.load(tmp_path)


def test_one_run_as_a_debugger_starts_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    inputs = tmp_path / "in é.py"
    inputs.write_text("import numpy as np\n\ndef inputs():\n    x = np.ones(3, np.float32)\n    return [(x, x)]\n")
    debug(str(PROJECT), "AddCustom", [str(inputs)])
    assert capsys.readouterr().out == "inputs()[0]: 0 findings\n"


def test_a_folder_that_is_no_project(tmp_path: Path) -> None:
    with pytest.raises(OphookError, match="has no C\\+\\+ in op_host and op_kernel"):
        kernel.load(tmp_path)
