"""CANN's first phases as scripts/first_phase follows them: sources of our own in their form, and what each tells."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ophook_npu.sim import rules

ROOT = Path(__file__).resolve().parents[3]
FAMILIES = ("Ascend910B", "Ascend950")
LISTS = """
static const std::initializer_list<DataType> FEW = {DataType::DT_FLOAT};
static const std::initializer_list<DataType> MORE = {DataType::DT_FLOAT, DataType::DT_DOUBLE};
"""


def followed(folder: Path, before: str, body: str) -> dict[str, rules.Parameter]:
    """x and out as the check has them; their page lists FLOAT and FLOAT16."""
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        import device_checks
    finally:
        sys.path.pop(0)
    (folder / "op_api").mkdir()
    head = "aclnnStatus aclnnFoldGetWorkspaceSize(const aclTensor* x, int64_t mode, aclTensor* out,"
    tail = " uint64_t* workspaceSize, aclOpExecutor** executor)"
    (folder / "op_api" / "aclnn_fold.cpp").write_text(f"{LISTS}{before}{head}{tail} {{ {body} return ACLNN_SUCCESS; }}")
    page = [
        rules.Parameter(
            name,
            "int64_t" if name == "mode" else "aclTensor*",
            "out" if name == "out" else "in",
            dtypes={} if name == "mode" else dict.fromkeys(FAMILIES, ("FLOAT", "FLOAT16")),
            formats={} if name == "mode" else dict.fromkeys(FAMILIES, ("ND",)),
        )
        for name in ("x", "mode", "out")
    ]
    function = device_checks.with_checks(folder, rules.Function("aclnnFold", "own", FAMILIES, tuple(page)))
    return {one.name: one for one in function.parameters}


CHECK = "OP_CHECK_DTYPE_NOT_SUPPORT(x, FEW, return ACLNN_ERR_PARAM_INVALID);"


@pytest.mark.parametrize(
    ("before", "body"),
    [
        pytest.param(
            "static int8_t Routed(int8_t mode) { if (mode == 4) { return 0; } return mode; }",
            f"mode = Routed(mode); {CHECK} if (mode == 1) {{ return ACLNN_SUCCESS; }}",
            id="what was so before a later check is not so again",
        ),
        pytest.param(
            "static int Down(int a) { if (a == 0) { return 0; } return Down(a - 1); }",
            f"{CHECK} mode = Down(mode);",
            id="a function that calls itself",
        ),
        pytest.param(
            "",
            "if (not CheckType(x->GetDataType(), FEW) and true) { return ACLNN_ERR_PARAM_INVALID; }",
            id="signs as words",
        ),
        pytest.param(
            "",
            f"{CHECK} const aclTensor* y = nullptr; try {{ y = l0op::Fold(x); }} catch (E& e) {{ }}"
            " CHECK_RET(y != nullptr, ACLNN_ERR_INNER_NULLPTR);",
            id="what is tried",
        ),
        pytest.param(
            "",
            f"{CHECK} const aclTensor* y = nullptr; l0op::Fold(x, &y);"
            " CHECK_RET(y != nullptr, ACLNN_ERR_INNER_NULLPTR);",
            id="a result by its address",
        ),
        pytest.param(
            "static aclnnStatus Make(const aclTensor** y) { *y = l0op::Fold(); return ACLNN_SUCCESS; }",
            f"{CHECK} const aclTensor* y = nullptr; auto ret = Make(&y); CHECK_RET(ret == ACLNN_SUCCESS, ret);"
            " CHECK_RET(y != nullptr, ACLNN_ERR_INNER_NULLPTR);",
            id="a result that a function here sets by its address",
        ),
        pytest.param(
            "static void Set(DataType& type) { type = DataType::DT_FLOAT; }",
            f"{CHECK} DataType type = DataType::DT_UNDEFINED; Set(type);"
            " CHECK_RET(type != DataType::DT_UNDEFINED, ACLNN_ERR_INNER);",
            id="a type by reference",
        ),
        pytest.param(
            "struct Told { bool good{true}; };\nstatic Told Tell(int64_t mode) { Told told; told.good = true;"
            " if (mode == 1) { told.good = false; return told; } return told; }",
            f"{CHECK} auto told = Tell(mode); if (!told.good) {{ return ACLNN_ERR_PARAM_INVALID; }}",
            id="a structure on two ways",
        ),
    ],
)
def test_a_check_decides_over_the_page(tmp_path: Path, before: str, body: str) -> None:
    assert followed(tmp_path, before, body)["x"].dtypes == dict.fromkeys(FAMILIES, ("FLOAT",))


def test_one_list_or_another(tmp_path: Path) -> None:
    choose = "static const std::initializer_list<DataType>& Listed(const aclTensor* x) {"
    choose += " if (x->GetViewShape().GetDim(0) == 1) { return MORE; } return FEW; }"
    check = "const auto& list = Listed(x); OP_CHECK_DTYPE_NOT_SUPPORT(x, list, return ACLNN_ERR_PARAM_INVALID);"
    assert followed(tmp_path, choose, check)["x"].dtypes == dict.fromkeys(FAMILIES, ("FLOAT", "DOUBLE"))


def test_a_check_of_any_number_of_arguments(tmp_path: Path) -> None:
    """It asks for dimensions, and nobody for a format."""
    check = "template <typename T, typename... Ts> static bool CheckAll(const T& t, const Ts&... args) {"
    check += " if constexpr (std::is_same_v<T, aclTensor*>) { OP_CHECK_MAX_DIM(t, 4, return false); }"
    check += " if constexpr (sizeof...(args) > 0) { return CheckAll(args...); } return true; }\n"
    parameters = followed(tmp_path, check, "CHECK_RET(CheckAll(x, out), ACLNN_ERR_PARAM_INVALID);")
    assert all("any_format" in parameters[name].relations for name in ("x", "out"))


def test_an_output_that_a_cast_makes(tmp_path: Path) -> None:
    """Nobody asks for its data type: it is any that CANN converts each result to."""
    parameters = followed(tmp_path, "", f"{CHECK} auto y = l0op::Cast(x, out->GetDataType(), executor);")
    assert {"FLOAT", "DOUBLE", "COMPLEX64"} < {*parameters["out"].dtypes["Ascend910B"]}
    assert "FLOAT8_E5M2" not in parameters["out"].dtypes["Ascend950"]


def test_an_empty_tensor_ends_the_phase_on_the_products_before_ascend950(tmp_path: Path) -> None:
    regbase = "static bool IsRegbase() { return GetCurrentPlatformInfo().GetCurNpuArch() == NpuArch::DAV_3510; }\n"
    check = "static aclnnStatus CheckAll(const aclTensor* x, const aclTensor* out) {"
    check += " if (!Ops::NN::IsRegbase() && (x->IsEmpty())) { return ACLNN_SUCCESS; }"
    check += " OP_CHECK_SHAPE_NOT_EQUAL(x, out, return ACLNN_ERR_PARAM_INVALID); return ACLNN_SUCCESS; }\n"
    body = "auto ret = CheckAll(x, out); CHECK_RET(ret == ACLNN_SUCCESS, ret);"
    body += " if (x->IsEmpty()) { *workspaceSize = 0; return ACLNN_SUCCESS; }"
    out = followed(tmp_path, regbase + check, body)["out"]
    assert out.related("idle", "Ascend910B") == ("x",) and out.related("idle", "Ascend950") == ()
    assert out.related("shape", "Ascend950") == ("x",)


NUMBERS = """
static bool CheckMode(int64_t mode) {
    OP_CHECK(mode >= 0 && mode <= 2, OP_LOGE(ACLNN_ERR_PARAM_INVALID, "%ld", mode), return false);
    return true;
}
static void Settle(int64_t& mode) { if (mode < 0) { mode = 0; } }
"""


@pytest.mark.parametrize(
    ("body", "name", "relation", "want"),
    [
        ("CHECK_RET(CheckMode(mode), ACLNN_ERR_PARAM_INVALID);", "mode", "values", ("0", "1", "2")),
        ("if (mode == 0) { return ACLNN_ERR_PARAM_INVALID; }", "mode", "values", ("..-1", "1..")),
        ("Settle(mode); CHECK_RET(CheckMode(mode), ACLNN_ERR_PARAM_INVALID);", "mode", "values", None),
        ("CHECK_RET(x->IsEmpty() || mode > 0, ACLNN_ERR_PARAM_INVALID);", "mode", "values", None),
        ("CHECK_RET(x->GetViewShape().GetDim(1) == 4, ACLNN_ERR_PARAM_INVALID);", "x", "sizes", ("1:4",)),
        ("auto s = x->GetViewShape(); CHECK_RET(s[0] > 0, ACLNN_ERR_PARAM_INVALID);", "x", "sizes", ("0:1..",)),
        ("CHECK_RET(x->GetViewShape().GetDim(mode) > 0, ACLNN_ERR_PARAM_INVALID);", "x", "sizes", None),
    ],
)
def test_what_a_check_takes_of_a_number(
    tmp_path: Path, body: str, name: str, relation: str, want: tuple[str, ...] | None
) -> None:
    assert followed(tmp_path, NUMBERS, body)[name].relations.get(relation) == want


def test_a_number_that_one_product_limits(tmp_path: Path) -> None:
    check = "if (GetCurrentPlatformInfo().GetCurNpuArch() == NpuArch::DAV_3510)"
    check += " { CHECK_RET(mode < 3, ACLNN_ERR_PARAM_INVALID); }"
    relations = followed(tmp_path, "", check)["mode"].relations
    assert relations == {"values:Ascend950": ("..2",)}
