// Whole numbers divided by 0 in a kernel. An x86 CPU ends the process there; an AI core and an ARM CPU go on, and
// sources rely on it that do not use what they get, such as a remainder by the number of a group's tiles where it has
// none. Here the quotient is 0 and the remainder what was divided, as on ARM.
#include <signal.h>
#include <ucontext.h>

#include "core.h"
#include "division.h"
#include "signals.h"

#if defined(__x86_64__)

namespace ophook::rt {
namespace {

struct sigaction before{};

// The length of DIV or IDIV at `at`, and the bytes of its operand; 0: it is something else.
struct Instruction {
  int length = 0, operand = 0;
};
Instruction division_at(const uint8_t* at) {
  const uint8_t* p = at;
  bool half = false, rex_w = false;
  for (; *p == 0x66; ++p) half = true;
  if ((*p & 0xf0) == 0x40) rex_w = *p++ & 8;
  if (*p != 0xf6 && *p != 0xf7) return {};
  const int operand = *p == 0xf6 ? 1 : rex_w ? 8 : half ? 2 : 4;
  const uint8_t form = *++p, mode = form >> 6, field = form & 7, which = form >> 3 & 7;
  ++p;
  if (which != 6 && which != 7) return {};
  if (mode != 3) {
    const bool scaled = field == 4, bare = mode == 0 && (scaled ? (*p & 7) == 5 : field == 5);
    p += scaled + (bare || mode == 2 ? 4 : mode);
  }
  return {int(p - at), operand};
}

void go_on(int number, siginfo_t* info, void* context) {
  auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  Core* const c = core_or_null();
  const Instruction found = c && info->si_code == FPE_INTDIV
                                ? division_at(reinterpret_cast<const uint8_t*>(registers[REG_RIP]))
                                : Instruction{};
  if (!found.length) return hand_on(before, number, info, context);
  c->report(Kind::division_by_zero, c->last_call, c->last_at,
            "an integer is divided by 0 behind this call; no page says what a device gives, here the quotient is 0");
  auto &low = registers[REG_RAX], &high = registers[REG_RDX];
  switch (found.operand) {
    case 1: low = (low & ~0xffffll) | (low & 0xff) << 8; break;
    case 2: high = (high & ~0xffffll) | (low & 0xffff), low &= ~0xffffll; break;
    case 4: high = low & 0xffffffffll, low = 0; break;
    default: high = low, low = 0;
  }
  registers[REG_RIP] += found.length;
}

}  // namespace

void survive_divisions() {
  [[maybe_unused]] static const bool once = [] {
    struct sigaction action{};
    action.sa_sigaction = go_on;
    action.sa_flags = SA_SIGINFO;
    return sigaction(SIGFPE, &action, &before) == 0;
  }();
}

}  // namespace ophook::rt

#else
void ophook::rt::survive_divisions() {}
#endif
