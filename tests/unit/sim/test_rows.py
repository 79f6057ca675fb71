"""A row is a name, its parameters and what runs: what computes is a kernel, which knows neither interface.

Read from the sources as text, so that a row which starts to compute is named before anything is compiled.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[3]
CSRC = ROOT / "ophook_npu" / "csrc"
ROWS = sorted(path for path in CSRC.glob("*/rows/*.cpp") if path.name != "table.cpp")
# Where a row begins: ACLNN(Add, …), ROW(Add, …), a macro of the file's own, {"Split", …}
ROW = re.compile(r'^(?: {4})?(?:[A-Z][A-Z_0-9]+\(|(?<=    )\{")', re.M)
ACLNN_ROW = re.compile(r"^[A-Z][A-Z_0-9]*\((?:aclnn)?([A-Z]\w+),", re.M)
GE_ROW = re.compile(r'^ {4}(?:[A-Z][A-Z_0-9]*\(|\{")([A-Z]\w+)', re.M)
PARAMETERS = re.compile(r"^ACLNN\(\w+,\s*\(((?:[^()]|\([^()]*\))*)\)", re.M)
# Parameters that several functions have in one order: a macro of kinds and names.
GROUP = re.compile(r"[A-Z][A-Z_0-9]+")
HELPER = re.compile(
    r"^(?!return|else|if|for|while|namespace|struct|using)[A-Za-z_][\w:<>,&* ]*?[ &*]+(\w+)\([^;{}]*?\)(?: const)? \{",
    re.M,
)


def without_macros(source: str) -> str:
    """Source without comments and definitions of macros: what those hold is a row's."""
    return re.sub(r"^#(?:.*\\\n)*.*", "", re.sub(r"//.*", "", source), flags=re.M)


def rows(source: str) -> Iterator[str]:
    """The rows of a file."""
    end = 0
    for match in ROW.finditer(source):
        if match.start() < end:
            continue
        depth, end = 0, match.start() + len(match[0]) - (2 if match[0].endswith('{"') else 1)
        while depth or end == match.start() or source[end - 1] not in ")}":
            depth += {"(": 1, "{": 1, ")": -1, "}": -1}.get(source[end], 0)
            end += 1
        yield source[match.start() : end]


def helpers(source: str) -> str:
    """The rest of it: what rows check, how they read their arguments and where results go."""
    for row in list(rows(source)):
        source = source.replace(row, "", 1)
    return source


def test_rows_are_read_as_they_stand() -> None:
    source = (
        "void f() { g(); }\n#define TWO(a) \\\n  ACLNN(a)\nACLNN(Add, (In, a), like(a, b),\n      at::add(a))\n"
        'const Family all = {\n    ROW(Mul, "x -> y", same, at::mul(a[0])),\n    {"Split", "x", same, [](A a) {}},\n'
        "#define MORE 1\n};\n"
    )
    source = without_macros(source)
    assert [row.split(",")[0].strip() for row in rows(source)] == ["ACLNN(Add", "ROW(Mul", '{"Split"']
    assert [row[-2:] for row in rows(source)] == ["))", "))", "}}"]
    assert "at::" not in helpers(source) and "void f()" in helpers(source)
    count = sum(len(list(rows(without_macros(path.read_text(encoding="utf-8"))))) for path in ROWS)
    assert len(ROWS) > 40 and count > 1000


def test_nothing_next_to_a_row_computes(results: ModuleType) -> None:
    found = {
        str(path.relative_to(CSRC)): done
        for path in ROWS
        if (done := results.operations(helpers(without_macros(path.read_text(encoding="utf-8")))))
    }
    assert found == {}, "make it a function of csrc/kernels"
    assert results.operations(
        "x.add(y); at::Tensor z; at::kLong; wide(x).to(at::kFloat); f(at::avg_pool2d, sizes.size())"
    ) == [
        "avg_pool",
        "add",
    ]


def test_a_row_runs_one_operator_or_kernels(results: ModuleType) -> None:
    """One of ATen's, or one of two, whichever the arguments ask for; no arithmetic around a kernel."""
    found = []
    for path in ROWS:
        for row in rows(without_macros(path.read_text(encoding="utf-8"))):
            for way in re.split(r"\?|(?<!:):(?!:)", row):
                kernels = set(re.findall(r"\bkernels::\w+(?=\()", way)) - results.ARGUMENTS
                if len(results.operations(way)) > (0 if kernels else 1):
                    found.append(re.sub(r"\s+", " ", row))
    assert found == []


def test_an_operator_stands_in_files_of_one_name_in_both_interfaces() -> None:
    """The pairs are those whose results are compared (tests/sim/pairs.txt), and those of one name."""
    # Macros add to the names of the first; rows of the others name the function themselves.
    files = [path for path in ROWS if path.stem not in ("foreach", "functions", "older")]
    functions = {name: path.stem for path in files if "opapi" in path.parts for name in names(path, ACLNN_ROW)}
    types = {name: path.stem for path in files if "ge" in path.parts for name in names(path, GE_ROW)}
    text = (ROOT / "tests" / "sim" / "pairs.txt").read_text(encoding="utf-8")
    pairs = set(re.findall(r"^(\w+)\(.*?\| .*?= ?(\w+)\(", text, re.M)) | {(name, name) for name in functions}
    twins: dict[str, set[str]] = {}
    for function, of in pairs:
        if function in functions and of in types:
            twins.setdefault(of, set()).add(functions[function])
    assert len(twins) > 150
    assert {of: sorted(own) for of, own in twins.items() if types[of] not in own} == {}


