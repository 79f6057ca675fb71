// Events, barriers, and which core this is.
#pragma once

#include <chrono>

#include "pipe.h"

namespace AscendC {

namespace sync_details {
using ophook::rt::Pipe;
struct Ends {
  Pipe from, to;
};
constexpr Ends ends_of(HardEvent event) {
  switch (event) {
#define ENDS(from, to) \
  case HardEvent::from##_##to: return {Pipe::from, Pipe::to};
    // clang-format off
    ENDS(MTE2, MTE1) ENDS(MTE1, MTE2) ENDS(MTE1, M) ENDS(M, MTE1) ENDS(MTE2, V) ENDS(V, MTE2) ENDS(MTE3, V) ENDS(V, MTE3)
    ENDS(M, V) ENDS(V, M) ENDS(V, V) ENDS(MTE3, MTE1) ENDS(MTE1, MTE3) ENDS(MTE1, V) ENDS(MTE2, M) ENDS(M, MTE2) ENDS(V, MTE1)
    ENDS(M, FIX) ENDS(FIX, M) ENDS(MTE3, MTE2) ENDS(MTE2, MTE3) ENDS(S, V) ENDS(V, S) ENDS(S, MTE2) ENDS(MTE2, S) ENDS(S, MTE3)
    ENDS(MTE3, S) ENDS(MTE2, FIX) ENDS(FIX, MTE2) ENDS(FIX, S) ENDS(S, FIX) ENDS(M, S) ENDS(S, M) ENDS(FIX, MTE3)
    ENDS(MTE3, FIX) ENDS(FIX, V) ENDS(V, FIX) ENDS(MTE1, FIX) ENDS(FIX, MTE1)
    // clang-format on
#undef ENDS
                        default : return {Pipe::S, Pipe::S};
  }
}
}  // namespace sync_details

template <HardEvent event>
__aicore__ inline void SetFlag(int32_t id, ophook::rt::At at = ophook::rt::At::here()) {
  ophook::rt::set_flag(sync_details::ends_of(event).from, sync_details::ends_of(event).to, id, at);
}
template <HardEvent event>
__aicore__ inline void WaitFlag(int32_t id, ophook::rt::At at = ophook::rt::At::here()) {
  ophook::rt::wait_flag(sync_details::ends_of(event).from, sync_details::ends_of(event).to, id, at);
}
template <pipe_t src, pipe_t dst>
class TQueSync {
 public:
  __aicore__ inline void SetFlag(int32_t id, ophook::rt::At at = ophook::rt::At::here()) {
    ophook::rt::set_flag(ophook::rt::Pipe(int(src)), ophook::rt::Pipe(int(dst)), id, at);
  }
  __aicore__ inline void WaitFlag(int32_t id, ophook::rt::At at = ophook::rt::At::here()) {
    ophook::rt::wait_flag(ophook::rt::Pipe(int(src)), ophook::rt::Pipe(int(dst)), id, at);
  }
};
template <pipe_t pipe>
__aicore__ inline void PipeBarrier(ophook::rt::At at = ophook::rt::At::here()) {
  ophook::rt::barrier(ophook::rt::Pipe(int(pipe)), at);
}
// Of vector cores alone: what work must be over, and what work waits. On an Atlas A2 all of it waits.
struct SyncAllConfig {
  pipe_t triggerPipe, waitPipe;
};
constexpr SyncAllConfig DEFAULT_SYNC_ALL_CONFIG = {PIPE_ALL, PIPE_ALL};
template <bool isAIVOnly = true, SyncAllConfig config = DEFAULT_SYNC_ALL_CONFIG>
__aicore__ inline void SyncAll(ophook::rt::At at = ophook::rt::At::here()) {
  constexpr auto takes = [](pipe_t pipe) { return pipe == PIPE_ALL || pipe == PIPE_MTE2 || pipe == PIPE_MTE3; };
  static_assert(takes(config.triggerPipe) && takes(config.waitPipe), "SyncAll: PIPE_MTE2, PIPE_MTE3 or PIPE_ALL");
  if constexpr (!isAIVOnly || config.triggerPipe == PIPE_ALL) {
    ophook::rt::sync_all(isAIVOnly, at);
  } else {
    constexpr int kFlag = 14;  // of those that SyncAll has
    ophook::rt::cross_set(0, ophook::rt::Pipe(int(config.triggerPipe)), kFlag, at);
    ophook::rt::cross_wait(0, kFlag, at);
  }
}

template <uint8_t modeId, pipe_t pipe>
__aicore__ inline void CrossCoreSetFlag(uint16_t flagId, ophook::rt::At at = ophook::rt::At::here()) {
  static_assert(pipe != PIPE_S && pipe != PIPE_ALL,
                "CrossCoreSetFlag is an instruction of one pipe, and not of the scalar unit");
  ophook::rt::cross_set(modeId, ophook::rt::Pipe(int(pipe)), flagId, at);
}
template <uint8_t modeId = 0, pipe_t pipe = PIPE_S>
__aicore__ inline void CrossCoreWaitFlag(uint16_t flagId, ophook::rt::At at = ophook::rt::At::here()) {
  ophook::rt::cross_wait(modeId, flagId, at);
}
__aicore__ inline void WaitEvent(uint16_t flagId, ophook::rt::At at = ophook::rt::At::here()) {  // an older name
  CrossCoreWaitFlag(flagId, at);
}

// Where a SuperKernel may overlap its parts. Here a kernel is always a whole, and there is nothing to overlap.
template <pipe_t AIV_PIPE = PIPE_MTE3, pipe_t AIC_PIPE = PIPE_FIX, bool FORCE = false>
__aicore__ inline void SetNextTaskStart() {}
template <bool FORCE = false>
__aicore__ inline void WaitPreTaskEnd() {}

// One core tells another that it has come to a place: IBWait names the core that it waits for. The device keeps the
// events in gmWorkspace, which is zero at first; here they are the runtime's.
template <bool isAIVOnly = true>
__aicore__ inline void IBSet(const GlobalTensor<int32_t>&, const LocalTensor<int32_t>&, int32_t blockIdx,
                             int32_t eventID, ophook::rt::At at = ophook::rt::At::here()) {
  ophook::rt::between_set(blockIdx, eventID, at);
}
template <bool isAIVOnly = true>
__aicore__ inline void IBWait(const GlobalTensor<int32_t>&, const LocalTensor<int32_t>&, int32_t blockIdx,
                              int32_t eventID, ophook::rt::At at = ophook::rt::At::here()) {
  ophook::rt::between_wait(blockIdx, eventID, at);
}

namespace sync_details {
constexpr int kTurn = 1 << 20, kGroup = 1 << 21, kSome = 1 << 22;  // events that no kernel names
inline int cores() { return int(ophook::rt::block_count() * ophook::rt::sub_block_count()); }
}  // namespace sync_details
// With usedCores the first ones meet, and the others do without.
template <bool isAIVOnly = true>
__aicore__ inline void SyncAll(const GlobalTensor<int32_t>&, const LocalTensor<int32_t>&, const int32_t usedCores = 0,
                               ophook::rt::At at = ophook::rt::At::here()) {
  if (usedCores <= 0 || usedCores >= sync_details::cores()) return ophook::rt::sync_all(isAIVOnly, at);
  const int mine = int(ophook::rt::block_index());
  if (mine >= usedCores) return;
  for (int i = 0; i < usedCores; ++i) ophook::rt::between_set(i, sync_details::kSome + mine, at);
  for (int i = 0; i < usedCores; ++i) ophook::rt::between_wait(mine, sync_details::kSome + i, at);
}
// Cores take turns in the order of their indices: the first one's turn comes after the last one's.
__aicore__ inline void InitDetermineComputeWorkspace(GlobalTensor<int32_t>&, LocalTensor<int32_t>&,
                                                     ophook::rt::At at = ophook::rt::At::here()) {
  const int last = sync_details::cores() - 1;
  if (int(ophook::rt::block_index()) == last) ophook::rt::between_set(last, sync_details::kTurn, at);
}
__aicore__ inline void WaitPreBlock(GlobalTensor<int32_t>&, LocalTensor<int32_t>&,
                                    ophook::rt::At at = ophook::rt::At::here()) {
  const int mine = int(ophook::rt::block_index());
  ophook::rt::between_wait(mine ? mine - 1 : sync_details::cores() - 1, sync_details::kTurn, at);
}
__aicore__ inline void NotifyNextBlock(GlobalTensor<int32_t>&, LocalTensor<int32_t>&,
                                       ophook::rt::At at = ophook::rt::At::here()) {
  ophook::rt::between_set(int(ophook::rt::block_index()), sync_details::kTurn, at);
}
// Some cores wait until all of some others have come to a place; the workspace tells one barrier from another.
enum class PipeMode : uint8_t { SCALAR_MODE = 0, MTE3_MODE = 1, MAX };
template <PipeMode pipeMode>
class GroupBarrier {
  static_assert(pipeMode == PipeMode::MTE3_MODE, "GroupBarrier: MTE3_MODE only");

