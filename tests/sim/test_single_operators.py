"""Single operators: models that ``atc --singleop`` writes, or the program compiles, and what a call has to describe."""

from __future__ import annotations

import ctypes
import json
import struct
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Thread
from typing import Any

import acl
import numpy
import pytest

from ophook_npu.sim.atc.errors import AtcError
from ophook_npu.sim.atc.om import FileKind, packed
from ophook_npu.sim.atc.single import write_models

FLOAT, HALF, INT8, INT32, INT64, BOOL = 0, 1, 2, 3, 9, 12
NCHW, NHWC, ND, NC1HWC0 = 0, 1, 2, 3
NOT_FOUND, INVALID, REFUSED = 100024, 100000, 200001
TYPES = {FLOAT: numpy.float32, HALF: numpy.float16, INT8: numpy.int8, INT32: numpy.int32, INT64: numpy.int64}
CODES = {"float32": FLOAT, "float16": HALF, "int8": INT8, "int32": INT32, "int64": INT64}


@pytest.fixture(scope="module", autouse=True)
def stream() -> Iterator[int]:
    assert acl.init() == 0 and acl.rt.set_device(0) == 0
    made, ret = acl.rt.create_stream()
    assert ret == 0
    yield made
    assert acl.rt.destroy_stream(made) == 0


@pytest.fixture(autouse=True)
def no_message() -> None:
    acl.get_recent_err_msg()


def message() -> str:
    return acl.get_recent_err_msg() or ""


def desc(dtype: int, *shape: int, format: int = ND) -> int:
    return acl.create_tensor_desc(dtype, list(shape), format)


def buffer(values: numpy.ndarray[Any, Any]) -> int:
    data, size = values.tobytes(), max(values.nbytes, 1)
    there, ret = acl.rt.malloc(size, 0)
    assert ret == 0 and acl.rt.memcpy(there, size, acl.util.bytes_to_ptr(data), len(data), 1) == 0
    return acl.create_data_buffer(there, values.nbytes)


def values(of: int, dtype: int, *shape: int) -> numpy.ndarray[Any, Any]:
    size = acl.get_data_buffer_size(of)
    host, _ = acl.rt.malloc_host(size)
    assert acl.rt.memcpy(host, size, acl.get_data_buffer_addr(of), size, 2) == 0
    return numpy.frombuffer(acl.util.ptr_to_bytes(host, size), TYPES[dtype]).reshape(shape)


def described(*arrays: numpy.ndarray[Any, Any]) -> list[int]:
    return [desc(CODES[str(one.dtype)], *one.shape) for one in arrays]


def run(stream: int, type: str, inputs: Sequence[Any], out: Any, attr: int = 0, descs: Any = None) -> tuple[int, int]:
    """The code of ``execute_v2``, and the buffer of the output."""
    made = buffer(numpy.zeros_like(out))
    given = [buffer(one) for one in inputs]
    ins, outs = descs or (described(*inputs), described(out))
    code = acl.op.execute_v2(type, ins, given, outs, [made], attr or acl.op.create_attr(), stream)
    return code or acl.rt.synchronize_stream(stream), made


def tensor(dtype: str, *shape: int, **more: Any) -> dict[str, Any]:
    return {"format": "ND", "shape": list(shape), "type": dtype, **more}


def models(tmp_path: Path, *operators: dict[str, Any]) -> list[Path]:
    (tmp_path / "operators.json").write_text(json.dumps(operators))
    return write_models(tmp_path / "operators.json", tmp_path / "models", "Ascend910B4")


def load(path: Path) -> int:
    data = path.read_bytes()
    return acl.op.load(acl.util.bytes_to_ptr(data), len(data))


A, B = numpy.arange(6, dtype=numpy.int32).reshape(2, 3), numpy.full((2, 3), 10, numpy.int32)


