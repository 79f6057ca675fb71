"""Kernels and their launches in a preprocessed source, as g++ takes them: `translated`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from ophook_npu.errors import OphookError
from ophook_npu.kernel import local_arrays
from ophook_npu.kernel.source import KINDS
from ophook_npu.kernel.text import closing, outside_quotes, replaced
from ophook_npu.plural import counted
from ophook_npu.sim import launches

WHERE = "bisheng"

# A preprocessed source is millions of letters: these begin with what they search, and look back for the word's begin.
_TOKENS = re.compile(r"<<<|__(?<!\w__)global__\b|printf(?<!\wprintf)\b(?=\s*[(;])")
_QUALIFIERS = re.compile(
    r"__(?<!\w__)(?:global|vector|cube|aicore|aicpu|mix)__\b(?P<mix>\s*\(\s*(?P<cubes>\d+)\s*,\s*(?P<vectors>\d+)\s*\))?|\[aicore\]"
)
_TASK_TYPE = re.compile(r'"KERNEL_TYPE_(\w+)"')
_ATTRIBUTE = re.compile(r"__attribute__\s*\(\(.*?\)\)|\balignas\s*\([^()]*\)|\b__launch_bounds__\s*\([^()]*\)")


_C_LINKAGE = re.compile(r'\bextern\s*"C"')
_TRAP = re.compile(r'\b(?:asm|__asm__)\s*(?:volatile\s*)?\(\s*"trap"\s*\)')  # the AI core's instruction
_COUNTERS = {"PC": "GetProgramCounter", "SYS_CNT": "GetSystemCycle"}
_COUNTER = re.compile(
    r'\b(?:asm|__asm__)\s*(?:volatile\s*)?\(\s*"MOV %0, (PC|SYS_CNT)\\n"\s*:\s*"\+l"\s*\((\w+)\)\s*\)'
)


def translated(
    text: str,
    name: str,
    expressions: Mapping[str, str] | None = None,
    workspace: int = 0,
    *,
    threads: bool = False,
    library: bool = False,
    kind: int = -1,
    stubs: bool = False,
) -> str:
    """A preprocessed source as g++ takes it. ``expressions``: by name, kernels that are found by it (``add<float>``);
    ``workspace``: see `launches.definition`; ``threads``: kernels may be functions of threads (``--enable-simt``);
    ``library``: launches take pointers as ``aclrtlaunch_KERNEL`` does, as ``void*`` whatever the kernel's are to;
    ``kind``: the cores of kernels that do not say it, where the source is compiled for them alone; ``stubs``: what has
    the name of a kernel is its launch, `launches.stub`, as the vendor's driver makes it of a source in asc.

    Raises:
        OphookError: a launch that cannot be read; with its line.
    """
    pieces: list[str] = []
    kinds: dict[str, int] = {}
    named: dict[str, launches.LaunchedKernel] = {}
    definitions: Counter[str] = Counter()
    launched: set[str] = set()
    of_cpus: set[str] = set()
    labelled: set[str] = set()
    stubbed: list[launches.LaunchedKernel] = []
    at = 0
    for token in outside_quotes(_TOKENS, text):
        if token.start() < at:
            continue
        if token[0] == "printf":  # a kernel's, or the host's: what it calls finds out
            pieces += [text[at : token.start()], "ophook_printf"]
            at = token.end()
            continue
        if token[0] == "__global__":
            if of_cpu := _of_cpu(text, token.start(), name):
                of_cpus.add(of_cpu)
            elif found := _kernel(text, token.start(), library):
                kernel = found.kernel.name
                kinds[kernel] = max(found.kind, kinds.get(kernel, -1))
                if stubs and found.of_c and kernel not in labelled:
                    labelled.add(kernel)
                    pieces += [text[at : found.begin], launches.label(found.kernel)]
                    at = found.begin
                if stubs and found.of_cpp:
                    stubbed.append(found.kernel)
                if found.by_name:
                    named[kernel] = found.kernel
                    definitions[kernel] += 1
            continue
        short, begin, replacement, end = _launch(text, token.start(), name, threads, library, of_cpus)
        launched.add(short)
        pieces += [text[at:begin], replacement]
        at = end
    if kind < 0 and "/ascendc/matmul.h" in text:  # as source.Entry.kind decides
        kind = KINDS["AIC_ONLY" if "matmul_details::Register(true" in text else "MIX_AIC_1_2"]
    kinds = {kernel: kind if own < 0 else own for kernel, own in kinds.items()}
    if len(every := set(kinds.values())) == 1:  # a variable that points to one of them
        kinds.update(dict.fromkeys(launched - kinds.keys(), *every))
    named = {kernel: one for kernel, one in named.items() if definitions[kernel] == 1}  # not one that is overloaded
    code = "".join([*pieces, text[at:]])
    code = replaced(_QUALIFIERS, lambda _: "", code)
    if of_cpus:  # an instance that is elsewhere, as the device's compiler takes its declaration
        code = re.sub(r"\btemplate\s+extern\b", "extern template", code)
    if '"trap"' in code:
        code = _TRAP.sub("AscendC::Trap()", code)
    if "MOV %0, " in code:
        code = _COUNTER.sub(lambda m: f"({m[2]}) = AscendC::{_COUNTERS[m[1]]}()", code)
    code = local_arrays.translated(code)
    declared = "".join(f'static const ::ophook::program::Declared ophook_{k}("{k}", {v});\n' for k, v in kinds.items())
    declared += "".join(launches.definition(kernel, workspace) for _, kernel in sorted(named.items()))
    for k, expression in {**{k: k for k in sorted(named)}, **(expressions or {})}.items():
        entry = f"::ophook::program::Entry<::{expression.removeprefix('::')}>"
        declared += f'static const ::ophook::program::Named ophook_named_{k}("{k}", {entry}::bind, {entry}::sizes());\n'
        short = re.sub(r"<.*", "", expression, flags=re.DOTALL).strip().rsplit("::", 1)[-1]
        if k not in kinds and short in kinds:
            declared += f'static const ::ophook::program::Declared ophook_{k}("{k}", {kinds[short]});\n'
    if stubs:  # last, since they are overloads of what stands above
        declared += "".join(launches.stub(kernel) for _, kernel in sorted(named.items()))
        declared += "".join(launches.stub(kernel, of_c=False) for kernel in stubbed)
    return f'{code}\n# 1 "kernels of {name}"\n{declared}'


@dataclass(frozen=True)
class _Found:
    kernel: launches.LaunchedKernel
    kind: int  # which cores it runs on; -1: its text does not say
    by_name: bool  # it is defined here, and programs find it by its name
    of_c: bool = False  # it has C's linkage
    of_cpp: bool = False  # it is defined here as a function of C++, in no namespace
    begin: int = 0


def kernels(text: str) -> list[_Found]:
    """Those of a source of ascendc_library."""
    found = [_kernel(text, token.start(), True) for token in outside_quotes(_TOKENS, text) if token[0] == "__global__"]
    definitions = Counter(one.kernel.name for one in found if one and one.by_name)
    return [one for one in found if one and (not one.by_name or definitions[one.kernel.name] == 1)]


_SCOPE = re.compile(r"[{}]")


def _scopes(text: str, at: int) -> list[bool]:
    """The braces that are open at a place: whether each is `extern "C"`'s. Others are of a namespace or a class."""
    opened: list[int] = []
    for brace in outside_quotes(_SCOPE, text[:at]):
        if brace[0] == "{":
            opened.append(brace.start())
        elif opened:
            opened.pop()
    return [bool(re.search(r'\bextern\s*"C"\s*$', text[max(0, one - 99) : one])) for one in opened]


