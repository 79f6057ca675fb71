"""Sequences are padded on the left: their mask is made with the data, though attention is causal."""

from types import SimpleNamespace

from taken import take

taken = take(
    "mindspeed_llm/features_manager/megatron_basic/training_basic.py",
    "print_rank0_by_args",
    "TrainingBasicFeature.pre_validate_args",
)
arguments = SimpleNamespace(
    use_legacy_models=False, reset_attention_mask=False, position_embedding_type="rope", use_flash_attn=True,
    attention_mask_type="causal", tokenizer_padding_side="left", context_parallel_algo="", neat_pack=False,
    pipeline_model_parallel_size=1, rank=0,
)  # fmt: skip
taken.pre_validate_args(SimpleNamespace(), arguments)
assert arguments.create_attention_mask_in_dataloader, "no mask is made for what is padded"
