// What an operator project's kernel for Ascend 950 has: functions of threads, vector functions by their older names,
// copies in loops, the control register.
#include "kernel_operator.h"
#include "simt_api/asc_simt.h"
using namespace AscendC;

constexpr int32_t THREADS = 64;
static_assert(GetUBSizeInBytes() == 248 * 1024);

__simt_vf__ __aicore__ LAUNCH_BOUND(THREADS) inline void Reversed(__gm__ float* x, __gm__ float* y, bool wait) {
  __ubuf__ float kept[THREADS];
  const int32_t i = Simt::GetThreadIdx();
  kept[i] = x[Simt::GetBlockIdx() * Simt::GetThreadNum() + i];
  if (wait) Simt::ThreadBarrier();
  y[Simt::GetBlockIdx() * Simt::GetThreadNum() + i] = kept[Simt::GetThreadNum() - 1 - i];
}

extern "C" __global__ __aicore__ void reversed(GM_ADDR x, GM_ADDR y) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  Simt::VF_CALL<Reversed>(Simt::Dim3(THREADS), (__gm__ float*)x, (__gm__ float*)y, true);
}

extern "C" __global__ __aicore__ void not_awaited(GM_ADDR x, GM_ADDR y) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  asc_vf_call<Reversed>(dim3(THREADS), (__gm__ float*)x, (__gm__ float*)y, false);
}

__simt_vf__ __aicore__ LAUNCH_BOUND(THREADS) inline void Divided(__gm__ uint32_t* x, __gm__ uint32_t* y, uint32_t by) {
  uint32_t magic = 0, shift = 0;
  GetUintDivMagicAndShift(magic, shift, by);
  y[threadIdx.x] = Simt::UintDiv<uint32_t>(x[threadIdx.x], magic, shift);
}

__simt_vf__ __aicore__ LAUNCH_BOUND(THREADS) inline void FirstBits(__gm__ uint32_t* x, __gm__ uint32_t* y) {
  const uint32_t bits = __ldg<LD_L2CacheType::L2_CACHE_HINT_NORMAL_FV, L1CacheType::NON_CACHEABLE>(x + threadIdx.x);
  enum Kind { zero, other } kind = bits == 0 ? zero : other;
  const uint32_t first = __shfl(kind, 0, 4) == zero;  // of its four
  __stg<ST_L2CacheType::L2_CACHE_HINT_NORMAL_FV, L1CacheType::NON_CACHEABLE>(y + threadIdx.x, first);
  __threadfence();
  atomicAdd(y + threadIdx.x, Simt::Ffs(bits) * 100 + Simt::Ffs(uint64_t(bits) << 32));
}

extern "C" __global__ __aicore__ void first_bits(GM_ADDR x, GM_ADDR y) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  Simt::VF_CALL<FirstBits>(Simt::Dim3(THREADS), (__gm__ uint32_t*)x, (__gm__ uint32_t*)y);
}

extern "C" __global__ __aicore__ void divided(GM_ADDR x, GM_ADDR y) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  const uint32_t by = ((__gm__ uint32_t*)x)[0];
  Simt::VF_CALL<Divided>(Simt::Dim3(THREADS), (__gm__ uint32_t*)x, (__gm__ uint32_t*)y, by);
}

// y = x where 0 < x < 1, else the sum of all x; by older names.
extern "C" __global__ __aicore__ void chosen(GM_ADDR x, GM_ADDR y) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  TPipe pipe;
  TBuf<TPosition::VECCALC> from, to;
  pipe.InitBuffer(from, 256), pipe.InitBuffer(to, 256);
  GlobalTensor<float> in, out;
  in.SetGlobalBuffer((__gm__ float*)x, 64), out.SetGlobalBuffer((__gm__ float*)y, 64);
  DataCopy(from.Get<float>(), in, 64);
  PipeBarrier<PIPE_ALL>();
  __local_mem__ float* source = (__local_mem__ float*)from.Get<float>().GetPhyAddr();
  __local_mem__ float* result = (__local_mem__ float*)to.Get<float>().GetPhyAddr();
  __VEC_SCOPE__ {
    MicroAPI::RegTensor<float> value, sum, one;
    MicroAPI::MaskReg all = MicroAPI::CreateMask<float, MicroAPI::MaskPattern::ALL>(), positive, small, both;
    MicroAPI::DataCopy(value, source);
    MicroAPI::ReduceSum(sum, value, all);
    MicroAPI::Duplicate(sum, sum, all);
    MicroAPI::Duplicate(one, 1.0f, all);
    MicroAPI::CompareScalar<float, CMPMODE::GT>(positive, value, 0.0f, all);
    MicroAPI::Compare<float, CMPMODE::LT>(small, value, one, all);
    MicroAPI::MaskAnd(both, positive, small, all);
    MicroAPI::Select(value, value, sum, both);
    MicroAPI::DataCopy<float, MicroAPI::StoreDist::DIST_NORM>(result, value, all);
  }
  PipeBarrier<PIPE_ALL>();
  DataCopy(out, to.Get<float>(), 64);
}

