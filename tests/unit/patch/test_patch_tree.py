"""apply, status and revert on small trees in every layout: what they write, and every refusal by name."""

from __future__ import annotations

import fcntl
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import op_plugin_trees as trees
import pytest
import yaml

from ophook_npu import patch
from ophook_npu.errors import OphookError
from ophook_npu.patch import journal, tree

NAME = "npu_add_custom"
SIGNATURE = "npu_add_custom(Tensor x, Tensor y) -> Tensor"


@pytest.fixture
def op(tmp_path: Path) -> patch.Operator:
    return patch.load_operator(trees.operator(tmp_path / "op"))


def yaml_of(root: Path) -> Path:
    return root / "op_plugin/config/op_plugin_functions.yaml"


def state(root: Path, op: patch.Operator, version: str = "2.13") -> str:
    (one,) = patch.status(root, [op], version)
    return one.state


LAYOUTS: dict[str, tuple[Callable[[Path], Path], str, str, str, dict[str, object]]] = {
    "v2r1": (trees.old, "2.1.0", "config/v2r1/", "ops/v2r1/opapi", {"func": SIGNATURE, "impl_ns": "op_api"}),
    "6.0.rc2": (
        lambda root: trees.old(root, decoy=True),
        "2.2",
        "config/v2r2/",
        "ops/v2r2/opapi",
        {"func": SIGNATURE, "impl_ns": "op_api"},
    ),
    "6.0.rc3": (
        lambda root: trees.current(root, derivatives=trees.RC3_DERIVATIVES),
        "2.12.0",
        "config/",
        "ops/opapi",
        {"func": SIGNATURE, "op_api": "all_version"},
    ),
    "today": (trees.current, "2.13.0+cpu", "config/", "ops/opapi", {"func": SIGNATURE, "op_api": "all_version"}),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout(tmp_path: Path, op: patch.Operator, layout: str) -> None:
    build, version, config, kernels, entry = LAYOUTS[layout]
    root = build(tmp_path / "op-plugin")
    before = trees.snapshot(root)
    assert state(root, op, version) == "not"

    (result,) = patch.apply(root, [op], version, autograd=True)
    assert result.changed
    assert state(root, op, version) == "patched"
    after = trees.snapshot(root)
    functions = f"op_plugin/{config}op_plugin_functions.yaml"
    derivatives = f"op_plugin/{config}derivatives.yaml"
    kernel = f"op_plugin/{kernels}/{NAME}Kernel.cpp"
    assert {path for path in after if after[path] != before.get(path)} == {functions, derivatives, kernel}
    old, new = (yaml.safe_load(files[functions][0]) for files in (before, after))
    assert new == {**old, "custom": [entry, *old["custom"]]}
    old, new = (yaml.safe_load(files[derivatives][0]) for files in (before, after))
    old_items, new_items = (d if isinstance(d, list) else d["backward"] for d in (old, new))
    assert new_items[1:] == old_items
    expected_version = {"v2r1": None, "6.0.rc2": None, "6.0.rc3": "v2.1, v2.12, v2.13", "today": "all_version"}[layout]
    assert new_items[0].get("version") == expected_version
    assert after[kernel][0] == op.kernels[0].read_bytes()

    (again,) = patch.apply(root, [op], version, autograd=True)
    assert not again.changed and again.diff == ""
    assert trees.snapshot(root) == after

    (reverted,) = patch.revert(root)
    assert reverted.changed and reverted.exact
    assert trees.snapshot(root) == before
    assert not journal.record_path(root).exists()
    assert patch.revert(root) == []


def test_the_decoy_of_6_0_rc2_is_left_alone(tmp_path: Path, op: patch.Operator) -> None:
    root = trees.old(tmp_path / "op-plugin", decoy=True)
    before = yaml_of(root).read_bytes()
    patch.apply(root, [op], "2.1")
    assert yaml_of(root).read_bytes() == before


def test_a_missing_kernel_folder_of_the_old_layout_comes_and_goes(tmp_path: Path, op: patch.Operator) -> None:
    root = trees.old(tmp_path / "op-plugin")
    (root / "op_plugin/ops/v2r2/opapi/FirstKernelNpuOpApi.cpp").unlink()
    (root / "op_plugin/ops/v2r2/opapi").rmdir()
    before = trees.snapshot(root)
    patch.apply(root, [op], "2.2")
    assert (root / f"op_plugin/ops/v2r2/opapi/{NAME}Kernel.cpp").is_file()
    patch.revert(root)
    assert trees.snapshot(root) == before


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2), (1, 2, 0)])
def test_several_operators_are_reverted_independently(tmp_path: Path, order: tuple[int, ...]) -> None:
    root = trees.current(tmp_path / "op-plugin")
    names = ["npu_a", "npu_b", "npu_c"]
    ops = [patch.load_operator(trees.operator(tmp_path / name, name)) for name in names]
    before = trees.snapshot(root)
    patch.apply(root, ops[:2], "2.13", autograd=True)
    patch.apply(root, ops[2:], "2.13")
    for index in order:
        (result,) = patch.revert(root, [names[index]])
        assert result.exact, "another operator of ours is no foreign change"
        states = {one.name: one.state for one in patch.status(root, ops, "2.13")}
        assert states[names[index]] == "not"
    assert trees.snapshot(root) == before


