// The cube unit: fractals on their way from device memory over L1 and L0A, L0B to Mmad, and from L0C back.
//
// A fractal is 512 bytes: 16 rows of 32 bytes. L1 holds NZ (fractals by columns), L0A ZZ (by rows), L0B ZN (by rows,
// each fractal transposed), L0C NZ of 16 by 16 elements.
#pragma once

#include "copy.h"

namespace AscendC {

struct Nd2NzParams {
  Nd2NzParams() = default;
  Nd2NzParams(uint16_t nd, uint16_t n, uint16_t d, uint16_t src_matrix, uint16_t src_row, uint16_t c0, uint16_t row,
              uint16_t dst_matrix)
      : ndNum(nd),
        nValue(n),
        dValue(d),
        srcNdMatrixStride(src_matrix),
        srcDValue(src_row),
        dstNzC0Stride(c0),
        dstNzNStride(row),
        dstNzMatrixStride(dst_matrix) {}
  uint16_t ndNum = 0;              // matrices
  uint16_t nValue = 0;             // rows of each
  uint16_t dValue = 0;             // elements of a row
  uint16_t srcNdMatrixStride = 0;  // elements from one matrix to the next
  uint16_t srcDValue = 0;          // elements from one row to the next
  uint16_t dstNzC0Stride = 0;      // blocks of 32 bytes from one column of fractals to the next
  uint16_t dstNzNStride = 0;       // blocks from one row to the next
  uint16_t dstNzMatrixStride = 0;  // elements from one matrix to the next
};

struct LoadData2DParams {
  LoadData2DParams() = default;
  LoadData2DParams(uint16_t start, uint8_t repeat, uint16_t src, uint8_t id, uint16_t gap, bool transpose, uint8_t mode)
      : startIndex(start),
        dstGap(gap),
        srcStride(src),
        ifTranspose(transpose),
        repeatTimes(repeat),
        sid(id),
        addrMode(mode) {}
  uint16_t startIndex = 0;  // all in fractals
  uint16_t dstGap = 0;      // from a fractal's end to the next one's begin
  uint16_t srcStride = 0;   // from begin to begin
  bool ifTranspose = false;
  uint8_t repeatTimes = 0;
  uint8_t sid = 0, addrMode = 0;
};
using LoadData2dParams = LoadData2DParams;  // as some pages have it

struct LoadData2dTransposeParams {
  LoadData2dTransposeParams() = default;
  LoadData2dTransposeParams(uint16_t start, uint8_t repeat, uint16_t src, uint16_t gap, uint16_t fractal_gap)
      : startIndex(start), repeatTimes(repeat), srcStride(src), dstGap(gap), dstFracGap(fractal_gap) {}
  LoadData2dTransposeParams(uint16_t start, uint8_t repeat, uint16_t src, uint16_t gap, uint16_t fractal_gap,
                            uint8_t mode)
      : startIndex(start), repeatTimes(repeat), srcStride(src), dstGap(gap), dstFracGap(fractal_gap), addrMode(mode) {}
  uint16_t startIndex = 0;  // in squares: of one fractal for 2-byte types, of two for the others
  uint8_t repeatTimes = 0;
  uint16_t srcStride = 0;   // squares, from begin to begin
  uint16_t dstGap = 0;      // fractals, from the end of a square's first to the begin of the next square's first
  uint16_t dstFracGap = 0;  // fractals, between the two of one square
  uint8_t addrMode = 0;
};

// An image in L1 (channels by C0, rows, columns, C0) as a matrix: a row for each place of the filter, a column for each
// of C0 channels at each place within the filter. Of it, mExtension rows from mStartPt on and kExtension columns from
// kStartPt on.
template <typename T>
struct LoadData3DParamsV2 {
  LoadData3DParamsV2() = default;
  LoadData3DParamsV2(const uint8_t pad[4], uint16_t height, uint16_t width, uint16_t channels, uint16_t columns,
                     uint16_t rows, uint16_t first_column, uint16_t first_row, uint8_t stride_w, uint8_t stride_h,
                     uint8_t filter_w, uint8_t filter_h, uint8_t dilation_w, uint8_t dilation_h, bool transpose,
                     bool small_k, T value, bool size_w = false, bool size_h = false, bool matrix = false)
      : padList{pad[0], pad[1], pad[2], pad[3]},
        l1H(height),
        l1W(width),
        channelSize(channels),
        kExtension(columns),
        mExtension(rows),
        kStartPt(first_column),
        mStartPt(first_row),
        strideW(stride_w),
        strideH(stride_h),
        filterW(filter_w),
        filterH(filter_h),
        dilationFilterW(dilation_w),
        dilationFilterH(dilation_h),
        enTranspose(transpose),
        enSmallK(small_k),
        padValue(value),
        filterSizeW(size_w),
        filterSizeH(size_h),
        fMatrixCtrl(matrix) {}
  uint8_t padList[4] = {0, 0, 0, 0};  // left, right, top, bottom
  uint16_t l1H = 0, l1W = 0, channelSize = 0, kExtension = 0, mExtension = 0, kStartPt = 0, mStartPt = 0;
  uint8_t strideW = 1, strideH = 1, filterW = 1, filterH = 1, dilationFilterW = 1, dilationFilterH = 1;
  bool enTranspose = false, enSmallK = false;
  T padValue = T(0);
  bool filterSizeW = false, filterSizeH = false;  // 256 is added to the filter's size
  bool fMatrixCtrl = false;
};

// The same with packed numbers; the image and what stands around it are what SetFmatrix and SetLoadDataPaddingValue
// told.
struct LoadData3DParamsV2Pro {
  LoadData3DParamsV2Pro() = default;
  LoadData3DParamsV2Pro(uint16_t channels, bool transpose, bool small_k, bool size_w, bool size_h, bool matrix,
                        uint64_t extension, uint64_t filter)
      : channelSize(channels),
        enTranspose(transpose),
        enSmallK(small_k),
        filterSizeW(size_w),
        filterSizeH(size_h),
        fMatrixCtrl(matrix),
        extConfig(extension),
        filterConfig(filter) {}
  uint16_t channelSize = 0;
  bool enTranspose = false, enSmallK = false, filterSizeW = false, filterSizeH = false, fMatrixCtrl = false;
  uint64_t extConfig = 0;                 // from the highest 16 bits on: mStartPt, kStartPt, mExtension, kExtension
  uint64_t filterConfig = 0x10101010101;  // from bit 47 down: dilationFilterH and W, filterH and W, strideH and W
};
struct IsResetLoad3dConfig {
  bool isSetFMatrix = true, isSetPadding = true;  // the instruction's own parameters, not what was told before it
};
constexpr IsResetLoad3dConfig IS_RESER_LOAD3D_DEFAULT_CONFIG = {true, true};
constexpr uint32_t PAD_SIZE = 4;
constexpr int32_t BLOCK_CUBE = 16;  // rows and columns of a fractal in L0C
enum class FmatrixMode : uint8_t { FMATRIX_LEFT = 0, FMATRIX_RIGHT = 1 };
struct LoadDataRepeatParam {
  LoadDataRepeatParam() = default;
  LoadDataRepeatParam(uint16_t stride, uint8_t time, uint8_t mode)
      : repeatStride(stride), repeatTime(time), repeatMode(mode) {}
  uint16_t repeatStride = 0;  // from begin to begin: 16 rows, or blocks of 32 bytes across
  uint8_t repeatTime = 1;
  uint8_t repeatMode = 0;  // 0: further rows; 1: further columns
};

struct MmadParams {
  MmadParams() = default;
  MmadParams(uint16_t rows, uint16_t columns, uint16_t depth, bool bias, int32_t offset = 0, bool sparse = false,
             bool winograd_a = false, bool winograd_b = false)
      : m(rows),
        n(columns),
        k(depth),
        isBias(bias),
        fmOffset(offset),
        enSsparse(sparse),
        enWinogradA(winograd_a),
        enWinogradB(winograd_b) {}
  MmadParams(uint16_t rows, uint16_t columns, uint16_t depth, uint8_t unit, bool from_c2, bool zero)
      : m(rows), n(columns), k(depth), unitFlag(unit), cmatrixSource(from_c2), cmatrixInitVal(zero) {}
  uint16_t m = 0, n = 0, k = 0;
  bool isBias = false;  // an older name of "add to what CO1 holds"
  int32_t fmOffset = 0;
  bool enSsparse = false, enWinogradA = false, enWinogradB = false;
  uint8_t unitFlag = 0;
  bool kDirectionAlign = false;
  bool cmatrixSource = false;  // what C begins with: false CO1, true the bias in C2
  bool cmatrixInitVal = true;  // C begins with 0
};

enum class CO2Layout : uint8_t { NZ = 0, ROW_MAJOR };
struct FixpipeConfig {
  CO2Layout format;
  bool isToUB = false;  // Ascend950's
};
constexpr FixpipeConfig CFG_NZ = {CO2Layout::NZ};
constexpr FixpipeConfig CFG_ROW_MAJOR = {CO2Layout::ROW_MAJOR};

}  // namespace AscendC

