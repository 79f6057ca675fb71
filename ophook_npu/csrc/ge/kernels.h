// The boundary between the graph engine and the operator table over ATen.
//
// libge_runner and libgraph are compiled with the old C++ string ABI, as torchair links them; ATen is not. So the table
// lives in libopapi.so and is reached through these plain C calls, which libge_runner looks up when it first needs
// them. libacl_op_compiler runs an operator by its type (aclopCompileAndExecuteV2) through the same three calls.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core/sim.h"

#define GE_KERNELS_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

enum {
  ge_max_rank = 16,
  ge_unknown_rank = -1,  // rank of a shape that only running the operator tells
  ge_unknown_dim = -1,
  ge_absent = 28,  // dtype of an optional input that is not fed (ge::DT_UNDEFINED)
};

typedef struct ge_tensor {
  int32_t dtype;  // ge::DataType
  int32_t rank;
  int64_t dims[ge_max_rank];
  void* data;  // contiguous, row-major; NULL in `infer` where the value is not known
  // 0, or the private format in which an input of the graph lies there: its dims are those of what it stands for.
  int32_t format;
} ge_tensor;

// FRACTAL_NZ: matrices in tiles of 16 rows by 32 bytes.
static inline int ge_in_tiles(const ge_tensor* tensor) { return tensor->format == 29; }

// Tells an observer of tasks these inputs or outputs.
static inline void ge_tell(sim_listener* listener, int is_output, const ge_tensor* tensors, size_t count) {
  for (size_t i = 0; i < count; ++i)
    if (tensors[i].dtype != ge_absent && tensors[i].rank >= 0)
      listener->tensor(listener, is_output, tensors[i].dtype, tensors[i].dims, (size_t)tensors[i].rank);
}

typedef enum ge_attr_kind {
  ge_attr_int,
  ge_attr_float,
  ge_attr_bool,
  ge_attr_string,
  ge_attr_dtype,
  ge_attr_ints,
  ge_attr_floats,
  ge_attr_int_lists,  // in `ints` one behind the other, each behind its length
  ge_attr_other,
} ge_attr_kind;

typedef struct ge_attr {
  const char* name;
  ge_attr_kind kind;
  int64_t i;  // int, bool, dtype
  double f;
  const char* s;  // string, zero-terminated
  const int64_t* ints;
  const float* floats;
  size_t count;  // of ints or floats
} ge_attr;

// One operator call. Inputs and outputs are in the order of the operator's prototype, dynamic ones spread out.
typedef struct ge_call {
  const char* type;
  const ge_tensor* inputs;
  size_t input_count;
  ge_tensor* outputs;
  size_t output_count;
  const ge_attr* attrs;
  size_t attr_count;
  // How many of the inputs belong to each of the prototype's: 1, but of a dynamic one. NULL: none is dynamic.
  const size_t* input_counts;
} ge_call;

// The prototype of the operator in the table, NULL if the table has no such row:
//   "x1 x2 bias? -> y | transpose_x1:Bool=false transpose_x2:Bool=false"   (`?` optional, `*` dynamic)
GE_KERNELS_API const char* ophook_ge_proto(const char* type);

// The aclnn function that the type is, where its row names one; NULL otherwise.
GE_KERNELS_API const char* ophook_ge_function(const char* type);

// The table's operator types one after the other, NULL behind the last.
GE_KERNELS_API const char* ophook_ge_type(size_t index);

// Whether it has to run each time, however much is known of it before: it draws, or others have a part in it.
GE_KERNELS_API int ophook_ge_each_run(const char* type);

// Refuses a graph's node with an attribute that the prototype does not have, or has in another kind. (Operators that
// run by type are not asked: op-plugin hands some of theirs over in other kinds.) Same result and error as below.
GE_KERNELS_API int ophook_ge_check(const ge_call* call, char* error, size_t capacity);

// Fills dtype, rank and dims of every output from the inputs; reads input values only where they are known. A shape
// that depends on values which are not known comes out as ge_unknown_rank or ge_unknown_dim. Returns 0, or writes why
// the call is refused into `error` and returns 1.
GE_KERNELS_API int ophook_ge_infer(const ge_call* call, char* error, size_t capacity);

// Computes the outputs into their data, which `infer` has shaped. Same result and error as above. Any thread.
GE_KERNELS_API int ophook_ge_run(const ge_call* call, char* error, size_t capacity);

#ifdef __cplusplus
}

#include <vector>

// What ge_attr_int_lists is.
inline std::vector<int64_t> lengths_and_values(const std::vector<std::vector<int64_t>>& lists) {
  std::vector<int64_t> out;
  for (const std::vector<int64_t>& list : lists) {
    out.push_back(int64_t(list.size()));
    out.insert(out.end(), list.begin(), list.end());
  }
  return out;
}
#endif
