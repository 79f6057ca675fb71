"""What libopapi says of handles that are null, gone, foreign or of another kind, and of executors that are used twice:
CANN's code and the handle's name, and the process lives.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from interfaces import libraries

NULL, INVALID, INNER_NULL = 161001, 161002, 561103
Handle = ctypes.c_void_p


class Client:
    """The handles of one call, aclnnAdd(x, y, alpha, out) over device memory, made as a C++ client makes them."""

    def __init__(self) -> None:
        self.opapi, self.acl = libraries()
        self.memory = [torch.full((4,), 1.5, device="npu:0") for _ in range(3)]
        torch.npu.synchronize()
        self.x, self.y, self.out = (self.tensor(each.data_ptr()) for each in self.memory)
        self.alpha = self.made("aclCreateScalar", ctypes.byref(ctypes.c_float(2)), 0)
        self.ints = self.made("aclCreateIntArray", (ctypes.c_int64 * 2)(0, 1), ctypes.c_uint64(2))
        self.list = self.made("aclCreateTensorList", (Handle * 1)(self.tensor(self.memory[0].data_ptr())), 1)
        self.executor, self.size = Handle(), ctypes.c_uint64()

    def made(self, name: str, *arguments: Any) -> Handle:
        function = getattr(self.opapi, name)
        function.restype = Handle
        return Handle(function(*arguments))

    def tensor(self, data: int) -> Handle:
        sizes, one = (ctypes.c_int64 * 1)(4), ctypes.c_uint64(1)
        return self.made("aclCreateTensor", sizes, one, 0, None, ctypes.c_int64(0), 2, sizes, one, Handle(data))

    def first(self, function: str, *arguments: Any) -> int:
        ends = (ctypes.byref(self.size), ctypes.byref(self.executor))
        return getattr(self.opapi, f"{function}GetWorkspaceSize")(*arguments, *ends)

    def add(self, x: Handle | None = None, alpha: Handle | None = None) -> int:
        return self.first("aclnnAdd", x or self.x, self.y, alpha or self.alpha, self.out)

    def run(self) -> int:
        return self.opapi.aclnnAdd(None, ctypes.c_uint64(0), self.executor, None)

    def said(self) -> str:
        return (self.acl.aclGetRecentErrMsg() or b"").decode()

    def result(self) -> list[float]:
        assert self.acl.aclrtSynchronizeStream(None) == 0
        return self.memory[2].tolist()


@pytest.fixture
def client() -> Iterator[Client]:
    yield Client()


def test_the_call_that_these_tests_break_works(client: Client) -> None:
    assert client.add() == 0
    assert client.run() == 0
    assert client.result() == [4.5] * 4


def freed_tensor(client: Client) -> Handle:
    tensor = client.tensor(0)
    assert client.opapi.aclDestroyTensor(tensor) == 0
    return tensor


@pytest.mark.parametrize(
    "make, said",
    [
        (freed_tensor, "is an aclTensor that was destroyed"),
        (lambda client: client.alpha, "is an aclScalar"),
        (lambda client: client.list, "is an aclTensorList"),
        (lambda client: client.ints, "is an aclIntArray"),
        (lambda client: Handle(client.memory[0].data_ptr()), "is no object of this library"),
        (lambda client: Handle((client.x.value or 0) + 8), "is no object of this library"),
        (lambda client: Handle(16), "is no object of this library"),
        (lambda client: Handle(2**64 - 1), "is no object of this library"),
    ],
)
def test_what_is_no_tensor_is_named(client: Client, make: Callable[[Client], Handle], said: str) -> None:
    wrong = make(client)
    assert client.add(x=wrong) == INVALID
    message = client.said()
    assert f"aclnnAdd: self (0x{wrong.value:x}) {said}" in message
    assert client.run() == INVALID  # phase 2 of who did not look at the status
    assert f"self (0x{wrong.value:x}) {said}" in client.said()
    assert client.opapi.aclDestroyTensor(wrong) == (INVALID if wrong.value else 0)
    assert "not a live aclTensor" in client.said()
    assert client.add() == client.run() == 0
    assert client.result() == [4.5] * 4


def test_each_kind_of_argument_is_looked_up(client: Client) -> None:
    assert client.add(alpha=client.x) == INVALID
    assert "aclnnAdd: alpha" in client.said()
    assert client.first("aclnnFlip", client.x, client.x, client.out) == INVALID
    assert "aclnnFlip: dims" in client.said()
    assert client.first("aclnnCat", client.x, ctypes.c_int64(0), client.out) == INVALID
    assert "is an aclTensor" in client.said()
    assert client.made("aclCreateTensorList", (Handle * 2)(client.x, client.alpha), ctypes.c_uint64(2)).value is None
    assert "member 1" in client.said()
    assert client.made("aclCreateTensor", None, ctypes.c_uint64(1), 0, None, ctypes.c_int64(0), 2).value is None
    places = (ctypes.byref(Handle()), ctypes.byref(ctypes.c_uint64()))
    assert client.opapi.aclGetViewShape(client.alpha, *places) == INVALID
    assert client.opapi.aclGetViewShape(None, *places) == NULL


def test_what_is_destroyed_twice_is_refused_and_null_is_not(client: Client) -> None:
    for name in ("Tensor", "Scalar", "IntArray", "FloatArray", "BoolArray", "TensorList", "ScalarList"):
        assert getattr(client.opapi, f"aclDestroy{name}")(None) == 0
    for name, handle in {"Tensor": client.x, "Scalar": client.alpha, "IntArray": client.ints}.items():
        assert getattr(client.opapi, f"aclDestroy{name}")(handle) == 0
        assert getattr(client.opapi, f"aclDestroy{name}")(handle) == INVALID
        assert f"is an acl{name} that was destroyed" in client.said()


def test_a_list_destroys_its_members(client: Client) -> None:
    members = [client.tensor(0), client.tensor(0)]
    lists = [client.made("aclCreateTensorList", (Handle * 2)(*members), ctypes.c_uint64(2)) for _ in range(2)]
    assert client.opapi.aclDestroyTensor(members[0]) == INVALID
    assert "is in a list, which destroys it" in client.said()
    assert client.opapi.aclDestroyTensorList(lists[0]) == 0
    assert client.opapi.aclDestroyTensor(members[0]) == INVALID  # the other still has it
    assert client.opapi.aclDestroyTensorList(lists[1]) == 0
    assert client.opapi.aclDestroyTensor(members[0]) == INVALID
    assert "was destroyed with its list" in client.said()
    assert client.opapi.aclDestroyTensorList(lists[1]) == INVALID


def test_an_executor_runs_once(client: Client) -> None:
    assert client.add() == client.run() == 0
    assert client.run() == INVALID
    assert "is an aclOpExecutor that was run already" in client.said()
    assert client.opapi.aclDestroyAclOpExecutor(client.executor) == INVALID
    assert client.result() == [4.5] * 4


def test_a_repeatable_executor_runs_again_until_it_is_destroyed(client: Client) -> None:
    assert client.add() == 0
    assert client.opapi.aclSetAclOpExecutorRepeatable(client.executor) == 0
    for value in (1.5, 3.0):
        client.memory[0].fill_(value)
        torch.npu.synchronize()
        assert client.run() == 0
        assert client.result() == [value + 3] * 4
    assert client.opapi.aclDestroyAclOpExecutor(client.executor) == 0
    assert client.run() == INVALID
    assert "is an aclOpExecutor that was destroyed" in client.said()


def test_what_is_no_executor_is_named(client: Client) -> None:
    assert client.opapi.aclnnAdd(None, ctypes.c_uint64(0), None, None) == NULL
    for function in ("aclDestroyAclOpExecutor", "aclSetAclOpExecutorRepeatable"):
        assert getattr(client.opapi, function)(None) == INNER_NULL
        assert getattr(client.opapi, function)(client.x) == INVALID
        assert "is an aclTensor" in client.said()
    client.executor = client.x
    assert client.run() == INVALID
    client.executor = Handle(client.memory[0].data_ptr())
    assert client.run() == INVALID
    assert "is no object of this library" in client.said()


def test_a_space_whose_shape_is_told_may_be_gone_by_then(client: Client) -> None:
    """aclnnNonzero writes the shape of its result into the caller's tensor when it has run."""
    sizes, two = (ctypes.c_int64 * 2)(4, 1), ctypes.c_uint64(2)
    memory = torch.zeros(4, 1, dtype=torch.int64, device="npu:0")
    torch.npu.synchronize()
    out = client.made(
        "aclCreateTensor", sizes, two, 9, None, ctypes.c_int64(0), 2, sizes, two, Handle(memory.data_ptr())
    )
    assert client.first("aclnnNonzero", client.x, out) == 0
    assert client.opapi.aclDestroyTensor(out) == 0
    assert client.opapi.aclnnNonzero(None, ctypes.c_uint64(0), client.executor, None) == 0
    client.acl.aclrtSynchronizeStream(None)
    assert memory.flatten().tolist() == [0, 1, 2, 3]
