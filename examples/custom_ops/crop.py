"""Pillow's crop as an operator: it compiles without a graph break and has a gradient. Writes three pictures.

python examples/custom_ops/crop.py [FOLDER]
"""

import sys
from pathlib import Path

import torch
from PIL import Image

from ophook_npu import ops

BOX = [10, 10, 50, 50]


def save(picture: torch.Tensor, path: Path) -> None:
    pixels = (picture.detach().clamp(0, 1) * 255).round().to(torch.uint8).permute(1, 2, 0).numpy()
    Image.fromarray(pixels).resize((256, 256 * pixels.shape[0] // pixels.shape[1]), Image.Resampling.NEAREST).save(path)


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path.cwd()
    ramp = torch.linspace(0, 1, steps=64)
    picture = (torch.ones(3, 64, 64) * ramp * ramp.unsqueeze(-1)).requires_grad_()

    crop = torch.compile(lambda pic: ops.crop(pic, BOX), fullgraph=True, backend="aot_eager")
    part = crop(picture)
    part.sum().backward()

    save(picture, folder / "crop_picture.png")
    save(part, folder / "crop_part.png")
    save(picture.grad, folder / "crop_gradient.png")
    inside = picture.grad[:, 10:50, 10:50]
    print(
        f"part {list(part.shape)}; gradient inside the box {inside.unique().tolist()}, "
        f"sum {picture.grad.sum().item():g}"
    )


if __name__ == "__main__":
    main()
