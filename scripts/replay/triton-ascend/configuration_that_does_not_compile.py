"""A tuner passes by a configuration that the compiler of Ascend refuses."""

from types import SimpleNamespace

import triton.compiler.errors
from taken import take
from triton.runtime.errors import OutOfResources

refused = triton.compiler.errors.MLIRCompilationError = type("MLIRCompilationError", (Exception,), {})


def measured(function: object, quantiles: object) -> None:
    raise refused("[HIVM] no")


taken = take(
    "python/triton/runtime/autotuner.py", "Autotuner._bench", OutOfResources=OutOfResources,
    __package__="triton.runtime",
)  # fmt: skip
config = SimpleNamespace(kwargs={}, all_kwargs=dict, pre_hook=None)
tuner = SimpleNamespace(nargs={}, do_bench=measured)
assert taken._bench(tuner, config=config) == [float("inf")] * 3