// Of 64 numbers: as fp8_e4m3fn_t and fp8_e5m2_t, saturated and not, and as the exponents of their first halves.
template <typename T, MicroAPI::SatMode mode>
__aicore__ inline void through(__local_mem__ float* to, MicroAPI::RegTensor<float>& from, MicroAPI::MaskReg& all) {
  static constexpr MicroAPI::CastTrait narrow{MicroAPI::RegLayout::TWO, mode, MicroAPI::MaskMergeMode::ZEROING,
                                              RoundMode::CAST_RINT};
  static constexpr MicroAPI::CastTrait wide{MicroAPI::RegLayout::TWO, MicroAPI::SatMode::UNKNOWN,
                                            MicroAPI::MaskMergeMode::ZEROING, RoundMode::UNKNOWN};
  MicroAPI::RegTensor<T> eight;
  MicroAPI::RegTensor<float> back;
  MicroAPI::Cast<T, float, narrow>(eight, from, all);
  MicroAPI::Cast<float, T, wide>(back, eight, all);
  MicroAPI::DataCopy(to, back, all);
}
extern "C" __global__ __aicore__ void of_eight_bits(GM_ADDR x, GM_ADDR y) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  TPipe pipe;
  TBuf<TPosition::VECCALC> from, to;
  pipe.InitBuffer(from, 256), pipe.InitBuffer(to, 1280);
  GlobalTensor<float> in, out;
  in.SetGlobalBuffer((__gm__ float*)x, 64), out.SetGlobalBuffer((__gm__ float*)y, 320);
  DataCopy(from.Get<float>(), in, 64);
  PipeBarrier<PIPE_ALL>();
  __local_mem__ float* source = (__local_mem__ float*)from.Get<float>().GetPhyAddr();
  __local_mem__ float* result = (__local_mem__ float*)to.Get<float>().GetPhyAddr();
  __VEC_SCOPE__ {
    static constexpr MicroAPI::CastTrait place{MicroAPI::RegLayout::ZERO, MicroAPI::SatMode::UNKNOWN,
                                               MicroAPI::MaskMergeMode::ZEROING, RoundMode::UNKNOWN};
    static constexpr MicroAPI::CastTrait cut{MicroAPI::RegLayout::ZERO, MicroAPI::SatMode::NO_SAT,
                                             MicroAPI::MaskMergeMode::ZEROING, RoundMode::CAST_TRUNC};
    MicroAPI::RegTensor<float> value;
    MicroAPI::RegTensor<bfloat16_t> half_as_wide;
    MicroAPI::RegTensor<fp8_e8m0_t> exponent;
    MicroAPI::MaskReg all = MicroAPI::CreateMask<float, MicroAPI::MaskPattern::ALL>();
    MicroAPI::DataCopy(value, source);
    through<fp8_e4m3fn_t, MicroAPI::SatMode::SAT>(result, value, all);
    through<fp8_e4m3fn_t, MicroAPI::SatMode::NO_SAT>(result + 64, value, all);
    through<fp8_e5m2_t, MicroAPI::SatMode::SAT>(result + 128, value, all);
    through<fp8_e5m2_t, MicroAPI::SatMode::NO_SAT>(result + 192, value, all);
    MicroAPI::Cast<bfloat16_t, float, cut>(half_as_wide, value, all);
    MicroAPI::Cast<fp8_e8m0_t, bfloat16_t, place>(exponent, half_as_wide, all);
    MicroAPI::Cast<bfloat16_t, fp8_e8m0_t, place>(half_as_wide, exponent, all);
    MicroAPI::Cast<float, bfloat16_t, place>(value, half_as_wide, all);
    MicroAPI::DataCopy(result + 256, value, all);
  }
  PipeBarrier<PIPE_ALL>();
  DataCopy(out, to.Get<float>(), 320);
}

