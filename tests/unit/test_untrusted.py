"""What is read from files that somebody else may have made: text for terminals and pages, digests, profiles."""

from __future__ import annotations

import copy
import json
import os
import unicodedata
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ophook_npu import OphookError, untrusted
from ophook_npu.observe import align
from ophook_npu.observe.pages import parts
from ophook_npu.observe.profile import read_baseline
from ophook_npu.untrusted import Wrong, shown

HOSTILE = [
    "\x1b[2J\x1b]0;owned\x07",
    "\x9b31m",
    "\r\x1b[Aall agree",
    "\b\b\b",
    "[link=http://example.org]x[/link]",
    "[/]",
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "' onmouseover='alert(1)",
    '" onmouseover="alert(1)',
    "\ud800",
    "\u202egnp.exe",
    "\u2028",
    "\0",
]
anything = st.text(st.characters(), max_size=40)  # surrogates included


@given(anything)
def test_nothing_moves_the_cursor(text: str) -> None:
    said = shown(text)
    hidden = {"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"}
    assert not {c for c in said if unicodedata.category(c) in hidden} - {"\n", "\t"}
    said.encode()
    if text.isprintable():
        assert said == text


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, tuple[str, ...]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, tuple(name for name, _ in attrs)))


def page(text: str) -> str:
    rows = [[text, (1.0, text)], ["b", (2.0, "c")]]
    return parts.page(
        text,
        text,
        [(text, text), ("x", text, "bad")],
        [
            parts.verdict(text, True),
            parts.table(text, [text, text], rows, share=1, aside=text),
            parts.bars(text, [(text, 1.0, text)], text),
            parts.strip(text, [(text, 1.0), ("b", 2.0)], text),
            parts.course(text, [(1, 1.0, True, text), (2, 2.0, False, text)], text),
            parts.pair(parts.panel(text, "", text)),
        ],
        text,
    )


@settings(max_examples=50, deadline=None)
@given(st.one_of(st.sampled_from(HOSTILE), anything).filter(bool))
def test_text_in_a_page_is_text(text: str) -> None:
    honest, hostile = Tags(), Tags()
    honest.feed(page("honest"))
    written = page(text)
    hostile.feed(written)
    written.encode()
    assert hostile.found == honest.found


# ---- digests ---------------------------------------------------------------------------------------------------------

FIGURES = {"shape": [2, 3], "dtype": "float32", "norm": 1.0, "mean": 0.5, "weighted": float("nan"), "bits": 3}
ROW = {
    "n": 1, "op": "aten::mm", "phase": "forward", "module": "a.b", "random": False, "node": "graph 0: mm",
    "results": [FIGURES], "inputs": [FIGURES],
}  # fmt: skip


def written(path: Path, *rows: Any) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_an_honest_row_is_read(tmp_path: Path) -> None:
    a = written(tmp_path / "a", ROW, ROW | {"inputs": None})
    assert align(a, a).pairs == 2 and align(a, a).differing == 0


@pytest.mark.parametrize("field", [*ROW, *(("results", 0, name) for name in FIGURES)], ids=str)
@pytest.mark.parametrize(
    "junk",
    [None, [], {}, [[]], "x", -1, 1 << 70, 10**400, 0.5, True, [10**18, 10**18], [-1], [0] * 65, [{}]],
    ids=lambda junk: repr(junk)[:12],
)
def test_a_row_is_a_row_or_is_refused(field: Any, junk: Any, tmp_path: Path) -> None:
    row = copy.deepcopy(ROW)
    inside: Any = row
    *way, last = field if isinstance(field, tuple) else (field,)
    for key in way:
        inside = inside[key]
    inside[last] = junk
    a, b = written(tmp_path / "a", row), written(tmp_path / "b", ROW)
    try:
        found = align(a, b)
    except OphookError as error:
        assert f"{a}:1 is not a row of a digest" in str(error)
        return
    found.report()
    found.html(tmp_path / "page.html")
    found.to_json()


@pytest.mark.parametrize("text", ["[" * 10_000, "{}", "[]", "null", '{"n": 1, "n": 1}', "9" * 5000, "x" * (5 << 20)])
def test_lines_that_are_no_rows(text: str, tmp_path: Path) -> None:
    (tmp_path / "a").write_text(text)
    with pytest.raises(OphookError, match=r"a:1"):
        align(tmp_path / "a", tmp_path / "a")


def test_align_prints_nothing_raw(tmp_path: Path, run_python: Any) -> None:
    rows, others = [], []
    for hostile in HOSTILE:
        apart = copy.deepcopy(ROW) | {"module": hostile, "node": hostile}
        apart["results"][0]["norm"] = 7.0  # type: ignore[index]
        rows += [ROW, copy.deepcopy(ROW) | {"op": hostile, "module": hostile, "node": hostile}]
        others += [apart]
    a, b = written(tmp_path / "a", *rows), written(tmp_path / "b", *others)
    done = run_python("-m", "ophook_npu", "align", str(b), str(a), "--html", str(tmp_path / "page.html"))
    assert done.returncode == 1, done.stderr
    for hostile in HOSTILE:
        assert shown(hostile) in done.stdout
    assert not {c for c in done.stdout + done.stderr if unicodedata.category(c) in ("Cc", "Cf", "Zl")} - {"\n"}
    assert "<img" not in (tmp_path / "page.html").read_text()


# ---- profiles, errors, documents -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "document",
    [[], {}, {"by_operator": 1, "total_us": 1}, {"by_operator": [{}], "total_us": 1},
     {"by_operator": [], "total_us": "x"},
     {"by_operator": [{"name": "x", "calls": -1, "total": 1}], "total_us": 1},
     {"by_operator": [{"name": "x", "calls": 1, "total": 10**400}], "total_us": 1}],
)  # fmt: skip
def test_a_baseline_is_a_profile_or_is_refused(document: Any, tmp_path: Path) -> None:
    path = tmp_path / "profile.json"
    path.write_text(json.dumps(document))
    with pytest.raises(OphookError, match="the baseline is no profile"):
        read_baseline(path)


def test_an_errors_text_reaches_the_terminal_in_plain(run_python: Any) -> None:
    name = "\x1b]0;owned\x07[bold]x.json"
    done = run_python("-m", "ophook_npu", "replay", name)
    assert done.returncode == 2
    assert r"\x1b]0;owned\x07[bold]x.json" in done.stderr and "\x1b" not in done.stderr and "\x07" not in done.stderr


def test_files_that_are_none(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path, says in (
        (tmp_path / "pipe", "no regular file"),
        (tmp_path, "no regular file"),
        (tmp_path / "no", "cannot be read"),
    ):
        with pytest.raises(OphookError, match=says):
            untrusted.content(path, "here")
    (tmp_path / "large").write_bytes(b"12345")
    with pytest.raises(OphookError, match="has 5 bytes; allowed: at most 4"):
        untrusted.content(tmp_path / "large", "here", 4)


@pytest.mark.parametrize(
    "path", ["", "/etc/passwd", "..", "a/../b", "./a", "a//b", "a/", ".", "a\nb", "a\x00b", 1, None, "\u202ea"]
)
def test_paths_outside_a_tree(path: Any) -> None:
    with pytest.raises(Wrong):
        untrusted.below(path, "path")
