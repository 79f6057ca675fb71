"""Where a first phase ends before it compares shapes, and whether it goes on with fewer dimensions."""

from __future__ import annotations

import re

from first_phase import Sources
from first_phase.syntax import Callee, File, closing, split

_NO_ELEMENTS = re.compile(r"(\w+)->IsEmpty\(\)")
_BEFORE_REGISTERS = re.compile(r"!(?:\w+::)*IsRegbase\(\)&&")  # a condition of the products before Ascend950
_ABOUT_SHAPES = re.compile("Shape|SHAPE|Broadcast|BROADCAST")


def _asks_for_shapes(sources: Sources, tokens: list[str], file: File, inputs: frozenset[str], depth: int = 0) -> bool:
    """Whether these statements, or what they call, compare shapes or look at the sizes of what is no input."""
    if depth > 8:
        return True
    for at, word in enumerate(tokens):
        if word == "GetViewShape":
            compared = {"==", "!="} & {tokens[at - 3], *tokens[at + 3 : at + 4]}
            if compared or (tokens[at - 2] not in inputs and "GetDimNum" not in tokens[at : at + 5]):
                return True
            continue
        if tokens[at + 1 : at + 2] == ["("]:
            given = split(tokens[at + 2 : closing(tokens, at + 1)])
            if callee := sources.find(word, file, len(given)):
                inner = zip([name for name, _ in callee.parameters], given, strict=False)
                named = frozenset(name for name, part in inner if part[-1:] and part[-1] in inputs)
                if _asks_for_shapes(sources, callee.tokens, callee.file, named, depth + 1):
                    return True
                continue
            if _ABOUT_SHAPES.search(word):
                return True
    return False


def _idle_within(sources: Sources, callee: Callee, inputs: frozenset[str], family: str, later: str) -> frozenset[str]:
    """As `idle`, of the check that a first phase begins with, where that phase ends for an empty one ``later`` too."""
    for at, word in enumerate(callee.tokens):
        if not word.startswith("Check") or callee.tokens[at + 1 : at + 2] != ["("]:
            continue
        given = split(callee.tokens[at + 2 : closing(callee.tokens, at + 1)])
        check = sources.find(word, callee.file, len(given))
        if not check:
            return frozenset()
        outer = {name: part[-1] for (name, _), part in zip(check.parameters, given, strict=False) if len(part) == 1}
        found = idle(sources, check, frozenset(name for name, part in outer.items() if part in inputs), family)
        return frozenset(outer[name] for name in found if name in outer) & frozenset(_NO_ELEMENTS.findall(later))
    return frozenset()


def idle(sources: Sources, callee: Callee, inputs: frozenset[str], family: str) -> frozenset[str]:
    """The tensors of which an empty one ends the first phase with success on a product before any shape is compared."""
    tokens = callee.tokens
    for at, word in enumerate(tokens):
        if word != "if" or tokens[at + 1] != "(":
            continue
        end = closing(tokens, at + 1)
        condition = "".join(tokens[at + 2 : end])
        if family != "Ascend950":
            condition = _BEFORE_REGISTERS.sub("", condition, count=1)
        names = frozenset(_NO_ELEMENTS.findall(condition))
        if not names or re.sub(r"\|\||[()]", "", _NO_ELEMENTS.sub("", condition)):
            continue
        body = tokens[end + 1 : closing(tokens, end + 1)] if tokens[end + 1 : end + 2] == ["{"] else []
        plain = not {"if", "for", "CHECK_RET"} & set(body) and body[-3:] == ["return", "ACLNN_SUCCESS", ";"]
        nested = tokens[:at].count("{") != tokens[:at].count("}")
        if not plain or nested:
            return frozenset()
        if _asks_for_shapes(sources, tokens[:at], callee.file, inputs):
            return _idle_within(sources, callee, inputs, family, condition)
        return names & {name for name, _ in callee.parameters}
    return frozenset()


def flattens(sources: Sources, callee: Callee, seen: set[str]) -> bool:
    """Whether a first phase asks for more than eight dimensions and refuses nothing then: it goes on with fewer."""
    tokens = callee.tokens
    for at, word in enumerate(tokens):
        before = tokens[max(0, at - 8) : at + 2]
        counts = any(name.endswith("sSize") for name in before)  # a list's members, not a tensor's dimensions
        compared = {"<=", ">", "<", ">="} & set(before[-6:]) and tokens[at - 1] != ","  # else FVector<…, MAX_…>
        if word == "MAX_SUPPORT_DIMS_NUMS" and compared and not counts:
            behind = tokens[at : tokens.index("}", at) if "}" in tokens[at:] else None]
            return not {"false", "ACLNN_ERR_PARAM_INVALID"} & set(behind)
        if tokens[at + 1 : at + 2] == ["("] and word not in seen and word in callee.file.functions:
            seen.add(word)
            if any(flattens(sources, inner, seen) for inner in callee.file.functions[word]):
                return True
    return False
