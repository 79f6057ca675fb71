#!/usr/bin/env python3
"""Convert ONNX models with atc, run them on the simulated Ascend, and compare with ONNX Runtime on the CPU.

usage: ophook-npu run --device sim -- scripts/onnx_models.py [--size N…] FILE.onnx…

Needs the package onnxruntime. Inputs are drawn with a seed; a dimension without a size is 1 in front, and otherwise the
first of --size (320 640 48 224 96 64 16000 512 1 2) with which ONNX Runtime runs the model. Each model is converted as
it is (--precision_mode_v2=origin) and in float16, which is atc's default. The table has the largest difference of any
output, relative to that output's largest number where that is above 1; a text is why there is none. Exit status 1: a
model differs by more than --most (1e-4) in its own types.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

MODES = ("origin", "fp16")
SIZES = (320, 640, 48, 224, 96, 64, 16000, 512, 1, 2)
HOST_TO_DEVICE, DEVICE_TO_HOST = 1, 2
Cells = Iterator[tuple[str, float | str]]
_ONNX = {"float": "float32", "double": "float64"}
_NUMPY = {0: "float32", 1: "float16", 2: "int8", 3: "int32", 4: "uint8", 6: "int16", 7: "uint16", 8: "uint32",
          9: "int64", 10: "uint64", 11: "float64", 12: "bool"}  # fmt: skip


def inputs(session: Any, size: int) -> dict[str, Any]:
    """Numbers for each input, where a dimension that is not known has this size."""
    drawn = np.random.default_rng(0)
    found = {}
    for one in session.get_inputs():
        kind = one.type.removeprefix("tensor(").removesuffix(")")
        dtype = np.dtype(_ONNX.get(kind, kind))
        image = len(one.shape) == 4
        shape = [
            n if isinstance(n, int) and n > 0 else 1 if i == 0 else 3 if image and i == 1 else size
            for i, n in enumerate(one.shape)
        ]
        floating = dtype.kind == "f"
        values = (
            drawn.standard_normal(shape) * 0.3 if floating else drawn.integers(0, 2 if kind == "bool" else 8, shape)
        )
        found[one.name] = np.asarray(values).astype(dtype)
    return found


def reference(path: Path, sizes: list[int]) -> tuple[dict[str, Any], list[Any]]:
    """Inputs that ONNX Runtime takes, and what it makes of them.

    Raises RuntimeError: none is taken.
    """
    import onnxruntime

    onnxruntime.set_default_logger_severity(4)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    for size in sizes:
        given = inputs(session, size)
        try:
            return given, session.run(None, given)
        except Exception as error:
            why = str(error).splitlines()[0]
    raise RuntimeError(f"ONNX Runtime: {why}")


def run(om: str, given: list[Any]) -> list[Any]:
    """What a model makes of these arrays, each flat.

    Raises RuntimeError: the simulator refuses it.
    """
    import acl

    def checked(code: int) -> None:
        if code:
            raise RuntimeError(f"{code}: {acl.get_recent_err_msg()}")

    checked(acl.init() or acl.rt.set_device(0))
    number, code = acl.mdl.load_from_file(om)
    checked(code)
    about = acl.mdl.create_desc()
    checked(acl.mdl.get_desc(about, number))
    read, written = acl.mdl.create_dataset(), acl.mdl.create_dataset()
    memory = []
    try:
        for array in map(np.ascontiguousarray, given):
            address, code = acl.rt.malloc(max(array.nbytes, 1), 0)
            checked(code)
            memory.append(address)
            if array.nbytes:
                checked(acl.rt.memcpy(address, array.nbytes, array.ctypes.data, array.nbytes, HOST_TO_DEVICE))
            acl.mdl.add_dataset_buffer(read, acl.create_data_buffer(address, array.nbytes))
        outputs = range(acl.mdl.get_num_outputs(about))
        for _ in outputs:
            acl.mdl.add_dataset_buffer(written, acl.create_data_buffer(0, 0))
        checked(acl.mdl.execute(number, read, written))
        results = []
        for i in outputs:
            buffer = acl.mdl.get_dataset_buffer(written, i)
            size, address = acl.get_data_buffer_size(buffer), acl.get_data_buffer_addr(buffer)
            memory.append(address)
            result = np.empty(size, np.uint8)
            if size:
                checked(acl.rt.memcpy(result.ctypes.data, size, address, size, DEVICE_TO_HOST))
            results.append(result.view(_NUMPY[acl.mdl.get_output_data_type(about, i)]))
        return results
    finally:
        for address in filter(None, memory):
            acl.rt.free(address)
        acl.mdl.destroy_desc(about)
        acl.mdl.unload(number)


def difference(found: list[Any], wanted: list[Any]) -> float:
    """The largest one of any output, relative to that output's largest number where that is above 1.

    Raises RuntimeError: an output has another number of elements.
    """
    most = 0.0
    for one, other in zip(found, wanted, strict=True):
        if one.size != other.size:
            raise RuntimeError(f"{one.size} elements for {list(other.shape)}")
        if not other.size or other.dtype.kind not in "fiub":
            continue
        one, other = one.astype(np.float64), np.asarray(other, np.float64).reshape(-1)
        same = (one == other) | (np.isnan(one) & np.isnan(other))
        gap = np.where(same, 0, np.abs(one - other))
        most = max(most, float(gap.max() / np.abs(other[np.isfinite(other)]).max(initial=1)))
    return most


def by_mode(folder: Path, given: list[Any], wanted: list[Any], *options: str) -> Cells:
    """Converts in each mode, and gives the difference or why there is none."""
    from ophook_npu.sim.atc.__main__ import convert
    from ophook_npu.sim.atc.errors import AtcError
    from ophook_npu.sim.atc.options import read

    for mode in MODES:
        told = [*options, f"--output={folder / 'model'}", "--soc_version=Ascend910B4", f"--precision_mode_v2={mode}"]
        try:
            yield mode, difference(run(str(convert(read(told))[0]), given), wanted)
        except AtcError as error:
            yield mode, f"atc: {error}"
            return
        except RuntimeError as error:
            yield mode, str(error)


def table(what: str, paths: Iterable[Path], of: Callable[[Path], Cells], most: float) -> int:
    """Prints a row for each file, and gives how many differ by more than ``most`` in their own types."""
    wrong = 0
    print(f"| {what} | inputs | {' | '.join(MODES)} |\n|---|---|---|---|", flush=True)
    for path in paths:
        told = dict(of(path))
        wrong += isinstance(told.get("origin"), float) and float(told["origin"]) > most
        cells = [f"{one:.1e}" if isinstance(one, float) else one for one in (told.get(mode, "–") for mode in MODES)]
        print(f"| {path.name} | {told.get('shapes', '–')} | {' | '.join(cells)} |", flush=True)
    return wrong


def results(path: Path, sizes: list[int], folder: Path) -> Cells:
    """The shapes of the inputs, and by mode the difference or why there is none."""
    try:
        given, wanted = reference(path, sizes)
    except Exception as error:
        yield MODES[0], f"not run: {error}"
        return
    yield "shapes", " ".join(str(list(array.shape)) for array in given.values())
    shape = ";".join(f"{name}:{','.join(map(str, array.shape))}" for name, array in given.items())
    yield from by_mode(
        folder, list(given.values()), wanted, "--framework=5", f"--model={path}", f"--input_shape={shape}"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=Path, metavar="FILE.onnx")
    parser.add_argument("--size", nargs="+", type=int, default=list(SIZES))
    parser.add_argument("--most", type=float, default=1e-4)
    given = parser.parse_args()
    paths = [path for path, _ in itertools.groupby(given.models)]
    with tempfile.TemporaryDirectory() as folder:
        return int(table("model", paths, lambda path: results(path, given.size, Path(folder)), given.most) > 0)


if __name__ == "__main__":
    sys.exit(main())
