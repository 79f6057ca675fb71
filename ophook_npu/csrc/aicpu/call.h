// The boundary between the graph engine and an AI CPU kernel library: the engine finds ophook_aicpu_run in it. Plain C:
// the two are compiled with different C++ string ABIs.
#pragma once

#include <stddef.h>
#include <stdint.h>

extern "C" {

enum { ophook_aicpu_max_rank = 16 };

typedef struct ophook_aicpu_tensor {
  int32_t dtype;  // ge::DataType
  int32_t format;
  int32_t rank;
  int64_t dims[ophook_aicpu_max_rank];
  void* data;             // device memory
  uint64_t size;          // bytes
  int32_t shape_unknown;  // of an output: the kernel tells it
} ophook_aicpu_tensor;

typedef enum ophook_aicpu_kind {
  ophook_aicpu_int,
  ophook_aicpu_float,
  ophook_aicpu_bool,
  ophook_aicpu_string,
  ophook_aicpu_type,
  ophook_aicpu_ints,
  ophook_aicpu_floats,
  ophook_aicpu_bools,
  ophook_aicpu_types,
  ophook_aicpu_strings,
  ophook_aicpu_int_lists,
} ophook_aicpu_kind;

typedef struct ophook_aicpu_attr {
  const char* name;
  ophook_aicpu_kind kind;
  int64_t whole;
  float real;
  const char* text;
  size_t count;  // of a list's elements
  const int64_t* wholes;
  const float* reals;
  const char* const* texts;
  const size_t* lengths;  // of each list, whose elements are one behind the other in wholes
} ophook_aicpu_attr;

typedef struct ophook_aicpu_call {
  const char* type;
  const ophook_aicpu_tensor* inputs;
  size_t input_count;
  ophook_aicpu_tensor* outputs;  // with the shapes that the kernel has set, afterwards
  size_t output_count;
  const ophook_aicpu_attr* attrs;
  size_t attr_count;
  uint32_t cpus;
  void (*log)(int32_t level, const char* text);  // levels of core/log.h
} ophook_aicpu_call;

// The kernel's status: 0, or why it failed. What was thrown is a failure, with its text in `error`.
__attribute__((visibility("default"))) uint32_t ophook_aicpu_run(ophook_aicpu_call* call, char* error, size_t capacity);
}
