#!/usr/bin/env python3
"""Public names and commands as pages: docs/reference.md from docstrings, docs/commands.md from help texts.

usage: scripts/reference_pages.py
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import ophook_npu
from ophook_npu import cli
from ophook_npu.cli._command import ProgramCommand

ROOT = Path(__file__).resolve().parent.parent
REFERENCE, COMMANDS = ROOT / "docs/reference.md", ROOT / "docs/commands.md"
_NOTE = "<!-- written by scripts/reference_pages.py -->"
# What a section of a docstring is called on the page.
_SECTIONS = {"Args": "Arguments", "Attributes": "Attributes", "Returns": "Returns", "Raises": "Raises"}
PAGES = {path.name for path in (ROOT / "docs").glob("*.md")}


def modules() -> list[str]:
    """The public packages of ophook_npu."""
    return [name for name in ophook_npu.__all__ if (ROOT / "ophook_npu" / name).is_dir()]


def members(kind: type) -> Iterator[tuple[str, Any, str]]:
    """The public methods and properties of a class and of its bases of ours: name, what has the docstring, and the
    parameters ("" for a property)."""
    seen: set[str] = set()
    for base in kind.__mro__:
        if not base.__module__.startswith("ophook_npu"):
            continue
        for name, value in vars(base).items():
            if name.startswith("_") or name in seen:
                continue
            seen.add(name)
            if isinstance(value, property) or type(value).__name__ == "cached_property":
                yield name, value, ""
            elif inspect.isfunction(value) or isinstance(value, staticmethod | classmethod):
                yield name, inspect.unwrap(getattr(kind, name)), signature(getattr(kind, name), drop_self=True)


def signature(what: Any, drop_self: bool = False) -> str:
    """Parameters with their defaults; no annotations, which would fill the page."""
    parameters = list(inspect.signature(what).parameters.values())
    if drop_self and parameters and parameters[0].name == "self":
        parameters = parameters[1:]
    shown = [one.replace(annotation=inspect.Parameter.empty) for one in parameters if not one.name.startswith("_")]
    text = str(inspect.Signature(shown))
    return re.sub(r"<(?:factory|class '[\w.]*\.?(\w+)')>", lambda found: found[1] or "…", text)


def undocumented() -> list[str]:
    """Public names and their methods that have no docstring of their own."""
    found = []
    for package in modules():
        module = import_module(f"ophook_npu.{package}")
        found += [f"ophook_npu.{package}"] * (not module.__doc__)
        for name in module.__all__:
            value = getattr(module, name)
            said = vars(value).get("__doc__") if inspect.isclass(value) else description(package, name, value)
            if not said or said.startswith(f"{name}("):  # what a dataclass makes up
                found.append(f"ophook_npu.{package}.{name}")
            if inspect.isclass(value):
                found += [f"{package}.{name}.{one}" for one, what, _ in members(value) if not inspect.getdoc(what)]
    return found


def description(package: str, name: str, value: Any) -> str:
    """The docstring; an operator that ships has its declaration's summary and schema."""
    if package == "ops" and name in ophook_npu.ops.shipped():
        declared = ophook_npu.ops.declaration(name)
        return f"{declared.summary[:1].upper()}{declared.summary[1:].rstrip('.')}.\n\n``{declared.schema}``"
    if isinstance(value, str):
        return f"The text ``{value!r}``: the target that means all operators."
    return inspect.getdoc(value) or ""


def plain(text: str) -> str:
    """Docstring markup as Markdown, on one line for a paragraph."""
    text = re.sub(r":\w+:`~?(?:[\w.]*\.)?(\w+)`", r"`\1`", text)
    text = re.sub(r"``(.+?)``", r"`\1`", text, flags=re.S)
    text = re.sub(r"(`[^`]*`)|\*", lambda found: found[1] or "\\*", text)
    text = re.sub(
        r"\bdocs/([\w-]+\.md)\b", lambda found: f"[{found[1]}]({found[1]})" if found[1] in PAGES else found[0], text
    )
    text = "\n".join(line if line.startswith("- ") else line.strip() for line in text.splitlines())
    return "\n\n".join(
        re.sub(r"\s*\n(?!- )\s*", " ", part).strip() for part in re.split(r"\n\s*\n", text) if part.strip()
    )


def rendered(doc: str) -> str:
    """A docstring: paragraphs, then each section as a list."""
    parts = re.split(rf"^({'|'.join(_SECTIONS)}):[ ]*$", doc, flags=re.M)
    lines = [plain(parts[0])]
    for title, body in zip(parts[1::2], parts[2::2], strict=True):
        indented = re.match(r"((?:\n|[ ]+[^\n]*(?:\n|$))*)", body)
        assert indented
        own = inspect.cleandoc(indented[1])
        entries = re.split(r"\n(?=\S)", own) if title != "Returns" else [own]
        lines.append(f"*{_SECTIONS[title]}*")
        lines.append("\n".join(f"- {entry(one)}" for one in entries if one.strip()))
        if rest := body[indented.end() :].strip():
            lines.append(plain(rest))
    return "\n\n".join(line for line in lines if line)


