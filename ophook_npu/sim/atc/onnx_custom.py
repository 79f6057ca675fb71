"""Operators that are none of ONNX's: those of torch_npu's exporter, in the domain ``npu``."""

from __future__ import annotations

from ophook_npu.sim.atc.onnx_node import Convert

OPERATORS: dict[tuple[str, str], Convert] = {}
