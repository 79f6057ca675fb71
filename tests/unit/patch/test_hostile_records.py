"""A tree comes with the record of what was done to it, and an operator with its folder: both may be made to harm."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import op_plugin_trees as trees
import pytest

from ophook_npu import OphookError, patch
from ophook_npu.patch import journal

TORCH = "2.13.0"
RECORD = "the record .* cannot be read"


@pytest.fixture
def applied(tmp_path: Path) -> tuple[Path, dict[str, Any]]:
    root = trees.current(tmp_path / "op-plugin")
    patch.apply(root, [patch.load_operator(trees.operator(tmp_path / "op"))], TORCH)
    record = json.loads(journal.record_path(root).read_text())
    assert list(record["operators"]) == ["npu_add_custom"]
    return root, record


def test_an_honest_record_reverts(applied: tuple[Path, dict[str, Any]]) -> None:
    root, _ = applied
    (result,) = patch.revert(root)
    assert result.changed and result.exact


PATHS = [
    "../victim", "../../victim", "/etc/passwd", ".git/config", "gencode.sh", "op_plugin/config/../../../victim",
    "op_plugin/config/op_plugin_functions.yaml/../../../../victim", "./op_plugin/config/op_plugin_functions.yaml",
    "op_plugin/ops/opapi/sub/x.cpp", "op_plugin/ops/opapi/x.cpp\n", "op_plugin/ops/opapi/CMakeLists.txt",
    "", ".", 1, None, [],
]  # fmt: skip


@pytest.mark.parametrize("path", PATHS, ids=repr)
@pytest.mark.parametrize("part", ["insertions", "added", "folders"])
def test_paths_that_are_not_the_programs_to_change(
    part: str, path: Any, applied: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    root, record = applied
    (tmp_path / "victim").write_text("mine")
    mine = record["operators"]["npu_add_custom"]
    if part == "folders":
        mine["folders"] = [path]
    else:
        mine[part][0]["path"] = path
        if part == "added":
            mine[part][0]["sha256"] = journal.digest(b"mine")
    journal.record_path(root).write_text(json.dumps(record))
    before = trees.snapshot(tmp_path)
    for use in (patch.revert, lambda tree: patch.status(tree, [], TORCH)):
        with pytest.raises(OphookError, match=RECORD):
            use(root)
    assert trees.snapshot(tmp_path) == before


def test_links_on_the_way_are_not_followed(applied: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    root, _ = applied
    kernels, elsewhere = root / "op_plugin" / "ops" / "opapi", tmp_path / "elsewhere"
    kernels.rename(elsewhere)
    kernels.symlink_to(elsewhere)
    held = sorted(path.name for path in elsewhere.iterdir())
    with pytest.raises(OphookError, match="symbolic link"):
        patch.revert(root)
    assert sorted(path.name for path in elsewhere.iterdir()) == held


def test_a_record_that_is_a_link_is_not_read(applied: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    root, _ = applied
    path = journal.record_path(root)
    path.rename(tmp_path / "moved")
    path.symlink_to(tmp_path / "moved")
    with pytest.raises(OphookError, match="is a symbolic link"):
        patch.revert(root)


def test_the_text_to_take_out_is_the_operators_entry(applied: tuple[Path, dict[str, Any]]) -> None:
    root, record = applied
    yaml = root / record["operators"]["npu_add_custom"]["insertions"][0]["path"]
    before = yaml.read_bytes()
    for text in ("all_version:", before.decode(), "", "- func: other(Tensor x) -> Tensor", "a: &a [*a]", "[" * 5000):
        changed = copy.deepcopy(record)
        changed["operators"]["npu_add_custom"]["insertions"][0]["text"] = text
        journal.record_path(root).write_text(json.dumps(changed))
        with pytest.raises(OphookError, match="is not one entry called npu_add_custom"):
            patch.revert(root)
    assert yaml.read_bytes() == before


@pytest.mark.parametrize("junk", [None, 1, "x", [], {}, True, [[]], {"format": 1}, "\x1b[2J"], ids=repr)
def test_every_part_of_another_type_is_refused(junk: Any, applied: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    root, record = applied
    before = trees.snapshot(root)

    def places(value: Any, way: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        return [way, *(place for key, part in inside for place in places(part, (*way, key)))]

    for way in places(record):
        changed: Any = copy.deepcopy(record)
        inside = changed
        for key in way[:-1]:
            inside = inside[key]
        if not way:
            changed = junk
        else:
            inside[way[-1]] = junk
        journal.record_path(root).write_text(json.dumps(changed))
        try:
            found = patch.status(root, [], TORCH)
        except OphookError:
            continue
        # Taken: an empty list of pieces, a signature (never a path of it) or a section as text.
        assert isinstance(found, list)
    assert trees.snapshot(root) == before


def test_folders_of_operators(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("at::Tensor npu_add_custom(const at::Tensor& x) { return x; }")
    folder = trees.operator(tmp_path / "op")
    kernel = next(folder.glob("*.cpp"))
    content = kernel.read_text()
    kernel.unlink()
    kernel.symlink_to(secret)
    with pytest.raises(OphookError, match="is a symbolic link"):
        patch.load_operator(folder)
    kernel.unlink()
    (folder / "x\x1b[2J;touch y.cpp").write_text(content)
    with pytest.raises(OphookError, match="a name of letters"):
        patch.load_operator(folder)


@pytest.mark.parametrize(
    "more",
    [
        "    tags: &a [x, *a]\n",
        "    a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n    b: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a, *a]\n"
        "    c: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b, *b]\n    tags: [*c, *c, *c, *c, *c, *c, *c, *c, *c, *c]\n",
        "    tags: " + "[" * 3000 + "]" * 3000 + "\n",
        "    tags: !!python/object/apply:os.system ['touch canary']\n",
        "    tags: 2020-01-01\n",
    ],
)
def test_yaml_that_is_more_than_it_seems(more: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = trees.operator(tmp_path / "op")
    entry = folder / "op_plugin_functions.yaml"
    entry.write_text(entry.read_text().rstrip("\n") + "\n" + more)
    with pytest.raises(OphookError, match=r"not valid YAML|texts, numbers, and not too many"):
        patch.load_operator(folder)
    assert not (tmp_path / "canary").exists()
