// The runtime that every Ascend C call ends in: plain functions of libophook_ascendc.so. The templates that kernels see
// only pack their arguments, so that a kernel compiles in a second or two and the rules are in one place.
#pragma once

#include <cstdarg>

#include "types.h"

#define OPHOOK_RT __attribute__((visibility("default")))

namespace ophook::rt {

// Where in the kernel's source a call stands; the default argument of every call.
struct At {
  constexpr At(const char* f, int l) : file(f), line(l) {}  // not of {}, which a call may give for another parameter
  const char* file;
  int line;
  static constexpr At here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) { return {file, line}; }
};

enum class Dtype : uint8_t { f16, f32, bf16, i8, u8, i16, u16, i32, u32, i64, u64, f64, b8, i4, other };

template <typename T>
constexpr Dtype dtype_of() {
  using U = std::remove_cv_t<AscendC::PrimT<T>>;
  if constexpr (std::is_same_v<U, half>) return Dtype::f16;
  else if constexpr (std::is_same_v<U, float>) return Dtype::f32;
  else if constexpr (std::is_same_v<U, bfloat16_t>) return Dtype::bf16;
  else if constexpr (std::is_same_v<U, bool>) return Dtype::b8;
  else if constexpr (std::is_same_v<U, double>) return Dtype::f64;
  else if constexpr (std::is_same_v<U, int4b_t>) return Dtype::i4;
  else if constexpr (std::is_integral_v<U> && std::is_signed_v<U>)
    return sizeof(U) == 1 ? Dtype::i8 : sizeof(U) == 2 ? Dtype::i16 : sizeof(U) == 4 ? Dtype::i32 : Dtype::i64;
  else if constexpr (std::is_integral_v<U>)
    return sizeof(U) == 1 ? Dtype::u8 : sizeof(U) == 2 ? Dtype::u16 : sizeof(U) == 4 ? Dtype::u32 : Dtype::u64;
  else return Dtype::other;
}

// The bytes that Squeeze counted last, and the special register AR.
struct SqueezedBytes {
  uint32_t last = 0, address = 0;
};

enum class Memory : uint8_t { ub, l1, l0a, l0b, l0c, bt, fb, gm };
enum class Pipe : uint8_t { S, V, M, MTE1, MTE2, MTE3, FIX, ALL };
constexpr int kPipes = 7;

// A LocalTensor without its type: bytes [offset, offset + bytes) of one core's local memory.
struct Local {
  uint32_t offset = 0, bytes = 0;
  int32_t buffer = -1;      // index of the buffer that it was taken from, -1: none
  uint32_t generation = 0;  // of that buffer's contents: FreeTensor begins a new one
  Memory memory = Memory::ub;
  uint8_t position = 0;
  Dtype dtype = Dtype::other;
};

struct Global {
  uint8_t* data = nullptr;
  uint64_t bytes = 0;  // from data on, as SetGlobalBuffer told; 0: it did not
  Dtype dtype = Dtype::other;
};

// What one vector instruction covers: `count` elements in a row, or `repeat` times 256 bytes picked by a mask.
struct Cover {
  enum Kind : uint8_t { kCount, kLanes, kBits, kPreset } kind = kCount;
  uint64_t low = 0, high = 0;  // kCount, kLanes: how many (low); kBits: the mask
  uint32_t repeat = 1;
  bool fixed = false;  // it has nothing to do with counter mode and the mask registers
};
struct Step {
  uint32_t block = 1, repeat = 8;  // in blocks of 32 bytes
};

// A scalar operand, kept in all the forms that an instruction may want.
struct Scalar {
  double real;
  int64_t whole;
};
template <typename T>
constexpr Scalar scalar_of(T value) {
  if constexpr (std::is_same_v<T, bfloat16_t>) return {bfloat16_value(value.bits), 0};
  else if constexpr (std::is_same_v<T, half>) return {float(value), int64_t(float(value) != float(value) ? 0 : 0)};
  else if constexpr (std::is_integral_v<T>) return {double(value), int64_t(value)};
  else return {double(value), 0};
}

// ---- elementwise: rows of vector_ops.inc ----
enum class Op : uint16_t {
#define VECTOR_OP(name, ...) name,
#include "vector_ops.inc"
#undef VECTOR_OP
  kCount
};
OPHOOK_RT void unary(Op op, Local dst, Local src, Cover cover, Step d, Step s, At at);
OPHOOK_RT void binary(Op op, Local dst, Local a, Local b, Cover cover, Step d, Step sa, Step sb, At at);
OPHOOK_RT void compare(const char* call, Local dst, Local a, const Local* b, Scalar scalar, int mode, Cover cover,
                       Step sa, Step sb, At at);
