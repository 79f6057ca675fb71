"""The tables of what each aclnn function accepts: their form, their readers, and the script that makes them."""

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from ophook_npu.errors import OphookError
from ophook_npu.sim import rules

ROOT = Path(__file__).resolve().parents[3]
FILES = sorted(path for path in rules.FOLDER.glob("*.rules") if path != rules.BY_HAND)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_writing_what_was_read_gives_the_file_back(path: Path) -> None:
    source = path.read_text().splitlines()[0].removeprefix("# ")
    assert rules.write(rules.read(path), source) == path.read_text()


def test_the_tables_are_sound() -> None:
    table = rules.table()
    assert len(table) > 950
    for function in table.values():
        names = [parameter.name for parameter in function.parameters]
        assert len(names) == len(set(names)), function.name
        assert not set(function.families) & set(function.absent), function.name
        for parameter in function.parameters:
            for dtypes in parameter.dtypes.values():
                assert set(dtypes) <= set(rules.DATA_TYPES), (function.name, parameter)
            for key, others in parameter.relations.items():
                relation, colon, family = key.partition(":")
                assert not colon or family in function.families, key
                if relation in ("values", "length", "sizes"):
                    span = r"-?[\d.e-]+|>?(-?[\d.e-]+)?\.\.<?(-?[\d.e-]+)?"
                    form = {"values": r"\w+" if parameter.kind == "char*" else span, "length": span}
                    assert all(re.fullmatch(form.get(relation, rf"\d:({span})"), one) for one in others), (key, others)
                    assert len(set(others)) == len(others), (function.name, parameter)
                    continue
                if relation.startswith("formats_of_"):
                    of = relation.removeprefix("formats_of_")
                    assert of in ("2", "3", "4", "5", *rules.DATA_TYPES), (function.name, parameter)
                    assert set(others) <= set(rules.FORMATS), (function.name, parameter)
                    continue
                assert not colon or relation in ("dtype", "shape", "idle", "columns"), key
                if relation == "columns":
                    assert set(others) <= set(parameter.dtypes[family or function.families[0]]), function.name
                    lengths = {len(one.relations[key]) for one in function.parameters if key in one.relations}
                    assert lengths == {len(others)}, function.name
                    continue
                columns = {
                    "checked": {"dtypes", "formats", "null", "ranks", "values"},
                    "free_if_empty": {"dtypes", "formats", "ranks", "same"},
                }
                if relation in columns:
                    assert others and set(others) <= columns[relation], (function.name, parameter)
                    continue
                assert relation in (
                    "dtype", "format", "cast", "shape", "shape_of_broadcast", "either", "any_format", "contiguous",
                    "asked", "idle", "null_is_invalid", "tiled",
                ), relation  # fmt: skip
                own = set() if relation == "idle" else {parameter.name}
                assert set(others) <= set(names) - own, (function.name, parameter)


def test_each_correction_by_hand_has_a_reason() -> None:
    lines = rules.BY_HAND.read_text().splitlines()
    heads = [number for number, line in enumerate(lines) if line.startswith("aclnn")]
    assert heads and all(lines[number - 1].startswith("# ") for number in heads)
    pages = {function.name: function for path in FILES for function in rules.read(path)}
    for function in rules.read(rules.BY_HAND, pages):
        assert function != pages.get(function.name), f"{function.name} says what its page says"
        if function.name not in pages:  # written down whole: no table is made of pages under experimental/
            assert "/experimental/" in function.page
            continue
        known, told = (sorted(one.name for one in each.parameters) for each in (function, pages[function.name]))
        assert known == told, function.name


def test_known_facts() -> None:
    mm = rules.table()["aclnnMatmul"]
    assert [parameter.name for parameter in mm.parameters] == ["self", "mat2", "out", "cubeMathType"]
    assert set(mm.parameters[0].dtypes["Ascend910B"]) == {"FLOAT", "FLOAT16", "BFLOAT16"}
    assert 6 in mm.parameters[0].ranks and mm.parameters[2].required
    zero = rules.table()["aclnnInplaceZero"].parameters[0]
    assert "HIFLOAT8" in zero.dtypes["Ascend950"] and "HIFLOAT8" not in zero.dtypes["Ascend910B"]
    assert "BFLOAT16" in rules.table()["aclnnDivMods"].parameters[3].dtypes["Ascend950"]
    assert (mm.shape_code, rules.table()["aclnnForeachAbs"].shape_code) == (rules.INVALID, rules.TILING)


