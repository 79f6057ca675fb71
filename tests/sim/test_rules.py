"""What a device refuses in phase 1 is refused here, with its code: generated from the tables of csrc/rules."""

import ctypes
import functools
import json
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch
import torch_npu  # noqa: F401
from interfaces import FORMATS, format_for
from limits import allowed_members, allowed_sizes, beyond, inside, outside, places

from ophook_npu import sim
from ophook_npu.sim import operators, rules

# aclDataType, by CANN's names; acl_base.h of the torch_npu wheel.
DTYPES = {
    "FLOAT": 0, "FLOAT16": 1, "INT8": 2, "INT32": 3, "UINT8": 4, "INT16": 6, "UINT16": 7, "UINT32": 8, "INT64": 9,
    "UINT64": 10, "DOUBLE": 11, "BOOL": 12, "STRING": 13, "COMPLEX64": 16, "COMPLEX128": 17, "BFLOAT16": 27, "INT4": 29,
    "UINT1": 30, "COMPLEX32": 33, "HIFLOAT8": 34, "FLOAT8_E5M2": 35, "FLOAT8_E4M3FN": 36, "FLOAT8_E8M0": 37,
    "FLOAT6_E3M2": 38, "FLOAT6_E2M3": 39, "FLOAT4_E2M1": 40, "FLOAT4_E1M2": 41,
}  # fmt: skip
NULL, INVALID = 161001, rules.INVALID
TENSORS = ("aclTensor*", "aclTensorList*")
FAMILY = rules.family(os.environ.get("OPHOOK_SIM_SOC", "Ascend910B4"))


Given = tuple[str, tuple[int, ...]]  # data type and sizes; a view of every second element where a size is negative
Formatted = tuple[str, tuple[int, ...], str]  # and the format
Wrong = Given | Formatted | int | str | None  # what comes in an argument's stead: of a tensor, a number, a text, null


# Calls that every check takes, for functions that refuse one with sizes of one everywhere. Most were noted while the
# tests of this folder ran; a line is a function and its arguments, in the order of its page:
#   NAME=DATA_TYPE[SIZES]  NAME={DATA_TYPE[SIZES];…}  NAME=DATA_TYPE(VALUE)  NAME=(1,2)  NAME="text"  NAME=1  NAME=null
CALLS = Path(__file__).parent / "accepted_calls.txt"


@functools.cache
def noted() -> dict[str, list[list[str]]]:
    """The lines of accepted_calls.txt by function: the arguments without their names."""
    found: dict[str, list[list[str]]] = {}
    for line in CALLS.read_text().splitlines():
        name, *arguments = line.split(" ")
        found.setdefault(name, []).append([one.partition("=")[2] for one in arguments])
    return found