def _kernel(text: str, at: int, library: bool) -> _Found | None:
    """The function that `__global__` stands before."""
    begin = max(text.rfind(mark, 0, at) for mark in ";{}") + 1
    line = text.rfind("\n#", 0, at)
    begin = max(begin, text.find("\n", line + 1) + 1 if line >= 0 else 0)
    end = re.compile(r"[;{]").search(text, at)
    # A macro of a system's header has marks of its place around it.
    head = re.sub(r"^#.*$", "", text[begin : end.start() if end else len(text)], flags=re.MULTILINE)
    qualifiers = [found[0].split("(")[0] for found in _QUALIFIERS.finditer(head)]
    mix = next((found for found in _QUALIFIERS.finditer(head) if found["mix"]), None)
    plain = _ATTRIBUTE.sub("", _QUALIFIERS.sub("", head))
    named = re.search(r"(\w+)\s*\(", plain)
    if named is None:
        return None
    parts = _split(plain[named.end() : closing(plain, named.end() - 1)])
    kernel = launches.LaunchedKernel(named[1], tuple(launches.parameters(parts)))
    by_name = bool(end and end[0] == "{")
    scopes = _scopes(text, begin)
    of_c = bool(_C_LINKAGE.search(head)) or (bool(scopes) and all(scopes))
    of_cpp = by_name and not of_c and not scopes and not re.search(r"\btemplate\b|\bstatic\b", head)
    if by_name and not of_c:  # ascendc_library launches functions of C++ by their names, too
        by_name = library and not re.search(r"\btemplate\b", head) and all(scopes)

    def found(kind: str) -> _Found:
        return _Found(kernel, KINDS[kind], by_name, of_c, of_cpp, begin)

    if mix is not None:
        key = f"MIX_AIC_{mix['cubes']}_{mix['vectors']}"
        if key not in KINDS:
            raise OphookError(
                WHERE, f"{named[1]}: __mix__({mix['cubes']}, {mix['vectors']})",
                allowed="__mix__(1, 0), __mix__(1, 1), __mix__(1, 2), __mix__(0, 1)",
            )  # fmt: skip
        return found(key)
    if "__vector__" in qualifiers:
        return found("AIV_ONLY")
    if "__cube__" in qualifiers:
        return found("AIC_ONLY")
    if end and end[0] == "{":
        body = text[end.start() : closing(text, end.start())]
        if told := _TASK_TYPE.search(body):
            return _Found(kernel, KINDS.get(told[1], 0), by_name, of_c, of_cpp, begin)
        if re.search(r"\b(?:Mmad|Fixpipe)\b", body):
            return found("AIC_ONLY")
    return _Found(kernel, -1, by_name, of_c, of_cpp, begin)


