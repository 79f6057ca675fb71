// What CANN's first-phase unit tests of aclnn functions are written against, over libraries with the aclnn interface
// alone: tensors are described, never filled, and only GetWorkspaceSize is called. Each call and what the test expects
// of it become a line of a log; aclnn_phase1.py compares them.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cfloat>
#include <climits>
#include <cmath>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <iostream>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "acl/acl.h"
#include "aclnn/acl_meta.h"
#include "aclnn/aclnn_base.h"

using namespace std;

// The product that a test asks for, in the numbering that tests compare with < and >.
enum class NpuArch {
  DAV_1001,
  DAV_2002,
  DAV_2102,
  DAV_2201,
  DAV_3002,
  DAV_3102,
  DAV_3103,
  DAV_3113,
  DAV_3510,
  DAV_5102,
  DAV_RESV
};
namespace op {
enum class SocVersion {
  ASCEND910,
  ASCEND910B,
  ASCEND910_93,
  ASCEND950,
  ASCEND350,
  ASCEND910E,
  ASCEND310,
  ASCEND310P,
  ASCEND310B,
  ASCEND310C,
  ASCEND610LITE,
  KIRINX90,
  KIRIN9030,
  RESERVED_VERSION = 99999
};
using ::NpuArch;

struct PlatformInfo {
  SocVersion soc = SocVersion::ASCEND910B;
  NpuArch arch = NpuArch::DAV_2201;
  SocVersion GetSocVersion() const { return soc; }
  NpuArch GetCurNpuArch() const { return arch; }
};
extern PlatformInfo* platform;  // shared by the processes of all tests: one test may leave it to the next
inline PlatformInfo& GetCurrentPlatformInfo() { return *platform; }
inline ostream& operator<<(ostream& out, SocVersion) { return out; }
void SetPlatformSocVersion(SocVersion soc);
void SetPlatformNpuArch(NpuArch arch);
inline void SetPlatformNpuArch(NpuArch, SocVersion soc) { SetPlatformSocVersion(soc); }
inline void SetCubeCoreNum(uint32_t) {}

struct PlatformScope {
  PlatformInfo before = *platform;
  PlatformScope() = default;
  PlatformScope(const PlatformScope&) = delete;
  ~PlatformScope() { *platform = before; }
};
struct SocVersionManager : PlatformScope {
  explicit SocVersionManager(SocVersion soc) { SetPlatformSocVersion(soc); }
};
struct NpuArchManager : PlatformScope {
  explicit NpuArchManager(NpuArch arch) { SetPlatformNpuArch(arch); }
};
}  // namespace op

class TensorDesc {
 public:
  TensorDesc(const vector<int64_t>& sizes = {1, 1, 16, 16}, aclDataType dtype = ACL_FLOAT,
             aclFormat format = ACL_FORMAT_NCHW, const vector<int64_t>& strides = {}, int64_t offset = 0,
             const vector<int64_t>& storage = {})
      : sizes(sizes), strides(strides), storage(storage), dtype(dtype), format(format), offset(offset) {}
  TensorDesc& ViewDims(const vector<int64_t>& dims) { return sizes = dims, *this; }
  TensorDesc& Format(aclFormat other) { return format = other, *this; }
  TensorDesc& Precision(float, float, float = 0) { return *this; }
  TensorDesc& ValidCount(int32_t) { return *this; }
  TensorDesc& ValueFile(const string&) { return *this; }
  template <class T>
  TensorDesc& ValueRange(T, T) {
    return *this;
  }
  template <class T>
  TensorDesc& Value(const vector<T>&) {
    return *this;
  }
  aclTensor* ToAclTypeRawPtr() const;
  unique_ptr<aclTensor, void (*)(aclTensor*)> ToAclType() const {
    return {ToAclTypeRawPtr(), [](aclTensor*) {}};
  }
  vector<int64_t> sizes, strides, storage;
  aclDataType dtype;
  aclFormat format;
  int64_t offset;
};

inline string String(aclDataType) { return {}; }  // for messages

struct TensorListDesc {
  TensorListDesc(const vector<TensorDesc>& all) : all(all) {}
  TensorListDesc(int count, const TensorDesc& one) : all(count, one) {}
  aclTensorList* ToAclTypeRawPtr() const;
  vector<TensorDesc> all;
};