def test_an_operator_is_found_by_what_describes_it(tmp_path: Path, stream: int) -> None:
    assert run(stream, "Sub", [A, B], A)[0] == NOT_FOUND
    assert "of Sub: no operator of this type was loaded (aclopSetModelDir, aclopLoad) or compiled" in message()
    sides = {"input_desc": [tensor("int32", 2, 3)] * 2, "output_desc": [tensor("int32", 2, 3)]}
    (path,) = models(tmp_path, {"op": "Sub", **sides})
    assert path.name == "0_Sub_3_2_2_3_3_2_2_3_3_2_2_3.om"
    assert b"soc=Ascend910B4\ntype=Sub\n" in path.read_bytes()
    assert load(path) == 0
    code, out = run(stream, "Sub", [A, B], A)
    assert code == 0 and (values(out, INT32, 2, 3) == A - B).all()
    # Another size, data type, format, place, number of inputs or attribute is another operator.
    wide = A.astype(numpy.int64)
    assert run(stream, "Sub", [A[:1].copy(), B[:1].copy()], A[:1])[0] == NOT_FOUND
    assert "no operator of this type that was loaded or compiled has these data types" in message()
    assert run(stream, "Sub", [wide, wide], wide)[0] == NOT_FOUND
    in_nhwc = [desc(INT32, 2, 3, format=NHWC), desc(INT32, 2, 3)]
    assert run(stream, "Sub", [A, B], A, descs=(in_nhwc, described(A)))[0] == NOT_FOUND
    assert run(stream, "Sub", [A], A)[0] == NOT_FOUND
    told = described(A, B)
    assert acl.set_tensor_format(told[0], ND) == 0  # CANN tells one that was set from one that was not
    assert run(stream, "Sub", [A, B], A, descs=(told, described(A)))[0] == NOT_FOUND
    told = described(A, B)
    assert acl.set_tensor_place_ment(told[1], 1) == 0
    assert run(stream, "Sub", [A, B], A, descs=(told, described(A)))[0] == NOT_FOUND
    attr = acl.op.create_attr()
    assert acl.op.set_attr_int(attr, "n", 1) == 0
    assert run(stream, "Sub", [A, B], A, attr)[0] == NOT_FOUND


def test_attributes_are_compared_by_their_kinds_and_values(tmp_path: Path, stream: int) -> None:
    x = numpy.arange(6, dtype=numpy.float32).reshape(2, 3)
    attribute = {"name": "axes", "type": "list_int", "value": [1]}
    one = {"op": "SoftmaxV2", "input_desc": [tensor("float", 2, 3)], "output_desc": [tensor("float", 2, 3)]}
    (path,) = models(tmp_path, {**one, "name": "softmax", "attr": [attribute]})
    assert path.name == "softmax.om" and load(path) == 0
    for given, code in ([1], 0), ([0], NOT_FOUND), ([1, 1], NOT_FOUND):
        attr = acl.op.create_attr()
        assert acl.op.set_attr_list_int(attr, "axes", given) == 0
        assert run(stream, "SoftmaxV2", [x], x, attr)[0] == code
    assert acl.op.set_attr_int(attr, "axes", 1) == 0 and run(stream, "SoftmaxV2", [x], x, attr)[0] == NOT_FOUND


def test_unknown_sizes_within_their_ranges(tmp_path: Path, stream: int) -> None:
    side = tensor("int32", -1, 3, shape_range=[[2, 4]])
    (path,) = models(tmp_path, {"op": "Mul", "input_desc": [side, side], "output_desc": [side]})
    assert load(path) == 0
    for rows, code in (1, NOT_FOUND), (2, 0), (4, 0), (5, NOT_FOUND):
        x = numpy.arange(3 * rows, dtype=numpy.int32).reshape(rows, 3)
        found, out = run(stream, "Mul", [x, x], x)
        assert found == code and (code or (values(out, INT32, rows, 3) == x * x).all())
    unknown = ([desc(INT32, -1, 3)] * 2, [desc(INT32, -1, 3)])
    assert run(stream, "Mul", [A, A], A, descs=unknown)[0] == INVALID
    assert "sizes that are not known (-1, -2) are for compiling" in message()


def test_sizes_that_only_running_tells(tmp_path: Path, stream: int) -> None:
    """The page's example: the description says the most there can be, and afterwards what there is."""
    x = numpy.array([0, 5, 0, 7], numpy.int32)
    sides = {"input_desc": [tensor("int32", -1, shape_range=[[1, -1]])],
             "output_desc": [tensor("int64", -1, 1, shape_range=[[1, -1]])]}  # fmt: skip
    (path,) = models(tmp_path, {"op": "Where", **sides})
    most = [desc(INT64, 4, 1)]
    assert load(path) == 0
    code, out = run(stream, "Where", [x], numpy.zeros((4, 1), numpy.int64), descs=([desc(INT32, 4)], most))
    assert code == 0 and [acl.get_tensor_desc_dim(most[0], i) for i in range(2)] == [2, 1]
    assert values(out, INT64, 4, 1)[:2].tolist() == [[1], [3]]