def _of_cpu(text: str, at: int, name: str) -> str:
    """The name of the AI CPU kernel that `__global__` declares; "" where it is none.

    Raises:
        OphookError: it is defined here.
    """
    head = re.match(r"[^;{(]*", text[at:])
    begin = max(text.rfind(mark, 0, at) for mark in ";{}") + 1
    if not head or "__aicpu__" not in text[begin : at + head.end()]:
        return ""
    end = at + head.end()
    found = re.search(r"(\w+)\s*(?:<[^()]*>)?\s*$", head[0])
    if found is None or not text.startswith("(", end):
        raise _unreadable(text, at, name, "no name behind __global__ __aicpu__", "a function of one pointer")
    if re.match(r"\s*\{", text[closing(text, end) + 1 :]):
        allowed = "in a file named .aicpu (or with -x aicpu), and declared here as extern"
        raise _unreadable(text, at, name, f"the AI CPU kernel {found[1]} is defined here", allowed)
    return found[1]


def _launch(
    text: str, at: int, name: str, threads: bool, library: bool, of_cpus: Collection[str]
) -> tuple[str, int, str, int]:
    """(the kernel's name, where it begins, what takes the place of all before the arguments, where they begin)."""
    end = at
    while text[end - 1].isspace():
        end -= 1
    begin = end
    if text[begin - 1] == ">":
        depth = 0
        while begin > 0:
            begin -= 1
            depth += {">": 1, "<": -1}.get(text[begin], 0)
            if depth == 0:
                break
    found = re.search(r"(?:(?:::)?\b\w+(?:\s*::\s*(?:template\s+)?\w+)*)\s*$", text[max(0, begin - 400) : begin])
    if found is None:
        raise _unreadable(text, at, name, "no kernel's name before <<<")
    begin = max(0, begin - 400) + found.start()
    kernel = text[begin:end]
    depth, close = 0, at + 3
    while close < len(text):
        if depth == 0 and text.startswith(">>>", close):
            break
        depth += {"(": 1, ")": -1, "{": 1, "}": -1}.get(text[close], 0)
        if depth < 0 or text[close] == ";":
            raise _unreadable(text, at, name, "<<< without >>>")
        close += 1
    settings = text[at + 3 : close]
    after = close + 3
    if not re.match(r"\s*\(", text[after:]):
        raise _unreadable(text, at, name, "no arguments behind >>>")
    parts = _split(settings)
    of_threads = threads and len(parts) == 4
    if not of_threads and not 1 <= len(parts) <= 3:
        allowed = "blocks, l2ctrl, stream" + ("; or" if threads else "; with --enable-simt also") + " blocks, threads,"
        raise _unreadable(
            text, at, name, f"<<<{settings.strip()}>>> has {counted(len(parts), 'value')}; allowed: {allowed}"
            " bytes of UB, stream",
        )  # fmt: skip
    lines = "\n" * text.count("\n", begin, after)  # what follows keeps its line
    short = re.sub(r"<.*", "", re.sub(r"\s", "", kernel), flags=re.DOTALL).rsplit("::", 1)[-1]
    if short in of_cpus:
        call = f'::ophook::program::launch_cpu("{short}", {" ".join(kernel.split())}, {" ".join(settings.split())})'
        return short, begin, f"{call}{lines}", after
    given = "::ophook::program::argument(ophook_a)..." if library else "ophook_a..."
    call = f"[=](auto... ophook_a) {{ {' '.join(kernel.split())}({given}); }}"
    function = "launch_threads" if of_threads else "launch"
    return short, begin, f'::ophook::program::{function}("{short}", {call}, {" ".join(settings.split())}){lines}', after


def _split(text: str) -> list[str]:
    parts, depth, begin = [], 0, 0
    for i, letter in enumerate(text):
        depth += {"(": 1, ")": -1, "{": 1, "}": -1, "[": 1, "]": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            parts.append(text[begin:i])
            begin = i + 1
    return [*parts, text[begin:]] if text.strip() else []


_MARK = re.compile(r'^# (\d+) "([^"]*)"', re.MULTILINE)


def _unreadable(
    text: str, at: int, name: str, why: str, allowed: str = "kernel<<<blocks, l2ctrl, stream>>>(arguments)"
) -> OphookError:
    marks = list(_MARK.finditer(text, 0, at))
    file, line = (marks[-1][2], int(marks[-1][1]) + text.count("\n", marks[-1].end(), at) - 1) if marks else (name, 0)
    return OphookError(WHERE, f"{file}:{line}: {why}", allowed=allowed)
