// What the advanced functions that are formulas of the headers read and write.
#include "ascendc/whole.h"

#include "vector.h"

namespace ophook::rt {

namespace {

bool fits(Operation& op, std::initializer_list<Part> parts) {
  Core& c = op.core;
  for (const Part& each : parts) {
    if (!c.usable(each.tensor, op.call, op.at)) return false;
    if (each.tensor.memory != Memory::ub) {
      c.report(Kind::position, op.call, op.at, text("%s is not in UB", each.role), c.describe(each.tensor));
      return false;
    }
    if (!op.aligned(each.tensor, kBlock, each.role) || !op.inside(each.tensor, 0, each.bytes, each.role)) return false;
  }
  return true;
}

}  // namespace

bool whole(const char* call, std::initializer_list<Part> writes, std::initializer_list<Part> reads, const Local* work,
           At at) {
  Core& c = core();
  Operation op(c, Pipe::V, call, at);
  if (!has_unit(c, true, call, at) || !fits(op, writes) || !fits(op, reads)) return false;
  c.settle();
  uint64_t most = 256;
  for (const Part& each : reads) most += 4 * each.bytes;  // twice what they take in float: the hosts' functions' most
  std::vector<Span> operands;
  for (const auto& parts : {writes, reads})
    for (const Part& each : parts) operands.push_back({&each.tensor, each.bytes});
  if (!scratch(op, work, operands, most)) return false;
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

void apart(const char* call, const Part& to, std::initializer_list<Part> from, At at) {
  std::vector<Span> sources;
  for (const Part& each : from) sources.push_back({&each.tensor, each.bytes});
  in_place(Operation(core(), Pipe::V, call, at), to.tensor, to.bytes, sources);
}

bool moves(const char* call, const Part& to, const Part& from, const std::vector<uint32_t>& origins, const Local* work,
           At at) {
  Core& c = core();
  Operation op(c, Pipe::V, call, at);
  if (!has_unit(c, true, call, at) || !fits(op, {to, from})) return false;
  c.settle();
  // A block or so for each piece that is repeated.
  if (!scratch(op, work, {{&to.tensor, to.bytes}, {&from.tensor, from.bytes}}, from.bytes)) return false;
  op.reads(from.tensor, 0, from.bytes), op.writes(to.tensor, 0, to.bytes);
  c.launch.counters.elements += origins.size();
  const uint32_t size = size_of(to.tensor.dtype);
  const uint8_t* begin = op.written(from.tensor);
  const std::vector<uint8_t> known(begin, begin + from.bytes);  // the destination may be the source
  for (size_t e = 0; e < origins.size(); ++e)
    std::memcpy(op.written(to.tensor) + e * size, known.data() + uint64_t(origins[e]) * size, size);
  return true;
}

}  // namespace ophook::rt
