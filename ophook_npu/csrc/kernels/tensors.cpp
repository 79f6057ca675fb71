#include "kernels/tensors.h"

#include "kernels/sizes.h"

#include "kernels/absent.h"
#include "kernels/pattern.h"
#include "kernels/wrong_shape.h"

#include <c10/core/WrapDimMinimal.h>

#include <algorithm>
#include <sstream>

namespace sim {

template <typename Error>
[[noreturn]] static void thrown(const char* function, const char* file, int line, std::initializer_list<Part> parts) {
  std::ostringstream message;
  for (const Part& part : parts) part.print(message);
  throw Error({function, file, static_cast<uint32_t>(line)}, message.str());
}
void violated(const char* function, const char* file, int line, std::initializer_list<Part> parts) {
  thrown<Violation>(function, file, line, parts);
}
void wrong_dtype(const char* function, const char* file, int line, std::initializer_list<Part> parts) {
  thrown<c10::TypeError>(function, file, line, parts);
}
void absent() { thrown<Absent>(__func__, __FILE__, __LINE__, {"an argument that is needed is null"}); }

static const at::Tensor& needed(const at::Tensor& tensor) {
  if (!tensor.defined()) [[unlikely]]
    absent();
  return tensor;
}

static thread_local int untold = 0;
Untold::Untold() { ++untold; }
Untold::~Untold() { --untold; }
// Whether the output takes the shape.
static bool told(const at::Tensor& out, at::IntArrayRef expected) {
  if (!untold || out.dim() != Untold::kDims) return false;
  out.unsafeGetTensorImpl()->set_sizes_contiguous(expected);
  return true;
}

void shape(const at::Tensor& out, at::IntArrayRef expected) {
  static const int64_t* const of_nothing = at::Tensor().sizes().data();  // those of all undefined tensors
  if (!out.defined()) return;
  if (expected.data() == of_nothing) [[unlikely]]
    absent();
  if (out.sizes() != expected && !told(out, expected)) [[unlikely]]
    thrown<WrongShape>(__func__, __FILE__, __LINE__,
                       {"CheckShape failed: the output has shape ", out.sizes(), ", expected ", expected});
}
void idle(const at::Tensor& out, at::IntArrayRef sizes) {
  if (out.defined()) told(out, sizes);
}
void counted(const char* name, const at::Tensor& out, at::IntArrayRef sizes) {
  if (!out.defined() || told(out, sizes) || out.numel() == c10::multiply_integers(sizes)) return;
  SIM_CHECK(false, name, " of ", c10::multiply_integers(sizes), " numbers expected, got ", out.sizes());
}
void like(const at::Tensor& out, const at::Tensor& other) { shape(out, other.sizes()); }
static bool is_single(at::IntArrayRef sizes) { return sizes.empty() || (sizes.size() == 1 && sizes[0] == 1); }
void one_element(const at::Tensor& out) {
  if (!out.defined() || !is_single(out.sizes())) shape(out, {});
}

void one_or_each(const char* name, const at::Tensor& values, int64_t count) {
  SIM_CHECK(!values.defined() || values.numel() == 1 || values.numel() == count, name, " ", values.sizes(),
            ": one number", count == 1 ? "" : c10::str(", or ", count), " expected");
}

void for_dims(const char* name, const Dims& values, size_t dims, int64_t least) {
  SIM_CHECK(values.size() <= 1 || values.size() == dims, name, " has ", values.size(), " numbers for ", dims,
            " dimensions");
  for (const int64_t value : values) SIM_CHECK(value >= least, name, " has ", value, "; allowed: ", least, " or more");
}

void holds(const at::Tensor& out, at::IntArrayRef result) {
  if (!out.defined() || !is_single(out.sizes()) || !is_single(result)) shape(out, result);
}

static bool same_but_for_ones(at::IntArrayRef a, at::IntArrayRef b) {
  if (a == b) return true;
  size_t i = 0, j = 0;
  while (true) {
    while (i < a.size() && a[i] == 1) ++i;
    while (j < b.size() && b[j] == 1) ++j;
    if (i == a.size() || j == b.size()) return i == a.size() && j == b.size();
    if (a[i++] != b[j++]) return false;
  }
}
void asked(std::initializer_list<at::Tensor> outs, at::IntArrayRef expected) {
  for (const at::Tensor& out : outs)
    if (out.defined() && out.numel() && !same_but_for_ones(out.sizes(), expected)) shape(out, expected);
}

at::IntArrayRef outer_sizes(const at::Tensor& x, size_t count) {
  return x.sizes().slice(0, x.sizes().size() - std::min(count, x.sizes().size()));
}

int64_t wrap(int64_t dim, const at::Tensor& of) { return c10::maybe_wrap_dim(dim, needed(of).dim()); }

static void join(Sizes& all, const at::Tensor& other) {
  const Sizes before = all;
  if (!broadcast_into(all, sizes_of(other.sizes()))) [[unlikely]]
    thrown<WrongShape>(__func__, __FILE__, __LINE__,
                       {"a shape ", other.sizes(), " does not broadcast with ", known_sizes(before)});
}

void broadcast(const at::Tensor& out, std::initializer_list<at::Tensor> in) {
  bool alike = true;  // the usual case, kept cheap
  for (const at::Tensor& tensor : in) alike &= tensor.sizes() == out.sizes();
  if (alike) return;
  Sizes sizes;
  for (const at::Tensor& tensor : in)
    if (tensor.defined()) join(sizes, tensor);
  shape(out, known_sizes(sizes));
}

void into(const at::Tensor& self, std::initializer_list<at::Tensor> others) {
  for (const at::Tensor& other : others) {
    if (!other.defined() || other.sizes() == self.sizes()) continue;
    Sizes sizes = sizes_of(self.sizes());
    join(sizes, other);
    shape(self, known_sizes(sizes));
  }
}

static void castable(at::ScalarType result, const at::Tensor& self, bool division) {
  if (division && at::isIntegralType(result, true)) result = at::kFloat;
  SIM_CHECK_DTYPE(at::canCast(result, self.scalar_type()), "result type ", result,
                  " can't be cast to the desired output type ", self.scalar_type());
}
void arithmetic(const at::Tensor& self, const at::Tensor& other, bool division) {
  into(needed(self), {needed(other)});
  if (division || self.scalar_type() != other.scalar_type()) castable(at::result_type(self, other), self, division);
}
void arithmetic(const at::Tensor& self, const at::Scalar& other, bool division) {
  if (!at::isFloatingType(needed(self).scalar_type())) castable(at::result_type(self, other), self, division);
}

// CANN counts a tensor without dimensions as any other.
static at::ScalarType type_of_all(std::initializer_list<at::Tensor> in) {
  std::optional<at::ScalarType> result;
  for (const at::Tensor& each : in)
    if (each.defined()) result = result ? c10::promoteTypes(*result, each.scalar_type()) : each.scalar_type();
  return result.value_or(at::kFloat);
}
void promoted(const at::Tensor& out, std::initializer_list<at::Tensor> in, bool division) {
  broadcast(out, in);
  castable(type_of_all(in), out, division);
}
void kept(const at::Tensor& out, const at::Tensor& self) {
  if (out.defined() && self.defined()) castable(self.scalar_type(), out, false);
}
void factor(const at::Scalar& alpha, std::initializer_list<at::Tensor> in) {
  const at::ScalarType type = type_of_all(in);
  SIM_CHECK_DTYPE(at::canCast(alpha.type(), type) || type == at::kBool, "alpha of ", alpha.type(), " for numbers of ",
                  type);
}
void promoted(const at::Tensor& out, const at::Tensor& self, const at::Scalar& other, bool division) {
  like(out, self);
  castable(at::result_type(self, other), out, division);
}

void matrix(const at::Tensor& out, at::IntArrayRef a, at::IntArrayRef b) {
  shapes<"*#b m k, *#b k n -> *#b m n">(a, b, out);
}
void matrix(const at::Tensor& out, const at::Tensor& a, const at::Tensor& b) {
  matrix(out, needed(a).sizes(), needed(b).sizes());
}

static Dims sizes_without(const at::Tensor& in, at::IntArrayRef dims, bool keep_dims) {
  Checked<bool> gone(size_t(needed(in).dim()), dims.empty());
  for (int64_t d : dims) {
    const int64_t i = wrap(d, in);  // of a tensor without dimensions, one that counts as such
    if (!in.dim()) continue;
    SIM_CHECK(!gone[size_t(i)], "dimension ", i, " is named more than once in ", dims);
    gone[size_t(i)] = true;
  }
  return known_sizes(reduced_sizes(sizes_of(in.sizes()), gone, keep_dims));
}
void reduced(const at::Tensor& out, const at::Tensor& in, at::IntArrayRef dims, bool keep_dims) {
  shape(out, sizes_without(in, dims, keep_dims));
}
void reduced_late(const at::Tensor& out, const at::Tensor& in, at::IntArrayRef dims, bool keep_dims) {
  const Dims sizes = sizes_without(in, dims, keep_dims);
  if (!in.numel() || (out.defined() && out.numel() == 1 && c10::multiply_integers(sizes) == 1)) return idle(out, sizes);
  shape(out, sizes);
}

void of_dtype(const char* name, const at::Tensor& tensor, std::initializer_list<at::ScalarType> allowed) {
  std::ostringstream list;
  for (auto dtype : allowed) {
    if (needed(tensor).scalar_type() == dtype) return;
    list << (list.tellp() ? ", " : "") << dtype;
  }
  SIM_CHECK_DTYPE(false, name, " has dtype ", tensor.scalar_type(), "; allowed: ", list.str());
}

void same_dtype(std::initializer_list<at::Tensor> tensors) {
  for (const at::Tensor& tensor : tensors)
    SIM_CHECK_DTYPE(needed(tensor).scalar_type() == tensors.begin()->scalar_type(),
                    "dtypes differ: ", tensors.begin()->scalar_type(), " and ", tensor.scalar_type());
}

void function_of(const at::Tensor& out, const at::Tensor& self) {
  like(out, needed(self));
  const auto result = at::isIntegralType(self.scalar_type(), true) ? at::kFloat : self.scalar_type();
  SIM_CHECK_DTYPE(at::canCast(result, out.scalar_type()), "the result of ", self.scalar_type(), " is ", result,
                  ", the output has dtype ", out.scalar_type());
}
void not_complex(const at::Tensor& self) {
  SIM_CHECK_DTYPE(!needed(self).is_complex(), "self has dtype ", self.scalar_type(),
                  ", complex numbers are not supported");
}

void refuse_if_given(std::initializer_list<at::Tensor> tensors, const char* what) {
  for (const at::Tensor& tensor : tensors) SIM_CHECK(!given(tensor), what, " is not simulated");
}

void refuse_unless_zero(int64_t value, const char* what) {
  SIM_CHECK(value == 0, what, " ", value, " is not simulated; allowed: 0");
}

// An output may be narrower than the result, but not of a kind that loses what the result is.
static void keeps_value(const at::Tensor& out, const at::Tensor& value) {
  SIM_CHECK(out.is_complex() || !value.is_complex(), "a complex result does not fit into an output of ",
            out.scalar_type());
  SIM_CHECK(!at::isIntegralType(out.scalar_type(), true) || at::isIntegralType(value.scalar_type(), true),
            "a result of ", value.scalar_type(), " does not fit into an output of ", out.scalar_type());
}

void write(const at::Tensor& out, const at::Tensor& value) {
  if (!out.defined()) return;
  const bool single = out.numel() == 1 && value.numel() == 1;
  SIM_CHECK(single || out.sizes() == value.sizes(), "the output has shape ", out.sizes(), ", the result ",
            value.sizes());
  keeps_value(out, value);
  out.copy_(single ? value.reshape(out.sizes()) : value);
}

void write_asked(const at::Tensor& out, const at::Tensor& value) {
  if (!out.defined() || out.numel() == 0 || !value.defined()) return;
  SIM_CHECK(out.numel() == value.numel(), "the output has shape ", out.sizes(), ", the result ", value.sizes());
  out.copy_(value.reshape(out.sizes()));
}

void write_each(std::initializer_list<at::Tensor> outs, const Tensors& values) {
  for (size_t i = 0; i < outs.size(); ++i)
    if (const at::Tensor& out = outs.begin()[i]; out.defined() && values[i].defined())
      write(out, values[i].to(out.scalar_type()));
}

at::Tensor wide(const at::Tensor& tensor) {
  if (!tensor.defined()) return tensor;
  const at::ScalarType type = tensor.scalar_type();
  return type == at::kHalf || type == at::kBFloat16 || c10::isFloat8Type(type) ? tensor.to(at::kFloat) : tensor;
}

at::Tensor bits_of(const at::Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case at::kUInt16: return tensor.view(at::kShort);
    case at::kUInt32: return tensor.view(at::kInt);
    case at::kUInt64: return tensor.view(at::kLong);
    default: return tensor.element_size() == 1 ? tensor.view(at::kByte) : tensor;
  }
}

