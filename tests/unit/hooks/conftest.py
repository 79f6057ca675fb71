"""Every test of the hooks leaves torch as it found it: tables, stance and mode stack are compared after each."""

from __future__ import annotations

import pytest
import torch

from ophook_npu import hooks

TABLES = ("aten::mm", "aten::mm.out", "aten::add.Tensor", "aten::relu", "aten::linear", "aten::matmul", "aten::addmm")


def tables() -> dict[str, tuple[str, str]]:
    """What the dispatcher knows about a few operators: registrations and computed tables."""
    return {name: (torch._C._dispatch_dump(name), torch._C._dispatch_dump_table(name)) for name in TABLES}


@pytest.fixture(autouse=True)
def _torch_as_found():
    hooks.purge()  # what tests of other folders left idle in this process would go while this one runs
    found = tables()
    stance = torch._dynamo.eval_frame._stance
    yield
    hooks.purge()
    assert [name for name, _, _ in hooks.registered()] == []
    for name, now in tables().items():
        assert now == found[name], f"the dispatch table of {name} differs after the test"
    assert torch._dynamo.eval_frame._stance == stance
    assert torch.utils._python_dispatch._get_current_dispatch_mode_stack() == []
    assert not torch.utils._python_dispatch.is_in_torch_dispatch_mode()