// Modes with the numbers that the instruction knows them by (cceapi_0101); those from 32 on have none on its page. A
// conversion by one that is of other products and routes, which templates for several name, is refused.
// clang-format off
#define OPHOOK_QUANT_MODES(X)                                                                                         \
  X(NoQuant, 0) X(F322F16, 1) X(VREQ8, 8) X(REQ8, 9) X(VDEQF16, 10) X(DEQF16, 11) X(VSHIFTS322S16, 12)                \
  X(SHIFTS322S16, 13) X(F322BF16, 16) X(VQF162B8_PRE, 17) X(QF162B8_PRE, 18) X(VQF162S4_PRE, 19) X(QF162S4_PRE, 20)   \
  X(VREQ4, 21) X(REQ4, 22) X(VQF322B8_PRE, 23) X(QF322B8_PRE, 24) X(VQF322S4_PRE, 25) X(QF322S4_PRE, 26)              \
  X(DEQS16, 32) X(VDEQS16, 33) X(QF162S16_PRE, 34) X(VQF162S16_PRE, 35) X(QF322F16_PRE, 36) X(VQF322F16_PRE, 37)      \
  X(QF322BF16_PRE, 38) X(VQF322BF16_PRE, 39) X(QF322F32_PRE, 40) X(VQF322F32_PRE, 41) X(QF322FP8_PRE, 42)             \
  X(VQF322FP8_PRE, 43) X(QF322HIF8_PRE, 44) X(VQF322HIF8_PRE, 45) X(QF322HIF8_PRE_HYBRID, 46)                         \
  X(VQF322HIF8_PRE_HYBRID, 47) X(QS322BF16_PRE, 48) X(VQS322BF16_PRE, 49)
