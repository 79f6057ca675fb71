"""``atc --singleop``: what its JSON files may say, what their models are called, and the `.om` file."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest

from ophook_npu.sim.atc.errors import AtcError
from ophook_npu.sim.atc.om import FileKind, packed
from ophook_npu.sim.atc.single import SingleOperator, operators


def nd(*shape: int, type: str = "int32", **more: Any) -> dict[str, Any]:
    return {"format": "ND", "shape": list(shape), "type": type, **more}


def add(**more: Any) -> dict[str, Any]:
    return {"op": "Add", "input_desc": [nd(3, 3), nd(3, 3)], "output_desc": [nd(3, 3)], **more}


def read(tmp_path: Path, document: Any) -> list[SingleOperator]:
    file = tmp_path / "operators.json"
    file.write_text(document if isinstance(document, str) else json.dumps(document))
    return operators(file)


def refused(tmp_path: Path, document: Any) -> str:
    with pytest.raises(AtcError) as error:
        read(tmp_path, document)
    assert str(error.value).startswith(f"{error.value.code}: ")
    return str(error.value)


@pytest.mark.parametrize(
    ("document", "name"),
    [
        (add(), "0_Add_3_2_3_3_3_2_3_3_3_2_3_3.om"),  # the page's example
        (add(name="add"), "add.om"),
        (add(name="a/b"), "0_Add_3_2_3_3_3_2_3_3_3_2_3_3.om"),  # no name of a file
        (add(name=".."), "0_Add_3_2_3_3_3_2_3_3_3_2_3_3.om"),
        (add(name="x" * 200), "x" * 128 + ".om"),
        (add(input_desc=[nd(), nd(-1, 2, shape_range=[[1, -1]])]), "0_Add_3_2_3_2_-1_2_3_2_3_3.om"),
        (add(input_desc=[nd(2), {"format": "RESERVED", "shape": [], "type": "UNDEFINED"}]),
         "0_Add_3_2_2_28_40_3_2_3_3.om"),
    ],
)  # fmt: skip
def test_the_name_of_a_model(tmp_path: Path, document: Any, name: str) -> None:
    (found,) = read(tmp_path, [document])
    assert found.file_name(0) == name


def test_what_an_operator_is_written_as(tmp_path: Path) -> None:
    blocks = {"format": "NC1HWC0", "shape": [8, 1, 16, 4, 16], "type": "float16"}
    attributes = [
        {"name": "flag", "type": "bool", "value": True},
        {"name": "n", "type": "int", "value": 3},
        {"name": "x", "type": "float", "value": 0.1},
        {"name": "mode", "type": "string", "value": "NC HW-"},
        {"name": "flags", "type": "list_bool", "value": [False, True]},
        {"name": "pads", "type": "list_int", "value": []},
        {"name": "reals", "type": "list_float", "value": [1, -0.5]},
        {"name": "texts", "type": "list_string", "value": ["", "a,b"]},
        {"name": "lists", "type": "list_list_int", "value": [[1, 2], [], [3]]},
        {"name": "dst", "type": "data_type", "value": "DT_FLOAT16"},
        {"name": "src", "type": "data_type", "value": 3},
    ]
    inputs = [
        nd(-1, 16, shape_range=[[0, 32]]),
        nd(2, type="float16", is_const=True, const_value=[1, 0.5]),
        {**blocks, "origin_format": "NCHW", "origin_shape": [8, 16, 16, 4]},
        nd(-2, dynamic_input="x"),
        {"format": "RESERVED", "shape": [], "type": "UNDEFINED"},
    ]
    (found,) = read(tmp_path, [add(input_desc=inputs, attr=attributes)])
    constant = struct.pack("<2e", 1, 0.5).hex()
    assert found.lines() == [
        ("type", "Add"),
        ("input", "3 2 -1,16 ranges:0:32,16:16"),
        ("input", f"1 2 2 const:{constant}"),
        ("input", "1 3 8,1,16,4,16 origin:0:8,16,16,4"),
        ("input", "3 2 -2 dynamic:x"),
        ("input", "-1 -1 -"),
        ("output", "3 2 3,3"),
        ("attribute", "flag bool 1"),
        ("attribute", "n int 3"),
        ("attribute", "x float 0.1"),
        ("attribute", "mode string NC%20HW%2d"),
        ("attribute", "flags bools 0,1"),
        ("attribute", "pads ints -"),
        ("attribute", "reals floats 1.0,-0.5"),
        ("attribute", "texts strings %,a%2cb"),
        ("attribute", "lists lists 1,2||3"),
        ("attribute", "dst dtype 1"),
        ("attribute", "src dtype 3"),
    ]


def test_an_entry_with_the_flag_is_for_those_behind_it(tmp_path: Path) -> None:
    found = read(tmp_path, [add(), {"compile_flag": 1}, add(), add(name="last")])
    assert [one.generalized for one in found] == [False, True, True]
    assert found[1].file_name(1).startswith("1_Add_") and found[1].lines()[-1] == ("generalized", "1")


@pytest.mark.parametrize(
    ("document", "code", "says"),
    [
        ("[{", "E10025", "is no JSON"),
        ([3], "E10026", "3 is no operator"),
        ([add(op="")], "E10026", "has no type"),
        ([add(output_desc=[nd(3, type="int33")])], "E10027", "'type' of output 0 of Add is 'int33'"),
        ([add(input_desc=[nd(3), {**nd(3), "format": "NZ"}])], "E10027", "'format' of input 1 of Add is 'NZ'"),
        ([add(input_desc=[{"format": "no", "shape": [], "type": "no"}])], "E10027", "'no' and 'no'; allowed: bool"),
        ([add(input_desc=[nd(3, type="fp16")])], "E10027", "'fp16'"),  # the page has it, CANN's check has not
        ([add(input_desc=[nd(3, origin_format="NZ")])], "E10027", "'origin_format' of input 0"),
        ([add(output_desc=[{"format": "RESERVED", "shape": [], "type": "UNDEFINED"}])], "E10027", "output 0"),
        ([add(attr=[{"name": "", "type": "int", "value": 1}])], "E10029", "has no name"),
        ([add(attr=[{"name": "n", "type": "tensor", "value": 1}])], "E10030", "type 'tensor'; allowed: bool"),
        ([add(attr=[{"name": "n", "type": "int"}])], "E10032", "attribute 'n' of Add has no 'value'"),
        ([add(attr=[{"name": "n", "type": "int", "value": "1"}])], "E10032", 'is "1", it has to be a number'),
        ([add(attr=[{"name": "n", "type": "list_int", "value": [[1]]}])], "E10032", "it has to be a number"),
        ([add(input_desc=[{"format": "ND", "type": "int32"}])], "E10032", "input 0 of Add has no 'shape'"),
        ([add(input_desc={"a": 1})], "E10032", "'input_desc' is"),
        ([add(input_desc=[nd(2, is_const=True, const_value=[1 << 40, 1])])], "E10032", "'const_value'"),
        ([add(input_desc=[nd(1, type="bool", is_const=True, const_value=[1])])], "E13006", "constants of type 'bool'"),
        ([add(input_desc=[nd(-1, 2)])], "E13014", "0 ranges for 1 unknown size in"),
        ([add(input_desc=[nd(3, shape_range=[[1, 2]])])], "E13014", "1 range for 0 unknown sizes"),
        ([add(input_desc=[nd(-1, shape_range=[[1]])])], "E13014", "a range is [1]"),
        ([add(input_desc=[nd(-2, 3)])], "E13014", "unknown rank is [-2]"),
        ([add(input_desc=[nd(-2, shape_range=[[1, 2]])])], "E13014", "has no 'shape_range'"),
    ],
)
def test_what_is_refused(tmp_path: Path, document: Any, code: str, says: str) -> None:
    told = refused(tmp_path, document)
    assert told.startswith(code) and says in told, told


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(AtcError, match=r"E10023: --singleop=.*there is no such file"):
        operators(tmp_path / "none.json")
    (tmp_path / "folder").mkdir()
    with pytest.raises(AtcError, match="E10024"):
        operators(tmp_path / "folder")


@pytest.mark.parametrize("wrong", [("a=b", ""), ("", "x"), ("a", "b\nc")])
def test_what_could_not_be_read_back_is_not_written(wrong: tuple[str, str]) -> None:
    assert packed(FileKind.OPERATOR, [("type", "Add"), ("input", ""), ("input", "a=b")]).endswith(
        b"\ninput=\ninput=a=b\n"
    )
    with pytest.raises(ValueError, match="is no line"):
        packed(FileKind.MODEL, [wrong])
