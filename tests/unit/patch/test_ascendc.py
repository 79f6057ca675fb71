"""AddCustom's Ascend C kernel over a plain C++ stand-in: what it computes, and that it stays inside its memory.

This says nothing about the Ascend compiler, alignment on the device or pipeline synchronisation; those need CANN.
"""

from __future__ import annotations

import ctypes
import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

HERE = Path(__file__).parent
PROJECT = HERE.parents[2] / "op_plugin_patch" / "ascendc"
DTYPES = {torch.float16: "half", torch.float32: "float", torch.bfloat16: "bfloat16_t", torch.int32: "int32_t"}
CORES = 48  # vector cores of an Ascend 910B1
LOCAL = 192 * 1024

Libraries = dict[torch.dtype, ctypes.CDLL]


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Libraries]:
    compiler = shutil.which("g++")
    assert compiler, "g++ is needed: the kernel is compiled over the stand-in"
    folder = tmp_path_factory.mktemp("ascendc")
    libraries: Libraries = {}
    for dtype, name in DTYPES.items():
        target = folder / f"{name}.so"
        command = [compiler, "-std=c++20", "-O1", "-Wall", "-Werror", "-shared", "-fPIC", f"-DDTYPE_X={name}"]
        command += [f"-I{HERE / 'ascendc'}", f"-I{PROJECT}", str(HERE / "ascendc" / "run.cpp"), "-o", str(target)]
        built = subprocess.run(command, capture_output=True, text=True)
        assert built.returncode == 0, built.stderr
        libraries[dtype] = ctypes.CDLL(str(target))
        libraries[dtype].last_message.restype = ctypes.c_char_p
    yield libraries


def run(
    library: ctypes.CDLL, x: torch.Tensor, y: torch.Tensor, *, cores: int = CORES, limit: int | None = None
) -> tuple[torch.Tensor, int, int]:
    """z, number of tiles, number of merged dimensions."""
    shape = torch.broadcast_shapes(x.shape, y.shape)
    z = torch.empty(shape, dtype=x.dtype)
    size = x.element_size()
    align = 256 // size
    per_element = 6 * size + (8 if x.dtype == torch.bfloat16 else 0)
    limit = limit or (LOCAL - 8192) // per_element // align * align
    rank = len(shape)

    def padded(t: torch.Tensor) -> ctypes.Array[ctypes.c_int64]:
        return (ctypes.c_int64 * 8)(*([1] * (rank - t.dim())), *t.shape)

    def memory(t: torch.Tensor) -> tuple[ctypes.c_void_p, ctypes.c_uint64]:
        return ctypes.c_void_p(t.data_ptr()), ctypes.c_uint64(t.numel() * size)

    tiles = (ctypes.c_uint64 * 2)()
    arguments = [padded(x), padded(y), ctypes.c_uint32(rank), *memory(x), *memory(y), *memory(z)]
    arguments += [ctypes.c_uint64(n) for n in (cores, limit, align, LOCAL)]
    assert library.run(*arguments, tiles) == 0, library.last_message().decode()
    return z, tiles[0], tiles[1]


