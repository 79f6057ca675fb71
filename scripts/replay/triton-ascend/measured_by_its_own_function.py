"""A kernel with one configuration is measured by the user's own function, which is asked for its quantiles."""

from types import SimpleNamespace

import triton.compiler.errors
from taken import take

triton.compiler.errors.MLIRCompilationError = type("MLIRCompilationError", (Exception,), {})
taken = take("third_party/ascend/backend/runtime/autotuner.py", "AutoTilingTuner._batch_bench")
tuner = SimpleNamespace(
    _make_kernel_call=lambda *given, config, **named: lambda warmup: None, compile_parallel=False,
    user_defined_do_bench=True, do_bench=lambda function, quantiles: list(quantiles),
)  # fmt: skip
assert taken._batch_bench(tuner, configs=["one"]) == {"one": [0.5, 0.2, 0.8]}
