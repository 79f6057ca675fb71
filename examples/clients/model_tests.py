"""transformers' own common tests of models (ModelTesterMixin, of its source distribution) for tiny models of ten kinds.

pytest model_tests.py with TRANSFORMERS_SOURCES, the unpacked source distribution. Two files that its
test_modeling_common imports are not in there: the tests of exporters and of generation. Empty classes take their place.
"""

import os
import sys
import types
import unittest

sys.path.insert(0, os.environ["TRANSFORMERS_SOURCES"])
for name, mixin in (("exporters.test_export", "ExportTesterMixin"), ("generation.test_utils", "GenerationTesterMixin")):
    package = sys.modules.setdefault(f"tests.{name.split('.')[0]}", types.ModuleType(f"tests.{name.split('.')[0]}"))
    package.__path__ = []
    module = sys.modules[f"tests.{name}"] = types.ModuleType(f"tests.{name}")
    setattr(module, mixin, type(mixin, (), {}))

from tests.test_modeling_common import (  # noqa: E402
    GenerationTesterMixin,
    ModelTesterMixin,
    floats_tensor,
    ids_tensor,
    random_attention_mask,
)
from transformers import (  # noqa: E402
    AutoConfig,
    AutoModel,
    AutoModelForCausalLM,
    AutoModelForImageClassification,
    AutoModelForMaskedLM,
    AutoModelForSeq2SeqLM,
)
from transformers.testing_utils import torch_device  # noqa: E402

SIZES = {
    "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 37, "vocab_size": 99,
    "max_position_embeddings": 64, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
}  # fmt: skip
ENCODER = {"hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1, "type_vocab_size": 2}
GROUPED = {"num_key_value_heads": 2, "head_dim": 8}
IMAGES = {
    "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 37, "image_size": 8,
    "patch_size": 2, "num_channels": 3,
}  # fmt: skip
# What is not as in SIZES; for those of OTHER, everything.
KINDS = {
    "gpt2": {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64, "vocab_size": 99},
    "llama": GROUPED, "qwen2": GROUPED, "gemma": GROUPED,
    "mixtral": {**GROUPED, "intermediate_size": 32, "num_local_experts": 4, "num_experts_per_tok": 2},
    "bert": ENCODER, "roberta": {**ENCODER, "pad_token_id": 1, "bos_token_id": 0},
    "t5": {
        "vocab_size": 99, "d_model": 32, "d_kv": 8, "d_ff": 37, "num_layers": 2, "num_decoder_layers": 2,
        "num_heads": 4, "relative_attention_num_buckets": 8, "pad_token_id": 0, "eos_token_id": 1,
        "bos_token_id": 0, "decoder_start_token_id": 0,
    },
    "vit": {**IMAGES, "hidden_act": "gelu"},
    "clip_vision_model": {**IMAGES, "projection_dim": 32},
}  # fmt: skip
VISION = ("vit", "clip_vision_model")
OTHER = ("gpt2", "t5", *VISION)
HEADS = {
    "bert": AutoModelForMaskedLM, "roberta": AutoModelForMaskedLM, "t5": AutoModelForSeq2SeqLM,
    "vit": AutoModelForImageClassification, "clip_vision_model": None,
}  # fmt: skip
# Tests that hold for text models only, or for models with a base: the project's own files replace or skip them too.
LEFT_OUT = {"t5": ("test_model_base_model_prefix",), **dict.fromkeys(VISION, ("test_model_get_set_embeddings",))}


class Tester:
    batch_size, seq_length, is_training = 3, 7, True
    hidden_size, num_hidden_layers, num_attention_heads = 32, 2, 4

    def __init__(self, parent: unittest.TestCase) -> None:
        self.parent = parent
        if parent.kind in VISION:
            self.mask_length, self.num_masks = 16, 8
            self.seq_length = self.mask_length + 1  # patches, and the token of the class
        elif parent.kind == "t5":
            self.is_encoder_decoder = True
            self.encoder_seq_length = self.decoder_seq_length = self.seq_length

    def get_config(self):
        kind = self.parent.kind
        return AutoConfig.for_model(kind, **({} if kind in OTHER else SIZES) | KINDS[kind])

    def prepare_config_and_inputs_for_common(self):
        kind, ids = self.parent.kind, ids_tensor([self.batch_size, 7], 80) + 5
        if kind in VISION:
            return self.get_config(), {"pixel_values": floats_tensor([self.batch_size, 3, 8, 8])}
        mask = random_attention_mask([self.batch_size, 7]).to(torch_device)
        inputs = {"input_ids": ids, "attention_mask": mask}
        if kind == "t5":
            inputs |= {"decoder_input_ids": ids, "decoder_attention_mask": mask}
        return self.get_config(), inputs

    def prepare_config_and_inputs(self):
        config, inputs = self.prepare_config_and_inputs_for_common()
        return config, *inputs.values()


class Common(ModelTesterMixin):
    kind = ""

    def setUp(self) -> None:
        self.model_tester = Tester(self)


for kind in KINDS:
    heads = HEADS.get(kind, AutoModelForCausalLM)
    config = type(AutoConfig.for_model(kind))
    autos = (AutoModel, heads) if heads else (AutoModel,)
    own = {"kind": kind, "all_model_classes": tuple(auto._model_mapping[config] for auto in autos)}
    own |= dict.fromkeys(LEFT_OUT.get(kind, ()))
    own |= {"is_encoder_decoder": kind == "t5", "test_resize_embeddings": kind not in VISION}
    bases = (Common,) if kind in ("bert", "roberta", *VISION) else (Common, GenerationTesterMixin)
    globals()[f"Test_{kind}"] = type(f"Test_{kind}", (*bases, unittest.TestCase), own)
del Common, ModelTesterMixin, GenerationTesterMixin  # pytest would take them for tests
