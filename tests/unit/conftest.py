"""Tests on the plain CPU: torch must not load torch_npu by itself, in this process or in those that tests start."""

import os

os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
