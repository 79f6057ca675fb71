// Who wrote each piece of memory last, and who has read it since: what the check of order (order.h) remembers.
#pragma once

#include <algorithm>
#include <map>

#include "order.h"

namespace sim::order {

constexpr int kHost = 0;  // the host's line

struct Access {
  const char* task;  // interned
  int32_t stream;    // -1: the host
  bool writes;
  std::vector<int64_t> sizes;
  size_t item;
  int caller;          // among State's
  bool reads = false;  // what it writes, as well
};
using Of = std::shared_ptr<const Access>;

struct Epoch {
  int line = kHost;
  uint32_t count = 0;  // 0: nothing
  Of access;
};

inline uint32_t at(const Clock& clock, int line) { return size_t(line) < clock.size() ? clock[size_t(line)] : 0; }
inline void join(Clock& clock, const Clock& other) {
  if (clock.size() < other.size()) clock.resize(other.size());
  for (size_t i = 0; i < other.size(); ++i) clock[i] = std::max(clock[i], other[i]);
}
inline uint32_t tick(Line& line) {
  if (line.clock.size() <= size_t(line.index)) line.clock.resize(size_t(line.index) + 1);
  return ++line.clock[size_t(line.index)];
}
inline bool before(const Epoch& one, const Clock& clock) { return one.count <= at(clock, one.line); }

// The bytes of a view: runs of `run` bytes, at `begin` and at steps of each dimension from there.
struct Region {
  struct Dim {
    uint64_t size, stride;  // in bytes
    bool operator==(const Dim&) const = default;
  };
  uintptr_t begin = 0;
  uint64_t run = 0;
  std::vector<Dim> dims;  // the smaller stride first

  bool operator==(const Region&) const = default;

  uintptr_t end() const {
    uint64_t extent = run;
    for (const Dim& dim : dims) extent += (dim.size - 1) * dim.stride;
    return begin + extent;
  }
  uint64_t pieces() const {
    uint64_t count = 1;
    for (const Dim& dim : dims) count *= dim.size;
    return count;
  }
  bool meets(uintptr_t from, uintptr_t to) const { return meets(from, to, begin, dims.size()); }
  bool meets(const Region& other) const {
    if (end() <= other.begin || other.end() <= begin) return false;
    if (pieces() > other.pieces()) return other.meets(*this);
    bool met = false;
    each([&](uintptr_t from, uintptr_t to) { return !(met = other.meets(from, to)); });
    return met;
  }
  // Calls visit(begin, end) for each run until it says false.
  template <typename Visit>
  void each(Visit visit) const {
    std::vector<uint64_t> index(dims.size());
    uintptr_t from = begin;
    for (size_t i = 0; i <= dims.size();) {
      if (i == 0 && !visit(from, from + uintptr_t(run))) return;
      if (i == dims.size()) return;
      from += dims[i].stride;
      if (++index[i] < dims[i].size) {
        i = 0;
        continue;
      }
      from -= dims[i].size * dims[i].stride;
      index[i++] = 0;
    }
  }

 private:
  // Of the first `rank` dimensions, from `base` on.
  bool meets(uintptr_t from, uintptr_t to, uintptr_t base, size_t rank) const {
    if (!rank) return base < to && from < base + run;
    const auto [size, stride] = dims[rank - 1];
    uint64_t extent = run;
    for (size_t i = 0; i + 1 < rank; ++i) extent += (dims[i].size - 1) * dims[i].stride;
    if (to <= base) return false;
    const uint64_t first = from < base + extent ? 0 : (from - base - extent) / stride + 1;
    const uint64_t last = std::min(size - 1, (to - 1 - base) / stride);
    for (uint64_t i = first; i <= last && i < size; ++i) {
      const uintptr_t here = base + i * stride;
      if (from <= here && here + extent <= to) return true;
      if (meets(from, to, here, rank - 1)) return true;
    }
    return false;
  }
};

struct Shadow {
  struct Piece {
    uintptr_t end;
    Epoch write;
    std::vector<Epoch> reads;
    Of made;  // the last that wrote without reading: of a tensor, what has made it, where no other filled it since
  };
  // Views in so many pieces that they are kept as they are.
  struct Wide {
    Region region;
    Epoch epoch;
  };
  static constexpr uint64_t kMostPieces = 64;
  static constexpr size_t kMostWide = 8192;

  std::map<uintptr_t, Piece> pieces;  // by where they begin; no two overlap
  std::vector<Wide> wide;
  size_t look_again = 64;  // for what of them is over

  // A piece that begins at `where`, if one goes on there.
  void split(uintptr_t where) {
    auto next = pieces.upper_bound(where);
    if (next == pieces.begin()) return;
    auto piece = std::prev(next);
    if (piece->first == where || piece->second.end <= where) return;
    Piece rest = piece->second;
    piece->second.end = where;
    pieces.emplace_hint(next, where, std::move(rest));
  }

