"""Captures are made to be exchanged: whatever stands in one, it is refused, or it is data."""

from __future__ import annotations

import ast
import contextlib
import copy
import json
import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ophook_npu import OphookError, observe
from ophook_npu.observe.capture import load, write_test

CANARY = "canary-of-the-hostile-captures"
CODE = f"open({CANARY!r}, 'w').close()"
PAYLOADS = [
    f'"""\n{CODE}\n"""',
    f"'''\n{CODE}\n'''",
    f"\n{CODE}\n",
    f"\r{CODE}\r",
    f"x'); {CODE}; ('",
    f'x"); {CODE}; ("',
    f"0 or {CODE}",
    f"{{{CODE}}}",
    f"torch.{CODE}",
    f"torch.float32 if {CODE} else 0",
    f"__import__('os').system('touch {CANARY}')",
    f"t0'], {CODE}, t['t0",
    f"\\'''\n{CODE}\n#",
    f"aten::abs.default;{CODE}",
    f"aten::abs(\n{CODE})",
    "torch.load",
    "torch.ops.load_library",
    "aten::from_file",
    "aten::save",
    "debugprims::load_tensor",
    "\x1b]8;;http://example.org\x1b\\",
    "[link=http://example.org]x[/link]",
    "</script><img src=x onerror=alert(1)>",
    "\ud800",
    "\u202e",
    "\0",
    "",
    "../../../etc/passwd",
    "%s{0}{DATA!r}",
    "None",
    "import",
]
HOSTILE = st.one_of(
    st.sampled_from(PAYLOADS),
    st.text(max_size=20),
    st.builds("{}{}".format, st.text(max_size=5), st.sampled_from(PAYLOADS)),
)
JUNK: list[Any] = [
    None, True, -1, 1 << 62, 1 << 200, 1.5, float("nan"), float("inf"), "x", [], [[]], {}, {"torch": 1},
    {"tensor": "t0"}, {"float": "1e999"}, {"complex": [1]}, {"complex": [1, 2, 3]},
    {"tensor": "t0", "order": [0, 0], "device": "cpu"},
]  # fmt: skip


