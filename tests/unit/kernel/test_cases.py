"""Inputs that a user gives to `kernel check`: what is wrong with a file is told with the file and its line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ophook_npu.errors import OphookError
from ophook_npu.kernel.cases import Case, cases
from ophook_npu.kernel.project import OpParameter, Prototype

PROTOTYPE = Prototype("Nothing", (OpParameter("x", 2, (0,)),), (OpParameter("y", 2, (0,)),), (), (), True)


def of(path: Path, text: str) -> list[Case]:
    path.write_text(text)
    return cases(PROTOTYPE, [path])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1", "has no function inputs()"),
        ("def inputs(:", r"does not run: SyntaxError: invalid syntax \(line 1\)"),
        ("def inputs():\n    return 1 / 0", r"does not run: ZeroDivisionError: division by zero \(line 2\)"),
        ("def inputs():\n    return []", "gives nothing to run"),
        ("import numpy\ndef inputs():\n    return [numpy.ones(3)]", "is of type ndarray; allowed: .*list of tuples"),
        ("def inputs():\n    return 3", "does not run: TypeError"),
    ],
)
def test_a_file_of_inputs_that_is_wrong(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(OphookError, match=message) as caught:
        of(tmp_path / "meine Eingänge.py", text)
    assert "meine Eingänge.py" in caught.value.what


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("raise KeyError('z')", r"fails: KeyError: 'z' \(line 4\)"),
        ("return 3", "gives int; allowed: an array or a tensor"),
    ],
)
def test_a_reference_that_is_wrong(tmp_path: Path, body: str, message: str) -> None:
    (case,) = of(tmp_path / "given.py", f"def inputs():\n    return [(1,)]\ndef reference(x):\n    {body}\n")
    assert case.expected
    with pytest.raises(OphookError, match=message):
        case.expected()


def test_arrays_that_cannot_be_read(tmp_path: Path) -> None:
    objects, text = tmp_path / "objects.npy", tmp_path / "text.npy"
    np.save(objects, np.array([object()]), allow_pickle=True)
    text.write_text("1 2 3")
    for path in (objects, text):
        with pytest.raises(OphookError, match=rf"{path.name} cannot be read"):
            cases(PROTOTYPE, [path])


def test_choices_of_data_types() -> None:
    """Lists go by columns, a DataTypeList goes with all that others have, and Follow takes what x has."""
    x, n = OpParameter("x", 2, (0, 1, 27), listed=True), OpParameter("n", 2, (9, 3), listed=True)
    z = OpParameter("z", 2, x.dtypes, follows="x")
    found = Prototype("Three", (x, n), (z,), (), (), True).combinations()
    assert [tuple(choice.values()) for choice in found] == [(d, i, d) for d in (0, 1, 27) for i in (9, 3)]
    y = OpParameter("y", 2, (0, 1))
    found = Prototype("Two", (y, n), (y,), (), (), True).combinations()
    assert found == [{"y": d, "n": i} for d in (0, 1) for i in (9, 3)]