// Twice two rows of three, packed, each pair with 2 that fill its block up.
extern "C" __global__ __aicore__ void packed(GM_ADDR x, GM_ADDR y) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  TPipe pipe;
  TBuf<TPosition::VECCALC> kept;
  pipe.InitBuffer(kept, 64);
  GlobalTensor<float> in, out;
  in.SetGlobalBuffer((__gm__ float*)x, 16), out.SetGlobalBuffer((__gm__ float*)y, 16);
  SetLoopModePara({2, 1, 32, 32, 0, 0}, DataCopyMVType::OUT_TO_UB);
  DataCopyPad<float, PaddingMode::Compact>(kept.Get<float>(), in, DataCopyExtParams(2, 12, 4, 0, 0),
                                           DataCopyPadExtParams<float>(true, 0, 0, 7));
  ResetLoopModePara(DataCopyMVType::OUT_TO_UB);
  PipeBarrier<PIPE_ALL>();
  DataCopy(out, kept.Get<float>(), 16);
}

extern "C" __global__ __aicore__ void controlled(GM_ADDR y) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  GlobalTensor<int32_t> told;
  told.SetGlobalBuffer((__gm__ int32_t*)y, 6);
  const auto tell = [&](int32_t at) {
    told.SetValue(at, int32_t(GetCtrlSpr<60, 60>())), told.SetValue(at + 1, int32_t(GetCtrlSpr<48, 48>()));
  };
  tell(0);
  SetCtrlSpr<60, 60>(0), SetCtrlSpr<48, 48>(1);
  tell(2);
  ResetCtrlSpr<60, 60>(), ResetCtrlSpr<48, 48>();
  tell(4);
  DataCacheCleanAndInvalid<int32_t, CacheLine::ENTIRE_DATA_CACHE>(told);
}

extern "C" __global__ __aicore__ void saturated(GM_ADDR y) { SetCtrlSpr<53, 53>(1); }
extern "C" __global__ __aicore__ void without_page(GM_ADDR y) { SetCtrlSpr<1, 2>(1); }

// Two pieces through one buffer: a lock says that the second one waits until the first is stored.
template <bool locks>
__aicore__ inline void Locked(GM_ADDR x, GM_ADDR y) {
  GlobalTensor<float> in, out;
  in.SetGlobalBuffer((__gm__ float*)x, 128), out.SetGlobalBuffer((__gm__ float*)y, 128);
  LocalTensor<float> kept(TPosition::VECCALC, 0, 64);
  const MutexID id = AllocMutexID();
  for (int i = 0; i < 2; ++i) {
    if (locks) Mutex::Lock<PIPE_MTE2>(id);
    DataCopy(kept, in[i * 64], 64);
    if (locks) Mutex::Unlock<PIPE_MTE2>(id), Mutex::Lock<PIPE_MTE3>(id);
    DataCopy(out[i * 64], kept, 64);
    if (locks) Mutex::Unlock<PIPE_MTE3>(id);
  }
  ReleaseMutexID(id);
}
extern "C" __global__ __aicore__ void locked(GM_ADDR x, GM_ADDR y) { Locked<true>(x, y); }
extern "C" __global__ __aicore__ void not_locked(GM_ADDR x, GM_ADDR y) { Locked<false>(x, y); }
extern "C" __global__ __aicore__ void not_given(GM_ADDR y) { ReleaseMutexID(3); }

// Every core adds to one number and leaves the largest of its own; the limits of data types.
extern "C" __global__ __aicore__ void counted(GM_ADDR y) {
  __gm__ uint32_t* told = (__gm__ uint32_t*)y;
  if (GetBlockIdx() == 0) {
    AtomicExch(told, 5u), AtomicExch(told + 1, 0u), AtomicExch(told + 2, 7u);
    AtomicExch(told + 3, uint32_t(NumericLimits<int8_t>::Max()) + uint32_t(NumericLimits<uint16_t>::Lowest()));
    AtomicExch(told + 4, __builtin_bit_cast(uint32_t, NumericLimits<float>::Infinity()));
    AtomicExch(told + 5, uint32_t(__builtin_bit_cast(uint16_t, NumericLimits<half>::Min())));
  }
  SyncAll();
  AtomicAdd(told, 2u);
  AtomicMax(told + 1, uint32_t(GetBlockIdx()) * 10);
  AtomicCas(told + 2, 7u, 8u);
}

