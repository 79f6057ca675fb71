// matmul_tiling: how a product is dealt to the cores, and what each keeps in the cube's memories. The sizes are chosen
// here; those of the vendor's own tool may differ.
#pragma once

#include <algorithm>

#include "../../include/kernel_tiling/kernel_tiling.h"
#include "platform.h"
#include "tiling_data.h"

namespace optiling {

class TCubeTiling : public TilingDef {
 public:
  TCubeTiling() : TilingDef("TCubeTiling", true) {}
#define CUBE_TILING(name) TILING_DATA_FIELD_DEF(int32_t, name)
#include "../../include/ascendc/cube_tiling.inc"
#undef CUBE_TILING
};

}  // namespace optiling

namespace matmul_tiling {

enum class TPosition : int32_t {
#include "../../include/ascendc/positions.inc"
  MAX
};
enum class CubeFormat { ND = 0, NZ, ZN, ZZ, NN, VECTOR, SCALAR, ND_ALIGN };
enum class DataType {
  DT_FLOAT = 0,
  DT_FLOAT16 = 1,
  DT_INT8 = 2,
  DT_INT32 = 3,
  DT_UINT8 = 4,
  DT_INT16 = 6,
  DT_UINT16 = 7,
  DT_UINT32 = 8,
  DT_INT64 = 9,
  DT_UINT64 = 10,
  DT_DOUBLE = 11,
  DT_BOOL = 12,
  DT_BFLOAT16 = 27,
  DT_BF16 = 27,
  DT_UNDEFINED = 28,
  DT_INT4 = 29,
  DT_HIFLOAT8 = 34,
  DT_FLOAT8_E5M2 = 35,
  DT_FLOAT8_E4M3FN = 36,
  DT_FLOAT8_E8M0 = 37,
  DT_FLOAT6_E3M2 = 38,
  DT_FLOAT6_E2M3 = 39,
  DT_FLOAT4_E2M1 = 40,
  DT_FLOAT4_E1M2 = 41,
  DT_MAX = 42,
};
enum class MatrixTraverse : int32_t { NOSET = 0, FIRSTM = 1, FIRSTN = 2 };
enum class MatrixMadType : int32_t { NORMAL = 0, HF32 = 1, MXMODE = 2 };
enum class DequantType : int32_t { SCALAR = 0, TENSOR = 1 };
enum class ScheduleType : int32_t { INNER_PRODUCT = 0, OUTER_PRODUCT = 1, N_BUFFER_33 = 2 };
struct MatmulConfigParams {
  int32_t mmConfigType;
  bool enableL1CacheUB;
  ScheduleType scheduleType;
  MatrixTraverse traverse;
  bool enVecND2NZ;
  MatmulConfigParams(int32_t type = 1, bool cache = false, ScheduleType schedule = ScheduleType::INNER_PRODUCT,
                     MatrixTraverse order = MatrixTraverse::NOSET, bool vector = false)
      : mmConfigType(type), enableL1CacheUB(cache), scheduleType(schedule), traverse(order), enVecND2NZ(vector) {}
};

// What a tiling needs to know of the processor, for programs that have no PlatformAscendC.
struct PlatformInfo {
  platform_ascendc::SocVersion socVersion;
  uint64_t l1Size = 0, l0CSize = 0, ubSize = 0, l0ASize = 0, l0BSize = 0;
};

class MatmulApiTilingBase {
 public:
  bool EnableL1BankConflictOptimise() const { return false; }  // L1 has no banks here
  MatmulApiTilingBase() = default;
  explicit MatmulApiTilingBase(const platform_ascendc::PlatformAscendC& platform) {
    using platform_ascendc::CoreMemType;
    platform.GetCoreMemSize(CoreMemType::L1, l1_);
    platform.GetCoreMemSize(CoreMemType::L0_A, l0a_);
    platform.GetCoreMemSize(CoreMemType::L0_B, l0b_);
    platform.GetCoreMemSize(CoreMemType::L0_C, l0c_);
  }
  explicit MatmulApiTilingBase(const PlatformInfo& platform)
      : l1_(platform.l1Size), l0a_(platform.l0ASize), l0b_(platform.l0BSize), l0c_(platform.l0CSize) {}
  virtual ~MatmulApiTilingBase() = default;