def test_structured_entry_needs_no_kernel(tmp_path: Path) -> None:
    keys = (
        "    op_api: v2.13\n    gen_opapi:\n      out:\n        size: x\n        dtype: x\n      exec: aclnnAddCustom\n"
    )
    op = patch.load_operator(trees.operator(tmp_path / "op", keys=keys, kernel=False))
    root = trees.current(tmp_path / "op-plugin")
    before = trees.snapshot(root)
    patch.apply(root, [op], "2.13")
    entry = yaml.safe_load(yaml_of(root).read_bytes())["custom"][0]
    assert entry["gen_opapi"] == {"out": {"size": "x", "dtype": "x"}, "exec": "aclnnAddCustom"}
    patch.revert(root)
    assert trees.snapshot(root) == before


def test_dry_run_shows_the_diff_and_writes_nothing(tmp_path: Path, op: patch.Operator) -> None:
    root = trees.current(tmp_path / "op-plugin")
    before = trees.snapshot(tmp_path)
    (result,) = patch.apply(root, [op], "2.13", dry_run=True)
    assert f"+  - func: {SIGNATURE}" in result.diff
    assert "+++ b/op_plugin/ops/opapi/npu_add_customKernel.cpp" in result.diff
    assert trees.snapshot(tmp_path) == before


def test_one_refused_operator_keeps_all_out(tmp_path: Path, op: patch.Operator) -> None:
    root = trees.current(tmp_path / "op-plugin")
    taken = patch.load_operator(trees.operator(tmp_path / "taken", "npu_first", signature="(Tensor x) -> Tensor"))
    before = trees.snapshot(root)
    with pytest.raises(OphookError, match="another signature"):
        patch.apply(root, [op, taken], "2.13")
    assert trees.snapshot(root) == before
    assert not journal.record_path(root).exists()


def test_line_ends_final_newline_and_mode_are_kept(tmp_path: Path, op: patch.Operator) -> None:
    text = trees.CURRENT.rstrip("\n").replace("\n", "\r\n")
    root = trees.current(tmp_path / "op-plugin", yaml=text)
    yaml_of(root).chmod(0o640)
    before = trees.snapshot(root)
    patch.apply(root, [op], "2.13")
    content = yaml_of(root).read_bytes()
    assert content.count(b"\n") == content.count(b"\r\n")
    assert not content.endswith(b"\n")
    assert yaml_of(root).stat().st_mode & 0o777 == 0o640
    patch.revert(root)
    assert trees.snapshot(root) == before


