// What kernels and both interfaces' rows share: tensors checked, widened and written. Arithmetic is at::Tensor in,
// at::Tensor out, and knows neither aclnn nor the graph engine; a check throws c10::Error that names what is wrong.
#pragma once

#include <ATen/core/Tensor.h>

#include <initializer_list>
#include <optional>
#include <tuple>

#include "core/sim.h"
#include "kernels/check.h"
#include "kernels/checked.h"

namespace sim {

// Two numbers of FLOAT4, which torch has from 2.8 on. Of an older torch, no tensor is of this type.
#if __has_include(<c10/util/Float4_e2m1fn_x2.h>)
constexpr auto kFloat4 = at::ScalarType::Float4_e2m1fn_x2;
#else
constexpr auto kFloat4 = at::ScalarType::NumOptions;
#endif

// ---- checks ------------------------------------------------------------------------------------------------------
SIM_API void shape(const at::Tensor& out, at::IntArrayRef expected);  // out has exactly this shape
// While one of these lives on a thread, an output of so many dimensions, more than anything has, takes the shape that
// is expected of it: so the graph engine learns the shapes of a function's results from the checks of its first phase.
struct SIM_API Untold {
  static constexpr int64_t kDims = 17;
  Untold();
  ~Untold();
};
// Nobody looks at this output: any shape is right, and the graph engine makes one of this.
SIM_API void idle(const at::Tensor& out, at::IntArrayRef sizes);
// As many elements as this, in any shape.
SIM_API void counted(const char* name, const at::Tensor& out, at::IntArrayRef sizes);
SIM_API void one_element(const at::Tensor& out);  // out is a scalar: [] or [1]
// An input of one number for all, or one for each of so many, in any shape; it may be absent.
SIM_API void one_or_each(const char* name, const at::Tensor& values, int64_t count);
inline void a_number(const char* name, const at::Tensor& tensor) { one_or_each(name, tensor, 1); }
SIM_API void holds(const at::Tensor& out, at::IntArrayRef result);  // write() takes a result of this shape
// Each out, where the caller has a use for it, has this shape but for dimensions of size 1, as write_asked() writes it.
SIM_API void asked(std::initializer_list<at::Tensor> outs, at::IntArrayRef expected);
SIM_API void like(const at::Tensor& out, const at::Tensor& other);  // out has other's shape
SIM_API void broadcast(const at::Tensor& out,
                       std::initializer_list<at::Tensor> in);  // out has the broadcast of all shapes
SIM_API void into(const at::Tensor& self, std::initializer_list<at::Tensor> others);  // others broadcast into self
// What torch says of arithmetic in place: the other operand broadcasts into self, and the result's dtype can be cast to
// self's. A division of integers has a float result.
SIM_API void arithmetic(const at::Tensor& self, const at::Tensor& other, bool division = false);
SIM_API void arithmetic(const at::Tensor& self, const at::Scalar& other, bool division = false);
// The same for a result that has a place of its own: its shape as broadcast() and like() say, and the type in which it
// is computed, that of all operands together, can be cast to its own.
SIM_API void promoted(const at::Tensor& out, std::initializer_list<at::Tensor> in, bool division = false);
SIM_API void promoted(const at::Tensor& out, const at::Tensor& self, const at::Scalar& other, bool division = false);
// Numbers of self go into out as they are, or in a type that holds them.
SIM_API void kept(const at::Tensor& out, const at::Tensor& self);
// A factor of one operand, which is computed in the type of all of them.
SIM_API void factor(const at::Scalar& alpha, std::initializer_list<at::Tensor> in);
SIM_API void matrix(const at::Tensor& out, const at::Tensor& a, const at::Tensor& b);  // (…, m, k) x (…, k, n)
SIM_API void matrix(const at::Tensor& out, at::IntArrayRef a, at::IntArrayRef b);      // of tensors of these shapes
SIM_API void reduced(const at::Tensor& out, const at::Tensor& in, at::IntArrayRef dims, bool keep_dims);
// The same where CANN compares the output with the result that it has computed: it returns earlier where `in` is empty,
// and a result of one element goes into any shape of one.
SIM_API void reduced_late(const at::Tensor& out, const at::Tensor& in, at::IntArrayRef dims, bool keep_dims);
SIM_API void of_dtype(const char* name, const at::Tensor& tensor, std::initializer_list<at::ScalarType> allowed);
SIM_API void same_dtype(std::initializer_list<at::Tensor> tensors);
// out has self's shape, and a data type that holds the function's result: that of whole numbers is float.
SIM_API void function_of(const at::Tensor& out, const at::Tensor& self);
SIM_API void not_complex(const at::Tensor& self);
inline bool given(const at::Tensor& tensor) { return tensor.defined() && tensor.numel(); }
// What a prototype has and no kernel computes is refused by name where a caller gives it.
SIM_API void refuse_if_given(std::initializer_list<at::Tensor> tensors, const char* what);
SIM_API void refuse_unless_zero(int64_t value, const char* what);

// The sizes of x without the last `count`; none where x has not as many.
SIM_API at::IntArrayRef outer_sizes(const at::Tensor& x, size_t count = 1);

// ---- results -----------------------------------------------------------------------------------------------------
// Copies a result to where the caller wants it; the shapes must agree, where [] and [1] are one. An undefined `out` was
// not asked for.
SIM_API void write(const at::Tensor& out, const at::Tensor& value);
// The same for an output that is absent or empty where the caller has no use for it; dimensions of size 1 may differ.
SIM_API void write_asked(const at::Tensor& out, const at::Tensor& value);
// Several results, each in its output's data type; one that is undefined was not asked of the kernel.
SIM_API void write_each(std::initializer_list<at::Tensor> outs, const Tensors& values);
template <typename... T, size_t... I>
void write_all(const std::tuple<T...>& values, std::initializer_list<at::Tensor> outs, std::index_sequence<I...>) {
  (write(outs.begin()[I], std::get<I>(values)), ...);
}
template <typename... T>
void write(std::initializer_list<at::Tensor> outs, const std::tuple<T...>& values) {
  write_all(values, outs, std::index_sequence_for<T...>{});
}
// The dimension that `dim` names; refuses one that is not there. A tensor without dimensions counts as one of rank 1.
SIM_API int64_t wrap(int64_t dim, const at::Tensor& of);
// Types of 16 and 8 bits as float, for arithmetic that ATen's CPU kernels have for full types only.
SIM_API at::Tensor wide(const at::Tensor& tensor);
// a + alpha * b. ATen's CPU kernel first rounds alpha to the tensors' dtype; the device keeps it for bfloat16.
SIM_API at::Tensor sum_of(const at::Tensor& a, const at::Tensor& b, const at::Scalar& alpha);
// The same memory as whole numbers of its width, where ATen has no kernels that move the type's own numbers.
SIM_API at::Tensor bits_of(const at::Tensor& tensor);
inline std::optional<at::Tensor> optional(const at::Tensor& tensor) {
  return tensor.defined() ? std::optional<at::Tensor>(tensor) : std::nullopt;
}
// Whole numbers as int64, each from 0 to below `count`, or the one that is ignored. Kernels of ATen's that take an
// index out of a tensor of indices read and write wherever it says.
SIM_API at::Tensor indices_below(int64_t count, const at::Tensor& indices, std::optional<int64_t> ignored = {});
// The number that a tensor of one element holds.
SIM_API at::Scalar number_of(const at::Tensor& tensor);
// All dimensions but one, as at::sum takes them.
SIM_API Dims all_but(const at::Tensor& x, int64_t dim);
// One value for each index of dimension `dim`, or one for all, wide and shaped to broadcast over x.
SIM_API at::Tensor along(const at::Tensor& values, const at::Tensor& x, int64_t dim);
// What a list says of a dimension: its only number is for all of them, and an empty one says `otherwise`.
inline int64_t of_each(const Dims& values, size_t dim, int64_t otherwise) {
  return values.empty() ? otherwise : values[values.size() == 1 ? 0 : dim];
}
// It has a number for each of so many dimensions, one for all, or none, and none of them is smaller than this.
SIM_API void for_dims(const char* name, const Dims& values, size_t dims, int64_t least);
// {-count, …, -1}
SIM_API Dims last_dims(int64_t count);

// at::index and index_put_, but for their lists, which are made of IValue: kernels/lists.cpp alone pays for it. So does
// the list of at::cat; at::concat takes a plain one.
SIM_API at::Tensor indexed(const at::Tensor& x, const Tensors& indices);  // an undefined one takes the whole dimension
SIM_API void put_at(const at::Tensor& self, const Tensors& indices, const at::Tensor& values, bool accumulate = false);

}  // namespace sim