def test_data_types_are_those_of_the_check() -> None:
    wrong, tried = [], 0
    for line in (Path(__file__).parent / "types_by_check.txt").read_text().splitlines():
        if line.startswith("#"):
            continue
        name, parameter, product, *said = line.split()
        function = rules.table()[f"aclnn{name}"]
        one = next(one for one in function.parameters if one.name == parameter)
        for family in function.families if product == "*" else (product,):
            for sign, dtype in ((word[0], word[1:]) for word in said):
                tried += 1
                if (dtype in one.dtypes.get(family, rules.DATA_TYPES)) != (sign == "+"):
                    wrong.append(f"{name}.{parameter} on {family}: {sign}{dtype}")
    assert tried > 200
    assert not wrong, "\n".join(wrong)


def test_the_compiled_reader_knows_the_same_names() -> None:
    """C++ has the numbers of data types and formats; a name that only one of the two knows is a rule that is lost."""
    source = (rules.FOLDER.parent / "opapi" / "rules_table.cpp").read_text()
    assert set(re.findall(r'\{"([A-Z0-9_]+)", \d+\}', source)) == {*rules.DATA_TYPES, *rules.FORMATS}
    families = (rules.FOLDER.parent / "core" / "families.h").read_text()
    assert re.findall(r'"(Ascend\w+)"', families) == list(rules.FAMILIES)


@pytest.mark.parametrize(
    "line",
    ["aclnnX\tpage", "\tself\taclTensor*", "aclnnX\tpage\tAscend910B\n\tself\tt\tin\t-\t-\t-\tmany\t-"],
    ids=["head", "parameter", "ranks"],
)
def test_a_line_of_another_form_is_refused_with_its_place(tmp_path: Path, line: str) -> None:
    path = tmp_path / "bad.rules"
    path.write_text(f"# source\n{line}\n")
    with pytest.raises(OphookError, match=r"bad\.rules, line \d"):
        list(rules.read(path))


def test_family_of_a_soc() -> None:
    assert rules.family("Ascend910B4") == "Ascend910B"
    assert rules.family("Ascend910_9391") == "Ascend910_93"
    assert rules.family("Ascend950PR_9589") == "Ascend950"
    assert rules.family("Ascend310P3") == "Ascend310P"
    with pytest.raises(OphookError, match="no rules for Ascend310"):
        rules.family("Ascend310")


# A page of our own in the form of the published ones.
PAGE = """# aclnnFold
## 产品支持情况
<!-- npu="950" id1 -->
- <term>P950</term>：不支持
<!-- end id1 -->
<!-- npu="A3" id2 -->
- <term>A3</term>：支持
<!-- end id2 -->
<!-- npu="910b" id3 -->
- <term>A2</term>：支持
<!-- end id3 -->
## 功能说明
## 函数原型
```Cpp
aclnnStatus aclnnFoldGetWorkspaceSize(
  const aclTensor* self,
  const aclTensor* weightOptional,
  int64_t          dim,
  aclTensor*       out,
  uint64_t*        workspaceSize,
  aclOpExecutor**  executor)
```
## aclnnFoldGetWorkspaceSize
<table><thead><tr><th>参数名</th><th>输入/输出</th><th>描述</th><th>使用说明</th><th>数据类型</th><th>数据格式</th>
<th>维度(shape)</th><th>非连续Tensor</th></tr></thead><tbody>
<tr><td>self</td><td>输入</td><td>x</td><td>-</td><td>FLOAT32、FLOAT16<sup>1</sup>、INT8</td><td>ND</td><td>不超过8维</td><td>√</td></tr>
<tr><td>weightOptional</td><td>输入</td><td>可选</td><td>数据类型与self一致</td><td>FLOAT16</td><td>ND</td><td>1、3</td><td>×</td></tr>
<tr><td>dim</td><td>输入</td><td>x</td><td>-</td><td>INT64</td><td>-</td><td>-</td><td>-</td></tr>
<tr><td>out</td><td>输出</td><td>x</td><td>shape与self相同</td><td>与self一致</td><td>ND</td><td>2-4</td><td>√</td></tr>
</tbody></table>
<!-- npu="A3" id4 -->
- <term>A3</term>：self不支持INT8。
<!-- end id4 -->
- **返回值：**
<table><tr><td>NULLPTR</td><td>161001</td><td>传入的self或out是空指针。</td></tr></table>
"""