def test_a_header_at_the_very_end(tmp_path: Path, op: patch.Operator) -> None:
    root = trees.current(tmp_path / "op-plugin", yaml="all_version: [v2.13]\ncustom:  # none yet")
    before = trees.snapshot(root)
    other = patch.load_operator(trees.operator(tmp_path / "b", "npu_b"))
    patch.apply(root, [op, other], "2.13")
    assert [item["func"].split("(")[0] for item in yaml.safe_load(yaml_of(root).read_bytes())["custom"]] == [
        "npu_b",
        NAME,
    ]
    patch.revert(root, [NAME])
    patch.revert(root, ["npu_b"])
    assert trees.snapshot(root) == before


# ---- refusals: the tree -------------------------------------------------------------------------------------------


def refuse(root: Path, op: patch.Operator, text: str, version: str = "2.13", **options: bool) -> OphookError:
    """apply raises with ``text`` and leaves everything as it was."""
    before = trees.snapshot(root.parent)
    with pytest.raises(OphookError, match=re.escape(text)) as caught:
        patch.apply(root, [op], version, **options)
    assert trees.snapshot(root.parent) == before
    return caught.value


def test_version_not_in_all_version(tmp_path: Path, op: patch.Operator) -> None:
    root = trees.current(tmp_path / "op-plugin")
    error = refuse(root, op, "torch v2.14 is not in all_version", "2.14.0")
    assert error.allowed == "v2.1, v2.12, v2.13"
    root = trees.old(tmp_path / "old")
    error = refuse(root, op, "torch v2.7 is not in this tree", "2.7.1")
    assert error.allowed == "v2.1, v2.2"


@pytest.mark.parametrize("version", ["", "main", "2", "v2r1"])
def test_no_version(tmp_path: Path, op: patch.Operator, version: str) -> None:
    refuse(trees.current(tmp_path / "op-plugin"), op, f"'{version}' is no torch version", version)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda t: t.replace("custom:", "customs:"), "has no line 'custom:'"),
        (lambda t: t.replace("symint:", "custom:"), "has 2 lines 'custom:'"),
        (lambda t: t.replace("custom:\n", "custom: []\nrest:\n"), "has no line 'custom:'"),
        (lambda t: t.replace("custom:\n", "custom:\n  key: 1\nrest:\n"), "'custom:' in"),
        (lambda t: t.replace("    op_api: [v2.12", "\t\top_api: [v2.12"), "line 9 is indented with a tab"),
        (lambda t: t.replace("all_version: [v2.1, v2.12, v2.13]\n", ""), "has no list all_version"),
        (lambda t: "", "is no YAML mapping"),
        (lambda t: t.replace("custom:", "cust\x00om:"), "is not valid YAML"),
    ],
)
def test_damaged_yaml(tmp_path: Path, op: patch.Operator, change: Callable[[str], str], text: str) -> None:
    refuse(trees.current(tmp_path / "op-plugin", yaml=change(trees.CURRENT)), op, text)


def test_another_signature_of_the_same_name(tmp_path: Path, op: patch.Operator) -> None:
    there = "npu_add_custom(Tensor x, Tensor y, *, Scalar alpha=1) -> Tensor"
    text = trees.CURRENT.replace("npu_first(Tensor self) -> Tensor", there)
    refuse(trees.current(tmp_path / "op-plugin", yaml=text), op, f"another signature of this name is there: {there}")


def test_duplicate_entry(tmp_path: Path, op: patch.Operator) -> None:
    text = trees.CURRENT.replace("npu_first(Tensor self) -> Tensor", SIGNATURE)
    root = trees.current(tmp_path / "op-plugin", yaml=text)
    (root / f"op_plugin/ops/opapi/{op.kernels[0].name}").write_bytes(op.kernels[0].read_bytes())
    error = refuse(root, op, "the entry is there already and was not put in by this program")
    assert "line 8" in str(error)
    assert state(root, op) == "foreign"


