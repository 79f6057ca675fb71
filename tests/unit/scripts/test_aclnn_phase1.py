"""scripts/aclnn_phase1.py: what it makes of a test's source before a compiler sees it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "scripts"))
import aclnn_phase1

DECLARED = "aclnnStatus {}GetWorkspaceSize(const aclTensor* self);\n"


@pytest.fixture
def trees(tmp_path: Path) -> tuple[Path, Path, Path]:
    """A tree with one test, a toolkit, and a folder for stand-ins."""
    files = {
        "tree/a/op_api/aclnn_own.h": '#include "aclnn_inner.h"\n#include "opdev/op_log.h"\n'
        + DECLARED.format("aclnnOwn"),
        "tree/a/op_api/aclnn_inner.h": DECLARED.format("aclnnInner"),
        "tree/b/cases.h": "",
        "tree/a/cases.h": "",
        "tree/tests/common/loader.h": "",
        "tree/a/ut/op_api/cases_of_own.h": '#include "loader.h"\n',
        "tree/a/ut/op_api/test_aclnn_own.cpp": '#include <vector>\n#include "../../op_api/aclnn_own.h"\n'
        '#include "cases_of_own.h"\n#include "level2/aclnn_gone.h"\n#include "acl/acl.h"\n'
        "TEST(a, b) { OP_API_UT(aclnnGone, INPUT(x)); aclnnInnerGetWorkspaceSize(x); }\n",
        "toolkit/include/acl/acl.h": "",
        "toolkit/include/aclnnop/aclnn_gone.h": DECLARED.format("aclnnGone"),
        "toolkit/include/aclnnop/aclnn_inner.h": DECLARED.format("aclnnInner"),
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "tree", tmp_path / "toolkit", tmp_path / "scratch"


def test_headers_are_found_where_only_their_build_looks(trees: tuple[Path, Path, Path]) -> None:
    tree, root, scratch = trees
    path = tree / "a/ut/op_api/test_aclnn_own.cpp"
    text, folders = aclnn_phase1.wrapper(tree, path, scratch, root)
    assert folders == [str(tree / "tests/common")]
    included = [line for line in text.splitlines() if line.startswith("#include")]
    # aclnnInner is declared by a header that the test's own one includes: the toolkit's would declare it once more.
    assert included == [
        f'#include "{tree / "a/op_api/aclnn_own.h"}"', f'#include "{path.parent / "cases_of_own.h"}"',
        '#include "aclnnop/aclnn_gone.h"', "#include <vector>",
    ]  # fmt: skip
    assert (scratch / "empty/opdev/op_log.h").read_text() == (scratch / "empty/level2/aclnn_gone.h").read_text() == ""
    assert "#define aclnnInnerGetWorkspaceSize(...) PHASE1_DIRECT(aclnnInner, __VA_ARGS__)" in text


def test_of_two_headers_of_one_name_the_nearest_counts(trees: tuple[Path, Path, Path]) -> None:
    tree = trees[0]
    path = tree / "a/ut/op_api/test_aclnn_own.cpp"
    assert aclnn_phase1.header("cases.h", path, tree) == tree / "a/cases.h"
    assert aclnn_phase1.header("../../../a/cases.h", tree / "b/cases.h", tree) == tree / "a/cases.h"
    assert aclnn_phase1.header("none.h", path, tree) is None


def test_a_test_that_contradicts_cann_is_counted_by_itself() -> None:
    known = aclnn_phase1.contradictions()
    assert known and all(":" in test and "." in test and why for test, why in known.items())

    def verdict(test: str, code: str) -> str:
        return aclnn_phase1.Call(test, "aclnnOwn", "Ascend910B", "0", code).verdict

    some = next(iter(known))
    assert (
        verdict(some, "161002") == "untrue"
        and verdict(some, "0") == "right"
        and verdict("a:b.c", "161002") == "refused"
    )