# Of the page's statements these two are checked; the others are dropped or widened.
CHECKS = """
constexpr size_t LEAST = 2;
bool Check() { OP_CHECK_MIN_DIM(out, LEAST, return false); OP_CHECK_MAX_DIM(out, 4, return false);
               OP_CHECK_SHAPE_NOT_EQUAL(self, out, return false); }
aclnnStatus aclnnFoldGetWorkspaceSize(const aclTensor* self) { return 0; }
"""


def read_page(folder: Path, page: str) -> rules.Function:
    """What the script makes of one page, in a checkout of its own."""
    tree = folder / "ops-own"
    (tree / "math" / "fold" / "docs").mkdir(parents=True)
    (tree / "math" / "fold" / "docs" / "aclnnFold.md").write_text(page)
    (tree / "math" / "fold" / "op_api").mkdir()
    (tree / "math" / "fold" / "op_api" / "aclnn_fold.cpp").write_text(CHECKS)
    git = ["git", "-C", str(tree), "-c", "user.name=n", "-c", "user.email=e@example.invalid"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "page"]):
        subprocess.run([*git, *command], check=True)
    script = runpy.run_path(str(ROOT / "scripts" / "device_rules.py"))
    (fold,) = script["functions_of"](tree, tree / "math" / "fold" / "docs" / "aclnnFold.md", "ops-own")
    assert isinstance(fold, rules.Function)
    return fold


def test_the_script_reads_a_page(tmp_path: Path) -> None:
    fold = read_page(tmp_path, PAGE)
    assert (fold.name, fold.page) == ("aclnnFold", "ops-own/math/fold/docs/aclnnFold.md")
    assert fold.families == ("Ascend910B", "Ascend910_93") and fold.absent == ("Ascend950",)
    self, weight, dim, out = fold.parameters
    # A2 and A3 have one list: what the page takes from one of them only is a slip.
    assert self.dtypes == dict.fromkeys(("Ascend910B", "Ascend910_93"), ("FLOAT", "FLOAT16", "INT8"))
    assert self.ranks == tuple(range(9)) and self.required
    assert not weight.required and weight.ranks == tuple(range(9)) and weight.relations == {"contiguous": ()}
    assert (dim.kind, dim.required) == ("int64_t", False)
    assert (out.direction, out.ranks, out.required) == ("out", (2, 3, 4), True)
    assert out.relations == {"shape": ("self",)}


def test_formats_of_so_many_dimensions(tmp_path: Path) -> None:
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        import device_checks
    finally:
        sys.path.pop(0)
    (tmp_path / "op_api").mkdir()
    (tmp_path / "op_api" / "aclnn_fold.cpp").write_text("""
static bool Newer() { return GetCurrentPlatformInfo().GetCurNpuArch() == NpuArch::DAV_3510; }
aclnnStatus aclnnFoldGetWorkspaceSize(const aclTensor* x, uint64_t* workspaceSize, aclOpExecutor** executor) {
  auto format = x->GetStorageFormat();
  if (x->GetViewShape().GetDimNum() == 5) {
    if (format != Format::FORMAT_NCDHW && (!Newer() || format != Format::FORMAT_NDHWC)) {
      return ACLNN_ERR_PARAM_INVALID;
    }
  }
  return ACLNN_SUCCESS;
}
""")
    families = ("Ascend910B", "Ascend950")
    page = rules.Function("aclnnFold", "own", families, (rules.Parameter("x", "aclTensor*"),))
    (x,) = device_checks.with_checks(tmp_path, page).parameters
    told = {key: names for key, names in x.relations.items() if key.startswith("formats_of")}
    assert told == {"formats_of_5:Ascend910B": ("NCDHW",), "formats_of_5:Ascend950": ("NCDHW", "NDHWC")}


