// Sends and receives between two ranks, alone and in groups.

#include "communicator.h"

namespace sim::hccl {
namespace {

struct Message {
  bool sending;
  Piece piece;
};

// A send is over when it was received, as on the device: two ranks that both send first hang there, and fail here.
void exchange_messages(Communicator& comm, const std::vector<Message>& messages) {
  std::vector<Piece> pieces[2], receipts[2];
  for (const Message& message : messages) {
    const Piece& piece = message.piece;
    still_there(message.sending ? "HcclSend" : "HcclRecv",
                {{message.sending ? "sendBuf" : "recvBuf", static_cast<char*>(piece.data), piece.size}});
    if (!comm.runs(piece.peer)) {
      if (message.sending) continue;  // nobody reads it
      throw std::runtime_error("HcclRecv: rank " + std::to_string(comm.members[piece.peer]) +
                               " does not run, and what it sends does not follow from the ranks that do");
    }
    pieces[message.sending].push_back(piece);
    Tag receipt = piece.tag;
    receipt.command = HCCL_CMD_RECEIVE;
    receipts[!message.sending].push_back({receipt, piece.peer, nullptr, 0});
  }
  comm.link->exchange(std::move(pieces[1]), std::move(pieces[0]), comm.timeout);
  comm.link->exchange(std::move(receipts[1]), std::move(receipts[0]), comm.timeout);
}

HcclResult launch_messages(const Comm& comm, aclrtStream stream, std::vector<Message> messages) {
  const char* name = messages.size() > 1 ? "HcclBatchSendRecv" : messages[0].sending ? "HcclSend" : "HcclRecv";
  Buffers buffers;
  for (const auto& [sending, piece] : messages) {
    (sending ? buffers.read : buffers.written).push_back({"buf", static_cast<char*>(piece.data), piece.size});
    const std::string own = std::to_string(comm->rank), peer = std::to_string(piece.peer);
    buffers.pairs.push_back(":" + (sending ? own + ">" + peer : peer + ">" + own));
  }
  return launch(
      comm, stream, name, std::move(buffers),
      [messages = std::move(messages)](Communicator& c) { exchange_messages(c, messages); }, false);
}

struct Group {
  int depth = 0;
  struct Entry {
    Comm comm;
    aclrtStream stream;
    std::vector<Message> messages;
  };
  std::vector<Entry> entries;
};
thread_local Group group;

HcclResult message(const char* name, bool sending, void* buffer, uint64_t count, HcclDataType dtype, uint32_t peer,
                   HcclComm handle, aclrtStream stream) {
  return entry(name, handle, [&](const Comm& comm) {
    const uint64_t bytes = count * sized(dtype);
    in_group(comm, peer, sending ? "destRank" : "srcRank");
    Message one{sending,
                {{HCCL_CMD_SEND, uint32_t(dtype)},
                 peer,
                 device_memory(buffer, bytes, sending ? "sendBuf" : "recvBuf").memory,
                 bytes}};
    if (!group.depth) return launch_messages(comm, stream, {one});
    for (auto& waiting : group.entries)
      if (waiting.comm == comm && waiting.stream == stream) {
        waiting.messages.push_back(one);
        return HCCL_SUCCESS;
      }
    group.entries.push_back({comm, stream, {one}});
    return HCCL_SUCCESS;
  });
}

}  // namespace
}  // namespace sim::hccl

using namespace sim::hccl;

extern "C" {

SIM_API HcclResult HcclSend(void* buffer, uint64_t count, HcclDataType dtype, uint32_t peer, HcclComm handle,
                            aclrtStream stream) {
  return message("HcclSend", true, buffer, count, dtype, peer, handle, stream);
}

SIM_API HcclResult HcclRecv(void* buffer, uint64_t count, HcclDataType dtype, uint32_t peer, HcclComm handle,
                            aclrtStream stream) {
  return message("HcclRecv", false, buffer, count, dtype, peer, handle, stream);
}

// Sends and receives of this thread wait for the end of the outermost group, and go together.
SIM_API HcclResult ophook_hccl_group_start() { return ++group.depth, HCCL_SUCCESS; }

SIM_API HcclResult ophook_hccl_group_end() {
  if (!group.depth) return refuse(HCCL_E_PARA, "HcclGroupEnd", "no group was started");
  if (--group.depth) return HCCL_SUCCESS;
  auto entries = std::move(group.entries);
  group.entries.clear();
  for (auto& one : entries)
    if (HcclResult code = launch_messages(one.comm, one.stream, std::move(one.messages))) return code;
  return HCCL_SUCCESS;
}

SIM_API HcclResult HcclBatchSendRecv(HcclSendRecvItem* items, uint32_t count, HcclComm handle, aclrtStream stream) {
  ophook_hccl_group_start();
  HcclResult code = HCCL_SUCCESS;
  for (uint32_t i = 0; i < count && !code; ++i)
    code = message("HcclBatchSendRecv", items[i].sendRecvType == HCCL_SEND, items[i].buf, items[i].count,
                   items[i].dataType, items[i].remoteRank, handle, stream);
  if (code) group.entries.clear();
  const HcclResult ended = ophook_hccl_group_end();
  return code ? code : ended;
}

}  // extern "C"
