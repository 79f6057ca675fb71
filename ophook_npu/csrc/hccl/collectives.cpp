// Collectives. All of them are pieces that go to and come from every rank.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "communicator.h"
#include "types.h"

namespace sim::hccl {
namespace {

void reducible_by(HcclDataType dtype, HcclReduceOp op) {
  need(reducible(dtype), HCCL_E_NOT_SUPPORT,
       dtype_name(dtype) + " is not reduced; allowed: int8, int16, int32, int64, float16, float32, bfloat16");
  need(op >= 0 && op < 4, HCCL_E_PARA, reduction_name(uint32_t(op)) + "; allowed: sum, prod, max, min");
}

// A part of a buffer, in bytes.
struct Part {
  uint64_t offset, size;
  uint64_t whole = size;            // of what it is a piece of
  bool begins = true, ends = true;  // which piece
};
using Parts = std::vector<Part>;

// Large parts go in turns of so many bytes: what has come is used while it is in the processor's cache, and takes no
// memory of the part's size.
constexpr uint64_t kTurn = 512 << 10;

// At least one: ranks meet for nothing, too.
uint64_t turns(const Parts& parts) {
  uint64_t most = 1;
  for (const Part& part : parts) most = std::max(most, (part.size + kTurn - 1) / kTurn);
  return most;
}

Parts of_turn(const Parts& parts, uint64_t turn) {
  Parts out;
  for (const Part& part : parts) {
    const uint64_t at = std::min(part.size, turn * kTurn);
    out.push_back({part.offset + at, std::min(part.size - at, kTurn), part.whole, turn == 0, part.size - at <= kTurn});
  }
  return out;
}

Parts equal_parts(uint32_t ranks, uint64_t size) {
  Parts out;
  for (uint32_t i = 0; i < ranks; ++i) out.push_back({i * size, size});
  return out;
}

Parts listed_parts(uint32_t ranks, const void* counts, const void* offsets, size_t size) {
  Parts out;
  for (uint32_t i = 0; i < ranks; ++i)
    out.push_back({static_cast<const uint64_t*>(offsets)[i] * size, static_cast<const uint64_t*>(counts)[i] * size});
  return out;
}

uint64_t end_of(const Parts& parts) {
  uint64_t end = 0;
  for (const Part& part : parts)
    if (part.size) end = std::max(end, part.offset + part.size);
  return end;
}

// Part i of `from` goes to rank i, part i of `to` comes from rank i, of the ranks that run.
void all_to_all(Communicator& comm, const Tag& tag, char* from, const Parts& sent, char* to, const Parts& received) {
  std::vector<Piece> sends, receives;
  for (uint32_t i = 0; i < comm.ranks; ++i) {
    if (!comm.runs(i)) continue;
    sends.push_back({tag, i, from + sent[i].offset, sent[i].size, sent[i].whole, sent[i].begins, sent[i].ends});
    receives.push_back({tag, i, to + received[i].offset, received[i].size, received[i].whole});
  }
  comm.link->exchange(std::move(sends), std::move(receives), comm.timeout);
}

// Reduces each rank's part `rank` of `from` into `into`, of one turn: in the order of the ranks, rounded to the type
// after each step. `room` is for what comes: a turn of each rank.
void reduce_turn(Communicator& comm, const Tag& tag, char* from, const Parts& parts, char* into, char* room) {
  const uint64_t size = parts[comm.rank].size, count = size / dtype_size(tag.dtype);
  Parts places;
  for (uint32_t i = 0; i < comm.ranks; ++i) places.push_back({i * size, size, parts[comm.rank].whole});
  all_to_all(comm, tag, from, parts, room, places);
  const auto given = [&](uint32_t i) { return room + comm.twins[i] * size; };
  if (comm.ranks == 1 && size) std::memcpy(into, given(0), size);
  char* sum = given(0);
  // A rank may repeat the first, whose place then cannot hold what was added up so far.
  if (comm.ranks > 2 && !comm.all_run()) sum = room + comm.ranks * size;
  for (uint32_t i = 1; i < comm.ranks; ++i)
    reduce(tag.dtype, tag.op, i + 1 < comm.ranks ? sum : into, i > 1 ? sum : given(0), given(i), count);
}

std::unique_ptr<char[]> room_of_turn(const Communicator& comm, const Parts& parts) {
  const uint64_t size = std::min(parts[comm.rank].size, kTurn);
  return std::unique_ptr<char[]>(new char[size * (comm.ranks + 1)]);
}

void reduce_part(Communicator& comm, const Tag& tag, char* from, const Parts& parts, char* into) {
  const auto room = room_of_turn(comm, parts);
  for (uint64_t turn = 0; turn < turns(parts); ++turn)
    reduce_turn(comm, tag, from, of_turn(parts, turn), into ? into + turn * kTurn : nullptr, room.get());
}

void gather_parts(Communicator& comm, const Tag& tag, char* own, char* to, const Parts& parts) {
  const Part& mine = parts[comm.rank];
  all_to_all(comm, tag, own, Parts(comm.ranks, {0, mine.size, mine.whole, mine.begins, mine.ends}), to, parts);
  for (uint32_t i = 0; i < comm.ranks; ++i) {
    if (comm.runs(i)) continue;
    const Part &part = parts[i], &as = parts[comm.twins[i]];
    if (part.size != as.size)
      throw std::runtime_error(command_name(tag.command) + ": rank " + std::to_string(comm.members[i]) +
                               " does not run, and gives another number of elements than the rank that it repeats");
    if (part.size) std::memcpy(to + part.offset, to + as.offset, part.size);
  }
}

// What ranks that do not run would get is nowhere.
void all_run(const Comm& comm) {
  need(comm->all_run(), HCCL_E_NOT_SUPPORT,
       "not all ranks of this group run, and what this collective gives does not follow from those that do "
       "(docs/many-ranks.md)");
}

// Once for each collective of each communicator, on the first rank that runs.
void state(Communicator& comm, const Tag& tag) {
  const uint64_t bit = uint64_t(1) << (tag.command & 63);
  if ((comm.stated & bit) || comm.rank != comm.twins[0]) return;
  comm.stated |= bit;
  uint32_t run = 0;
  for (uint32_t i = 0; i < comm.ranks; ++i) run += comm.runs(i);
  const bool gathers = tag.command == HCCL_CMD_ALLGATHER || tag.command == HCCL_CMD_ALLGATHER_V;
  std::fprintf(stderr,
               "[simulated Ascend] %s of %s: %u of %u ranks run, each of the others gives what one of them gives%s\n",
               command_name(tag.command).c_str(), comm.name.c_str(), run, comm.ranks,
               gathers ? ": wrong where each rank holds a share of its own (FSDP, ZeRO)" : "");
}

// The collective that begins now. It counts as one also where its buffers cannot be reached, as it does on other ranks.
Tag begin(Communicator& comm, Tag tag, std::initializer_list<Given> buffers) {
  tag.serial = ++comm.serial;
  if (!comm.all_run()) state(comm, tag);
  still_there(command_name(tag.command).c_str(), buffers);
  return tag;
}

// What a rank sends or receives in parts of any size.
struct Side {
  const void* memory;
  HcclDataType dtype;
  Parts parts;
};
HcclResult exchange(const Comm& comm, aclrtStream stream, const char* name, HcclCMDType command, const Side& sends,
                    const Side& receives) {
  all_run(comm);
  need(sends.dtype == receives.dtype, HCCL_E_PARA, "what is sent and received differs in data type");
  const Given in = device_memory(sends.memory, end_of(sends.parts), "sendBuf"),
              out = device_memory(receives.memory, end_of(receives.parts), "recvBuf");
  return launch(
      comm, stream, name, {{in}, {out}},
      [=, tag = Tag{uint32_t(command), uint32_t(sends.dtype)}, sent = sends.parts, received = receives.parts](
          Communicator& c) { all_to_all(c, begin(c, tag, {in, out}), in.memory, sent, out.memory, received); });
}

}  // namespace
}  // namespace sim::hccl

