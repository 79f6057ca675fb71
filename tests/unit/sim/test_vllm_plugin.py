"""What vLLM finds on the simulator: a plugin that gives the Triton kernels that it calls to Triton's interpreter."""

from __future__ import annotations

import importlib.metadata
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from ophook_npu.sim.build import _lay_out_plugins
from ophook_npu.sim.plugins import ophook_sim_vllm as plugin

KERNELS = """
@triton.jit
def kernel(n, size: tl.constexpr): return tl.name, helper(n), size
@triton.jit(do_not_specialize=["n"])
def helper(n): return n + 1
@triton.heuristics({
    "half": lambda given: given["n"] // 2,
})
@triton.jit
def chosen(n, half: tl.constexpr): return tl.name, n, half
def plain(n): return n
"""


@pytest.fixture
def stand_ins(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """vLLM without a Triton of its own: `triton.jit` leaves a kernel as it was."""

    def jit(kernel=None, **_):
        return kernel if kernel else lambda kernel: kernel

    triton = ModuleType("triton")
    triton.jit = jit
    triton.heuristics = lambda values: lambda kernel: kernel
    utils = SimpleNamespace(HAS_TRITON=False, triton=triton, tl=SimpleNamespace(constexpr=None))
    for name, module in (("vllm", ModuleType("vllm")), ("vllm.triton_utils", utils)):
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    return utils


@pytest.fixture
def load(stand_ins: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A module with kernels, as one of vLLM's or of vllm-ascend's."""

    def loaded(name: str) -> ModuleType:
        module = ModuleType(name)
        module.triton, module.tl = stand_ins.triton, stand_ins.tl
        (tmp_path / name).write_text(KERNELS)
        exec(compile(KERNELS, tmp_path / name, "exec", dont_inherit=True), vars(module))
        monkeypatch.setitem(sys.modules, name, module)
        return module

    return loaded


@pytest.fixture
def triton(monkeypatch: pytest.MonkeyPatch) -> None:
    class Kernel(SimpleNamespace):
        def __call__(self, *arguments):
            return self.function(*arguments)

        def __getitem__(self, grid: tuple[int, ...]):
            return lambda n, size: (grid, *self.function(n, size), self.function.__annotations__, self.options)

    def jit(function=None, **options):
        return Kernel(function=function, options=options) if function else lambda function: jit(function, **options)

    def heuristics(values):
        return lambda kernel: SimpleNamespace(values=values, kernel=kernel)

    language = SimpleNamespace(name="Triton's own", constexpr="a constant")
    monkeypatch.setitem(sys.modules, "triton", SimpleNamespace(jit=jit, heuristics=heuristics, language=language))
    monkeypatch.setitem(sys.modules, "triton.language", language)
    monkeypatch.setitem(sys.modules, "triton.language.extra.libdevice", SimpleNamespace())


def test_kernels_of_modules_before_and_after_are_compiled_by_triton(load, triton: None) -> None:
    before, user = load("vllm.before"), ModuleType("vllm_ascend.user")
    user.kernel = before.kernel
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, user.__name__, user)
        plugin.register()
        plugin.register()  # vLLM may load plugins again
    after = load("vllm_ascend.after")
    for kernel in (before.kernel, user.kernel, after.kernel):
        assert kernel[(3,)](7, 8) == ((3,), "Triton's own", 8, 8, {"size": "a constant"}, {})
    for module in (before, after):
        chosen = module.chosen._compiled()
        assert chosen.values["half"]({"n": 8}) == 4 and chosen.kernel(7, 3) == ("Triton's own", 7, 3)
    assert after.helper._compiled().options == {"do_not_specialize": ["n"]} and before.plain(1) == 1


def test_what_the_stand_in_lacks_is_tritons_own(stand_ins: SimpleNamespace, triton: None) -> None:
    assert not hasattr(stand_ins.triton, "language")
    plugin.register()
    assert stand_ins.triton.language.name == "Triton's own"
    for name in ("nothing", "__wrapped__"):
        with pytest.raises(AttributeError, match=name):
            getattr(stand_ins.triton, name)


def test_without_triton_the_stand_in_has_what_it_had(
    stand_ins: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "triton", None)
    plugin.register()
    assert not hasattr(stand_ins.triton, "runtime")


def test_a_vllm_with_a_triton_is_left_alone(load, stand_ins: SimpleNamespace) -> None:
    stand_ins.HAS_TRITON, module = True, load("vllm.before")
    before = module.kernel
    plugin.register()
    assert module.kernel is before


def test_what_is_missing_is_named_when_the_kernel_is_called(load, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "triton", None)
    plugin.register()
    module = load("vllm.after")
    with pytest.raises(RuntimeError, match=r"kernel is .* Triton is not installed; next: pip install triton"):
        module.kernel[(1,)]
    monkeypatch.setenv("TRITON_INTERPRET", "0")
    with pytest.raises(RuntimeError, match="no compiler for it here; next: leave TRITON_INTERPRET unset"):
        module.kernel[(1,)]


def test_vllm_finds_it_where_the_simulator_lays_it(tmp_path: Path) -> None:
    _lay_out_plugins(tmp_path)
    (found,) = importlib.metadata.distributions(path=[str(tmp_path)])
    (entry,) = found.entry_points.select(group="vllm.general_plugins")
    module, function = entry.value.split(":")
    assert (tmp_path / f"{module}.py").read_text() == Path(plugin.__file__).read_text() and hasattr(plugin, function)
