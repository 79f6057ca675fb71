"""What operators read and wrote, as files in the format that CANN's accuracy tools read, or to a callback."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from interfaces import libraries

ALREADY, NOT_YET, INVALID = 100044, 100045, 100009


class Chunk(ctypes.Structure):
    _fields_ = (
        ("file", ctypes.c_char * 4096), ("size", ctypes.c_uint32), ("last", ctypes.c_uint32),
        ("offset", ctypes.c_int64), ("flag", ctypes.c_int32),
    )  # fmt: skip


def varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if not data[at - 1] & 0x80:
            return value, at


def fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        size, at = varint(data, at)
        if tag & 7 == 2:
            yield tag >> 3, data[at : at + size]
            at += size
        else:
            yield tag >> 3, size


def tensors(content: bytes) -> tuple[str, list[tuple[int, int, list[int], bytes]]]:
    """The operator's name, and of each tensor: 4 for an input, 3 for an output, the data type, the shape, the data."""
    length = int.from_bytes(content[:8], "little")
    told, data, name, found = list(fields(content[8 : 8 + length])), content[8 + length :], "", []
    for kind in (4, 3):
        for _, one in (each for each in told if each[0] == kind):
            has = dict(fields(one))
            size = has[5 if kind == 4 else 6]
            found.append((kind, has[1], [value for _, value in fields(has[3])], data[:size]))
            data = data[size:]
    name = next(value.decode() for tag, value in told if tag == 6)
    assert not data
    return name, found


def settings(folder: Path, **more: str) -> bytes:
    path = folder / "acl.json"
    path.write_text(json.dumps({"dump": {"dump_path": str(folder), "dump_list": [{}], "dump_op_switch": "on", **more}}))
    return str(path).encode()


@pytest.fixture
def acl() -> Iterator[ctypes.CDLL]:
    library = libraries()[1]
    library.acldumpGetPath.restype = ctypes.c_char_p
    yield library
    library.acldumpUnregCallback()
    library.aclmdlFinalizeDump()


def add() -> torch.Tensor:
    x = torch.arange(6, dtype=torch.float32).reshape(2, 3).npu().t()  # lies by columns
    result = x + torch.ones(3, 2).npu()
    torch.npu.synchronize()
    return result.cpu()


def test_files_have_what_an_operator_read_and_wrote(acl: ctypes.CDLL, tmp_path: Path) -> None:
    torch.npu.init()
    assert acl.aclmdlSetDump(settings(tmp_path)) == NOT_YET
    torch.npu.init_dump()
    assert acl.aclmdlInitDump() == ALREADY and acl.acldumpGetPath(4) is None
    torch.npu.set_dump(settings(tmp_path, dump_mode="all").decode())
    assert acl.acldumpGetPath(4) == str(tmp_path).encode() and acl.acldumpGetPath(1) is None
    want = add()
    torch.npu.finalize_dump()
    assert acl.aclmdlFinalizeDump() == NOT_YET
    add()  # not dumped
    (path,) = tmp_path.rglob("Add.*")
    name, found = tensors(path.read_bytes())
    assert name == "aclnnAdd" and path.name.startswith("Add.aclnnAdd.") and path.parent.name == "0"
    assert [one[:3] for one in found] == [(4, 1, [3, 2]), (4, 1, [3, 2]), (3, 1, [3, 2])]
    left, right, out = (torch.frombuffer(bytearray(one[3]), dtype=torch.float32).reshape(3, 2) for one in found)
    assert left.equal(want - 1) and right.eq(1).all() and out.equal(want)


