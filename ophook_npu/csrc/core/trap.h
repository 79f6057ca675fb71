// What a signal's context says about the access that raised it.
#pragma once
#include <ucontext.h>

#include <cstring>
#include <optional>
#if defined(__aarch64__)
#include <asm/sigcontext.h>
#endif

namespace sim {

// Whether the access was a write; nothing where the processor's or the emulator's context does not say.
inline std::optional<bool> wrote(void* context) {
  [[maybe_unused]] auto& machine = static_cast<ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  return (machine.gregs[REG_ERR] & 2) != 0;
#elif defined(__aarch64__)
  constexpr uint64_t kWriteNotRead = 1 << 6;
  const auto* at = reinterpret_cast<const unsigned char*>(machine.__reserved);
  for (const auto* end = at + sizeof machine.__reserved; at + sizeof(_aarch64_ctx) <= end;) {
    _aarch64_ctx record;
    memcpy(&record, at, sizeof record);
    if (record.magic == 0 || record.size == 0) break;
    if (record.magic == ESR_MAGIC) {
      esr_context syndrome;
      memcpy(&syndrome, at, sizeof syndrome);
      return (syndrome.esr & kWriteNotRead) != 0;
    }
    at += record.size;
  }
#endif
  return std::nullopt;
}

}  // namespace sim
