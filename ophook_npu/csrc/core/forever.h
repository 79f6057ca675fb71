// What is made when it is first needed and never destroyed: streams' threads, and programs in their destructors, may
// come to it when static destructors have run.
#pragma once

namespace sim {

template <typename T>
inline T& forever() {
  static auto* const one = new T;
  return *one;
}

}  // namespace sim
