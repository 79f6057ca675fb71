"""Reports are whole and well-formed by themselves: nothing from elsewhere, nothing unescaped, every figure in place."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from programs import mlp, step, transformer, transformer_step

from ophook_npu import hook, observe, original
from ophook_npu.observe.pages import parts

VOID = frozenset({"meta", "input", "br", "line"})
OUTSIDE = re.compile(r"""\b(src|href|srcset|action)\s*=|url\(|@import|https?:|//cdn|<link|<iframe|\bfetch\(|import\(""")


class Checked(HTMLParser):
    """Every element that is opened is closed, in order; every table row has a cell for each head."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.text, self.widths, self.tables = [], [], [], []

    def handle_starttag(self, tag, attributes):
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append(0)
        elif tag in ("td", "th"):
            self.tables[-1][-1] += 1

    def handle_startendtag(self, tag, attributes):
        assert tag in VOID

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("style", "script"):
            self.text.append(data)


def check(text):
    assert text.startswith("<!doctype html>") and not OUTSIDE.search(text), OUTSIDE.search(text)
    page = Checked()
    page.feed(text)
    page.close()
    assert page.open == []
    assert all(len(set(rows)) == 1 for rows in page.tables if rows), page.tables
    return page


@pytest.fixture
def written(tmp_path):
    def write(observer, title="train.py"):
        path = tmp_path / "report.html"
        observer.html(path, title=title)
        return path.read_text(encoding="utf-8")

    return write


@pytest.mark.parametrize(("make", "run"), [(mlp, step), (transformer, transformer_step)])
def test_profile(make, run, written):
    model = make()
    with observe.Profile(by_module=True) as profile:
        run(model)
    page = check(written(profile, "<script>alert(1)</script> & co"))
    text = " ".join(page.text)
    assert "<script>alert(1)</script> & co" in text  # as text, not as an element
    for part in ("Where the host time goes", "Self time by module", "FLOP by operator", "By shape", profile.how):
        assert part in text
    assert {row.name for row in profile.rows()} <= set(page.text)


@pytest.mark.parametrize("drift", [True, False])
def test_compare(drift, written):
    model = transformer()
    with hook("aten::native_layer_norm", replace=shifted), observe.Compare(drift=drift) as compared:
        transformer_step(model)
    text = written(compared)
    page = check(text)
    words = " ".join(page.text)
    assert "First divergence: call" in words and "aten::native_layer_norm" in words
    assert ("Accumulated error is out of tolerance" in words) == drift == ("drift" in page.text)
    assert text.count("<tr class=bad>") >= compared.failed
    assert "test_html_pages" not in words  # where the operator is called from: the model, not this test
    assert "modeling_gpt2.py:" in words


def shifted(*args):
    out, *rest = original()(*args)
    return (out + 1e-2, *rest)


def test_a_good_comparison_says_so_and_an_empty_one_does_not(written):
    with observe.Compare() as compared:
        step(mlp())
    assert "Every compared result is within tolerance." in check(written(compared)).text
    nothing = observe.Compare()
    assert "Nothing was compared." in check(written(nothing)).text


def test_two_runs(written):
    with observe.Digest(inputs=True) as one:
        step(mlp())
    with hook("aten::relu", replace=lambda x: original()(x) + 0.1), observe.Digest(inputs=True) as other:
        step(mlp())
    page = check(written(observe.align(one, other)))
    words = " ".join(page.text)
    assert "First divergence: aten::relu" in words and "Pairs that differ though their inputs agree" in words


def test_a_chart_copes_with_infinities_and_with_nothing():
    points = [(1, 1e-7, False, "a"), (2, float("inf"), True, "b"), (3, 0.0, False, "c")]
    assert "<circle" in parts.course("errors", points) and parts.course("errors", points[:1]) == ""
    assert parts.bars("none", []) == "" and parts.strip("none", []) == ""
    check(parts.page("Kind", "title", [("a", "1")], [parts.table("t", ["x"], [])], "how"))


def test_this_check_can_fail():
    with pytest.raises(AssertionError):
        check('<!doctype html><html><img src="x"></html>')
    with pytest.raises(AssertionError):
        check("<!doctype html><html><p></html>")
    with pytest.raises(AssertionError):
        check("<!doctype html><html><table><tr><th>a</th></tr><tr></tr></table></html>")
