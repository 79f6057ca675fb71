"""torch.stft on the device, by one operator or by several, as torch_npu decides by the sizes."""

from __future__ import annotations

import pytest
import torch


@pytest.mark.parametrize("size", [(10,), (2, 400)], ids=str)
@pytest.mark.parametrize("onesided", [True, False])
@pytest.mark.parametrize("window", [True, False])
def test_stft(size: tuple[int, ...], onesided: bool, window: bool, same) -> None:
    torch.manual_seed(0)
    weights = torch.hann_window(8) if window else None

    def transform(signal: torch.Tensor) -> torch.Tensor:
        given = None if weights is None else weights.to(signal.device)
        result = torch.stft(signal, 8, window=given, center=False, onesided=onesided, return_complex=True)
        return torch.view_as_real(result)

    same(transform, torch.randn(size))
    same(transform, torch.randn(size, requires_grad=True))
