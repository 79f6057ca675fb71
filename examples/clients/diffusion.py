"""A tiny diffusion model with diffusers: five training steps, then a picture from a pipeline. Arguments: KIND OUT"""

import json
import sys

import torch
from diffusers import (
    AutoencoderKL,
    DDIMScheduler,
    DDPMPipeline,
    DDPMScheduler,
    DiTPipeline,
    DiTTransformer2DModel,
    UNet2DConditionModel,
    UNet2DModel,
)

kind, out = sys.argv[1:]
device = "npu" if hasattr(torch, "npu") and torch.npu.is_available() else "cpu"
torch.manual_seed(0)
norm = {"norm_num_groups": 8}
if kind == "unet":
    model = UNet2DModel(
        sample_size=16, in_channels=3, out_channels=3, layers_per_block=1, block_out_channels=(16, 32),
        down_block_types=("DownBlock2D", "AttnDownBlock2D"), up_block_types=("AttnUpBlock2D", "UpBlock2D"),
        attention_head_dim=8, **norm,
    )  # fmt: skip
elif kind == "unet-text":
    model = UNet2DConditionModel(
        sample_size=16, in_channels=3, out_channels=3, layers_per_block=1, block_out_channels=(16, 32),
        down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"), up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"),
        attention_head_dim=8, cross_attention_dim=24, **norm,
    )  # fmt: skip
else:
    model = DiTTransformer2DModel(
        sample_size=16, in_channels=3, out_channels=6, num_attention_heads=2, attention_head_dim=16, num_layers=2,
        patch_size=2, num_embeds_ada_norm=1000, norm_num_groups=4,
    )  # fmt: skip
    for parameter in model.parameters():  # the last layers begin as zeros, which would hide the others
        if not parameter.any():
            torch.nn.init.normal_(parameter, std=0.02)
model.to(device)
random = torch.Generator().manual_seed(1)
pictures = torch.rand(4, 3, 16, 16, generator=random) * 2 - 1
scheduler = DDPMScheduler(num_train_timesteps=100)
model.train(
    kind != "dit"
)  # in training, DiT leaves classes out at random, and each device has random numbers of its own
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
losses = []
for _ in range(5):
    noise = torch.randn(pictures.shape, generator=random)
    steps = torch.randint(100, (4,), generator=random)
    noisy = scheduler.add_noise(pictures, noise, steps).to(device)
    extra = {}
    if kind == "unet-text":
        extra["encoder_hidden_states"] = torch.randn(4, 7, 24, generator=random).to(device)
    elif kind == "dit":
        extra["class_labels"] = torch.tensor([0, 1, 2, 3], device=device)
    predicted = model(noisy, steps.to(device), **extra).sample[:, :3]
    loss = torch.nn.functional.mse_loss(predicted, noise.to(device))
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    losses.append(loss.item())
results: dict[str, object] = {"losses": losses}
model.eval()
seed = torch.Generator().manual_seed(2)
if kind == "unet":
    pipe = DDPMPipeline(unet=model, scheduler=scheduler).to(device)
    pipe.set_progress_bar_config(disable=True)
    results["picture"] = pipe(generator=seed, num_inference_steps=5, output_type="np").images.flatten().tolist()
elif kind == "dit":
    torch.manual_seed(3)
    vae = AutoencoderKL(
        latent_channels=3, block_out_channels=(8,), norm_num_groups=4,
        down_block_types=("DownEncoderBlock2D",), up_block_types=("UpDecoderBlock2D",),
    )  # fmt: skip
    pipe = DiTPipeline(transformer=model, vae=vae, scheduler=DDIMScheduler()).to(device)
    pipe.set_progress_bar_config(disable=True)
    pictures = pipe([1, 2], generator=seed, num_inference_steps=5, output_type="np").images
    results["picture"] = pictures.flatten().tolist()
else:
    sampler = DDIMScheduler(num_train_timesteps=100)
    sampler.set_timesteps(5)
    latents = torch.randn(2, 3, 16, 16, generator=seed).to(device)
    text = torch.randn(2, 7, 24, generator=seed).to(device)
    with torch.no_grad():
        for step in sampler.timesteps:
            latents = sampler.step(model(latents, step, encoder_hidden_states=text).sample, step, latents).prev_sample
    results["picture"] = latents.flatten().tolist()
print(device, losses)
with open(out, "w") as file:
    json.dump(results, file)