  int32_t SetAType(TPosition where, CubeFormat format, DataType type, bool transposed = false) {
    return a_ = Side(format, type, transposed), whole_m_ = where == TPosition::TSCM, 0;
  }
  int32_t SetBType(TPosition where, CubeFormat format, DataType type, bool transposed = false) {
    return b_ = Side(format, type, transposed), whole_n_ = where == TPosition::TSCM, 0;
  }
  int32_t SetCType(TPosition, CubeFormat format, DataType type) { return c_ = Side(format, type), 0; }
  int32_t SetBiasType(TPosition, CubeFormat format, DataType type) { return bias_ = Side(format, type), 0; }
  int32_t SetDequantType(DequantType) { return 0; }
  virtual int32_t SetShape(int32_t m, int32_t n, int32_t k) { return single_m_ = m, single_n_ = n, single_k_ = k, 0; }
  int32_t SetSingleShape(int32_t singleMIn = -1, int32_t singleNIn = -1, int32_t singleKIn = -1) {
    return single_m_ = singleMIn, single_n_ = singleNIn, single_k_ = singleKIn, 0;
  }
  int32_t SetOrgShape(int32_t m, int32_t n, int32_t k) { return SetOrgShape(m, n, k, k); }
  int32_t SetOrgShape(int32_t m, int32_t n, int32_t ka, int32_t kb) { return m_ = m, n_ = n, ka_ = ka, kb_ = kb, 0; }
  int32_t SetBias(bool bias) { return has_bias_ = bias, 0; }
  int32_t EnableBias(bool bias = false) { return SetBias(bias); }
  int32_t SetFixSplit(int32_t m = -1, int32_t n = -1, int32_t k = -1) {
    return fixed_m_ = m, fixed_n_ = n, fixed_k_ = k, 0;
  }
  int32_t SetBufferSpace(int32_t l1 = -1, int32_t l0c = -1, int32_t = -1, int32_t = -1) {
    if (l1 > 0) l1_ = uint64_t(l1);
    if (l0c > 0) l0c_ = uint64_t(l0c);
    return 0;
  }
  int32_t SetTraverse(MatrixTraverse order) { return order_ = order == MatrixTraverse::FIRSTN ? 1 : 0, 0; }
  int32_t SetMadType(MatrixMadType type) { return type == MatrixMadType::MXMODE ? -1 : 0; }  // of Ascend 950
  int32_t SetSparse(bool = false) { return 0; }  // the sizes are those of a B that is whole
  // How the kernel loads: 0 is the Norm template, 1 MDL.
  void SetMatmulConfigParams(int32_t = 1, bool = false, ScheduleType schedule = ScheduleType::INNER_PRODUCT,
                             MatrixTraverse order = MatrixTraverse::NOSET, bool = false) {
    nine_blocks_ = schedule == ScheduleType::N_BUFFER_33;
    if (order != MatrixTraverse::NOSET) SetTraverse(order);
  }
  void SetMatmulConfigParams(const MatmulConfigParams& p) {
    SetMatmulConfigParams(p.mmConfigType, p.enableL1CacheUB, p.scheduleType, p.traverse, p.enVecND2NZ);
  }
  int32_t SetDoubleBuffer(bool, bool, bool, bool, bool = true, bool = true) { return 0; }
  int32_t SetSplitRange(int32_t most_m = -1, int32_t most_n = -1, int32_t most_k = -1, int32_t = -1, int32_t = -1,
                        int32_t = -1) {
    return most_m_ = most_m, most_n_ = most_n, most_k_ = most_k, 0;
  }
  // Products in batches (IterateBatch): each is tiled as one by itself.
  int32_t SetBatchNum(int32_t batch) { return batch_ = batch, 0; }
  int32_t SetBatchInfoForNormal(int32_t, int32_t, int32_t m, int32_t n, int32_t k) { return SetOrgShape(m, n, k); }
  int32_t SetALayout(int32_t b, int32_t s, int32_t n, int32_t g, int32_t d) { return layouts_[0] = {b, s, n, g, d}, 0; }
  int32_t SetBLayout(int32_t b, int32_t s, int32_t n, int32_t g, int32_t d) { return layouts_[1] = {b, s, n, g, d}, 0; }
  int32_t SetCLayout(int32_t b, int32_t s, int32_t n, int32_t g, int32_t d) { return layouts_[2] = {b, s, n, g, d}, 0; }
  int32_t GetBaseM() const { return base_m_; }
  int32_t GetBaseN() const { return base_n_; }
  int32_t GetBaseK() const { return base_k_; }