OPHOOK_RT void with_scalar(Op op, Local dst, Local src, Scalar scalar, Cover cover, Step d, Step s, At at);
OPHOOK_RT void duplicate(Local dst, Scalar value, Cover cover, Step d, At at);
// What is computed of the sources' type, then converted to the destination's.
OPHOOK_RT void binary_cast(const char* call, Op op, Local dst, Local a, Local b, Cover cover, Step d, Step sa, Step sb,
                           At at);
OPHOOK_RT void cast(Local dst, Local src, int mode, Cover cover, Step d, Step s, At at);
OPHOOK_RT void set_deq_scale(float scale);
// Bits of the core's control register; no value: what is usual. And the flags of saturation on Atlas A2 and A3.
OPHOOK_RT void set_control(const char* call, int first, int last, const int64_t* value, At at);
OPHOOK_RT int64_t control(const char* call, int first, int last, At at);
OPHOOK_RT int64_t& flags_address();  // of the flags between cores, as the kernel says it: no one reads it here
OPHOOK_RT uint64_t control_register();
OPHOOK_RT void set_control_register(const char* call, uint64_t value, At at);
OPHOOK_RT void saturation(bool of_casts, bool on, At at);
OPHOOK_RT bool saturation(bool of_casts);
OPHOOK_RT void set_dequantization(uint64_t parameters);                      // of all elements
OPHOOK_RT void set_dequantization(Local table, const uint64_t* parameters);  // of each of 16, which go into the table
OPHOOK_RT void dequantize(Local dst, Local src, bool by_table, bool upper, Cover cover, Step d, Step s, At at);
OPHOOK_RT void cast_scalar(float value, Dtype to, void* out, int mode, At at);
OPHOOK_RT void forget_image();  // of LoadData with three dimensions: what to pad with, and where L1 ends
OPHOOK_RT void set_mask(bool by_count, uint64_t high, uint64_t low, bool mode_only);
OPHOOK_RT void set_mask_bits(uint64_t high, uint64_t low);
OPHOOK_RT void read_mask_bits(uint64_t& high, uint64_t& low);

// ---- copies ----
struct Blocks {  // `count` pieces of `length` bytes; gaps between them in bytes
  uint32_t count = 1;
  uint64_t length = 0, from_gap = 0, to_gap = 0;
  bool compact = false;  // in local memory they lie one after the other, and the last one alone is filled up
};
struct Padding {
  bool is_pad = false;
  uint32_t left = 0, right = 0;  // elements
  uint64_t value = 0;            // its bits
};
OPHOOK_RT void copy_in(const char* call, Local to, Global from, Blocks blocks, const Padding* pad, At at);
OPHOOK_RT void copy_out(const char* call, Global to, Local from, Blocks blocks, bool padded, At at);
OPHOOK_RT bool leaves_l0c(Local from);
// From L0C to UB, with what DataCopyEnhancedParams says.
OPHOOK_RT void copy_product(Local to, Local from, Blocks blocks, int mode, int scale, bool relu, At at);
OPHOOK_RT void copy_local(const char* call, Local to, Local from, Blocks blocks, At at, bool relu = false);

// ---- scalar access ----
OPHOOK_RT void* local_address(Local tensor);
OPHOOK_RT const void* keep(const void* bytes, size_t size);  // a copy that lives as long as the core runs
OPHOOK_RT void read_local(const char* call, Local tensor, uint64_t index, uint32_t size, void* out, At at);
OPHOOK_RT void write_local(const char* call, Local tensor, uint64_t index, uint32_t size, const void* value, At at);
OPHOOK_RT void read_global(const char* call, Global tensor, uint64_t index, uint32_t size, void* out, At at);
OPHOOK_RT void write_global(const char* call, Global tensor, uint64_t index, uint32_t size, const void* value, At at);
// Past the data cache: other cores see it at once, and may look for it in a loop.
OPHOOK_RT void read_global_uncached(const char* call, Global tensor, uint32_t size, void* out, At at);
OPHOOK_RT void write_global_uncached(const char* call, Global tensor, uint32_t size, const void* value, At at);
OPHOOK_RT void cache_clean(Global tensor, bool whole, At at);
OPHOOK_RT void beyond(Local tensor, uint64_t first, const char* what, At at);