using namespace sim::hccl;

extern "C" {

SIM_API HcclResult HcclAllReduce(void* from, void* to, uint64_t count, HcclDataType dtype, HcclReduceOp op,
                                 HcclComm handle, aclrtStream stream) {
  return entry("HcclAllReduce", handle, [&](const Comm& comm) {
    const size_t size = sized(dtype);
    reducible_by(dtype, op);
    const Given in = device_memory(from, count * size, "sendBuf"), out = device_memory(to, count * size, "recvBuf");
    Parts parts;  // each rank reduces its share, or all where not each runs
    const bool shared = comm->all_run();
    for (uint64_t i = 0; i < comm->ranks; ++i) {
      if (!shared) {
        parts.push_back({0, count * size});
        continue;
      }
      const uint64_t begin = count * i / comm->ranks, end = count * (i + 1) / comm->ranks;
      parts.push_back({begin * size, (end - begin) * size, count * size});
    }
    return launch(comm, stream, "HcclAllReduce", {{in}, {out}}, [=](Communicator& c) {
      const Tag tag = begin(c, {HCCL_CMD_ALLREDUCE, uint32_t(dtype), uint32_t(op)}, {in, out});
      const auto room = room_of_turn(c, parts);
      for (uint64_t turn = 0; turn < turns(parts); ++turn) {
        const Parts now = of_turn(parts, turn);
        char* own = out.memory + now[c.rank].offset;
        reduce_turn(c, tag, in.memory, now, own, room.get());
        if (shared) gather_parts(c, tag, own, out.memory, now);
      }
    });
  });
}

SIM_API HcclResult HcclReduce(void* from, void* to, uint64_t count, HcclDataType dtype, HcclReduceOp op, uint32_t root,
                              HcclComm handle, aclrtStream stream) {
  return entry("HcclReduce", handle, [&](const Comm& comm) {
    const uint64_t bytes = count * sized(dtype);
    reducible_by(dtype, op);
    in_group(comm, root, "root");
    const Given in = device_memory(from, bytes, "sendBuf"),
                out = comm->rank == root ? device_memory(to, bytes, "recvBuf") : Given{};
    Parts parts(comm->ranks, {0, 0});
    parts[root] = {0, bytes};
    return launch(comm, stream, "HcclReduce", {{in}, {out}}, [=](Communicator& c) {
      reduce_part(c, begin(c, {HCCL_CMD_REDUCE, uint32_t(dtype), uint32_t(op), root}, {in, out}), in.memory, parts,
                  out.memory);
    });
  });
}

SIM_API HcclResult HcclReduceScatter(void* from, void* to, uint64_t count, HcclDataType dtype, HcclReduceOp op,
                                     HcclComm handle, aclrtStream stream) {
  return entry("HcclReduceScatter", handle, [&](const Comm& comm) {
    const uint64_t bytes = count * sized(dtype);
    reducible_by(dtype, op);
    all_run(comm);
    const Given in = device_memory(from, bytes * comm->ranks, "sendBuf"), out = device_memory(to, bytes, "recvBuf");
    return launch(comm, stream, "HcclReduceScatter", {{in}, {out}}, [=](Communicator& c) {
      reduce_part(c, begin(c, {HCCL_CMD_REDUCE_SCATTER, uint32_t(dtype), uint32_t(op)}, {in, out}), in.memory,
                  equal_parts(c.ranks, bytes), out.memory);
    });
  });
}

SIM_API HcclResult HcclReduceScatterV(void* from, const void* counts, const void* offsets, void* to, uint64_t count,
                                      HcclDataType dtype, HcclReduceOp op, HcclComm handle, aclrtStream stream) {
  return entry("HcclReduceScatterV", handle, [&](const Comm& comm) {
    const size_t size = sized(dtype);
    reducible_by(dtype, op);
    const Parts parts = listed_parts(comm->ranks, counts, offsets, size);
    all_run(comm);
    need(parts[comm->rank].size == count * size, HCCL_E_PARA, "recvCount is not sendCounts at the own rank");
    const Given in = device_memory(from, end_of(parts), "sendBuf"), out = device_memory(to, count * size, "recvBuf");
    return launch(comm, stream, "HcclReduceScatterV", {{in}, {out}}, [=](Communicator& c) {
      reduce_part(c, begin(c, {HCCL_CMD_REDUCE_SCATTER_V, uint32_t(dtype), uint32_t(op)}, {in, out}), in.memory, parts,
                  out.memory);
    });
  });
}

SIM_API HcclResult HcclAllGather(void* from, void* to, uint64_t count, HcclDataType dtype, HcclComm handle,
                                 aclrtStream stream) {
  return entry("HcclAllGather", handle, [&](const Comm& comm) {
    const uint64_t bytes = count * sized(dtype);
    const Given in = device_memory(from, bytes, "sendBuf"), out = device_memory(to, bytes * comm->ranks, "recvBuf");
    return launch(comm, stream, "HcclAllGather", {{in}, {out}}, [=](Communicator& c) {
      gather_parts(c, begin(c, {HCCL_CMD_ALLGATHER, uint32_t(dtype)}, {in, out}), in.memory, out.memory,
                   equal_parts(c.ranks, bytes));
    });
  });
}

SIM_API HcclResult HcclAllGatherV(void* from, uint64_t count, void* to, const void* counts, const void* offsets,
                                  HcclDataType dtype, HcclComm handle, aclrtStream stream) {
  return entry("HcclAllGatherV", handle, [&](const Comm& comm) {
    const size_t size = sized(dtype);
    const Parts parts = listed_parts(comm->ranks, counts, offsets, size);
    need(parts[comm->rank].size == count * size, HCCL_E_PARA, "sendCount is not recvCounts at the own rank");
    const Given in = device_memory(from, count * size, "sendBuf"), out = device_memory(to, end_of(parts), "recvBuf");
    return launch(comm, stream, "HcclAllGatherV", {{in}, {out}}, [=](Communicator& c) {
      gather_parts(c, begin(c, {HCCL_CMD_ALLGATHER_V, uint32_t(dtype)}, {in, out}), in.memory, out.memory, parts);
    });
  });
}

SIM_API HcclResult HcclBroadcast(void* buffer, uint64_t count, HcclDataType dtype, uint32_t root, HcclComm handle,
                                 aclrtStream stream) {
  return entry("HcclBroadcast", handle, [&](const Comm& comm) {
    const uint64_t bytes = count * sized(dtype);
    in_group(comm, root, "root");
    const Given memory = device_memory(buffer, bytes, "buf");
    return launch(comm, stream, "HcclBroadcast", root == comm->rank ? Buffers{{memory}, {}} : Buffers{{}, {memory}},
                  [=](Communicator& c) {
                    const Tag tag = begin(c, {HCCL_CMD_BROADCAST, uint32_t(dtype), 0, root}, {memory});
                    std::vector<Piece> sends, receives;
                    const uint32_t giver = c.twins[root];
                    if (c.rank != giver) receives.push_back({tag, giver, memory.memory, bytes});
                    for (uint32_t i = 0; c.rank == giver && i < c.ranks; ++i)
                      if (i != giver && c.runs(i)) sends.push_back({tag, i, memory.memory, bytes});
                    c.link->exchange(std::move(sends), std::move(receives), c.timeout);
                  });
  });
}

SIM_API HcclResult HcclScatter(void* from, void* to, uint64_t count, HcclDataType dtype, uint32_t root, HcclComm handle,
                               aclrtStream stream) {
  return entry("HcclScatter", handle, [&](const Comm& comm) {
    const uint64_t bytes = count * sized(dtype);
    in_group(comm, root, "root");
    all_run(comm);
    const Given in = comm->rank == root ? device_memory(from, bytes * comm->ranks, "sendBuf") : Given{},
                out = device_memory(to, bytes, "recvBuf");
    return launch(comm, stream, "HcclScatter", {{in}, {out}}, [=](Communicator& c) {
      const Tag tag = begin(c, {HCCL_CMD_SCATTER, uint32_t(dtype), 0, root}, {in, out});
      std::vector<Piece> sends;
      for (uint32_t i = 0; c.rank == root && i < c.ranks; ++i) sends.push_back({tag, i, in.memory + i * bytes, bytes});
      c.link->exchange(std::move(sends), {{tag, root, out.memory, bytes}}, c.timeout);
    });
  });
}

SIM_API HcclResult HcclAlltoAll(const void* from, uint64_t send_count, HcclDataType send_type, const void* to,
                                uint64_t receive_count, HcclDataType receive_type, HcclComm handle,
                                aclrtStream stream) {
  return entry("HcclAlltoAll", handle, [&](const Comm& comm) {
    all_run(comm);
    const uint64_t sent = send_count * sized(send_type), received = receive_count * sized(receive_type);
    need(send_type == receive_type && sent == received, HCCL_E_PARA,
         "what is sent and received differs in count or data type");
    const Given in = device_memory(from, sent * comm->ranks, "sendBuf"),
                out = device_memory(to, received * comm->ranks, "recvBuf");
    return launch(comm, stream, "HcclAlltoAll", {{in}, {out}}, [=](Communicator& c) {
      all_to_all(c, begin(c, {HCCL_CMD_ALLTOALL, uint32_t(send_type)}, {in, out}), in.memory,
                 equal_parts(c.ranks, sent), out.memory, equal_parts(c.ranks, received));
    });
  });
}

SIM_API HcclResult HcclAlltoAllV(const void* from, const void* send_counts, const void* send_offsets,
                                 HcclDataType send_type, const void* to, const void* receive_counts,
                                 const void* receive_offsets, HcclDataType receive_type, HcclComm handle,
                                 aclrtStream stream) {
  return entry("HcclAlltoAllV", handle, [&](const Comm& comm) {
    const Parts sent = listed_parts(comm->ranks, send_counts, send_offsets, sized(send_type));
    const Parts received = listed_parts(comm->ranks, receive_counts, receive_offsets, sized(receive_type));
    return exchange(comm, stream, "HcclAlltoAllV", HCCL_CMD_ALLTOALLV, {from, send_type, sent},
                    {to, receive_type, received});
  });
}

// counts[i * ranks + j]: what rank i sends to rank j. The parts lie one behind the other, by rank.
SIM_API HcclResult HcclAlltoAllVC(const void* from, const void* counts, HcclDataType send_type, const void* to,
                                  HcclDataType receive_type, HcclComm handle, aclrtStream stream) {
  return entry("HcclAlltoAllVC", handle, [&](const Comm& comm) {
    not_on({"Ascend310P"});
    need(counts, HCCL_E_PTR, "sendCountMatrix is null");
    need(from != to || !from, HCCL_E_PARA, "sendBuf and recvBuf are the same");
    const auto* matrix = static_cast<const uint64_t*>(counts);
    Parts sent, received;
    for (uint64_t i = 0, to_begin = 0, from_begin = 0; i < comm->ranks; ++i) {
      sent.push_back({to_begin, matrix[comm->rank * uint64_t(comm->ranks) + i] * sized(send_type)});
      received.push_back({from_begin, matrix[i * comm->ranks + comm->rank] * sized(receive_type)});
      to_begin += sent.back().size, from_begin += received.back().size;
    }
    return exchange(comm, stream, "HcclAlltoAllVC", HCCL_CMD_ALLTOALLVC, {from, send_type, sent},
                    {to, receive_type, received});
  });
}

SIM_API HcclResult HcclBarrier(HcclComm handle, aclrtStream stream) {
  return entry("HcclBarrier", handle, [&](const Comm& comm) {
    return launch(comm, stream, "HcclBarrier", {}, [](Communicator& c) {
      all_to_all(c, begin(c, {HCCL_CMD_BARRIER, 0}, {}), nullptr, equal_parts(c.ranks, 0), nullptr,
                 equal_parts(c.ranks, 0));
    });
  });
}

}  // extern "C"
