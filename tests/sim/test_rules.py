"""What a device refuses in phase 1 is refused here, with its code: generated from the tables of csrc/rules."""

import ctypes
import json
import os
import sys
from pathlib import Path

import pytest
import torch
import torch_npu  # noqa: F401

from ophook_npu import sim
from ophook_npu.sim import operators, rules

# aclDataType, by CANN's names; acl_base.h of the torch_npu wheel.
DTYPES = {
    "FLOAT": 0, "FLOAT16": 1, "INT8": 2, "INT32": 3, "UINT8": 4, "INT16": 6, "UINT16": 7, "UINT32": 8, "INT64": 9,
    "UINT64": 10, "DOUBLE": 11, "BOOL": 12, "STRING": 13, "COMPLEX64": 16, "COMPLEX128": 17, "BFLOAT16": 27, "INT4": 29,
    "UINT1": 30, "COMPLEX32": 33, "HIFLOAT8": 34, "FLOAT8_E5M2": 35, "FLOAT8_E4M3FN": 36, "FLOAT8_E8M0": 37,
    "FLOAT6_E3M2": 38, "FLOAT6_E2M3": 39, "FLOAT4_E2M1": 40, "FLOAT4_E1M2": 41,
}  # fmt: skip
NULL, INVALID = 161001, 161002
FAMILY = rules.family(os.environ.get("OPHOOK_SIM_SOC", "Ascend910B4"))


class Caller:
    """Calls first phases through the C interface, with arguments made from a function's rules."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL("libopapi.so")
        for name in (
            "aclCreateTensor",
            "aclCreateTensorList",
            "aclCreateScalar",
            "aclCreateIntArray",
            "aclCreateFloatArray",
        ):
            getattr(self.library, name).restype = ctypes.c_void_p
        self.library.aclCreateBoolArray.restype = self.library.aclCreateScalarList.restype = ctypes.c_void_p
        self.runtime = ctypes.CDLL("libascendcl.so")
        self.runtime.aclGetRecentErrMsg.restype = ctypes.c_char_p
        self.memory = torch.zeros(1 << 12, device="npu:0")

    def tensor(self, dtype: str, rank: int) -> ctypes.c_void_p:
        sizes = (ctypes.c_int64 * rank)(*[1] * rank)
        arguments = (
            sizes,
            ctypes.c_uint64(rank),
            DTYPES[dtype],
            None,
            ctypes.c_int64(0),
            2,
            sizes,
            ctypes.c_uint64(rank),
        )
        return ctypes.c_void_p(self.library.aclCreateTensor(*arguments, ctypes.c_void_p(self.memory.data_ptr())))

    def value(self, one: rules.Parameter, dtype: str, rank: int) -> object:
        """An argument; those that the tables do not speak of are small and harmless."""
        create = {
            "aclIntArray*": ("aclCreateIntArray", ctypes.c_int64),
            "aclFloatArray*": ("aclCreateFloatArray", ctypes.c_float),
            "aclBoolArray*": ("aclCreateBoolArray", ctypes.c_bool),
        }
        if one.kind == "aclTensor*":
            return self.tensor(dtype, rank)
        if one.kind == "aclTensorList*":
            members = (ctypes.c_void_p * 1)(self.tensor(dtype, rank))
            return ctypes.c_void_p(self.library.aclCreateTensorList(members, ctypes.c_uint64(1)))
        if one.kind in create:
            function, item = create[one.kind]
            return ctypes.c_void_p(getattr(self.library, function)((item * 1)(1), ctypes.c_uint64(1)))
        scalar = ctypes.c_float(1)
        if one.kind == "aclScalar*":
            return ctypes.c_void_p(self.library.aclCreateScalar(ctypes.byref(scalar), 0))
        if one.kind == "aclScalarList*":
            members = (ctypes.c_void_p * 1)(self.library.aclCreateScalar(ctypes.byref(scalar), 0))
            return ctypes.c_void_p(self.library.aclCreateScalarList(members, ctypes.c_uint64(1)))
        if one.kind == "char*":
            return ctypes.c_char_p(b"")
        if one.kind.endswith("*"):
            return ctypes.c_void_p()
        return {"double": ctypes.c_double, "float": ctypes.c_float}.get(one.kind, ctypes.c_int64)(1)

    def __call__(self, function: rules.Function, arguments: list[object]) -> tuple[int, str]:
        size, executor = ctypes.c_uint64(), ctypes.c_void_p()
        phase = getattr(self.library, f"{function.name}GetWorkspaceSize")
        code = phase(*arguments, ctypes.byref(size), ctypes.byref(executor))
        return code, (self.runtime.aclGetRecentErrMsg() or b"").decode()


def accepted(function: rules.Function) -> list[tuple[str, int]]:
    """A data type and a rank for each parameter that no rule of the function refuses."""
    dtypes = {one.name: one.dtypes.get(FAMILY, tuple(DTYPES)) for one in function.parameters}
    ranks = {one.name: one.ranks or tuple(range(9)) for one in function.parameters}
    for _ in range(3):  # relations may form chains
        for one in function.parameters:
            for relation, allowed in (("dtype", dtypes), ("shape", ranks)):
                other = one.relations.get(relation, (one.name,))[0]
                both = tuple(value for value in allowed[one.name] if value in allowed[other])
                allowed[one.name] = both or allowed[one.name]
                allowed[other] = both or allowed[other]
    return [(dtypes[one.name][0], ranks[one.name][len(ranks[one.name]) // 2]) for one in function.parameters]


# Functions whose page in the snapshot is older than the torch_npu that is tested here.
OLDER_PAGE = {"aclnnFusedInferAttentionScoreV4": "it has no learnableSink yet, which torch_npu 2.13 passes"}


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


def documented() -> list[rules.Function]:
    have = operators(Path(sim.build()))["aclnn"]
    return [rules.table()[name] for name in have if name in rules.table() and FAMILY in rules.table()[name].families]


def differs(library: ctypes.CDLL, function: rules.Function) -> str | None:
    """How a row's C signature differs from the page's, or None. The ABI passes whole numbers of any width alike."""
    row = signature(library, function.name)
    page = [one.kind for one in function.parameters]
    whole = {"aclDataType", "int", "int8_t", "int32_t", "int64_t", "uint64_t", "uint32_t"}
    if row is None or [kind in whole or kind for kind in row] == [kind in whole or kind for kind in page]:
        return None
    return f"{function.name}: {', '.join(row)}; its page has {', '.join(page)}"


def simulated() -> list[rules.Function]:
    library = ctypes.CDLL("libopapi.so")
    return [one for one in documented() if signature(library, one.name) and not differs(library, one)]


@pytest.fixture
def call():
    caller = Caller()
    before = caller.library.ophook_enforce_rules(1)
    yield caller
    caller.library.ophook_enforce_rules(before)


def test_each_parameter_that_may_not_be_null_is_refused(call: Caller) -> None:
    wrong, tried = [], 0
    for function in simulated():
        given = accepted(function)
        for index, one in enumerate(function.parameters):
            if one.required:
                arguments = [call.value(other, *given[at]) for at, other in enumerate(function.parameters)]
                arguments[index] = ctypes.c_void_p()
                code, message = call(function, arguments)
                tried += 1
                if code != NULL or one.name not in message:
                    wrong.append(f"{function.name} {one.name}: {code} {message}")
    assert tried > 1000 and not wrong, f"{len(wrong)} of {tried}:\n" + "\n".join(wrong[:20])


def test_each_data_type_and_rank_outside_the_table_is_refused(call: Caller) -> None:
    wrong, tried = [], 0
    for function in simulated():
        given = accepted(function)
        for index, one in enumerate(function.parameters):
            if not one.kind.startswith("aclTensor"):
                continue
            dtypes = one.dtypes.get(FAMILY)
            bad = [(name, given[index][1]) for name in DTYPES if dtypes and name not in dtypes]
            if one.ranks:
                bad.append((given[index][0], 9))
            for dtype, rank in bad:
                arguments = [call.value(other, *given[at]) for at, other in enumerate(function.parameters)]
                arguments[index] = call.value(one, dtype, rank)
                code, message = call(function, arguments)
                tried += 1
                if code != INVALID or function.name not in message:
                    wrong.append(f"{function.name} {one.name} {dtype} of {rank} dimensions: {code} {message}")
    assert tried > 10000 and not wrong, f"{len(wrong)} of {tried}:\n" + "\n".join(wrong[:20])


def test_what_the_table_allows_no_rule_refuses(call: Caller) -> None:
    """The operator's own checks may: sizes of one everywhere make no sense for some."""
    wrong = []
    for function in simulated():
        arguments = [call.value(one, *each) for one, each in zip(function.parameters, accepted(function), strict=True)]
        code, message = call(function, arguments)
        if code and function.page in message:
            wrong.append(f"{function.name}: {code} {message}")
    assert not wrong, "\n".join(wrong[:20])