def test_a_constant_is_a_part_of_the_operator(tmp_path: Path, stream: int) -> None:
    """And a data type that an attribute would tell is the one that is described (ArgMaxV2's default is int64)."""
    x = numpy.array([3, 9, 4], numpy.float16)
    dimension = tensor("int32", 1, is_const=True, const_value=[0])
    sides = {"input_desc": [tensor("float16", 3), dimension], "output_desc": [tensor("int32", 1)]}
    (path,) = models(tmp_path, {"op": "ArgMaxV2", **sides})
    assert load(path) == 0
    out = buffer(numpy.zeros(1, numpy.int32))
    ins, outs = [desc(HALF, 3), desc(INT32, 1)], [desc(INT32, 1)]
    given = ("ArgMaxV2", ins, [buffer(x), acl.create_data_buffer(0, 0)], outs, [out], acl.op.create_attr(), stream)
    assert acl.op.execute_v2(*given) == NOT_FOUND
    for value, code in (1, NOT_FOUND), (0, 0):
        assert acl.set_tensor_const(ins[1], acl.util.bytes_to_ptr(struct.pack("<i", value)), 4) == 0
        assert acl.op.execute_v2(*given) == code
    assert acl.rt.synchronize_stream(stream) == 0 and values(out, INT32, 1) == [1]


def test_the_type_of_a_second_result_is_the_one_that_is_described(tmp_path: Path, stream: int) -> None:
    """Unique's out_idx is int32 where it is not given; MindSpore leaves it out and describes int64."""
    side, described_side = tensor("int64", 4), tensor("int64", -1, shape_range=[[1, 4]])
    (path,) = models(tmp_path, {"op": "Unique", "input_desc": [side], "output_desc": [described_side, side]})
    assert load(path) == 0
    x, most = numpy.array([5, 2, 5, 9]), [desc(INT64, 4), desc(INT64, 4)]
    outs = [buffer(numpy.zeros_like(x)) for _ in most]
    attr = acl.op.create_attr()
    assert acl.op.execute_v2("Unique", [desc(INT64, 4)], [buffer(x)], most, outs, attr, stream) == 0
    assert acl.rt.synchronize_stream(stream) == 0 and acl.get_tensor_desc_dim(most[0], 0) == 3
    assert [values(one, INT64, 4).tolist() for one in outs] == [[5, 2, 9, 0], [0, 1, 0, 2]]


def test_a_row_of_a_dataset_comes_through_a_channel(stream: int) -> None:
    """GetNext, as MindSpore runs it by type: it waits for a row, and tells the dataset's end from other failures."""
    tdt, runtime = ctypes.CDLL("libacl_tdt_channel.so"), ctypes.CDLL("libascendcl.so")
    for name in ("CreateChannelWithCapacity", "CreateDataItem", "CreateDataset"):
        getattr(tdt, f"acltdt{name}").restype = ctypes.c_void_p
    channel = ctypes.c_void_p(tdt.acltdtCreateChannelWithCapacity(0, b"rows", ctypes.c_size_t(2)))

    def send(*tensors: numpy.ndarray[Any, Any], kind: int = 0) -> None:
        row = ctypes.c_void_p(tdt.acltdtCreateDataset())
        for one in tensors:
            dims, size = (ctypes.c_int64 * one.ndim)(*one.shape), ctypes.c_size_t(one.nbytes)
            made = tdt.acltdtCreateDataItem(
                kind, dims, ctypes.c_size_t(one.ndim), CODES[str(one.dtype)], one.ctypes.data_as(ctypes.c_void_p), size
            )
            assert tdt.acltdtAddDataItem(row, ctypes.c_void_p(made)) == 0
        assert tdt.acltdtSendTensor(channel, row, -1) == 0

    x, y = numpy.arange(6, dtype=numpy.float32).reshape(2, 3), numpy.array([4, 5], numpy.int64)
    attr = acl.op.create_attr()
    assert acl.op.set_attr_string(attr, "channel_name", "rows") == 0
    assert acl.op.set_attr_list_data_type(attr, "output_types", [FLOAT, INT64]) == 0
    assert acl.op.set_attr_list_list_int(attr, "output_shapes", [[2, 3], [2]]) == 0
    outs = [buffer(numpy.zeros_like(one)) for one in (x, y)]
    next_row = ("GetNext", [], [], described(x, y), outs, attr, 0, 0, None, stream)
    # More rows than the channel holds: the sender waits until the device has taken one.
    rows = Thread(target=lambda: [send(x + i, y + i) for i in range(4)])
    rows.start()
    for i in range(4):
        assert acl.op.compile_and_execute(*next_row) == 0 and acl.rt.synchronize_stream(stream) == 0
        assert (values(outs[0], FLOAT, 2, 3) == x + i).all() and values(outs[1], INT64, 2).tolist() == [4 + i, 5 + i]
    rows.join()
    send(x)
    assert acl.op.compile_and_execute(*next_row) == 0 and acl.rt.synchronize_stream(stream) == 507015
    assert "channel 'rows' has a row of 1 tensors, it has 2 outputs" in message()
    send(y, kind=1)
    assert acl.op.compile_and_execute(*next_row) == 0 and acl.rt.synchronize_stream(stream) == 507005
    assert "the dataset of channel 'rows' has ended" in message()
    # A task that waits for a row is one like others: it has a limit, and ends when the device's tasks are aborted.
    assert acl.op.compile_and_execute(*next_row) == 0 and runtime.aclrtDeviceTaskAbort(0, 10_000) == 0
    assert runtime.aclrtSetOpExecuteTimeOutWithMs(20) == 0
    assert acl.op.compile_and_execute(*next_row) == 0 and acl.rt.synchronize_stream(stream) == 507017
    assert "nothing came through the channel 'rows' of device 0 in 20 ms" in message()
    assert runtime.aclrtSetOpExecuteTimeOutWithMs(0) == 0
    assert tdt.acltdtDestroyChannel(channel) == 0