// clang-format on
#define OPHOOK_MODE(name, number) name = number,
enum QuantMode_t { OPHOOK_QUANT_MODES(OPHOOK_MODE) };
#undef OPHOOK_MODE
namespace ophook {
// Whether each column has a factor of its own.
constexpr bool by_column(QuantMode_t mode) {
  return mode == VDEQF16 || mode == VQF322B8_PRE || mode == VREQ8 || mode == VSHIFTS322S16;
}
}  // namespace ophook

namespace AscendC {

struct FixpipeParamsV220 {
  FixpipeParamsV220() = default;
  FixpipeParamsV220(uint16_t columns, uint16_t rows, uint16_t src, uint32_t dst, bool relu)
      : nSize(columns), mSize(rows), srcStride(src), dstStride(dst), reluEn(relu) {}
  FixpipeParamsV220(uint16_t columns, uint16_t rows, uint16_t src, uint32_t dst, bool relu, QuantMode_t quant,
                    int64_t scale, uint16_t matrices, uint16_t src_matrix, uint16_t dst_matrix, uint8_t unit = 0)
      : nSize(columns),
        mSize(rows),
        srcStride(src),
        dstStride(dst),
        quantPre(quant),
        deqScalar(static_cast<uint64_t>(scale)),
        ndNum(matrices),
        srcNdStride(src_matrix),
        dstNdStride(dst_matrix),
        reluEn(relu),
        unitFlag(unit) {}
  uint16_t nSize = 0, mSize = 0;
  uint16_t srcStride = 0;  // rows of 16 elements from one column of fractals to the next: m rounded up to 16
  uint32_t dstStride = 0;  // ND: elements of a row; NZ: blocks of 32 bytes from one column of fractals to the next
  QuantMode_t quantPre = NoQuant;
  uint64_t deqScalar = 0;
  uint16_t ndNum = 1, srcNdStride = 0, dstNdStride = 0;
  bool reluEn = false;
  uint8_t unitFlag = 0;
  bool isChannelSplit = false;
};

template <typename T>
struct InitConstValueParams {
  InitConstValueParams() = default;
  InitConstValueParams(uint16_t repeat, uint16_t blocks, uint16_t gap, T value)
      : repeatTimes(repeat), blockNum(blocks), dstGap(gap), initValue(value) {}
  uint16_t repeatTimes = 0, blockNum = 0, dstGap = 0;
  T initValue{};
};

}  // namespace AscendC

