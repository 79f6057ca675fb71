// What ophook_opdev.h stands on: functions of libnnopbase.so, in plain C.
#ifndef OPHOOK_ACLNN_OPDEV_C_H_
#define OPHOOK_ACLNN_OPDEV_C_H_

#include <stdint.h>

struct aclTensor;
struct aclScalar;
struct aclOpExecutor;

typedef struct ophook_opdev_tensor {
  int64_t view[25], strides[25], storage[25], original[25];
  int32_t view_rank, storage_rank, original_rank;
  int32_t dtype, view_format, storage_format, original_format;
  int64_t offset, storage_offset;  // in elements: of the view, and of what it is a view of
  void* data;                      // start of the storage
  int32_t on_host, of_workspace;
} ophook_opdev_tensor;

typedef enum ophook_opdev_kind {
  ophook_opdev_nothing,  // an optional argument that is not given
  ophook_opdev_a_tensor,
  ophook_opdev_a_list,
  ophook_opdev_an_int,
  ophook_opdev_a_float,
  ophook_opdev_a_bool,
  ophook_opdev_a_text,
  ophook_opdev_a_dtype,
  ophook_opdev_some_ints,
  ophook_opdev_some_floats,
  ophook_opdev_some_bools,
  ophook_opdev_a_scalar,
  ophook_opdev_a_mode  // how a kernel may round: no attribute
} ophook_opdev_kind;

typedef struct ophook_opdev_value {
  int32_t kind;
  const void* object;
  int64_t whole;
  double real;
  const char* text;
} ophook_opdev_value;

typedef struct ophook_opdev_told {  // an output whose shape the kernel writes into a tensor
  const aclTensor* shapes;
  uint64_t output;
} ophook_opdev_told;

typedef struct ophook_opdev_launch {
  const char* type;
  const char* where;  // "AI core", "AI CPU" …
  const ophook_opdev_value *inputs, *outputs, *attributes;
  uint64_t input_count, output_count, attribute_count;
  const char* const* names;  // of the attributes; none: in the order of the prototype
  uint64_t name_count;
  const ophook_opdev_told* told;
  uint64_t told_count;
  const void* anchor;  // any address in the library that asks: tells its package
} ophook_opdev_launch;

extern "C" {
void ophook_opdev_get(const aclTensor* tensor, ophook_opdev_tensor* out);
void ophook_opdev_set(const aclTensor* tensor, const ophook_opdev_tensor* in);
// 0 the view's shape, 1 the storage's, 2 the original one: a size_t and 25 numbers, there as long as the tensor is.
const void* ophook_opdev_shape(const aclTensor* tensor, int32_t which);
uint64_t ophook_opdev_list_size(const void* list, int32_t kind);
const void* ophook_opdev_list_at(const void* list, int32_t kind, uint64_t i);
const void* ophook_opdev_array_data(const void* array, int32_t kind, uint64_t* size);
void ophook_opdev_scalar_get(const aclScalar* scalar, int32_t* dtype, int64_t* whole, double* real, double* imaginary);
aclOpExecutor* ophook_opdev_begin(const char* function);
void ophook_opdev_end(aclOpExecutor* executor);
// A tensor in the workspace, or on the host with values that the executor keeps.
aclTensor* ophook_opdev_make(aclOpExecutor* executor, const ophook_opdev_tensor* like, const void* values,
                             uint64_t bytes);
aclTensor* ophook_opdev_view(aclOpExecutor* executor, const aclTensor* of, const ophook_opdev_tensor* as);
void* ophook_opdev_keep(aclOpExecutor* executor, int32_t kind, const void* values, uint64_t count, int32_t dtype);
int32_t ophook_opdev_infer(aclOpExecutor* executor, const ophook_opdev_launch* launch);
int32_t ophook_opdev_add(aclOpExecutor* executor, const ophook_opdev_launch* launch);
uint64_t ophook_opdev_workspace(aclOpExecutor* executor);
int32_t ophook_opdev_run(void* workspace, uint64_t size, aclOpExecutor* executor, void* stream);
void ophook_opdev_log(int32_t level, int32_t code, const char* file, int32_t line, const char* text);
}

#endif