class Caller:
    """Calls first phases through the C interface, with arguments made from a function's rules."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL("libopapi.so")
        for name in ("Tensor", "TensorList", "Scalar", "ScalarList", "IntArray", "FloatArray", "BoolArray"):
            getattr(self.library, f"aclCreate{name}").restype = ctypes.c_void_p
        self.runtime = ctypes.CDLL("libascendcl.so")
        self.runtime.aclGetRecentErrMsg.restype = ctypes.c_char_p
        self.memory = torch.zeros(1 << 12, device="npu:0")
        self.tensors: dict[tuple[str, tuple[int, ...], int], ctypes.c_void_p] = {}

    def place(self, dtype: str, sizes: tuple[int, ...]) -> int:
        """Where a tensor lies: all at the same place."""
        return self.memory.data_ptr()

    def tensor(self, dtype: str, sizes: tuple[int, ...], one: rules.Parameter | None = None) -> ctypes.c_void_p:
        key = dtype, sizes, format_for(one, len(sizes), dtype)
        if key not in self.tensors:
            values, rank = (ctypes.c_int64 * len(sizes))(*map(abs, sizes)), ctypes.c_uint64(len(sizes))
            strides = (ctypes.c_int64 * len(sizes))(*[2] * len(sizes)) if min(sizes, default=0) < 0 else None
            data = ctypes.c_void_p(self.place(dtype, sizes))
            made = self.library.aclCreateTensor(
                values, rank, DTYPES[dtype], strides, ctypes.c_int64(0), key[2], values, rank, data
            )
            self.tensors[key] = ctypes.c_void_p(made)
        return self.tensors[key]

    def value(self, one: rules.Parameter, dtype: str, sizes: tuple[int, ...]) -> object:
        """An argument; those that the tables do not speak of are small and harmless."""
        create = {
            "aclIntArray*": ("aclCreateIntArray", ctypes.c_int64),
            "aclFloatArray*": ("aclCreateFloatArray", ctypes.c_float),
            "aclBoolArray*": ("aclCreateBoolArray", ctypes.c_bool),
        }
        if one.kind == "aclTensor*":
            return self.tensor(dtype, sizes, one)
        if one.kind == "aclTensorList*":
            members = (ctypes.c_void_p * 1)(self.tensor(dtype, sizes, one))
            self.tensors.clear()  # the list owns it
            return ctypes.c_void_p(self.library.aclCreateTensorList(members, ctypes.c_uint64(1)))
        if one.kind in create:
            function, item = create[one.kind]
            members = allowed_members(one, self.family())
            made = (item * max(1, len(members)))(*members)
            return ctypes.c_void_p(getattr(self.library, function)(made, ctypes.c_uint64(len(members))))
        value = inside(one.related("values", self.family())) if one.kind != "char*" else 0
        scalar = ctypes.c_float(value)
        if one.kind == "aclScalar*":
            item = {"FLOAT": scalar, "BOOL": ctypes.c_bool(True)}.get(dtype, ctypes.c_int64(int(value)))
            return ctypes.c_void_p(self.library.aclCreateScalar(ctypes.byref(item), DTYPES[dtype]))
        if one.kind == "aclScalarList*":
            members = (ctypes.c_void_p * 1)(self.library.aclCreateScalar(ctypes.byref(scalar), 0))
            return ctypes.c_void_p(self.library.aclCreateScalarList(members, ctypes.c_uint64(1)))
        if one.kind == "char*":
            return ctypes.c_char_p(one.relations.get("values", ("",))[0].encode())
        if one.kind.endswith("*"):
            return ctypes.c_void_p()
        if one.kind in ("double", "float"):
            return {"double": ctypes.c_double, "float": ctypes.c_float}[one.kind](value)
        if one.kind == "aclDataType" and (one.dtypes or "dtype" in one.relations):
            return ctypes.c_int64(DTYPES[dtype])
        return ctypes.c_int64(int(value))

    def family(self) -> str:
        """The one whose rules hold, which a test may choose."""
        before = self.library.ophook_rules_family(-1)
        self.library.ophook_rules_family(before)
        return rules.FAMILIES[before] if before >= 0 else FAMILY

    def arguments(self, function: rules.Function, given: list[Given]) -> list[object]:
        return [self.value(one, *each) for one, each in zip(function.parameters, given, strict=True)]

    def read(self, one: rules.Parameter, text: str) -> object:
        """An argument as accepted_calls.txt has it."""
        kind = one.kind
        if text == "null":
            return ctypes.c_void_p()
        if kind == "aclTensor*":
            dtype, _, sizes = text.rstrip("]").partition("[")
            return self.tensor(dtype, tuple(map(int, sizes.split(",") if sizes else ())), one)
        if kind == "aclScalar*":
            dtype, _, value = text.rstrip(")").partition("(")
            item = {"FLOAT": ctypes.c_float, "INT64": ctypes.c_int64, "BOOL": ctypes.c_bool}[dtype]
            held = item(item(int(value)).value) if item is not ctypes.c_float else item(float(value))
            return ctypes.c_void_p(self.library.aclCreateScalar(ctypes.byref(held), DTYPES[dtype]))
        if kind in ("aclTensorList*", "aclScalarList*"):
            member = replace(one, kind=kind.replace("List", ""))
            items = [self.read(member, item) for item in text.strip("{}").split(";") if item]
            if kind == "aclTensorList*":
                self.tensors.clear()  # the list owns them
            members = (ctypes.c_void_p * max(1, len(items)))(*items)
            return ctypes.c_void_p(
                getattr(self.library, f"aclCreate{kind[3:-1]}")(members, ctypes.c_uint64(len(items)))
            )
        if kind.endswith("Array*"):
            items = [float(item) for item in text.strip("()").split(",") if item]
            item = {"aclIntArray*": ctypes.c_int64, "aclFloatArray*": ctypes.c_float, "aclBoolArray*": ctypes.c_bool}[
                kind
            ]
            values = (item * max(1, len(items)))(*map(int if item is ctypes.c_int64 else float, items))
            return ctypes.c_void_p(getattr(self.library, f"aclCreate{kind[3:-1]}")(values, ctypes.c_uint64(len(items))))
        if kind == "char*":
            return ctypes.c_char_p(text.strip('"').encode())
        if kind in ("double", "float"):
            return {"double": ctypes.c_double, "float": ctypes.c_float}[kind](float(text))
        return ctypes.c_int64(int(text))

    def __call__(self, function: rules.Function, arguments: list[object]) -> tuple[int, str]:
        size, executor = ctypes.c_uint64(), ctypes.c_void_p()
        phase = getattr(self.library, f"{function.name}GetWorkspaceSize")
        code = phase(*arguments, ctypes.byref(size), ctypes.byref(executor))
        message = (self.runtime.aclGetRecentErrMsg() or b"").decode() if code else ""
        if executor:
            self.library.aclDestroyAclOpExecutor(executor)
        if function.name == "aclnnTransMatmulWeight":
            self.tensors.clear()  # it has another format now
        return code, message


def accepted(function: rules.Function, family: str) -> list[Given]:
    """A data type and sizes for each parameter that no rule of the function refuses."""
    dtypes = {one.name: tuple(k for k in DTYPES if k in one.dtypes.get(family, DTYPES)) for one in function.parameters}
    dtypes |= {name: types[:1] for name, types in columns_of(function, family).items()}
    ranks = {one.name: one.ranks or tuple(range(9)) for one in function.parameters}
    for _ in range(3):  # relations may form chains
        for one in function.parameters:
            for relation, allowed in (("dtype", dtypes), ("shape", ranks), ("shape_of_broadcast", ranks)):
                for other in one.related(relation, family):
                    both = tuple(value for value in allowed[one.name] if value in allowed[other])
                    allowed[one.name] = both or allowed[one.name]
                    allowed[other] = both or allowed[other]
            for other in one.relations.get("cast", ()):
                fits = tuple(name for name in dtypes[other] if rules.can_cast(name, dtypes[one.name][0]))
                dtypes[other] = fits or dtypes[other]
    middle = {name: 4 if 4 in allowed else allowed[len(allowed) // 2] for name, allowed in ranks.items()}
    sizes = allowed_sizes(function, family, middle)
    return [(dtypes[one.name][0], sizes[one.name]) for one in function.parameters]


def columns_of(function: rules.Function, family: str) -> dict[str, tuple[str, ...]]:
    return {one.name: types for one in function.parameters if (types := one.related("columns", family))}


def wrong_formats(function: rules.Function, one: rules.Parameter, given: list[Given], family: str) -> Iterator[str]:
    """One that its list has not, and one that is not the format of a tensor that it goes with."""
    taken = one.formats.get(family, FORMATS) if "formats" in one.relations.get("checked", ()) else FORMATS
    yield from [name for name in FORMATS if name not in taken][:1]
    _, own_sizes = given[function.parameters.index(one)]
    if own := one.related(f"formats_of_{len(own_sizes)}", family):
        yield from [name for name in taken if name not in own and name in FORMATS][:1]
    for other, (_, sizes) in zip(function.parameters, given, strict=True):
        if other.name in one.relations.get("format", ()):
            yield from [name for name in taken if FORMATS.get(name) not in (None, format_for(other, len(sizes)))][:1]


def mistakes(function: rules.Function, family: str, given: list[Given]) -> Iterator[tuple[int, Wrong, int]]:
    """What the table says is refused: the parameter's place, what comes in its stead (None: null), and the code."""
    names = [one.name for one in function.parameters]
    columns = columns_of(function, family)
    for place, one in enumerate(function.parameters):
        dtype, sizes = given[place]
        beside = [types for name, types in columns.items() if name != one.name]
        first = tuple(types[0] for types in beside)
        fits = {own for own, *others in zip(columns.get(one.name, ()), *beside, strict=False) if tuple(others) == first}
        if one.required:
            yield place, None, INVALID if "null_is_invalid" in one.relations else NULL
        for value in outside(one, family):
            yield place, value, function.invalid_code
        for at, spans in places(one, family).items() if one.kind == "aclTensor*" else ():
            for size in beyond(spans) if at < len(sizes) else ():
                if size >= 0:
                    yield place, (dtype, (*sizes[:at], int(size), *sizes[at + 1 :])), function.invalid_code
        if one.kind not in TENSORS:
            continue
        wrong = [name for name in DTYPES if name not in one.dtypes.get(family, DTYPES)]
        if family != FAMILY:  # of the other products one, and where they differ
            wrong = [name for name in wrong if name == wrong[0] or name in one.dtypes.get(FAMILY, ())]
        for name in (*wrong, *sorted(set(columns.get(one.name, ())) - fits)):
            yield place, (name, sizes), function.invalid_code
        if "contiguous" in one.relations and sizes:
            yield place, (dtype, (*sizes[:-1], -2)), function.invalid_code
        for rank in range(10):
            if one.ranks and rank not in one.ranks:
                checked = "ranks" in one.relations.get("checked", ())
                yield place, (dtype, (1,) * rank), INVALID if checked else function.shape_code
        others = [function.parameters[names.index(name)] for name in one.related("shape", family)]
        others += [function.parameters[names.index(name)] for name in one.related("shape_of_broadcast", family)]
        if one.kind == "aclTensor*" and sizes and others and all(other.kind == one.kind for other in others):
            yield place, (dtype, (2, *sizes[1:])), INVALID  # of pairs that CANN's check compares
        for name in one.related("dtype", family):
            other = names.index(name)
            others_type = [kind for kind in one.dtypes.get(family, DTYPES) if kind != given[other][0]]
            if others_type and one.kind == function.parameters[other].kind and one.kind in TENSORS:
                yield place, (others_type[0], sizes), function.invalid_code
        yield from (
            (place, (dtype, sizes, name), function.invalid_code) for name in wrong_formats(function, one, given, family)
        )
        for name in one.relations.get("cast", ()):
            came = given[names.index(name)][0]
            narrow = [kind for kind in one.dtypes.get(family, ()) if not rules.can_cast(came, kind)]
            if narrow:
                yield place, (narrow[0], sizes), function.invalid_code


