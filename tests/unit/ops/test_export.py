"""What is exported, and that the files in this repository are what the declarations export."""

import json
from pathlib import Path

import pytest

from ophook_npu.errors import OphookError
from ophook_npu.ops import _OPERATORS, declaration
from ophook_npu.ops.export import ascendc, files, ge, write
from ophook_npu.patch.spec import load_operator

ROOT = Path(__file__).resolve().parents[3]
PATCH = ROOT / "op_plugin_patch"
VENDOR = ROOT / "ophook_npu" / "csrc" / "vendor"
NPU = [name for name in _OPERATORS if name.startswith("npu_")]
# Written by hand, because they hold the tiling, which no declaration says; what they take from the declaration is
# below.
BY_HAND = {"ascendc/op_host/add_custom.cpp", "ascendc/op_host/add_custom_tiling.h"}
# For who has no project of their own: where there is one, its inference serves the graph engine.
NOT_HERE = {"ascendc/op_proto/add_custom_proto.cpp"}


def test_op_plugin_patch_is_the_exported_result() -> None:
    for name, text in files(declaration("npu_add_custom")).items():
        if name not in BY_HAND | NOT_HERE:
            assert (PATCH / name).read_text() == text, f"{name} differs: ophook-npu op export npu_add_custom --out …"


@pytest.mark.parametrize("name", NPU)
def test_the_host_side_by_hand_declares_what_is_exported(name: str) -> None:
    op = declaration(name)
    host = (VENDOR / "op_host" / f"{ge.file_stem(op)}.cpp").read_text()
    assert ascendc.op_def(op) in host
    assert "#error" not in host and "static ge::graphStatus TilingFunc" in host
    assert (VENDOR / "op_kernel" / f"{ge.file_stem(op)}.cpp").is_file()


def test_the_project_of_add_custom_is_the_packages_own() -> None:
    for folder in ("op_host", "op_kernel"):
        for path in (PATCH / "ascendc" / folder).iterdir():
            assert path.is_symlink() and path.resolve() == VENDOR / folder / path.name


@pytest.mark.parametrize("name", NPU)
def test_exported_files_can_be_patched_into_op_plugin(name: str, tmp_path: Path) -> None:
    op = declaration(name)
    paths = write(op, tmp_path)
    assert sorted(str(p.relative_to(tmp_path)) for p in paths) == sorted(files(op))
    loaded = load_operator(tmp_path)
    assert loaded.name == op.name and loaded.signature == op.schema.split("::")[1]
    project = json.loads((tmp_path / "ascendc" / f"{ge.file_stem(op)}.json").read_text())[0]
    assert project["op"] == op.ge and [i["name"] for i in project["input_desc"]] == list(op.tensors)
    widths = {len(d["type"]) for d in project["input_desc"] + project["output_desc"]}
    assert len(widths) == 1  # one column for each combination of dtypes
    assert [a["name"] for a in project.get("attr", [])] == list(op.ge_attributes)


def test_entry_for_a_version() -> None:
    entry = files(declaration("npu_add_custom"), "2.7.1")["op_plugin_functions.yaml"]
    assert "op_api: [v2.7, newest]" in entry
    with pytest.raises(OphookError, match=r"'newest' is no version of torch_npu; allowed: such as 2\.13"):
        files(declaration("npu_add_custom"), "newest")


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    op = declaration("npu_swiglu_custom")
    write(op, tmp_path)
    write(op, tmp_path)  # the same again is no loss
    (tmp_path / "op_plugin_functions.yaml").write_text("mine\n")
    with pytest.raises(OphookError, match="is there with other content"):
        write(op, tmp_path)


def test_what_has_no_c_plus_plus_form_is_refused() -> None:
    with pytest.raises(OphookError, match="it has no GE type and no aclnn function"):
        files(declaration("crop"))