def test_entry_in_another_section(tmp_path: Path, op: patch.Operator) -> None:
    text = trees.CURRENT.replace("npu_third(Tensor self, SymInt n) -> Tensor", SIGNATURE)
    refuse(trees.current(tmp_path / "op-plugin", yaml=text), op, "the entry is in section 'symint:'")


def test_entry_without_kernel_in_the_tree(tmp_path: Path, op: patch.Operator) -> None:
    text = trees.CURRENT.replace("npu_first(Tensor self) -> Tensor", SIGNATURE)
    refuse(trees.current(tmp_path / "op-plugin", yaml=text), op, "entry without kernel")


def test_kernel_without_entry_in_the_tree(tmp_path: Path, op: patch.Operator) -> None:
    root = trees.current(tmp_path / "op-plugin")
    (root / f"op_plugin/ops/opapi/{op.kernels[0].name}").write_bytes(op.kernels[0].read_bytes())
    refuse(root, op, "kernel without entry")


def test_kernel_with_other_content(tmp_path: Path, op: patch.Operator) -> None:
    root = trees.current(tmp_path / "op-plugin")
    (root / f"op_plugin/ops/opapi/{op.kernels[0].name}").write_text("// mine\n")
    refuse(root, op, "a kernel with other content is at")


def test_read_only_file(tmp_path: Path, op: patch.Operator) -> None:
    root = trees.current(tmp_path / "op-plugin")
    yaml_of(root).chmod(0o444)
    error = refuse(root, op, "op_plugin_functions.yaml is read-only")
    assert error.todo is not None and error.todo.startswith("chmod u+w")


def test_read_only_folder(tmp_path: Path, op: patch.Operator) -> None:
    root = trees.current(tmp_path / "op-plugin")
    (root / "op_plugin/ops/opapi").chmod(0o555)
    try:
        refuse(root, op, "op_plugin/ops/opapi is not writable")
    finally:
        (root / "op_plugin/ops/opapi").chmod(0o755)


@pytest.mark.parametrize("which", ["op_plugin/config/op_plugin_functions.yaml", "op_plugin/ops/opapi", "gencode.sh"])
def test_symbolic_link(tmp_path: Path, op: patch.Operator, which: str) -> None:
    root = trees.current(tmp_path / "op-plugin")
    real = tmp_path / "elsewhere"
    (root / which).rename(real)
    (root / which).symlink_to(real)
    refuse(root, op, f"{root / which} is a symbolic link")


def test_kernel_target_is_a_link(tmp_path: Path, op: patch.Operator) -> None:
    root = trees.current(tmp_path / "op-plugin")
    (root / f"op_plugin/ops/opapi/{op.kernels[0].name}").symlink_to(tmp_path / "nowhere")
    with pytest.raises(OphookError, match="is a symbolic link"):
        patch.apply(root, [op], "2.13")


def test_missing_submodule_and_no_tree(tmp_path: Path, op: patch.Operator) -> None:
    empty = tmp_path / "op-plugin"
    empty.mkdir()
    refuse(empty, op, "is empty: the submodule is missing")
    (empty / ".git").write_text("gitdir: elsewhere\n")
    refuse(empty, op, "is empty: the submodule is missing")
    (empty / "README").write_text("x")
    refuse(empty, op, "is not an op-plugin tree")
    refuse(tmp_path / "none", op, "no folder")


def git(root: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *identity, "-C", str(root), *arguments], check=True, capture_output=True)