def entry(text: str) -> str:
    """``name: what it is`` with the name as code."""
    named = re.match(r"([\w*]+(?:, [\w*]+)*): (.*)", text, re.S)
    text = plain(named[2] if named else text).replace("\n\n", " ")
    return f"{', '.join(f'`{one}`' for one in named[1].split(', '))}: {text}" if named else text


def reference() -> str:
    lines = [
        "# API reference",
        _NOTE,
        "The public names of the package, with what their docstrings say. `import ophook_npu` loads neither torch nor "
        "torch_npu: a name is loaded when it is used first. [commands.md](commands.md) has the commands.",
        "| package | names |\n|---|---|\n"
        + "\n".join(
            f"| [`ophook_npu.{package}`](#ophook_npu{package}) | "
            + ", ".join(f"`{name}`" for name in import_module(f"ophook_npu.{package}").__all__)
            + " |"
            for package in modules()
        ),
        "The package itself has the names of `ophook_npu.hooks` that a program needs most: "
        + ", ".join(f"`{name}`" for name in ophook_npu.__all__ if name in ophook_npu.hooks.__all__)
        + ". It also has `OphookError`, which every refusal is: "
        + plain(inspect.getdoc(ophook_npu.OphookError) or "").split("\n\n")[0],
    ]
    for package in modules():
        module = import_module(f"ophook_npu.{package}")
        lines += [f"## ophook_npu.{package}", plain(inspect.cleandoc(module.__doc__ or ""))]
        for name in module.__all__:
            value = getattr(module, name)
            lines.append(f"### {package}.{name}")
            raised = inspect.isclass(value) and issubclass(value, BaseException)
            if callable(value) and not raised and not (package == "ops" and name in ophook_npu.ops.shipped()):
                lines.append(f"```py\n{name}{signature(value)}\n```")
            lines.append(rendered(description(package, name, value)))
            if inspect.isclass(value):
                rows = [
                    f"| `{one}{call}` | {cell(inspect.getdoc(what) or '')} |"
                    for one, what, call in sorted(members(value))
                ]
                if rows:
                    lines.append("\n".join(["| method or property | |", "|---|---|", *rows]))
    return "\n\n".join(line for line in lines if line) + "\n"


def cell(text: str) -> str:
    """A docstring's first paragraph, or a help text, inside a table."""
    return plain(text).split("\n\n")[0].replace("|", "\\|")


def usage(command: Any, context: Any) -> str:
    """What follows the command's name."""
    if isinstance(command, ProgramCommand):
        return " ".join(command.collect_usage_pieces(context))
    given = [one for one in command.params if one.param_type_name == "argument"]
    words = [one.name.upper() + "..." * (one.nargs < 0) for one in given]
    more = ["COMMAND", "[ARGS]..."] if hasattr(command, "list_commands") else []
    return " ".join(
        ["[OPTIONS]", *(w if one.required else f"[{w}]" for one, w in zip(given, words, strict=True)), *more]
    )


def shown(command: Any, path: str) -> list[str]:
    """A command: how it is called, what it does, arguments and options."""
    context = command.make_context(path, [], resilient_parsing=True)
    lines = [f"{'#' * (len(path.split()))} {path}" if path != "ophook-npu" else ""]
    lines += [f"```text\n{path} {usage(command, context)}\n```", plain(inspect.cleandoc(command.help or ""))]
    rows = []
    for one in command.get_params(context):
        if getattr(one, "hidden", False) or "--help" in one.opts:
            continue
        names = ", ".join(f"`{name}`" for name in (*one.opts, *one.secondary_opts))
        if one.param_type_name == "argument":
            names = f"`{one.name.upper()}`"
        default = one.default
        given = (
            default is not None and default is not False and default != () and not callable(default) and default != ""
        )
        if given and default is not True:
            told = f" (default: `{'python' if default == sys.executable else default}`)"  # the one that runs it
        else:
            told = " (required)" if one.required and one.param_type_name == "option" else ""
        rows.append(f"| {names} | {cell(getattr(one, 'help', None) or '')}{told} |")
    if rows:
        lines.append("\n".join(["| | |", "|---|---|", *rows]))
    for name in command.list_commands(context) if hasattr(command, "list_commands") else ():
        lines += shown(command.get_command(context, name), f"{path} {name}")
    return [line for line in lines if line]


def commands() -> str:
    import typer

    cli.register(cli.app)
    group = typer.main.get_command(cli.app)
    return (
        "\n\n".join(
            [
                "# Commands",
                _NOTE,
                "What `ophook-npu COMMAND --help` prints. [reference.md](reference.md) has the same in Python.",
                *shown(group, "ophook-npu"),
            ]
        )
        + "\n"
    )


if __name__ == "__main__":
    for page, text in ((REFERENCE, reference()), (COMMANDS, commands())):
        page.write_text(text, encoding="utf-8")
        print(page.relative_to(ROOT))
