// Enumerations and parameter structures of the interface.
#pragma once

#include "compiler_names.h"
#include "modes.h"
#include "types.h"

namespace AscendC {

namespace Impl {
constexpr int32_t QUEUE_DEPTH = 1;  // of queues in the vendor's examples
}
constexpr int32_t ONE_BLK_SIZE = 32, DEFAULT_C0_SIZE = 32, ONE_BLK_FLOAT_NUM = 8, ONE_BLK_HALF_NUM = 16;
constexpr int32_t ONE_REPEAT_BYTE_SIZE = 256, ONE_REPEAT_HALF_SIZE = 128, ONE_REPEAT_FLOAT_SIZE = 64;
constexpr int32_t B32_BYTE_SIZE = 4, B32_DATA_NUM_PER_BLOCK = 8, B32_DATA_NUM_PER_REPEAT = 64;
constexpr int32_t MAX_REPEAT_TIMES = 255;
constexpr uint64_t CACHE_LINE_SIZE = 64;
constexpr uint64_t FULL_MASK = ~uint64_t{0};
constexpr float PI = 3.14159265358979f;
constexpr int32_t TWO = 2;
constexpr int32_t DEFAULT_BLK_NUM = 8, BRCB_BROADCAST_NUMBER = 8;  // blocks of a repeat, of Brcb as well
constexpr uint8_t DEFAULT_BLK_STRIDE = 1, DEFAULT_REPEAT_STRIDE = 8;
#if __NPU_ARCH__ == 2201
constexpr int32_t TOTAL_UB_SIZE = 192 * 1024, TOTAL_VEC_LOCAL_SIZE = 184 * 1024;
#else
constexpr int32_t TOTAL_UB_SIZE = (__NPU_ARCH__ == 3510 ? 248 : 256) * 1024, TOTAL_VEC_LOCAL_SIZE = 248 * 1024;
#endif

enum class TPosition : uint8_t {
#include "positions.inc"
  C2PIPE2GM,
  C2PIPE2LOCAL,
  MAX,
};
using QuePosition = TPosition;
enum class Hardware : uint8_t { GM, UB, L1, L0A, L0B, L0C, BIAS, FIXBUF, MAX };

enum class RoundMode {
  CAST_NONE = 0,
  CAST_RINT,
  CAST_FLOOR,
  CAST_CEIL,
  CAST_ROUND,
  CAST_TRUNC,
  CAST_ODD,
  CAST_HYBRID,
  UNKNOWN = -1
};
enum class CMPMODE : uint8_t { LT = 0, GT, EQ, LE, GE, NE };
enum class SELMODE : uint8_t { VSEL_CMPMASK_SPR = 0, VSEL_TENSOR_SCALAR_MODE, VSEL_TENSOR_TENSOR_MODE };
enum class ReduceOrder { ORDER_VALUE_INDEX = 0, ORDER_INDEX_VALUE, ORDER_ONLY_VALUE, ORDER_ONLY_INDEX };
enum class ReduceType : uint8_t { SUM = 0, MAX, MIN };
enum class MaskMode : uint8_t { NORMAL = 0, COUNTER };
enum class CacheMode : uint8_t { CACHE_MODE_DISABLE = 0, CACHE_MODE_NORMAL, CACHE_MODE_LAST, CACHE_MODE_PERSISTENT };
enum class CacheRwMode { READ = 1, WRITE = 2, RW = 3 };
enum class CacheLine : uint64_t { SINGLE_CACHE_LINE = 0, ENTIRE_DATA_CACHE };
enum class DcciDst : uint64_t { CACHELINE_ALL = 0, CACHELINE_UB, CACHELINE_OUT, CACHELINE_ATOMIC };

enum class HardEvent : uint8_t {
  MTE2_MTE1,
  MTE1_MTE2,
  MTE1_M,
  M_MTE1,
  MTE2_V,
  V_MTE2,
  MTE3_V,
  V_MTE3,
  M_V,
  V_M,
  V_V,
  MTE3_MTE1,
  MTE1_MTE3,
  MTE1_V,
  MTE2_M,
  M_MTE2,
  V_MTE1,
  M_FIX,
  FIX_M,
  MTE3_MTE2,
  MTE2_MTE3,
  S_V,
  V_S,
  S_MTE2,
  MTE2_S,
  S_MTE3,
  MTE3_S,
  MTE2_FIX,
  FIX_MTE2,
  FIX_S,
  S_FIX,
  M_S,
  S_M,
  FIX_MTE3,
  MTE3_FIX,
  FIX_V,
  V_FIX,
  MTE1_FIX,
  FIX_MTE1,
  MAX,
};

struct DataCopyParams {
  DataCopyParams() = default;
  DataCopyParams(uint16_t count, uint16_t length, uint16_t from, uint16_t to)
      : blockCount(count), blockLen(length), srcStride(from), dstStride(to) {}
  uint16_t blockCount = 1;
  uint16_t blockLen = 0;  // 32-byte blocks; bytes in DataCopyPad
  union {                 // each has a second name
    uint16_t srcStride = 0;
    uint16_t srcGap;
  };
  union {
    uint16_t dstStride = 0;
    uint16_t dstGap;
  };
};
struct DataCopyExtParams {
#if __NPU_ARCH__ == 3510
  using Stride = int64_t;  // a source may go back, as far as a piece is long
#else
  using Stride = uint32_t;
#endif
  DataCopyExtParams() = default;
  DataCopyExtParams(uint16_t count, uint32_t length, Stride from, Stride to, uint32_t reserved)
      : blockCount(count), blockLen(length), srcStride(from), dstStride(to), rsv(reserved) {}
  uint16_t blockCount = 1;
  uint32_t blockLen = 0;  // bytes
  Stride srcStride = 0;
  Stride dstStride = 0;
  uint32_t rsv = 0;
};
struct DataCopyPadParams {
  DataCopyPadParams() = default;
  DataCopyPadParams(bool pad, uint8_t left, uint8_t right, uint64_t value)
      : isPad(pad), leftPadding(left), rightPadding(right), paddingValue(value) {}
  bool isPad = false;
  uint8_t leftPadding = 0;
  uint8_t rightPadding = 0;
  uint64_t paddingValue = 0;
};
template <typename T>
struct DataCopyPadExtParams {
  DataCopyPadExtParams() = default;
  template <typename V>  // a number stands for a bfloat16_t, too
  DataCopyPadExtParams(bool pad, uint8_t left, uint8_t right, V value)
      : isPad(pad), leftPadding(left), rightPadding(right), paddingValue(static_cast<T>(value)) {}
  bool isPad = false;
  uint8_t leftPadding = 0;
  uint8_t rightPadding = 0;
  struct Number : T {  // takes a number, where T itself does not
    Number() = default;
    constexpr Number(T value) : T(value) {}
    template <typename V, typename = std::enable_if_t<std::is_arithmetic_v<V>>>
    constexpr Number& operator=(V value) {
      return *this = Number(T(value));
    }
  };
  std::conditional_t<std::is_same_v<T, bfloat16_t>, Number, T> paddingValue{};
};
template <typename V>
DataCopyPadExtParams(bool, uint8_t, uint8_t, V) -> DataCopyPadExtParams<V>;

struct UnaryRepeatParams {
  UnaryRepeatParams() = default;
  UnaryRepeatParams(uint16_t dst, uint16_t src, uint8_t dst_repeat, uint8_t src_repeat)
      : dstBlkStride(dst), srcBlkStride(src), dstRepStride(dst_repeat), srcRepStride(src_repeat) {}
  uint16_t dstBlkStride = 1, srcBlkStride = 1;
  uint8_t dstRepStride = 8, srcRepStride = 8;
};
struct BinaryRepeatParams {
  BinaryRepeatParams() = default;
  BinaryRepeatParams(uint8_t dst, uint8_t a, uint8_t b, uint8_t dst_repeat, uint8_t a_repeat, uint8_t b_repeat)
      : dstBlkStride(dst),
        src0BlkStride(a),
        src1BlkStride(b),
        dstRepStride(dst_repeat),
        src0RepStride(a_repeat),
        src1RepStride(b_repeat) {}
  uint8_t dstBlkStride = 1, src0BlkStride = 1, src1BlkStride = 1;
  uint8_t dstRepStride = 8, src0RepStride = 8, src1RepStride = 8;
};
struct CopyRepeatParams {
  CopyRepeatParams() = default;
  CopyRepeatParams(uint16_t dst, uint16_t src, uint16_t dst_repeat, uint16_t src_repeat)
      : dstStride(dst), srcStride(src), dstRepeatSize(dst_repeat), srcRepeatSize(src_repeat) {}
  uint16_t dstStride = 1, srcStride = 1;
  uint16_t dstRepeatSize = 8, srcRepeatSize = 8;
};

enum class BlockMode : uint8_t {
  BLOCK_MODE_NORMAL,
  BLOCK_MODE_MATRIX,
  BLOCK_MODE_VECTOR,
  BLOCK_MODE_SMALL_CHANNEL,
  BLOCK_MODE_DEPTHWISE
};
using ::pad_t;

}  // namespace AscendC

// The names are used without their namespace, too.
using AscendC::HardEvent;
using TEventID = int8_t;
namespace AscendC {
using ::TEventID;
}
