// The C interface of Ascend C: the instructions by addresses in local memory. Each is a thin call of what the C++
// interface calls. What is not here does not compile, and the message names its page.
#pragma once

#include "../kernel_operator.h"

#include "../ascendc/cache_line.h"
#include "../ascendc/c_support.h"
#if __NPU_ARCH__ == 3510
#include "../ascendc/c_copies_950.h"
#include "../ascendc/c_registers.h"
#else
#include "../ascendc/c_cube.h"
#include "../ascendc/c_memory.h"
#endif

#include "../ascendc/c_macros.inc"

// ---- what all products have of vector instructions and copies ----
OPHOOK_COPY(asc_copy_ub2ub,
            ophook::rt::copy_local("asc_copy_ub2ub", OPHOOK_LOCAL(dst), OPHOOK_LOCAL(src), pieces, where))
OPHOOK_MOVED inline void asc_set_copy_pad_val(T pad_value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &pad_value, sizeof pad_value);
  ophook::rt::pad_value(bits);
}
OPHOOK_WITH_SYNC(asc_transpose, OPHOOK_OF(int16_t, uint16_t), (T * dst, T* src), (dst, src),
                 ophook::rt::transpose16(OPHOOK_LOCAL(dst), OPHOOK_LOCAL(src), where))
OPHOOK_WITH_SYNC(asc_bitsort, OPHOOK_OF(half, float), (T * dst, T* src0, uint32_t* src1, int32_t repeat),
                 (dst, src0, src1, repeat),
                 ophook::rt::sort("asc_bitsort", OPHOOK_LOCAL(dst), OPHOOK_LOCAL(src0), OPHOOK_LOCAL(src1), nullptr,
                                  repeat, false, where))
OPHOOK_WITH_SYNC(asc_mrgsort4, OPHOOK_OF(half, float),
                 (T * dst, T* src[ASC_C_API_MRGSORT_ELEMENT_LEN], uint8_t repeat, uint16_t element_length_0,
                  uint16_t element_length_1, uint16_t element_length_2, uint16_t element_length_3,
                  bool if_exhausted_suspension, uint8_t valid_bit),
                 (dst, src, repeat, element_length_0, element_length_1, element_length_2, element_length_3,
                  if_exhausted_suspension, valid_bit),
                 ophook::rt::Local lists[4];
                 for (int i = 0; i < 4; ++i) if (valid_bit >> i & 1) lists[i] = OPHOOK_LOCAL(src[i]);
                 const uint16_t lengths[] = {element_length_0, element_length_1, element_length_2, element_length_3};
                 uint32_t taken[4]; ophook::rt::merge_sorted(OPHOOK_LOCAL(dst), lists, lengths, valid_bit, repeat,
                                                             if_exhausted_suspension, taken, where))

// ---- synchronization ----
inline void asc_sync(OPHOOK_AT) { ophook::c::wait(where); }
inline void asc_sync_vec(OPHOOK_AT) { ophook::c::wait(where); }
inline void asc_sync_pipe(pipe_t pipe, OPHOOK_AT) {
  if (pipe == PIPE_S) return ophook::rt::refuse("asc_sync_pipe", "PIPE_S needs none, and is not supported", where);
  ophook::rt::barrier(ophook::rt::Pipe(int(pipe)), where);
}
// Of event_t; the vendor's programs give whole numbers as well.
inline void asc_sync_notify(pipe_t pipe, pipe_t tpipe, int id, OPHOOK_AT) {
  ophook::rt::set_flag(ophook::rt::Pipe(int(pipe)), ophook::rt::Pipe(int(tpipe)), id, where);
}
inline void asc_sync_wait(pipe_t pipe, pipe_t tpipe, int id, OPHOOK_AT) {
  ophook::rt::wait_flag(ophook::rt::Pipe(int(pipe)), ophook::rt::Pipe(int(tpipe)), int(id), where);
}
inline void asc_sync_data_barrier(mem_dsb_t, OPHOOK_AT) { ophook::c::wait(where); }
#define OPHOOK_AFTER(name, from)                                                                       \
  inline void name(int id, OPHOOK_AT) { /* every other pipe goes on when `from` is done */             \
    using ophook::rt::Pipe;                                                                            \
    for (const Pipe to : {Pipe::S, Pipe::V, Pipe::M, Pipe::MTE1, Pipe::MTE2, Pipe::MTE3, Pipe::FIX}) { \
      if (to == Pipe::from) continue;                                                                  \
      ophook::rt::set_flag(Pipe::from, to, id, where);                                                 \
      ophook::rt::wait_flag(Pipe::from, to, id, where);                                                \
    }                                                                                                  \
  }
