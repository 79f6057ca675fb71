"""A rank has half of a sequence, and the pictures of the whole one: each place takes one of its own."""

from types import SimpleNamespace

import torch
import torch_npu  # noqa: F401
from taken import take

tokens, wide, picture = 8, 4, 7
seen = []
taken = take(
    "mindspeed_mm/models/vlm_model.py",
    "VLMModel.forward",
    scatter_to_sequence_parallel_region=lambda x: x[: tokens // 2],
    prepare_positionsids_mask_for_llm=lambda attention_mask, position_ids, **more: (attention_mask, position_ids),
)
ids = torch.tensor([[1, picture, picture, 2, 3, picture, picture, 4]], device="npu")


def decoder(decoder_input: torch.Tensor, **more: object) -> torch.Tensor:
    seen.append(decoder_input)
    return decoder_input


decoder.pre_process, decoder.post_process = True, False
decoder.embedding = lambda **given: torch.zeros(tokens // 2, 1, wide, device="npu")
pictures = torch.arange(1, 5, device="npu").float()[:, None].expand(4, wide)
model = SimpleNamespace(
    add_image_encoder=True, image_encoder=SimpleNamespace(pre_process=True, post_process=True), add_text_decoder=True,
    text_decoder=decoder, config=SimpleNamespace(sequence_parallel=True), img_context_token_id=picture,
)  # fmt: skip
taken.forward(model, ids, llm_only=True, vit_embeds=pictures)
assert seen[0][:, 0, 0].cpu().tolist() == [0, 1, 2, 0]
