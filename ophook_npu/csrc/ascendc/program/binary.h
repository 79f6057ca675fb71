// What a library of kernels exports for libascendcl, which loads it (aclrtBinaryLoadFromFile) and launches what it
// holds.
#pragma once

#include <stddef.h>
#include <stdint.h>

#define OPHOOK_BINARY_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ophook_binary_kernel {
  const char* name;
  int kind;             // ascendc_options
  const size_t* sizes;  // of its parameters, in bytes
  size_t count;
  const uint64_t* keys;  // its tiling keys; NULL where its text does not say them
  size_t key_count;
} ophook_binary_kernel;

// NULL where the library has no kernel of this name with C linkage; without a name: where it has not exactly one.
// Valid as long as the library is loaded.
OPHOOK_BINARY_API const ophook_binary_kernel* ophook_binary_find(const char* name);
// Runs it on every core, now, in the calling thread; arguments[i] points at the i-th. 0, or an error code of ACL's.
OPHOOK_BINARY_API int ophook_binary_launch(const char* name, uint64_t blocks, uint64_t tiling_key,
                                           const void* const* arguments);

#ifdef __cplusplus
}
#endif
