"""What does not fit is refused in the first phase, or the call runs: a tensor of another shape, another number."""

from __future__ import annotations

import json
from pathlib import Path

from test_every_operator import Worker
from test_rules import FAMILY, of_several_devices, simulated

PROGRAM = Path(__file__).parent / "programs" / "misfits.py"

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
    worker = Worker(PROGRAM)
    for function in functions:
        answer, became = worker.ask(function.name)
        if became:
            wrong.append(f"{function.name}: {became}")
            worker = Worker(PROGRAM)
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