// Its first element, from another place of the unified buffer; the time of Nop is none.
extern "C" __global__ __aicore__ void first_copied(GM_ADDR x, GM_ADDR y) {
  GlobalTensor<float> from, to;
  from.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(x), 64),
      to.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(y), 64);
  TPipe pipe;
  TQue<TPosition::VECIN, 1> in;
  TQue<TPosition::VECOUT, 1> out;
  pipe.InitBuffer(in, 1, 256), pipe.InitBuffer(out, 1, 256);
  LocalTensor<float> given = in.AllocTensor<float>();
  DataCopy(given.ReinterpretCast<int32_t>(), from.ReinterpretCast<int32_t>(), 64);
  in.EnQue(given), given = in.DeQue<float>();
  LocalTensor<float> made = out.AllocTensor<float>();
  Duplicate(made, given[8], 64);
  Nop<8>();
  out.EnQue(made), made = out.DeQue<float>();
  DataCopy(to, made, 64);
  in.FreeTensor(given), out.FreeTensor(made);
}

// Floats to whole numbers of 16 bits by SatMode::NO_SAT: as the control register comes, and with bit 60 cleared.
extern "C" __global__ __aicore__ void cut_or_kept(GM_ADDR x, GM_ADDR y) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  TPipe pipe;
  TBuf<TPosition::VECCALC> from, to;
  pipe.InitBuffer(from, 256), pipe.InitBuffer(to, 512);
  GlobalTensor<float> in;
  GlobalTensor<int32_t> out;
  in.SetGlobalBuffer((__gm__ float*)x, 64), out.SetGlobalBuffer((__gm__ int32_t*)y, 128);
  DataCopy(from.Get<float>(), in, 64);
  PipeBarrier<PIPE_ALL>();
  __local_mem__ float* source = (__local_mem__ float*)from.Get<float>().GetPhyAddr();
  __local_mem__ int32_t* result = (__local_mem__ int32_t*)to.Get<int32_t>().GetPhyAddr();
  for (int64_t global = 1; global >= 0; --global, result += 64) {
    SetCtrlSpr<60, 60>(global);
    static constexpr MicroAPI::CastTrait cut{MicroAPI::RegLayout::ZERO, MicroAPI::SatMode::NO_SAT,
                                             MicroAPI::MaskMergeMode::ZEROING, RoundMode::CAST_TRUNC};
    static constexpr MicroAPI::CastTrait wider{MicroAPI::RegLayout::ZERO, MicroAPI::SatMode::UNKNOWN,
                                               MicroAPI::MaskMergeMode::ZEROING, RoundMode::UNKNOWN};
    MicroAPI::RegTensor<float> value;
    MicroAPI::RegTensor<int16_t> narrow;
    MicroAPI::RegTensor<int32_t> wide;
    MicroAPI::MaskReg all = MicroAPI::CreateMask<float, MicroAPI::MaskPattern::ALL>();
    MicroAPI::DataCopy(value, source);
    MicroAPI::Cast<int16_t, float, cut>(narrow, value, all);
    MicroAPI::Cast<int32_t, int16_t, wider>(wide, narrow, all);
    MicroAPI::DataCopy(result, wide, all);
  }
  PipeBarrier<PIPE_ALL>();
  DataCopy(out, to.Get<int32_t>(), 128);
}

// Bits of floats, sums of 64 bits, and one piece again and again.
extern "C" __global__ __aicore__ void of_950_alone(GM_ADDR x, GM_ADDR y) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
  TPipe pipe;
  TBuf<TPosition::VECCALC> buffer;
  pipe.InitBuffer(buffer, 256);
  GlobalTensor<float> in, out;
  in.SetGlobalBuffer((__gm__ float*)x, 64), out.SetGlobalBuffer((__gm__ float*)y, 64);
  const LocalTensor<float> t = buffer.Get<float>();
  const LocalTensor<int64_t> whole = t[16].ReinterpretCast<int64_t>();
  DataCopyPad(t, in, DataCopyExtParams{2, 32, -32, 0, 0}, DataCopyPadExtParams<float>{});
  DataCopy(t[16], in[16], 48);
  SetFlag<HardEvent::MTE2_V>(EVENT_ID0);
  WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
  Not(t[8], t[8], 8);
  AddRelu(whole, whole, whole, 4);
  Axpy(whole[8], whole[8], int64_t(2), 4);
  SetFlag<HardEvent::V_MTE3>(EVENT_ID0);
  WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
  DataCopy(out, t, 64);
}
