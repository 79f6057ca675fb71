"""Module hooks, the extension device, and what all mechanisms have in common."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
import torch

import ophook_npu
from ophook_npu import OphookError
from ophook_npu.hooks import _choose
from ophook_npu.hooks._protocol import NEEDS


@pytest.fixture
def model():
    inner = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU())
    return torch.nn.Sequential(torch.nn.Linear(4, 4), inner)


def test_path_glob_and_calls(model):
    seen = []
    with ophook_npu.hook((model, "1.*"), before=lambda c: seen.append((c.name, c.module_path))) as h:
        model(torch.ones(2, 4))
    assert seen == [("Linear", "1.0"), ("ReLU", "1.1")]
    assert h.via == "module_hook"
    assert all("forward" not in vars(m) for m in model.modules())


def test_class_replace_nest_and_out_of_order(model):
    x = torch.ones(2, 4)
    want = model(x)
    found = torch.nn.ReLU.__dict__["forward"]
    add = ophook_npu.hook(torch.nn.ReLU, replace=lambda x: ophook_npu.original()(x) + 1).enable()
    mul = ophook_npu.hook(torch.nn.ReLU, replace=lambda x: ophook_npu.original()(x) * 10).enable()
    torch.testing.assert_close(model(x), (want + 1) * 10)
    add.disable()
    torch.testing.assert_close(model(x), want * 10)
    mul.disable()
    assert torch.equal(model(x), want)
    assert torch.nn.ReLU.__dict__["forward"] is found


def test_warm_compiled_model_is_seen(model):
    torch._dynamo.reset()
    compiled = torch.compile(model, backend="eager", fullgraph=True)
    x = torch.ones(2, 4)
    compiled(x)
    with ophook_npu.hook((compiled, "1.1"), after=lambda c: setattr(c, "result", c.result + 7)) as h:
        assert compiled(x).min() >= 7
    assert h.hits == 1


def test_unknown_path(model):
    with pytest.raises(OphookError, match=r"no module below Sequential is called '1\.7'; allowed: 1\."):
        ophook_npu.hook((model, "1.7"), before=print)


def test_operator_targets_are_not_for_module_hooks():
    with pytest.raises(OphookError, match="hooks module targets, not a op"):
        ophook_npu.hook("aten::mm", before=print, via="module_hook")


@pytest.mark.parametrize("name", _choose.MECHANISMS + _choose.RECORDERS)
def test_every_mechanism_has_the_same_surface(name):
    module = import_module(f"ophook_npu.hooks.{name}")
    first = import_module(f"ophook_npu.hooks.{_choose.MECHANISMS[0]}")
    assert module.__all__ == first.__all__
    assert name == module.NAME
    assert set(module.SEES) == set(NEEDS)
    assert all(reason == "yes" or len(reason) > 10 for reason in module.SEES.values())
    source = Path(module.__file__).read_text(encoding="utf-8")
    for other in _choose.MECHANISMS + _choose.RECORDERS:
        assert f"hooks.{other}" not in source and f"import {other}" not in source, f"{name} imports {other}"


def test_the_recorder_is_for_observers_only():
    with pytest.raises(OphookError, match=r"via='record_function': it counts .* observe.Stats and Profile take it"):
        ophook_npu.hook("aten::mm", before=print, via="record_function")
    with pytest.raises(OphookError, match="did you mean 'dispatch_mode'; allowed: auto, dispatch_mode"):
        ophook_npu.hook("aten::mm", before=print, via="dispatch_modes")


def test_auto_explains_itself():
    assert ophook_npu.hook("aten::mm", before=print).via == "dispatch_mode"
    threads = ophook_npu.hook("aten::mm", before=print, needs=["threads", "autograd"])
    assert threads.via == "impl_override"
    assert "not dispatch_mode (threads" in threads.why
    assert ophook_npu.hook("aten::mm", before=print, needs="compile").via == "dynamo"
    both = ophook_npu.hook("aten::mm", before=print, needs=["compile", "vmap"])
    assert both.via == "custom_op"
    with pytest.raises(OphookError, match="no mechanism can do this: dispatch_mode"):
        ophook_npu.hook("aten::mm", before=print, needs=["compile", "vmap", "threads"])


BACKEND_PROGRAM = """
import torch, ophook_npu
from ophook_npu import hooks

def shifted(a, b):
    return ophook_npu.original()(a, b) + 1000

h = ophook_npu.hook("aten::mm", replace=shifted, via="backend")
device = torch._C._get_privateuse1_backend_name()
assert device == "hostdev" and device in h.why
x, w = torch.randn(4, 5).to(device).requires_grad_(), torch.randn(5, 6).to(device)
native = (x @ w).cpu()
torch.testing.assert_close(native, x.cpu() @ w.cpu())
with h:
    y = x @ w
    assert y.device.type == device and torch.allclose(y.cpu(), native + 1000, atol=1e-3)
    y.sum().backward()
    assert h.hits == 2 and x.grad.device.type == device
    torch.testing.assert_close(x.cpu() @ w.cpu(), native)
    with torch.inference_mode():
        assert (x @ w).min().item() > 500
    assert torch.vmap(torch.mm)(x.expand(2, 4, 5), w.expand(2, 5, 6)).min().item() > 500
    assert torch.compile(lambda a, b: a @ b)(x, w).min().item() > 500
torch.testing.assert_close((x @ w).cpu(), native)
h.remove()
hooks.purge()  # a compiler's idle workers may be threads
assert hooks.registered() == []

model = torch.nn.Sequential(torch.nn.Linear(5, 8), torch.nn.LayerNorm(8), torch.nn.Linear(8, 1))
reference = torch.nn.Sequential(torch.nn.Linear(5, 8), torch.nn.LayerNorm(8), torch.nn.Linear(8, 1))
reference.load_state_dict(model.state_dict())
model.to(device)
for m, place in ((model, device), (reference, "cpu")):
    optimizer = torch.optim.SGD(m.parameters(), 0.1)
    for step in range(3):
        optimizer.zero_grad()
        m(torch.arange(20.0).reshape(4, 5).to(place)).sum().backward()
        optimizer.step()
for a, b in zip(model.parameters(), reference.parameters()):
    assert torch.allclose(a.cpu(), b, atol=1e-5)
print("done")
"""


def test_backend_over_a_host_memory_device(run_python):
    """In a process of its own: a PrivateUse1 device cannot be unregistered."""
    result = run_python("-c", BACKEND_PROGRAM)
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip() == "done"


def test_a_process_with_an_engine_thread_for_the_device_ends_well():
    program = (
        "import torch\n"
        "from ophook_npu.hooks import _host_device\n"
        "x = torch.ones(4, 4).to(_host_device.ensure()).requires_grad_()\n"
        "y = x.relu()\n"
        "y.register_hook(lambda gradient: None)\n"
        "y.sum().backward()\n"
    )
    for _ in range(4):
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
