"""The table of formulas for torch_npu's operators."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ophook_npu.observe.references.activations import ACTIVATIONS
from ophook_npu.observe.references.attention_operators import ATTENTION
from ophook_npu.observe.references.experts import EXPERTS
from ophook_npu.observe.references.losses import LOSSES
from ophook_npu.observe.references.moves import MOVES
from ophook_npu.observe.references.norms import NORMS
from ophook_npu.observe.references.products import PRODUCTS
from ophook_npu.observe.references.rotary import ROTARY

_FAMILIES = (ATTENTION, NORMS, ROTARY, ACTIVATIONS, PRODUCTS, EXPERTS, MOVES, LOSSES)
NPU_REFERENCES: Mapping[str, Callable[..., Any]] = {
    f"npu::{name}": formula for family in _FAMILIES for name, formula in family.items()
}
