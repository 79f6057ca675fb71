"""Over generated YAML: an insertion is the old document plus one entry, and apply then revert is the identity."""

from __future__ import annotations

import tempfile
from pathlib import Path

import op_plugin_trees as trees
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from ophook_npu import patch
from ophook_npu.errors import OphookError
from ophook_npu.patch import yamltext

names = st.from_regex(r"[a-z][a-z0-9_]{0,12}(\.[a-z]{1,5})?", fullmatch=True).filter(
    lambda n: not n.startswith("npu_x")
)
types = st.sampled_from(["Tensor", "Tensor?", "int[2]", "Scalar", "str", "bool[3]", "SymInt", "Tensor(a!)"])
defaults = st.sampled_from(["", "=None", "=1", '="BSND"', "=[]", "=1e-5", "='a: b'"])
comments = st.sampled_from(["", "", "", "  # by hand", "  # custom: not a header", "  #: 注释"])


@st.composite
def signatures(draw: st.DrawFn) -> str:
    count = draw(st.integers(0, 3))
    arguments = [f"{draw(types)} a{i}{draw(defaults)}" for i in range(count)]
    return f"{draw(names)}({', '.join(arguments)}) -> {draw(st.sampled_from(['Tensor', '(Tensor, Tensor)', '()']))}"


@st.composite
def sections(draw: st.DrawFn, header: str, indent: str) -> list[str]:
    lines = [f"{header}:{draw(comments)}"]
    blank = draw(st.booleans())
    for _ in range(draw(st.integers(0, 4))):
        signature = draw(signatures())
        quoted = f'"{signature}"' if draw(st.booleans()) and '"' not in signature else signature
        if ": " in signature or " #" in signature:
            quoted = "'" + signature.replace("'", "''") + "'"
        lines.append(f"{indent}- func: {quoted}{draw(comments)}")
        lines.append(
            f"{indent}  op_api: {draw(st.sampled_from(['all_version', 'v2.13', '[v2.1, newest]', 'v2.1, v2.13']))}"
        )
        if draw(st.booleans()):
            lines += [f"{indent}  gen_opapi:", f"{indent}    exec: aclnnX, a0, a1"]
        if draw(st.booleans()):
            lines.append(f"{indent}# a comment of its own")
        if blank:
            lines.append("")
    return lines


@st.composite
def documents(draw: st.DrawFn) -> bytes:
    indent = " " * draw(st.sampled_from([0, 2, 4]))
    lines = ["all_version: [v2.1, v2.12, v2.13]"]
    headers = draw(st.permutations(["official", "custom", "symint", "quant"]))
    for header in headers:
        lines += draw(sections(header, indent))
    end = draw(st.sampled_from(["\n", "\r\n"]))
    text = end.join(lines) + (end if draw(st.booleans()) else "")
    mark = "\ufeff" if draw(st.booleans()) and draw(st.booleans()) else ""
    return (mark + text).encode()


ENTRY = {"func": "npu_x(Tensor x, str y='a: b') -> Tensor", "op_api": ["v2.12", "newest"]}


@settings(max_examples=100, deadline=None)
@given(documents())
def test_insert_then_remove_is_the_identity(content: bytes) -> None:
    new, text = yamltext.insert(content, "custom", ENTRY, "file")
    old_document, new_document = yaml.safe_load(content), yaml.safe_load(new)
    assert new_document.pop("custom") == [ENTRY, *(old_document.pop("custom") or [])]
    assert new_document == old_document
    assert (b"\r\n" in new) == (b"\r\n" in content)
    assert (
        new.count(b"\n") - new.count(b"\r\n") == content.count(b"\n") - content.count(b"\r\n") or b"\r\n" not in content
    )
    assert yamltext.remove(new, text, "file") == content


@settings(max_examples=30, deadline=None)
@given(documents(), st.permutations(["npu_x", "npu_xy", "npu_xz"]), st.booleans())
def test_apply_twice_is_once_and_revert_restores(content: bytes, order: list[str], autograd: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = trees.current(Path(folder) / "op-plugin")
        (root / "op_plugin/config/op_plugin_functions.yaml").write_bytes(content)
        before = trees.snapshot(root)
        ops = [patch.load_operator(trees.operator(Path(folder) / name, name)) for name in order]
        patch.apply(root, ops, "2.13", autograd=autograd)
        after = trees.snapshot(root)
        assert not any(result.changed for result in patch.apply(root, ops, "2.13", autograd=autograd))
        assert trees.snapshot(root) == after
        for name in sorted(order):
            assert patch.revert(root, [name])[0].exact
        assert trees.snapshot(root) == before


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_are_refused_or_edited_right(junk: bytes) -> None:
    content = b"custom:\n" + junk
    try:
        new, text = yamltext.insert(content, "custom", ENTRY, "file")
    except OphookError:
        return
    old_document, new_document = yaml.safe_load(content), yaml.safe_load(new)
    assert new_document == {**old_document, "custom": [ENTRY, *(old_document["custom"] or [])]}
    assert yamltext.remove(new, text, "file") == content
