"""Small models of every architecture that timm, torchvision and transformers publish, made by rules, not from a list.

Each library has its names, and makes the model of a name with random weights and an input for it.
"""

from __future__ import annotations

import contextlib
import copy
import inspect
import math
import re
import sys
import types
from collections.abc import Callable, Iterable
from typing import Any

import torch

Made = tuple[torch.nn.Module, Any]  # the model, and what its forward takes: a tuple, or names with tensors
# Attention by separate operators and no cache: torch's own becomes npu_fusion_attention_v3, which torchair cannot run
# in a graph, and a cache begins with a tensor [0], which ConcatV2 does not take beside tensors of four dimensions.
FOR_GRAPHS = False
MOST = 60e6  # parameters of a model


class CannotMake(Exception):
    """No small model of this architecture, or no input for it, comes out of the rules."""


def parameters(make: Callable[[], torch.nn.Module]) -> float:
    """How many; infinity where a model cannot be made without numbers."""
    with contextlib.suppress(Exception), torch.device("meta"):
        return sum(one.numel() for one in make().parameters())
    return math.inf


def not_too_large(size: float, times: int = 1) -> None:
    if times * MOST < size < math.inf:
        raise CannotMake(f"{size / 1e6:.0f} million parameters")


def smallest(names: Iterable[str], family: Callable[[str], Any], make: Callable[[str], torch.nn.Module]) -> list[str]:
    """Of each family the model with the fewest parameters; one that cannot be measured where no other is there."""
    found: dict[Any, tuple[float, str]] = {}
    for name in names:
        size = parameters(lambda: make(name))  # noqa: B023
        found[family(name)] = min(found.get(family(name), (size, name)), (size, name))
    return sorted(name for _, name in found.values())


def first_word(name: str) -> str:
    return re.split(r"[\d_]", name)[0]


def torchvision() -> types.ModuleType:
    """pip's is made for CUDA: over torch's CPU build it has no operators, and stops as it describes them."""
    with contextlib.suppress(RuntimeError):
        import torchvision as library

        return library
    for name in [name for name in sys.modules if name.startswith("torchvision")]:
        del sys.modules[name]
    sys.modules["torchvision._meta_registrations"] = types.ModuleType("torchvision._meta_registrations")
    import torchvision as library

    return library


# ---- timm: of each module of it, and of these each first word of a name ----------------------------------------------
def timm_names() -> list[str]:
    import timm

    module = {name: one for one in timm.list_modules() for name in timm.list_models(module=one)}
    return smallest(module, lambda name: (module[name], first_word(name)), timm.create_model)


def timm_made(name: str) -> Made:
    import timm

    timm.layers.set_fused_attn(not FOR_GRAPHS)
    not_too_large(parameters(lambda: timm.create_model(name)), times=2)
    model = timm.create_model(name)
    config = model.pretrained_cfg
    size = config["input_size"] if config.get("fixed_input_size") else None
    return model, (torch.randn(2, *(size or config.get("min_input_size") or config["input_size"])),)


# ---- torchvision ---------------------------------------------------------------------------------------------------
def torchvision_model(name: str) -> tuple[torch.nn.Module, str]:
    """The model and its kind: "resnet", "segmentation", "video" …"""
    build = torchvision().models.get_model_builder(name)
    known = inspect.signature(build).parameters
    model = build(weights=None, **({"weights_backbone": None} if "weights_backbone" in known else {}))
    return model, build.__module__.split(".")[2]


def torchvision_names() -> list[str]:
    library = torchvision()
    where = {name: library.models.get_model_builder(name).__module__ for name in library.models.list_models()}
    return smallest(where, lambda name: (where[name], first_word(name)), lambda name: torchvision_model(name)[0])


def torchvision_made(name: str) -> Made:
    not_too_large(parameters(lambda: torchvision_model(name)[0]), times=2)
    model, kind = torchvision_model(name)
    if kind == "detection":
        target = {"boxes": torch.tensor([[4.0, 4, 40, 44], [10, 12, 60, 58]]), "labels": torch.tensor([1, 1])}
        target["masks"] = torch.ones(2, 64, 64, dtype=torch.uint8)
        target["keypoints"] = torch.cat([torch.rand(2, 17, 2) * 30 + 10, torch.ones(2, 17, 1)], 2)
        return model, ([torch.rand(3, 64, 64)], [target])
    if kind == "optical_flow":
        return model, (torch.rand(1, 3, 128, 128), torch.rand(1, 3, 128, 128))
    if kind == "video":
        side = 224 if re.search("mvit|swin|s3d", name) else 64
        return model, (torch.rand(1, 3, 16, side, side),)
    side = {"segmentation": 64, "inception": 299}.get(kind, 224)
    return model, (torch.rand(2, 3, side, side),)