@pytest.fixture(scope="module")
def captures(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Calls with every kind of argument."""
    folder = tmp_path_factory.mktemp("captured")
    model = torch.nn.Sequential(torch.nn.Softmax(dim=-1))
    with observe.Capture(folder) as captured:
        torch.div(torch.ones(3), torch.ones(3) * 2, rounding_mode="floor")
        torch.zeros(2, dtype=torch.int8, device="cpu")
        torch.zeros(2).masked_fill(torch.tensor([True, False]), float("-inf"))
        torch.cat([torch.ones(2), torch.ones(1)])
        torch.ones(2, dtype=torch.complex64) * (1 + 2j)
        torch.ones(4, 3).t().max(dim=1)
        torch.ones(3).random_(2, 5)
        model(torch.ones(2, 2))
    wanted = ("div.Tensor_mode", "zeros", "masked_fill", "cat", "mul", "max.dim", "random_", "_softmax")
    found = [next(path for path in captured.saved if f"aten.{name}" in path.name) for name in wanted]
    assert len(set(found)) == len(wanted)
    for path in found:  # pytest's own frames are many, and all alike
        path.write_text(json.dumps(json.loads(path.read_text()) | {"stack": ["a.py:1 f", "b.py:2 g"]}))
    return found


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    yield path, value
    for key, part in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from leaves(part, (*path, key))


def replaced(record: Any, path: tuple[Any, ...], value: Any) -> Any:
    record = copy.deepcopy(record)
    if not path:
        return value
    inside = record
    for key in path[:-1]:
        inside = inside[key]
    inside[path[-1]] = value
    return record


def renamed(record: Any, path: tuple[Any, ...], name: str) -> Any:
    """With the last key of ``path`` called otherwise."""
    record = copy.deepcopy(record)
    inside = record
    for key in path[:-1]:
        inside = inside[key]
    inside[name] = inside.pop(path[-1])
    return record


def planted(original: Path, record: Any, folder: Path) -> Path:
    path = folder / "0001_hostile.json"
    path.write_text(json.dumps(record))
    path.with_suffix(".safetensors").write_bytes(original.with_suffix(".safetensors").read_bytes())
    return path


def structure(text: str) -> str:
    """The program without its texts and without the lines of the stack, of which there may be any number."""

    class Blank(ast.NodeTransformer):
        def visit_Constant(self, node: ast.Constant) -> ast.AST:
            return ast.Constant("") if isinstance(node.value, str) else node

        def visit_Assign(self, node: ast.Assign) -> ast.AST:
            if isinstance(node.targets[0], ast.Name) and node.targets[0].id == "ORIGIN":
                assert ast.literal_eval(node.value), "plain data"
                return ast.Pass()
            self.generic_visit(node)
            return node

    return ast.dump(Blank().visit(ast.parse(text)))


def harmless(original: Path, record: Any, folder: Path, like: str | None) -> None:
    """The capture is refused in words, or the test made of it is of the same structure and does nothing else."""
    path = planted(original, record, folder)
    try:
        test = write_test(path, folder / "test_hostile.py")
    except OphookError as error:
        assert str(path) in str(error) or "replay" in str(error)
        return
    text = test.read_text(encoding="utf-8")
    if like is not None:
        assert structure(text) == like
    namespace: dict[str, Any] = {"__file__": str(test)}
    exec(compile(text, str(test), "exec"), namespace)
    (function,) = (value for name, value in namespace.items() if name.startswith("test_"))
    with contextlib.suppress(Exception):  # torch refuses an argument; what counts is what happened meanwhile
        function()
    assert not os.path.exists(CANARY)
    namespace.clear()


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_payloads_work_where_text_is_pasted(here: Path) -> None:
    # A check of the check: what is thrown at write_test does harm if it gets out of its literal.
    exec(f'"""{PAYLOADS[0]}"""')
    assert os.path.exists(CANARY)


@pytest.mark.parametrize("payload", PAYLOADS)
def test_every_text_of_a_capture_is_data(payload: str, captures: list[Path], here: Path) -> None:
    turn = PAYLOADS.index(payload)  # not every payload in every capture: that takes a minute and says no more
    for path in (captures[turn % len(captures)], captures[(turn + 3) % len(captures)]):
        record = json.loads(path.read_text())
        honest = structure(write_test(planted(path, record, here), here / "test_honest.py").read_text())
        for place, value in leaves(record):
            if isinstance(value, str):
                harmless(path, replaced(record, place, payload), here, honest)
            if place and isinstance(place[-1], str):
                harmless(path, renamed(record, place, payload), here, None)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_text_anywhere_is_data(data: st.DataObject, captures: list[Path], here: Path) -> None:
    path = data.draw(st.sampled_from(captures))
    record = json.loads(path.read_text())
    honest = structure(write_test(planted(path, record, here), here / "test_honest.py").read_text())
    places = [place for place, value in leaves(record) if isinstance(value, str)]
    for place in data.draw(st.lists(st.sampled_from(places), min_size=1, max_size=4, unique=True)):
        record = replaced(record, place, data.draw(HOSTILE))
    harmless(path, record, here, honest)


@pytest.mark.parametrize("junk", JUNK, ids=lambda junk: json.dumps(junk)[:20])
def test_every_part_of_another_type_is_refused_or_taken(junk: Any, captures: list[Path], here: Path) -> None:
    turn = JUNK.index(junk) if junk == junk else 6
    for path in (captures[turn % len(captures)], captures[(turn + 5) % len(captures)]):
        record = json.loads(path.read_text())
        for place, _ in leaves(record):
            harmless(path, replaced(record, place, junk), here, None)


def test_the_shell_command_of_the_report(captures: list[Path], here: Path, run_python: Any) -> None:
    record = json.loads(captures[0].read_text())
    record["phase"] = f'forward"""\nimport os; os.system("touch {CANARY}")\n"""'
    path = planted(captures[0], record, here)
    with pytest.raises(OphookError, match=r"phase is 'forward.*not one of backward, forward"):
        write_test(path, here / "test_it.py")
    record["phase"], record["stack"] = "forward", [f'"""\nimport os; os.system("touch {CANARY}")\n"""']
    test = write_test(planted(captures[0], record, here), here / "test_it.py")
    ran = run_python("-m", "pytest", "-q", "-p", "no:cacheprovider", str(test))
    assert ran.returncode == 0, ran.stdout
    assert not os.path.exists(CANARY)


def changed(captures: list[Path], here: Path, **fields: Any) -> Path:
    return planted(captures[0], json.loads(captures[0].read_text()) | fields, here)


@pytest.mark.parametrize(
    "operator", ["aten::from_file", "aten::save", "debugprims::load_tensor", "aten::from_file.out"]
)
def test_operators_that_open_files_are_not_run(operator: str, captures: list[Path], here: Path) -> None:
    path = changed(captures, here, op=operator, args=[CANARY, True, 8], kwargs={})
    with pytest.raises(OphookError):
        load(path).run()
    assert not os.path.exists(CANARY)


@pytest.mark.parametrize(
    ("operator", "args"),
    [
        ("aten::zeros", [[10**18]]),
        ("aten::zeros", [[10**9, 10**9]]),
        ("aten::full", [[1 << 62], 1.0]),
        ("aten::arange", [10**18]),
        ("aten::eye", [10**9]),
        ("aten::repeat", [{"tensor": "t0", "order": [0], "device": "cpu"}, [10**18]]),
        ("aten::expand", [{"tensor": "t0", "order": [0], "device": "cpu"}, [10**9, 10**9, 3]]),
    ],
)
def test_absurd_sizes_are_refused_before_anything_is_allocated(
    operator: str, args: Any, captures: list[Path], here: Path
) -> None:
    path = changed(captures, here, op=operator, args=args, kwargs={})
    with pytest.raises(OphookError, match=r"bytes or more, and the capture holds \d+"):
        load(path)
    with pytest.raises(OphookError, match="bytes or more"):
        write_test(path, here / "test_it.py")


def test_tensors_that_the_file_does_not_hold(captures: list[Path], here: Path) -> None:
    path = changed(captures, here)
    header = json.dumps({"t0": {"dtype": "F32", "shape": [10**18], "data_offsets": [0, 4 * 10**18]}}).encode()
    for data in (struct.pack("<Q", len(header)) + header, struct.pack("<Q", 1 << 62), b"", b"\x80\x04K\x01."):
        path.with_suffix(".safetensors").write_bytes(data)
        with pytest.raises(OphookError, match="holds no tensors"):
            load(path)
    path.with_suffix(".safetensors").unlink()
    with pytest.raises(OphookError, match=r"safetensors is missing.*a capture is two files"):
        load(path)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[" * 100_000, "nested too deep"),
        ('{"format": 1, "format": 1}', "'format' stands twice"),
        ("[]", "is a list, not an object"),
        ("9" * 10_000, "no JSON"),
        ('{"format": 2}', "has format 2"),
        ("\xff", "no JSON"),
        ("", "no JSON"),
    ],
)
def test_documents_that_are_no_captures(text: str, says: str, captures: list[Path], here: Path) -> None:
    path = changed(captures, here)
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(OphookError, match=says):
        load(path)


def test_deep_arguments_and_pipes(captures: list[Path], here: Path) -> None:
    deep: Any = 1
    for _ in range(200):
        deep = [deep]
    with pytest.raises(OphookError, match="nested too deep"):
        load(changed(captures, here, args=[deep]))
    path = changed(captures, here)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(OphookError, match="no such capture"):  # a pipe would be waited for
        load(path)


def test_arguments_that_are_keywords_of_python(captures: list[Path], here: Path) -> None:
    path = next(path for path in captures if "random_" in path.name)
    record = json.loads(path.read_text())
    record["args"], record["kwargs"] = record["args"][:1], {"from": 2, "to": 5}
    text = write_test(planted(path, record, here), here / "test_it.py").read_text()
    assert (
        "getattr(torch.ops.aten.random_, 'from')(t['t0'], **{'from': 2}, **{'to': 5})" in text
        or "to=5, **{'from': 2})" in text
    )
