"""What does not fit is refused in the first phase, or the call runs: a tensor of another shape, another number."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import interfaces
import pytest
from ascend950 import SOC
from test_every_operator import Worker
from test_rules import FAMILY, IN_A_FORMAT, of_several_devices, simulated

from ophook_npu.sim import rules

# Only what memory holds, or the device, tells that these do not fit; a text is what the error says.
KNOWN_WHEN_IT_RUNS = {
    "aclnnBincount.minlength": "the output has shape",  # its largest number
    "aclnnRepeatInterleaveGrad.yGrad": "Number of indices (0)",  # how many times each is repeated
    "aclnnUniqueConsecutive.self": "the result of shape",  # how many of its slices are the same
    "aclnnUniqueDim.self": "the result of shape",
}
# No call of these runs here: their weights have a format, or their numbers may not all be zero.
NOT_TRIED = IN_A_FORMAT | {
    "aclnnApplyTopKTopP", "aclnnAttentionWorkerCombine", "aclnnFfnWorkerBatching", "aclnnHansDecode",
    "aclnnInplaceAttentionWorkerScheduler", "aclnnInplaceFfnWorkerScheduler", "aclnnInverse", "aclnnLinalgCholesky",
    "aclnnMoeUpdateExpert", "aclnnMultinomial", "aclnnMultinomialTensor",
}  # fmt: skip


def answers(program: str, names: Iterable[str], wrong: list[str], soc: str = "") -> Iterator[dict[str, Any]]:
    """What the program says of each; one that ends it is wrong."""
    worker = Worker(Path(__file__).parent / "programs" / program, soc)
    for name in names:
        answer, became = worker.ask(name)
        if became:
            wrong.append(f"{name}: {became}")
            worker = Worker(Path(__file__).parent / "programs" / program, soc)
        else:
            yield json.loads(answer)
    worker.close()


@pytest.mark.parametrize(("soc", "least"), [("", 15000), (SOC, 2000)])
def test_what_does_not_fit_is_refused_in_the_first_phase(soc: str, least: int) -> None:
    """Of the second product those that the first does not have."""
    family = rules.family(soc) if soc else FAMILY
    functions = [one.name for one in simulated(family) if not of_several_devices(one)]
    if soc:
        functions = [name for name in functions if FAMILY not in rules.table()[name].families]
    wrong: list[str] = []
    idle, known, tried = set(), set(), 0
    for told in answers("misfits.py", functions, wrong, soc):
        tried += told["tried"]
        idle |= set() if told["ran"] else {told["name"]}
        for parameter, was, came, error in told["late"]:
            name = f"{told['name']}.{parameter}"
            if KNOWN_WHEN_IT_RUNS.get(name, error + " not") in error:
                known.add(name)
            else:
                wrong.append(f"{name} {was}: {came} gives {error}")
    assert not wrong, "\n".join(wrong)
    assert known == {name for name in KNOWN_WHEN_IT_RUNS if name.partition(".")[0] in functions}
    assert idle == NOT_TRIED & {*functions}
    assert tried > least


# Of the graph engine's types: what the values of an input tell, and not its shape.
TOLD_BY_VALUES = {
    "places": (
        "Gather.x", "GatherElements.x", "GatherV2.x", "Index.x", "IndexByTensor.x", "IndexPutV2.x",
        "InplaceIndexAdd.var", "MaskedScatter.updates", "MoeFinalizeRouting.bias", "MoeFinalizeRoutingV2.bias",
        "MoeFinalizeRoutingV2.expanded_x", "Scatter.var", "ScatterElements.data", "ScatterNdAdd.var",
        "ScatterNdMax.var", "ScatterNdMin.var", "ScatterUpdate.var",
    ),
    "sizes, strides and an offset": ("AsStrided.x", "ViewCopy.dst", "ViewCopy.src"),
    "borders": ("FractionalMaxPoolGrad.orig_input",),
    "lengths and labels": (
        "CTCLoss.inputs", "RNNTLoss.acts",
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
