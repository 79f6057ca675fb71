// Messages between cores, in device memory: which state each is in, and what its reader knows of its writer's work.
#include "ascendc/cube_groups.h"

#include <cstring>

#include "access.h"

namespace ophook::rt {
namespace {

constexpr const char* kStates[] = {"FREE", "VALID", "QUIT", "FAKE"};
const char* name_of_state(uint8_t state) { return state < std::size(kStates) ? kStates[state] : "of no such number"; }

// A message is where its queue says, so only its memory can be missing.
void reach(Core& c, const char* call, const uint8_t* message, uint64_t bytes, At at) {
  const Argument* a = message ? c.launch.memory.find(message, bytes) : nullptr;
  if (a && uint64_t(message - a->data) + bytes <= std::max(a->bytes, a->allocated)) return;
  c.report(Kind::global_bounds, call, at,
           message ? "the message lies in no argument" : "the message is a null pointer");
  c.stop();
}

}  // namespace

uint8_t message_wait(const char* call, const uint8_t* message, uint32_t states, At at) {
  Core& c = core();
  reach(c, call, message, 1, at);
  c.settle_all();
  c.last_call = call;
  yield_core();                       // who asks in a loop waits for another core
  constexpr uint32_t kMany = 100000;  // of turns in which the other cores had theirs
  c.asked = states || !*message ? 0 : c.asked + 1;
  if (c.asked > kMany) {
    c.report(Kind::deadlock, call, at,
             text("it was asked %u times, and the message stays %s", kMany, name_of_state(*message)));
    c.stop();
  }
  const auto over = [message, states] { return *message < 32 && (states >> *message & 1); };
  while (states && !over()) {
    c.until = over, c.waits_at = at;
    c.never = [&c, message, states] {
      std::string wanted;
      for (uint32_t i = 0; i < std::size(kStates); ++i)
        if (states >> i & 1) wanted += (wanted.empty() ? "" : " or ") + std::string(kStates[i]);
      return text("core %d waits for a message to be %s, and it stays %s", c.index, wanted.c_str(),
                  name_of_state(*message));
    };
    c.state = Core::kTask;
    yield_core();
  }
  c.begin(Pipe::S, call, at);
  if (const auto sent = c.launch.sent.find(message); sent != c.launch.sent.end()) learn(c, sent->second);
  return *message;
}

void message_post(const char* call, Pipe pipe, uint8_t* message, const void* from, uint64_t bytes, At at) {
  Core& c = core();
  reach(c, call, message, bytes, at);
  c.begin(pipe, call, at);
  std::memcpy(message, from, bytes);
  c.launch.sent[message] = message_of(c, pipe, at);
}

void message_set(const char* call, Pipe pipe, uint8_t* message, uint8_t state, At at) {
  message_post(call, pipe, message, &state, 1, at);
}

bool message_queue(const char* call, const uint8_t* queue, At at) {
  Core& c = core();
  const auto [it, fresh] = c.launch.bound.try_emplace(queue, c.index);
  if (!fresh)
    c.report(Kind::parameter, call, at, text("the queue is already core %d's; each core has its own", it->second));
  return fresh;
}

bool message_serves(const char* call, At at) {
  Core& c = core();
  if (c.serves) c.report(Kind::parameter, call, at, "this cube core is in another group; allowed: one group");
  return !std::exchange(c.serves, true);
}

void local_end(const char* call, uint64_t bytes, At at) {
  Core& c = core();
  const uint64_t most = c.launch.sizes.bytes[int(Memory::ub)];
  c.ub_end = std::max(c.ub_end, uint32_t(std::min(bytes, most)));
  if (c.used[int(Memory::ub)] + uint64_t(c.ub_end) > most)
    c.report(Kind::local_capacity, call, at,
             text("it takes the last %u bytes of UB, which InitBuffer has given away", c.ub_end));
}

}  // namespace ophook::rt
