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

from tests.test_modeling_common import GenerationTesterMixin, ModelTesterMixin, ids_tensor, random_attention_mask  # noqa: E402
from transformers import AutoConfig, AutoModel, AutoModelForCausalLM, AutoModelForMaskedLM  # noqa: E402
from transformers.testing_utils import torch_device  # noqa: E402

SIZES = {
    "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 37, "vocab_size": 99,
    "max_position_embeddings": 64, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
}  # fmt: skip
ENCODER = {"hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1, "type_vocab_size": 2}
GROUPED = {"num_key_value_heads": 2, "head_dim": 8}
KINDS = {
    "gpt2": {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64},
    "llama": GROUPED, "mistral": GROUPED, "qwen2": GROUPED, "qwen3": GROUPED, "gemma": GROUPED,
    "gpt_neox": {}, "opt": {"ffn_dim": 37, "word_embed_proj_dim": 32},
    "bert": ENCODER, "roberta": {**ENCODER, "pad_token_id": 1, "bos_token_id": 0},
}  # fmt: skip


class Tester:
    batch_size, seq_length, is_training = 3, 7, True
    hidden_size, num_hidden_layers, num_attention_heads = 32, 2, 4

    def __init__(self, parent: unittest.TestCase) -> None:
        self.parent = parent

    def get_config(self):
        kind = self.parent.kind
        own = KINDS[kind]
        return AutoConfig.for_model(kind, **({**SIZES, **own} if kind != "gpt2" else {**own, "vocab_size": 99}))

    def prepare_config_and_inputs_for_common(self):
        ids = ids_tensor([self.batch_size, self.seq_length], 90) + 5
        mask = random_attention_mask([self.batch_size, self.seq_length]).to(torch_device)
        return self.get_config(), {"input_ids": ids, "attention_mask": mask}


class Common(ModelTesterMixin):
    kind = ""

    def setUp(self) -> None:
        self.model_tester = Tester(self)


for kind in KINDS:
    encoder = kind in ("bert", "roberta")
    heads = AutoModelForMaskedLM if encoder else AutoModelForCausalLM
    config = type(AutoConfig.for_model(kind))
    own = {"kind": kind, "all_model_classes": tuple(auto._model_mapping[config] for auto in (AutoModel, heads))}
    bases = (Common,) if encoder else (Common, GenerationTesterMixin)
    globals()[f"Test_{kind}"] = type(f"Test_{kind}", (*bases, unittest.TestCase), own)
del Common, ModelTesterMixin, GenerationTesterMixin  # pytest would take them for tests
