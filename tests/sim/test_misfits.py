"""What does not fit is refused in the first phase, or the call runs: a tensor of another shape, another number."""

from __future__ import annotations

import json
from pathlib import Path

import interfaces
from test_every_operator import Worker
from test_rules import FAMILY, of_several_devices, simulated

PROGRAMS = Path(__file__).parent / "programs"

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


def test_what_does_not_fit_is_refused_in_the_first_phase() -> None:
    functions = [one for one in simulated(FAMILY) if not of_several_devices(one)]
    wrong, idle, known, tried = [], set(), set(), 0
    worker = Worker(PROGRAMS / "misfits.py")
    for function in functions:
        answer, became = worker.ask(function.name)
        if became:
            wrong.append(f"{function.name}: {became}")
            worker = Worker(PROGRAMS / "misfits.py")
            continue
        told = json.loads(answer)
        tried += told["tried"]
        idle |= set() if told["ran"] else {function.name}
        for parameter, was, came, error in told["late"]:
            name = f"{function.name}.{parameter}"
            if KNOWN_WHEN_IT_RUNS.get(name, error + " not") in error:
                known.add(name)
            else:
                wrong.append(f"{name} {was}: {came} gives {error}")
    worker.close()
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
    wrong, seen, tried = [], set(), 0
    worker = Worker(PROGRAMS / "graph_misfits.py")
    for of in sorted(interfaces.types()):
        answer, became = worker.ask(of)
        if became:
            wrong.append(f"{of}: {became}")
            worker = Worker(PROGRAMS / "graph_misfits.py")
            continue
        told = json.loads(answer)
        tried += told["tried"]
        for name, was, came, error in told["late"]:
            if name.endswith(" values"):
                continue
            if any(f"{of}.{name}" in names for names in TOLD_BY_VALUES.values()):
                seen.add(f"{of}.{name}")
            else:
                wrong.append(f"{of}.{name} {was}: {came} gives {error}")
    worker.close()
    assert not wrong, "\n".join(wrong)
    assert seen == {name for names in TOLD_BY_VALUES.values() for name in names}
    assert tried > 8000