 public:
  __aicore__ GroupBarrier(GM_ADDR groupWorkspace, uint32_t arriveSizeIn, uint32_t waitSizeIn)
      : event_(sync_details::kGroup + int(reinterpret_cast<uintptr_t>(groupWorkspace) / 32 % 4096) * 128),
        arrive_(int(arriveSizeIn)),
        wait_(int(waitSizeIn)) {}
  __aicore__ void Arrive(uint32_t arriveIndex, ophook::rt::At at = ophook::rt::At::here()) {
    if (int(arriveIndex) >= arrive_)
      return ophook::rt::refuse("Arrive", "the index is not below the number of cores that arrive", at);
    for (int waiter = 0; waiter < wait_; ++waiter) ophook::rt::between_set(waiter, event_ + int(arriveIndex), at);
  }
  __aicore__ void Wait(uint32_t waitIndex, ophook::rt::At at = ophook::rt::At::here()) {
    if (int(waitIndex) >= wait_)
      return ophook::rt::refuse("Wait", "the index is not below the number of cores that wait", at);
    for (int i = 0; i < arrive_; ++i) ophook::rt::between_wait(int(waitIndex), event_ + i, at);
  }
  __aicore__ uint64_t GetWorkspaceLen() { return uint64_t(wait_) * 512; }

