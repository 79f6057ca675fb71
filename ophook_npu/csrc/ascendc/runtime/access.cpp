#include "access.h"

#include "ascendc/enums.h"
#include "server.h"

namespace ophook::rt {

Operation::Operation(Core& c, Pipe p, const char* name, At where)
    : core(c), pipe(p), call(name), at(where), seq(c.begin(p, name, where)) {
  if (c.launch.checks()) limit();
}

void Operation::limit() {
  const Clock& mine = core.known[int(pipe)];
  for (int q = 0; q < kPipes; ++q) limits[q] = mine.at[q];
  // A pipe runs in order; whether the next instruction waits for the last one's result is the compiler's business.
  limits[int(pipe)] = core.launch.options.strict && pipe == Pipe::V ? core.fence[int(pipe)] : seq;
}

bool Operation::inside(const Local& tensor, uint64_t first, uint64_t bytes, const char* role) {
  const uint64_t end = uint64_t(tensor.offset) + first + bytes;
  const bool exists = end <= core.memory->at(tensor.memory).size();
  if (first + bytes <= tensor.bytes && exists) return true;
  // A buffer may have room behind the size that the kernel gave to its tensor. Where there is none in a memory that is
  // no UB, no buffer ends there.
  const bool room = tensor.buffer >= 0 ? end <= core.end_of(tensor) : tensor.memory != Memory::ub;
  if (exists && room) {
    core.report(Kind::beyond_tensor, call, at,
                text("%s: bytes %llu to %llu of a tensor of %u bytes", role, (unsigned long long)first,
                     (unsigned long long)(first + bytes), tensor.bytes));
    return true;
  }
  if (const Core::Overcommit* over = exists ? nullptr : core.overcommitted(tensor.memory)) {
    core.report(Kind::local_capacity, over->call, over->at, over->what + ", and " + call + " uses what lies beyond",
                core.describe(tensor));
    return false;
  }
  core.report(Kind::local_bounds, call, at,
              text("%s: bytes %llu to %llu of a tensor of %u bytes", role, (unsigned long long)first,
                   (unsigned long long)(first + bytes), tensor.bytes),
              core.describe(tensor));
  return false;
}

bool Operation::aligned(const Local& tensor, uint32_t to, const char* role) {
  if (!core.launch.checks() || tensor.offset % to == 0) return true;
  core.report(Kind::alignment, call, at,
              text("%s begins at byte %u of local memory, no multiple of %u", role, tensor.offset, to),
              core.describe(tensor));
  return false;
}

void Operation::conflict(const Local& tensor, const Conflict& with, bool write) {
  const bool scalar = with.pipe == Pipe::S || pipe == Pipe::S;
  const Kind kind = with.pipe == pipe ? Kind::missing_barrier : scalar ? Kind::missing_scalar_sync : Kind::missing_sync;
  core.report(
      kind, call, at,
      text("pipe %s %s what pipe %s %s (%s), and does not wait for it", name_of(pipe), write ? "overwrites" : "reads",
           name_of(with.pipe), with.wrote ? "writes" : "still reads", core.where(with.seq).c_str()),
      core.describe(tensor));
  if (kind != Kind::missing_scalar_sync) return;
  // Where the compiler adds the wait, what comes after it comes after what was waited for.
  const Site* site = core.site(with.seq);
  Clock over = site ? site->after : Clock{};
  over.at[int(with.pipe)] = with.seq;
  core.join(pipe, over);
}

void Operation::reads(const Local& tensor, uint64_t first, uint64_t bytes) {
  if (!core.launch.checks() || !bytes) return;
  Conflict found;
  if (!core.memory->at(tensor.memory).read(uint32_t(tensor.offset + first), uint32_t(bytes), pipe, seq, limits, &found))
    conflict(tensor, found, false);
}
bool Operation::writes(const Local& tensor, uint64_t first, uint64_t bytes) {
  if (!core.launch.checks() || !bytes) return true;
  Conflict found;
  if (core.memory->at(tensor.memory).write(uint32_t(tensor.offset + first), uint32_t(bytes), pipe, seq, limits, &found))
    return true;
  conflict(tensor, found, true);
  return false;
}

// MTE2 and MTE3 may carry out two copies at once. PipeBarrier's page asks for one between copies whose destinations
// overlap, and the compiler adds none there. The same values twice are the same in any order.
void Operation::fills(const Local& tensor, uint64_t first, uint64_t bytes, const uint8_t* source, uint64_t known) {
  Conflict found;
  if (core.launch.checks() && bytes && !core.launch.options.on_wait) {
    const LocalMemory& memory = core.memory->at(tensor.memory);
    found = memory.overwritten(uint32_t(tensor.offset + first), uint32_t(bytes), pipe, core.fence[int(pipe)], seq);
    core.place->sites[seq % std::size(core.place->sites)].fills = true;
  }
  // Where another pipe still uses what is there, that says it all.
  if (!writes(tensor, first, bytes) || !found.seq) return;
  const Site* site = core.site(found.seq);
  if (site && site->fills && !(known && !std::memcmp(data(tensor) + first, source, known)))
    core.report(
        Kind::copies_overlap, call, at,
        text("overwrites what the same pipe copies in (%s), and does not wait for it", core.where(found.seq).c_str()),
        core.describe(tensor));
}

// Just before the argument that is nearest, or nowhere.
std::string near(const Launch& launch, const uint8_t* data, uint64_t bytes) {
  std::string found;
  for (const Argument& each : launch.memory.arguments)
    if (!found.empty()) break;
    else if (data < each.data && data + bytes > each.data - 4096)
      found = text(", %llu bytes before %s", (unsigned long long)(each.data - data), each.name.c_str());
    else if (data >= each.data + each.allocated && data < each.data + each.allocated + (1 << 20))
      found = text(", %llu bytes after the end of %s", (unsigned long long)(data - each.data - each.bytes),
                   each.name.c_str());
  return found;
}

uint64_t Operation::device(const uint8_t* data, uint64_t bytes, bool write, Argument** out) {
  Argument* a = core.launch.memory.find(data, bytes);
  *out = a;
  const DeviceMemory& memory = core.launch.memory;
  const auto beyond = [&] {
    return !write && memory.reach && memory.reach(data, bytes) ? Kind::beyond_argument : Kind::global_bounds;
  };
  if (!a) {
    core.report(beyond(), call, at,
                text("%s %llu bytes of device memory that belong to no argument%s", write ? "writes" : "reads",
                     (unsigned long long)bytes, near(core.launch, data, bytes).c_str()));
    return 0;
  }
  const uint64_t first = uint64_t(data - a->data);
  if (first + bytes <= a->bytes) return bytes;
  const uint64_t last = first + bytes;
  // aclrtMalloc rounds up to 32 bytes and adds 32, which its page says, for copies that end in a block.
  const bool padded = last <= a->allocated && last <= (a->bytes + 31) / 32 * 32 + 32;
  core.report(padded ? Kind::global_padding : beyond(), call, at,
              text("%s elements %llu to %llu of %s, which has %llu", write ? "writes" : "reads",
                   (unsigned long long)(first / uint64_t(a->element)),
                   (unsigned long long)((last + uint64_t(a->element) - 1) / uint64_t(a->element)), a->name.c_str(),
                   (unsigned long long)(a->bytes / uint64_t(a->element))),
              a->name);
  if (padded) return bytes;
  return first >= a->bytes ? 0 : a->bytes - first;
}

uint64_t Operation::from_device(const uint8_t* data, uint64_t bytes, bool orders) {
  if (!bytes) return 0;
  Argument* a;
  const uint64_t usable = device(data, bytes, false, &a);
  if (!usable || !core.launch.checks() || !a->tracked()) return usable;
  const uint64_t first = uint64_t(data - a->data);
  const auto own = a->repeated.find(core.index);
  a->writes.meet(first, first + usable, [&](uint64_t begin, const Touch& old) {
    a->read_back = true;
    if (own != a->repeated.end() && own->second.covers(std::max(begin, first), std::min(old.end, first + usable)))
      return;
    if (old.core != core.index && old.phase == core.phase && !core.saw(old.core, old.pipe, old.seq))
      core.report(Kind::missing_sync_all, call, at,
                  text("core %d reads what core %d writes at line %d, without SyncAll between them", core.index,
                       old.core, old.at.line),
                  a->name);
    else if (old.core == core.index && old.phase == core.phase && !old.merged && old.seq > limits[int(old.pipe)] &&
             old.pipe != pipe)
      core.report(old.pipe == Pipe::S || pipe == Pipe::S ? Kind::missing_scalar_sync : Kind::missing_sync, call, at,
                  text("pipe %s reads device memory that pipe %s writes (%s), and does not wait for it", name_of(pipe),
                       name_of(old.pipe), core.where(old.seq).c_str()),
                  a->name);
  });
  if (!orders) return usable;
  Touch touch;
  touch.end = first + usable, touch.core = core.index, touch.phase = core.phase, touch.seq = seq,
  touch.told = core.told, touch.pipe = pipe, touch.at = at;
  a->reads.add(first, touch, true, [](uint64_t, const Touch&) {});
  return usable;
}

uint64_t Operation::to_device(uint8_t* data, uint64_t bytes) {
  if (!bytes) return 0;
  Argument* a;
  const uint64_t usable = device(data, bytes, true, &a);
  if (!usable) return 0;
  if (!writable(core, *a, call, at)) return 0;
  if (!core.launch.checks() || !a->tracked()) return usable;
  const uint64_t first = uint64_t(data - a->data);
  a->uncomputed.cut(first, first + usable, [](uint64_t, const Touch&) {});
  const bool atomic = core.atomic_kind() != 0 || adds;
  Touch touch;
  touch.end = first + usable, touch.core = core.index, touch.phase = core.phase, touch.atomic = atomic;
  touch.seq = seq, touch.told = core.told, touch.pipe = pipe, touch.at = at;
  a->reads.meet(first, first + usable, [&](uint64_t, const Touch& old) {
    if (same && old.core != core.index) return;  // who reads it finds these values, before and after
    if (old.core != core.index && old.phase == core.phase && !(atomic && old.atomic) &&
        !core.saw(old.core, old.pipe, old.seq))
      core.report(Kind::missing_sync_all, call, at,
                  text("core %d writes what core %d reads at line %d, without SyncAll between them", core.index,
                       old.core, old.at.line),
                  a->name);
    else if (old.core == core.index && old.phase == core.phase && !old.merged && old.seq > limits[int(old.pipe)] &&
             old.pipe != pipe && old.pipe != Pipe::S && pipe != Pipe::S)
      core.report(Kind::missing_sync, call, at,
                  text("pipe %s overwrites device memory that pipe %s still reads (%s)", name_of(pipe),
                       name_of(old.pipe), core.where(old.seq).c_str()),
                  a->name);
  });
  auto meets = [&](uint64_t begin, const Touch& old) {
    if (old.phase != core.phase || (atomic && old.atomic)) return;
    const uint64_t from = std::max(begin, first) / uint64_t(a->element),
                   to = std::min(old.end, first + usable) / uint64_t(a->element);
    if (old.core != core.index && core.saw(old.core, old.pipe, old.seq)) return;
    const bool races = old.pipe == Pipe::MTE3 && pipe == Pipe::MTE3 && old.seq > core.fence[int(pipe)] &&
                       old.seq != seq && !old.merged && !same && !core.launch.options.on_wait;
    if (old.core == core.index && races)
      core.report(Kind::copies_overlap, call, at,
                  text("overwrites elements %llu to %llu of %s, which the same pipe copies out (%s), and does not wait",
                       (unsigned long long)from, (unsigned long long)to, a->name.c_str(), core.where(old.seq).c_str()),
                  a->name);
    else if (old.core != core.index)
      core.report(same ? Kind::written_twice : Kind::cores_overlap, call, at,
                  text(same ? "cores %d and %d both write elements %llu to %llu of %s, the same values"
                            : "cores %d and %d both write elements %llu to %llu of %s",
                       old.core, core.index, (unsigned long long)from, (unsigned long long)to, a->name.c_str()),
                  a->name);
    else if (a->role != 3 && !atomic)
      core.report(Kind::written_twice, call, at,
                  text("elements %llu to %llu of %s are written a second time", (unsigned long long)from,
                       (unsigned long long)to, a->name.c_str()),
                  a->name);
  };
  // What is there already stays its first writer's, and is this core's as well.
  if (same && a->writes.covers(first, first + usable)) {
    a->writes.meet(first, first + usable, meets);
    a->repeated[core.index].add(first, touch, true, [](uint64_t, const Touch&) {});
  } else {
    for (const auto& [other, spans] : a->repeated)
      if (other != core.index) spans.meet(first, first + usable, meets);
    a->writes.add(first, touch, a->role != 3, meets);
    a->repeated.clear();
  }
  return usable;
}

bool writable(Core& c, Argument& a, const char* call, At at, const char* name) {
  if (!a.is_input() && a.role != 4) return true;
  const bool given = a.role == ASCENDC_GIVEN;
  const std::string what = name ? text("%s is %s, an input", name, a.name.c_str()) : a.name + " is an input";
  c.report(given ? Kind::input_changed : Kind::input_written, call, at, what, a.name);
  if (given) a.role = 2;
  return given;
}

bool has_unit(Core& c, bool vector, const char* call, At at) {
  if (c.is_vector == vector || c.launch.options.both_units) return true;
  const char *is = c.is_vector ? "vector" : "cube", *other = vector ? "vector" : "cube";
  // Compiled for the one kind of core, the work of the other is nothing.
  if (std::any_of(c.launch.cores.begin(), c.launch.cores.end(), [&](auto& each) { return each->is_vector == vector; }))
    c.report(Kind::unguarded, call, at,
             text("core %d is a %s core, where work of a %s core does nothing", c.index, is, other));
  else
    c.report(Kind::wrong_core, call, at,
             text("core %d is a %s core, and this is work of a %s core", c.index, is, other));
  return false;
}

bool fills_l1(Core& c, const Local& to, const char* call, At at) {
  const bool asks = c.is_vector && AscendC::TPosition(to.position) == AscendC::TPosition::TSCM &&
                    std::any_of(c.launch.cores.begin(), c.launch.cores.end(),
                                [&](auto& each) { return !each->is_vector && each->block == c.block; });
  return asks || has_unit(c, false, call, at);
}

std::vector<std::pair<uint64_t, uint64_t>> Operation::holes(const uint8_t* data, uint64_t bytes) const {
  if (!core.launch.checks()) return {};
  Argument* a = core.launch.memory.find(data, bytes);
  if (!a) return {};
  const uint64_t first = uint64_t(data - a->data), last = first + bytes;
  std::vector<std::pair<uint64_t, uint64_t>> found;
  a->uncomputed.meet(first, last, [&](uint64_t begin, const Touch& touch) {
    found.emplace_back(std::max(begin, first) - first, std::min(touch.end, last) - first);
  });
  if ((a->role != 1 && a->role != 3) || a->writes.covers(first, last)) return found;
  a->writes.gaps(first, last, [&](uint64_t begin, uint64_t end) { found.emplace_back(begin - first, end - first); });
  std::sort(found.begin(), found.end());
  return found;
}

bool only_tails(const uint8_t* written, uint64_t bytes) {
  for (uint64_t block = 0; block < bytes; block += kBlock) {
    const uint64_t end = std::min<uint64_t>(block + kBlock, bytes);
    if (!written[block]) return false;
    bool over = false;
    for (uint64_t i = block; i < end; ++i) {
      if (written[i] && over) return false;
      over |= !written[i];
    }
  }
  return true;
}

void leaves_uncomputed(Core& core, const char* call, At at, uint8_t* data, const uint8_t* written, uint64_t bytes,
                       const Local& from) {
  Argument* a = core.launch.memory.find(data, bytes);
  if (!a) return;
  const uint64_t first = uint64_t(data - a->data);
  a->uncomputed.cut(first, first + bytes, [](uint64_t, const Touch&) {});
  if (all_written(written, bytes)) return;
  const uint64_t hole = uint64_t(static_cast<const uint8_t*>(std::memchr(written, 0, bytes)) - written);
  const auto what = [&] {
    return text("copies out values that were never computed, first element %llu of this piece",
                (unsigned long long)(hole / size_of(from.dtype)));
  };
  // Another rank's memory keeps no account of it, and a message to it has gaps, which nobody reads there.
  const bool window = comm::in_window(core, data);
  const bool part = window ? std::memchr(written, 1, bytes) != nullptr : only_tails(written, bytes);
  if (window || part)
    return core.report(part ? Kind::uncomputed_tail : Kind::uninitialized, call, at, what(), core.describe(from));
  auto& told = core.launch.uncomputed;
  auto it = std::find_if(told.begin(), told.end(), [&](const Uncomputed& each) {
    return each.core == &core && each.argument == a && each.at.line == at.line && each.at.file == at.file;
  });
  if (it == told.end()) it = told.insert(it, {&core, a, call, at, what(), core.describe(from), core.tile});
  Touch touch;
  touch.core = core.index, touch.seq = uint32_t(it - told.begin());
  for (uint64_t begin = hole, end; begin < bytes; begin = end) {
    for (end = begin; end < bytes && written[end] == written[begin];) ++end;
    touch.end = first + end;
    if (!written[begin]) a->uncomputed.add(first + begin, touch, true, [](uint64_t, const Touch&) {});
  }
}

}  // namespace ophook::rt
