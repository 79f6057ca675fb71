"""scripts/published_examples.py without a checkout: which block of a README runs, what an example is, the table."""

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

SCRIPTS = Path(__file__).parents[3] / "scripts"
README = """| Atlas A2 | yes |

```text
├── CMakeLists.txt   // cmake
```

  ```bash
  mkdir -p build && cd build;
  cmake ..;make -j;   # builds
  ./demo
  ```
```bash
cmake -DCMAKE_ASC_RUN_MODE=cpu ..
```
"""


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    import published_examples

    yield published_examples
    del sys.modules["published_examples"]


def test_the_first_block_that_calls_cmake_is_run(script: ModuleType) -> None:
    assert script.block(README).splitlines() == [
        "mkdir -p build && cd build;",
        "cmake ..;make -j;   # builds",
        "./demo",
    ]
    alone = "```bash\ncmake -DSCENARIO_NUM=6 ..   # this scenario\n```\n"
    assert script.block(alone + README) == script.block(README) and script.block(alone).startswith("cmake -D")
    assert script.block("```bash\nbash run.sh\n```") == "bash run.sh" and script.block("cmake ..") == ""


def test_commands_are_those_for_the_product(script: ModuleType) -> None:
    text = (
        "cmake -DCMAKE_ASC_ARCHITECTURES=dav-2201 ..; make -j\nmsopprof simulator --soc-version=<soc_version> ./demo\n"
    )
    assert script.fitted(text, "Ascend 950", ["A=1"]) == (
        "cmake -DCMAKE_ASC_ARCHITECTURES=dav-3510 ..; make\nmsopprof simulator --soc-version=Ascend950PR_9589 ./demo\n"
    )


def test_examples_are_folders_for_a_product(script: ModuleType, tmp_path: Path) -> None:
    listed = "- Atlas A2 Training Series Products\n"
    for name, text in (("add", README), ("c_add", listed), ("registers", "| Ascend 950 | yes |")):
        folder = tmp_path / "examples" / "01_simd_cpp_api" / name
        folder.mkdir(parents=True)
        (folder / "CMakeLists.txt").touch()
        (folder / "README.md").write_text(text)
    assert [folder.name for folder in script.examples(tmp_path, "Atlas A2")] == ["add", "c_add"]
    assert [folder.name for folder in script.examples(tmp_path, "Ascend 950")] == ["registers"]


@pytest.mark.parametrize(
    ("printed", "missing"),
    [
        ("noise\n[0/2] Hello\n[1/2] Hello\nRan 1 test in 0.2s\n", ""),
        ("[1/2] Hello\n[0/2] Hello\nRan 1 test in 0.2s\n", "[1/2] Hello"),
        ("[0/2] Hello\n[1/2] Hello, and more\nRan 1 test in 0.2s\n", "[1/2] Hello"),
    ],
)
def test_a_run_is_compared_with_what_the_readme_shows(script: ModuleType, printed: str, missing: str) -> None:
    shows = README.partition("```bash\ncmake -DCMAKE")[0] + "```\n[0/2] Hello\n[1/2] Hello\nRan 1 test in **s\n```\n"
    assert script._missing(script.shown(shows), printed) == missing
    assert script.shown(README) == [], "a block of commands shows no output"


def test_threads_print_in_any_order_and_as_often_as_it_is_shown(script: ModuleType) -> None:
    assert script._missing(["one", "two", "one"], "two\none\none\n", ordered=False) == ""
    assert script._missing(["one", "two", "one"], "two\none\n", ordered=False) == "one"


def test_an_assertion_that_the_readme_shows_is_no_difference(script: ModuleType) -> None:
    line = "[ASSERT] /a/b.asc:40: : Assertion `M < 1' failed."
    shown = "```\n[ASSERT] <your_path>/b.asc:<line>: : Assertion `M < 1' failed.\n```\n"
    shows = README.partition("```bash\ncmake -DCMAKE")[0] + shown
    found = script.Counter({"error assertion (b.asc:40)": 1, "error mask (b.asc:3)": 1})
    assert script.without_what_it_shows(shows, found, f"x\n{line}\ny") == ({"error mask (b.asc:3)": 1}, "x\ny")
    assert script.without_what_it_shows(shows, found, "x\ny") == (found, "x\ny"), "it was not printed"
    assert script.without_what_it_shows(README, found, line) == (found, line), "it is not shown"


def test_examples_that_are_needed_first_are_found(script: ModuleType, tmp_path: Path) -> None:
    for name in ("call", "make"):
        (tmp_path / name).mkdir()
    text = "Before running this example, navigate to the [Project](../make) directory. See [docs](../make.md).\n"
    (tmp_path / "call" / "README_en.md").write_text(text)
    assert script.before(tmp_path / "call") == [tmp_path / "make"] and script.before(tmp_path / "make") == []


def test_the_table_counts_and_names(script: ModuleType, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("<!-- examples of Atlas A2 -->\n<!-- end of examples of Atlas A2 -->\n")
    results = [script.Result("a", "equal"), script.Result("b", "build", "no `X`|", {"error mask (b.asc:1)": 2})]
    script.write(page, results, "asc-devkit at `c0`", "Atlas A2")
    assert "asc-devkit at `c0`: 2 examples; 1 equal, 1 build." in page.read_text()
    assert "| `b` | build | no 'X'\\| | error mask (b.asc:1) |" in page.read_text()


def test_what_of_a_readme_of_catlass_runs(script: ModuleType) -> None:
    import catlass_examples

    readme = """
```text
├── 19_mla/gen_data.py # data
```
```bash
# 在./examples/19_mla目录下执行
python gen_data.py 4
```
```bash
bash scripts/build.sh 19_mla
cd /output/bin
./19_mla 4
```
```bash
bash scripts/build.sh 19_mla --clean
```
"""
    assert catlass_examples.script(readme, "19_mla") == [
        "(cd examples/19_mla\n# 在./examples/19_mla目录下执行\npython gen_data.py 4\n)",
        "(cd .\nbash scripts/build.sh 19_mla\ncd output/bin\n./19_mla 4\n)",
    ]