def test_dirty_submodule(tmp_path: Path, op: patch.Operator) -> None:
    root = trees.current(tmp_path / "op-plugin")
    git(root, "init", "-q")
    git(root, "add", ".")
    git(root, "commit", "-qm", "upstream")
    # What upstream's code generation leaves behind must not count.
    (root / "test").mkdir()
    (root / "test" / "unsupported_ops_info.yaml").write_text("generated\n")
    clean = yaml_of(root).read_text()
    yaml_of(root).write_text(clean.replace("# kept by hand", "# changed by hand"))
    refuse(root, op, "dirty submodule")
    before = trees.snapshot(root)
    patch.apply(root, [op], "2.13", allow_dirty=True)
    patch.revert(root)
    assert trees.snapshot(root) == before
    yaml_of(root).write_text(clean)
    patch.apply(root, [op], "2.13")
    other = patch.load_operator(trees.operator(tmp_path / "b", "npu_b"))
    assert patch.apply(root, [op, other], "2.13")[1].changed, "our own change is no dirt"


# ---- refusals: the operator ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda f: trees.operator(f, kernel=False), "entry without kernel"),
        (lambda f: (trees.operator(f) / "op_plugin_functions.yaml").unlink(), "kernel without entry"),
        (
            lambda f: (trees.operator(f) / f"{NAME}Kernel.cpp").write_text("at::Tensor npu_other() {\n}\n"),
            "kernel without entry: no *.cpp",
        ),
        (
            lambda f: trees.operator(f, keys="    op_api: all_version\n    gen_opapi:\n      exec: aclnnAddCustom\n"),
            "gen_opapi next to a kernel",
        ),
        (
            lambda f: trees.operator(f, kernel=False, keys="    gen_opapi:\n      exec: aclnnAddCustom\n"),
            "gen_opapi without op_api",
        ),
        (lambda f: trees.operator(f, keys="    op_api: all_version\n  - func: b() -> Tensor\n"), "has 2 entries"),
        (lambda f: trees.operator(f, signature="(Tensor x, Tensor y)"), "is no signature"),
        (lambda f: trees.operator(f, keys="    op_api: all_version\n    opapi: x\n"), "unknown keys opapi"),
        (
            lambda f: (trees.operator(f) / "derivatives.yaml").write_text(
                "- name: other(Tensor x) -> Tensor\n  x: grad\n"
            ),
            "derivatives.yaml has another signature",
        ),
        (lambda f: (trees.operator(f) / "op_plugin_functions.yaml").write_text("- func: [\n"), "is not valid YAML"),
    ],
)
def test_operator_folder(tmp_path: Path, make: Callable[[Path], object], text: str) -> None:
    make(tmp_path / "op")
    with pytest.raises(OphookError, match=re.escape(text)):
        patch.load_operator(tmp_path / "op")


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ("", "its op_api does not cover torch v2.13"),
        ("    op_api: v2.12\n", "its op_api does not cover torch v2.13"),
        ("    op_api: [v2.1, v2.12]\n", "its op_api does not cover torch v2.13"),
        ("    op_api: [v2.13]\n", "version range ['v2.13']"),
        ("    op_api: [v1.11, newest]\n", "version range ['v1.11', 'newest']"),
    ],
)
def test_version_key_that_upstream_drops_or_chokes_on(tmp_path: Path, keys: str, text: str) -> None:
    op = patch.load_operator(trees.operator(tmp_path / "op", keys=keys))
    refuse(trees.current(tmp_path / "op-plugin"), op, text)


@pytest.mark.parametrize("keys", ["    op_api: v2.13\n", "    op_api: v2.12, v2.13\n", "    op_api: [v2.12, newest]\n"])
def test_version_keys_that_work(tmp_path: Path, keys: str) -> None:
    op = patch.load_operator(trees.operator(tmp_path / "op", keys=keys))
    root = trees.current(tmp_path / "op-plugin")
    patch.apply(root, [op], "2.13")
    assert keys.strip() in yaml_of(root).read_text()


def test_structured_entry_for_an_old_tree(tmp_path: Path) -> None:
    keys = "    op_api: all_version\n    gen_opapi:\n      exec: aclnnAddCustom\n"
    op = patch.load_operator(trees.operator(tmp_path / "op", keys=keys, kernel=False))
    refuse(trees.old(tmp_path / "op-plugin"), op, "generates no structured kernels", "2.1")


