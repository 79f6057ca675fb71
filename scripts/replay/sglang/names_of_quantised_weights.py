"""A diffusion model renames its weights: the type of each is looked up by the name that its file has."""

from types import SimpleNamespace

from taken import take

names = take("python/sglang/multimodal_gen/runtime/loader/utils.py", "get_param_names_mapping")
taken = take(
    "python/sglang/multimodal_gen/runtime/layers/quantization/modelslim.py",
    "ModelSlimConfig",
    QuantizationConfig=object,
    get_param_names_mapping=names.get_param_names_mapping,
    ModelSlimW8A8Int8=SimpleNamespace,
)
description = {"blocks.0.self_attn.q.weight": "W8A8_DYNAMIC"}
renamed = {r"^blocks\.(\d+)\.to_q\.(.*)$": r"blocks.\1.self_attn.q.\2"}
wants = taken.ModelSlimConfig.__init__.__code__.co_argcount
config = taken.ModelSlimConfig(description, renamed) if wants == 3 else taken.ModelSlimConfig(description)
scheme = config.get_scheme(None, "blocks.0.to_q")
assert scheme.prefix == "blocks.0.self_attn.q"
