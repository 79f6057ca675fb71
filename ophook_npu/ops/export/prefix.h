// The headers that an operator's NPU kernel includes and that take most of its compilation: included first, so that
// they can be compiled once for all operators (extension.py). They are torch's and torch_npu's alone.
#pragma once
#include <ATen/ATen.h>
#include <ATen/ExpandUtils.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/DeviceGuard.h>
#include <op_plugin/include/npu_cpp_extension.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>