@pytest.mark.parametrize(
    ("file", "text", "want"),
    [
        ("op_api/aclnn_fold.cpp", CHECKS, True),
        ("op_api/aclnn_fold.cpp", CHECKS + "// l0op::Contiguous(weight, executor)", False),
        ("op_api/fold_base.cpp", "void Base() { l0op::Contiguous(weight, executor); }", False),
        ("op_api/aclnn_fold.cpp", CHECKS + "aclnnInnerFoldGetWorkspaceSize(self);", False),
        ("op_api/aclnn_other.cpp", CHECKS.replace("aclnnFold", "aclnnOther") + "Contiguous(x)", True),
        ("op_host/fold_def.cpp", 'this->Input("weight").Format({}).AutoContiguous();\nOP_ADD(Fold);', False),
        ("op_host/fold_def.cpp", 'this->Input("weight").Format({});\nOP_ADD(Fold);', True),
        ("op_api/aclnn_fold.cpp", CHECKS + "l0op::ViewCopy(result, weight, executor);", False),
        ("op_api/aclnn_fold.cpp", CHECKS + "weightOptional->GetViewStrides();", False),
        ("op_api/aclnn_fold.cpp", CHECKS + "self->GetViewStrides();", True),
        ("op_host/fold_def.cpp", 'config.Input("weight").IgnoreContiguous();\nOP_ADD(Fold);', False),  # of one product
        (
            "op_host/fold_def.cpp",  # updated in place
            'this->Input("weight").AutoContiguous();\nthis->Output("weight").Format({});\nOP_ADD(Fold);',
            False,
        ),
        ("op_host/fold_def.cpp", 'this->Input("bias").Format({});\nOP_ADD(Fold);', False),  # of which no more is known
    ],
)
def test_what_cann_makes_contiguous_may_have_any_strides(tmp_path: Path, file: str, text: str, want: bool) -> None:
    """Whatever the page says: its own source, a file that this calls, or the definition of the operator decides."""
    folder = tmp_path / "ops-own" / "math" / "fold"
    path = folder / file
    path.parent.mkdir(parents=True)
    if "aclnn_fold" not in file and "op_host" not in file:
        (path.parent / "aclnn_fold.cpp").write_text(CHECKS)
    path.write_text(text)
    if "aclnnInner" in text:
        (folder / "fold_def.cpp").write_text('this->Input("weight").AutoContiguous();\nOP_ADD(Fold);')
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        import device_macros
    finally:
        sys.path.pop(0)
    assert device_macros.taken_as_it_lies(tmp_path / "ops-own", "aclnnFold", "weightOptional") == want


# A check of our own in the form of CANN's: lists by product, the same type, what can be converted, null, dimensions.
FOLLOWED = """
static const std::initializer_list<op::DataType> OLD_LIST = {op::DataType::DT_FLOAT, op::DataType::DT_UINT8};
static const std::initializer_list<op::DataType> NEW_LIST = {op::DataType::DT_FLOAT, op::DataType::DT_BF16};
static bool Newer() { return GetCurrentPlatformInfo().GetCurNpuArch() == NpuArch::DAV_3510; }
static bool CheckTypes(const aclTensor* x, const aclTensor* y, const aclTensor* out) {
  const auto& list = Newer() ? NEW_LIST : OLD_LIST;
  if (!CheckType(x->GetDataType(), list)) { return false; }
  OP_CHECK_DTYPE_NOT_MATCH(y, x->GetDataType(), return false);
  auto both = op::PromoteType(x->GetDataType(), y->GetDataType());
  OP_CHECK_RESULT_DTYPE_CAST_FAILED(both, out->GetDataType(), return false);
  return true;
}
aclnnStatus aclnnFoldGetWorkspaceSize(const aclTensor* first, const aclTensor* second, const aclTensor* biasOptional,
                                      aclTensor* result, uint64_t* workspaceSize, aclOpExecutor** executor) {
  OP_CHECK_NULL(first, return ACLNN_ERR_PARAM_NULLPTR);
  CHECK_RET(result != nullptr, ACLNN_ERR_PARAM_INVALID);
  OP_CHECK_MAX_DIM(first, 8, return ACLNN_ERR_PARAM_INVALID);
  CHECK_RET(CheckTypes(first, second, result), ACLNN_ERR_PARAM_INVALID);
  if (biasOptional != nullptr) { CHECK_RET(Unknown(biasOptional), ACLNN_ERR_PARAM_INVALID); }
  return ACLNN_SUCCESS;
}
"""


