"""python repeated.py PROGRAM: runs it once for each rank that runs, as forks of this process, with the variables that
COMMON has as JSON (ophook_npu.sim.repeated.variables).
"""

import json
import os
import runpy
import sys
from pathlib import Path

from ranks import fork_ranks

if __name__ == "__main__":
    program = str(Path(__file__).with_name(sys.argv[1]))
    common = json.loads(os.environ["COMMON"])
    real = common["OPHOOK_SIM_REAL_RANKS"].split(",")
    device = fork_ranks(len(real))
    assert device is not None
    os.environ.update(common, RANK=real[device], LOCAL_RANK=str(device))
    sys.argv = [program]
    runpy.run_path(program, run_name="__main__")