// ---- buffers and queues ----
struct Queue {
  int32_t id = -1;  // in the running core's table; -1: InitBuffer was not called
};
OPHOOK_RT void pipe_begin(void* pipe, At at);
OPHOOK_RT void pipe_gives(const void* pipe, At at);  // memory of its own, which no other live TPipe may
OPHOOK_RT void queue_free_events(Queue& queue);
OPHOOK_RT void pipe_end(void* pipe, bool waits = true);
OPHOOK_RT void* pipe_current();
OPHOOK_RT void pipe_reset(void* pipe, bool waits = true);
struct Pool {
  int32_t id = -1;  // in the running core's table; -1: InitBufPool was not called
};
OPHOOK_RT void pool_begin(Pool& pool, int position, uint32_t most, const Pool* in, const Pool* shared, uint32_t bytes,
                          At at);
OPHOOK_RT void pool_reset(const Pool& pool, At at);
OPHOOK_RT uint32_t pool_address(const Pool& pool, At at);
OPHOOK_RT void queue_begin(Queue& queue, int from, int to, int depth, uint32_t count, At at);
OPHOOK_RT void place_buffer(Queue& queue, const Pool& pool, int position, bool plain, uint32_t address, uint32_t bytes,
                            At at);
OPHOOK_RT void buffer_at(Queue& queue, int position, uint64_t address, uint64_t bytes, At at);
OPHOOK_RT void init_queue(Queue& queue, const Pool* pool, int from, int to, int depth, uint32_t count, uint32_t bytes,
                          At at);
OPHOOK_RT void init_buffer(Queue& buffer, const Pool* pool, int position, uint32_t bytes, At at);
OPHOOK_RT Local queue_alloc(Queue& queue, At at);
OPHOOK_RT void queue_enque(Queue& queue, Local tensor, int from, int to, At at);
OPHOOK_RT Local queue_deque(Queue& queue, int from, int to, At at);
OPHOOK_RT void queue_free(Queue& queue, Local tensor, At at);
OPHOOK_RT bool queue_vacant(const Queue& queue, bool free_buffer);
OPHOOK_RT int queue_held(const Queue& queue);
// Local memory without a TPipe: `bytes` of the memory of a position, from an address that the kernel chose.
OPHOOK_RT Local local_at(const char* call, int position, uint64_t address, uint64_t bytes, At at);
// The same for what a program wrote into a tensor: `address` may be a pointer into the memory, and 0 bytes are the
// rest.
OPHOOK_RT Local local_told(int position, uint64_t address, uint64_t bytes);
// All of the position's memory that no buffer has.
OPHOOK_RT Local stack_buffer(int position, At at);
OPHOOK_RT Local buffer_get(const Queue& buffer, uint64_t offset, uint64_t bytes, At at);
// The C interface: an array that a kernel declares in local memory; what lies at an address; where the core's memory
// begins.
OPHOOK_RT void* local_array(int position, uint64_t bytes, const char* name, At at);
OPHOOK_RT Local local_of(const char* call, const void* address, At at, Memory in = Memory::ub);
OPHOOK_RT uint64_t local_base();
// What a cast to a pointer into the unified buffer is given: an address, or as on the device a number of bytes in it.
struct UbAddress {
  template <typename T>
  UbAddress(T given) : value(uint64_t(given)) {
    if (value < (1 << 20)) value += local_base();
  }
  template <typename T>
  operator T*() const {
    return reinterpret_cast<T*>(value);
  }
  uint64_t value;
};
template <typename P, typename T>
P ub_pointer(T given) {
  return P(UbAddress(given));
}

