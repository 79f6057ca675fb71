// What the advanced functions that are formulas of the headers read and write.
#include "ascendc/whole.h"

#include "vector.h"

namespace ophook::rt {

bool whole(const char* call, std::initializer_list<Part> writes, std::initializer_list<Part> reads, const Local* work,
           At at) {
  Core& c = core();
  Operation op(c, Pipe::V, call, at);
  if (!has_unit(c, true, call, at)) return false;
  for (const auto* list : {&writes, &reads})
    for (const Part& each : *list) {
      if (!c.usable(each.tensor, call, at)) return false;
      if (each.tensor.memory != Memory::ub) {
        c.report(Kind::position, call, at, text("%s is not in UB", each.role), c.describe(each.tensor));
        return false;
      }
      if (!op.aligned(each.tensor, kBlock, each.role) || !op.inside(each.tensor, 0, each.bytes, each.role))
        return false;
    }
  c.settle();
  scratch(op, work);
  for (const Part& each : reads) {
    op.reads(each.tensor, 0, each.bytes);
    if (c.launch.checks() && !all_written(op.written(each.tensor), each.bytes))
      c.report(Kind::uninitialized, call, at, text("%s has elements that were never computed", each.role),
               c.describe(each.tensor));
  }
  for (const Part& each : writes) {
    op.writes(each.tensor, 0, each.bytes);
    std::memset(op.written(each.tensor), 1, each.bytes);
    c.launch.counters.elements += each.bytes / size_of(each.tensor.dtype);
  }
  return true;
}

}  // namespace ophook::rt