namespace ophook::rt {
OPHOOK_RT void nd_to_nz(Local to, Global from, const AscendC::Nd2NzParams& p, At at);
OPHOOK_RT void load_fractals(Local to, const Local* local, const Global* global, const AscendC::LoadData2DParams& p,
                             At at);
OPHOOK_RT void load_transposed(Local to, Local from, const AscendC::LoadData2dTransposeParams& p, At at);
struct Image {
  uint16_t height = 0, width = 0;
  uint8_t padding[4] = {0, 0, 0, 0};
};
struct ImageSettings : Image {
  Image right;            // FMATRIX_B, which img2colv2 alone reads
  uint64_t value = 0;     // its bits
  uint32_t boundary = 0;  // bytes of L1 after which it begins again; 0: none
  AscendC::LoadDataRepeatParam repeat;
};
OPHOOK_RT ImageSettings* image_settings();  // the running core's
OPHOOK_RT void load_image(Local to, Local from, const AscendC::LoadData3DParamsV2<uint64_t>& p,
                          At at);  // padValue: its bits
OPHOOK_RT void mmad(Local c, Local a, Local b, const Local* bias, const AscendC::MmadParams& p, At at,
                    bool sparse = false);
OPHOOK_RT void load_sparse(Local to, Local from, Local index, const AscendC::LoadData2DParams& p, At at);
OPHOOK_RT void fixpipe(Global to, Local from, const Local* scales, const AscendC::FixpipeParamsV220& p, bool row_major,
                       At at);
OPHOOK_RT void fixpipe_to_l1(Local to, Local from, const Local* scales, const AscendC::FixpipeParamsV220& p, At at);
struct FixpipeSettings {
  uint64_t factor = 0;
  Local factors;
  uint64_t address = 0;  // of those, and a flag: what asc_set_l0c2gm_config was given
  bool unit_flag = false;
  uint16_t matrices = 1, src_matrix = 0, dst_matrix = 0;
};
OPHOOK_RT FixpipeSettings* fixpipe_settings();  // the running core's
enum class Ties { to_even, to_zero, from_zero };
OPHOOK_RT void set_hf32(bool on);
OPHOOK_RT void set_hf32_ties(Ties ties);
OPHOOK_RT void fill_blocks(Local to, uint64_t bits, uint32_t repeat, uint32_t blocks, uint32_t gap, At at);
}  // namespace ophook::rt

namespace AscendC {

template <typename T>
__aicore__ inline void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const Nd2NzParams& params,
                                ophook::rt::At at = ophook::rt::At::here()) {
  ophook::rt::nd_to_nz(dst.view(), src.view(), params, at);
}
// The route of vector cores into a cube core's L1, by device memory.
#define OPHOOK_TO_TSCM(copy)                                                                                          \
  template <typename T>                                                                                               \
  __aicore__ inline void DataCopyPad(const LocalTensor<T>&, const LocalTensor<T>&, const copy&, const Nd2NzParams&) { \
    static_assert(sizeof(T) == 0, "DataCopyPad: from the unified buffer to L1 (TSCM) is not implemented");            \
  }