def names(path: Path, row: re.Pattern[str]) -> list[str]:
    return row.findall(without_macros(path.read_text(encoding="utf-8")))


def test_kernels_know_neither_interface() -> None:
    included = {
        (path.name, name)
        for path in (CSRC / "kernels").iterdir()
        for name in re.findall(r'^#include "([^"]+)"', path.read_text(encoding="utf-8"), re.M)
    }
    assert {name.split("/")[0] for _, name in included} == {"kernels", "core"}
    code = {path.name: re.sub(r"//.*", "", path.read_text(encoding="utf-8")) for path in (CSRC / "kernels").iterdir()}
    assert [name for name, text in code.items() if re.search("aclnn[A-Z]|acl_|Shaper|Refused", text)] == []


def functions(source: str) -> Iterator[tuple[str, int]]:
    """The functions of a kernel's source, with how many parameters each has."""
    source = re.sub(r"//.*", "", source)
    for match in re.finditer(r"^[A-Za-z][\w:<>,&* ]*?[ &*](\w+)\(", source, re.M):
        depth, end, count = 1, match.end(), 0
        while depth:
            depth += {"(": 1, "{": 1, "<": 1, ")": -1, "}": -1, ">": -1}.get(source[end], 0)
            count += source[end] == "," and depth == 1
            end += 1
        if re.match(r"(;| \{)", source[end:]) and source[match.end() : end - 1].strip():
            yield match[1], count + 1


def test_a_kernel_has_eight_parameters_at_most() -> None:
    """More are a struct with named fields, so that no two tensors are swapped unseen."""
    assert list(functions("Map<int, at::Tensor> f(Map<int, int> a,\n  Dims b = {1, 2}) {\nvoid g();")) == [("f", 2)]
    found = {
        (path.name, name, count)
        for path in (CSRC / "kernels").iterdir()
        for name, count in functions(path.read_text(encoding="utf-8"))
    }
    assert len(found) > 1000 and {one for one in found if one[2] > 8} == set()


def test_rows_are_short_lines_of_kinds_and_names() -> None:
    for path in ROWS:
        lines = path.read_text(encoding="utf-8").splitlines()
        assert [f"{path.name}:{number}" for number, line in enumerate(lines, 1) if len(line) > 120] == []
        for parameters in PARAMETERS.findall(path.read_text(encoding="utf-8")):
            words = [word for word in parameters.split(",") if not GROUP.fullmatch(word.strip())]
            assert len(words) % 2 == 0, f"{path.name}: a kind and a name for each of ({parameters})"


def test_formatting_keeps_rows_in_lines() -> None:
    lint = (ROOT / ".ci" / "lint").read_text(encoding="utf-8")
    assert "clang-format" in lint and re.search(r"csrc/\{[^}]*\bkernels\b[^}]*\bopapi\b[^}]*\bge\b", lint)
    assert "clang-format off" not in "".join(path.read_text(encoding="utf-8") for path in ROWS)


def test_no_two_files_of_rows_have_a_helper_of_one_name() -> None:
    """Neighbours are compiled as one file: of two with one name, the compiler would take that whose parameters fit."""
    places: dict[tuple[Path, str], list[str]] = {}
    for path in ROWS:
        for name in {match[1] for match in HELPER.finditer(without_macros(path.read_text()))}:
            places.setdefault((path.parent, name), []).append(path.name)
    assert len(places) > 300
    assert {name: files for (_, name), files in places.items() if len(files) > 1} == {}
    assert HELPER.search("Dims lengths(const Args& a,\n             int64_t axis) {\n")


def test_a_macro_of_rows_stands_for_one_thing() -> None:
    """Neighbours are compiled as one file: the second would take the place of the first."""
    told: dict[tuple[Path, str], set[str]] = {}
    for path in ROWS:
        for name, text in re.findall(r"^#define (\w+)((?:.*\\\n)*.*)", path.read_text(encoding="utf-8"), re.M):
            told.setdefault((path.parent, name), set()).add(" ".join(text.replace("\\", "").split()))
    assert len(told) > 150 and [name for (_, name), texts in told.items() if len(texts) > 1] == []


def test_no_macro_of_rows_fills_a_struct_by_position() -> None:
    """Two tensors could be swapped unseen: fields are named, `.query = query`."""
    macro = re.compile(r"^#define \w+ (?:\\\n)?\s*\(?(?:\w+::)*[A-Z]\w+ ?\{ ?[a-z_]\w*, (?:.*\\\n)*.*", re.M)
    assert macro.search("#define KEYS (sparse::Layout{layout, key, {}, mode})\n")
    assert not macro.search("#define KEYS (sparse::Layout{.query = layout, .key = key})\n")
    assert [match[0] for path in ROWS for match in macro.finditer(path.read_text(encoding="utf-8"))] == []