# Functions whose page in the snapshot has other parameters than the torch_npu that is tested here passes.
OTHER_PAGE = {
    "aclnnGRUBackward": "it has a list of first states, for which torch_npu 2.13 passes one tensor",
}


KINDS = {
    "In": "aclTensor*", "Out": "aclTensor*", "Ref": "aclTensor*", "Resized": "aclTensor*", "Num": "aclScalar*",
    "MaybeNum": "aclScalar*", "Ints": "aclIntArray*", "Floats": "aclFloatArray*", "Bools": "aclBoolArray*",
    "List": "aclTensorList*", "Nums": "aclScalarList*", "Text": "char*", "Cube": "int8_t", "Dtype": "aclDataType",
}  # fmt: skip


def signature(library: ctypes.CDLL, name: str) -> list[str] | None:
    """The C types of a row's parameters; None for a function that is no row."""
    told = getattr(library, f"{name}Parameters", None)
    if told is None:
        return None
    told.restype = ctypes.c_char_p
    words = [word.strip() for word in told().decode().strip("()").split(",")]
    return [KINDS.get(kind, kind) for kind in words[::2]]


def documented(family: str = FAMILY) -> list[rules.Function]:
    have = operators(Path(sim.build()))["aclnn"]
    return [rules.table()[name] for name in have if name in rules.table() and family in rules.table()[name].families]


