"""Every function that the headers of the graph API declare is in the libraries: a program that needs it is linked."""

import re
from pathlib import Path

from ophook_npu import sim, toolchain

HEADERS = {
    "graph": ("attr_value", "gnode", "graph", "inference_context", "operator", "operator_factory", "tensor", "types"),
    "ge": ("ge_api_wheel", "ge_ir_build_wheel", "ge_ir_build_model"),
    "parser": ("caffe_parser", "onnx_parser", "tensorflow_parser"),
}
NOTHING = re.compile(r"^(friend|using|template|typedef|enum|extern|namespace)\b|= ?(0|delete|default)$|^~|^virtual\b")
FUNCTION = re.compile(r"^(?P<of>.*?[\s&*>])(?P<name>[A-Za-z]\w*) ?\((?P<takes>.*)\)(?P<const> const)?$")


def plain(text: str) -> str:
    """Without comments, lines of the preprocessor, and macros that say how a name is exported or used."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)
    text = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", "", text, flags=re.M)
    text = re.sub(r"ATTRIBUTED_DEPRECATED\((?:[^()]|\([^()]*\))*\)\s*\)?", "", text)
    text = re.sub(r"\bGE_\w*VISIBILITY\b|\b(public|protected|private) ?:|\b(VALUE_SET_GET_DEC)\([^)]*\)", "", text)
    return re.sub(r"\s+", " ", text)


def statements(text: str) -> list[tuple[str, str | None]]:
    """What stands at the outermost level, each with what its braces hold: none where it has none."""
    found, depth = [], 0
    words, inside = "", None
    for letter in text:
        depth -= letter == "}"
        # After the braces of a class comes a semicolon, after those of a namespace and a function none.
        ends = letter == ";" or (letter == "}" and re.search(r"^\s*(namespace|extern)\b|\)[^(]*$", words))
        if depth == 0 and ends:
            found.append((words.strip(), inside))
            words, inside = "", None
        elif depth == 0 and letter not in "{}":
            words += letter
        elif depth:
            inside = (inside or "") + letter
        elif letter == "{":
            inside = ""
        depth += letter == "{"
    return found


def declared(text: str, owner: str = "") -> list[tuple[str, str]]:
    """Each function that the text declares, as (its class, a function that needs the one that has these parameters)."""
    out = []
    for words, inside in statements(text):
        if words.startswith("namespace"):
            out += declared(inside or "")
        elif found := re.match(r"(?:class|struct) (\w+)", words):
            out += declared(inside or "", found[1])
        elif (
            inside is None
            and owner
            and (row := re.fullmatch(rf"(?:explicit )?{owner} ?\((?P<takes>.*)\)(?: noexcept)?", words))
        ):
            names = re.findall(r"(\w+)(?=,|$)", re.sub(r"<[^<>]*>", "", re.sub(r"<[^<>]*>", "", row["takes"])))
            given = ", ".join(f"static_cast<decltype({name})&&>({name})" for name in names)
            out.append((owner, f"({row['takes']}) {{ new {owner}({given}); }}"))
        elif inside is None and not NOTHING.search(words) and (row := FUNCTION.match(words)):
            kind, of = re.fullmatch(r"((?:static |inline |explicit )*)(.*)", row["of"].strip()).groups()
            takes = re.sub(r" ?= ?[^,()]*(\(\))?", "", row["takes"])
            member = f"{owner}::" if owner and "static" not in kind else ""
            at = f"{owner}::" if owner else ""
            pointer = f"static_cast<{of} ({member}*)({takes}){row['const'] or ''}>(&{at}{row['name']})"
            out.append((owner, f"() {{ taken({pointer}); }}"))
    return out


def program(include: Path) -> str:
    names = [f"{folder}/{name}.h" for folder, all_of in HEADERS.items() for name in all_of]
    functions = [one for name in names for one in declared(plain((include / name).read_text()))]
    out = ['#include "ge/ge_api.h"\n#include "ge/ge_ir_build.h"\n', *(f'#include "{name}"\n' for name in names)]
    out += ["template <typename T> void taken(T) {}\nnamespace ge {\n"]
    for number, (owner, use) in enumerate(functions):  # in a class of its own, which knows the names of its base
        out.append(f"struct Use{number}{owner and f' : {owner}'} {{ __attribute__((used)) static void use{use} }};\n")
    return "".join(out) + "}\nint main() {}\n"


def test_every_function_that_a_header_declares_is_linked(tmp_path: Path) -> None:
    root = sim.active() or sim.build()
    source, text = tmp_path / "all.cpp", program(root / "include")
    assert text.count("static void use") > 600
    source.write_text(text)
    # The strings of CANN's libraries are the old ones; what is private is declared as well.
    command = [*toolchain.compiler(), "-std=c++17", "-w", "-D_GLIBCXX_USE_CXX11_ABI=0", "-fno-access-control"]
    libraries = [f"-L{root / 'lib64'}", "-lgraph", "-lge_runner", "-lgraph_base"]
    done = toolchain.run([*command, f"-I{root / 'include'}", str(source), *libraries, "-o", str(tmp_path / "all")])
    assert done.returncode == 0, done.stderr