OPHOOK_TO_TSCM(DataCopyExtParams)
OPHOOK_TO_TSCM(DataCopyParams)
#undef OPHOOK_TO_TSCM
template <typename T>
__aicore__ inline void LoadData(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LoadData2DParams& params,
                                ophook::rt::At at = ophook::rt::At::here()) {
  const auto from = src.view();
  ophook::rt::load_fractals(dst.view(), &from, nullptr, params, at);
}
template <typename T>
__aicore__ inline void LoadData(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const LoadData2DParams& params,
                                ophook::rt::At at = ophook::rt::At::here()) {
  const auto from = src.view();
  ophook::rt::load_fractals(dst.view(), nullptr, &from, params, at);
}
template <typename T, const IsResetLoad3dConfig& defaultConfig = IS_RESER_LOAD3D_DEFAULT_CONFIG>
__aicore__ inline void LoadData(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                                const LoadData3DParamsV2<PrimT<T>>& p, ophook::rt::At at = ophook::rt::At::here()) {
  const auto& set = *ophook::rt::image_settings();
  constexpr bool own = defaultConfig.isSetFMatrix;
  ophook::rt::load_image(dst.view(), src.view(),
                         {own ? p.padList : set.padding,
                          own ? p.l1H : set.height,
                          own ? p.l1W : set.width,
                          p.channelSize,
                          p.kExtension,
                          p.mExtension,
                          p.kStartPt,
                          p.mStartPt,
                          p.strideW,
                          p.strideH,
                          p.filterW,
                          p.filterH,
                          p.dilationFilterW,
                          p.dilationFilterH,
                          p.enTranspose,
                          p.enSmallK,
                          defaultConfig.isSetPadding ? copy_details::bits_of(p.padValue) : set.value,
                          p.filterSizeW,
                          p.filterSizeH,
                          p.fMatrixCtrl},
                         at);
}
template <typename T>
__aicore__ inline void LoadData(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LoadData3DParamsV2Pro& p,
                                ophook::rt::At at = ophook::rt::At::here()) {
  const auto& set = *ophook::rt::image_settings();
  auto part = [](uint64_t bits, int first, auto as) { return static_cast<decltype(as)>(bits >> first); };
  auto size = [&](int first) { return part(p.extConfig, first, uint16_t()); };
  auto filter = [&](int first) { return part(p.filterConfig, first, uint8_t()); };
  ophook::rt::load_image(dst.view(), src.view(),
                         {set.padding,   set.height, set.width, p.channelSize, size(0),       size(16),     size(32),
                          size(48),      filter(0),  filter(8), filter(16),    filter(24),    filter(32),   filter(40),
                          p.enTranspose, p.enSmallK, set.value, p.filterSizeW, p.filterSizeH, p.fMatrixCtrl},
                         at);
}
__aicore__ inline void SetFmatrix(uint16_t l1H, uint16_t l1W, const uint8_t padList[4], const FmatrixMode& fmatrixMode,
                                  ophook::rt::At at = ophook::rt::At::here()) {
  if (fmatrixMode != FmatrixMode::FMATRIX_LEFT)
    return ophook::rt::refuse("SetFmatrix", "only FMATRIX_LEFT is supported (SetFmatrix.md)", at);
  auto& set = *ophook::rt::image_settings();
  set.height = l1H, set.width = l1W;
  for (int i = 0; i < 4; ++i) set.padding[i] = padList[i];
}
// As sources say it from before the matrix had a name.
__aicore__ inline void Load3DSetFMatrixCal(uint16_t l1H, uint16_t l1W, const uint8_t padList[4],
                                           ophook::rt::At at = ophook::rt::At::here()) {
  SetFmatrix(l1H, l1W, padList, FmatrixMode::FMATRIX_LEFT, at);
}
__aicore__ inline void SetLoadDataBoundary(uint32_t boundaryValue, ophook::rt::At at = ophook::rt::At::here()) {
  if (boundaryValue && boundaryValue < 1024)
    return ophook::rt::refuse("SetLoadDataBoundary",
                              "the boundary is 0 or at least 1024 bytes (SetLoadDataBoundary.md)", at);
  ophook::rt::image_settings()->boundary = boundaryValue;
}
template <typename T>
__aicore__ inline void SetLoadDataPaddingValue(const T padValue) {
  ophook::rt::image_settings()->value = copy_details::bits_of(padValue);
}
__aicore__ inline void SetLoadDataRepeat(const LoadDataRepeatParam& repeatParams,
                                         ophook::rt::At at = ophook::rt::At::here()) {
  if (repeatParams.repeatMode > 1) return ophook::rt::refuse("SetLoadDataRepeat", "repeatMode is 0 or 1", at);
  ophook::rt::image_settings()->repeat = repeatParams;
}
template <typename T>
__aicore__ inline void LoadDataWithTranspose(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                                             const LoadData2dTransposeParams& params,
                                             ophook::rt::At at = ophook::rt::At::here()) {
  ophook::rt::load_transposed(dst.view(), src.view(), params, at);
}
// In which order the cube unit makes the parts of a result; here it is whole at once. The third is their older name.
__aicore__ inline void SetMMColumnMajor() {}
__aicore__ inline void SetMMRowMajor() {}
__aicore__ inline void SetMMLayoutTransform(bool) {}
// Whether Mmad rounds factors of float to HF32 first, and how. Up to CANN 8.5 both take a bool.
enum class HF32Mode : uint8_t { DISABLE, ENABLE };
enum class HF32TransMode : uint8_t { NEAREST_EVEN, NEAREST_ZERO };
__aicore__ inline void SetHF32Mode(HF32Mode mode) { ophook::rt::set_hf32(mode == HF32Mode::ENABLE); }
__aicore__ inline void SetHF32Mode(bool hf32Mode) { ophook::rt::set_hf32(hf32Mode); }
__aicore__ inline void SetHF32TransMode(HF32TransMode mode) {
  ophook::rt::set_hf32_ties(mode == HF32TransMode::NEAREST_ZERO ? ophook::rt::Ties::to_zero
                                                                : ophook::rt::Ties::to_even);
}
__aicore__ inline void SetHF32TransMode(bool hf32TransMode) {
  SetHF32TransMode(hf32TransMode ? HF32TransMode::NEAREST_ZERO : HF32TransMode::NEAREST_EVEN);
}
template <typename T, typename U, typename V>
__aicore__ inline void Mmad(const LocalTensor<T>& dst, const LocalTensor<U>& fm, const LocalTensor<V>& filter,
                            const MmadParams& params, ophook::rt::At at = ophook::rt::At::here()) {
  ophook::rt::mmad(dst.view(), fm.view(), filter.view(), nullptr, params, at);
}
template <typename T, typename U, typename V, typename B>
__aicore__ inline void Mmad(const LocalTensor<T>& dst, const LocalTensor<U>& fm, const LocalTensor<V>& filter,
                            const LocalTensor<B>& bias, const MmadParams& params,
                            ophook::rt::At at = ophook::rt::At::here()) {
  const auto start = bias.view();
  ophook::rt::mmad(dst.view(), fm.view(), filter.view(), &start, params, at);
}
// B has two of each four values along the depth, which may be others than 0, and the index says which two.
template <typename T, typename U>
__aicore__ inline void MmadWithSparse(const LocalTensor<T>& dst, const LocalTensor<U>& fm, const LocalTensor<U>& filter,
                                      const MmadParams& params, ophook::rt::At at = ophook::rt::At::here()) {
  static_assert(std::is_same_v<PrimT<T>, int32_t> && std::is_same_v<PrimT<U>, int8_t>,
                "MmadWithSparse: int8_t with int8_t gives int32_t (MmadWithSparse.md)");
  ophook::rt::mmad(dst.view(), fm.view(), filter.view(), nullptr, params, at, true);
}
template <typename T, typename U>
__aicore__ inline void LoadDataWithSparse(const LocalTensor<T>& dst, const LocalTensor<T>& src,
                                          const LocalTensor<U>& idx, const LoadData2DParams& params,
                                          ophook::rt::At at = ophook::rt::At::here()) {
  static_assert(std::is_same_v<PrimT<T>, int8_t> && std::is_same_v<PrimT<U>, uint8_t>,
                "LoadDataWithSparse: int8_t, and an index of uint8_t (LoadDataWithSparse.md)");
  ophook::rt::load_sparse(dst.view(), src.view(), idx.view(), params, at);
}
namespace cube_details {
// What SetFixPipeConfig told, where each column has its factor.
inline const ophook::rt::Local* factors_of(QuantMode_t quant) {
  const auto& factors = ophook::rt::fixpipe_settings()->factors;
  return ophook::by_column(quant) && factors.bytes ? &factors : nullptr;
}
}  // namespace cube_details
template <typename T, typename U, FixpipeConfig config = CFG_ROW_MAJOR>
__aicore__ inline void Fixpipe(const GlobalTensor<T>& dst, const LocalTensor<U>& src, const FixpipeParamsV220& params,
                               ophook::rt::At at = ophook::rt::At::here()) {
  ophook::rt::fixpipe(dst.view(), src.view(), cube_details::factors_of(params.quantPre), params,
                      config.format == CO2Layout::ROW_MAJOR, at);
}
// One factor for each column, in A1.
template <typename T, typename U, FixpipeConfig config = CFG_ROW_MAJOR>
__aicore__ inline void Fixpipe(const GlobalTensor<T>& dst, const LocalTensor<U>& src,
                               const LocalTensor<uint64_t>& cbufWorkspace, const FixpipeParamsV220& params,
                               ophook::rt::At at = ophook::rt::At::here()) {
  const auto scales = cbufWorkspace.view();
  ophook::rt::fixpipe(dst.view(), src.view(), &scales, params, config.format == CO2Layout::ROW_MAJOR, at);
}
// Into L1 the result stays NZ, whatever the configuration says.
template <typename T, typename U, FixpipeConfig config = CFG_ROW_MAJOR>
__aicore__ inline void Fixpipe(const LocalTensor<T>& dst, const LocalTensor<U>& src, const FixpipeParamsV220& params,
                               ophook::rt::At at = ophook::rt::At::here()) {
  ophook::rt::fixpipe_to_l1(dst.view(), src.view(), cube_details::factors_of(params.quantPre), params, at);
}
template <typename T, typename U, FixpipeConfig config = CFG_ROW_MAJOR>
__aicore__ inline void Fixpipe(const LocalTensor<T>& dst, const LocalTensor<U>& src,
                               const LocalTensor<uint64_t>& cbufWorkspace, const FixpipeParamsV220& params,
                               ophook::rt::At at = ophook::rt::At::here()) {
  const auto scales = cbufWorkspace.view();
  ophook::rt::fixpipe_to_l1(dst.view(), src.view(), &scales, params, at);
}
template <typename T>
__aicore__ inline void InitConstValue(const LocalTensor<T>& dst, const InitConstValueParams<PrimT<T>>& params,
                                      ophook::rt::At at = ophook::rt::At::here()) {
  ophook::rt::fill_blocks(dst.view(), copy_details::bits_of(params.initValue), params.repeatTimes, params.blockNum,
                          params.dstGap, at);
}