def test_what_lies_in_blocks_stands_for_what_the_file_says(tmp_path: Path, stream: int) -> None:
    side = {"format": "NC1HWC0", "shape": [1, 1, 2, 2, 16], "type": "float16", "origin_format": "NCHW"}
    side["origin_shape"] = [1, 3, 2, 2]
    (path,) = models(tmp_path, {"op": "Relu", "input_desc": [side], "output_desc": [side]})
    assert load(path) == 0
    x = numpy.zeros((1, 1, 2, 2, 16), numpy.float16)
    x[..., :3] = numpy.arange(-6, 6).reshape(2, 2, 3)
    blocks = [desc(HALF, *x.shape, format=NC1HWC0)]
    code, out = run(stream, "Relu", [x], x, descs=(blocks, blocks))
    assert code == 0 and (values(out, HALF, *x.shape) == numpy.maximum(x, 0)).all()


def test_a_program_compiles_its_operator(stream: int) -> None:
    x = numpy.arange(4, dtype=numpy.float32)
    ins, outs, none = described(x, x), described(x), acl.op.create_attr()
    assert acl.op.compile("Maximum", ins, outs, none, 0, 0, None) == 0
    assert run(stream, "Maximum", [x, x[::-1].copy()], x)[0] == 0
    # The result's elements, as the program looks at them.
    assert acl.op.compile("Maximum", ins, [desc(FLOAT, 2, 2)], none, 0, 0, None) == 0
    assert acl.op.compile("Maximum", ins, [desc(FLOAT, 5)], none, 0, 0, None) == INVALID
    assert "output 0 does not have the shape" in message()
    assert acl.op.compile("Maximum", [desc(FLOAT, -1)] * 2, [desc(FLOAT, -1)], none, 0, 0, None) == INVALID
    assert "tell one for each (aclSetTensorShapeRange)" in message()
    assert acl.op.compile("Nothing", ins, outs, none, 0, 0, None) == REFUSED
    assert acl.op.compile("Maximum", ins, outs, none, 0, 7, None) == REFUSED
    assert acl.op.compile("Maximum", ins, outs, none, 0, 1, None) == INVALID
    assert acl.set_tensor_place_ment(ins[1], 1) == 0
    assert acl.op.compile("Maximum", ins, outs, none, 0, 0, None) == REFUSED
    wide = numpy.arange(7, dtype=numpy.float32)
    assert acl.op.set_compile_flag(1) == acl.op.compile("Minimum", described(x, x), outs, none, 0, 0, None) == 0
    assert acl.op.set_compile_flag(0) == 0 and run(stream, "Minimum", [wide, wide], wide)[0] == 0
    # What is run as it is compiled is compiled.
    made = buffer(x)
    given = ("Neg", described(x), [buffer(x)], outs, [made], none)
    assert acl.op.execute_v2(*given, stream) == NOT_FOUND
    assert acl.op.compile_and_execute(*given, 0, 0, None, stream) == acl.op.execute_v2(*given, stream) == 0
    assert acl.rt.synchronize_stream(stream) == 0 and (values(made, FLOAT, 4) == -x).all()


def test_slices_are_taken_within_each_batch(stream: int) -> None:
    x, axis = numpy.arange(24, dtype=numpy.float32).reshape(2, 3, 4), numpy.array([1], numpy.int32)
    places = numpy.array([[0, 2], [1, 1]], numpy.int32)
    found = numpy.take_along_axis(x, places[..., None], 1)
    ins, attr = described(x, places, axis), acl.op.create_attr()
    assert acl.set_tensor_const(ins[2], acl.util.bytes_to_ptr(axis.tobytes()), axis.nbytes) == 0
    assert acl.op.set_attr_int(attr, "batch_dims", 1) == 0
    assert acl.op.compile("GatherV2", ins, described(found), attr, 0, 0, None) == 0
    code, made = run(stream, "GatherV2", [x, places, axis], found, attr, (ins, described(found)))
    assert code == 0 and (values(made, FLOAT, 2, 2, 4) == found).all()
    assert acl.op.set_attr_int(attr, "batch_dims", 2) == 0
    assert acl.op.compile("GatherV2", ins, described(found), attr, 0, 0, None) == INVALID
    assert "batch_dims=2 for axis 1" in message()