class ScalarDesc {
 public:
  ScalarDesc(bool v) : dtype(ACL_BOOL) { set(v); }
  ScalarDesc(int8_t v) : dtype(ACL_INT8) { set(v); }
  ScalarDesc(uint8_t v) : dtype(ACL_UINT8) { set(v); }
  ScalarDesc(int16_t v) : dtype(ACL_INT16) { set(v); }
  ScalarDesc(uint16_t v) : dtype(ACL_UINT16) { set(v); }
  ScalarDesc(int32_t v) : dtype(ACL_INT32) { set(v); }
  ScalarDesc(uint32_t v) : dtype(ACL_UINT32) { set(v); }
  ScalarDesc(int64_t v) : dtype(ACL_INT64) { set(v); }
  ScalarDesc(uint64_t v) : dtype(ACL_UINT64) { set(v); }
  ScalarDesc(double v) : dtype(ACL_DOUBLE) { set(v); }
  ScalarDesc(float v, aclDataType dtype = ACL_FLOAT);
  aclScalar* ToAclTypeRawPtr() const;
  unique_ptr<aclScalar, void (*)(aclScalar*)> ToAclType() const {
    return {ToAclTypeRawPtr(), [](aclScalar*) {}};
  }

 private:
  template <class T>
  void set(T v) {
    memcpy(bytes, &v, sizeof v);
  }
  aclDataType dtype;
  char bytes[16] = {};
};

#define PHASE1_ARRAY(Kind, T)                                                     \
  struct Kind##ArrayDesc {                                                        \
    Kind##ArrayDesc(const vector<T>& all) : all(all) {}                           \
    Kind##ArrayDesc(int count, T one) : all(count, one) {}                        \
    acl##Kind##Array* ToAclTypeRawPtr() const;                                    \
    unique_ptr<acl##Kind##Array, void (*)(acl##Kind##Array*)> ToAclType() const { \
      return {ToAclTypeRawPtr(), [](acl##Kind##Array*) {}};                       \
    }                                                                             \
    vector<T> all;                                                                \
  };
PHASE1_ARRAY(Int, int64_t)
PHASE1_ARRAY(Float, float)
PHASE1_ARRAY(Bool, bool)

// What is done with memory and with the tensors afterwards.
inline void* MallocDeviceMemory(size_t) { return nullptr; }
inline void FreeDeviceMemory(void*) {}
inline int SynchronizeStream() { return 0; }
template <class T>
void Release(T*) {}
template <class Desc>
auto DescToAclContainer(const Desc& v) {
  return v.ToAclTypeRawPtr();
}