 private:
  int event_, arrive_, wait_;
};

template <HardEvent event>
__aicore__ TEventID TPipe::AllocEventID(ophook::rt::At at) {
  return TEventID(
      ophook::rt::event_fetch(sync_details::ends_of(event).from, sync_details::ends_of(event).to, true, at));
}
template <HardEvent event>
__aicore__ void TPipe::ReleaseEventID(TEventID id, ophook::rt::At at) {
  ophook::rt::event_release(sync_details::ends_of(event).from, sync_details::ends_of(event).to, id, at);
}
__aicore__ inline TEventID TPipe::FetchEventID(HardEvent event, ophook::rt::At at) {
  return TEventID(
      ophook::rt::event_fetch(sync_details::ends_of(event).from, sync_details::ends_of(event).to, false, at));
}
template <HardEvent event>
__aicore__ TEventID TPipe::FetchEventID(ophook::rt::At at) {
  return FetchEventID(event, at);
}

constexpr int AIC = 1, AIV = 2;
#if defined(__DAV_CUBE__)  // this is the kernel as it is compiled for one kind of core
constexpr int g_coreType = AIC;
#elif defined(__DAV_VEC__)
constexpr int g_coreType = AIV;
#else
struct KindOfCore {
  operator int() const { return ophook::rt::is_vector_core() ? AIV : AIC; }
};
inline constexpr KindOfCore g_coreType{};
#endif

// Where the flags between cores lie, which the simulated ones need not know.
__aicore__ inline void SetSyncBaseAddr(uint64_t) {}
__aicore__ inline int64_t GetBlockIdx() { return ophook::rt::block_index(); }
__aicore__ inline int64_t GetBlockNum() { return ophook::rt::block_count(); }
__aicore__ inline int64_t GetSubBlockIdx() { return ophook::rt::sub_block_index(); }
__aicore__ inline int64_t GetSubBlockNum() { return ophook::rt::sub_block_count(); }
__aicore__ inline int64_t GetTaskRation() { return ophook::rt::sub_block_count(); }
__aicore__ inline constexpr int16_t GetDataBlockSizeInBytes() { return ONE_BLK_SIZE; }
__aicore__ inline uint8_t* GetUserWorkspace(GM_ADDR workspace) { return workspace; }
__aicore__ inline void SetSysWorkspace(GM_ADDR) {}
__aicore__ inline GM_ADDR GetSysWorkSpacePtr() { return ophook::rt::workspace_address(); }
// The state that the interface documents for Atlas A2 and A3: no atomic copies, the mask by bits, and all of them, and
// an image's padding is 0, its place in L1 without an end.
__aicore__ inline void InitSocState() {
  ophook::rt::atomic(0, ophook::rt::Dtype::other);
  ophook::rt::set_mask(false, ~uint64_t{0}, ~uint64_t{0}, false);
  ophook::rt::forget_image();
}
// Bits of the control register. Which, and what they do here: runtime/control.cpp.
#define OPHOOK_BITS \
  static_assert(startBit >= 0 && startBit <= endBit && endBit < 64, "bits 0 to 63, the first one first")
template <int8_t startBit, int8_t endBit>
__aicore__ inline void SetCtrlSpr(int64_t value, ophook::rt::At at = ophook::rt::At::here()) {
  OPHOOK_BITS;
  ophook::rt::set_control("SetCtrlSpr", startBit, endBit, &value, at);
}
template <int8_t startBit, int8_t endBit>
__aicore__ inline int64_t GetCtrlSpr(ophook::rt::At at = ophook::rt::At::here()) {
  OPHOOK_BITS;
  return ophook::rt::control("GetCtrlSpr", startBit, endBit, at);
}
template <int arch = __NPU_ARCH__>
__aicore__ inline constexpr uint32_t GetUBSizeInBytes() {
  static_assert(arch == 3510, "GetUBSizeInBytes: for Ascend 950 only");
  return TOTAL_UB_SIZE;
}
#if __NPU_ARCH__ == 3510
// Locks between the pipes of one core.
using MutexID = uint8_t;
class Mutex {
 public:
  template <pipe_t pipe>
  static __aicore__ inline void Lock(MutexID id, ophook::rt::At at = ophook::rt::At::here()) {
    ophook::rt::mutex_lock(ophook::rt::Pipe(int(pipe)), id, true, at);
  }
  template <pipe_t pipe>
  static __aicore__ inline void Unlock(MutexID id, ophook::rt::At at = ophook::rt::At::here()) {
    ophook::rt::mutex_unlock(ophook::rt::Pipe(int(pipe)), id, true, at);
  }
};
__aicore__ inline MutexID AllocMutexID(ophook::rt::At at = ophook::rt::At::here()) {
  return MutexID(ophook::rt::mutex_alloc(at));
}
__aicore__ inline void ReleaseMutexID(MutexID id, ophook::rt::At at = ophook::rt::At::here()) {
  ophook::rt::mutex_release(id, at);
}

template <int8_t startBit, int8_t endBit>
__aicore__ inline void ResetCtrlSpr(ophook::rt::At at = ophook::rt::At::here()) {
  OPHOOK_BITS;
  ophook::rt::set_control("ResetCtrlSpr", startBit, endBit, nullptr, at);
}
#else
enum class SaturationMode : uint8_t { FLOAT, CAST };
template <SaturationMode mode>
__aicore__ inline void SetSaturationFlag(bool enableSat, ophook::rt::At at = ophook::rt::At::here()) {
  ophook::rt::saturation(mode == SaturationMode::CAST, enableSat, at);
}
template <SaturationMode mode>
__aicore__ inline bool GetSaturationFlag() {
  return ophook::rt::saturation(mode == SaturationMode::CAST);
}
#endif
#undef OPHOOK_BITS
// Which memory's accesses DataSyncBarrier waits for.
enum class MemDsbT : uint64_t { ALL = 0, DDR, UB, SEQ };
template <MemDsbT arg0>
__aicore__ inline void DataSyncBarrier(ophook::rt::At at = ophook::rt::At::here()) {
  ophook::rt::barrier(ophook::rt::Pipe::ALL, at);
}
// Another core may wait for the value in a loop, so a read lets the others run.
template <typename T>
__aicore__ inline T ReadGmByPassDCache(__gm__ T* addr, ophook::rt::At at = ophook::rt::At::here()) {
  static_assert(std::is_integral_v<T>, "ReadGmByPassDCache: whole numbers of up to 8 bytes");
  T value;
  ophook::rt::read_global_uncached("ReadGmByPassDCache",
                                   {reinterpret_cast<uint8_t*>(addr), sizeof(T), ophook::rt::dtype_of<T>()}, sizeof(T),
                                   &value, at);
  return value;
}
template <typename T>
__aicore__ inline void WriteGmByPassDCache(__gm__ T* addr, T value, ophook::rt::At at = ophook::rt::At::here()) {
  static_assert(std::is_integral_v<T>, "WriteGmByPassDCache: whole numbers of up to 8 bytes");
  ophook::rt::write_global_uncached("WriteGmByPassDCache",
                                    {reinterpret_cast<uint8_t*>(addr), sizeof(T), ophook::rt::dtype_of<T>()}, sizeof(T),
                                    &value, at);
}
__aicore__ constexpr inline int32_t CeilDivision(int32_t num1, int32_t num2) {
  return num2 ? (num1 + num2 - 1) / num2 : 0;
}
// Examples of the vendor call it so.
__aicore__ constexpr inline uint32_t DivCeil(uint32_t a, uint32_t b) { return b ? (a + b - 1) / b : 0; }
__aicore__ constexpr inline uint32_t AlignUp(uint32_t a, uint32_t b) { return DivCeil(a, b) * b; }
// The vendor's operators call these; a kernel's own functions of these names go before them.
#define OPHOOK_CEIL(name, found)                                                                                   \
  template <typename T, typename U, typename... None>                                                              \
  __aicore__ constexpr inline std::enable_if_t<!sizeof...(None) && std::is_integral_v<T> && std::is_integral_v<U>, \
                                               std::common_type_t<T, U>>                                           \
  name(T a, U b, None...) {                                                                                        \
    return found;                                                                                                  \
  }
OPHOOK_CEIL(Ceil, b ? (a + b - 1) / b : 0)
OPHOOK_CEIL(CeilAlign, b ? (a + b - 1) / b * b : 0)
#undef OPHOOK_CEIL

// Cores of this kind for each block that the kernel was launched with.
__aicore__ inline int64_t GetTaskRatio() { return ophook::rt::sub_block_count(); }

// The counter of Atlas A2 and A3 runs at 50 MHz, an Ascend 950's at 1 GHz; here it is the host's clock in that unit.
__aicore__ inline int64_t GetSystemCycle() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
             .count() /
         (__NPU_ARCH__ == 3510 ? 1 : 20);
}
// An address of the host's program, which stands for the kernel's.
__attribute__((noinline)) inline int64_t GetProgramCounter() {
  return reinterpret_cast<int64_t>(__builtin_return_address(0));
}
__aicore__ inline void Trap(ophook::rt::At at = ophook::rt::At::here()) { ophook::rt::trap(at); }