def tensor(shape: tuple[int, ...], dtype: torch.dtype, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    if dtype == torch.int32:
        return torch.randint(-(2**31), 2**31, shape, generator=generator, dtype=torch.int64).to(torch.int32)
    return (torch.randn(shape, generator=generator) * 100).to(dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(
    ("x_shape", "y_shape", "merged"),
    [
        ((8, 2048), (8, 2048), 1),
        ((1_000_003,), (1_000_003,), 1),
        ((5, 1, 7), (4, 1), 3),
        ((3, 4, 5), (5,), 2),
        ((3, 4, 5), (3, 1, 1), 2),
        ((2, 3, 4, 5), (3, 4, 1), 3),
        ((7, 1), (1, 9), 2),
        ((1, 1, 1), (), 1),
        ((), (), 1),
        ((), (13,), 1),
        ((0, 5), (5,), 2),
        ((3, 0), (3, 1), 2),
        ((2, 1, 2, 1, 2, 1, 2, 1), (1, 2, 1, 2, 1, 2, 1, 2), 8),
    ],
    ids=str,
)
def test_equals_torch(
    kernels: Libraries, dtype: torch.dtype, x_shape: tuple[int, ...], y_shape: tuple[int, ...], merged: int
) -> None:
    x, y = tensor(x_shape, dtype), tensor(y_shape, dtype, seed=1)
    z, tiles, dims = run(kernels[dtype], x, y)
    assert torch.equal(z, x + y)
    assert dims == merged
    assert (tiles == 0) == (z.numel() == 0)


extents = st.lists(st.integers(0, 5), max_size=8)


@settings(max_examples=150, deadline=None)
@given(
    shape=extents,
    x_ones=st.integers(0, 255),
    y_ones=st.integers(0, 255),
    cut=st.integers(0, 8),
    cores=st.integers(1, 50),
    vectors=st.integers(1, 3),
    dtype=st.sampled_from(list(DTYPES)),
)
def test_any_broadcast(
    kernels: Libraries,
    shape: list[int],
    x_ones: int,
    y_ones: int,
    cut: int,
    cores: int,
    vectors: int,
    dtype: torch.dtype,
) -> None:
    x_shape = tuple(1 if x_ones >> i & 1 else n for i, n in enumerate(shape))
    y_shape = tuple(1 if y_ones >> i & 1 else n for i, n in enumerate(shape))[cut:]
    x, y = tensor(x_shape, dtype), tensor(y_shape, dtype, seed=1)
    limit = vectors * 256 // x.element_size()
    z, _, _ = run(kernels[dtype], x, y, cores=cores, limit=limit)
    assert torch.equal(z, x + y)


def test_long_runs_feed_every_core(kernels: Libraries) -> None:
    x = tensor((100_000,), torch.float32)
    _, tiles, _ = run(kernels[torch.float32], x, x)
    assert tiles >= CORES - 1, "a run that fits local memory must still be cut for the other cores"


def test_bf16_rounds_once_to_nearest_even_and_keeps_nan(kernels: Libraries) -> None:
    x = torch.tensor([1.0, 1.0, float("nan"), float("inf"), -0.0], dtype=torch.bfloat16)
    y = torch.tensor([2**-8, 3 * 2**-8, 1.0, -1.0, -0.0], dtype=torch.bfloat16)
    z, _, _ = run(kernels[torch.bfloat16], x, y)
    assert torch.equal(z.nan_to_num(7.0), (x + y).nan_to_num(7.0))
    assert z[0] == 1.0 and z[1] == 1.0 + 2**-6


def test_the_stand_in_sees_a_write_outside_z(kernels: Libraries) -> None:
    x = tensor((64,), torch.float32)
    shape = (ctypes.c_int64 * 8)(64)
    data, inside, short = ctypes.c_void_p(x.data_ptr()), ctypes.c_uint64(256), ctypes.c_uint64(252)
    numbers = [ctypes.c_uint64(n) for n in (1, 64, 64, LOCAL)]
    library = kernels[torch.float32]
    arguments = [shape, shape, ctypes.c_uint32(1), data, inside, data, inside, data, short, *numbers]
    assert library.run(*arguments, (ctypes.c_uint64 * 2)()) == 1
    assert b"outside x, y and z" in library.last_message()


UNKNOWN = -1


@pytest.mark.parametrize(
    ("x", "y", "z"),
    [
        *[(3, 3, 3), (1, 3, 3), (3, 1, 3), (0, 1, 0), (1, 0, 0), (0, 0, 0), (3, 4, None), (0, 3, None), (3, 0, None)],
        *[(UNKNOWN, UNKNOWN, UNKNOWN), (UNKNOWN, 1, UNKNOWN), (1, UNKNOWN, UNKNOWN), (UNKNOWN, 3, 3)],
        *[(3, UNKNOWN, 3), (UNKNOWN, 0, 0), (0, UNKNOWN, 0)],
    ],
)
def test_shape_inference_of_one_dimension(kernels: Libraries, x: int, y: int, z: int | None) -> None:
    out = ctypes.c_int64(-99)
    status = kernels[torch.float32].broadcast_dim(ctypes.c_int64(x), ctypes.c_int64(y), ctypes.byref(out))
    assert (status, out.value if z is not None else None) == ((0, z) if z is not None else (1, None))


def test_prototypes_agree() -> None:
    """JSON for msopgen, OpDef and REG_OP name the same inputs, outputs and dtypes in the same order."""
    (op,) = json.loads((PROJECT / "add_custom.json").read_text())
    names = [d["name"] for d in op["input_desc"] + op["output_desc"]]
    assert (op["op"], names) == ("AddCustom", ["x", "y", "z"])
    ge_names = {"fp16": "FLOAT16", "float": "FLOAT", "bf16": "BF16", "int32": "INT32"}
    for description in op["input_desc"] + op["output_desc"]:
        assert len(description["format"]) == len(description["type"]) == 4
        dtypes = [f"DT_{ge_names[t]}" for t in description["type"]]
        host = (PROJECT / "op_host" / "add_custom.cpp").read_text()
        assert host.count(".DataType({" + ", ".join(f"ge::{d}" for d in dtypes) + "})") == 3
        kind = "OUTPUT" if description["name"] == "z" else "INPUT"
        row = f".{kind}({description['name']}, TensorType({{{', '.join(dtypes)}}}))"
        assert row in (PROJECT / "op_proto" / "add_custom_proto.h").read_text()


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ([], "no CANN at /nonexistent"),
        (["--soc", "ascend310"], "unknown SoC 'ascend310'; allowed: ascend910b, ascend910_93"),
        (["--vendor", "a b"], "vendor 'a b' is no identifier"),
        (["--soc"], "option --soc needs a value"),
        (["--frob"], "unknown option --frob"),
    ],
)
def test_build_script_refuses_by_name(tmp_path: Path, arguments: list[str], text: str) -> None:
    command = ["bash", str(PROJECT / "build.sh"), "--out", str(tmp_path / "out"), *arguments]
    done = subprocess.run(
        command, capture_output=True, text=True, env={"PATH": "/usr/bin:/bin", "ASCEND_HOME_DIR": "/nonexistent"}
    )
    assert done.returncode == 1
    assert text in done.stderr
    assert not (tmp_path / "out").exists()


def test_build_script_names_everything_missing_in_cann(tmp_path: Path) -> None:
    environment = {"PATH": "/usr/bin:/bin", "ASCEND_HOME_DIR": str(tmp_path)}
    done = subprocess.run(["bash", str(PROJECT / "build.sh")], capture_output=True, text=True, env=environment)
    assert done.returncode == 1
    assert "msopgen" in done.stderr and "Ascend C compiler" in done.stderr