def test_a_check_is_followed_by_product(tmp_path: Path) -> None:
    """It decides over the page: data types, null, dimensions, the same type, what can be converted."""
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        import device_checks
    finally:
        sys.path.pop(0)
    (tmp_path / "op_api").mkdir()
    (tmp_path / "op_api" / "aclnn_fold.cpp").write_text(FOLLOWED)
    families = ("Ascend910B", "Ascend950")

    def tensor(name: str, direction: str = "in") -> rules.Parameter:
        return rules.Parameter(name, "aclTensor*", direction, dtypes=dict.fromkeys(families, ("FLOAT", "FLOAT16")))

    page = (tensor("first"), tensor("second"), tensor("biasOptional"), tensor("result", "out"))
    fold = device_checks.with_checks(tmp_path, rules.Function("aclnnFold", "own", families, page))
    first, second, bias, result = fold.parameters
    assert first.dtypes == second.dtypes == {"Ascend910B": ("FLOAT", "UINT8"), "Ascend950": ("FLOAT", "BFLOAT16")}
    assert [one.required for one in fold.parameters] == [True, False, False, True]
    assert "null_is_invalid" in result.relations and "null_is_invalid" not in first.relations
    assert first.ranks == tuple(range(9)) and second.ranks is None
    assert first.relations["checked"] == ("dtypes", "null", "ranks") and second.relations["dtype"] == ("first",)
    assert bias == page[2], "what an unknown function asks of it is not known"
    assert result.relations["cast"] == ("first", "second") and "INT8" in result.dtypes["Ascend910B"]
    assert "INT8" not in result.dtypes["Ascend950"] and "BOOL" not in result.dtypes["Ascend910B"]


# A check whose code is handed on, a number that a call sets, and a type that is compared where there are elements.
HANDED_ON = """
static aclnnStatus CheckBoth(const aclTensor* first, const aclTensor* second) {
  OP_CHECK_NULL(first, return ACLNN_ERR_PARAM_NULLPTR);
  if (second == nullptr) { return ACLNN_ERR_PARAM_INVALID; }
  if (second->GetViewShape().GetShapeSize() != 0) {
    OP_CHECK_DTYPE_NOT_SAME(first, second, return ACLNN_ERR_PARAM_INVALID);
  }
  return ACLNN_SUCCESS;
}
aclnnStatus aclnnFoldGetWorkspaceSize(const aclTensor* first, const aclTensor* second, const aclIntArray* sizes,
                                      uint64_t* workspaceSize, aclOpExecutor** executor) {
  aclnnStatus ret = CheckBoth(first, second);
  CHECK_RET(ret == ACLNN_SUCCESS, ret);
  uint64_t count = 0;
  aclGetIntArraySize(sizes, &count);
  if (count == 0) { return ACLNN_ERR_PARAM_INVALID; }
  return aclnnInnerFoldGetWorkspaceSize(first, second, workspaceSize, executor);
}
"""


def test_what_a_check_returns_ends_the_first_phase(tmp_path: Path) -> None:
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        import device_checks
    finally:
        sys.path.pop(0)
    (tmp_path / "op_api").mkdir()
    (tmp_path / "op_api" / "aclnn_fold.cpp").write_text(HANDED_ON)
    dtypes = {"Ascend910B": ("FLOAT", "FLOAT16")}
    page = (
        *(rules.Parameter(name, "aclTensor*", dtypes=dtypes) for name in ("first", "second")),
        rules.Parameter("sizes", "aclIntArray*"),
    )
    fold = device_checks.with_checks(tmp_path, rules.Function("aclnnFold", "own", ("Ascend910B",), page))
    first, second, sizes = fold.parameters
    assert [one.required for one in fold.parameters] == [True, True, False]
    assert "null_is_invalid" in second.relations and "null_is_invalid" not in first.relations
    assert second.relations["dtype"] == ("first",) and sizes.relations == {}


