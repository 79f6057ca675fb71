"""What the tables list is computed: each function is asked for each data type and each format that its own rules name.

A call that is taken with other types is asked anew with the type in question, for the parameter alone and for those
that go with it. The first phase may refuse; once it has taken a call, the second must come to its end."""

import ctypes
import math
import re
from collections.abc import Iterator

import pytest
import torch
from interfaces import format_for
from test_rules import (
    DTYPES,
    FAMILY,
    IN_A_FORMAT,
    Caller,
    calls_of,
    of_several_devices,
    simulated,
)

from ophook_npu.sim import rules

ATEN = {
    "FLOAT": torch.float, "FLOAT16": torch.half, "BFLOAT16": torch.bfloat16, "DOUBLE": torch.double, "INT8": torch.int8,
    "INT16": torch.int16, "INT32": torch.int32, "INT64": torch.int64, "UINT8": torch.uint8, "UINT16": torch.uint16,
    "UINT32": torch.uint32, "UINT64": torch.uint64, "BOOL": torch.bool, "COMPLEX32": torch.complex32,
    "COMPLEX64": torch.complex64, "COMPLEX128": torch.complex128, "FLOAT8_E5M2": torch.float8_e5m2,
    "FLOAT8_E4M3FN": torch.float8_e4m3fn,
}  # fmt: skip
REAL = {"FLOAT", "FLOAT16", "BFLOAT16", "DOUBLE"}
WHOLE = {"INT8", "INT16", "INT32", "INT64", "UINT8", "UINT16", "UINT32", "UINT64", "BOOL"}
CHANNELS_LAST = {4: 1, 5: 27}  # ACL_FORMAT_NHWC, ACL_FORMAT_NDHWC
ELEMENTWISE = ("ops-math/math/", "ops-nn/activation/")
ROOM, NUMBERS = 1 << 27, 4096
TO_DEVICE, TO_HOST = 1, 2
NC1HWC0 = 3


def type_of(text: str) -> str:
    return text.strip("{").partition("[")[0]


def in_type(text: str, dtype: str) -> str:
    return re.sub(r"[A-Z]\w*\[", f"{dtype}[", text)