  // 0, or -1 where no such product can be tiled.
  int64_t GetTiling(optiling::TCubeTiling& tiling) {
    ::TCubeTiling plain{};
    if (solve(plain)) return -1;
#define CUBE_TILING(name) tiling.set_##name(plain.name);
#include "../../include/ascendc/cube_tiling.inc"
#undef CUBE_TILING
    return 0;
  }
  int64_t GetTiling(::TCubeTiling& tiling) { return solve(tiling); }

 protected:
  struct Side {
    explicit Side(CubeFormat f = CubeFormat::ND, DataType t = DataType::DT_FLOAT16, bool turned = false)
        : format(f), type(t), transposed(turned) {}
    CubeFormat format;
    DataType type;
    bool transposed;
  };
  static int32_t up(int32_t value, int32_t to) { return (value + to - 1) / to * to; }
  // What was given as -1 is the whole matrix's.
  virtual int64_t deal() {
    if (single_m_ == -1) single_m_ = m_;
    if (single_n_ == -1) single_n_ = n_;
    if (single_k_ == -1) single_k_ = std::min(ka_, kb_);
    return single_m_ > 0 && single_n_ > 0 && single_k_ > 0 ? (used_ = 1, 0) : -1;
  }

  int64_t solve(::TCubeTiling& t) {
    const bool pairs = a_.type == DataType::DT_INT4;  // two elements in a byte
    const int32_t size = pairs ? 1 : ge::GetSizeByDataType(ge::DataType(a_.type)), packed = pairs ? 2 : 1;
    if (size != 1 && size != 2 && size != 4) return -1;
    if (m_ <= 0 || n_ <= 0 || ka_ <= 0 || kb_ <= 0 || deal()) return -1;
    const int32_t c0 = 32 / size * packed;
    // A block that is turned on its way to L0 is as deep as a fractal is wide.
    const int32_t deep_to = a_.transposed || !b_.transposed ? std::max(c0, 16) : c0;
    // A tile of C fills at most L0C; two tiles of A and of B fit their memories.
    auto limit = [](int32_t value, int32_t most, int32_t to) {
      return most > 0 ? std::min(value, std::max(most / to * to, to)) : value;
    };
    base_m_ = fixed_m_ > 0 ? fixed_m_ : limit(std::min(up(single_m_, 16), 128), most_m_, 16);
    base_n_ = fixed_n_ > 0 ? fixed_n_ : std::min(up(single_n_, 16), int32_t(l0c_ / 4 / uint64_t(base_m_) / 16 * 16));
    if (fixed_n_ <= 0) base_n_ = limit(std::min(base_n_, 256), most_n_, 16);
    const uint64_t rows = uint64_t(std::max(base_m_, base_n_)) * uint64_t(size);
    base_k_ = fixed_k_ > 0 ? fixed_k_
                           : std::min(up(single_k_, deep_to),
                                      int32_t(std::min(l0a_, l0b_) / 2 / rows) * packed / deep_to * deep_to);
    if (fixed_k_ <= 0) base_k_ = limit(base_k_, most_k_, deep_to);
    if (base_m_ <= 0 || base_n_ <= 0 || base_k_ <= 0 || base_m_ % 16 || base_n_ % 16 || base_k_ % deep_to) return -1;
    if (base_m_ > up(single_m_, 16) || base_n_ > up(single_n_, std::max(c0, 16))) return -1;
    const uint64_t deep_bytes = uint64_t(base_k_) * uint64_t(size) / uint64_t(packed);
    const uint64_t left = uint64_t(base_m_) * deep_bytes, right = uint64_t(base_n_) * deep_bytes;
    if (left > l0a_ || right > l0b_ || uint64_t(base_m_) * uint64_t(base_n_) * 4 > l0c_ || left + right > l1_)
      return -1;
    const int32_t deep = (single_k_ + base_k_ - 1) / base_k_,
                  held = int32_t(std::min<uint64_t>(l1_ / 2 / (left + right), 4));
    const int32_t step = nine_blocks_ ? deep : std::max(1, std::min(deep, held));
    const int32_t both = 2 * step * (left + right) <= l1_ ? 2 : 1;
    // NBuffer33: up to three by three blocks of A stay, and B's come three at a time.
    const int32_t down = nine_blocks_ ? std::min(3, (single_m_ + base_m_ - 1) / base_m_) : 1;
    if (nine_blocks_ && (deep > 3 || uint64_t(down * step) * left + uint64_t(both * step) * right > l1_)) return -1;
    t = {};
    t.usedCoreNum = used_, t.M = m_, t.N = n_, t.Ka = ka_, t.Kb = kb_;
    t.singleCoreM = single_m_, t.singleCoreN = single_n_, t.singleCoreK = single_k_;
    t.baseM = base_m_, t.baseN = base_n_, t.baseK = base_k_;
    t.depthA1 = t.depthB1 = both * step, t.stepM = t.stepN = 1, t.stepKa = t.stepKb = step;
    if (nine_blocks_) t.stepM = down, t.depthA1 = down * step;
    t.isBias = has_bias_, t.iterateOrder = order_;
    t.transLength = int32_t(std::max({left, right, uint64_t(base_m_) * uint64_t(base_n_) * 4}));
    t.shareL1Size = int32_t(both * step * (left + right)), t.shareL0CSize = base_m_ * base_n_ * 4;
    t.dbL0A = 2 * left <= l0a_ ? 2 : 1, t.dbL0B = 2 * right <= l0b_ ? 2 : 1, t.dbL0C = 1;
    t.batchM = t.batchN = t.singleBatchM = t.singleBatchN = 1;
    t.depthAL1CacheUB = t.depthBL1CacheUB = 1;
    const Layout &a = layouts_[0], &b = layouts_[1], &c = layouts_[2];
    t.ALayoutInfoB = a.b, t.ALayoutInfoS = a.s, t.ALayoutInfoN = a.n, t.ALayoutInfoG = a.g, t.ALayoutInfoD = a.d;
    t.BLayoutInfoB = b.b, t.BLayoutInfoS = b.s, t.BLayoutInfoN = b.n, t.BLayoutInfoG = b.g, t.BLayoutInfoD = b.d;
    t.CLayoutInfoB = c.b, t.CLayoutInfoS1 = c.s, t.CLayoutInfoN = c.n, t.CLayoutInfoG = c.g, t.CLayoutInfoS2 = c.d;
    t.BatchNum = batch_;
    return 0;
  }