# Functions behind one with a default, one with C's linkage, two of a name that the arguments' types tell apart, shapes
# and types that are one on some products.
SHAPED = """
static bool Newer() { return GetCurrentPlatformInfo().GetCurNpuArch() == NpuArch::DAV_3510; }
static const aclTensor* Flat(const aclTensor* x, aclIntArray* sizes = nullptr) {
  if (x->GetViewShape().GetDimNum() <= MAX_SUPPORT_DIMS_NUMS) { return x; }
  return l0op::Reshape(x, sizes);
}
static aclnnStatus Check(const aclTensor* x, const aclScalar* y, const aclTensor* out) { return ACLNN_SUCCESS; }
static aclnnStatus Check(const aclTensor* x, const aclTensor* y, const aclTensor* out) {
  if (x->IsEmpty()) { return ACLNN_SUCCESS; }
  OP_CHECK_SHAPE_NOT_EQUAL(x, out, return ACLNN_ERR_PARAM_INVALID);
  if (Newer()) { return ACLNN_SUCCESS; }
  OP_CHECK_DTYPE_NOT_SAME(x, y, return ACLNN_ERR_PARAM_INVALID);
  if (y->GetViewShape() != out->GetViewShape()) { return ACLNN_ERR_PARAM_INVALID; }
  return ACLNN_SUCCESS;
}
extern "C" aclnnStatus aclnnFoldGetWorkspaceSize(const aclTensor* x, const aclTensor* y, aclTensor* out,
                                                 uint64_t* workspaceSize, aclOpExecutor** executor) {
  auto ret = Check(x, y, out);
  CHECK_RET(ret == ACLNN_SUCCESS, ret);
  if (x->IsEmpty()) { return ACLNN_SUCCESS; }
  auto flat = Flat(x);
  return ACLNN_SUCCESS;
}
"""


def test_shapes_that_a_check_compares_and_what_holds_on_one_product(tmp_path: Path) -> None:
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        import device_checks
    finally:
        sys.path.pop(0)
    families = ("Ascend910B", "Ascend950")

    def followed(folder: str, source: str) -> tuple[rules.Parameter, ...]:
        (tmp_path / folder / "op_api").mkdir(parents=True)
        (tmp_path / folder / "op_api" / "aclnn_fold.cpp").write_text(source)
        page = tuple(
            rules.Parameter(
                name,
                "aclTensor*",
                "out" if name == "out" else "in",
                dtypes=dict.fromkeys(families, ("FLOAT", "FLOAT16")),
                ranks=tuple(range(9)),
            )
            for name in ("x", "y", "out")
        )
        fold = rules.Function("aclnnFold", "own", families, page)
        return device_checks.with_checks(tmp_path / folder, fold).parameters

    x, y, out = followed("a", SHAPED)
    assert out.relations["shape"] == out.relations["idle"] == ("x",) and "shape:Ascend950" not in out.relations
    assert y.related("dtype", "Ascend910B") == ("x",) and y.related("dtype", "Ascend950") == ()
    assert y.related("shape", "Ascend910B") == ("x",) and y.relations["idle"] == ("x",) and "idle" not in x.relations
    assert [one.ranks for one in (x, y, out)] == [None, None, None] and "ranks" in x.relations["checked"]
    x, y, out = followed("b", SHAPED.replace("if (x->IsEmpty()) { return ACLNN_SUCCESS; }", ""))
    assert y.related("shape", "Ascend910B") == ("x",) and y.related("shape", "Ascend950") == ()
    assert out.relations["shape"] == ("x",) and "idle" not in out.relations
    refused = SHAPED.replace("<= MAX_SUPPORT_DIMS_NUMS) { return x; }", "> MAX_SUPPORT_DIMS_NUMS) { return false; }")
    assert followed("c", refused)[0].ranks == tuple(range(9))


# A definition of our own in the form of CANN's: what a product has of its own replaces what stands for all.
DEFINED = """
namespace ops {
static const std::vector<ge::DataType> SHARED = {ge::DT_FLOAT16, ge::DT_BF16, ge::DT_FLOAT16};
class Fold : public OpDef {
public:
    explicit Fold(const char* name) : OpDef(name)
    {
        this->Input("x").ParamType(REQUIRED).DataType(SHARED).Format({});
        this->Input("bias").ParamType(OPTIONAL).DataType(SHARED);
        this->Input("scale").ParamType(REQUIRED).DataType({ge::DT_FLOAT, ge::DT_FLOAT, ge::DT_BF16});
        this->Output("y").ParamType(REQUIRED).DataType(SHARED);
        this->AICore().AddConfig("ascend910b");
        OpAICoreConfig own = Newer();
        this->AICore().AddConfig("ascend950", own);
    }
private:
    OpAICoreConfig Newer() const
    {
        OpAICoreConfig config;
        config.Input("scale").ParamType(REQUIRED).DataType(SHARED);  // this->Input("x") in a comment
        return config;
    }
};
OP_ADD(Fold);
}
"""


