"""scripts/published_kernels.py without a checkout: each case can be made, a missing file or another licence is told."""

from __future__ import annotations

import sys
from itertools import chain
from pathlib import Path

import pytest

from ophook_npu.errors import OphookError
from ophook_npu.kernel.memory import Block

SCRIPTS = Path(__file__).parents[3] / "scripts"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> object:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    import published_kernels

    yield published_kernels
    for name in [n for n in sys.modules if n.split(".")[0] in ("published", "published_kernels")]:
        del sys.modules[name]


def test_each_case_has_arguments_and_a_reference(script) -> None:
    made = [make() for make in chain(script.lora.cases(), script.caches.cases(), script.arrays.cases())]
    assert len({(case.repository, case.source) for case in made}) >= 20
    assert {case.repository for case in made} == set(script.COMMITS)
    for case in made:
        blocks = {a.name: a.block for a in case.arguments if isinstance(a.block, Block)}
        assert case.wanted and case.cores >= 1
        for name, wanted in case.wanted.items():
            assert blocks[name].shape == tuple(wanted.shape), (case.name, name)


def test_what_cannot_be_run_is_told(script, tmp_path: Path) -> None:
    case = script.caches.hello()
    with pytest.raises(OphookError, match="no such file"):
        script.entry_of(case, tmp_path)
    source = tmp_path / "sgl-kernel-npu" / case.source
    source.parent.mkdir(parents=True)
    (source.parent / "helper.h").write_text("// under the CANN Open Software License Agreement\n")
    source.write_text('#include "helper.h"\n')
    with pytest.raises(OphookError, match=r"helper\.h is under CANN's licence"):
        script.entry_of(case, tmp_path)


def test_the_table_goes_between_its_marks(script, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- published -->\nold\n<!-- end of published -->\nafter\n")
    script.write(page, ["| a |"])
    text = page.read_text()
    assert (
        text.startswith("before\n") and text.endswith("| a |\n<!-- end of published -->\nafter\n") and "old" not in text
    )