class Runner(Caller):
    """Calls both phases. Tensors have memory of their own: numbers from 1 to 3 where the call as it stands in the file
    has floating-point numbers, and 0 otherwise, so that indices are within bounds."""

    def __init__(self) -> None:
        super().__init__()
        self.arena = torch.zeros(ROOM, dtype=torch.uint8, device="npu:0")
        self.workspace = torch.zeros(1 << 25, dtype=torch.uint8, device="npu:0")
        torch.npu.synchronize()  # aclrtMemcpy, which fills them, does not wait for the zeros
        self.stream = ctypes.c_void_p(torch.npu.current_stream().npu_stream)
        self.end = 0
        self.numbered, self.formats, self.layout, self.backwards = True, {}, None, False
        numbers = torch.randint(1, 4, (NUMBERS,), generator=torch.Generator().manual_seed(1)).float()
        self.numbers = {name: numbers.to(dtype).contiguous() for name, dtype in ATEN.items()}
        self.made: list[tuple[int, int, str]] = []  # where each tensor lies, its size, its type

    def tensor(self, dtype: str, sizes: tuple[int, ...], one: rules.Parameter | None = None) -> ctypes.c_void_p:
        count = math.prod(map(abs, sizes)) * (2 if min(sizes, default=0) < 0 else 1)
        place = self.arena.data_ptr() + self.end
        self.end += (count * (ATEN[dtype].itemsize if dtype in ATEN else 1) + 1023) // 512 * 512
        assert self.end <= ROOM
        if self.numbered and dtype in self.numbers:
            held = self.numbers[dtype][:count].flip(0).contiguous() if self.backwards else self.numbers[dtype]
            if len(sizes) in self.formats:  # the same numbers as of the tensor with its channels first
                first = (sizes[0], sizes[-1], *sizes[1:-1])
                held = held[:count].reshape(first).movedim(1, -1).contiguous()
            size = ctypes.c_size_t(min(count, NUMBERS) * held.element_size())
            self.runtime.aclrtMemcpy(ctypes.c_void_p(place), size, ctypes.c_void_p(held.data_ptr()), size, TO_DEVICE)
        self.made.append((place, count, dtype))
        layout = self.layout or self.formats.get(len(sizes), format_for(one, len(sizes), dtype))
        given, rank = (ctypes.c_int64 * len(sizes))(*map(abs, sizes)), ctypes.c_uint64(len(sizes))
        strides = (ctypes.c_int64 * len(sizes))(*[2] * len(sizes)) if min(sizes, default=0) < 0 else None
        return ctypes.c_void_p(
            self.library.aclCreateTensor(
                given, rank, DTYPES[dtype], strides, ctypes.c_int64(0), layout, given, rank,
                ctypes.c_void_p(place),
            )
        )  # fmt: skip

    def arguments_of(
        self, function: rules.Function, call: list[str], base: list[str], images: set[str]
    ) -> list[object]:
        used = ctypes.c_size_t(self.end)
        self.runtime.aclrtMemset(ctypes.c_void_p(self.arena.data_ptr()), used, 0, used)
        self.end, self.made, self.places = 0, [], []
        arguments, given = [], {one.name: text for one, text in zip(function.parameters, call, strict=True)}
        for one, text, before in zip(function.parameters, call, base, strict=True):
            self.numbered = type_of(before) in REAL and one.direction != "out"
            self.formats = CHANNELS_LAST if one.name in images else {}
            self.places.append(len(self.made))
            same = [type_of(given[name]) for name in one.relations.get("dtype", ())]
            dtype = (*same, *next(iter(one.dtypes.values()), ()), "FLOAT")[0]
            arguments.append(self.read(one, text) if text else self.value(one, dtype, (1,)))
            self.tensors.clear()
        self.places.append(len(self.made))
        return arguments

    def run(
        self, function: rules.Function, call: list[str], base: list[str], images: set[str] = frozenset()
    ) -> tuple[int, str]:
        """The phase that failed, 3 for the synchronization and 0 for none, and the message."""
        arguments = self.arguments_of(function, call, base, images)
        size, executor = ctypes.c_uint64(), ctypes.c_void_p()
        first = getattr(self.library, f"{function.name}GetWorkspaceSize")
        failed = 1 if first(*arguments, ctypes.byref(size), ctypes.byref(executor)) else 0
        if failed and executor:
            self.library.aclDestroyAclOpExecutor(executor)
        if not failed:
            room = ctypes.c_uint64(self.workspace.numel())
            second = getattr(self.library, function.name)
            failed = 2 if second(ctypes.c_void_p(self.workspace.data_ptr()), room, executor, self.stream) else 0
        if not failed:
            failed = 3 if self.runtime.aclrtSynchronizeStream(self.stream) else 0
        return failed, (self.runtime.aclGetRecentErrMsg() or b"").decode() if failed else ""

    def results(self, function: rules.Function) -> list[tuple[str, torch.Tensor | None]]:
        """What the last call wrote, as numbers of float64; None for types that torch has not."""
        found = []
        for place, one in enumerate(function.parameters):
            if one.direction == "in":
                continue
            for address, count, dtype in self.made[self.places[place] : self.places[place + 1]]:
                held = torch.empty(count, dtype=ATEN[dtype]) if dtype in ATEN and count else None
                if held is not None:
                    size = ctypes.c_size_t(count * held.element_size())
                    self.runtime.aclrtMemcpy(
                        ctypes.c_void_p(held.data_ptr()), size, ctypes.c_void_p(address), size, TO_HOST
                    )
                found.append((dtype, held))
        return found


@pytest.fixture(scope="module")
def runner() -> Runner:
    return Runner()


@pytest.fixture(params=[FAMILY, "Ascend950"] if FAMILY != "Ascend950" else ["Ascend950"])
def family(request: pytest.FixtureRequest, runner: Runner):
    before = runner.library.ophook_enforce_rules(1), runner.library.ophook_rules_family(-1)
    runner.library.ophook_rules_family(rules.FAMILIES.index(request.param))
    yield request.param
    runner.library.ophook_enforce_rules(before[0])
    runner.library.ophook_rules_family(before[1])


def computed(runner: Runner, function: rules.Function, family: str) -> list[list[str]]:
    """The calls of the function that come to their end: those of the file, or else the one that its table gives."""
    generated, *known = calls_of(function, family)
    found = [call for call in known if runner.run(function, call, call)[0] == 0]
    return found or [call for call in (generated,) if runner.run(function, call, call)[0] == 0]


def tensors_of(function: rules.Function, call: list[str]) -> list[int]:
    return [place for place, one in enumerate(function.parameters) if "[" in call[place] and one.kind != "char*"]