def test_what_a_first_phase_takes_that_is_generated_from_a_definition(tmp_path: Path) -> None:
    """Of more than it lists, of less, of what must be given, and of data types that are one in each combination."""
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        import device_checks
    finally:
        sys.path.pop(0)
    (tmp_path / "op_host").mkdir()
    (tmp_path / "op_host" / "fold_def.cpp").write_text(DEFINED)
    families = ("Ascend910B", "Ascend950")

    def tensor(name: str, *dtypes: str, direction: str = "in") -> rules.Parameter:
        return rules.Parameter(name, "aclTensor*", direction, dtypes=dict.fromkeys(families, dtypes))

    page = (
        tensor("x", "BFLOAT16", "INT8"),
        tensor("biasOptional", "FLOAT16", "BFLOAT16", "DOUBLE"),
        tensor("scale"),
        tensor("out", "FLOAT16", "BFLOAT16", direction="out"),
    )
    fold = rules.Function("aclnnFold", "own", families, page)
    x, bias, scale, out = device_checks.with_checks(tmp_path, fold).parameters
    assert x.dtypes == dict.fromkeys(families, ("BFLOAT16", "FLOAT16")) and x.relations["checked"] == ("dtypes", "null")
    assert bias.dtypes == page[1].dtypes and not bias.required, "DOUBLE is of a kernel of the host"
    assert scale.dtypes == {"Ascend910B": ("FLOAT", "BFLOAT16"), "Ascend950": ("FLOAT16", "BFLOAT16")}
    assert [one.relations.get("dtype") for one in (x, bias, scale, out)] == [None, ("x",), None, ("x",)]
    assert [one.required for one in (x, bias, scale, out)] == [True, False, True, True]
    assert "columns:Ascend910B" not in x.relations, "a kernel of the host takes others"
    bias = tensor("biasOptional", "FLOAT16", "BFLOAT16")
    device = rules.Function("aclnnFold", "own", families, (page[0], bias, *page[2:]))
    columns = [
        one.relations.get("columns:Ascend910B") for one in device_checks.with_checks(tmp_path, device).parameters
    ]
    assert columns == [("BFLOAT16", "FLOAT16", "FLOAT16"), None, ("FLOAT", "BFLOAT16", "FLOAT"), None]
    other = rules.Function("aclnnFold", "own", families, page[:3])
    assert device_checks.with_checks(tmp_path, other) == other, "which port is which is not clear"


def test_a_page_that_says_only_what_must_be_given(tmp_path: Path) -> None:
    """It names no parameter: the first input and the first output are meant, and what its own row says so of."""
    general = PAGE.replace("传入的self或out是空指针。", "传入参数是必选输入、输出或者必选属性，且是空指针。")
    assert general != PAGE
    assert [one.required for one in read_page(tmp_path / "a", general).parameters] == [True, False, False, True]
    other = general.replace("weightOptional", "weight").replace("<td>可选</td>", "<td>必选参数。</td>")
    assert [one.required for one in read_page(tmp_path / "b", other).parameters] == [True, True, False, True]
    absent = general.replace("<td>self</td><td>输入</td><td>x</td>", "<td>self</td><td>输入</td><td>可选参数</td>")
    assert not read_page(tmp_path / "c", absent).parameters[0].required
    allowed = PAGE.replace("传入的self或out是空指针。", "self是空指针。某场景下out允许为空指针。")
    assert [one.required for one in read_page(tmp_path / "d", allowed).parameters] == [True, False, False, False]
    shorter = PAGE.replace("<td>weightOptional</td>", "<td>weight</td>")  # than the name in the prototype
    assert shorter != PAGE and read_page(tmp_path / "e", shorter) == read_page(tmp_path / "f", PAGE)


def test_bullets_of_one_product_are_read_for_it_alone(tmp_path: Path) -> None:
    """A form of the pages without marks around what is of one product."""
    start, end = PAGE.index("<!--"), PAGE.index("## 功能说明")
    page = PAGE[:start] + "|<term>Ascend 950DT</term>|√|\n|<term>Atlas A2 训练系列产品</term>|√|\n" + PAGE[end:]
    start, end = page.index("<!--"), page.index("- **返回值")
    bullets = "- <term>Atlas A2 训练系列产品</term>、<term>Atlas A3 训练系列产品</term>：\n  - self不支持INT8。\n\n"
    bullets += "- <term>Ascend 950PR/Ascend 950DT</term>：weightOptional支持INT8、FLOAT16。\n- out不支持INT8。\n"
    fold = read_page(tmp_path, page[:start] + bullets + page[end:])
    assert fold.families == ("Ascend910B", "Ascend950") and fold.absent == ()
    self, weight, _, _ = fold.parameters
    assert self.dtypes == {"Ascend910B": ("FLOAT", "FLOAT16"), "Ascend950": ("FLOAT", "FLOAT16", "INT8")}
    assert weight.dtypes == {"Ascend910B": ("FLOAT16",), "Ascend950": ("INT8", "FLOAT16")}