  void forget(uintptr_t begin, uintptr_t end) {
    split(begin), split(end);
    pieces.erase(pieces.lower_bound(begin), pieces.lower_bound(end));
    std::erase_if(wide, [&](const Wide& one) { return begin <= one.region.begin && one.region.end() <= end; });
  }

  // Calls found(earlier, begin, end, made) for what does not come before `clock`.
  template <typename Found>
  void touch(const Region& region, const Epoch& now, const Clock& clock, const Clock& host, Found found) {
    const uintptr_t begin = region.begin, end = region.end();
    const bool writes = now.access->writes;
    for (const Wide& one : wide)
      if ((writes || one.epoch.access->writes) && one.region.begin < end && begin < one.region.end() &&
          !before(one.epoch, clock) && one.region.meets(region))
        found(one.epoch, std::max(begin, one.region.begin), std::min(end, one.region.end()), Of());
    if (region.pieces() > kMostPieces) return add_wide(region, now, clock, host, found);
    // Whatever is not ordered with what was there before is not ordered with this either.
    if (writes && !wide.empty())
      std::erase_if(wide, [&](const Wide& one) {
        return region.dims.empty() && begin <= one.region.begin && one.region.end() <= end && before(one.epoch, clock);
      });
    region.each([&](uintptr_t from, uintptr_t to) { return touch(from, to, now, clock, host, found), true; });
  }

 private:
  template <typename Found>
  void add_wide(const Region& region, const Epoch& now, const Clock& clock, const Clock& host, Found found) {
    const bool writes = now.access->writes;
    const uintptr_t begin = region.begin, end = region.end();
    auto piece = pieces.upper_bound(begin);
    if (piece != pieces.begin()) --piece;
    for (; piece != pieces.end() && piece->first < end; ++piece) {
      const auto tell = [&](const Epoch& earlier) {
        if (!before(earlier, clock) && region.meets(piece->first, piece->second.end))
          found(earlier, std::max(begin, piece->first), std::min(end, piece->second.end), piece->second.made);
      };
      tell(piece->second.write);
      if (writes) std::for_each(piece->second.reads.begin(), piece->second.reads.end(), tell);
    }
    std::erase_if(wide, [&](const Wide& one) {
      return (writes || (!one.epoch.access->writes && one.epoch.line == now.line)) && one.region == region &&
             before(one.epoch, clock);
    });
    if (wide.size() >= look_again) {
      std::erase_if(wide, [&](const Wide& one) { return before(one.epoch, host); });
      if (wide.size() >= kMostWide) wide.erase(wide.begin(), wide.begin() + kMostWide / 2);
      look_again = std::max<size_t>(64, 2 * wide.size());
    }
    wide.push_back({region, now});
  }

  template <typename Found>
  void touch(uintptr_t begin, uintptr_t end, const Epoch& now, const Clock& clock, const Clock& host, Found found) {
    const bool writes = now.access->writes;
    auto piece = pieces.lower_bound(begin);
    if (piece == pieces.end() || piece->first != begin || piece->second.end != end) {  // not as the last time
      split(begin), split(end);
      piece = pieces.lower_bound(begin);
    }
    if (writes) {
      const auto first = piece;
      for (; piece != pieces.end() && piece->first < end; ++piece) {
        const auto& [to, write, reads, made] = piece->second;
        if (!before(write, clock)) found(write, piece->first, to, made);
        for (const Epoch& read : reads)
          if (!before(read, clock)) found(read, piece->first, to, made);
      }
      if (first == piece || first->first != begin) {
        pieces.erase(first, piece);
        pieces.emplace_hint(piece, begin, Piece{end, now, {}, now.access->reads ? nullptr : now.access});
      } else {
        pieces.erase(std::next(first), piece);
        first->second.end = end, first->second.write = now, first->second.reads.clear();
        if (!now.access->reads) first->second.made = now.access;
      }
      return;
    }
    for (uintptr_t from = begin; from < end;) {
      if (piece == pieces.end() || piece->first > from) {  // nobody wrote here yet
        const uintptr_t to = piece == pieces.end() ? end : std::min(end, piece->first);
        pieces.emplace_hint(piece, from, Piece{to, {}, {now}, nullptr});
        from = to;
        continue;
      }
      Piece& there = piece->second;
      if (!before(there.write, clock)) found(there.write, piece->first, there.end, there.made);
      // What the host has waited for comes before everything that is still to be launched.
      std::erase_if(there.reads, [&](const Epoch& read) { return read.line == now.line || before(read, host); });
      there.reads.push_back(now);
      from = there.end;
      ++piece;
    }
  }
};

}  // namespace sim::order