template <class... Args>
__aicore__ inline void printf(const char* format, Args... args) {
  ophook::rt::print(false, format, ophook::rt::printed(args)...);
}
template <class... Args>
__aicore__ inline void PRINTF(const char* format, Args... args) {
  AscendC::printf(format, args...);
}
template <typename T>
__aicore__ inline void DumpTensor(const LocalTensor<T>& tensor, uint32_t tag, uint32_t count) {
  ophook::rt::dump(tensor.view(), tag, count);
}
template <typename T>
__aicore__ inline void DumpTensor(const GlobalTensor<T>& tensor, uint32_t tag, uint32_t count) {
  ophook::rt::dump(tensor.view(), tag, count);
}

template <typename T>  // from element `countOff` on
__aicore__ inline void DumpAccChkPoint(const LocalTensor<T>& tensor, uint32_t index, uint32_t countOff,
                                       uint32_t dumpSize) {
  ophook::rt::dump(tensor[countOff].view(), index, dumpSize);
}
template <typename T>
__aicore__ inline void DumpAccChkPoint(const GlobalTensor<T>& tensor, uint32_t index, uint32_t countOff,
                                       uint32_t dumpSize) {
  ophook::rt::dump(tensor[countOff].view(), index, dumpSize);
}

template <typename T>  // a line for each row of the shape; "-" where there are no more elements
__aicore__ inline void DumpTensor(const LocalTensor<T>& tensor, uint32_t desc, uint32_t dumpSize,
                                  const ShapeInfo& shapeInfo) {
  ophook::rt::dump(tensor.view(), desc, dumpSize, {shapeInfo.shape, shapeInfo.shapeDim});
}
template <typename T>
__aicore__ inline void DumpTensor(const GlobalTensor<T>& tensor, uint32_t desc, uint32_t dumpSize,
                                  const ShapeInfo& shapeInfo) {
  ophook::rt::dump(tensor.view(), desc, dumpSize, {shapeInfo.shape, shapeInfo.shapeDim});
}