OPHOOK_AFTER(asc_sync_mte2, MTE2)
OPHOOK_AFTER(asc_sync_mte3, MTE3)
#undef OPHOOK_AFTER
// Between cores, by who meets: all cores, the vector cores of a block, a block's cube core and its vector cores.
#define OPHOOK_CROSS(name, mode)                                                   \
  inline void asc_sync_##name##_arrive(pipe_t pipe, int64_t flag_id, OPHOOK_AT) {  \
    ophook::rt::cross_set(mode, ophook::rt::Pipe(int(pipe)), int(flag_id), where); \
  }                                                                                \
  inline void asc_sync_##name##_wait(pipe_t, int64_t flag_id, OPHOOK_AT) {         \
    ophook::rt::cross_wait(mode, int(flag_id), where);                             \
  }
#if __NPU_ARCH__ != 3510
OPHOOK_CROSS(inter, 0)
OPHOOK_CROSS(subblock, 1)
// Where the device keeps those flags: here they are the runtime's.
inline void asc_set_ffts_base_addr(uint64_t config) { ophook::rt::flags_address() = int64_t(config); }
inline int64_t asc_get_ffts_base_addr() { return ophook::rt::flags_address(); }
#endif
OPHOOK_CROSS(block, 2)
#undef OPHOOK_CROSS
#if __NPU_ARCH__ == 3510
// What pipes of one core do with a mutex held is done one after the other.
enum ascMutexExecuteMode { ASC_LOCK_BLOCK = 0, ASC_LOCK_NON_BLOCK = 1 };
inline void asc_lock(pipe_t pipe, uint8_t mutex_id, ascMutexExecuteMode mode = ASC_LOCK_BLOCK, OPHOOK_AT) {
  ophook::rt::mutex_lock(ophook::rt::Pipe(int(pipe)), mutex_id, mode == ASC_LOCK_BLOCK, where);
}
inline void asc_unlock(pipe_t pipe, uint8_t mutex_id, ascMutexExecuteMode mode = ASC_LOCK_BLOCK, OPHOOK_AT) {
  ophook::rt::mutex_unlock(ophook::rt::Pipe(int(pipe)), mutex_id, mode == ASC_LOCK_BLOCK, where);
}
#endif

// ---- atomic copies, and the data cache ----
#define C_ATOMIC(name, type)                                                                       \
  inline void asc_set_atomic_add_##name() { ophook::rt::atomic(1, ophook::rt::dtype_of<type>()); } \
  inline void asc_set_atomic_max_##name() { ophook::rt::atomic(2, ophook::rt::dtype_of<type>()); } \
  inline void asc_set_atomic_min_##name() { ophook::rt::atomic(3, ophook::rt::dtype_of<type>()); }