def retyped(function: rules.Function, call: list[str], place: int, dtype: str, family: str) -> Iterator[list[str]]:
    """The call with another type: of this parameter, of those that have its type, of all that can have the new one."""
    lists = {at: function.parameters[at].dtypes.get(family, (dtype,)) for at in tensors_of(function, call)}
    can = {at for at, listed in lists.items() if dtype in listed}
    read = {at for at in can if function.parameters[at].direction == "in"}
    alike = {at for at in can if type_of(call[at]) == type_of(call[place])}
    groups: list[set[int]] = []
    for group in ({place}, alike, can, read | {place}, (alike & read) | {place}):
        if group not in groups:
            groups.append(group)
    for group in groups:
        yield [in_type(text, dtype) if at in group else text for at, text in enumerate(call)]


def whole_scalars(function: rules.Function, call: list[str]) -> list[str]:
    """The call with whole numbers for its scalars."""
    return [
        re.sub(r"FLOAT\(([\d.-]+)\)", lambda found: f"INT64({int(float(found[1]))})", text or "INT64(1)")
        if one.kind in ("aclScalar*", "aclScalarList*")
        else text
        for one, text in zip(function.parameters, call, strict=True)
    ]


def differences(function: rules.Function, now: list, before: list, texts: list[str]) -> str:
    """How results differ from those of the same numbers in other types; where types cut them off it is not asked."""
    types = {type_of(text) for text in texts if "[" in text}
    if not types <= REAL | {"INT16", "INT32", "INT64"} or len(now) != len(before):
        return ""
    off = 1.01 if types & WHOLE else 0.0
    for (dtype, got), (other, want) in zip(now, before, strict=True):
        if got is None or want is None or other not in REAL or dtype not in REAL | WHOLE:
            continue
        got, want = got.double(), want.double()
        if not torch.allclose(got, want, 0.05, off + 0.02, equal_nan=True) and want.isfinite().all():
            return f"{got.tolist()[:4]} is not {want.tolist()[:4]}"
    return ""


# What one call of plain numbers is not enough for.
ELSEWHERE = {
    "memory has to hold more than numbers": {
        "AttentionWorkerCombine", "FfnWorkerBatching", "HansDecode", "InplaceAttentionWorkerScheduler",
        "InplaceFfnWorkerScheduler", "MoeUpdateExpert", "ApplyTopKTopP", "InplaceBernoulliTensor",
        "BernoulliTensor", "RoiAlignV2", "RoiAlignV2Backward", "RoiPoolingGradWithArgMax", "RoiPoolingWithArgMax",
    },
    "masks of one size select as many as they say": {"Index", "IndexPutImpl"},
    "complex numbers have no order; what a device's kernel makes of them is not known": {
        "InplaceGeScalar", "InplaceGeTensor", "InplaceGtTensor",
    },
    "the signs of its vectors are free": {"Svd"},
}  # fmt: skip


def asked_here(family: str) -> Iterator[rules.Function]:
    elsewhere = {f"aclnn{name}" for names in ELSEWHERE.values() for name in names} | IN_A_FORMAT
    for function in simulated(family):
        if function.name not in elsewhere and not of_several_devices(function):
            yield function


def test_each_data_type_of_the_tables_is_computed(runner: Runner, family: str) -> None:
    failed, wrong, untaken, asked_types, tried = [], [], set(), set(), 0
    for function in asked_here(family):
        bases = computed(runner, function, family)
        if not bases:
            failed.append(f"{function.name}: no call of accepted_calls.txt comes to its end")
        asked: dict[tuple[str, str], bool] = {}
        for base in bases:
            runner.run(function, base, base)
            before = runner.results(function)
            for place in tensors_of(function, base):
                one = function.parameters[place]
                for dtype in one.dtypes.get(family, ()):
                    taken = type_of(base[place]) == dtype
                    for call in () if taken else retyped(function, base, place, dtype, family):
                        scalars = whole_scalars(function, call) if dtype in WHOLE else call
                        for texts in (call,) if scalars == call else (call, scalars):
                            tried += 1
                            phase, message = runner.run(function, texts, base)
                            taken = taken or phase == 0
                            if phase > 1:
                                failed.append(f"{function.name} {' '.join(texts)}: phase {phase}: {message}")
                            elif phase == 0 and function.page.startswith(ELEMENTWISE):
                                found = differences(function, runner.results(function), before, texts)
                                wrong += [f"{function.name} {' '.join(texts)}: {found}"] if found else []
                    asked[one.name, dtype] = asked.get((one.name, dtype), False) or taken
        asked_types |= {(function.name, *key) for key in asked}
        untaken |= {f"{function.name}.{name}:{dtype}" for (name, dtype), taken in asked.items() if not taken}
    assert not failed, f"{len(failed)} of {tried}:\n" + "\n".join(failed)
    assert not wrong, f"{len(wrong)} of {tried}:\n" + "\n".join(wrong)
    # What goes with other arguments or shapes: packed numbers, and quantization with scales that the call has not.
    assert 20 * len(untaken) < len(asked_types), "\n".join(sorted(untaken))


