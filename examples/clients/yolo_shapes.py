"""Pictures with rectangles and discs, and their labels, for ultralytics; then what its training left.

Arguments: make, or read OUT RUN…
"""

import csv
import json
import random
import sys
from pathlib import Path

import torch
from PIL import Image, ImageDraw

if sys.argv[1] == "make":
    draw = random.Random(0)
    for part, count in (("train", 16), ("val", 8)):
        pictures, labels = Path("shapes/images", part), Path("shapes/labels", part)
        pictures.mkdir(parents=True)
        labels.mkdir(parents=True)
        for i in range(count):
            picture = Image.new("RGB", (64, 64), tuple(draw.randrange(60) for _ in range(3)))
            pen, lines = ImageDraw.Draw(picture), []
            for kind in range(2):
                wide, high = draw.randrange(16, 30), draw.randrange(16, 30)
                x, y = draw.randrange(64 - wide), draw.randrange(64 - high)
                shape = (pen.rectangle, pen.ellipse)[kind]
                shape((x, y, x + wide, y + high), fill=tuple(draw.randrange(120, 256) for _ in range(3)))
                lines.append(f"{kind} {(x + wide / 2) / 64} {(y + high / 2) / 64} {wide / 64} {high / 64}\n")
            picture.save(pictures / f"{i}.png")
            (labels / f"{i}.txt").write_text("".join(lines))
    Path("shapes.yaml").write_text(
        f"path: {Path('shapes').resolve()}\ntrain: images/train\nval: images/val\nnames: [rectangle, disc]\n"
    )
else:
    results: dict[str, object] = {}
    for name in sys.argv[3:]:
        run = Path(name)
        if (run / "results.csv").is_file():
            with (run / "results.csv").open() as file:
                rows = list(csv.DictReader(file))
            results |= {f"{run.name} {key}": [float(row[key]) for row in rows] for key in rows[0] if key != "time"}
            model = torch.load(run / "weights/last.pt", weights_only=False)
            weights = (model["ema"] or model["model"]).float().state_dict()
            results["weights"] = {key: weights[key].double().mean().item() for key in sorted(weights)}
        for file in sorted(run.glob("labels/*.txt")):
            results[f"{run.name} {file.name}"] = sorted(
                [[float(x) for x in line.split()] for line in file.read_text().splitlines()], key=lambda row: -row[-1]
            )
    print({key: value for key, value in results.items() if key != "weights"})
    Path(sys.argv[2]).write_text(json.dumps(results))
