// What programs over AscendCL's pages share: the first check that fails ends the program with its line.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "acl/acl.h"

#define CHECK(what)                                                       \
  do {                                                                    \
    if (!(what)) {                                                        \
      const char* reason = aclGetRecentErrMsg();                          \
      std::printf("%d: %s: %s\n", __LINE__, #what, reason ? reason : ""); \
      std::exit(1);                                                       \
    }                                                                     \
  } while (0)
#define OK(call) CHECK((call) == ACL_SUCCESS)

constexpr size_t kPage = size_t{2} << 20;

template <typename T>
T* device(std::vector<T> values) {
  const size_t size = values.size() * sizeof(T);
  void* memory = nullptr;
  OK(aclrtMalloc(&memory, size, ACL_MEM_MALLOC_HUGE_FIRST));
  OK(aclrtMemcpy(memory, size, values.data(), size, ACL_MEMCPY_HOST_TO_DEVICE));
  return static_cast<T*>(memory);
}

template <typename T>
std::vector<T> host(const T* memory, size_t count) {
  std::vector<T> values(count);
  OK(aclrtMemcpy(values.data(), count * sizeof(T), memory, count * sizeof(T), ACL_MEMCPY_DEVICE_TO_HOST));
  return values;
}
