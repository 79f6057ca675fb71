#include "local_memory.h"

#include <cstring>
#include <utility>

namespace ophook::rt {

void LocalMemory::allocate(uint32_t bytes) {
  bytes_.assign(bytes, 0xff);  // NaN in every floating-point type
  written_.assign(bytes, 0);
  const uint32_t blocks = (bytes + kBlock - 1) / kBlock;
  writer_.assign(blocks, 0);
  writer_pipe_.assign(blocks, 0);
  for (auto& readers : reader_) readers.assign(blocks, 0);
  touched_.assign((bytes + kPage - 1) / kPage, 0);
}

void LocalMemory::reset() {
  const size_t pages = touched_.size();
  if (!std::exchange(used_, false)) return;
  const auto any = [](const uint32_t* newest) {
    return std::any_of(newest, newest + kPipes, [](uint32_t seq) { return seq; });
  };
  const bool shadowed = any(newest_written_), read = any(newest_read_);
  auto next = [&](size_t page, int value) {
    const void* found = page < pages ? std::memchr(touched_.data() + page, value, pages - page) : nullptr;
    return found ? size_t(static_cast<const uint8_t*>(found) - touched_.data()) : pages;
  };
  for (size_t page = next(0, 1), stop; page < pages; page = next(stop, 1)) {
    stop = next(page, 0);
    std::memset(touched_.data() + page, 0, stop - page);
    const uint32_t begin = static_cast<uint32_t>(page) * kPage;
    const uint32_t end = std::min(static_cast<uint32_t>(stop) * kPage, size());
    std::memset(bytes_.data() + begin, 0xff, end - begin);
    std::memset(written_.data() + begin, 0, end - begin);
    const uint32_t first = begin / kBlock, last = (end + kBlock - 1) / kBlock;
    if (shadowed) {
      std::fill(writer_.begin() + first, writer_.begin() + last, 0);
      std::fill(writer_pipe_.begin() + first, writer_pipe_.begin() + last, uint8_t{0});
    }
    for (int q = 0; read && q < kPipes; ++q)
      if (newest_read_[q]) std::fill(reader_[q].begin() + first, reader_[q].begin() + last, 0);
  }
  if (read || shadowed)
    for (int q = 0; q < kPipes; ++q) newest_read_[q] = newest_written_[q] = 0;
}

// Nothing that was done here is newer than what is known to be over: no block needs a look.
bool LocalMemory::all_over(const uint32_t* newest, const uint32_t* limits) {
  for (int q = 0; q < kPipes; ++q)
    if (newest[q] > limits[q]) return false;
  return true;
}

bool LocalMemory::read(uint32_t offset, uint32_t bytes, Pipe pipe, uint32_t seq, const uint32_t* limits,
                       Conflict* conflict) {
  touch(offset, bytes);
  const uint32_t first = offset / kBlock, last = (offset + bytes + kBlock - 1) / kBlock;
  uint32_t* readers = reader_[static_cast<int>(pipe)].data();
  const uint32_t* writer = writer_.data();
  const uint8_t* writer_pipe = writer_pipe_.data();
  newest_read_[static_cast<int>(pipe)] = seq;
  std::fill(readers + first, readers + last, seq);
  if (all_over(newest_written_, limits)) return true;
  bool bad = false;
  for (uint32_t b = first; b < last; ++b) bad |= writer[b] > limits[writer_pipe[b]] && writer[b] != seq;
  if (!bad) return true;
  for (uint32_t b = first; b < last; ++b)
    if (writer[b] > limits[writer_pipe[b]] && writer[b] != seq) {
      *conflict = {writer[b], Pipe(writer_pipe[b]), true, b * kBlock};
      break;
    }
  return false;
}

bool LocalMemory::write(uint32_t offset, uint32_t bytes, Pipe pipe, uint32_t seq, const uint32_t* limits,
                        Conflict* conflict) {
  touch(offset, bytes);
  const uint32_t first = offset / kBlock, last = (offset + bytes + kBlock - 1) / kBlock;
  bool bad = false;
  if (!all_over(newest_written_, limits))
    for (uint32_t b = first; b < last && !bad; ++b)
      if (writer_[b] > limits[writer_pipe_[b]] && writer_[b] != seq) {
        *conflict = {writer_[b], Pipe(writer_pipe_[b]), true, b * kBlock};
        bad = true;
      }
  newest_written_[static_cast<int>(pipe)] = seq;
  std::fill(writer_.begin() + first, writer_.begin() + last, seq);
  std::fill(writer_pipe_.begin() + first, writer_pipe_.begin() + last, static_cast<uint8_t>(pipe));
  for (int q = 0; q < kPipes; ++q) {
    const uint32_t* readers = reader_[q].data();
    const uint32_t limit = limits[q];
    if (newest_read_[q] <= limit) continue;
    bool late = false;
    for (uint32_t b = first; b < last; ++b) late |= readers[b] > limit && readers[b] != seq;
    if (!late || bad) continue;
    for (uint32_t b = first; b < last && !bad; ++b)
      if (readers[b] > limit && readers[b] != seq) {
        *conflict = {readers[b], Pipe(q), false, b * kBlock};
        bad = true;
      }
  }
  return !bad;
}

Conflict LocalMemory::overwritten(uint32_t offset, uint32_t bytes, Pipe pipe, uint32_t over, uint32_t seq) const {
  if (newest_written_[static_cast<int>(pipe)] <= over) return {};
  const uint32_t first = offset / kBlock, last = (offset + bytes + kBlock - 1) / kBlock;
  bool any = false;
  for (uint32_t b = first; b < last; ++b) any |= writer_[b] > over && writer_[b] != seq;
  for (uint32_t b = first; any && b < last; ++b)
    if (writer_[b] > over && writer_[b] != seq && writer_pipe_[b] == static_cast<uint8_t>(pipe))
      return {writer_[b], pipe, true, b * kBlock};
  return {};
}

void LocalMemory::forget(uint32_t offset, uint32_t bytes) {
  const uint32_t end = std::min(offset + bytes, size());
  for (uint32_t begin = offset; begin < end;) {
    const uint32_t page = begin / kPage, stop = std::min(end, (page + 1) * kPage);
    if (touched_[page]) {  // others are as never written
      std::memset(written_.data() + begin, 0, stop - begin);
      std::memset(bytes_.data() + begin, 0xff, stop - begin);
    }
    begin = stop;
  }
}

uint64_t LocalMemories::bytes() const {
  uint64_t sum = 0;
  for (const LocalMemory& memory : memories_) sum += memory.size() * 3;  // with its shadow
  return sum;
}
void LocalMemories::reset() {
  for (LocalMemory& memory : memories_) memory.reset();
}

}  // namespace ophook::rt
