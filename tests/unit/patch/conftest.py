"""These tests need torch alone: an installed torch_npu must not load itself, with or without CANN."""

import os

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")
