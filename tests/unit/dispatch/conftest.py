"""What these tests read of the dispatcher must not depend on which tests ran in this process before: a kernel of a hook
that is off stays in the tables while another thread lives, and chains and tables show it.
"""

import pytest

from ophook_npu import hooks


@pytest.fixture(autouse=True)
def _no_idle_kernels_of_hooks() -> None:
    hooks.purge()
