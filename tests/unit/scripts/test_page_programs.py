"""scripts/page_programs.py: what it takes from a page, and what it says of it. tests/sim runs none of a page's own."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "scripts"))
import page_programs
from page_programs import Result, examples

PAGE = """
# npu_something

| 产品 | 是否支持 |
| --- | --- |
| Atlas A3 训练系列产品 | √ |
| Ascend 950DT | √ |

## 函数原型

```python
torch_npu.npu_something(x, *, y=None) -> Tensor
```

## 调用示例

- 单算子模式调用

    ```python
    >>> import torch, torch_npu
    >>> x = torch.tensor([[1, 2],
                          [3, 4]]).npu()
    >>> for i in range(2):
    ...     x = x + i
    >>> # a comment
    >>> print(x)
    tensor([[2, 3],
            [4, 5]], device='npu:0')
    ```

```python
import torch
import torch_npu
print(torch.ones(2).npu().sum())

# 执行上述代码的输出类似如下
tensor(2., device='npu:0')
```

```python
import torch_npu
world_size = 4
torch.zeros(2, dtype=torch.float8_e4m3fn).npu()
# tensor([0., 0.])
```
"""


@pytest.fixture
def found(tmp_path: Path) -> list[page_programs.Example]:
    (tmp_path / "page.md").write_text(PAGE, encoding="utf-8")
    return list(examples(tmp_path))


def test_examples_of_a_page(found: list[page_programs.Example]) -> None:
    """Those below a heading that says so, without a prototype; on the first product that the page allows."""
    session, program, narrow = found
    assert [one.name for one in found] == ["page.md#1", "page.md#2", "page.md#3"]
    assert {one.soc for one in (session, program)} == {"Ascend910_9392"} and program.devices == 2
    assert narrow.soc == "Ascend950PR_9589" and narrow.devices == 4  # no other product has its data type
    assert [said.splitlines() for said, _ in session.steps] == [
        ["import torch, torch_npu"],
        ["x = torch.tensor([[1, 2],", "[3, 4]]).npu()"],
        ["for i in range(2):", "    x = x + i"],
        ["print(x)"],
    ]
    assert session.steps[-1][1].split() == ["tensor([[2,", "3],", "[4,", "5]],", "device='npu:0')"]
    assert "tensor(" not in program.source and program.want.strip() == "tensor(2., device='npu:0')"
    assert narrow.want.strip() == "tensor([0., 0.])"


@pytest.mark.parametrize(
    ("want", "got", "random", "words"),
    [
        ("tensor([0.1234, 2.0000])", "tensor([0.12341, 2.0])", False, ""),
        ("tensor([0.1234, 2.0000])", "tensor([0.1264, 2.0000])", False, "the page has 0.1234, here it is 0.1264"),
        ("tensor([0.1234, 2.0000])", "tensor([0.9, 7.0])", True, ""),
        ("tensor([1., 2.], dtype=torch.float16)", "tensor([3., 2.])", True, "the page has dtype=torch.float16"),
        ("torch.Size([2, 3])", "torch.Size([2,\n 3])", True, ""),
        ("torch.Size([2, 3])", "torch.Size([3, 2])", True, "the page has torch.Size([2, 3]), here it is torch.Size([3"),
        ("tensor([1., 2.])", "tensor([1.])", False, "the page has 2 numbers, here they are 1"),
        ("tensor([nan])", "tensor([nan])", False, ""),
        ("took 3 s", "took 5 s", False, ""),
    ],
)
def test_what_differs(want: str, got: str, random: bool, words: str) -> None:
    found = page_programs.differs(want, got, random)
    assert found.startswith(words) and bool(found) == bool(words)


def test_the_table_names_what_is_open(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    reasons = tmp_path / "reasons.txt"
    reasons.write_text(
        "[the page: its own mistake]\n^a\\.md#2 .*AttributeError\n[not simulated: a type]\naclop operator\n"
    )
    monkeypatch.setattr(page_programs, "REASONS", reasons)
    page_programs._table.cache_clear()
    results = [
        Result("a.md#1", "ran"),
        Result("a.md#2", "fails", "AttributeError: x"),
        Result("b.md#1", "as printed"),
        Result("b.md#2", "fails", "AttributeError: x"),
        Result("b.md#3", "a part", "NameError: name 'x' is not defined"),
        Result("c.md#1", "fails", "the aclop operator X is not implemented"),
    ]
    kinds = [page_programs.kind(one) for one in results]
    assert kinds == ["counts", "the page", "counts", "open", "a part", "not simulated"]
    said = page_programs.part("project", results)
    page_programs._table.cache_clear()
    assert said.startswith(
        "project: 6 examples. 2 run to their end, 1 of them with what their page prints; 1 are parts"
    )
    assert "| open | AttributeError: x | `b.md#2` |" in said and "| the page | its own mistake | `a.md#2` |" in said


def test_a_folder_that_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.MonkeyPatch.context() as patch, pytest.raises(SystemExit):
        patch.setattr(sys, "argv", ["page_programs.py", str(tmp_path / "missing")])
        page_programs.main()
    assert "is no folder" in capsys.readouterr().err
