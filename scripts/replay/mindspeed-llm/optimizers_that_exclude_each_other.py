"""States in eight bits and states that are swapped out exclude each other: the arguments are refused."""

from types import SimpleNamespace

from taken import take

taken = take(
    "mindspeed_llm/features_manager/low_precision/low_precision_optimizer_feature.py",
    "LowPrecisionOptimizerFeature",
    MindSpeedFeature=object,
    _QUANT_STATE_CHOICES=("fp8", "hif8", "mxfp8"),
)
feature = object.__new__(taken.LowPrecisionOptimizerFeature)
try:
    feature.validate_args(SimpleNamespace(quant_states="fp8", swap_optimizer=True))
except AssertionError:
    pass
else:
    raise AssertionError("both optimizers are taken together")
