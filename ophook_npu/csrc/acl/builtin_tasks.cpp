// libascendcl: tasks that are CANN's own and no operators: reductions, random numbers, the status of overflows. CANN's
// pages "Execution control" and "Exception handling".
#include <cmath>
#include <cstring>

#include "acl/tasks.h"
#include "core/runtime.h"
#include "include/aclnn/opdev/bfloat16.h"
#include "include/aclnn/opdev/fp16_t.h"

namespace sim::acl::tasks {
namespace {

// A type's numbers as the arithmetic has them, and back.
template <typename T, typename As = T>
struct Plain {
  using Value = As;
  static Value get(const char* at) {
    T value;
    memcpy(&value, at, sizeof value);
    return Value(value);
  }
  static void put(char* at, Value value) {
    const T narrow = T(value);
    memcpy(at, &narrow, sizeof narrow);
  }
  static constexpr size_t size = sizeof(T);
};
using Float16 = Plain<op::fp16_t, float>;
using BFloat16 = Plain<op::bfloat16, float>;

// Calls what(Numbers{}) for a data type; false where it is none of these.
template <typename F>
bool with(aclDataType type, F what) {
  switch (type) {
    case ACL_INT8: return what(Plain<int8_t>{}), true;
    case ACL_INT16: return what(Plain<int16_t>{}), true;
    case ACL_INT32: return what(Plain<int32_t>{}), true;
    case ACL_INT64: return what(Plain<int64_t>{}), true;
    case ACL_UINT32: return what(Plain<uint32_t>{}), true;
    case ACL_UINT64: return what(Plain<uint64_t>{}), true;
    case ACL_FLOAT: return what(Plain<float>{}), true;
    case ACL_FLOAT16: return what(Float16{}), true;
    case ACL_BF16: return what(BFloat16{}), true;
    default: return false;
  }
}

int reach(const char* caller, const char* what, const void* pointer, size_t size) {
  const char* problem = sim_memory_problem(what, pointer, size);
  return problem ? sim_fail(ACL_ERROR_RT_AICORE_EXCEPTION, "%s: %s", caller, problem) : ACL_SUCCESS;
}

// ---- reductions ----
struct Reduction {
  char* to;
  const char* from;
  size_t bytes;
  aclrtReduceKind kind;
  aclDataType type;
  void touch(sim_listener* listener) const {
    sim::touch(listener, false, from, bytes);
    sim::touch(listener, false, to, bytes);
    sim::touch(listener, true, to, bytes);
  }
};

template <typename Value>
Value reduced(aclrtReduceKind kind, Value a, Value b) {
  switch (kind) {
    case ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM: return Value(a + b);
    case ACL_RT_MEMCPY_SDMA_AUTOMATIC_MAX: return std::max(a, b);
    case ACL_RT_MEMCPY_SDMA_AUTOMATIC_MIN: return std::min(a, b);
    default: return Value(a == b);
  }
}

int run_reduction(const Reduction& task) {
  if (int code = reach("aclrtReduceAsync", "dst", task.to, task.bytes)) return code;
  if (int code = reach("aclrtReduceAsync", "src", task.from, task.bytes)) return code;
  with(task.type, [&](auto numbers) {
    using N = decltype(numbers);
    for (size_t at = 0; at < task.bytes; at += N::size)
      N::put(task.to + at, reduced<typename N::Value>(task.kind, N::get(task.to + at), N::get(task.from + at)));
  });
  return ACL_SUCCESS;
}

bool reduces(aclDataType type) {
  switch (type) {
    case ACL_INT8:
    case ACL_INT16:
    case ACL_INT32:
    case ACL_FLOAT16:
    case ACL_FLOAT:
    case ACL_BF16: return true;
    case ACL_UINT32: return on("Ascend950");
    default: return false;
  }
}

#ifdef OPHOOK_NEWER_ACL
// ---- random numbers: Philox 4x32-10, keyed by the seed, counted from the counter in device memory on ----
struct Philox {
  uint64_t seed, counter[2];
  uint32_t out[4] = {};
  int left = 0;
  uint32_t next() {
    if (!left) {
      uint32_t c[4] = {uint32_t(counter[0]), uint32_t(counter[0] >> 32), uint32_t(counter[1]),
                       uint32_t(counter[1] >> 32)};
      uint32_t k[2] = {uint32_t(seed), uint32_t(seed >> 32)};
      for (int round = 0; round < 10; ++round) {
        const uint64_t a = uint64_t{0xd2511f53} * c[0], b = uint64_t{0xcd9e8d57} * c[2];
        const uint32_t turned[4] = {uint32_t(b >> 32) ^ c[1] ^ k[0], uint32_t(b), uint32_t(a >> 32) ^ c[3] ^ k[1],
                                    uint32_t(a)};
        std::copy(turned, turned + 4, c);
        k[0] += 0x9e3779b9, k[1] += 0xbb67ae85;
      }
      std::copy(c, c + 4, out);
      if (!++counter[0]) ++counter[1];
      left = 4;
    }
    return out[--left];
  }
  uint64_t wide() {
    const uint64_t high = next();
    return high << 32 | next();
  }
  double uniform() { return (double(next()) + 0.5) * 0x1p-32; }  // in (0, 1)
  double normal() { return std::sqrt(-2 * std::log(uniform())) * std::cos(2 * 3.14159265358979323846 * uniform()); }
};

// A parameter's value when the task runs: where isAddr is set, what then lies there.
int value_of(const aclrtRandomParaInfo& parameter, char out[8], size_t needed) {
  if (!parameter.isAddr) {
    memcpy(out, parameter.valueOrAddr, 8);
    return ACL_SUCCESS;
  }
  const void* address = nullptr;
  memcpy(&address, parameter.valueOrAddr, sizeof address);
  if (int code = reach("aclrtRandomNumAsync", "a parameter", address, needed)) return code;
  memset(out, 0, 8);
  memcpy(out, address, needed);
  return ACL_SUCCESS;
}

template <typename N>
void fill(const aclrtRandomNumTaskInfo& task, Philox& random, const char* first, const char* second, uint64_t count) {
  auto* out = static_cast<char*>(task.randomResultAddr);
  const auto a = N::get(first), b = N::get(second);
  const auto kind = task.randomNumFuncParaInfo.funcType;
  for (uint64_t i = 0; i < count; ++i, out += N::size) {
    if (kind == ACL_RT_RANDOM_NUM_FUNC_TYPE_UNIFORM_DIS) {
      if constexpr (std::is_integral_v<typename N::Value>) {
        const uint64_t range = uint64_t(b) - uint64_t(a);  // [min, max)
        N::put(out, typename N::Value(uint64_t(a) + (range ? random.wide() % range : 0)));
      } else {
        N::put(out, typename N::Value(double(a) + random.uniform() * (double(b) - double(a))));
      }
      continue;
    }
    double drawn = random.normal();
    while (kind == ACL_RT_RANDOM_NUM_FUNC_TYPE_TRUNCATED_NORMAL_DIS && std::fabs(drawn) > 2) drawn = random.normal();
    N::put(out, typename N::Value(double(a) + drawn * double(b)));
  }
}

struct Random {
  aclrtRandomNumTaskInfo info;

