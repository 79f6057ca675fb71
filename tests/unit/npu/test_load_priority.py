"""vendors/config.ini is read alike by the Python and by the C++ that look for custom operator packages."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import ophook_npu
from ophook_npu import doctor, toolchain
from ophook_npu.npu import vendors

# text of the file -> names, refused
TABLE: dict[str, tuple[list[str], list[str]]] = {
    "": ([], []),
    "load_priority=a": (["a"], []),
    "load_priority=a,b\n": (["a", "b"], []),
    "load_priority=b,a\nload_priority=c\n": (["b", "a"], []),  # the first line counts
    "load_priority=\nload_priority=a\n": ([], []),
    "# load_priority=no\n; load_priority=no\n[vendors]\nother=1\nload_priority=a\n": (["a"], []),
    "load_priority=a,b\r\n": (["a", "b"], []),
    "\r\nload_priority=a\r\n\r\n": (["a"], []),
    "load_priority= a ,\tb\t, c": (["a", "b", "c"], []),
    "load_priority=,a,,b, ,\t,": (["a", "b"], []),
    "load_priority=a,b,a,b,c": (["a", "b", "c"], []),
    " load_priority=a": ([], []),  # torch_npu wants the first column
    "load_priority =a": ([], []),
    "LOAD_PRIORITY=a": ([], []),
    "load_priority_x=a": ([], []),
    "load_priority=a=b": (["a=b"], []),
    "load_priority=../../tmp/evil,good": (["good"], ["../../tmp/evil"]),
    "load_priority=..,.,good": (["good"], ["..", "."]),
    "load_priority=/tmp/evil,a/b,a\\b": ([], ["/tmp/evil", "a/b", "a\\b"]),
    "load_priority=a b,a\tb,a\0b,a\x7fb,c # comment": ([], ["a b", "a\tb", "a\0b", "a\x7fb", "c # comment"]),
    "load_priority=/x,/x,..a,.hidden": (["..a", ".hidden"], ["/x"]),
    "load_priority=昇腾,é": (["昇腾", "é"], []),
    "load_priority=a\vb": ([], ["a\vb"]),
}

MAIN = """
#include "load_priority.h"
#include <iostream>
int main() {
  gesim::LoadPriority found = gesim::load_priority(std::cin);
  for (const std::string& name : found.names) std::cout << "n" << name << '\\n';
  for (const std::string& name : found.refused) std::cout << "r" << name << '\\n';
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("load_priority")
    (folder / "main.cpp").write_text(MAIN)
    headers = Path(ophook_npu.__file__).parent / "csrc" / "ge"
    command = [*toolchain.compiler(), "-std=c++17", "-Wall", "-Werror", f"-I{headers}", "main.cpp", "-o", "main"]
    subprocess.run(command, cwd=folder, check=True)
    return folder / "main"


@pytest.mark.parametrize("text", TABLE)
def test_both_parsers_say_the_same(program: Path, text: str) -> None:
    names, refused = TABLE[text]
    assert vendors.load_priority(text)[:2] == (names, refused)
    lines = subprocess.run([program], input=text.encode(), capture_output=True, check=True).stdout.decode().split("\n")
    assert lines == [*(f"n{name}" for name in names), *(f"r{name}" for name in refused), ""]


def test_blanks_that_torch_npu_would_keep_are_told() -> None:
    assert vendors.load_priority("load_priority=a, b,c\r\n").padded == ["b", "c"]


def test_one_search_order_for_all_who_ask(tmp_path: Path) -> None:
    folder = tmp_path / "vendors"
    folder.mkdir()
    (folder / "config.ini").write_bytes(b"load_priority=b, a,../../etc,\xff\r\n")
    environ = {"ASCEND_CUSTOM_OPP_PATH": "/x::/y", "ASCEND_OPP_PATH": str(tmp_path)}
    found = [package for package, _ in vendors.packages(environ)]
    assert found == [Path("/x"), Path("/y"), folder / "b", folder / "a", folder / "\udcff"]
    assert [library.parent.parent for library, _ in doctor.custom_library_folders(environ)] == found
    texts = [finding.text for finding in doctor._custom_operators(environ)]
    assert f"'../../etc' in load_priority of {folder / 'config.ini'} is not the name of a folder in {folder}" in texts
    assert any(text.startswith("a stands between blanks") for text in texts)


def test_a_folder_without_the_file_lists_nothing(tmp_path: Path) -> None:
    assert vendors.packages({"ASCEND_OPP_PATH": str(tmp_path)}) == []
    assert vendors.packages({}) == []
