#!/usr/bin/env python3
"""Read the tables of the published pages on aclnn functions and write them as data.

usage: scripts/device_rules.py TREE… [--out ophook_npu/csrc/rules] [--only PRODUCT]

Each TREE is a checkout of one of CANN's repositories of operators (ops-math, ops-nn, ops-transformer, ops-cv); the
pages, `op_api/aclnn_*.cpp` and `*_def.cpp` are enough of it. Only facts of their tables are taken: names, order,
direction, data types, formats, ranks, which pointer may not be null, what must be contiguous, how data types and shapes
hang together. What a page says only in words and no pattern below knows is left out: a rule that is not certain refuses
nothing. So is a lower bound of dimensions, or the relation of two shapes or data types, that no check of CANN's names
(`device_macros.py`): of such dimensions "no more than eight" is left. `ophook_npu/sim/rules.py` reads the result and
describes its form. --only adds what the TREE says of one product to the table that is there, whose other products were
read from another commit.
"""

from __future__ import annotations

import argparse
import html
import re
import subprocess
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent))
from device_checks import with_checks, with_types
from device_columns import column
from device_macros import NOTHING, Checks, checks_of, plain, taken_as_it_lies
from first_phase import values

from ophook_npu.sim.rules import DATA_TYPES, FAMILIES, FORMATS, INVALID, TILING, Function, Parameter, read, write

PRODUCTS = {"910b": "Ascend910B", "A3": "Ascend910_93", "950": "Ascend950", "310p": "Ascend310P",
            "310b": "Ascend310B"}  # fmt: skip
assert set(PRODUCTS.values()) == set(FAMILIES)

DTYPES = {name: name for name in DATA_TYPES}
DTYPES |= {"FLOAT32": "FLOAT", "FP32": "FLOAT", "FP16": "FLOAT16", "BF16": "BFLOAT16", "FLOAT64": "DOUBLE"}
DTYPES |= {"HIF8": "HIFLOAT8", "bool": "BOOL", "FLOAT8_E4M3": "FLOAT8_E4M3FN"}
DTYPES |= {
    name.replace("FLOAT8_", short): name for name in DATA_TYPES if "FLOAT8_" in name for short in ("FLOAT8", "FP8_")
}
TENSORS = ("aclTensor*", "aclTensorList*")
WHOLE = ("int64_t", "int32_t", "int8_t", "int", "uint64_t", "uint32_t", "aclDataType")
_NAMES = "|".join(sorted(DTYPES, key=len, reverse=True))
_DTYPE = re.compile(rf"(?<![A-Za-z0-9_])({_NAMES})(?![A-Za-z0-9_])")
_LIST = rf"(?:(?:{_NAMES})(?:数据)?(?:类型)?[、,，/和或\s]*)+"
_COMMENT = re.compile(r'<!--\s*npu="([^"]*)"\s*(\w+)\s*-->(.*?)<!--\s*end\s+\2\s*-->', re.DOTALL)
_TERMS = {"Atlas A2 训练": "910b", "Atlas A3 训练": "A3", "Ascend 950": "950", "Atlas 推理系列": "310p",
          "Atlas 200I/500 A2": "310b"}  # fmt: skip
_OPTIONAL = re.compile(
    r"可选|可以?为空|支持(?:传入?|输入)?(?:为)?空(?!tensor)|空指针|nullptr|为null|传null|传空", re.IGNORECASE
)
# What a number may be, as a list: "0、1、2", "0: none, 1: mean", "{2, 3}"; and as a range: "[1, 64]".
_ITEM = r"-?\d+(?:[:：][^\d、,，/~（(]*)?(?:（[^（）]*）|\([^()]*\))?"
_LISTED = re.compile(
    rf"(?:取值|支持|范围)(?:仅|只|支持|为|是|[:：])*[{{\[]?({_ITEM}(?:(?:[、,，/或和]|以及){_ITEM})+)[\]}}]?"
    r"(?:[^\d~～-]*|[、,，](?:分别|依次|对应|表示).*)"
)
_RANGE = re.compile(r"范围(?:为|是|在|[:：])*([\[(（])(-?\d+)[,，~](-?\d+)([\])）])")
_LEAST = re.compile(r"(?:取值|范围)[^\d]{0,8}?(大于等于|不小于|>=|≥|大于|>)(-?\d+)")
_COUNT = {"一": 1, "二": 2, "两": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8}


