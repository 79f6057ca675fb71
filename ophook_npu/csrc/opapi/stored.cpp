#include "opapi/stored.h"

#include "opapi/fractal.h"

namespace sim::aclnn {

bool is_private(int format) {
  return is_fractal(format) || format == ACL_FORMAT_NC1HWC0 || format == ACL_FORMAT_FRACTAL_Z ||
         format == ACL_FORMAT_NDC1HWC0 || format == ACL_FRACTAL_Z_3D;
}

at::DimVector row_major(at::IntArrayRef sizes) {
  at::DimVector strides(sizes.size());
  int64_t stride = 1;
  for (size_t dim = sizes.size(); dim--; stride *= sizes[dim]) strides[dim] = stride;
  return strides;
}

// As it lies in memory; none for a view of a part.
static std::unique_ptr<aclTensor> as_stored(const aclTensor& tensor) {
  auto stored = std::make_unique<aclTensor>(tensor);
  if (is_private(tensor.format)) {
    stored->sizes = tensor.storage_sizes;
  } else if (tensor.offset || tensor.strides != row_major(tensor.sizes)) {
    return nullptr;
  }
  stored->strides = row_major(stored->sizes);
  stored->offset = 0;
  stored->format = ACL_FORMAT_ND;
  return stored;
}

Stored::Stored(const Row& row, c10::ArrayRef<Given> parameters) : given_(parameters) {
  bool blocks = false;
  each_tensor(parameters, [&](const Place&, const aclTensor& tensor, Use) { blocks |= is_private(tensor.format); });
  if (!blocks) [[likely]]
    return;
  const std::string_view kinds = row.parameters;
  const bool reads = kinds.find("In,") != kinds.npos || kinds.find("Ref,") != kinds.npos;
  if (!reads || !see(parameters)) seen_.clear();
}

bool Stored::see(c10::ArrayRef<Given> parameters) {
  for (const Given& one : parameters) {
    const In* input = std::get_if<In>(&one);
    const Out* output = std::get_if<Out>(&one);
    const bool plain = std::holds_alternative<Num>(one) || std::holds_alternative<MaybeNum>(one) ||
                       std::holds_alternative<float>(one) || std::holds_alternative<double>(one) ||
                       std::holds_alternative<Text>(one);
    if (!input && !output && !plain) return false;
    seen_.push_back(one);
    const aclTensor* tensor = input ? *input : output ? *output : nullptr;
    if (!tensor) continue;
    auto stored = as_stored(*tensor);
    if (!stored || stored->sizes.empty() || (!tensors_.empty() && tensors_[0]->sizes != stored->sizes)) return false;
    input ? seen_.back() = In{stored.get()} : seen_.back() = Out{stored.get()};
    tensors_.push_back(std::move(stored));
  }
  return true;
}

}  // namespace sim::aclnn
