// The two-phase operator interface of libopapi, and the macro that makes one of its operators a row in a table.
//
//   ACLNN(Add, (In,self, In,other, Num,alpha, Out,out), broadcast(out, {self, other}), at::add_out(out, self, other,
//   alpha))
//         name parameters in the order of the C interface  what must hold, checked in phase 1      what runs, in phase
//         2
//
// defines aclnnAddGetWorkspaceSize(self, other, alpha, out, workspaceSize, executor) and aclnnAdd(workspace, size,
// executor, stream). Parameters reach both expressions as ATen values over the caller's device memory. The arithmetic
// is torch's own. Phase 1 answers a wrong argument with an error code; phase 2 runs on the stream's thread.
//
// Includes no at:: function: here the builder includes all of them first (prefix.h); a package of your own includes
// <ATen/ops/…> for those that it names.
//
// A row is data and one function. What all rows do with their parameters (converting, keeping, copying and dropping
// them) is code of aclnn.cpp, once and not once a row: as a template it was two thirds of what a row costs to compile.
#pragma once

#include <ATen/core/DimVector.h>
#include <ATen/core/Reduction.h>
#include <ATen/core/Tensor.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include "acl/acl_base.h"
#include "core/sim.h"
#include "kernels/tensors.h"

// ---- what the caller holds --------------------------------------------------------------------------------------
// Each lies in a slot (core/slots.h), so that a pointer is judged without reading what may be gone: live(), below.
namespace sim::aclnn {

// A call between its two phases: made by the first, handed to the stream by the second. The stream may be captured, or
// the executor repeatable: then it runs more than once.
struct PendingCall {
  explicit PendingCall(const char* op) : name(op) {}
  virtual ~PendingCall() = default;
  virtual int ready() { return 0; }  // an error code, with its message set, where the first phase refused
  virtual void run(void* workspace) = 0;
  virtual void tell(sim_listener*) const {}  // its tensors, to an observer
  const char* name;
  uint64_t workspace_size = 0;  // what the first phase answered
  std::atomic<int> owners{1};   // the executor, and each launch of it
};

// What an operator's own aclnn function (opdev) says of a tensor besides: opapi/opdev.cpp.
struct Described;

enum Kind : uint32_t { kTensor = 1, kScalar, kInts, kFloats, kBools, kTensors, kScalars, kExecutor };

}  // namespace sim::aclnn

struct aclTensor {
  static constexpr auto kKind = sim::aclnn::kTensor;
  aclDataType dtype;
  at::DimVector sizes, strides, storage_sizes;
  int64_t offset;  // in elements
  aclFormat format;
  size_t storage_elements;
  void* data;  // start of the storage
  mutable std::shared_ptr<sim::aclnn::Described> described;
};
struct aclScalar {
  static constexpr auto kKind = sim::aclnn::kScalar;
  at::Scalar value;
  aclDataType dtype;
};
struct aclIntArray {
  static constexpr auto kKind = sim::aclnn::kInts;
  sim::Dims values;
};
struct aclFloatArray {
  static constexpr auto kKind = sim::aclnn::kFloats;
  sim::Checked<float> values;
};
struct aclBoolArray {
  static constexpr auto kKind = sim::aclnn::kBools;
  sim::Checked<bool> values;
  mutable std::shared_ptr<bool[]> plain;  // for C++ that asks where they lie (opdev)
};
// A list takes its members over: they are destroyed with the last list that holds them, and not before.
struct aclTensorList {
  static constexpr auto kKind = sim::aclnn::kTensors;
  std::vector<const aclTensor*> tensors;  // a null entry is an absent tensor
};
struct aclScalarList {
  static constexpr auto kKind = sim::aclnn::kScalars;
  std::vector<const aclScalar*> scalars;
};
struct aclOpExecutor {
  static constexpr auto kKind = sim::aclnn::kExecutor;
  sim::aclnn::PendingCall* call;
  bool repeatable;
};

namespace sim::kernels {}