at::Tensor sum_of(const at::Tensor& a, const at::Tensor& b, const at::Scalar& alpha) {
  const bool wider = a.scalar_type() == at::kBFloat16 || b.scalar_type() == at::kBFloat16;
  return wider ? at::add(wide(a), wide(b), alpha) : at::add(a, b, alpha);
}

at::Tensor indices_below(int64_t count, const at::Tensor& indices, std::optional<int64_t> ignored) {
  const at::Tensor all = indices.to(at::kLong);
  if (!all.numel()) return all;
  const auto [least, most] = at::aminmax(all);
  if (least.item<int64_t>() >= 0 && most.item<int64_t>() < count) return all;
  at::Tensor outside = at::logical_or(at::lt(all, 0), at::ge(all, count));
  if (ignored) outside = at::logical_and(outside, at::ne(all, *ignored));
  if (outside.any().item<bool>())
    SIM_CHECK(false, "index ", all.masked_select(outside).select(0, 0).item<int64_t>(), " of ", count);
  return all;
}

at::Scalar number_of(const at::Tensor& tensor) { return wide(tensor).item(); }

Dims all_but(const at::Tensor& x, int64_t dim) {
  Dims dims;
  for (int64_t i = 0; i < x.dim(); ++i)
    if (i != dim) dims.push_back(i);
  return dims;
}

at::Tensor along(const at::Tensor& values, const at::Tensor& x, int64_t dim) {
  Dims sizes(std::max<int64_t>(x.dim(), 1), 1);
  if (values.numel() != 1) sizes.at(dim) = values.numel();
  return wide(values).reshape(sizes);
}

Dims last_dims(int64_t count) {
  Dims dims(count);
  for (int64_t i = 0; i < count; ++i) dims[i] = i - count;
  return dims;
}

}  // namespace sim