C_ATOMIC(int8, int8_t)
C_ATOMIC(int16, int16_t)
C_ATOMIC(int, int32_t)
C_ATOMIC(bfloat, bfloat16_t)
C_ATOMIC(float16, half)
C_ATOMIC(float, float)
#undef C_ATOMIC
struct asc_store_atomic_config {
  uint16_t atomic_type = 0, atomic_op = 0;
};
inline void asc_set_atomic_none() { AscendC::SetAtomicNone(); }
#if __NPU_ARCH__ == 3510
#define OPHOOK_CONFIG asc_set_store_atomic_config_v2
#else
#define OPHOOK_CONFIG asc_set_store_atomic_config_v1
#endif
inline void OPHOOK_CONFIG(uint16_t type, uint16_t op, OPHOOK_AT) {
  if (type > 6 || op) return ophook::rt::refuse(__func__, "type is 0 to 6, and op is 0", where);
  ophook::rt::atomic(type ? 1 : 0, AscendC::copy_details::kAtomic[type]);
}
#undef OPHOOK_CONFIG
inline void asc_get_store_atomic_config(asc_store_atomic_config& config) {
  AscendC::GetStoreAtomicConfig(config.atomic_type, config.atomic_op);
}
#if __NPU_ARCH__ != 3510  // what the scalar unit reads of the unified buffer is here as new as the buffer
inline void asc_ub_dcci_single(void*) {}
inline void asc_dcci_entire_ub() {}
#endif
inline void asc_dcci_entire_atomic(OPHOOK_AT) { ophook::rt::cache_clean({}, true, where); }
inline void asc_dcci_entire_all(OPHOOK_AT) { ophook::rt::cache_clean({}, true, where); }
inline void asc_dcci_entire_out(OPHOOK_AT) { ophook::rt::cache_clean({}, true, where); }
inline void asc_datacache_preload(uint64_t*, int64_t) {}
inline void asc_icache_preload(const void*, int64_t) {}
inline int64_t asc_get_icache_preload_status() { return 0; }

// ---- the core ----
inline void asc_init() {}
#if __NPU_ARCH__ != 3510
inline int64_t asc_get_ctrl() { return int64_t(get_ctrl()); }
inline void asc_set_ctrl(uint64_t config, OPHOOK_AT) {
  ophook::rt::set_control_register("asc_set_ctrl", config, where);
}
#endif
inline int64_t asc_get_core_id() { return ophook::rt::core_number(); }
inline int64_t asc_get_block_idx() { return ophook::rt::block_index(); }
inline int64_t asc_get_block_num() { return ophook::rt::block_count(); }
inline int64_t asc_get_sub_block_id() { return ophook::rt::sub_block_index(); }
inline int64_t asc_get_sub_block_num() { return ophook::rt::sub_block_count(); }
inline int64_t asc_get_system_cycle() { return AscendC::GetSystemCycle(); }
inline int64_t asc_get_program_counter() { return AscendC::GetProgramCounter(); }
inline uint64_t asc_get_phy_buf_addr(uint64_t offset) { return ophook::rt::local_base() + offset; }

// ---- scalars ----
inline uint64_t asc_clear_nthbit(uint64_t bits, int64_t idx) { return sbitset0(bits, idx); }
inline uint64_t asc_set_nthbit(uint64_t bits, int64_t idx) { return sbitset1(bits, idx); }
inline int64_t asc_clz(uint64_t value_in) { return AscendC::CountLeadingZero(value_in); }
#if __NPU_ARCH__ == 3510
// A number of its own, rounded; and one into device memory past the cache.
#define OPHOOK_ROUNDED(suffix, mode)                                                                              \
  inline int32_t asc_float2int32_##suffix(float value) {                                                          \
    int32_t whole;                                                                                                \
    ophook::rt::reg_convert(ophook::rt::Dtype::f32, ophook::rt::Dtype::i32, int(AscendC::RoundMode::CAST_##mode), \
                            true, &value, &whole);                                                                \
    return whole;                                                                                                 \
  }
OPHOOK_ROUNDED(rn, RINT)
OPHOOK_ROUNDED(rna, ROUND)
OPHOOK_ROUNDED(rd, FLOOR)
OPHOOK_ROUNDED(ru, CEIL)
#undef OPHOOK_ROUNDED
OPHOOK_OF(int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t, int64_t, uint64_t)
inline void asc_store_dev(T* addr, ophook::c::Given<T> value, OPHOOK_AT) {
  ophook::rt::write_global_uncached("asc_store_dev", ophook::c::global(addr), sizeof(T), &value, where);
}
#endif
inline int64_t asc_popc(uint64_t value) { return AscendC::GetBitCount<1>(value); }
inline int64_t asc_zero_bits_cnt(uint64_t value) { return AscendC::GetBitCount<0>(value); }
inline int64_t asc_ffs(uint64_t value) { return AscendC::GetSFFValue<1>(value); }
inline int64_t asc_ffz(uint64_t value) { return AscendC::GetSFFValue<0>(value); }
inline int64_t asc_sflbits(int64_t value) { return AscendC::CountBitsCntSameAsSignBit(value); }

#include "../ascendc/c_macros_end.inc"
