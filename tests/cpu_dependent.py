"""Tests whose outcome could depend on the CPU: they compare what kernels of torch (ATen, oneDNN, MKL) compute.

CI runs them a second time with these libraries held back: scripts/test_cpus.sh --numbers.
"""

import functools
from pathlib import Path

FILES = (
    "unit/dispatch/test_pages.py",
    "unit/dispatch/test_explain*.py",
    "unit/hooks/test_contract.py",
    "unit/hooks/test_modules_and_backend.py",
    "unit/observe/test_bisect.py",
    "unit/observe/test_capture.py",
    "unit/observe/test_compare.py",
    "unit/observe/test_compiled_graphs.py",
    "unit/observe/test_digest.py",
    "unit/observe/test_record_function.py",
    "unit/observe/test_npu_formulas.py",
    "unit/ops/test_add_custom.py",
    "unit/ops/test_compiled_training.py",
    "sim/test_aclnn_*.py",
    "sim/test_compare_fused.py",
    "sim/test_ge_convolution.py",
    "sim/test_ge_generated.py",
    "sim/test_ge_graphs.py",
    "sim/test_ge_indexing.py",
    "sim/test_ge_models.py",
    "sim/test_hooks_npu.py",
    "sim/test_model_zoo.py",
    "sim/test_observe*.py",
    "sim/test_ops_cases.py",
    "sim/test_swap.py",
)
# Of these, files that compare no numbers of the kernels: codes, handles, places of whole numbers.
OTHERS = ("sim/test_aclnn_errors.py", "sim/test_aclnn_handles.py", "sim/test_aclnn_slices.py")


@functools.cache  # asked for each test of a file
def compares_numbers(path: Path) -> bool:
    """Whether tests of this file, given as a whole path, depend on the CPU."""
    here = Path(__file__).parent
    return any(path.match(str(here / one)) for one in FILES) and not any(path.match(str(here / one)) for one in OTHERS)