// Printed where the kernel is compiled with -DASCENDC_TIME_STAMP_ON, as the page has it.
__attribute__((noinline)) inline void PrintTimeStamp(uint32_t descId) {
#ifdef ASCENDC_TIME_STAMP_ON
  AscendC::printf("descId is %u, rsv is 0, timeStamp is %ld, pcPtr is %ld, entry is %ld.\n", descId,
                  long(GetSystemCycle()), long(reinterpret_cast<int64_t>(__builtin_return_address(0))),
                  long(ophook::rt::entry_nanoseconds() / 20));
#else
  (void)descId;
#endif
}

enum class EngineType : int32_t { AIC, AIV };
// Calls the function on cores of that kind alone.
template <EngineType engine, auto funPtr, class... Args>
__aicore__ void Async(Args... args) {
  if ((g_coreType == AIC) == (engine == EngineType::AIC)) funPtr(args...);
}

}  // namespace AscendC

__aicore__ inline void asc_time_stamp(uint32_t desc_id) { AscendC::PrintTimeStamp(desc_id); }
// Where msopprof begins and ends to measure, and points of the vendor's own trace: nothing is computed there.
__aicore__ inline void asc_prof_start() {}
__aicore__ inline void asc_prof_stop() {}
#define TRACE_START(...)
#define TRACE_STOP(...)

