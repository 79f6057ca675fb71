"""torch and torch_npu are used as published: every file still has the hash that its wheel recorded."""

import base64
import csv
import hashlib
import importlib.metadata
from pathlib import Path

import pytest


def differing_files(distribution: importlib.metadata.Distribution) -> list[str]:
    """Files of an installed distribution that are gone or differ from its RECORD."""
    record = distribution.read_text("RECORD")
    assert record, f"{distribution.name} has no RECORD"
    wrong = []
    for name, digest, _size in csv.reader(record.splitlines()):
        if not digest:
            continue
        path = Path(str(distribution.locate_file(name)))
        algorithm, expected = digest.split("=", 1)
        if not path.is_file():
            wrong.append(f"{name}: gone")
            continue
        with path.open("rb") as file:
            summed = hashlib.new(algorithm)
            for part in iter(lambda: file.read(1 << 20), b""):
                summed.update(part)
        actual = base64.urlsafe_b64encode(summed.digest()).rstrip(b"=").decode()
        if actual != expected:
            wrong.append(name)
    return wrong


@pytest.mark.parametrize("name", ["torch", "torch-npu"])
def test_wheel_is_as_published(name: str) -> None:
    assert differing_files(importlib.metadata.distribution(name)) == []


def test_the_check_can_fail(tmp_path: Path) -> None:
    info = tmp_path / "x-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Name: x\nVersion: 1\n")
    (tmp_path / "x.py").write_text("changed")
    good = base64.urlsafe_b64encode(hashlib.sha256(b"original").digest()).rstrip(b"=").decode()
    (info / "RECORD").write_text(f"x.py,sha256={good},8\ngone.py,sha256={good},8\n")
    assert differing_files(importlib.metadata.Distribution.at(info)) == ["x.py", "gone.py: gone"]