namespace phase1 {

// A code that knows which call it is of. `aclnnStatus` means this in the tests.
struct Status {
  Status(int code = 0, int call = 0) : code(code), call(call) {}
  operator int() const { return code; }
  int code, call;
};

void note(const char* text);       // an argument as it is passed, for the log
void begin(const char* function);  // before the arguments
Status end(bool made, int code);   // after the call; `made`: for the product that this process is of
bool is_own_product();
void expect(int call, const char* how, int code, int line);
int last_call();

template <class T>
T acl(const T& v) {
  if constexpr (is_arithmetic_v<T>) note(to_string(v).c_str());
  else if constexpr (is_same_v<T, char*> || is_same_v<T, const char*>) note(v ? v : "null");
  else if constexpr (is_same_v<T, nullptr_t>) note("null");
  else if constexpr (is_pointer_v<T>) note(v ? "pointer" : "null");
  else note("?");
  return v;
}
#define PHASE1_ACL(Desc, T) \
  inline T* acl(const Desc& v) { return v.ToAclTypeRawPtr(); }
PHASE1_ACL(TensorDesc, aclTensor)
PHASE1_ACL(TensorListDesc, aclTensorList)
PHASE1_ACL(ScalarDesc, aclScalar)
PHASE1_ACL(IntArrayDesc, aclIntArray)
PHASE1_ACL(FloatArrayDesc, aclFloatArray)
PHASE1_ACL(BoolArrayDesc, aclBoolArray)

struct Call {
  const char* function;
  std::function<int(uint64_t*, aclOpExecutor**)> first_phase;  // empty: the libraries have no such function
  Status run(uint64_t* size) {
    begin(function);
    if (!is_own_product()) return end(false, 0);
    aclOpExecutor* executor = nullptr;
    return end(true, first_phase ? first_phase(size, &executor) : -1);
  }
  Status TestGetWorkspaceSize(uint64_t* size) { return run(size); }
  Status TestGetWorkspaceSizeWithNNopbaseInner(uint64_t* size, aclOpExecutor*) { return run(size); }
  Call& InputGenFunc(const string&) { return *this; }
  void TestPrecision() {}
};

template <class F, class... A>
Call call(const char* function, F* first_phase, A... arguments) {
  if (!first_phase) return {function, {}};
  return {function, [=](uint64_t* size, aclOpExecutor** executor) {
            // Braces: arguments are converted, and so logged, from left to right.
            auto all = std::tuple<decltype(acl(arguments))...>{acl(arguments)...};
            return std::apply([&](auto... one) { return int(first_phase(one..., size, executor)); }, all);
          }};
}

// A first phase that a test calls by itself.
template <class T>
struct As {
  using type = T;
};
template <class... P>
Status direct(const char* function, int (*first_phase)(P...), typename As<P>::type... arguments) {
  begin(function);
  if (!is_own_product()) return end(false, 0);
  (void)std::initializer_list<int>{(acl(arguments), 0)...};
  return end(true, first_phase ? first_phase(arguments...) : -1);
}
#define PHASE1_DIRECT(api, ...) phase1::direct(#api, &api##GetWorkspaceSize, __VA_ARGS__)

inline bool same(const Status& came, int wanted, const char*, int line) {
  expect(came.call, "==", wanted, line);
  return true;
}
inline bool same(int wanted, const Status& came, const char*, int line) { return same(came, wanted, "", line); }
inline bool same(const Status& came, const Status& wanted, const char*, int line) {
  return came.call ? same(came, wanted.code, "", line) : same(wanted, came.code, "", line);
}
// A status that was kept in a plain number is known by what it is compared with.
template <class A, class B>
bool same(const A& a, const B& b, const char* text, int line) {
  if constexpr (is_convertible_v<B, int> && is_convertible_v<A, int>)
    if (strstr(text, "ACLNN_") || strstr(text, "ACL_SUCCESS")) return expect(last_call(), "==", int(b), line), true;
  if constexpr (is_integral_v<A> && is_integral_v<B>) return a == static_cast<A>(b);
  else return a == b;
}
inline bool differ(const Status& came, int other, int line) { return expect(came.call, "!=", other, line), true; }
template <class A, class B>
bool differ(const A& a, const B& b, int) {
  return a != b;
}

struct Words {
  template <class T>
  const Words& operator<<(const T&) const {
    return *this;
  }
};
struct Nothing {
  void operator&(const Words&) const {}
};

}  // namespace phase1

#define INPUT(...) __VA_OPT__(, ) __VA_ARGS__
#define OUTPUT(...) __VA_OPT__(, ) __VA_ARGS__
#define OP_API_UT(api, input, output, ...) \
  phase1::call(#api, &api##GetWorkspaceSize input output __VA_OPT__(, ) __VA_ARGS__)

#undef EXPECT_EQ
#undef EXPECT_THAT
#undef ASSERT_EQ
#undef EXPECT_NE
#undef ASSERT_NE
#define PHASE1_EXPECT(held)                \
  if (held)                                \
    ;                                      \
  else phase1::Nothing{} & phase1::Words { \
    }
#define PHASE1_ASSERT(held)                       \
  if (held)                                       \
    ;                                             \
  else return phase1::Nothing{} & phase1::Words { \
    }
#define EXPECT_EQ(a, b) PHASE1_EXPECT(phase1::same(a, b, #b, __LINE__))
#define ASSERT_EQ(a, b) PHASE1_ASSERT(phase1::same(a, b, #b, __LINE__))
#define EXPECT_THAT(a, b) PHASE1_EXPECT(phase1::differ(a, -1, __LINE__))  // used with several codes at once
#define EXPECT_NE(a, b) PHASE1_EXPECT(phase1::differ(a, b, __LINE__))
#define ASSERT_NE(a, b) PHASE1_ASSERT(phase1::differ(a, b, __LINE__))
