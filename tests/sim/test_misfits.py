"""What does not fit is refused in the first phase, or the call runs: a tensor of another shape, another number."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import interfaces
from test_every_operator import Worker
from test_rules import FAMILY, of_several_devices, simulated

# Only what memory holds, or the device, tells that these do not fit; a text is what the error says.
KNOWN_WHEN_IT_RUNS = {
    "aclnnBincount.minlength": "the output has shape",  # its largest number
    "aclnnUniqueConsecutive.self": "the result of shape",  # how many of its slices are the same
    "aclnnUniqueDim.self": "the result of shape",
}
# No call of these runs here.
NOT_TRIED = {
    "its numbers may not all be zero": (
        "ApplyTopKTopP", "AttentionWorkerCombine", "FfnWorkerBatching", "HansDecode", "Inverse", "LinalgCholesky",
        "Multinomial", "MultinomialTensor",
    ),
    "its weight has a format that a call of accepted_calls.txt cannot say": (
        "FusedQuantMatmulWeightNz", "QuantMatmulReduceSumWeightNz", "QuantMatmulWeightNz",
        "TransposeBatchMatMulWeightNz",
    ),
}  # fmt: skip


def answers(program: str, names: Iterable[str], wrong: list[str]) -> Iterator[dict[str, Any]]:
    """What the program says of each; one that ends it is wrong."""
    worker = Worker(Path(__file__).parent / "programs" / program)
    for name in names:
        answer, became = worker.ask(name)
        if became:
            wrong.append(f"{name}: {became}")
            worker = Worker(Path(__file__).parent / "programs" / program)
        else:
            yield json.loads(answer)
    worker.close()


def test_what_does_not_fit_is_refused_in_the_first_phase() -> None:
    functions = [one.name for one in simulated(FAMILY) if not of_several_devices(one)]
    wrong: list[str] = []
    idle, known, tried = set(), set(), 0
    for told in answers("misfits.py", functions, wrong):
        tried += told["tried"]
        idle |= set() if told["ran"] else {told["name"]}
        for parameter, was, came, error in told["late"]:
            name = f"{told['name']}.{parameter}"
            if KNOWN_WHEN_IT_RUNS.get(name, error + " not") in error:
                known.add(name)
            else:
                wrong.append(f"{name} {was}: {came} gives {error}")
    assert not wrong, "\n".join(wrong)
    assert known == set(KNOWN_WHEN_IT_RUNS) and idle == {
        f"aclnn{name}" for names in NOT_TRIED.values() for name in names
    }
    assert tried > 15000


# Of the graph engine's types: what the values of an input tell, and not its shape.
TOLD_BY_VALUES = {
    "places": (
        "Gather.x", "GatherElements.x", "GatherV2.x", "Index.x", "IndexByTensor.x", "IndexPutV2.x",
        "InplaceIndexAdd.var", "MaskedScatter.updates", "MoeFinalizeRouting.bias", "MoeFinalizeRoutingV2.bias",
        "MoeFinalizeRoutingV2.expanded_x", "Scatter.var", "ScatterElements.data", "ScatterNdAdd.var",
        "ScatterUpdate.var",
    ),
    "sizes, strides and an offset": ("AsStrided.x", "ViewCopy.dst", "ViewCopy.src"),
    "lengths and labels": (
        "CTCLossV2.log_probs", "CTCLossV2.targets", "CTCLossV2Grad.log_alpha", "CTCLossV2Grad.log_probs",
        "CTCLossV2Grad.targets",
    ),
}  # fmt: skip


def test_what_does_not_fit_in_a_graph_is_refused_by_inference() -> None:
    """But for values, which it need not know; none ends the process."""
    by_values = {name for names in TOLD_BY_VALUES.values() for name in names}
    wrong: list[str] = []
    seen, tried = set(), 0
    for told in answers("graph_misfits.py", sorted(interfaces.types()), wrong):
        tried += told["tried"]
        for port, was, came, error in told["late"]:
            name = f"{told['name']}.{port}"
            if name in by_values:
                seen.add(name)
            elif not port.endswith(" values"):
                wrong.append(f"{name} {was}: {came} gives {error}")
    assert not wrong, "\n".join(wrong)
    assert seen == by_values
    assert tried > 8000