  struct Layout {
    int32_t b, s, n, g, d;
  };
  Layout layouts_[3] = {};
  int32_t batch_ = 0;
  Side a_, b_, c_, bias_;
  int32_t m_ = 0, n_ = 0, ka_ = 0, kb_ = 0, single_m_ = 0, single_n_ = 0, single_k_ = 0;
  int32_t most_m_ = -1, most_n_ = -1, most_k_ = -1;
  int32_t fixed_m_ = -1, fixed_n_ = -1, fixed_k_ = -1, base_m_ = 0, base_n_ = 0, base_k_ = 0;
  int32_t used_ = 1, order_ = 0;
  bool has_bias_ = false, nine_blocks_ = false;
  bool whole_m_ = false, whole_n_ = false;  // the cores do not share the rows or columns of a matrix in TSCM
  uint64_t l1_ = 512 * 1024, l0a_ = 64 * 1024, l0b_ = 64 * 1024, l0c_ = 128 * 1024;
};

class MatmulApiTiling : public MatmulApiTilingBase {
 public:
  using MatmulApiTilingBase::MatmulApiTilingBase;
};
class BatchMatmulTiling : public MatmulApiTilingBase {
 public:
  using MatmulApiTilingBase::MatmulApiTilingBase;
  // One core has the batch.
  int32_t GetCoreNum(int32_t& dim, int32_t& mDim, int32_t& nDim, int32_t& batchCoreM, int32_t& batchCoreN) const {
    return dim = used_, mDim = nDim = batchCoreM = batchCoreN = 1, 0;
  }
};

class MultiCoreMatmulTiling : public MatmulApiTilingBase {
 public:
  using MatmulApiTilingBase::MatmulApiTilingBase;
  int32_t SetDim(int32_t dim) { return dim_ = dim, 0; }
  int32_t SetShape(int32_t m, int32_t n, int32_t k) override { return shape_m_ = m, shape_n_ = n, shape_k_ = k, 0; }
  // The cores share K as well, and add what each gets.
  void EnableMultiCoreSplitK(bool flag) { split_k_ = flag; }
  void SetSplitK(bool flag) { EnableMultiCoreSplitK(flag); }  // its older name
  int32_t SetSingleRange(int32_t maxM = -1, int32_t maxN = -1, int32_t maxK = -1, int32_t minM = -1, int32_t minN = -1,
                         int32_t minK = -1) {
    return range_m_ = maxM, range_n_ = maxN, range_k_ = maxK, least_m_ = minM, least_n_ = minN, least_k_ = minK, 0;
  }
  int32_t SetAlignSplit(int32_t m, int32_t n, int32_t k) {
    return align_m_ = std::max(m, 1), align_n_ = std::max(n, 1), align_k_ = std::max(k, 1), 0;
  }
  int32_t SetSingleShape(int32_t m = -1, int32_t n = -1, int32_t k = -1) {
    return wanted_ = m > 0 || n > 0, wanted_k_ = k, MatmulApiTilingBase::SetSingleShape(m, n, k);
  }
  int32_t GetSingleShape(int32_t& m, int32_t& n, int32_t& k) const {
    return m = single_m_, n = single_n_, k = single_k_, 0;
  }
  int32_t GetCoreNum(int32_t& dim, int32_t& m_dim, int32_t& n_dim) const {
    return dim = used_, m_dim = m_dim_, n_dim = n_dim_, 0;
  }

