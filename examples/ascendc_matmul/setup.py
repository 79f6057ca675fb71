"""Build binding.cpp: `ophook-npu run -- setup.py build_ext --inplace`."""

from pathlib import Path

import torch
import torch_npu
from setuptools import setup
from torch.utils.cpp_extension import BuildExtension
from torch_npu.utils.cpp_extension import NpuExtension

THIRD_PARTY = Path(torch_npu.__file__).parent / "include" / "third_party"
# torch_npu's headers test it and nothing defines it: V2R13 for torch 2.13.
VERSION = "-DCURRENT_VERSION=V{}R{}".format(*torch.__version__.split(".")[:2])
INCLUDE = [str(THIRD_PARTY / folder) for folder in ("op-plugin", "acl/inc", "hccl/inc")]

setup(
    name="ascendc_matmul",
    ext_modules=[
        NpuExtension(
            "ascendc_matmul", ["binding.cpp"], include_dirs=INCLUDE, extra_compile_args=["-O1", "-g0", VERSION]
        )
    ],
    cmdclass={"build_ext": BuildExtension.with_options(use_ninja=False)},
)