  // Of results whose number lies in device memory, the first.
  void touch(sim_listener* listener) const {
    uint64_t count = 1;
    if (!info.randomNum.isAddr) memcpy(&count, info.randomNum.valueOrAddr, sizeof count);
    const bool bits = info.randomNumFuncParaInfo.funcType == ACL_RT_RANDOM_NUM_FUNC_TYPE_DROPOUT_BITMASK;
    for (const bool writes : {false, true}) sim::touch(listener, writes, info.randomCounterAddr, 16);
    sim::touch(listener, true, info.randomResultAddr, bits ? (count + 7) / 8 : count * aclDataTypeSize(info.dataType));
  }
};

int run_random(const Random& of) {
  const auto& task = of.info;
  constexpr const char* kCaller = "aclrtRandomNumAsync";
  Philox random{};
  char text[8], first[8], second[8];
  uint64_t count = 0;
  if (int code = value_of(task.randomSeed, text, 8)) return code;
  memcpy(&random.seed, text, 8);
  if (int code = value_of(task.randomNum, text, 8)) return code;
  memcpy(&count, text, 8);
  if (int code = reach(kCaller, "randomCounterAddr", task.randomCounterAddr, sizeof random.counter)) return code;
  memcpy(random.counter, task.randomCounterAddr, sizeof random.counter);
  const auto& parameters = task.randomNumFuncParaInfo;
  size_t size = aclDataTypeSize(task.dataType);
  if (parameters.funcType == ACL_RT_RANDOM_NUM_FUNC_TYPE_DROPOUT_BITMASK) {
    if (int code = reach(kCaller, "randomResultAddr", task.randomResultAddr, (count + 7) / 8)) return code;
    if (int code = value_of(parameters.paramInfo.dropoutBitmaskInfo.dropoutRation, text, size)) return code;
    double ratio = 0;
    with(task.dataType, [&](auto numbers) { ratio = double(decltype(numbers)::get(text)); });
    auto* bits = static_cast<unsigned char*>(task.randomResultAddr);
    memset(bits, 0, (count + 7) / 8);
    for (uint64_t i = 0; i < count; ++i)
      if (random.uniform() >= ratio) bits[i / 8] |= uint8_t(1u << i % 8);  // 1: kept
  } else {
    const bool uniform = parameters.funcType == ACL_RT_RANDOM_NUM_FUNC_TYPE_UNIFORM_DIS;
    const auto& info = parameters.paramInfo;
    if (int code = value_of(uniform ? info.uniformDisInfo.min : info.normalDisInfo.mean, first, size)) return code;
    if (int code = value_of(uniform ? info.uniformDisInfo.max : info.normalDisInfo.stddev, second, size)) return code;
    if (int code = reach(kCaller, "randomResultAddr", task.randomResultAddr, size * count)) return code;
    with(task.dataType, [&](auto numbers) { fill<decltype(numbers)>(task, random, first, second, count); });
  }
  memcpy(task.randomCounterAddr, random.counter, sizeof random.counter);
  return ACL_SUCCESS;
}
#endif

}  // namespace

extern "C" {

SIM_API aclError aclrtReduceAsync(void* to, const void* from, uint64_t bytes, aclrtReduceKind kind, aclDataType type,
                                  aclrtStream stream, void*) {
  REQUIRE(to, from);
  if (int code = sim_require_device(__func__)) return code;
  RT_INVALID_IF(kind < ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM || kind > ACL_RT_MEMCPY_SDMA_AUTOMATIC_EQUAL,
                "kind %d; allowed: 10 to 13", int(kind));
  if (!reduces(type))
    return sim_fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "%s: data type %d on %s", __func__, int(type),
                    sim_current_soc()->name);
  RT_INVALID_IF(!bytes || bytes % aclDataTypeSize(type), "%llu bytes are not a number of elements",
                (unsigned long long)bytes);
  return launch<run_reduction>(stream, __func__,
                               Reduction{static_cast<char*>(to), static_cast<const char*>(from), bytes, kind, type});
}

#ifdef OPHOOK_NEWER_ACL
SIM_API aclError aclrtRandomNumAsync(const aclrtRandomNumTaskInfo* task, const aclrtStream stream, void*) {
  REQUIRE(task);
  REQUIRE(task->randomResultAddr, task->randomCounterAddr);
  const auto kind = task->randomNumFuncParaInfo.funcType;
  RT_INVALID_IF(
      kind < ACL_RT_RANDOM_NUM_FUNC_TYPE_DROPOUT_BITMASK || kind > ACL_RT_RANDOM_NUM_FUNC_TYPE_TRUNCATED_NORMAL_DIS,
      "funcType %d; allowed: 0 to 3", int(kind));
  const auto type = task->dataType;
  const bool real = type == ACL_FLOAT || type == ACL_FLOAT16 || type == ACL_BF16;
  const bool whole = type == ACL_INT32 || type == ACL_INT64 || type == ACL_UINT32 || type == ACL_UINT64;
  RT_INVALID_IF(!real && !(whole && kind == ACL_RT_RANDOM_NUM_FUNC_TYPE_UNIFORM_DIS),
                "data type %d; allowed: float, float16, bfloat16, and for uniform numbers int32, int64, uint32, uint64",
                int(type));
  if (task->randomParaAddr) return sim_unimplemented("aclrtRandomNumAsync with randomParaAddr");
  return launch<run_random>(stream, __func__, Random{*task});
}
#endif

// The simulator computes with infinities and NaNs, as 910B and later do by default. In the other mode results saturate:
// operators would have to compute otherwise, so it is refused, and with it what only has a meaning there.
static int no_saturation(const char* what) {
  return sim_fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
                  "%s: saturation is not simulated; results are infinities and NaNs (ACL_RT_OVERFLOW_MODE_INFNAN)",
                  what);
}
SIM_API aclError aclrtSetDeviceSatMode(aclrtFloatOverflowMode mode) {
  if (mode == ACL_RT_OVERFLOW_MODE_INFNAN) return ACL_SUCCESS;
  if (mode == ACL_RT_OVERFLOW_MODE_SATURATION) return no_saturation(__func__);
  return RT_INVALID(__func__, "mode %d; allowed: 0, 1", int(mode));
}
SIM_API aclError aclrtGetDeviceSatMode(aclrtFloatOverflowMode* mode) {
  REQUIRE(mode);
  if (int code = sim_require_device(__func__)) return code;
  *mode = ACL_RT_OVERFLOW_MODE_INFNAN;
  return ACL_SUCCESS;
}
SIM_API aclError aclrtSetStreamOverflowSwitch(aclrtStream stream, uint32_t flag) {
  RT_INVALID_IF(flag > 1, "flag %u; allowed: 0, 1", flag);
  if (int code = sim_capture_refuses(__func__, stream)) return code;
  return flag ? no_saturation(__func__) : ACL_SUCCESS;
}
SIM_API aclError aclrtGetStreamOverflowSwitch(aclrtStream, uint32_t* flag) {
  REQUIRE(flag);
  *flag = 0;
  return ACL_SUCCESS;
}
SIM_API aclError aclrtGetOverflowStatus(void*, size_t, aclrtStream stream) {
  const int code = sim_capture_refuses(__func__, stream);
  return code ? code : no_saturation(__func__);
}
SIM_API aclError aclrtResetOverflowStatus(aclrtStream stream) {
  const int code = sim_capture_refuses(__func__, stream);
  return code ? code : no_saturation(__func__);
}

}  // extern "C"
}  // namespace sim::acl::tasks