using AscendC::g_coreType, AscendC::GetSysWorkSpacePtr, AscendC::PRINTF;  // kernels say them without the namespace, too

// The compiler's own names of the same.
struct BlockIndex {
  operator int64_t() const { return ophook::rt::block_index(); }
};
inline constexpr BlockIndex block_idx{};
struct BlockCount {
  operator int64_t() const { return ophook::rt::block_count(); }
};
inline constexpr BlockCount block_num{};
__aicore__ inline int64_t get_block_idx() { return ophook::rt::block_index(); }
__aicore__ inline int64_t get_block_num() { return ophook::rt::block_count(); }
__aicore__ inline int64_t get_subblockid() { return ophook::rt::sub_block_index(); }
__aicore__ inline int64_t get_subblockdim() { return ophook::rt::sub_block_count(); }
// A byte of the vector unit's memory, as a number that a cast makes a pointer of.
__aicore__ inline uint64_t get_imm(uint64_t offset) { return ophook::rt::local_base() + offset; }
__aicore__ inline void pipe_barrier(pipe_t pipe, ophook::rt::At at = ophook::rt::At::here()) {
  ophook::rt::barrier(ophook::rt::Pipe(int(pipe)), at);
}
__aicore__ inline void dsb(mem_dsb_t, ophook::rt::At at = ophook::rt::At::here()) {
  ophook::rt::barrier(ophook::rt::Pipe::ALL, at);
}
__aicore__ inline void dcci(void* dst, uint64_t entire, uint64_t type = 0, ophook::rt::At at = ophook::rt::At::here()) {
  const bool of_ub = entire && type == 1;  // whose lines the cache does not hold here
  if (!of_ub) ophook::rt::cache_clean({static_cast<uint8_t*>(dst), 0, ophook::rt::Dtype::u8}, entire, at);
}
__aicore__ inline void set_flag(pipe_t from, pipe_t to, int64_t id, ophook::rt::At at = ophook::rt::At::here()) {
  ophook::rt::set_flag(ophook::rt::Pipe(int(from)), ophook::rt::Pipe(int(to)), int(id), at);
}
__aicore__ inline void wait_flag(pipe_t from, pipe_t to, int64_t id, ophook::rt::At at = ophook::rt::At::here()) {
  ophook::rt::wait_flag(ophook::rt::Pipe(int(from)), ophook::rt::Pipe(int(to)), int(id), at);
}

