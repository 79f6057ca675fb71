"""Whole trainings on `npu:0`: the CPU's losses, step for step."""

import copy

import pytest
import torch
import torch.nn.functional as F
from torch import nn


def train(
    model: nn.Module, device: str, inputs: list[torch.Tensor], targets: list[torch.Tensor], make_optimizer
) -> list[float]:
    model = copy.deepcopy(model).to(device)
    optimizer = make_optimizer(model.parameters())
    losses = []
    for x, y in zip(inputs, targets, strict=True):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x.to(device)).flatten(0, -2), y.to(device).flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    return losses


class ConvNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.LeakyReLU(), nn.AvgPool2d(2),
            nn.Conv2d(16, 16, 3, groups=4), nn.GroupNorm(4, 16), nn.SiLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
            nn.Linear(16, 5),
        )  # fmt: skip

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.body(x)


class Transformer(nn.Module):
    """Two blocks: token and position embedding, causal attention, layer norm, GELU."""

    def __init__(self, words: int = 50, width: int = 32, heads: int = 4, length: int = 16) -> None:
        super().__init__()
        self.words, self.places, self.heads = nn.Embedding(words, width), nn.Embedding(length, width), heads
        self.blocks = nn.ModuleList(
            nn.ModuleDict({
                "before": nn.LayerNorm(width), "qkv": nn.Linear(width, 3 * width), "join": nn.Linear(width, width),
                "after": nn.LayerNorm(width),
                "mlp": nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)),
            }) for _ in range(2)
        )  # fmt: skip
        self.out = nn.Linear(width, words)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.words(x) + self.places(torch.arange(x.shape[1], device=x.device))
        for block in self.blocks:
            q, k, v = block["qkv"](block["before"](y)).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
            attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            y = y + block["join"](attended.transpose(1, 2).flatten(2))
            y = y + block["mlp"](block["after"](y))
        return self.out(y)


OPTIMIZERS = {
    "SGD": lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, weight_decay=1e-4, nesterov=True),
    "Adam": lambda p: torch.optim.Adam(p, 1e-2),
    "AdamW": lambda p: torch.optim.AdamW(p, 1e-2),
    "AdamW amsgrad": lambda p: torch.optim.AdamW(p, 1e-2, amsgrad=True),
    "AdamW single": lambda p: torch.optim.AdamW(p, 1e-2, foreach=False),
    "RMSprop": lambda p: torch.optim.RMSprop(p, 1e-2),
    "Adagrad": lambda p: torch.optim.Adagrad(p, 1e-2),
    "Adadelta": lambda p: torch.optim.Adadelta(p),
    "NAdam": lambda p: torch.optim.NAdam(p, 1e-2),
}


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_conv_net(optimizer: str) -> None:
    torch.manual_seed(0)
    model = ConvNet()
    inputs = [torch.randn(4, 3, 16, 16) for _ in range(3)]
    targets = [torch.randint(5, (4,)) for _ in range(3)]
    want = train(model, "cpu", inputs, targets, OPTIMIZERS[optimizer])
    got = train(model, "npu:0", inputs, targets, OPTIMIZERS[optimizer])
    assert got == pytest.approx(want, rel=1e-4)


@pytest.mark.parametrize("optimizer", ["SGD", "AdamW"])
def test_transformer(optimizer: str) -> None:
    torch.manual_seed(0)
    model = Transformer()
    inputs = [torch.randint(50, (3, 16)) for _ in range(3)]
    want = train(model, "cpu", inputs, inputs, OPTIMIZERS[optimizer])
    got = train(model, "npu:0", inputs, inputs, OPTIMIZERS[optimizer])
    assert got == pytest.approx(want, rel=1e-4)
    assert got[2] < got[0]


def test_autocast_training() -> None:
    torch.manual_seed(0)
    model = ConvNet()
    inputs, targets = [torch.randn(4, 3, 16, 16) for _ in range(3)], [torch.randint(5, (4,)) for _ in range(3)]
    want = train(model, "cpu", inputs, targets, OPTIMIZERS["SGD"])
    on_device = copy.deepcopy(model).npu()
    optimizer = OPTIMIZERS["SGD"](on_device.parameters())
    scaler = torch.amp.GradScaler("npu", init_scale=2.0**12)
    got = []
    for x, y in zip(inputs, targets, strict=True):
        optimizer.zero_grad()
        with torch.autocast("npu", torch.float16):
            out = on_device(x.npu())
            loss = F.cross_entropy(out, y.npu())
        assert out.dtype == torch.float16
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(on_device.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        got.append(loss.item())
    assert got == pytest.approx(want, rel=2e-2)


@pytest.mark.parametrize("bad", [float("inf"), float("nan")])
def test_grad_scaler_skips_a_step_with_infinities(bad: float) -> None:
    parameter = nn.Parameter(torch.ones(4, device="npu:0"))
    optimizer = torch.optim.SGD([parameter], 1.0)
    scaler = torch.amp.GradScaler("npu", init_scale=8.0, growth_interval=2)

    def step(factor: float) -> None:
        optimizer.zero_grad()
        scaler.scale((parameter * factor).sum()).backward()
        scaler.step(optimizer)
        scaler.update()

    step(bad)
    assert scaler.get_scale() == 4.0
    assert parameter.detach().cpu().tolist() == [1.0] * 4
    step(0.5)
    step(0.5)
    assert parameter.detach().cpu().tolist() == [0.0] * 4
    assert scaler.get_scale() == 8.0  # two good steps: it grows


@pytest.mark.parametrize("kind", ["fused AdamW", "fused SGD"])
def test_fused_optimizer(kind: str) -> None:
    torch.manual_seed(0)
    start = torch.randn(5, 3)

    def run(device: str, fused: bool) -> torch.Tensor:
        parameter = nn.Parameter(start.to(device))
        if kind == "fused AdamW":
            optimizer = torch.optim.AdamW([parameter], 0.1, fused=fused)
        else:
            optimizer = torch.optim.SGD([parameter], 0.1, momentum=0.9, weight_decay=0.01, fused=fused)
        for _ in range(3):
            optimizer.zero_grad()
            (parameter**2).sum().backward()
            optimizer.step()
        return parameter.detach().cpu()

    torch.testing.assert_close(run("npu:0", True), run("cpu", False), rtol=1e-4, atol=1e-5)
