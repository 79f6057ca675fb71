#include "opapi/wider.h"

#include <algorithm>
#include <array>

namespace sim::aclnn {
namespace {

bool is_8_bits(at::ScalarType type) { return c10::isFloat8Type(type) || type == at::ScalarType::Float8_e8m0fnu; }
bool is_real_number(at::ScalarType type) { return at::isFloatingType(type) && !is_8_bits(type); }
bool is_whole(at::ScalarType type) { return at::isIntegralType(type, true); }

template <typename See>
void each(const HeldList& held, See see) {
  for (size_t i = 0; i < held.size(); ++i) {
    if (const auto* tensor = std::get_if<at::Tensor>(&held[i]); tensor && tensor->defined()) see(i, *tensor);
    if (const auto* list = std::get_if<Tensors>(&held[i]))
      for (const at::Tensor& one : *list)
        if (one.defined()) see(i, one);
  }
}

using Wider = at::ScalarType (*)(at::ScalarType, at::ScalarType);

// One type for all floating-point numbers, and types of ATen's full support for the others.
at::ScalarType common(at::ScalarType type, at::ScalarType real) {
  if (is_real_number(type)) return real;
  if (at::isComplexType(type)) return real == at::kDouble ? at::kComplexDouble : at::kComplexFloat;
  const bool bare = type == at::kUInt16 || type == at::kUInt32 || type == at::kUInt64;
  return bare ? at::kLong : type;
}
// Of whole numbers what ATen computes of floating-point numbers only. Of 64 bits some are not exact there.
at::ScalarType as_double(at::ScalarType type, at::ScalarType) {
  return is_whole(type) || is_real_number(type) ? at::kDouble : type;
}

// Complex numbers, where some are.
at::ScalarType as_complex(at::ScalarType type, at::ScalarType real) {
  return is_real_number(type) || at::isComplexType(type) ? at::toComplexType(real) : type;
}
// Of 8 bits, where they are only moved: each is exact in float.
at::ScalarType of_8_bits(at::ScalarType type, at::ScalarType) { return is_8_bits(type) ? at::kFloat : type; }

at::Tensor in_type(const at::Tensor& tensor, at::ScalarType type) {
  if (!tensor.defined() || tensor.scalar_type() == type) return tensor;
  at::Tensor wide = tensor.to(type);
  const bool sign = tensor.scalar_type() == at::kUInt64 && type == at::kLong && wide.numel();
  SIM_CHECK(!sign || wide.min().item<int64_t>() >= 0, "numbers of UINT64 from 2^63 on are not simulated here");
  return wide;
}

bool is_output(const Row& row, const GivenList& given, size_t parameter) {
  if (std::holds_alternative<Out>(given[parameter])) return true;
  if (!std::holds_alternative<List>(given[parameter])) return false;
  const std::string_view text = row.parameters;  // lists are of inputs, or called "out"
  size_t begin = 0;
  for (size_t commas = 0; commas < 2 * parameter + 1; ++commas) begin = text.find(',', begin) + 1;
  return text.substr(begin).starts_with(" out");
}

bool compute(const Row& row, const GivenList& given, HeldList& held, Wider wider, at::ScalarType real) {
  HeldList copied = held;
  bool changed = false;
  const auto convert = [&](at::Tensor& tensor) {
    if (!tensor.defined()) return;
    const at::ScalarType type = wider(tensor.scalar_type(), real);
    changed = changed || type != tensor.scalar_type();
    tensor = in_type(tensor, type);
  };
  for (Held& one : copied) {
    if (auto* tensor = std::get_if<at::Tensor>(&one)) convert(*tensor);
    if (auto* list = std::get_if<Tensors>(&one))
      for (at::Tensor& tensor : *list) convert(tensor);
  }
  if (!changed) return false;
  try {
    row.body(copied.data(), Phase::second);
  } catch (const c10::Error&) {
    return false;
  }
  for (size_t i = 0; i < held.size(); ++i) {
    if (!is_output(row, given, i)) continue;
    if (auto* tensor = std::get_if<at::Tensor>(&held[i]); tensor && tensor->defined())
      tensor->copy_(std::get<at::Tensor>(copied[i]));
    if (auto* list = std::get_if<Tensors>(&held[i]))
      for (size_t j = 0; j < list->size(); ++j)
        if ((*list)[j].defined()) (*list)[j].copy_(std::get<Tensors>(copied[i])[j]);
  }
  return true;
}

}  // namespace

bool compute_wider(const Row& row, const GivenList& given, HeldList& held) {
  const std::string_view text = row.parameters;
  const size_t updated = text.find("Ref,");
  if (updated != text.npos && text.find("Ref,", updated + 1) != text.npos) return false;
  at::ScalarType real = at::kFloat;
  bool whole = true;  // the inputs; then nothing here stands for other numbers, as quantized ones do
  bool complex = false, small = true, truth = true;
  each(held, [&](size_t i, const at::Tensor& tensor) {
    const at::ScalarType type = tensor.scalar_type();
    if (type == at::kDouble || type == at::kComplexDouble) real = at::kDouble;
    truth = truth && (type == at::kBool || is_real_number(type));
    complex = complex || at::isComplexType(type), small = small && (is_whole(type) || is_8_bits(type));
    whole = whole && (is_whole(type) || (is_output(row, given, i) && is_real_number(type)));
  });
  return compute(row, given, held, common, real) || ((whole || truth) && compute(row, given, held, as_double, real)) ||
         (complex && compute(row, given, held, as_complex, real)) ||
         (small && compute(row, given, held, of_8_bits, real));
}

}  // namespace sim::aclnn