def test_a_callback_gets_them_instead(acl: ctypes.CDLL, tmp_path: Path) -> None:
    torch.npu.init()
    heard: list[tuple[str, bytes]] = []

    @ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.POINTER(Chunk), ctypes.c_int32)
    def take(chunk, size: int) -> int:
        one = chunk.contents
        content = ctypes.string_at(ctypes.addressof(one) + ctypes.sizeof(Chunk) - 4, one.size)
        assert (one.last, one.offset, size) == (1, 0, ctypes.sizeof(Chunk) + one.size)
        heard.append((one.file.decode(), content))
        return 0

    assert acl.acldumpRegCallback(None, 0) == acl.acldumpRegCallback(take, 1) == 100000
    assert acl.acldumpRegCallback(take, 0) == 0 and acl.aclmdlInitDump() == 0
    assert acl.aclmdlSetDump(settings(tmp_path)) == 0  # outputs alone
    want = add()
    assert [path.name for path in tmp_path.iterdir()] == ["acl.json"]
    file, content = next(one for one in heard if "/Add." in one[0])
    _, found = tensors(content)
    assert file.startswith(str(tmp_path)) and [one[:2] for one in found] == [(3, 1)]
    assert torch.frombuffer(bytearray(found[0][3]), dtype=torch.float32).reshape(3, 2).equal(want)


def test_operators_of_a_graph(run_sim, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that the layers name, and those of a scope; below the model's name, its number and the turn."""
    monkeypatch.chdir(tmp_path)
    code = """
import torch, torch_npu, torchair
config = torchair.CompilerConfig()
config.dump_config.enable_dump, config.dump_config.dump_layer = True, "Add"
def step(x, y):
    total = x + y
    with torchair.scope.data_dump():
        less = x - y
    return total, less, x * y
compiled = torch.compile(step, backend=torchair.get_npu_backend(compiler_config=config), dynamic=False)
for _ in range(2):
    compiled(torch.arange(6.0).reshape(2, 3).npu(), torch.ones(2, 3).npu())
torch.npu.synchronize()
"""
    result = run_sim(code)
    assert result.returncode == 0, result.stdout + result.stderr
    found = {path.relative_to(tmp_path).parts[-2:]: path for path in tmp_path.glob("worldsize1*/*/0/graph_*/1/*/*")}
    assert sorted((turn, name.split(".")[0]) for turn, name in found) == sorted(
        (turn, name) for turn in "01" for name in ("Add", "Sub")
    )
    less = next(path for (turn, name), path in found.items() if turn == "1" and name.startswith("Sub."))
    name, held = tensors(less.read_bytes())
    assert name == "Sub" and [one[:3] for one in held] == [(4, 1, [2, 3]), (4, 1, [2, 3]), (3, 1, [2, 3])]
    want = torch.arange(6.0).reshape(2, 3) - 1
    assert torch.frombuffer(bytearray(held[2][3]), dtype=torch.float32).reshape(2, 3).equal(want)


def test_settings_that_are_no_json_are_refused(acl: ctypes.CDLL, tmp_path: Path) -> None:
    torch.npu.init()
    cut = tmp_path / "cut.json"
    cut.write_bytes(Path(settings(tmp_path).decode()).read_bytes()[:-2])
    assert acl.aclmdlInitDump() == 0
    assert acl.aclmdlSetDump(str(cut).encode()) == INVALID
    acl.aclGetRecentErrMsg.restype = ctypes.c_char_p
    assert b"aclmdlSetDump: the file is no JSON" in acl.aclGetRecentErrMsg()
    assert acl.aclmdlFinalizeDump() == 0


@pytest.mark.parametrize(
    ("wrong", "code"),
    [({"dump_mode": "both"}, INVALID), ({"dump_path": "/nowhere"}, INVALID), ({"dump_op_switch": "yes"}, INVALID),
     ({"dump_scene": "aic_err_brief_dump"}, INVALID), ({"dump_data": "stats"}, 200001), ({"dump_debug": "on"}, 200001)],
)  # fmt: skip
def test_other_settings_are_refused(acl: ctypes.CDLL, tmp_path: Path, wrong: dict[str, str], code: int) -> None:
    torch.npu.init()
    assert acl.aclmdlInitDump() == 0
    assert acl.aclmdlSetDump(settings(tmp_path, **wrong)) == code