namespace ophook::rt {
template <typename F>
struct Asserted {
  F holds;
  const char* condition;
  At at;
};
template <typename F>
Asserted(F, const char*, At) -> Asserted<F>;
template <typename F>
void operator+(const Asserted<F>& one) {
  if (!one.holds()) assertion(one.condition, one.at);
}
template <typename T, typename F>
constexpr T operator+(T value, const Asserted<F>&) {
  return value;
}
}  // namespace ophook::rt
#if defined(__DAV_CUBE__) || defined(__DAV_VEC__)
// As the device's compiler has it: of the other kind of core's part nothing is instantiated.
#define ASCEND_IS_AIV constexpr(::AscendC::g_coreType == ::AscendC::AIV)
#define ASCEND_IS_AIC constexpr(::AscendC::g_coreType == ::AscendC::AIC)
#else
#define ASCEND_IS_AIV (::ophook::rt::is_vector_core())
#define ASCEND_IS_AIC (!::ophook::rt::is_vector_core())
#endif
#define ASC_IS_AIV ASCEND_IS_AIV
#define ASC_IS_AIC ASCEND_IS_AIC
#undef assert
#define assert(condition, ...) \
  ((condition) ? static_cast<void>(0) : ::ophook::rt::assertion(#condition, ::ophook::rt::At::here()))
// Text for a debugger on the host; on the device it is nothing, and some sources write no semicolon behind it.
#define ASCENDC_REPORT_NOT_SUPPORT(condition, message)
// In the vendor's debugging on a CPU the block runs, and the kernel ends. The device's compiler sees nothing of it: in
// published kernels such a condition has names that nothing declares, or says the opposite of what is meant.
#ifdef ASCENDC_CPU_DEBUG
#define ASCENDC_ASSERT(condition, ...)                               \
  do {                                                               \
    if (!(condition)) {                                              \
      __VA_ARGS__;                                                   \
      ::ophook::rt::assertion(#condition, ::ophook::rt::At::here()); \
    }                                                                \
  } while (false)
#else
#define ASCENDC_ASSERT(...)
#endif
// The device's compiler sees nothing of it. So names in it may lack their namespace, and it may stand behind an
// expression whose semicolon was forgotten: there it is not looked at, since what it asks about may be what is being
// initialized.
#ifndef ASSERT
#define ASSERT(...)                            \
  +::ophook::rt::Asserted {                    \
    [&] {                                      \
      using namespace ::AscendC;               \
      return bool((__VA_ARGS__));              \
    },                                         \
        #__VA_ARGS__, ::ophook::rt::At::here() \
  }
#endif
#define KERNEL_LOG(level, ...) OPHOOK_LOG_##level(__VA_ARGS__)
#define OPHOOK_LOG_KERNEL_DEBUG(...) ::AscendC::printf(__VA_ARGS__)
#define OPHOOK_LOG_KERNEL_INFO(...) ::AscendC::printf(__VA_ARGS__)
#define OPHOOK_LOG_KERNEL_WARN(...) ::AscendC::printf(__VA_ARGS__)
#define OPHOOK_LOG_KERNEL_ERROR(...) ::AscendC::printf(__VA_ARGS__)
#define ascendc_assert(condition, ...) assert(condition, __VA_ARGS__)