 private:
  // The split over m and n that gives the busiest core the least, and of those the one that reads the least.
  int64_t deal() override {
    const int32_t m = shape_m_ > 0 ? shape_m_ : m_, n = shape_n_ > 0 ? shape_n_ : n_,
                  k = shape_k_ > 0 ? shape_k_ : std::min(ka_, kb_);
    if (m <= 0 || n <= 0 || k <= 0 || dim_ <= 0) return -1;
    auto pieces = [](int32_t whole, int32_t piece) { return (whole + piece - 1) / piece; };
    if (wanted_) {
      if (single_m_ <= 0) single_m_ = m;
      if (single_n_ <= 0) single_n_ = n;
      m_dim_ = pieces(m, single_m_), n_dim_ = pieces(n, single_n_);
    } else {
      int64_t least = INT64_MAX, reads = INT64_MAX;
      for (int32_t i = 1; i <= dim_; ++i)
        for (int32_t j = 1; i * j <= dim_; ++j) {
          // Of whole tiles where SetFixSplit says their size: the vendor's kernels copy out tiles of that size alone.
          const int32_t rows = std::min(m, up(up(up(pieces(m, i), 16), align_m_), std::max(fixed_m_, 1))),
                        columns = std::min(n, up(up(up(pieces(n, j), 16), align_n_), std::max(fixed_n_, 1)));
          if ((whole_m_ && i > 1) || (whole_n_ && j > 1)) continue;
          if ((range_m_ > 0 && rows > range_m_) || (range_n_ > 0 && columns > range_n_)) continue;
          if (rows < std::min(m, least_m_) || columns < std::min(n, least_n_)) continue;
          // With a fixed baseN the fewest whole tiles across: kernels that choose it step down the rows of one tile's
          // width.
          const bool tiles = fixed_n_ > 0 && columns % fixed_n_ == 0;
          // Kernels that set no tail need pieces of one size: they are preferred where the busiest core has at most a
          // quarter more.
          const bool even = m % rows == 0 && n % columns == 0;
          const int64_t work = int64_t(rows) * columns * (even ? 4 : 5),
                        read = tiles ? columns : int64_t(rows) + columns;
          if (work > least || (work == least && read > reads)) continue;
          least = work, reads = read;
          single_m_ = rows, single_n_ = columns, m_dim_ = pieces(m, rows), n_dim_ = pieces(n, columns);
        }
      single_k_ = k;
    }
    if (single_k_ <= 0) single_k_ = k;
    if (wanted_k_ > 0) single_k_ = wanted_k_;
    if (single_m_ <= 0 || (range_k_ > 0 && !split_k_ && single_k_ > range_k_)) return -1;
    used_ = m_dim_ * n_dim_;
    if (split_k_ && !wanted_ && used_ * 2 <= dim_) {
      const int32_t part = std::max(up(pieces(k, dim_ / used_), std::max(align_k_, 16)), least_k_);
      single_k_ = std::min(k, range_k_ > 0 ? std::min(part, std::max(range_k_ / 16 * 16, 16)) : part);
      used_ *= pieces(k, single_k_);
    }
    return used_ <= dim_ ? 0 : -1;
  }
  int32_t dim_ = 1, shape_m_ = 0, shape_n_ = 0, shape_k_ = 0, m_dim_ = 1, n_dim_ = 1;
  int32_t range_m_ = -1, range_n_ = -1, range_k_ = -1, least_m_ = -1, least_n_ = -1, least_k_ = -1;
  int32_t align_m_ = 1, align_n_ = 1, align_k_ = 1;
  bool split_k_ = false;
  bool wanted_ = false;  // SetSingleShape says the split
  int32_t wanted_k_ = -1;
};

struct SysTilingTempBufSize {
  int32_t ubSize = 0, l1Size = 0, l0cSize = 0;
};

}  // namespace matmul_tiling

// What a tiling uses of L1, UB and L0C; -1 for one that GetTiling did not fill in.
#define OPHOOK_TMP_BUF(name)                                                                                \
  inline int32_t name##GetTmpBufSize(optiling::TCubeTiling& t, matmul_tiling::SysTilingTempBufSize& size) { \
    size = {t.get_shareUbSize(), t.get_shareL1Size(), t.get_shareL0CSize()};                                \
    return t.get_baseM() > 0 ? 0 : -1;                                                                      \
  }                                                                                                         \
  inline int32_t name##GetTmpBufSizeV2(::TCubeTiling& t, matmul_tiling::SysTilingTempBufSize& size) {       \
    size = {t.shareUbSize, t.shareL1Size, t.shareL0CSize};                                                  \
    return t.baseM > 0 ? 0 : -1;                                                                            \
  }
OPHOOK_TMP_BUF(Matmul)
OPHOOK_TMP_BUF(MultiCoreMatmul)
OPHOOK_TMP_BUF(BatchMatmul)
#undef OPHOOK_TMP_BUF
