// Custom operator packages that `ophook-npu kernel build` makes: what their generated libcust_opapi.so tells libophook_kernel.so,
// which runs the operator's own Ascend C kernel over device memory. Plain C, so that a package compiles in a moment.
#pragma once

#include <stddef.h>
#include <stdint.h>

#define OPHOOK_PACKAGE_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

struct aclTensor;
struct aclOpExecutor;

typedef struct ophook_initial {  // what is repeated in an output's memory before its kernel runs
  size_t bytes;                  // 0: nothing
  uint64_t pattern;
} ophook_initial;

typedef struct ophook_choice {   // one column of the OpDef's data types
  const int32_t* dtypes;         // ge::DataType of every input, then of every output; -1: any
  const char* library;           // in the package's folder of kernels
  const struct ophook_initial* initial;  // of each output, where a kernel asks for it
} ophook_choice;

typedef enum ophook_form {
  ophook_tensor,
  ophook_tensors,                // aclTensorList
  ophook_ints,                   // aclIntArray, as the next ones of an input whose values the host reads
  ophook_floats,
  ophook_bools,
  ophook_scalar,
  ophook_scalars,                // aclScalarList
  ophook_unread                  // a tensor whose values the host cannot read, where it could read an array's
} ophook_form;

typedef struct ophook_operator {
  const char* type;              // "AddCustom"
  const char* function;          // "add_custom"
  int32_t kind;                  // ascendc_options.kind; -1: as its kernel says
  size_t input_count, output_count, choice_count;
  const char* const* names;      // of inputs, then of outputs
  const int32_t* forms;          // what the function takes, an ophook_form: of inputs, then of outputs
  const int32_t* optional;       // whether it may be null: of inputs, then of outputs
  const int32_t* becomes;        // of each input: the data type of a scalar, or -1 - the input whose data type it has
  const int32_t* same_as;        // for each output the input that it is, or -1
  const int32_t* computed;       // of each output: whether the kernel tells its shape
  int32_t launches_empty;        // also where every output is empty
  const ophook_choice* choices;
  const void* anchor;            // any address in the package's library: tells where the package is
  const size_t* groups;          // attributes that name the groups in which the kernel communicates
  size_t group_count;
} ophook_operator;

typedef struct ophook_attribute {
  int32_t kind;                  // gert::AttrValue::Kind: 1 int, 2 float, 3 bool, 4 text, 5 ints, 6 floats, 7 bools
  int64_t whole;
  double real;
  const char* text;
  const void* array;             // aclIntArray, aclFloatArray or aclBoolArray
} ophook_attribute;

// Their names change with the structures above: a library of an older package then names what is missing.
#ifdef OPHOOK_KERNEL_BY_NAME  // C++ of a library that its project's build links, which does not name ours
#include <dlfcn.h>
#include <stdio.h>
// As CANN's generated code it needs libnnopbase.so: programs that link libcust_opapi.so alone call its aclCreateTensor.
int32_t aclDestroyTensor(const struct aclTensor* tensor);
__attribute__((used)) static const void* const ophook_needs = (const void*)&aclDestroyTensor;
#define OPHOOK_KERNEL_FUNCTION(name, parameters, ...)                                                         \
  static inline int name parameters {                                                                         \
    static void* const library = dlopen("libophook_kernel.so", RTLD_NOW | RTLD_LOCAL);                        \
    static int(*const found) parameters = library ? (int(*) parameters)dlsym(library, #name) : NULL;          \
    if (found) return found(__VA_ARGS__);                                                                     \
    fprintf(stderr, #name ": %s; a package of another version of ophook-npu has to be built again\n", dlerror()); \
    return 561103 /* ACLNN_ERR_INNER_NULLPTR */;                                                              \
  }
#else
#define OPHOOK_KERNEL_FUNCTION(name, parameters, ...) OPHOOK_PACKAGE_API int name parameters;
#endif
OPHOOK_KERNEL_FUNCTION(ophook_package_begin,
                       (const ophook_operator* op, const struct aclTensor* const* inputs, const ophook_attribute* attributes,
                        size_t attribute_count, const struct aclTensor* const* outputs, uint64_t* workspace,
                        struct aclOpExecutor** executor),
                       op, inputs, attributes, attribute_count, outputs, workspace, executor)
OPHOOK_KERNEL_FUNCTION(ophook_package_launch,
                       (const char* name, void* workspace, uint64_t size, struct aclOpExecutor* executor, void* stream), name,
                       workspace, size, executor, stream)

#ifdef __cplusplus
}
#endif