def test_autograd_without_a_derivative(tmp_path: Path) -> None:
    op = patch.load_operator(trees.operator(tmp_path / "op", derivative=False))
    refuse(trees.current(tmp_path / "op-plugin"), op, "has no derivatives.yaml", autograd=True)


# ---- what others change after us ----------------------------------------------------------------------------------


def test_a_foreign_change_elsewhere_survives_revert(tmp_path: Path, op: patch.Operator) -> None:
    root = trees.current(tmp_path / "op-plugin")
    patch.apply(root, [op], "2.13")
    text = yaml_of(root).read_text()
    yaml_of(root).write_text(text.replace("# kept by hand", "# changed since"))
    (result,) = patch.revert(root)
    assert not result.exact and "are kept" in " ".join(result.notes)
    assert yaml_of(root).read_text() == trees.CURRENT.replace("# kept by hand", "# changed since")


def test_a_changed_entry_or_kernel_is_foreign_and_not_reverted(tmp_path: Path, op: patch.Operator) -> None:
    root = trees.current(tmp_path / "op-plugin")
    patch.apply(root, [op], "2.13")
    text = yaml_of(root).read_text()
    changed = f"{SIGNATURE}\n    op_api: v2.13"
    yaml_of(root).write_text(text.replace(f"{SIGNATURE}\n    op_api: all_version", changed))
    assert state(root, op) == "foreign"
    with pytest.raises(OphookError, match="was changed after it was applied"):
        patch.revert(root)
    yaml_of(root).write_text(text)
    kernel = root / f"op_plugin/ops/opapi/{op.kernels[0].name}"
    original = kernel.read_bytes()
    kernel.write_text("// edited in place\n")
    assert state(root, op) == "foreign"
    with pytest.raises(OphookError, match="was changed after it was applied"):
        patch.revert(root)
    with pytest.raises(OphookError, match="was changed after it was applied"):
        patch.apply(root, [op], "2.13")
    kernel.write_bytes(original)
    assert state(root, op) == "patched"


def test_a_new_version_of_the_kernel_needs_a_revert_first(tmp_path: Path, op: patch.Operator) -> None:
    root = trees.current(tmp_path / "op-plugin")
    patch.apply(root, [op], "2.13")
    op.kernels[0].write_bytes(op.kernels[0].read_bytes() + b"// better\n")
    with pytest.raises(OphookError, match="differs from what was applied"):
        patch.apply(root, [op], "2.13")
    patch.revert(root)
    assert patch.apply(root, [op], "2.13")[0].changed


def test_pieces_that_others_removed_come_back(tmp_path: Path, op: patch.Operator) -> None:
    root = trees.current(tmp_path / "op-plugin")
    before = trees.snapshot(root)
    patch.apply(root, [op], "2.13")
    after = trees.snapshot(root)
    yaml_of(root).write_text(trees.CURRENT)  # git checkout -- config
    assert state(root, op) == "partly"
    assert patch.apply(root, [op], "2.13")[0].changed
    assert trees.snapshot(root) == after
    (root / f"op_plugin/ops/opapi/{op.kernels[0].name}").unlink()
    assert state(root, op) == "partly"
    (result,) = patch.revert(root)
    assert "was gone already" in " ".join(result.notes)
    assert trees.snapshot(root) == before


def test_a_damaged_record_is_named(tmp_path: Path, op: patch.Operator) -> None:
    root = trees.current(tmp_path / "op-plugin")
    patch.apply(root, [op], "2.13")
    journal.record_path(root).write_text("{")
    with pytest.raises(OphookError, match=r"the record .* cannot be read"):
        patch.revert(root)


# ---- interruption and concurrency ---------------------------------------------------------------------------------


class Killed(BaseException):
    """Stands for a kill: nothing in the package catches it."""


