#include "kernels/clock.h"

#include <chrono>
#include <thread>

namespace sim::kernels {

void cycles_like(const Dims& cycles) {
  SIM_CHECK(cycles.size() == 1 && cycles[0] > 0, "cycles ", cycles, "; one number above 0 is expected");
}

void wait(const Dims& cycles) {
  constexpr double kRate = 1.65e9;
  std::this_thread::sleep_for(std::chrono::duration<double>(double(cycles[0]) / kRate));
}

}  // namespace sim::kernels