# ---- transformers: each kind of configuration, with sizes made small by their names --------------------------------
WORDS, WIDTH, LENGTH, LAYERS = 160, 32, 12, -1
_WIDTHS = (
    "hidden_size|d_model|n_embd|embed_dim|dim|hidden_dim|embedding_size|projection_dim|embedding_dim|d_embed|"
    "out_hidden_size|hidden_size_per_layer_input|text_dim|vision_dim|feature_size|word_embed_proj_dim|conv_dim_embed"
)
_SMALL = [
    (re.compile(f"(?:{names})$"), size)
    for names, size in (
        ("(.*_)?(vocab_size|vocab_size_per_layer_input|num_embeddings)", WORDS),
        (rf"(\w+_)?({_WIDTHS})", WIDTH),
        (".*(num_key_value_heads|num_kv_heads|multi_query_group_num|n_head_kv)", 2),
        ("(.*_)?(num_attention_heads|n_heads?|num_heads|attention_heads|heads|num_attn_heads|nhead)", 4),
        ("(.*_)?(head_dim|d_kv|kv_channels|qk_nope_head_dim)|.*rope_head_dim", 8),
        (".*lora_rank", 16),
        ("(.*_)?(intermediate_size|ffn_dim|d_ff|n_inner|inner_dim|feed_forward_size|dim_feedforward)", 64),
        ("(.*_)?(ffn_hidden_size|intermediate_dim)", 64),
        (
            "(.*_)?(num_hidden_layers|n_layers?|num_layers|encoder_layers|decoder_layers|n_block|num_blocks|depth)",
            LAYERS,
        ),
        (".*(num_local_experts|num_experts|n_routed_experts|moe_num_experts)", 4),
        (".*(num_experts_per_tok|moe_topk|top_k_experts|num_selected_experts|moe_k)", 2),
        ("n_group|topk_group|n_shared_experts", 1),
        ("(.*_)?(max_position_embeddings|n_positions|max_source_positions|max_target_positions)", 128),
        ("(.*_)?(n_ctx|seq_length|max_seq_len|max_sequence_length)", 128),
        ("(.*_)?(image_size|img_size)", 64),
        ("(.*_)?num_queries", 10),
        ("sliding_window|.*_window_size", 8),
    )
]
# What is tried in turn: which of these sizes stay as they are, and how many layers there are.
_TRIES: tuple[tuple[str, int], ...] = (
    ("(?!)", 2),
    (".*head_dim|d_kv", 2),
    (".*rope_head_dim|.*lora_rank|v_head_dim|qk_.*", 2),
    (rf"(\w+_)?({_WIDTHS})|.*head.*", 2),
    ("(?!)", 8),
)


def transformers_names() -> list[str]:
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES
    from transformers.models.auto.modeling_auto import MODEL_MAPPING_NAMES

    return sorted(set(CONFIG_MAPPING_NAMES) & set(MODEL_MAPPING_NAMES))


def _smaller(name: str, value: Any, keeps: str, layers: int) -> Any:
    if isinstance(value, bool):
        return value
    if isinstance(value, (int, float)) and "drop" in name:
        return type(value)(0)
    if isinstance(value, int) or (value is None and name == "vocab_size"):
        size = next((size for pattern, size in _SMALL if pattern.match(name)), None)
        if name.endswith("_token_id") and value >= WORDS:
            return 5
        if size == LAYERS:
            return layers
        return value if size is None or re.fullmatch(keeps, name) else min(value or size, size)
    if isinstance(value, (list, tuple)) and name in ("depths", "num_layers_per_stage", "layers", "encoder_depths"):
        return type(value)(1 for _ in value)
    return value


def _shrink(config: Any, keeps: str, layers: int) -> Any:
    from transformers import PretrainedConfig

    kinds: list[Any] = []
    for name, value in list(vars(config).items()):
        if isinstance(value, PretrainedConfig):
            _shrink(value, keeps, layers)
            continue
        new = _smaller(name, value, keeps, layers)
        texts = isinstance(value, (list, tuple)) and value and all(isinstance(one, str) for one in value)
        if texts and re.search("(layer|attention|layers_block|mlp_layer|block)_types?$", name):
            kinds = list(dict.fromkeys(value))
            new = type(value)((kinds * layers)[: max(layers, len(kinds))])
        if new is not value:
            with contextlib.suppress(Exception):
                setattr(config, name, new)
    for name in ("num_hidden_layers", "num_layers", "n_layer"):
        if len(kinds) > layers and isinstance(vars(config).get(name), int):
            setattr(config, name, len(kinds))
    return config


def _config(kind: str, keeps: str, layers: int) -> Any:
    """Made again from what was shrunk, so that what a configuration derives from its numbers fits."""
    from transformers import AutoConfig

    small, plain = _shrink(AutoConfig.for_model(kind), keeps, layers), AutoConfig.for_model(kind).to_dict()
    told = {name: value for name, value in small.to_dict().items() if plain.get(name) != value}
    try:
        return AutoConfig.for_model(kind, **told)
    except Exception:
        return small


