// Who uses device memory now, and what becomes of memory that is given back meanwhile.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "sim.h"

namespace sim {

// Grows whenever memory goes: who looked before it grew has to look again.
extern std::atomic<uint64_t> memory_epoch;

// OPHOOK_SIM_STRICT_MEMORY=1: the host cannot read or write device memory but in kernels and copies, what it holds at
// first is no number, and addresses that were freed are not used again.
bool strict_memory();
// In strict mode from here on a fault in device memory is reported with the allocation's name before it takes its
// course.
void report_stray_accesses();

// Whether somebody uses device memory, so that it has to be readable; in strict mode only.
bool memory_is_open();
// Makes all device memory readable and writable, or not.
void protect_device_memory(bool open);

// What is allocated now; memory.cpp has the list.
struct OnDevice {
  uintptr_t begin;
  size_t on_host, size;  // bytes that it takes of the host; as asked for
  int device;
  bool mapped;          // a part of a reserved range
  const char* call;     // what made it
  const char* library;  // where that was called from; null: not known
};
void for_each_on_device(const std::function<void(const OnDevice&)>& visit);

// OPHOOK_SIM_LEAKS=FILE: when the process ends, what was never freed goes there, as lines "device bytes call library".
void tell_leaks_at_exit();

// What a range of addresses is to become once nobody uses it.
enum class Bare { unmapped, reserved };
// Gives the range back to the host when every use that began before now has ended; at once where there is none. It is
// in no table any more.
void retire(uintptr_t begin, size_t size, Bare as);
// The range is mapped anew: what was to become of it is void.
void mapped_again(uintptr_t begin, size_t size);

// "0x7f…: 16 bytes of allocation 3 (…)" as far as there is room, without allocating memory; for a signal handler with
// `busy_ok`, which says less where another thread changes the table.
void describe_memory(const void* pointer, size_t size, char* text, size_t room, bool busy_ok);

// Memory of the host that is registered for a device; host_memory.cpp. Whether a kernel gets to these bytes by that:
bool registered_memory_reaches(const void* pointer, size_t size);
bool registered_as_pinned(const void* pointer);
// Whether a copy takes these bytes as a device's, or as the host's; of memory that no block holds.
bool copies_take(const void* pointer, size_t size, bool as_device);
// False where the address is none of a device's for such memory.
bool describe_registered_memory(const void* pointer, char* text, size_t room);
// Pinned memory whose address is to be the same on host and device.
bool host_memory_has_one_address(const void* pointer);

struct MemoryUse {
  MemoryUse() { sim_memory_open(); }
  ~MemoryUse() { sim_memory_close(); }
  MemoryUse(const MemoryUse&) = delete;
  MemoryUse& operator=(const MemoryUse&) = delete;
};

}  // namespace sim
