// The C interface of an operator's host library: what it declares, its tiling, its inference.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ASCENDC_HOST_API __attribute__((visibility("default")))

typedef struct ascendc_tensor {
  int32_t dtype;  // ge::DataType
  int32_t rank;
  int64_t dims[25];
  const void* data;  // for inputs that the host reads; else NULL
} ascendc_tensor;

typedef struct ascendc_attr {
  int32_t kind;   // gert::AttrValue::Kind
  int64_t whole;  // int, bool
  double real;
  const char* text;
  const int64_t* wholes;
  const float* reals;
  size_t count;
  const size_t* lengths;  // of the lists, where `wholes` are those of a list of lists
  size_t lists;
} ascendc_attr;

typedef struct ascendc_soc {
  const char* name;
  uint32_t cube_cores, vector_cores;
  uint64_t ub, l1, l0a, l0b, l0c, l2, hbm;
} ascendc_soc;

typedef struct ascendc_call {
  const char* type;
  const ascendc_tensor* inputs;
  // Tensors of each parameter: 0 absent, -1 absent and in its place all the same (as an aclnn function has it:
  // operators that run on devices count so), more than 1 only where it is dynamic.
  const int32_t* input_counts;
  size_t input_parameters;
  ascendc_tensor* outputs;  // written by inference
  const int32_t* output_counts;
  size_t output_parameters;
  const ascendc_attr* attrs;
  size_t attr_count;
  ascendc_soc soc;
} ascendc_call;

typedef struct ascendc_tiling {
  uint32_t block_dim;
  uint32_t need_atomic;  // whether outputs begin with their InitValue
  uint64_t tiling_key;
  uint64_t workspace;  // bytes, all together
  uint64_t size;       // of the tiling data
  uint8_t data[65536];
} ascendc_tiling;

// JSON; lives as long as the library.
ASCENDC_HOST_API const char* ascendc_describe(void);
// The structures of the tiling data of one operator as C++ for its kernel.
ASCENDC_HOST_API const char* ascendc_prelude(const char* type);
// JSON: the tiling keys that ASCENDC_TPL_SEL lists, with their template arguments; "{}" where the operator has none.
ASCENDC_HOST_API const char* ascendc_templates(const char* type);
// What is registered about the operator, for programs that call its functions themselves: gert::OpImplFunctionsV2, or
// NULL.
ASCENDC_HOST_API const void* ascendc_functions(const char* type);

// Whether a tiling function of the operator is registered.
ASCENDC_HOST_API int ascendc_tiles(const char* type);
#define ASCENDC_INFERS_NOTHING 2
// 0, or 1 with the reason in `error`; of inference 2 where the operator registers none: only aclnn calls it, whose
// caller gives the outputs' shapes.
ASCENDC_HOST_API int ascendc_tile(const ascendc_call* call, ascendc_tiling* out, char* error, size_t capacity);
ASCENDC_HOST_API int ascendc_infer(const ascendc_call* call, char* error, size_t capacity);

#ifdef __cplusplus
}
#endif