def _first(config: Any, *names: str, otherwise: Any = None) -> Any:
    """The first of these numbers that it or a configuration inside it has."""
    for name in names:
        if isinstance(getattr(config, name, None), (int, list, tuple)):
            return getattr(config, name)
    inside = (value for value in vars(config).values() if hasattr(value, "model_type"))
    return next((found for one in inside if (found := _first(one, *names)) is not None), otherwise)


def _inputs(model: Any, more: bool) -> dict[str, Any]:
    """`more`: with pictures where a text would do, and sound by channels."""
    config, wanted, main = model.config, inspect.signature(model.forward).parameters, model.main_input_name
    size = _first(config, "image_size", "img_size", otherwise=64)
    channels = _first(config, "num_channels", "in_channels", "in_chans", otherwise=3)
    frames = _first(config, "num_frames", "frames_per_clip")
    bins = _first(
        config, "num_mel_bins", "input_feat_per_channel", "feature_projection_input_dim", "feature_size", otherwise=80
    )
    plane = (channels, *(size if isinstance(size, (list, tuple)) else (size, size)))
    alone = "input_ids" not in wanted
    given: dict[str, Any] = {}
    if not alone:
        given["input_ids"] = torch.randint(6, WORDS - 8, (2, LENGTH))
        if "attention_mask" in wanted:
            given["attention_mask"] = (torch.arange(LENGTH) < torch.tensor([[LENGTH], [LENGTH - 3]])).long()
        if "bbox" in wanted:
            given["bbox"] = torch.tensor([1, 2, 8, 9]).expand(2, LENGTH, 4).contiguous()
    if "pixel_values" in wanted and (more or alone or main == "pixel_values"):
        given["pixel_values"] = torch.randn((1, frames, *plane) if frames else (2, *plane))
    if "pixel_values_videos" in wanted and alone:
        given["pixel_values_videos"] = torch.randn(1, frames or 16, *plane)
    if "input_values" in wanted and main == "input_values":
        length = vars(config).get("max_length")
        spectrum = (2, length if isinstance(length, int) else 128, bins)
        given["input_values"] = torch.randn(spectrum if "num_mel_bins" in vars(config) else (2, *[1] * more, 4000))
    if "input_features" in wanted and (alone or main == "input_features"):
        whole = 2 * _first(config, "max_source_positions", otherwise=64)
        shape = (2, bins, whole) if more or "whisper" in config.model_type else (2, 64, bins)
        given["input_features"] = torch.randn(shape)
        if "input_features_mask" in wanted:
            given["input_features_mask"] = torch.ones(2, shape[2] if more else shape[1], dtype=torch.long)
    if "past_values" in wanted and "past_time_features" not in wanted:
        steps = _first(config, "context_length", otherwise=32)
        given["past_values"] = torch.randn(2, steps, _first(config, "num_input_channels", otherwise=1))
    if "decoder_input_ids" in wanted:
        given["decoder_input_ids"] = torch.randint(6, WORDS - 8, (2, LENGTH))
    if not given:
        raise CannotMake(f"no rule for its inputs: {', '.join(list(wanted)[:6])}")
    return given


def transformers_made(name: str) -> Made:
    from transformers.models.auto import modeling_auto as auto

    heads = (
        auto.MODEL_FOR_CAUSAL_LM_MAPPING,
        auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING,
        auto.MODEL_FOR_MASKED_LM_MAPPING,
        auto.MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING,
        auto.MODEL_MAPPING,
    )
    problems: dict[str, None] = {}
    for keeps, layers in _TRIES:
        try:
            config = _config(name, keeps, layers)
            if FOR_GRAPHS:
                config._attn_implementation, config.use_cache = "eager", False
        except Exception as error:
            problems[f"{type(error).__name__}: {error}"] = None
            continue
        for mapping in heads:
            kind = mapping.get(type(config), None)
            kind = kind[0] if isinstance(kind, (tuple, list)) else kind
            for more in (False, True) if kind else ():
                try:
                    not_too_large(parameters(lambda: kind(copy.deepcopy(config))))  # noqa: B023
                    torch.manual_seed(0)
                    model = kind(copy.deepcopy(config)).train()
                    inputs = _inputs(model, more)
                    with torch.no_grad():
                        model(**inputs)
                    return model, inputs
                except Exception as error:
                    problems[f"{kind.__name__}: {type(error).__name__}: {error}"] = None
    raise CannotMake("; ".join(problems)[:400])


LIBRARIES: dict[str, tuple[Callable[[], list[str]], Callable[[str], Made]]] = {
    "timm": (timm_names, timm_made),
    "torchvision": (torchvision_names, torchvision_made),
    "transformers": (transformers_names, transformers_made),
}