def differs(library: ctypes.CDLL, function: rules.Function) -> str | None:
    """How a row's C signature differs from the page's, or None. The ABI passes whole numbers of any width alike."""
    row = signature(library, function.name)
    page = [one.kind for one in function.parameters]
    whole = {"aclDataType", "int", "int8_t", "int32_t", "int64_t", "uint64_t", "uint32_t"}
    if row is None or [kind in whole or kind for kind in row] == [kind in whole or kind for kind in page]:
        return None
    return f"{function.name}: {', '.join(row)}; its page has {', '.join(page)}"


@functools.cache
def simulated(family: str) -> list[rules.Function]:
    library = ctypes.CDLL("libopapi.so")
    return [one for one in documented(family) if signature(library, one.name) and not differs(library, one)]


@pytest.fixture(scope="module")
def caller() -> Caller:
    return Caller()


@pytest.fixture(params=rules.FAMILIES)
def family(request: pytest.FixtureRequest, caller: Caller):
    before = caller.library.ophook_enforce_rules(1), caller.library.ophook_rules_family(-1)
    caller.library.ophook_rules_family(rules.FAMILIES.index(request.param))
    yield request.param
    caller.library.ophook_enforce_rules(before[0])
    caller.library.ophook_rules_family(before[1])


def least(count: int, family: str) -> int:
    """Of so many on an Atlas A2 the share of a product that has fewer functions."""
    a2, own = (len(list(simulated(name))) for name in ("Ascend910B", family))
    return min(count, count * own // a2)


def test_what_the_table_refuses_is_refused_with_its_code(caller: Caller, family: str) -> None:
    """Each parameter null, each data type, rank and value outside the lists, wrong shapes, types that differ."""
    wrong, tried, values, formats = [], {NULL: 0, INVALID: 0, rules.TILING: 0}, 0, 0
    for function in simulated(family):
        given = accepted(function, family)
        right = caller.arguments(function, given)
        for place, instead, want in mistakes(function, family, given):
            one = function.parameters[place]
            arguments = list(right)
            if isinstance(instead, tuple):
                dtype, sizes, *other_format = instead
                other = (
                    {"formats": {family: other_format}, "relations": {"checked": ("formats",)}} if other_format else {}
                )
                arguments[place] = caller.value(replace(one, **other), dtype, sizes)
            else:
                arguments[place] = ctypes.c_void_p() if instead is None else caller.read(one, str(instead))
            values += isinstance(instead, (int, str))
            formats += isinstance(instead, tuple) and len(instead) == 3
            code, message = caller(function, arguments)
            tried[want] += 1
            if code != want or one.name not in message or function.page not in message:
                wrong.append(f"{function.name} {one.name} {instead}: {code} {message}")
    assert tried[NULL] > least(1000, family) and tried[INVALID] > least(3000, family)
    assert tried[rules.TILING] >= least(11, family) and formats > least(50, family)
    assert values > (least(9, family) if family in rules.INFERENCE_ONLY else 15)
    assert not wrong, f"{len(wrong)} of {tried}:\n" + "\n".join(wrong[:20])


def test_of_two_that_are_both_null_one_is_asked_for(caller: Caller, family: str) -> None:
    tried = 0
    for function in simulated(family):
        pair = [place for place, one in enumerate(function.parameters) if "either" in one.relations]
        if not pair:
            continue
        given = caller.arguments(function, accepted(function, family))
        for gone, want in ((pair, True), (pair[:1], False), (pair[1:], False)):
            code, _ = caller(function, [ctypes.c_void_p() if at in gone else one for at, one in enumerate(given)])
            assert (code == NULL) == want, (function.name, gone, code)
            tried += 1
    assert tried >= least(3, family)


# Functions whose accepted calls need what one process with plain tensors has not.
IN_A_FORMAT = {  # the weight lies in FRACTAL_NZ: test_aclnn_weights.py, test_aclnn_quant.py, test_aclnn_products.py
    "aclnnFusedQuantMatmulWeightNz",
    "aclnnQuantMatmulReduceSumWeightNz",
    "aclnnQuantMatmulWeightNz",
    "aclnnTransposeBatchMatMulWeightNz",
    "aclnnWeightQuantPreprocess",
}


def of_several_devices(function: rules.Function) -> bool:
    """Calls that name a group of HCCL's: test_hccl.py."""
    return any(one.kind == "char*" and "group" in one.name.lower() for one in function.parameters)


def told(given: Given) -> str:
    dtype, sizes = given
    return f"{dtype}[{','.join(map(str, sizes))}]"


def calls_of(function: rules.Function, family: str) -> Iterator[list[str]]:
    """Calls as accepted_calls.txt has them, first the one that the table alone gives."""
    lists = {"aclTensor*": "{}", "aclTensorList*": "{{{}}}"}
    yield [
        lists[one.kind].format(told(given)) if one.kind in lists else ""
        for one, given in zip(function.parameters, accepted(function, family), strict=True)
    ]
    yield from noted().get(function.name, [])


def made(caller: Caller, function: rules.Function, family: str, call: list[str]) -> list[object]:
    plain = caller.arguments(function, accepted(function, family)) if "" in call else []
    return [
        caller.read(one, text) if text else plain[place]
        for place, (one, text) in enumerate(zip(function.parameters, call, strict=True))
    ]


def test_what_the_table_allows_no_rule_refuses_and_each_function_takes_a_call(caller: Caller, family: str) -> None:
    wrong, untaken, noted_calls = [], [], 0
    for function in simulated(family):
        for number, call in enumerate(calls_of(function, family)):
            code, message = caller(function, made(caller, function, family, call))
            noted_calls += number > 0
            if not number and code and function.page in message:
                wrong.append(f"{function.name}: {code} {message}")
            if not code:
                break
        if code and function.name not in IN_A_FORMAT and not of_several_devices(function):
            untaken.append(f"{function.name}: {code} {message}")
    assert not wrong, "\n".join(wrong[:20])
    assert not untaken, "accepted_calls.txt lacks a call for\n" + "\n".join(untaken)
    assert noted_calls > least(100, family)


def test_calls_and_their_codes(caller: Caller) -> None:
    """Those of codes_of_calls.txt: a code, and a call as in accepted_calls.txt. A row checks them, not the table."""
    wrong = []
    for line in CALLS.with_name("codes_of_calls.txt").read_text().splitlines():
        code, name, *arguments = line.split(" ")
        function = rules.table()[name]
        read = [caller.read(p, a.partition("=")[2]) for p, a in zip(function.parameters, arguments, strict=True)]
        came, message = caller(function, read)
        if came != int(code):
            wrong.append(f"{line} gives {came} {message}")
    assert not wrong, "\n".join(wrong)


def test_a_private_format_that_no_page_names_is_refused(caller: Caller) -> None:
    function, fractal_z_3d = rules.table()["aclnnMaxPool2dWithIndices"], 33
    call = noted()[function.name][0]
    arguments = made(caller, function, FAMILY, call)
    sizes = (ctypes.c_int64 * 4)(*map(int, call[0].rstrip("]").partition("[")[2].split(",")))
    rank, data = ctypes.c_uint64(4), ctypes.c_void_p(caller.memory.data_ptr())
    self = caller.library.aclCreateTensor(
        sizes, rank, DTYPES["FLOAT"], None, ctypes.c_int64(0), fractal_z_3d, sizes, rank, data
    )
    code, message = caller(function, [ctypes.c_void_p(self), *arguments[1:]])
    assert code == INVALID and "private format 33" in message and caller(function, arguments)[0] == 0, message


# Outputs that take other shapes than the one in the call that is tried, by the reason.
ANY_SHAPE = {
    "what memory holds decides": (
        "Bincount.out", "Nonzero.out", "NonzeroV2.out", "Unique.valueOut", "UniqueConsecutive.countsOut",
        "UniqueConsecutive.valueOut", "UniqueDim.countsOut", "UniqueDim.valueOut",
    ),
    "it says itself how much is asked for": (
        "ForeachACosInplace.x", "ForeachLogInplace.x", "ForeachMulScalarInplace.x", "ForeachSubScalarInplace.x",
        "ForeachNonFiniteCheckAndUnscale.scaledGrads", "ForeachZeroInplace.x", "InplaceOne.selfRef",
        "NormalFloatFloat.out",
    ),
    "on Ascend950 it may have more rows than x": (
        "GroupedMatmulFinalizeRoutingV3.out", "GroupedMatmulFinalizeRoutingWeightNzV2.out",
    ),
    "as many are written as it has room for": ("Arange.out", "Range.out"),
    "there need only be room": (
        "DropoutV3.maskOut",
        "HansEncode.fixedOut", "HansEncode.varOut", "NsaCompressWithCache.outputCache",
    ),
    "this call does not ask for it": (
        "AddLayerNormQuant.outScales1Out", "AddLayerNormQuant.outScales2Out",
        "AddLayerNormQuantV2.outScales1Out", "AddLayerNormQuantV2.outScales2Out", "AddLayerNormQuantV2.y2Out",
        "AddRmsNormDynamicMxQuant.rstdOut", "DequantRopeQuantKvcache.kOut", "DequantRopeQuantKvcache.vOut",
        "FlashAttentionScoreGrad.dpseOut", "FlashAttentionScoreGradV3.dpseOut",
        "FlashAttentionUnpaddingScoreGradV5.dpseOut", "FusedInferAttentionScore.softmaxLse",
        "FusedInferAttentionScoreV3.softmaxLse",
        "GeluQuant.outScaleOptional", "LayerNormQuant.scaleOut", "LightningIndexer.sparseValuesOut", "MhcPre.hRes",
        "MlaPrologV2WeightNz.dequantScaleQNopeOutOptional", "MoeGatingTopKSoftmaxV2.softmaxResultOutOptional",
        "MoeTokenUnpermuteGrad.probsGradOut",
        "MoeTokenUnpermuteWithRoutingMapGrad.probsGradOutOptional", "MoeUpdateExpert.balancedActiveMask",
        "SwigluGroupQuant.yOriginOut", "SwigluGroupQuantGrad.gradWeightOutOptional",
        "TopKTopPSampleV2.logitsIdx", "TopKTopPSampleV2.logitsSortMasked",
    ),
    "its page calls it reserved": (
        "CrossEntropyLoss.lseForZlossOut", "CrossEntropyLoss.zlossOut", "FlashAttentionScore.softmaxOutOut",
        "FlashAttentionScoreV3.softmaxOutOut", "FlashAttentionVarLenScore.softmaxOutOut",
        "FlashAttentionVarLenScoreV5.softmaxOutOut", "GroupedMatmulSwigluQuant.outputOffset",
        "GroupedMatmulSwigluQuantWeightNZ.outputOffset",
        "LogSigmoidForward.buffer", "QuantFlashAttentionScore.softmaxOutOut",
    ),
    "its page and op-plugin differ": ("FfnWorkerBatching.dynamicScale",),
}  # fmt: skip


def other_shapes(tensor: str) -> Iterator[str]:
    """Of a tensor in accepted_calls.txt: longer in its last and in its first dimension."""
    dtype, _, text = tensor.rstrip("]").partition("[")
    sizes = [int(size) for size in text.split(",") if size]
    for at in sorted({0, len(sizes) - 1}) if sizes else ():
        yield f"{dtype}[{','.join(str(size + 7 * (place == at)) for place, size in enumerate(sizes))}]"
    if not sizes:
        yield f"{dtype}[3]"


def wrong_outputs(text: str) -> Iterator[str]:
    """A tensor in other shapes; a list with such a tensor, and with one tensor more."""
    if not text.startswith("{"):
        yield from other_shapes(text)
        return
    first, *rest = text.strip("{}").split(";")
    for shape in other_shapes(first):
        yield f"{{{';'.join([shape, *rest])}}}"
    yield f"{{{';'.join([first, *rest, first])}}}"


def is_idle(function: rules.Function, call: list[str]) -> bool:
    """Whether an empty tensor ends this call before CANN compares shapes."""
    named = {name for one in function.parameters for name in one.relations.get("idle", ())}
    given = zip(function.parameters, call, strict=True)
    return any(one.name in named and re.search(r"[\[,]0[,\]]", text) for one, text in given)


def test_an_output_of_a_wrong_shape_is_refused(caller: Caller, family: str) -> None:
    """In phase 1, for each output of a call that is taken otherwise, where no empty tensor has ended it."""
    here = [names for reason, names in ANY_SHAPE.items() if family in reason or "Ascend" not in reason]
    excepted = {f"aclnn{name}" for names in here for name in names}
    taken, seen, free, tried = [], set(), set(), 0
    for function in simulated(family):
        for call in calls_of(function, family):
            if not caller(function, made(caller, function, family, call))[0]:
                break
        else:
            continue  # the test above names it
        for place, one in enumerate(function.parameters):
            written = {"aclTensor*": ("out",), "aclTensorList*": ("out", "inout")}.get(one.kind, ())
            if one.direction not in written or call[place] in ("null", "{}"):
                continue
            name = f"{function.name}.{one.name}"
            seen.add(name)
            for text in wrong_outputs(call[place]):
                wrong = [*call[:place], text, *call[place + 1 :]]
                code, _ = caller(function, made(caller, function, family, wrong))
                tried += 1
                compared = {*one.related("shape", family), *one.related("shape_of_broadcast", family)}
                expected = 0 if is_idle(function, wrong) else INVALID if compared else function.shape_code
                if code != expected and name in excepted:
                    free.add(name)
                elif code != expected:
                    taken.append(f"{name} {call[place]}: {text} gives {code}")
    assert tried > least(1500, family)
    assert not taken, f"{len(taken)} of {tried}:\n" + "\n".join(taken)
    needless = sorted(excepted & seen - free)
    assert not needless, f"these are refused and need no exception: {needless}"


def test_the_rows_have_the_documented_parameters() -> None:
    """A row with other parameters than its page would be called with garbage by a C++ client."""
    library = ctypes.CDLL("libopapi.so")
    found = [one for name in operators(Path(sim.build()))["aclnn"] if (one := rules.table().get(name))]
    assert len(found) > 650
    assert any(FAMILY not in one.families for one in found)  # of each product: the ABI is one
    others = {one.name: text for one in found if (text := differs(library, one))}
    assert {name: text for name, text in others.items() if name not in OTHER_PAGE} == {}
    assert set(OTHER_PAGE) <= set(others)  # a page that has come round needs no exception


def test_through_torch(run_sim) -> None:
    done = run_sim("import torch; x = torch.ones(4, 4, dtype=torch.float64).npu(); print((x @ x).cpu())")
    assert done.returncode != 0
    assert "aclnnMatmul" in done.stderr and "DOUBLE" in done.stderr and "FLOAT16" in done.stderr, done.stderr


def test_the_product_decides(run_sim) -> None:
    code = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import test_rules as t; t.show_zero()"
    for soc, want in (("Ascend910B4", INVALID), ("Ascend950PR_9589", 0)):
        done = run_sim(code, "--soc", soc)
        assert done.stdout.split() == [str(want)], (done.stdout, done.stderr)


def show_zero() -> None:
    """aclnnInplaceZero of HIFLOAT8, which Ascend950 has and Ascend910B has not."""
    call = Caller()
    function = rules.table()["aclnnInplaceZero"]
    code, message = call(function, [call.tensor("HIFLOAT8", (1, 1))])
    print(code if code != INVALID or function.page in message else 0)
    sys.stdout.flush()


def test_the_report_names_what_each_product_refuses_and_off_refuses_nothing(run_sim, tmp_path: Path) -> None:
    report = tmp_path / "report"
    code = "import torch; x = torch.ones(4, 4, dtype=torch.float64).npu(); print((x @ x).cpu().sum().item())"
    done = run_sim(code, OPHOOK_SIM_RULES="off", OPHOOK_SIM_RULES_REPORT=str(report))
    assert done.stdout.split() == ["64.0"], done.stderr
    lines = [json.loads(line) for line in report.read_text().splitlines()]
    assert {(line["family"], line["code"]) for line in lines if line["function"] == "aclnnMatmul"} == {
        (family, INVALID) for family in rules.FAMILIES
    }
    assert [line["simulated"] for line in lines if line["family"] == FAMILY] == [True]