def test_chosen_boxes_leave_what_is_behind_them(stream: int) -> None:
    boxes = numpy.array([[0, 0, 4, 4], [0, 0, 4, 5], [9, 9, 12, 12]], numpy.float32)
    inputs = [boxes, numpy.array([0.5, 0.9, 0.7], numpy.float32), numpy.array(3, numpy.int32)]
    inputs += [numpy.array(0.5, numpy.float32), numpy.array(0, numpy.float32)]
    made, outs, none = buffer(numpy.full(3, -1, numpy.int32)), [desc(INT32, 3)], acl.op.create_attr()
    given = ("NonMaxSuppressionV3", described(*inputs), [buffer(one) for one in inputs], outs, [made], none)
    assert acl.op.compile_and_execute(*given, 0, 0, None, stream) == 0, message()
    assert acl.rt.synchronize_stream(stream) == 0 and values(made, INT32, 3).tolist() == [1, 2, -1]
    assert acl.op.set_attr_int(none, "offset", 1) == 0
    assert acl.op.compile_and_execute(*given, 0, 0, None, stream) != 0 and "offset other than 0" in message()


def test_what_is_0_or_1_in_a_byte_is_a_truth_value_too(stream: int) -> None:
    boxes = numpy.array([[0, 0, 2, 5], [0, 0, 3, 5], [-1, 0, 2, 5]], numpy.float32)
    inputs = [boxes, numpy.array([2, 1, 3], numpy.float32)]
    for dtype in (INT8, BOOL):
        made = buffer(numpy.full(3, 7, numpy.int8))
        given = ("CheckValid", described(*inputs), [buffer(one) for one in inputs], [desc(dtype, 3)], [made])
        assert acl.op.compile_and_execute(*given, acl.op.create_attr(), 0, 0, None, stream) == 0, message()
        assert acl.rt.synchronize_stream(stream) == 0 and values(made, INT8, 3).tolist() == [1, 0, 0]


def test_blocks_are_taken_out_of_images_as_these_are_described(stream: int) -> None:
    x, attr = numpy.arange(16, dtype=numpy.float32).reshape(1, 4, 4, 1), acl.op.create_attr()
    assert acl.op.set_attr_int(attr, "block_size", 2) == acl.op.set_attr_list_int(attr, "paddings", [0, 0, 0, 0]) == 0
    wanted = [x[:, i::2, j::2] for i in (0, 1) for j in (0, 1)]
    for order, axes in ((NHWC, (0, 1, 2, 3)), (NCHW, (0, 3, 1, 2))):
        given, out = x.transpose(axes).copy(), numpy.concatenate(wanted).transpose(axes)
        descs = [desc(FLOAT, *given.shape, format=order)], [desc(FLOAT, *out.shape, format=order)]
        assert acl.op.compile("SpaceToBatchD", *descs, attr, 0, 0, None) == 0, message()
        code, made = run(stream, "SpaceToBatchD", [given], out, attr, descs)
        assert code == 0 and (values(made, FLOAT, *out.shape) == out).all()


def test_colours_lie_last_however_images_are_described(stream: int) -> None:
    x = numpy.array([[1, 0, 0], [0, 0.5, 0]], numpy.float32).reshape(1, 1, 2, 3)
    for order in (NHWC, ND):
        descs = [desc(FLOAT, *x.shape, format=order), desc(FLOAT)], [desc(FLOAT, *x.shape, format=order)]
        attr = acl.op.create_attr()
        assert acl.op.compile("AdjustHue", *descs, attr, 0, 0, None) == 0, message()
        code, made = run(stream, "AdjustHue", [x, numpy.array(1 / 3, numpy.float32)], x, attr, descs)
        assert code == 0 and numpy.allclose(values(made, FLOAT, 2, 3), [[0, 1, 0], [0, 0, 0.5]], atol=1e-6)