@pytest.mark.parametrize(
    ("words", "kind", "want"),
    [
        ("取值为0、1、2", "int64_t", {"values": ("0", "1", "2")}),
        ("支持0：bilinear（双线性插值）、1：nearest两种模式", "int64_t", {"values": ("0", "1")}),
        ("输入范围为{2, 34}，分别对应{2: INT8, 34: HIFLOAT8}", "int64_t", {"values": ("2", "34")}),
        ("取值范围[1, 64]", "int64_t", {"values": ("1..64",)}),
        ("取值范围为(0, 64)", "int64_t", {"values": ("1..63",)}),
        ("取值范围大于0", "int64_t", {"values": ("1..",)}),
        ('支持{"rint", "round"}模式。仅支持"rint"', "char*", {"values": ("rint", "round")}),
        ("当x为空时，取值为0、1", "int64_t", {}),  # a condition
        ("取值为1~2048", "int64_t", {}),
        ("支持0、1。支持2、3", "int64_t", {}),  # two lists that contradict
        ("预留参数，仅支持0、1", "int64_t", {}),
    ],
)
def test_values_are_read_where_nothing_limits_them(words: str, kind: str, want: dict[str, tuple[str, ...]]) -> None:
    assert runpy.run_path(str(ROOT / "scripts" / "device_rules.py"))["values_in"](words, kind) == want


def test_a_value_is_a_rule_where_the_codes_name_it(tmp_path: Path) -> None:
    page = PAGE.replace(
        "<td>dim</td><td>输入</td><td>x</td><td>-</td>", "<td>dim</td><td>输入</td><td>x</td><td>取值为0、2</td>"
    )
    assert read_page(tmp_path / "a", page).parameters[2].relations == {}
    named = page.rstrip() + "\n<table><tr><td>INVALID</td><td>161002</td><td>dim不在取值范围内。</td></tr></table>\n"
    assert read_page(tmp_path / "b", named).parameters[2].relations == {"values": ("0", "2")}


@pytest.mark.parametrize(
    ("tiling", "invalid", "want", "otherwise"),
    [
        ("self与out的shape不满足约束。", "self的数据类型不在支持的范围之内。", rules.TILING, rules.INVALID),
        ("self与out的shape不满足约束。", "self的数据类型、shape不在支持的范围之内。", rules.INVALID, rules.INVALID),
        ("输入张量的内存大小超过上限。", "self的数据类型不在支持的范围之内。", rules.INVALID, rules.INVALID),
        ("self的数据类型、shape不在支持的范围之内。", "空。", rules.TILING, rules.TILING),
    ],
)
def test_the_code_of_a_wrong_shape_is_that_of_the_page(
    tmp_path: Path, tiling: str, invalid: str, want: int, otherwise: int
) -> None:
    codes = (
        f"<tr><td>INVALID</td><td>161002</td><td>{invalid}</td></tr><tr><td>TILING</td><td>561002</td>"
        f"<td>{tiling}</td></tr></table>\n"
    )
    fold = read_page(tmp_path / "a", PAGE.rstrip().removesuffix("</table>") + codes)
    assert (fold.shape_code, fold.invalid_code) == (want, otherwise)
    line = rules.write([fold], source="own").splitlines()[1]
    assert line.endswith("561002") == (rules.TILING in (want, otherwise))
    assert read_page(tmp_path / "b", PAGE).shape_code == rules.INVALID


def test_a_line_of_shapes_names_functions_and_fits_their_tensors(tmp_path: Path) -> None:
    for names, text in rules.shapes(rules.SHAPES):
        for name in names:
            kinds = [one.kind for one in rules.table()[name].parameters]
            for way in text.split("|"):
                single = [part for part in re.split(r",|->", way) if "[" not in part]
                assert len(single) == sum(kind in ("aclTensor*", "aclTensorList*") for kind in kinds), name
    path = tmp_path / "shapes.txt"
    path.write_text("aclnnX *s -> *s\n")
    with pytest.raises(OphookError, match=r"shapes\.txt, line 1"):
        list(rules.shapes(path))