@pytest.mark.parametrize("action", ["apply", "revert"])
@pytest.mark.parametrize("finish", ["apply", "revert"])
def test_interrupted_at_every_write(
    tmp_path: Path, op: patch.Operator, monkeypatch: pytest.MonkeyPatch, action: str, finish: str
) -> None:
    """After each possible kill no file is half-written, and apply finishes or revert undoes."""
    reached = 0
    real_replace, real_unlink = os.replace, Path.unlink
    for stop in range(20):
        root = trees.current(tmp_path / f"tree{stop}" / "op-plugin")
        before = trees.snapshot(root)
        wholes = {(content, mode) for content, mode in before.values()}
        patch.apply(root, [op], "2.13", autograd=True)
        after = trees.snapshot(root)
        wholes |= set(after.values())
        if action == "apply":
            patch.revert(root)
        left = stop

        def maybe_kill() -> None:
            nonlocal left
            if left == 0:
                raise Killed
            left -= 1

        def replace(source: Path, target: Path) -> None:
            maybe_kill()
            real_replace(source, target)

        def unlink(path: Path, missing_ok: bool = False) -> None:
            if path.suffix == ".cpp":
                maybe_kill()
            real_unlink(path, missing_ok=missing_ok)

        with monkeypatch.context() as patched:
            patched.setattr(os, "replace", replace)
            patched.setattr(Path, "unlink", unlink)
            try:
                if action == "apply":
                    patch.apply(root, [op], "2.13", autograd=True)
                else:
                    patch.revert(root)
            except Killed:
                reached += 1
            else:
                break
        for path, found in trees.snapshot(root).items():
            assert found in wholes, f"{path} is neither the old file nor the new one"
        if finish == "apply":
            patch.apply(root, [op], "2.13", autograd=True)
            assert trees.snapshot(root) == after
            patch.revert(root)
        else:
            patch.revert(root)
        assert trees.snapshot(root) == before
        assert not journal.record_path(root).exists()
    assert reached >= 4, "the loop must have interrupted every write"


def test_a_partly_applied_tree_says_so(tmp_path: Path, op: patch.Operator, monkeypatch: pytest.MonkeyPatch) -> None:
    root = trees.current(tmp_path / "op-plugin")
    real = journal.write

    def write(path: Path, content: bytes) -> None:
        if path.suffix == ".cpp":
            raise Killed
        real(path, content)

    monkeypatch.setattr(journal, "write", write)
    with pytest.raises(Killed):
        patch.apply(root, [op], "2.13")
    (one,) = patch.status(root, [op], "2.13")
    assert one.state == "partly"
    assert "interrupted" in one.details[0]


def test_what_a_killed_run_left_is_swept(tmp_path: Path, op: patch.Operator) -> None:
    root = trees.current(tmp_path / "op-plugin")
    left = yaml_of(root).with_name(".op_plugin_functions.yaml.ophook-tmp")
    left.write_text("half")
    patch.apply(root, [op], "2.13")
    assert not left.exists()


@pytest.mark.parametrize("call", [tree.apply, tree.revert])
def test_two_runs_at_once(tmp_path: Path, op: patch.Operator, call: Callable[..., object]) -> None:
    root = trees.current(tmp_path / "op-plugin")
    descriptor = os.open(root, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        with pytest.raises(OphookError, match="another run is working on"):
            call(root, [op], "2.13") if call is tree.apply else call(root)
    finally:
        os.close(descriptor)
    assert patch.apply(root, [op], "2.13")[0].changed


def test_paths_with_spaces_and_other_letters(tmp_path: Path) -> None:
    folder = tmp_path / "算子 目录's"
    op = patch.load_operator(trees.operator(folder / "mein Operator"))
    root = trees.current(folder / "op plugin")
    before = trees.snapshot(root)
    patch.apply(root, [op], "2.13")
    assert state(root, op) == "patched"
    patch.revert(root)
    assert trees.snapshot(root) == before