def text(cell: str) -> str:
    """A table cell without its markup, on one line; footnote numbers become ^N."""
    cell = re.sub(r"<sup>\s*([\d,，、]+)\s*</sup>", r"^\1 ", cell)
    cell = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", cell)
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]*>", " ", cell))).replace("`", "").strip()


def marked(page: str) -> str:
    """The page with its products marked as newer pages have them, where it has bullets that begin with a product."""
    if _COMMENT.search(page):
        return page
    lines = page.split("\n")
    result: list[str] = []
    number = 0
    while number < len(lines):
        head = re.match(r"( *)[-*] +(?:<term>[^<]*</term>[、 ]*)+[：:]", lines[number])
        products = [product for name, product in _TERMS.items() if head and name in head[0]]
        if not head or not products:
            result.append(lines[number])
            number += 1
            continue
        end = number + 1
        while end < len(lines) and (
            not lines[end].strip() or len(lines[end]) - len(lines[end].lstrip()) > len(head[1])
        ):
            end += 1
        result += [f'<!-- npu="{",".join(products)}" t{number} -->', *lines[number:end], f"<!-- end t{number} -->"]
        number = end
    return "\n".join(result)


def mentions(words: str, name: str) -> bool:
    return bool(re.search(rf"(?<![A-Za-z0-9_]){re.escape(name)}(?![A-Za-z0-9_])", words))


def only_for(source: str, product: str) -> str:
    """The page as a reader of one product sees it."""
    return _COMMENT.sub(lambda m: only_for(m[3], product) if product in m[1].split(",") else "", source)


@dataclass
class Row:
    """One parameter as one product's table has it."""

    direction: str
    optional: bool
    dtypes: list[str] | None
    formats: list[str] | None
    ranks: tuple[int, ...] | None
    words: str
    raw_dtypes: str = ""
    contiguous: bool = False
    relations: dict[str, list[str]] = field(default_factory=dict)


def dtypes_in(words: str) -> list[str] | None:
    found = list(dict.fromkeys(DTYPES[name] for name in _DTYPE.findall(words)))
    return found or None


def ranks_in(words: str) -> tuple[int, ...] | None:
    words = words.replace(" ", "").rstrip("。")
    if m := re.fullmatch(r"(\d)[-~～](\d)维?", words):
        return tuple(range(int(m[1]), int(m[2]) + 1))
    if re.fullmatch(r"\d(?:维)?(?:[、,，或/]\d(?:维)?)*", words):
        return tuple(sorted({int(d) for d in re.findall(r"\d", words)}))
    if m := re.fullmatch(r"(?:shape)?(?:维度)?(?:不超过|不大于|不高于|小于等于|≤|<=)(\d)维?", words):
        return tuple(range(int(m[1]) + 1))
    if words == "不支持8维以上":
        return tuple(range(9))
    if m := re.match(r"shape支持([一二两三四五六七八])维，维度为\(", words):
        return (_COUNT[m[1]],)
    return None


def formats_in(words: str) -> list[str] | None:
    known = re.findall(r"[A-Z][A-Z0-9_]*", words.replace("NZ格式", "FRACTAL_NZ"))
    named = ["FRACTAL_NZ" if name == "NZ" else name for name in known]
    if not named or any(name not in FORMATS for name in named):
        return None
    return list(dict.fromkeys(named))


def relations_in(words: str, names: list[str], own: str) -> dict[str, list[str]]:
    """How this parameter's data type and shape hang on those of others, where the page says so without a condition."""
    found: dict[str, list[str]] = {}
    one = "(" + "|".join(sorted(map(re.escape, names), key=len, reverse=True)) + ")"
    for sentence in re.split(r"[。；;]| - ", words):
        sentence = re.sub(r"“|”|\"|参数|入参|输入(?!/)|的(?=数据类型|shape|维度)", "", sentence)
        if re.search(r"当|如果|若|时[，,]|场景|除", sentence):
            continue
        patterns = {
            "dtype": rf"数据类型(?:需要|需|必须|要求)?(?:与|和|同){one}(?:数据类型)?(?:保持)?(?:一致|相同)",
            "shape": rf"(?:shape|形状)(?:需要|需|必须|要求)?(?:与|和|同){one}(?:shape)?(?:保持)?(?:一致|相同)",
        }
        for relation, pattern in patterns.items():
            for match in re.finditer(pattern, sentence):
                found.setdefault(relation, [])
                if match[1] not in (*found[relation], own):  # a page's own slip: "broadcasts with itself"
                    found[relation].append(match[1])
        pair = rf"{one}(?:与|和|、){one}"
        if m := re.search(rf"shape(?:需要|需)?是?{pair}\s*(?:做)?broadcast之后的?shape", sentence):
            found["shape_of_broadcast"] = [m[1], m[2]]
    return {relation: others for relation, others in found.items() if others}


def values_in(words: str, kind: str) -> dict[str, tuple[str, ...]]:
    """What a number or a text may be, where the page lists it without a condition; of several lists the longest."""
    lists: list[tuple[str, ...]] = []
    ranges = []
    for sentence in re.split(r"[。；;]", words):
        sentence = re.sub(r"[,，]?默认值?为?[^,，]*$", "", re.sub(r"\s", "", sentence))
        if re.search(r"当|如果|若|时|场景|除|建议|预留|产品|系列|维|dim|size|shape|以上|倍", sentence):
            continue
        if kind == "char*":
            names = re.findall(r"[\"“”'‘’]([A-Za-z][A-Za-z_0-9]*)[\"“”'‘’]", sentence)
            if names and re.search(r"支持|取值", sentence):
                lists.append(tuple(dict.fromkeys(names)))
        elif m := _RANGE.search(sentence):
            low, high = int(m[2]) + (m[1] != "["), int(m[3]) - (m[4] != "]")
            ranges.append(tuple(str(values.WHOLE.where(">=", low).where("<=", high)).split(",")))
        elif (at := re.search(r"取值|支持|范围", sentence)) and (m := _LISTED.fullmatch(sentence[at.start() :])):
            lists.append(tuple(dict.fromkeys(re.findall(r"(?:^|[、,，/或和]|以及)(-?\d+)", m[1]))))
        elif m := _LEAST.search(sentence):
            ranges.append((str(values.WHOLE.where(">" if m[1] in ("大于", ">") else ">=", int(m[2]))),))
    longest = max(lists, key=len, default=())
    if longest and not ranges and all(set(one) <= set(longest) for one in lists):
        return {"values": longest}
    return {"values": ranges[0]} if ranges and not lists and all(one == ranges[0] for one in ranges) else {}


def table_rows(section: str) -> list[dict[str, str]]:
    for table in re.findall(r"<table.*?</table>", section, re.DOTALL):
        heads = [text(head).replace(" ", "") for head in re.findall(r"<th[^>]*>(.*?)</th>", table, re.DOTALL)]
        if heads[:1] != ["参数名"] or not any("数据类型" in head or head == "dtype" for head in heads):
            continue
        body = table.split("</thead>")[-1]
        cells = (
            re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL)
            for row in re.findall(r"<tr[^>]*>(.*?)</tr>", body, re.DOTALL)
        )
        return [dict(zip(heads, map(text, row), strict=False)) for row in cells if len(row) == len(heads)]
    return bullets(section)


def bullets(section: str) -> list[dict[str, str]]:
    """The same facts from pages that list the parameters: "- self(aclTensor*, input): … data types … "."""
    rows = []
    for match in re.finditer(
        r"^ *[-*] `?(\w+)`?\s*[（(](.*?)[)）]\s*[:：](.*?)(?=^ *[-*] `?\w+`?\s*[（(]|^ *[-*] \*\*|\Z)",
        section,
        re.MULTILINE | re.DOTALL,
    ):
        words = text(match[3].replace("\n", " "))
        types = re.search(rf"数据类型(?:仅)?支持\s*({_LIST})", words)
        ranks = re.search(r"(?:维度|shape)?(?:支持)?((?:\d维?[-~]\d维)|(?:不(?:超过|大于|高于)8维))", words)
        ranks_said = re.sub(r"(?<=\d)维", "", ranks[1]) if ranks else ""
        rows.append(
            {
                "参数名": match[1],
                "输入/输出": match[2],
                "描述": words,
                "数据类型": types[1] if types else "",
                "数据格式": "ND" if re.search(r"数据格式支持ND(?![A-Z、])", words) else "",
                "维度(shape)": ranks_said,
            }
        )
    return rows


def rows_of(section: str, names: list[str]) -> dict[str, Row]:
    rows: dict[str, Row] = {}
    for cells in table_rows(section):
        name = re.split(r"[（(\s]", cells["参数名"])[0].strip("*")
        if name not in names:  # a page may leave out how the name ends: dValue of dValueOut
            ended = [one for one in names if plain(one) == plain(name) != ""]
            name = ended[0] if len(ended) == 1 else name
        kind = next((cells[key] for key in cells if key.startswith(("输入/输出", "输入输出"))), "")
        raw = next((cells[key] for key in ("数据类型", "dtype") if key in cells), "")
        rank = next((cells[key] for key in cells if key.startswith("维度") or key == "shape"), "")
        strides = next((cells[key] for key in cells if key.startswith("非连续")), "")
        # "as self" in the column of data types or shapes says what "data type as self" says in a text.
        same = [
            f"{what}{cell}"
            for what, cell in (("数据类型", raw), ("shape", rank))
            if re.match(r"(?:需要)?[与和同]", cell)
        ]
        words = "。".join([cells.get("描述", ""), cells.get("使用说明", ""), raw, rank, *same])
        both = ("输入" in kind and ("输出" in kind or "出参" in kind)) or "输入|输出" in kind
        rows[name] = Row(
            direction="inout" if both else "out" if ("输出" in kind or "出参" in kind) else "in",
            optional="可选" in kind or bool(_OPTIONAL.search(words)),
            dtypes=dtypes_in(raw),
            formats=formats_in(cells.get("数据格式", "")),
            ranks=ranks_in(rank),
            words=words,
            raw_dtypes=raw,
            contiguous=strides in ("×", "x", "X", "✗", "不支持"),
            relations=relations_in(words, names, name),
        )  # fmt: skip
    return rows


def differences(section: str, rows: dict[str, Row], product: str, page: str) -> None:
    """What the blocks after the table, and the page's columns, say of one product: types that it lacks, has besides, or
    is limited to."""
    after = section.split("</table>", 1)[-1].split("返回值")[0]
    told = [match[3] for match in _COMMENT.finditer(after) if product in match[1].split(",")]
    for words in (*told, *column(page, product)):
        block = text(words.replace("\n", " ⏎ "))
        if m := re.search(r"角标[“\"](\d)[”\"]代表该系列不支持", block):
            for row in rows.values():
                gone = {
                    DTYPES[name]
                    for name, mark in re.findall(rf"({_NAMES})\s*\^([\d,，、]+)", row.raw_dtypes)
                    if m[1] in mark
                }
                if row.dtypes and gone:
                    row.dtypes = [name for name in row.dtypes if name not in gone]
            continue
        for sentence in re.split(r"[。；;⏎]", block):
            # What is taken besides under a condition is taken; what is not under one says nothing of the others.
            if not _DTYPE.search(sentence) or (
                "额外支持" not in sentence
                and re.search(r"当|如果|若|时|只有|场景|转换|一致|cubeMathType|[=＝]|仅支持该产品", sentence)
            ):
                continue
            sentence = re.split(r"[，,]且与", sentence)[0]  # what follows compares with another parameter
            named = [name for name in rows if mentions(sentence, name)]
            amend(sentence, [rows[name] for name in named], list(rows.values()))


def amend(sentence: str, named: list[Row], everyone: list[Row]) -> None:
    refused = re.search(rf"不支持\s*({_LIST})", sentence)  # what follows behind a comma is of something else
    listed = dtypes_in(refused[1] if refused else sentence) or []
    chosen = named or [row for row in everyone if row.dtypes]
    if "不支持" in sentence:
        for row in chosen:
            left = [name for name in row.dtypes or () if name not in listed]
            row.dtypes = left or row.dtypes
    elif "额外支持" in sentence:
        for row in chosen:
            if row.dtypes:
                row.dtypes += [name for name in listed if name not in row.dtypes]
    elif named and re.search(r"支持", sentence):
        for row in named:
            row.dtypes = listed
    elif re.search(r"数据类型(?:仅)?支持", sentence):
        first = next((row.dtypes for row in everyone if row.dtypes), None)
        for row in chosen:
            assert row.dtypes
            if set(listed) >= set(row.dtypes):
                row.dtypes = listed if row.dtypes == first else row.dtypes
            else:
                row.dtypes = [name for name in row.dtypes if name in listed] or row.dtypes


def required(section: str, signature: list[tuple[str, str]], rows: dict[str, Row]) -> tuple[set[str], dict[str, str]]:
    """The parameters that the table of error codes names under 161001, and pairs of which one must be given.

    Where it names none, but "inputs and outputs that must be given" or only pointers, these are the tensors whose row
    says so, the first that goes in and the first that comes out: which of the others may be absent such pages do not
    tell. Where the page's rows cannot be read, the last tensor is what comes out.
    """
    names = [name for _, name in signature]
    cells = re.findall(r"161001\s*</td>\s*<td[^>]*>(.*?)</td>", section, re.DOTALL)
    if not cells:
        cells = re.findall(r"161001[^|\n]*\|([^|\n]*)\|", section)
    words = re.sub(r"非\w+", "", text(cells[0]), flags=re.ASCII) if cells else ""
    words = re.sub(r"[^。；;]*允许(?:同时)?为空[^。；;]*", "", words)
    either: dict[str, str] = {}
    for match in re.finditer(r"(\w+)[、与和](\w+)(?:同|全|都|同时|均)为", words, re.ASCII):
        if match[1] in names and match[2] in names:
            either |= {match[1]: match[2], match[2]: match[1]}
            words = words.replace(match[0], "")
    named = {name for name in names if mentions(words, name)}
    if not named and not either and words:
        tensors = [name for kind, name in signature if kind in TENSORS]
        known = [name for name in tensors if name in rows]
        coming = [name for name in known if rows[name].direction != "out"] if known else tensors
        leaving = [name for name in known if rows[name].direction == "out"] if known else tensors[-1:]
        named = {name for name in known if "必选" in rows[name].words} | {*coming[:1], *leaving[:1]}
    return named, either


def refused_with(code: int, section: str) -> str:
    """What the table of error codes says of one."""
    others = r"(?<!\d)(?:16100[1-9]|[35]61\d{3})(?!\d)"
    cells = re.search(rf"(?<!\d){code}(?!\d)(.*?)(?:{others}|</table>|\Z)", section, re.DOTALL)
    return text(cells[1]) if cells else ""


_SHAPES = re.compile("shape|维|不满足参数说明", re.IGNORECASE)
_DTYPES_AND_FORMATS = re.compile("数据类型.*不在支持")


def code_of(mistakes: re.Pattern[str], section: str) -> int:
    """561002 where the page gives it to such mistakes and 161002 only to others."""
    return (
        TILING
        if mistakes.search(refused_with(TILING, section)) and not mistakes.search(refused_with(INVALID, section))
        else INVALID
    )


def prototypes(page: str) -> list[tuple[str, list[tuple[str, str]]]]:
    """(function, its parameters as (C type, name)) for each first phase on the page."""
    found = []
    for match in re.finditer(r"aclnnStatus\s+(acl\w+)GetWorkspaceSize\s*\(([^;`]*?)\)\s*;?\s*(?:`|\n)", page):
        parameters = []
        for piece in match[2].split(","):
            words = re.sub(r"\s+", " ", re.sub(r"//.*", "", piece)).strip()
            m = re.match(r"(.+?)([\s*]+)(\w+)(?:\[\])?$", words)
            if not m:
                break
            pointer = "*" * m[2].count("*")
            parameters.append((m[1].replace("const ", "").strip() + pointer, m[3]))
        if [kind for kind, _ in parameters[-2:]] == ["uint64_t*", "aclOpExecutor**"]:
            found.append((match[1], parameters[:-2]))
    return list(dict(found).items())


def section_of(page: str, function: str, alone: bool) -> str:
    sections = re.split(r"^(?=##+ )", page, flags=re.MULTILINE)
    for section in sections:
        head = section.split("\n", 1)[0]
        if re.search(rf"(?<!\w){function}GetWorkspaceSize(?!\w)", head):
            return section
    return page if alone else ""


def supported(page: str) -> dict[str, bool]:
    head = page.split("## 功能说明")[0]
    found: dict[str, bool] = {}
    # An older form of the pages has one line for each product, or for several of one family.
    for line in re.findall(r"^\|(.+)\|\s*$", head, re.MULTILINE):
        for mark, product in _TERMS.items():
            if mark in line and ("√" in line or "×" in line):
                found[product] = "√" in line
    for match in _COMMENT.finditer(head):
        words = text(match[3])
        for product in match[1].split(","):
            if product in PRODUCTS:
                found[product] = not re.search(r"不支持\s*$|：\s*不支持", words)
    return found


def functions_of(tree: Path, path: Path, repository: str) -> list[Function]:
    page = marked(path.read_text())
    found = prototypes(page)
    on = supported(page)
    functions = []
    for name, signature in found:
        section = section_of(page, name, len(found) == 1)
        names = [parameter for _, parameter in signature]
        checks = checks_of(tree).get(name, NOTHING)
        per_product: dict[str, dict[str, Row]] = {}
        for product in PRODUCTS:
            if on.get(product):
                rows = rows_of(only_for(section.split("</table>", 1)[0] + "</table>", product), names)
                differences(section, rows, product, page if len(found) == 1 else "")
                per_product[PRODUCTS[product]] = rows
        must, either = required(
            section, signature, {name: row for rows in per_product.values() for name, row in rows.items()}
        )
        # What is outside a list of values is refused where the page's codes name it and no product has another list.
        refused = refused_with(INVALID, section)
        after = section.split("</table>", 1)[-1].split("返回值")[0]
        elsewhere = " ".join(match[3] for match in _COMMENT.finditer(after))
        parameters = []
        for kind, parameter in signature:
            rows = {product: table[parameter] for product, table in per_product.items() if parameter in table}
            any_row = next(iter(rows.values()), None)
            relations = {key: tuple(value) for key, value in (any_row.relations if any_row else {}).items()}
            relations |= {"either": (either[parameter],)} if parameter in either else {}
            if kind in TENSORS and rows and all(row.contiguous for row in rows.values()):
                relations |= {"contiguous": ()} if taken_as_it_lies(tree, name, parameter) else {}
            if kind in (*WHOLE, "char*") and mentions(refused, parameter) and not mentions(elsewhere, parameter):
                told = [values_in(row.words, kind) for row in rows.values()]
                relations = told[0] if told and all(one == told[0] for one in told) else {}
            pointer = kind.endswith("*")
            parameters.append(
                Parameter(
                    name=parameter,
                    kind=kind,
                    direction=any_row.direction if any_row else "in",
                    # Refused only where the page names it; where its name or the page says optional, it may be absent.
                    required=pointer
                    and parameter in must
                    and not (any_row and any_row.optional)
                    and "ptional" not in parameter,
                    dtypes=alike_on_a2_and_a3({product: row.dtypes for product, row in rows.items() if row.dtypes})
                    if kind in TENSORS
                    else {},
                    formats={product: tuple(row.formats) for product, row in rows.items() if row.formats}
                    if kind in TENSORS
                    else {},
                    ranks=any_row.ranks if any_row and kind in TENSORS else None,
                    relations=relations,
                )
            )
        parameters = [without_contradiction(one, parameters) for one in parameters]
        parameters = [checked(one, checks) for one in parameters]
        functions.append(
            Function(
                name=name,
                page=f"{repository}/{path.relative_to(tree).as_posix()}",
                families=tuple(PRODUCTS[product] for product in PRODUCTS if on.get(product)),
                absent=tuple(PRODUCTS[product] for product in PRODUCTS if on.get(product) is False),
                parameters=tuple(parameters),
                shape_code=code_of(_SHAPES, section),
                invalid_code=code_of(_DTYPES_AND_FORMATS, section),
            )
        )
    return functions


def alike_on_a2_and_a3(dtypes: dict[str, list[str]]) -> dict[str, tuple[str, ...]]:
    """CANN's checks have one list for both: where a page names a type for one of them only, the other takes it too."""
    alike = ("Ascend910B", "Ascend910_93")
    both = list(dict.fromkeys(name for family in alike for name in dtypes.get(family, ())))
    return {family: tuple(both if family in alike else own) for family, own in dtypes.items()}


def checked(one: Parameter, checks: Checks) -> Parameter:
    """The parameter without what no check of CANN's names."""
    relations = dict(one.relations)
    for relation, pairs in (("shape", checks.shapes), ("dtype", checks.dtypes)):
        kept = tuple(name for name in relations.pop(relation, ()) if frozenset((one.name, name)) in pairs)
        relations |= {relation: kept} if kept else {}
    if not checks.broadcasts:
        relations.pop("shape_of_broadcast", None)
    ranks = one.ranks
    if ranks:
        low = ranks[0] if checks.lowest.get(one.name) == {ranks[0]} else 0
        high = ranks[-1] if checks.highest.get(one.name) == {ranks[-1]} else 8
        ranks = ranks if (low, high) == (ranks[0], ranks[-1]) else tuple(range(low, high + 1))
    return replace(one, ranks=ranks, relations=relations)


def without_contradiction(one: Parameter, others: list[Parameter]) -> Parameter:
    """Of two statements of a page that cannot both hold, neither is a rule."""
    by_name = {other.name: other for other in others}
    relations = dict(one.relations)
    ranks = one.ranks
    for name in relations.get("shape", ()):
        if ranks and by_name[name].ranks and not set(ranks) & set(by_name[name].ranks or ()):
            ranks = None
            relations.pop("shape")
            break
    for name in relations.get("dtype", ()):
        if any(
            not set(dtypes) & set(by_name[name].dtypes.get(family, dtypes)) for family, dtypes in one.dtypes.items()
        ):
            relations.pop("dtype")
            break
    return replace(one, ranks=ranks, relations=relations)


def says_more(one: Function, other: Function) -> Function:
    """Of two pages about a function the one that names more of what must be given; older pages name nothing."""
    return max(one, other, key=lambda function: sum(parameter.required for parameter in function.parameters))


def from_pages(tree: Path, repository: str, only: str = "") -> dict[str, Function]:
    functions: dict[str, Function] = {}
    for path in sorted(tree.rglob("docs/acl*.md")):
        if "experimental" not in path.parts:
            for function in functions_of(tree, path, repository):
                functions[function.name] = says_more(functions.get(function.name, function), function)
    if only:
        return {name: with_types(tree, function, only) for name, function in functions.items()}
    return {name: with_checks(tree, function) for name, function in functions.items()}


def with_product(known: Function, told: Function, product: str) -> Function:
    """A function with what another reading of its page says of one product."""
    if product not in told.families:
        return replace(known, absent=tuple(dict.fromkeys((*known.absent, product))))
    of = {one.name: one for one in told.parameters}
    parameters = []
    for one in known.parameters:
        dtypes, formats = dict(one.dtypes), dict(one.formats)
        if (page := of.get(one.name)) and product in page.dtypes:
            dtypes[product] = page.dtypes[product]
        if page and product in page.formats:
            formats[product] = page.formats[product]
        parameters.append(replace(one, dtypes=dtypes, formats=formats))
    families = tuple(dict.fromkeys((*known.families, product)))
    absent = tuple(family for family in known.absent if family != product)
    return replace(known, families=families, absent=absent, parameters=tuple(parameters))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trees", nargs="+", type=Path, metavar="TREE")
    here = Path(__file__).resolve().parent.parent
    parser.add_argument("--only", choices=FAMILIES, metavar="PRODUCT")
    parser.add_argument("--out", type=Path, default=here / "ophook_npu" / "csrc" / "rules")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    sys.setrecursionlimit(10000)
    for tree in options.trees:
        commit = subprocess.run(
            ["git", "-C", str(tree), "rev-parse", "HEAD"], capture_output=True, text=True, check=True
        ).stdout.strip()
        repository = tree.resolve().name
        target = options.out / f"{repository}.rules"
        functions, source = from_pages(tree, repository, options.only or ""), f"{repository} at {commit}"
        if options.only:
            told, before = functions, target.read_text().partition("\n")[0].removeprefix("# ")
            source = before if commit in before else f"{before}, {options.only} at {commit}"
            functions = {
                one.name: with_product(one, told[one.name], options.only) if one.name in told else one
                for one in read(target)
            }
        target.write_text(write(functions.values(), source=source))
        parameters = sum(len(function.parameters) for function in functions.values())
        print(f"{target.name}: {len(functions)} functions, {parameters} parameters")


if __name__ == "__main__":
    main()
