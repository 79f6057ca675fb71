"""Offline models in the tests: ``atc`` in this process, and a model that pyACL loads and runs with numpy arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import acl
import ml_dtypes
import numpy as np

from ophook_npu.sim.atc.__main__ import convert, om_of
from ophook_npu.sim.atc.options import read

HOST_TO_DEVICE, DEVICE_TO_HOST = 1, 2
KEPT = "--precision_mode_v2=origin"
NUMPY: dict[int, Any] = {
    0: np.float32, 1: np.float16, 2: np.int8, 3: np.int32, 4: np.uint8, 6: np.int16, 7: np.uint16, 8: np.uint32,
    9: np.int64, 10: np.uint64, 11: np.float64, 12: np.bool_, 27: ml_dtypes.bfloat16,
}  # fmt: skip


def converted(model: Any, folder: Path, *options: str) -> str:
    """The .om file that ``atc`` makes of an ONNX model."""
    import onnx

    source = folder / "model.onnx"
    onnx.save(model, source)
    given = ["--framework=5", f"--model={source}", f"--output={folder / 'model'}", "--soc_version=Ascend910B4"]
    return str(convert(read([*given, *options]))[0])


class Loaded:
    """A model that is loaded, with what it says of itself."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.about = acl.mdl.create_desc()
        assert acl.mdl.get_desc(self.about, number) == 0

    def inputs(self) -> list[tuple[str, list[int], int]]:
        """Name, shape and size of each."""
        return [
            (acl.mdl.get_input_name_by_index(self.about, i), acl.mdl.get_input_dims(self.about, i)[0]["dims"],
             acl.mdl.get_input_size_by_index(self.about, i))
            for i in range(acl.mdl.get_num_inputs(self.about))
        ]  # fmt: skip

    def outputs(self) -> list[tuple[str, list[int], int]]:
        return [
            (acl.mdl.get_output_name_by_index(self.about, i), acl.mdl.get_output_dims(self.about, i)[0]["dims"],
             acl.mdl.get_output_size_by_index(self.about, i))
            for i in range(acl.mdl.get_num_outputs(self.about))
        ]  # fmt: skip

    @contextmanager
    def datasets(self, given: Sequence[Any], room: Sequence[int] | None = None) -> Iterator[tuple[int, int]]:
        """Inputs with these arrays, or as many bytes as a number says, and outputs of `room` bytes; 0: none."""
        made, buffers, memory = [acl.mdl.create_dataset(), acl.mdl.create_dataset()], [], []
        for array in given:
            size = array if isinstance(array, int) else array.nbytes
            address, code = acl.rt.malloc(max(size, 1), 0)
            assert code == 0
            memory.append(address)
            if not isinstance(array, int) and size:
                assert acl.rt.memcpy(address, size, array.ctypes.data, size, HOST_TO_DEVICE) == 0
            buffers.append(acl.create_data_buffer(address, size))
            acl.mdl.add_dataset_buffer(made[0], buffers[-1])
        for size in [0] * acl.mdl.get_num_outputs(self.about) if room is None else room:
            address = acl.rt.malloc(size, 0)[0] if size else 0
            buffers.append(acl.create_data_buffer(address, size))
            acl.mdl.add_dataset_buffer(made[1], buffers[-1])
        try:
            yield made[0], made[1]
        finally:
            for address in (*memory, *filter(None, map(acl.get_data_buffer_addr, buffers[len(given) :]))):
                acl.rt.free(address)
            for buffer in buffers:
                acl.destroy_data_buffer(buffer)
            for dataset in made:
                acl.mdl.destroy_dataset(dataset)

    def read(self, dataset: int, index: int = 0) -> Any:
        """What an output's buffer holds, flat."""
        buffer = acl.mdl.get_dataset_buffer(dataset, index)
        size = acl.get_data_buffer_size(buffer)
        out = np.empty(size, np.uint8)
        if size:
            address = acl.get_data_buffer_addr(buffer)
            assert acl.rt.memcpy(out.ctypes.data, size, address, size, DEVICE_TO_HOST) == 0
        return out.view(NUMPY[acl.mdl.get_output_data_type(self.about, index)])

    def run(self, *given: Any) -> list[Any]:
        """Its outputs, in memory that the run takes; a shape that the model leaves open is the array's.

        Raises RuntimeError: the run is refused.
        """
        arrays = [np.ascontiguousarray(one) for one in given]
        with self.datasets(arrays) as (read, written):
            for i, (_, shape, _) in enumerate(self.inputs()[: len(arrays)]):
                if any(size < 0 for size in shape):
                    desc = acl.create_tensor_desc(0, list(arrays[i].shape), 2)
                    acl.mdl.set_dataset_tensor_desc(read, desc, i)
                    acl.destroy_tensor_desc(desc)
            if acl.mdl.execute(self.number, read, written):
                raise RuntimeError(acl.get_recent_err_msg())
            return [self.read(written, i).reshape(self._shape(written, i)) for i in range(len(self.outputs()))]

    def _shape(self, written: int, index: int) -> list[int]:
        desc = acl.mdl.get_dataset_tensor_desc(written, index)
        if not desc:
            return list(acl.mdl.get_output_dims(self.about, index)[0]["dims"])
        return [acl.get_tensor_desc_dim_v2(desc, i)[0] for i in range(acl.get_tensor_desc_num_dims(desc))]


def graph_run(graph: Any, *given: Any) -> list[Any]:
    """What a GraphDef makes of these arrays.

    Raises RuntimeError: it does not compile, or its run is refused.
    """
    om = np.frombuffer(om_of(graph, []), np.uint8)
    assert acl.init() == 0 and acl.rt.set_device(0) == 0
    with _until_unloaded(*acl.mdl.load_from_mem(om.ctypes.data, om.size)) as model:
        return model.run(*given)


@contextmanager
def loaded(path: str) -> Iterator[Loaded]:
    """A model, until the end of the block."""
    assert acl.init() == 0 and acl.rt.set_device(0) == 0
    with _until_unloaded(*acl.mdl.load_from_file(path)) as model:
        yield model


@contextmanager
def _until_unloaded(number: int, code: int) -> Iterator[Loaded]:
    if code:
        raise RuntimeError(acl.get_recent_err_msg())
    model = Loaded(number)
    try:
        yield model
    finally:
        assert acl.mdl.destroy_desc(model.about) == acl.mdl.unload(number) == 0