def test_the_rows_have_the_documented_parameters() -> None:
    """A row with other parameters than its page would be called with garbage by a C++ client."""
    library = ctypes.CDLL("libopapi.so")
    found = documented()
    assert len(found) > 600
    assert [text for one in found if (text := differs(library, one)) and one.name not in OLDER_PAGE] == []


def test_through_torch(run_sim) -> None:
    done = run_sim(
        "import torch; x = torch.ones(4, 4, dtype=torch.float64).npu(); print((x @ x).cpu())", OPHOOK_SIM_RULES="on"
    )
    assert done.returncode != 0
    assert "aclnnMatmul" in done.stderr and "DOUBLE" in done.stderr and "FLOAT16" in done.stderr, done.stderr


def test_the_product_decides(run_sim) -> None:
    code = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import test_rules as t; t.show_sign()"
    for soc, want in (("Ascend910B4", INVALID), ("Ascend950PR_9589", 0)):
        done = run_sim(code, "--soc", soc, OPHOOK_SIM_RULES="on")
        assert done.stdout.split() == [str(want)], (done.stdout, done.stderr)


def show_sign() -> None:
    """aclnnInplaceZero of HIFLOAT8, which Ascend950 has and Ascend910B has not."""
    call = Caller()
    function = rules.table()["aclnnInplaceZero"]
    code, message = call(function, [call.tensor("HIFLOAT8", 2)])
    print(code if code != INVALID or function.page in message else 0)
    sys.stdout.flush()


def test_nothing_is_refused_by_a_rule_unless_asked(run_sim) -> None:
    code = "import torch; x = torch.ones(4, 4, dtype=torch.float64).npu(); print((x @ x).cpu().sum().item())"
    done = run_sim(code)
    assert done.stdout.split() == ["64.0"], done.stderr


def test_the_report_names_what_each_product_refuses(run_sim, tmp_path: Path) -> None:
    report = tmp_path / "report"
    code = "import torch; x = torch.ones(4, 4, dtype=torch.float64).npu(); print((x @ x).cpu().sum().item())"
    done = run_sim(code, OPHOOK_SIM_RULES_REPORT=str(report))
    assert done.stdout.split() == ["64.0"], done.stderr
    lines = [json.loads(line) for line in report.read_text().splitlines()]
    assert {(line["family"], line["code"]) for line in lines if line["function"] == "aclnnMatmul"} == {
        (family, INVALID) for family in rules.FAMILIES
    }
    assert [line["simulated"] for line in lines if line["family"] == FAMILY] == [True]