def nearly_equal(one: torch.Tensor, other: torch.Tensor) -> bool:
    """To a few units in the last place: another element may be computed with or without a vector register."""
    if not one.is_floating_point():
        return torch.equal(one, other)
    few = 4 * torch.finfo(one.dtype).eps
    return torch.allclose(one.double(), other.double(), few, few, equal_nan=True)


def test_what_is_taken_in_blocks_is_computed_of_each_element_alone(runner: Runner, family: str) -> None:
    """A function without an axis sees what is stored: the numbers backwards have to give the results backwards."""
    failed, taken = [], 0
    for function in asked_here(family):
        base = next(iter(computed(runner, function, family)), None)
        tensors = {text.partition("[")[2] for text in base or () if "[" in text}
        if not base or len(tensors) != 1 or "{" in "".join(base) or "[]" in "".join(base):
            continue
        found = []
        for layout, backwards in ((None, False), (NC1HWC0, False), (NC1HWC0, True)):
            runner.layout, runner.backwards = layout, backwards
            phase, message = runner.run(function, base, base)
            runner.layout, runner.backwards = None, False
            if phase == 1:
                break
            if phase:
                failed.append(f"{function.name} {' '.join(base)}: phase {phase}: {message}")
            found.append(runner.results(function))
        else:
            taken += 1
            for (_, plain), (_, blocks), (_, back) in zip(*found, strict=True):
                if plain is not None and not torch.equal(plain.nan_to_num(), blocks.nan_to_num()):
                    failed.append(f"{function.name} {' '.join(base)}: {blocks.tolist()} is not {plain.tolist()}")
                if plain is not None and not nearly_equal(plain.flip(0), back):
                    failed.append(
                        f"{function.name} {' '.join(base)}: {back.tolist()} is not {plain.tolist()} backwards"
                    )
    assert not failed, "\n".join(failed)
    assert taken > 50


def both_orders(function: rules.Function, family: str) -> set[str]:
    """The images: parameters that may have their channels first or last. Where any format will do none matters."""
    pairs = ({"NCHW", "NHWC"}, {"NCDHW", "NDHWC"})
    listed = {
        one.name: set(one.formats.get(family) or next(iter(one.formats.values()), ())) for one in function.parameters
    }
    first = {"NCHW", "NCDHW"}
    for one in function.parameters:
        formats = listed[one.name]
        if "formats" in one.relations.get("checked", ()) and formats & first and not any(p <= formats for p in pairs):
            return set()
    return {
        name for name, formats in listed.items() if "HWCN" not in formats and any(pair <= formats for pair in pairs)
    }


def channels_last(text: str) -> str:
    dtype, _, sizes = text.rstrip("]").partition("[")
    number, channels, *others = sizes.split(",")
    return f"{dtype}[{','.join([number, *others, channels])}]"


def test_images_with_their_channels_last_give_what_they_give_with_them_first(runner: Runner, family: str) -> None:
    failed, asked = [], set()
    for function in asked_here(family):
        images = both_orders(function, family)
        for base in computed(runner, function, family) if images else ():
            places = [place for place, one in enumerate(function.parameters) if one.name in images]
            if not all(base[place].count(",") in (3, 4) for place in places):
                continue  # one that is not of 4 or 5 dimensions has no channels
            asked.add(function.name)
            runner.run(function, base, base)
            before = runner.results(function)
            call = [channels_last(text) if at in places else text for at, text in enumerate(base)]
            phase, message = runner.run(function, call, base, images)
            if phase:
                failed.append(f"{function.name} {' '.join(call)}: phase {phase}: {message}")
                continue
            written = [place for place, one in enumerate(function.parameters) if one.direction != "in"]
            for place, (_, got), (_, want) in zip(written, runner.results(function), before, strict=True):
                if place in places:
                    sizes = [int(size) for size in call[place].rstrip("]").partition("[")[2].split(",")]
                    got = got.reshape(sizes).movedim(-1, 1).flatten()
                if not torch.allclose(got.double(), want.double(), 1e-4, 1e-4, equal_nan=True):
                    failed.append(f"{function.name} {' '.join(call)}: {got.tolist()[:6]} is not {want.tolist()[:6]}")
    assert not failed, "\n".join(failed)
    assert len(asked) >= 20
