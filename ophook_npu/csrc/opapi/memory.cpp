#include "opapi/memory.h"

#include <algorithm>

namespace sim::aclnn {

// What phase 1 asks for. CANN copies tensors that are not contiguous into its workspace, and a kernel on the cube unit
// (one with a cubeMathType) has the 16 MiB there that the library's matrix functions are documented to need. Nothing
// here computes in it; but a caller who does not bring it would fail on a device.
constexpr uint64_t kCubeWorkspace = uint64_t(16) << 20;

static uint64_t copy_of(const aclTensor* tensor) {
  if (!tensor) return 0;
  int64_t elements = 1;
  bool contiguous = true;
  for (size_t i = tensor->sizes.size(); i-- > 0; elements *= tensor->sizes[i])
    contiguous &= tensor->sizes[i] == 1 || tensor->strides[i] == elements;
  if (contiguous || elements <= 0) return 0;
  const uint64_t bytes = of_4_bits(tensor->dtype) ? uint64_t(elements + 1) / 2
                                                  : uint64_t(elements) * c10::elementSize(stored_type(tensor->dtype));
  return (bytes + 511) / 512 * 512;
}

uint64_t workspace_of(c10::ArrayRef<Given> parameters) {
  uint64_t bytes = 0;
  for (const Given& given : parameters) {
    if (const In* input = std::get_if<In>(&given)) bytes += copy_of(*input);
    else if (const Out* output = std::get_if<Out>(&given)) bytes += copy_of(*output);
    else if (std::holds_alternative<Cube>(given)) bytes += kCubeWorkspace;
  }
  return bytes;
}

struct Bytes {
  const char* begin;
  size_t size;
};
// Those that a kernel reads or writes.
static Bytes bytes_of(const at::Tensor& tensor) {
  const at::TensorImpl* impl = tensor.unsafeGetTensorImpl();
  if (!tensor.defined() || impl->numel() == 0) return {};
  int64_t first = impl->storage_offset(), last = first;
  for (int64_t i = 0; i < impl->dim(); ++i) {
    const int64_t step = (impl->size(i) - 1) * impl->stride(i);
    (step < 0 ? first : last) += step;
  }
  const auto width = int64_t(impl->itemsize());
  const auto* data = static_cast<const char*>(impl->storage().data());
  return {data ? data + first * width : nullptr, size_t((last - first + 1) * width)};
}
static bool in_reach(const at::Tensor& tensor) {
  const Bytes bytes = bytes_of(tensor);
  return !bytes.size || sim_memory_reach(bytes.begin, bytes.size);
}
bool in_reach(const Held& parameter) {
  if (const auto* tensor = std::get_if<at::Tensor>(&parameter)) return in_reach(*tensor);
  if (const auto* space = std::get_if<Space>(&parameter)) return in_reach(space->memory);
  if (const auto* list = std::get_if<Tensors>(&parameter))
    return std::all_of(list->begin(), list->end(), [](const at::Tensor& one) { return in_reach(one); });
  return true;
}

void reachable(const char* parameter, const at::Tensor& tensor) {
  const Bytes bytes = bytes_of(tensor);
  const char* problem = sim_memory_problem(parameter, bytes.begin, bytes.size);
  SIM_CHECK(!problem, problem);
}

void tell_unreachable(const std::string& name, const Held& parameter) {
  if (const auto* tensor = std::get_if<at::Tensor>(&parameter)) reachable(name.c_str(), *tensor);
  if (const auto* space = std::get_if<Space>(&parameter)) reachable(name.c_str(), space->memory);
  if (const auto* list = std::get_if<Tensors>(&parameter))
    for (size_t i = 0; i < list->size(); ++i) reachable((name + "[" + std::to_string(i) + "]").c_str(), (*list)[i]);
}

}  // namespace sim::aclnn
