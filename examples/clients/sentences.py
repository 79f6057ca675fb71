"""sentence-transformers: a tiny BERT trained on pairs, embeddings, search, a cross encoder. Argument: OUT"""

import itertools
import json
import sys

import torch
from sentence_transformers import CrossEncoder, InputExample, SentenceTransformer, losses, util
from sentence_transformers.models import Pooling, Transformer
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from torch.utils.data import DataLoader
from transformers import BertConfig, BertForSequenceClassification, BertModel, PreTrainedTokenizerFast, set_seed

texts = [
    "a cat sits on the mat",
    "the dog eats fish",
    "a red car drives fast",
    "the blue car runs slow",
    "the cat eats",
]
words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *sorted({word for text in texts for word in text.split()})]
plain = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="[UNK]"))
plain.pre_tokenizer = pre_tokenizers.Whitespace()
plain.post_processor = processors.TemplateProcessing(
    single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
)
special = {f"{kind}_token": f"[{kind.upper()}]" for kind in ("pad", "unk", "cls", "sep", "mask")}
tokenizer = PreTrainedTokenizerFast(tokenizer_object=plain, model_max_length=32, **special)
config = BertConfig(
    vocab_size=len(words), hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64,
    max_position_embeddings=32, hidden_dropout_prob=0, attention_probs_dropout_prob=0, num_labels=1,
)  # fmt: skip
set_seed(0)
BertModel(config).save_pretrained("bert")
BertForSequenceClassification(config).save_pretrained("cross")
for folder in ("bert", "cross"):
    tokenizer.save_pretrained(folder)

transformer = Transformer("bert")
model = SentenceTransformer(modules=[transformer, Pooling(transformer.get_embedding_dimension())])
results = {"before": model.encode(texts).tolist()}
pairs = [InputExample(texts=[a, b], label=float(i % 3) / 2) for i, (a, b) in enumerate(itertools.pairwise(texts))]
set_seed(1)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
loss = losses.CosineSimilarityLoss(model)
for batch in DataLoader(pairs, batch_size=2, collate_fn=model.smart_batching_collate):
    features, labels = batch
    features = [util.batch_to_device(feature, model.device) for feature in features]
    value = loss(features, labels.to(model.device))
    value.backward()
    optimizer.step()
    optimizer.zero_grad()
    results.setdefault("loss", []).append(value.item())
after = model.encode(texts, normalize_embeddings=True, convert_to_tensor=True)
results["after"] = after.tolist()
results["similar"] = model.similarity(after, after).tolist()
results["found"] = [[hit["corpus_id"] for hit in hits] for hits in util.semantic_search(after, after, top_k=1)]
results["cross"] = CrossEncoder("cross").predict(list(zip(texts, texts[::-1], strict=True))).tolist()
print(model.device, results["loss"], results["cross"])
with open(sys.argv[1], "w") as file:
    json.dump(results, file)