def test_a_handle_is_run_and_ended(stream: int) -> None:
    x = numpy.arange(4, dtype=numpy.float32)
    none = acl.op.create_attr()
    assert acl.op.create_handle("Abs", described(x), described(x), none) == (0, NOT_FOUND)
    assert acl.op.compile("Abs", described(x), described(x), none, 0, 0, None) == 0
    handle, code = acl.op.create_handle("Abs", described(x), described(x), none)
    given, out = buffer(-x), buffer(-x)
    assert code == 0 and acl.op.execute_with_handle(handle, [given], [out], stream) == 0
    assert acl.rt.synchronize_stream(stream) == 0 and (values(out, FLOAT, 4) == x).all()
    assert acl.op.execute_with_handle(handle, [given, given], [out], stream) == 100021
    assert acl.op.execute_with_handle(handle, [given], [out, out], stream) == 100022
    short = acl.create_data_buffer(acl.get_data_buffer_addr(given), 0)
    assert acl.op.execute_with_handle(handle, [given], [short], stream) == 0  # nothing is asked for
    long = numpy.zeros(100, numpy.float32)
    assert acl.op.compile("Abs", described(long), described(long), none, 0, 0, None) == 0
    assert run(stream, "Abs", [x], x, descs=(described(long), described(long)))[0] == 145000
    assert "the buffer of input 0 has 16 bytes, the tensor 400" in message()
    acl.op.destroy_handle(handle)
    assert acl.op.execute_with_handle(handle, [given], [out], stream) == INVALID
    assert "the handle was destroyed, or is none" in message()


def test_a_cast(stream: int) -> None:
    x = numpy.array([1.5, -2.25], numpy.float32)
    source, target, none = desc(FLOAT, 2), desc(HALF, 2), acl.op.create_attr()
    out = buffer(numpy.zeros(2, numpy.float16))
    assert acl.op.cast(source, buffer(x), target, out, 0, stream) == NOT_FOUND
    assert acl.op.set_attr_int(none, "dst_type", HALF) == 0
    assert acl.op.compile("Cast", [source], [target], none, 0, 0, None) == 0
    assert acl.op.cast(source, buffer(x), target, out, 0, stream) == acl.rt.synchronize_stream(stream) == 0
    assert (values(out, HALF, 2) == x).all()
    handle, code = acl.op.create_handle_for_cast(source, target, 0)
    assert code == acl.op.execute_with_handle(handle, [buffer(x + 1)], [out], stream) == 0
    assert acl.rt.synchronize_stream(stream) == 0 and (values(out, HALF, 2) == x + 1).all()


def test_shapes_are_told_before_anything_runs() -> None:
    """From values on the host; and where only running tells a size, what it can be."""
    none, out = acl.op.create_attr(), desc(FLOAT, 0)
    shape = numpy.array([3, 2], numpy.int32).tobytes()
    given = [acl.create_data_buffer(0, 0), acl.create_data_buffer(acl.util.bytes_to_ptr(shape), 8)]
    told = [desc(FLOAT, 6), desc(INT32, 2)]
    assert acl.op.infer_shape("Reshape", told, given, 1, [out], none) == 0
    assert [acl.get_tensor_desc_dim(out, i) for i in range(2)] == [3, 2] and acl.get_tensor_desc_size(out) == 24
    assert acl.op.infer_shape("Where", [desc(INT32, 4)], given[:1], 1, [out], none) == 0
    assert acl.get_tensor_desc_dim(out, 0) == -1 and acl.get_tensor_desc_type(out) == INT64
    assert acl.get_tensor_desc_dim(out, 1) == 1 and acl.get_tensor_desc_dim_range(out, 0, 2) == ([0, -1], 0)
    assert acl.get_tensor_desc_dim_range(out, 7, 2)[1] == INVALID
    assert acl.op.infer_shape("Where", [desc(INT32, 4)], [0], 1, [out], none) == INVALID
    assert "the buffer of input 0 is null" in message()


