// Conversions between data types, with every rounding mode that a conversion has.
#pragma once

#include <string>

#include "ascendc/runtime.h"

namespace ophook::rt {

struct Convert {
  void (*run)(const void* from, void* to, size_t count, int mode) = nullptr;  // NULL: refused
  bool known = false;   // the pair of types exists, with other rounding modes
  std::string allowed;  // what may stand in its place
};
Convert conversion(Dtype from, Dtype to, int mode, int architecture);
const char* rounding_name(int mode);

}  // namespace ophook::rt