template <typename T>
__aicore__ inline void Fill(const LocalTensor<T>& dst, const InitConstValueParams<PrimT<T>>& params,
                            ophook::rt::At at = ophook::rt::At::here()) {
  InitConstValue(dst, params, at);
}
// Sources for both architectures name it; no instruction of an Atlas A2 or A3 takes it.
struct LoadData2DParamsV2 {
  LoadData2DParamsV2() = default;
  LoadData2DParamsV2(uint32_t m, uint32_t k, uint16_t rows, uint16_t columns, int32_t src, uint16_t dst, bool transpose,
                     uint8_t id)
      : mStartPosition(m),
        kStartPosition(k),
        mStep(rows),
        kStep(columns),
        srcStride(src),
        dstStride(dst),
        ifTranspose(transpose),
        sid(id) {}
  uint32_t mStartPosition = 0, kStartPosition = 0;
  uint16_t mStep = 0, kStep = 0;
  int32_t srcStride = 0;
  uint16_t dstStride = 0;
  bool ifTranspose = false;
  uint8_t sid = 0;
};

// DataCopy from L0C is Fixpipe with what these functions set before it.
struct DataCopyCO12DstParams {
  DataCopyCO12DstParams() = default;
  DataCopyCO12DstParams(uint16_t columns, uint16_t rows, uint32_t dst, uint16_t src, QuantMode_t quant, uint8_t relu,
                        bool split, bool nd)
      : nSize(columns),
        mSize(rows),
        dstStride(dst),
        srcStride(src),
        quantPre(quant),
        reluPre(relu),
        channelSplit(split),
        nz2ndEn(nd) {}
  uint8_t sid = 0;
  uint16_t nSize = 0, mSize = 0;
  uint32_t dstStride = 0;
  uint16_t srcStride = 0;
  uint8_t unitFlag = 0, clipReluPre = 0, eltWiseOp = 0;
  QuantMode_t quantPre = NoQuant;
  uint8_t reluPre = 0;
  bool channelSplit = false, nz2ndEn = false;
};
namespace cube_details {
inline FixpipeParamsV220 fixpipe_of(const DataCopyCO12DstParams& p, ophook::rt::At at) {
  const auto& set = *ophook::rt::fixpipe_settings();
  if (p.clipReluPre || p.eltWiseOp) ophook::rt::refuse("DataCopy", "clipReluPre and eltWiseOp are not implemented", at);
  FixpipeParamsV220 f(p.nSize, p.mSize, p.srcStride, p.dstStride, p.reluPre != 0, p.quantPre, int64_t(set.factor),
                      set.matrices, set.src_matrix, set.dst_matrix, p.unitFlag);
  f.isChannelSplit = p.channelSplit;
  return f;
}
}  // namespace cube_details
template <typename T, typename U>
__aicore__ inline void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<U>& src,
                                const DataCopyCO12DstParams& params, ophook::rt::At at = ophook::rt::At::here()) {
  ophook::rt::fixpipe(dst.view(), src.view(), cube_details::factors_of(params.quantPre),
                      cube_details::fixpipe_of(params, at), params.nz2ndEn, at);
}
template <typename T, typename U>
__aicore__ inline void DataCopy(const LocalTensor<T>& dst, const LocalTensor<U>& src,
                                const DataCopyCO12DstParams& params, ophook::rt::At at = ophook::rt::At::here()) {
  ophook::rt::fixpipe_to_l1(dst.view(), src.view(), cube_details::factors_of(params.quantPre),
                            cube_details::fixpipe_of(params, at), at);
}
__aicore__ inline void SetFixpipePreQuantFlag(uint64_t config) { ophook::rt::fixpipe_settings()->factor = config; }
__aicore__ inline void SetFixpipeNz2ndFlag(uint16_t ndNum, uint16_t srcNdStride, uint16_t dstNdStride) {
  auto& set = *ophook::rt::fixpipe_settings();
  set.matrices = ndNum, set.src_matrix = srcNdStride, set.dst_matrix = dstNdStride;
}
// A factor for each column, in the buffer of C2PIPE2GM.
template <typename T, bool setRelu = false>
__aicore__ inline void SetFixPipeConfig(const LocalTensor<T>& preData, bool isUnitFlag = false) {
  static_assert(!setRelu, "SetFixPipeConfig: factors of PReLU are not implemented");
  const auto factors = preData.view();
  if (factors.memory == ophook::rt::Memory::l0c) return;  // only isUnitFlag is meant
  ophook::rt::fixpipe_settings()->factors = factors;
}
template <typename T>  // the first is kept for later
__aicore__ inline void SetFixPipeConfig(const LocalTensor<T>&, const LocalTensor<T>& quantPre,
                                        bool isUnitFlag = false) {
  SetFixPipeConfig<T>(quantPre, isUnitFlag);
}

}  // namespace AscendC

#include "fixpipe_older.h"
