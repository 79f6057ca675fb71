"""What does not fit is refused in the first phase, or the call runs: a tensor of another shape, another number."""

from __future__ import annotations

import json
from pathlib import Path

from test_every_operator import Worker
from test_rules import FAMILY, of_several_devices, simulated

PROGRAM = Path(__file__).parent / "programs" / "misfits.py"

# Only what memory holds, or the device, tells that these do not fit; a text is what the error says.
KNOWN_WHEN_IT_RUNS: dict[str, tuple[str, ...]] = {
    # its largest number
    "aclnnBincount.minlength": ("the output has shape",),
    # where a row has no expert, the largest
    "aclnnMoeInitRoutingV2.expertNum": ("the output has shape",),
    "aclnnMoeInitRoutingQuantV2.expertNum": ("the output has shape",),
    # how many of its slices are the same
    "aclnnUniqueConsecutive.self": ("the result of shape",),
    "aclnnUniqueDim.self": ("the result of shape",),
}


def test_what_does_not_fit_is_refused_in_the_first_phase() -> None:
    functions = [one for one in simulated(FAMILY) if not of_several_devices(one)]
    wrong, tried = [], 0
    worker = Worker(PROGRAM)
    for function in functions:
        answer, became = worker.ask(function.name)
        if became:
            wrong.append(f"{function.name}: {became}")
            worker = Worker(PROGRAM)
            continue
        told = json.loads(answer)
        tried += told["tried"]
        wrong += [
            f"{function.name}.{name} {was}: {came} gives {error}"
            for name, was, came, error in told["late"]
            if not any(text in error for text in KNOWN_WHEN_IT_RUNS.get(f"{function.name}.{name}", ()))
        ]
    worker.close()
    assert not wrong, "\n".join(wrong)
    assert tried > 15000