@pytest.mark.parametrize("turns", [(0, 0, 0), (1, 1, 0), (2, 2, 2)], ids=["plain", "turned", "blocks"])
@pytest.mark.parametrize("dtypes", [(HALF, HALF), (HALF, FLOAT), (INT8, INT32)], ids=["half", "float", "int"])
def test_products_of_matrices(stream: int, turns: tuple[int, int, int], dtypes: tuple[int, int]) -> None:
    m, n, k = 16, 48, 32
    element, result = dtypes
    rng = numpy.random.default_rng(0)
    a, b, c = (rng.integers(-3, 4, size) for size in ((m, k), (k, n), (m, n)))
    none, scalar, wide = acl.op.create_attr(), desc(result), 32 if element == INT8 else 16

    def lay(x: Any, turn: int, rows: int, columns: int) -> Any:
        if turn < 2:
            return x.T.copy() if turn else x
        down, right = (one // block for one, block in zip(x.shape, (rows, columns), strict=True))
        return x.reshape(down, rows, right, columns).transpose(2, 0, 1, 3).copy()

    placed = [lay(a, turns[0], 16, wide), lay(b, turns[1], wide, 16), lay(c, turns[2], 16, 16)]
    if turns[1] == 2 and element == INT8:
        placed[1] = lay(b.T, 2, 16, 32)  # as filters lie
    formats = [29 if turn == 2 else ND for turn in turns]
    formats[1] = 4 if turns[1] == 2 and element == INT8 else formats[1]
    kinds = (element, element, result)
    ins = [desc(kind, *x.shape, format=f) for kind, x, f in zip(kinds, placed, formats, strict=True)]
    for name, turn in ("transpose_a", turns[0]), ("transpose_b", turns[1]):
        assert acl.op.set_attr_bool(none, name, turn == 1) == 0
    sizes, types = (*turns, m, n, k), (element, element, result, 0)
    given = [buffer(x.astype(TYPES[kind])) for kind, x in zip(kinds, placed, strict=True)]
    alpha, beta = (buffer(numpy.array(value, TYPES[result])) for value in (2, 3))
    at = [acl.get_data_buffer_addr(one) for one in (*given, alpha, beta)]
    call = (*sizes, at[3], at[0], -1, element, at[1], -1, element, at[4], at[2], -1, result, 0, stream)
    if turns == (0, 0, 0):
        assert acl.blas.gemm_ex(*call) == NOT_FOUND and "aclblasGemmEx of GEMM: " in message()
        assert acl.blas.create_handle_for_gemm_ex(*sizes, *types) == (0, NOT_FOUND)
    if max(turns) < 2:
        assert acl.op.compile("GEMM", [*ins, scalar, scalar], [ins[2]], none, 0, 0, None) == 0
    else:  # by what lies there alone it cannot be told what it stands for: the model is found, the call tells
        load_blocks(ins, result)
    expected = 2 * (a @ b) + 3 * c
    assert acl.blas.gemm_ex(*call) == acl.rt.synchronize_stream(stream) == 0, message()
    assert (values(given[2], result, *placed[2].shape) == lay(expected, turns[2], 16, 16)).all()
    handle, code = acl.blas.create_handle_for_gemm_ex(*sizes, *types)
    assert code == acl.op.execute_with_handle(handle, [*given, alpha, beta], [given[2]], stream) == 0
    assert acl.rt.synchronize_stream(stream) == 0
    assert (values(given[2], result, *placed[2].shape) == lay(2 * (a @ b) + 3 * expected, turns[2], 16, 16)).all()


def load_blocks(ins: Sequence[int], result: int) -> None:
    def told(one: int) -> str:
        dims = [acl.get_tensor_desc_dim(one, i) for i in range(acl.get_tensor_desc_num_dims(one))]
        type, format = acl.get_tensor_desc_type(one), acl.get_tensor_desc_format(one)
        return f"{type} {format} {','.join(map(str, dims))}"

    lines = [("type", "GEMM"), *(("input", told(one)) for one in ins), *[("input", f"{result} 2 -")] * 2]
    lines += [("output", told(ins[2])), ("attribute", "transpose_a bool 0"), ("attribute", "transpose_b bool 0")]
    data = packed(FileKind.OPERATOR, lines)
    assert acl.op.load(acl.util.bytes_to_ptr(data), len(data)) == 0


def test_a_vector_is_a_matrix_of_one_column_and_wrong_products_are_refused(stream: int) -> None:
    a, x, y = numpy.eye(16, dtype=numpy.float16), numpy.ones((16, 1), numpy.float16), numpy.ones((16, 1), numpy.float16)
    one = numpy.array(2, numpy.float16)
    attr = acl.op.create_attr()
    assert acl.op.set_attr_bool(attr, "transpose_a", False) == acl.op.set_attr_bool(attr, "transpose_b", False) == 0
    assert acl.op.compile("GEMM", described(a, x, y, one, one), described(y), attr, 0, 0, None) == 0
    buffers = [buffer(each) for each in (a, x, y, one)]
    at = [acl.get_data_buffer_addr(each) for each in buffers]
    assert acl.blas.hgemv(0, 16, 16, at[3], at[0], -1, at[1], -1, at[3], at[2], -1, 0, stream) == 0
    assert acl.rt.synchronize_stream(stream) == 0 and (values(buffers[2], HALF, 16) == 4).all()
    assert acl.blas.create_handle_for_hgemv(0, 16, 16, 0)[1] == 0
    assert acl.blas.create_handle_for_s8gemv(0, 16, 16, 0)[1] == NOT_FOUND
    good = [0, 0, 0, 16, 1, 16, at[3], at[0], -1, at[1], -1, at[3], at[2], -1, 0, stream]
    assert acl.blas.hgemm(*good) == 0
    for index, wrong in (0, 3), (1, 3), (2, 1), (3, 0), (5, -1), (6, 0), (7, 0), (8, 16), (13, 1), (14, 1):
        assert acl.blas.hgemm(*good[:index], wrong, *good[index + 1 :]) == INVALID, index
        assert message().startswith("[simulated Ascend] aclblasHgemm: ")


def test_files_that_are_no_operators(tmp_path: Path) -> None:
    (path,) = models(tmp_path, {"op": "Sqrt", "input_desc": [tensor("float", 2)], "output_desc": [tensor("float", 2)]})
    good = path.read_bytes()
    network = good[:12] + struct.pack("<I", 0) + good[16:]
    for data, code in (
        (b"IMOD" + good, 100013),
        (good[:40], 100013),
        (good[:32], 100013),
        (b"x" * 99, 100013),
        (network, 100016),
    ):
        assert acl.op.load(acl.util.bytes_to_ptr(data), len(data)) == code
    for wrong in (("input", "0 2 2,x"), ("output", "99999999999999999999 2 2"), ("attribute", "a ints 1,,2"),
                  ("input", "0 2 1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1"), ("attribute", "%zz int 1"),
                  ("input", "0 2 2 const:0"), ("input", "0 2 2 odd:1"), ("attribute", "a what 1")):  # fmt: skip
        data = packed(FileKind.OPERATOR, [("type", "Sqrt"), wrong])
        assert acl.op.load(acl.util.bytes_to_ptr(data), len(data)) == 100012, wrong
    assert acl.op.load(0, 8) == acl.op.load(acl.util.bytes_to_ptr(good), 0) == INVALID
    assert acl.op.set_max_op_queue_num(0) == INVALID and acl.op.set_max_op_queue_num(20000) == 0


def test_what_the_converter_refuses(tmp_path: Path) -> None:
    good = {"op": "Exp", "input_desc": [tensor("float", 2)], "output_desc": [tensor("float", 2)]}
    with pytest.raises(AtcError, match="EZ3003: AddDsl, of type AddDsl: the aclop operator AddDsl is not implemented"):
        models(tmp_path, {**good, "op": "AddDsl"}, good)
    assert [path.name for path in (tmp_path / "models").iterdir()] == ["1_Exp_0_2_2_0_2_2.om"]  # as CANN's goes on
    with pytest.raises(AtcError, match="E13004: --output="):
        write_models(tmp_path / "operators.json", tmp_path / "operators.json", "Ascend910B4")
    with pytest.raises(AtcError, match=r"E13014: Exp, of type Exp: .*of data type 0 and shape \[3\], not of"):
        models(tmp_path, {**good, "output_desc": [tensor("float", 3)]})


FOLDER = """
import sys, acl, numpy
folder = sys.argv[1]
assert acl.init() == acl.rt.set_device(0) == 0
print(acl.op.set_model_dir(folder + "/none"), acl.op.set_model_dir(folder), acl.op.set_model_dir(folder))
handle = lambda size: acl.op.create_handle(
    "AddCustom", [acl.create_tensor_desc(1, [8, size], 2)] * 2, [acl.create_tensor_desc(1, [8, size], 2)], 0)
print(*(handle(size)[1] for size in (2048, 1024, 512, 256)))
x = numpy.ones((8, 2048), numpy.float16)
there, _ = acl.rt.malloc(x.nbytes, 0)
acl.rt.memcpy(there, x.nbytes, acl.util.numpy_to_ptr(x), x.nbytes, 1)
buffer = acl.create_data_buffer(there, x.nbytes)
print(acl.op.execute_with_handle(handle(2048)[0], [buffer] * 2, [buffer], 0), acl.rt.synchronize_stream(0))
acl.rt.memcpy(acl.util.numpy_to_ptr(x), x.nbytes, there, x.nbytes, 2)
print(x.min(), x.max())
"""


def test_a_folder_of_models_of_a_package_is_read_three_levels_deep(tmp_path: Path) -> None:
    """An operator of an installed package: the one that ships here. A file that is no model is left out."""
    for level, size in zip((".", "b", "b/c", "b/c/d"), (2048, 1024, 512, 256), strict=True):
        folder = tmp_path / "a" / level
        folder.mkdir(parents=True, exist_ok=True)
        side = tensor("float16", 8, size)
        (tmp_path / "one.json").write_text(json.dumps([{"op": "AddCustom", "input_desc": [side] * 2,
                                                        "output_desc": [side]}]))  # fmt: skip
        write_models(tmp_path / "one.json", folder, "Ascend910B4")
    (tmp_path / "a" / "no.om").write_bytes(b"no")
    done = subprocess.run(
        [sys.executable, "-c", FOLDER, str(tmp_path / "a")], capture_output=True, text=True, timeout=100
    )
    assert done.stdout == f"100014 0 100002\n0 0 0 {NOT_FOUND}\n0 0\n2.0 2.0\n", done.stdout + done.stderr