namespace sim::aclnn {

using sim::Checked, sim::Dims, sim::divided, sim::remainder_of, sim::Tensors;
namespace kernels = sim::kernels;

// How libopapi fails. Every function returns one of CANN's codes of the operator interface (aclnn/aclnn_base.h) and
// leaves the reason for aclGetRecentErrMsg; one that makes something returns null instead. Phase 1 answers what is
// wrong with the arguments, and its executor answers the same again in phase 2. What goes wrong when the call runs is
// the stream's error: 507015 (the AI core's exception) at the next synchronization. Inside, checks throw c10::Error
// (SIM_CHECK), and no exception leaves the library.
enum Status : int { kNullPointer = 161001, kInvalid = 161002, kInner = 561000, kInnerNull = 561103 };

// ---- parameter kinds of a row ------------------------------------------------------------------------------------
using In = const aclTensor*;  // an absent one arrives as an undefined at::Tensor
using Out = aclTensor*;
using Ref = aclTensor*;        // read and written; one that is only written is an Out, whatever its function's name
using Num = const aclScalar*;  // at::Scalar
struct MaybeNum {
  const aclScalar* scalar;
};  // std::optional<at::Scalar>
struct Resized {
  aclTensor* tensor;
};  // space for a result whose shape is known only when it is there
using Ints = const aclIntArray*;  // Dims
using Floats = const aclFloatArray*;
using Bools = const aclBoolArray*;  // Checked<bool>
using List = const aclTensorList*;  // Tensors
using Nums = const aclScalarList*;  // Checked<at::Scalar>
using Dtype = aclDataType;          // at::ScalarType
using Text = const char*;           // std::string
using Cube = int8_t;  // cubeMathType: how a matrix unit may round its inputs; ATen's result is exact in any mode

SIM_API at::ScalarType to_scalar_type(aclDataType dtype);  // throws on one that ATen does not have
SIM_API aclDataType to_acl_dtype(at::ScalarType dtype);
// What memory of the type holds for ATen: for HIFLOAT8, which ATen does not have, bytes.
at::ScalarType stored_type(aclDataType dtype);

inline bool of_4_bits(aclDataType dtype) {
  return dtype == ACL_INT4 || dtype == ACL_FLOAT4_E2M1 || dtype == ACL_FLOAT4_E1M2;
}
// A tensor of numbers of 4 bits as what kernels unpack, the first number in the lowest bits: INT4 as INT32 with eight
// each, or as UINT8 with two where its rows do not end with a whole one, FLOAT4_E2M1 as ATen's pairs of them,
// FLOAT4_E1M2, which ATen does not have, as UINT8 with two each. Throws where a row ends within a byte.
aclTensor in_words(const aclTensor& numbers);
SIM_API at::Tensor convert(const aclTensor* tensor);
SIM_API at::Scalar convert(const aclScalar* scalar);
inline std::optional<at::Scalar> convert(MaybeNum number) {
  return number.scalar ? std::optional<at::Scalar>(number.scalar->value) : std::nullopt;
}
// What a Resized parameter is in a row: fit() writes the result to the front of the space and its shape to the caller's
// tensor, where aclGetViewShape finds it. The caller synchronizes before it looks.
struct Space {
  at::Tensor memory;
  aclTensor* tensor;
};
SIM_API Space convert(Resized space);
SIM_API Dims convert(const aclIntArray* array);
SIM_API Checked<float> convert(const aclFloatArray* array);
SIM_API Checked<bool> convert(const aclBoolArray* array);
SIM_API Tensors convert(const aclTensorList* list);
SIM_API Checked<at::Scalar> convert(const aclScalarList* list);
// HIFLOAT8 is float for rows: their inputs have its values, and what they write to an output is rounded to it.
inline at::ScalarType convert(aclDataType dtype) { return dtype == ACL_HIFLOAT8 ? at::kFloat : to_scalar_type(dtype); }
inline std::string convert(const char* text) { return text ? text : ""; }
template <typename T>
  requires(std::is_arithmetic_v<T>)
T convert(T value) {
  return value;
}

// ---- checks (phase 1): those of kernels/tensors.h. Each throws c10::Error that names what is wrong ------------------
using sim::a_number, sim::one_or_each, sim::arithmetic, sim::asked, sim::broadcast, sim::factor, sim::function_of,
    sim::holds, sim::into, sim::kept, sim::like, sim::matrix, sim::not_complex, sim::of_each, sim::of_dtype,
    sim::one_element, sim::outer_sizes, sim::promoted, sim::reduced, sim::reduced_late, sim::refuse_if_given,
    sim::refuse_unless_zero, sim::same_dtype, sim::shape;
using Shape = at::IntArrayRef;
// For operators whose output shape depends on much: write() compares it when the result is there.
inline void when_run() {}

// ---- results (phase 2) -----------------------------------------------------------------------------------------
using sim::number_of, sim::optional, sim::sum_of, sim::wide, sim::wrap, sim::write, sim::write_asked, sim::write_each;
SIM_API void fit(const Space& space, const at::Tensor& value);

// ---- handles and memory ----------------------------------------------------------------------------------------
// Throws unless the handle is null or that of a live object of its kind; the text names the parameter.
SIM_API void live(const char* parameter, const aclTensor* tensor);
SIM_API void live(const char* parameter, const aclIntArray* array);
SIM_API void live(const char* parameter, const aclFloatArray* array);
// Throws unless a kernel on the device can reach all elements of the tensor: for phase 2, when the call runs. What is
// null or on the host there is no error before.
SIM_API void reachable(const char* parameter, const at::Tensor& tensor);

// ---- the two phases --------------------------------------------------------------------------------------------
// The end of phase 1 where it refuses: an executor that says so again, as callers exist that do not look at the status
// and come back with the executor, on another thread, where the message would be lost. Returns the code.
SIM_API int turn_away(int code, const char* name, uint64_t* workspace, aclOpExecutor** executor);
// The end of phase 1 otherwise.
SIM_API int hand_over(std::unique_ptr<PendingCall> call, uint64_t* workspace, aclOpExecutor** executor);
// Phase 2.
SIM_API int launch(const char* name, void* workspace, uint64_t size, aclOpExecutor* executor, void* stream);

// What the C caller passed for one parameter of a row …
using Given = std::variant<In, Out, Num, MaybeNum, Resized, Ints, Floats, Bools, List, Nums, Dtype, Text, bool, int8_t,
                           int32_t, int64_t, uint64_t, float, double>;
// … what it is in the row …
template <typename Kind>
using Value = decltype(convert(std::declval<Kind>()));
// … and where a call keeps it between its phases.
using Held = std::variant<Value<In>, Value<Num>, Value<MaybeNum>, Value<Resized>, Value<Ints>, Value<Floats>,
                          Value<Bools>, Value<List>, Value<Nums>, Value<Dtype>, Value<Text>, bool, int8_t, int32_t,
                          int64_t, uint64_t, float, double>;
template <typename Kind>
Value<Kind>& held(Held& parameter) {
  return *std::get_if<Value<Kind>>(&parameter);
}

enum class Phase { first, second };
struct Row {
  const char* name;
  const char* parameters;  // "(In, self, Out, out)"
  void (*body)(Held* parameters, Phase phase);
  std::atomic<const struct FunctionRules*> rules{nullptr};  // of opapi/rules.h, looked up in the first call
  std::atomic<bool> looked_up{false};
};

// Phase 1. A call whose input lies partly in memory that it writes, as x[1:].sub_(x[:-1]) does, runs on copies of its
// inputs: a device loads a tile before it stores one, so that such calls give what they would with inputs of their own,
// as long as a tile holds them; torch_npu's graphs rely on it. ATen's kernels load and store in small steps, and their
// own check cannot see it: each tensor here has a storage of its own. An input that is the output, element by element,
// is harmless.
SIM_API int prepare(Row& row, std::initializer_list<Given> parameters, uint64_t* workspace, aclOpExecutor** executor);

// ---- a row for the graph engine ------------------------------------------------------------------------------------
// The row of a function, "aclnnAdd", or null.
SIM_API Row* row_of(const char* function);
// A row's first phase. Throws what it refuses; with `rules`, what its function's rules refuse as well.
SIM_API std::unique_ptr<PendingCall> first_phase(Row& row, c10::ArrayRef<Given> parameters, bool rules);
// Its tensor at this position, or that member of a list.
SIM_API at::Tensor tensor_of(const PendingCall& call, size_t parameter, size_t member);
// Runs it here and now, on whatever memory its tensors have.
SIM_API void compute(PendingCall& call);

}  // namespace sim::aclnn

// ACLNN, which makes a row of it.
#include "opapi/row.h"