// ---- synchronization ----
OPHOOK_RT void set_flag(Pipe from, Pipe to, int id, At at);
OPHOOK_RT void wait_flag(Pipe from, Pipe to, int id, At at);
// Between pipes of one core: what follows a lock waits for what came before every unlock of the same number.
OPHOOK_RT void mutex_lock(Pipe pipe, int id, bool waits, At at);
OPHOOK_RT void mutex_unlock(Pipe pipe, int id, bool waits, At at);
OPHOOK_RT int mutex_alloc(At at);
OPHOOK_RT void mutex_release(int id, At at);
OPHOOK_RT int event_fetch(Pipe from, Pipe to, bool hold, At at);
OPHOOK_RT void event_release(Pipe from, Pipe to, int id, At at);
// A flag for the next operation of `from`, told before it, or none (`empty`): it is set when that is over.
OPHOOK_RT void early_flag(bool set, Pipe from, Pipe to, int id, bool empty, At at);
OPHOOK_RT void barrier(Pipe pipe, At at);
OPHOOK_RT int64_t core_number();   // of all cores of the run
OPHOOK_RT uint16_t* store_type();  // of stores that add, by its number; 0: they do not
OPHOOK_RT void store_added(const char* call, Global to, const void* value, At at);
OPHOOK_RT void sync_all(bool vector_only, At at);
OPHOOK_RT void cross_set(int mode, Pipe pipe, int id, At at);
OPHOOK_RT void cross_wait(int mode, int id, At at);
OPHOOK_RT void between_set(int block, int id, At at);
OPHOOK_RT void between_wait(int block, int id, At at);
OPHOOK_RT void fill_global(const char* call, Global to, uint64_t count, uint32_t size, const void* value, At at);
OPHOOK_RT void pad_value(uint64_t bits);
// How often a copy runs on an Ascend 950, and how far apart, in bytes: the inner loop, the outer one.
struct CopyLoops {
  uint64_t size[2] = {1, 1}, local[2] = {}, global[2] = {};
};
OPHOOK_RT CopyLoops& copy_loops(bool in);
// A copy of up to five dimensions, from the innermost one on: steps and padding in elements.
struct Dimensions {
  static constexpr int kMost = 5;
  uint64_t from_step[kMost] = {}, to_step[kMost] = {}, value = 0;
  uint32_t size[kMost] = {};
  uint8_t before[kMost] = {}, behind[kMost] = {};
  bool constant = false;  // what stands around: the value, else the nearest element
};
OPHOOK_RT Dimensions& dimensions();  // what the running core was told
OPHOOK_RT void copy_dimensions(const char* call, Local to, Global from, uint32_t element, const Dimensions& all, At at);
OPHOOK_RT void atomic(int kind, Dtype dtype);  // 0 none, 1 add, 2 max, 3 min; -1, other: as it was
OPHOOK_RT Dtype atomic_type();                 // other: no copy is atomic

// ---- the core ----
OPHOOK_RT int64_t block_index();
OPHOOK_RT int64_t block_count();
OPHOOK_RT int64_t sub_block_index();
OPHOOK_RT int64_t sub_block_count();
OPHOOK_RT bool is_vector_core();
OPHOOK_RT int64_t entry_nanoseconds();  // the host's steady clock when the kernel was launched
OPHOOK_RT uint64_t tiling_key();
OPHOOK_RT uint8_t* workspace_address();
// Ends the core where it is of a kind that the kernel does not run on; else true.
OPHOOK_RT bool runs_on(bool cubes, bool vectors);
OPHOOK_RT void copy_tiling(void* to, const void* from, size_t bytes, const char* name, At at);
// `named`: behind the core's name, as the page of printf shows it. Outside a kernel it is the host's printf.
OPHOOK_RT int print(bool named, const char* format, ...);
OPHOOK_RT int print_list(bool named, const char* format, va_list arguments);
template <typename T>
auto printed(T value) {  // as a variable argument
  if constexpr (std::is_same_v<T, half>) return double(float(value));
  else if constexpr (std::is_same_v<T, bfloat16_t>) return double(bfloat16_value(value.bits));
  else return value;
}
struct DumpShape {
  const uint32_t* sizes = nullptr;
  uint32_t count = 0;
};
OPHOOK_RT void dump(Local tensor, uint32_t tag, uint32_t count, DumpShape shape = {});
OPHOOK_RT void print_lines(Local tensor, uint32_t count);
OPHOOK_RT int32_t to_file(Local tensor, const char* name);
OPHOOK_RT void dump_at(const char* call, const void* address, Dtype dtype, uint32_t desc, uint32_t count, At at);
OPHOOK_RT void dump(Global tensor, uint32_t tag, uint32_t count, DumpShape shape = {});
[[noreturn]] OPHOOK_RT void assertion(const char* condition, At at);
[[noreturn]] OPHOOK_RT void trap(At at);
OPHOOK_RT void refuse(const char* call, const char* why, At at);  // parameters that no page has: ends the core

}  // namespace ophook::rt
