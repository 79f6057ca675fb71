// How long a line of cache takes from one core to another and back, in ns: threads that hand work over cannot be faster.
// A virtual machine's two cores share a cache at one time and not at another, as its host places them.
#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>

namespace {
constexpr int kTurns = 300'000;
alignas(128) std::atomic<int> turn{0};

void stay_on(int core) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(core, &cores);
  pthread_setaffinity_np(pthread_self(), sizeof cores, &cores);
}

void pass(int from, int to) {
  while (turn.load() != from) {
  }
  turn.store(to);
}
}  // namespace

int main() {
  cpu_set_t given;
  sched_getaffinity(0, sizeof given, &given);
  int first = -1, second = -1;
  for (int core = 0; core < CPU_SETSIZE && second < 0; ++core)
    if (CPU_ISSET(core, &given)) (first < 0 ? first : second) = core;
  if (second < 0) return 1;
  std::thread other([=] {
    stay_on(second);
    for (int i = 0; i < kTurns; ++i) pass(1, 0);
  });
  stay_on(first);
  auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < kTurns; ++i) pass(0, 1);
  other.join();
  std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - start;
  std::printf("%.0f\n", taken.count() / kTurns);
}
