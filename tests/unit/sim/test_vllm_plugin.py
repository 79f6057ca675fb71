"""What vLLM finds on the simulator: a plugin that gives its one indispensable Triton kernel to Triton's interpreter."""

from __future__ import annotations

import importlib.metadata
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from ophook_npu.sim.build import _lay_out_plugins
from ophook_npu.sim.plugins import ophook_sim_vllm as plugin


@pytest.fixture
def vllm(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """vLLM without a Triton of its own: `triton.jit` left its kernel as it was."""
    module = ModuleType("vllm.v1.worker.block_table")
    exec("def _compute_slot_mapping_kernel(n): return tl.name, n", vars(module))  # its globals are the module's
    module.tl = SimpleNamespace(name="a stand-in")
    for name in ("vllm", "vllm.v1", "vllm.v1.worker"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, "vllm.v1.worker.block_table", module)
    monkeypatch.setitem(sys.modules, "vllm.triton_utils", SimpleNamespace(HAS_TRITON=False))
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    return module


@pytest.fixture
def triton(monkeypatch: pytest.MonkeyPatch) -> None:
    class Kernel(SimpleNamespace):
        def __getitem__(self, grid: tuple[int, ...]):
            return lambda n: (grid, *self.function(n))

    language = SimpleNamespace(name="Triton's own")
    monkeypatch.setitem(sys.modules, "triton", SimpleNamespace(jit=lambda f: Kernel(function=f), language=language))
    monkeypatch.setitem(sys.modules, "triton.language", language)


def test_the_kernel_is_compiled_by_triton_with_tritons_names(vllm: ModuleType, triton: None) -> None:
    plugin.register()
    plugin.register()  # vLLM may load plugins again
    assert vllm._compute_slot_mapping_kernel[(3,)](7) == ((3,), "Triton's own", 7)


def test_a_vllm_with_a_triton_is_left_alone(vllm: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vllm.triton_utils", SimpleNamespace(HAS_TRITON=True))
    before = vllm._compute_slot_mapping_kernel
    plugin.register()
    assert vllm._compute_slot_mapping_kernel is before


def test_what_is_missing_is_named_when_the_kernel_is_called(vllm: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "triton", None)
    plugin.register()
    with pytest.raises(RuntimeError, match="Triton is not installed; next: pip install triton"):
        vllm._compute_slot_mapping_kernel[(1,)]
    monkeypatch.setenv("TRITON_INTERPRET", "0")
    with pytest.raises(RuntimeError, match="no compiler for it here; next: leave TRITON_INTERPRET unset"):
        vllm._compute_slot_mapping_kernel[(1,)]


def test_vllm_finds_it_where_the_simulator_lays_it(tmp_path: Path) -> None:
    _lay_out_plugins(tmp_path)
    (found,) = importlib.metadata.distributions(path=[str(tmp_path)])
    (entry,) = found.entry_points.select(group="vllm.general_plugins")
    module, function = entry.value.split(":")
    assert (tmp_path / f"{module}.py").read_text() == Path(plugin.__file__).read_text() and hasattr(plugin, function)
