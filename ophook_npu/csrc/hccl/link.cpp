#include "link.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

#include "core/fault.h"
#include "door.h"
#include "hccl/hccl_types.h"
#include "types.h"

namespace sim::hccl {

struct Header {
  Tag tag;
  uint64_t size, whole = size;
};

namespace {

constexpr uint32_t kFailure = 0xffffffff;  // command of a rank that says why it failed
constexpr uint64_t kLongestReason = 1024;

std::string reason_of(int error) { return std::strerror(error); }

std::string listed(const std::vector<uint32_t>& ranks) {
  std::string out = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < ranks.size(); ++i) out += (i ? ", " : "") + std::to_string(ranks[i]);
  return out;
}

// The few bytes of a reason.
void receive(int socket, void* data, size_t size, Clock::time_point deadline) {
  auto at = static_cast<char*>(data);
  while (size) {
    pollfd one{socket, POLLIN, 0};
    if (poll(&one, 1, left_ms(deadline)) == 0) throw std::runtime_error("a rank failed and does not say why");
    const ssize_t done = recv(socket, at, size, 0);
    if (done < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (done <= 0) throw std::runtime_error("a rank failed and went away before it said why");
    at += done;
    size -= size_t(done);
  }
}

// "HcclAllReduce (sum) of float32, call 3"
std::string describe(const Tag& tag) {
  std::string out = command_name(tag.command);
  if (tag.command == HCCL_CMD_ALLREDUCE || tag.command == HCCL_CMD_REDUCE_SCATTER || tag.command == HCCL_CMD_REDUCE)
    out += " (" + reduction_name(tag.op) + ")";
  if (tag.command != HCCL_CMD_BARRIER) out += " of " + dtype_name(tag.dtype);
  if (tag.command == HCCL_CMD_BROADCAST || tag.command == HCCL_CMD_SCATTER)
    out += " from rank " + std::to_string(tag.root);
  if (tag.command == HCCL_CMD_REDUCE) out += " to rank " + std::to_string(tag.root);
  if (tag.serial) out += ", call " + std::to_string(tag.serial);
  return out;
}

}  // namespace

Link::Link(const Meeting& meeting, const std::vector<uint32_t>& twins, uint32_t rank, std::chrono::seconds timeout)
    : ranks_(uint32_t(twins.size())),
      rank_(rank),
      sockets_(ranks_, -1),
      inside_(ranks_, false),
      remote_(ranks_, false),
      fates_(ranks_, 0) {
  const uint32_t ranks = ranks_;
  const auto runs = [&](uint32_t peer) { return twins[peer] == peer; };
  const auto deadline = Clock::now() + timeout;
  const Secret& secret = meeting.secret;
  try {
    std::vector<int> listeners{listening(secret, rank)};
    Place own;
    if (!meeting.roots.empty()) {
      const std::string ip = meeting.ip.empty() ? chosen_ip() : meeting.ip;
      own.machine = keyed(secret, this_machine() + (meeting.machine.empty() ? ip : meeting.machine));
      own.address = {ip, 0};
      listeners.push_back(listening(ip, rank_ports(), &own.address.port));
    }
    Door door(std::move(listeners), secret, rank, ranks);
    const auto places =
        meeting.roots.empty() ? std::vector<Place>(ranks) : places_of(meeting, ranks, rank, own, deadline);
    for (uint32_t peer = 0; peer < ranks; ++peer) remote_[peer] = places[peer].machine != own.machine;
    for (uint32_t lower = 0; lower < rank; ++lower) {
      if (!runs(lower)) continue;
      const Connect over_network = [&](Clock::time_point until) {
        return connected(own.address.ip, places[lower].address, until);
      };
      sockets_[lower] =
          join(secret, ranks, rank, lower, remote_[lower] ? over_network : connect_to(secret, lower), deadline);
    }
    uint32_t missing = 0;
    for (uint32_t higher = rank + 1; higher < ranks; ++higher) missing += runs(higher);
    for (; missing; --missing) {
      auto visitor = door.next(deadline);
      if (!visitor) {
        std::vector<uint32_t> absent;
        for (uint32_t higher = rank + 1; higher < ranks; ++higher)
          if (sockets_[higher] < 0 && runs(higher)) absent.push_back(higher);
        throw std::runtime_error(listed(absent) + " did not come within " + std::to_string(timeout.count()) + " s");
      }
      const Hello hello = visitor->hello();
      const std::string them = "rank " + std::to_string(hello.rank), me = "rank " + std::to_string(rank);
      if (hello.ranks != ranks)
        throw std::runtime_error(them + " says " + std::to_string(hello.ranks) + " ranks, " + me + " says " +
                                 std::to_string(ranks));
      if (hello.rank <= rank || hello.rank >= ranks || sockets_[hello.rank] >= 0)
        throw std::runtime_error(them + " came to " + me + " of " + std::to_string(ranks));
      sockets_[hello.rank] = visitor->release();
    }
  } catch (...) {
    for (int socket : sockets_)
      if (socket >= 0) close(socket);
    throw;
  }
}

Link::~Link() {
  for (int socket : sockets_)
    if (socket >= 0) close(socket);
}

void Link::end(const std::string& reason) {
  dead_ = reason;
  for (uint32_t peer = 0; peer < ranks_; ++peer) {
    if (sockets_[peer] < 0) continue;
    if (!inside_[peer]) {
      const std::string text = reason.substr(0, kLongestReason);
      const Header header{{kFailure, 0}, text.size()};
      std::string message(reinterpret_cast<const char*>(&header), sizeof header);
      message += text;
      (void)!send(sockets_[peer], message.data(), message.size(),
                  MSG_DONTWAIT | MSG_NOSIGNAL);  // it may be gone as well
    }
    shutdown(sockets_[peer], SHUT_WR);
  }
}

void Link::die(const std::string& reason, bool gone) {
  end(reason);
  if (gone) throw Gone(reason);
  throw std::runtime_error(reason);
}

// What CANN says of it follows, so that it is found by the same words.
void Link::late(const std::string& waited, const std::vector<uint32_t>& peers) {
  std::string numbers;
  for (const uint32_t peer : peers) numbers += (numbers.empty() ? "" : ",") + std::to_string(peer);
  const std::string reason =
      waited + listed(peers) +
      ". EI0002: The wait execution of the Notify register times out. Reason: The Notify register has not received the "
      "Notify record from remote rank: [" +
      numbers + "]";
  end(reason);
  throw Late(reason);
}

void Link::heard_of_failure(uint64_t size, uint32_t peer) {
  std::string text(std::min(size, kLongestReason), '\0');
  receive(sockets_[peer], text.data(), text.size(), Clock::now() + std::chrono::seconds(5));
  die(text.find(" failed: ") == std::string::npos ? "rank " + std::to_string(peer) + " failed: " + text : text);
}

void Link::make_faults(std::vector<Piece>& sends) {
  std::vector<Piece> made;
  for (const Piece& piece : sends) {
    uint64_t ms = 0;
    auto& fate = fates_[piece.peer];
    if (piece.begins)
      fate = piece.peer == rank_ ? sim_message_whole
                                 : sim_fault_message(command_name(piece.tag.command).c_str(), rank_, piece.peer, &ms);
    switch (fate) {
      case sim_message_dropped: continue;
      case sim_message_doubled:
        if (piece.ends) made.push_back(piece);
        break;
      case sim_message_delayed: std::this_thread::sleep_for(std::chrono::milliseconds(ms)); break;
      case sim_message_no_link: {
        const std::string reason =
            describe(piece.tag) + ": the link to rank " + std::to_string(piece.peer) + " is down";
        end(reason);
        throw Broken(reason);
      }
      default: break;
    }
    made.push_back(piece);
  }
  sends.swap(made);
}

void Link::copy_own(std::vector<Piece>& sends, std::vector<Piece>& receives) {
  auto own = [this](const Piece& piece) { return piece.peer == rank_; };
  std::deque<Piece> given;
  std::copy_if(sends.begin(), sends.end(), std::back_inserter(given), own);
  for (const Piece& piece : receives) {
    if (!own(piece)) continue;
    if (given.empty() || given.front().size != piece.size)
      die("rank " + std::to_string(rank_) + " receives from itself what it does not send in the same group");
    if (piece.size) std::memmove(piece.data, given.front().data, piece.size);
    given.pop_front();
  }
  if (!given.empty())
    die("rank " + std::to_string(rank_) + " sends to itself what it does not receive in the same group");
  std::erase_if(sends, own);
  std::erase_if(receives, own);
}

// One piece under way: its header, then its bytes.
struct Link::Transfer {
  explicit Transfer(const Piece& piece)
      : tag(piece.tag),
        header{piece.tag, piece.size, piece.whole},
        data(static_cast<char*>(piece.data)),
        size(piece.size),
        whole(piece.whole) {}
  bool in_header() const { return done < sizeof header; }
  bool finished() const { return done == sizeof header + size; }
  char* at() { return in_header() ? reinterpret_cast<char*>(&header) + done : data + (done - sizeof header); }
  uint64_t left() const { return in_header() ? sizeof header - done : sizeof header + size - done; }

  const Tag tag;
  Header header;  // of a piece that comes in: as it is received
  char* const data;
  const uint64_t size, whole;
  uint64_t done = 0;  // of header and bytes
};

void Link::exchange(std::vector<Piece> sends, std::vector<Piece> receives, std::chrono::seconds timeout) {
  if (!dead_.empty()) throw std::runtime_error("the communicator is unusable since an earlier failure: " + dead_);
  if (sim::fault::on()) [[unlikely]]
    make_faults(sends);
  copy_own(sends, receives);
  std::vector<std::deque<Transfer>> out(ranks_), in(ranks_);
  for (const Piece& piece : sends) out[piece.peer].emplace_back(piece);
  for (const Piece& piece : receives) in[piece.peer].emplace_back(piece);

  // Moves what the socket takes or has now.
  auto move = [&](bool sending, uint32_t peer, std::deque<Transfer>& queue) {
    Transfer& transfer = queue.front();
    const ssize_t moved = sending ? send(sockets_[peer], transfer.at(), transfer.left(), MSG_DONTWAIT | MSG_NOSIGNAL)
                                  : recv(sockets_[peer], transfer.at(), transfer.left(), MSG_DONTWAIT);
    if (moved < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (moved <= 0) die(describe(transfer.tag) + ": rank " + std::to_string(peer) + " is gone", true);
    const bool was_header = transfer.in_header();
    transfer.done += uint64_t(moved);
    if (sending) inside_[peer] = !transfer.finished();
    if (!sending && was_header && !transfer.in_header()) check(transfer, peer);
    if (transfer.finished()) queue.pop_front();
  };

  // In a collective bytes that a socket does not take at once follow when the peer's header has come and is right: who
  // still sends to a rank that finds a mistake hears that the rank is gone, and not what the mistake is.
  constexpr uint64_t kTakenAtOnce = 64 << 10;
  const auto sends_now = [&](uint32_t peer) {
    if (out[peer].empty()) return false;
    const Transfer& first = out[peer].front();
    return first.in_header() || first.size <= kTakenAtOnce || !first.tag.serial || in[peer].empty() ||
           !in[peer].front().in_header();
  };

  const auto deadline = Clock::now() + timeout;
  int device = 0;
  if (sim_get_device(&device)) sim_error_message(), device = 0;
  const uint64_t aborts = sim_abort_count(device);
  while (true) {
    std::vector<pollfd> waiting;
    std::vector<uint32_t> peers;
    for (uint32_t peer = 0; peer < ranks_; ++peer) {
      const short events = short((sends_now(peer) ? POLLOUT : 0) | (in[peer].empty() ? 0 : POLLIN));
      if (!events) continue;
      waiting.push_back({sockets_[peer], events, 0});
      peers.push_back(peer);
    }
    if (waiting.empty()) return;
    // Looks now and then whether the device's tasks are aborted, which nothing on a socket says.
    constexpr int kLook = 100;
    const int ready = poll(waiting.data(), waiting.size(), std::min(left_ms(deadline), kLook));
    if (ready < 0 && errno != EINTR) die("poll: " + reason_of(errno));
    if (sim_abort_count(device) != aborts) die("the device's tasks are aborted");
    if (ready == 0 && Clock::now() < deadline) continue;
    if (ready == 0) {
      const Transfer& first = in[peers[0]].empty() ? out[peers[0]].front() : in[peers[0]].front();
      late(describe(first.tag) + ": after " + std::to_string(timeout.count()) + " s still waiting for ", peers);
    }
    for (size_t i = 0; i < waiting.size(); ++i) {
      const uint32_t peer = peers[i];
      // Receiving first: what a rank that is gone sent before says more than that it is gone.
      if (!in[peer].empty() && (waiting[i].revents & (POLLIN | POLLHUP | POLLERR))) move(false, peer, in[peer]);
      else if (sends_now(peer) && (waiting[i].revents & (POLLOUT | POLLHUP | POLLERR))) move(true, peer, out[peer]);
    }
  }
}

void Link::check(const Transfer& transfer, uint32_t peer) {
  const Tag &mine = transfer.tag, &theirs = transfer.header.tag;
  const std::string them = "rank " + std::to_string(peer), me = "rank " + std::to_string(rank_);
  if (theirs.command == kFailure) heard_of_failure(transfer.header.size, peer);
  if (mine.command == HCCL_CMD_RECEIVE && theirs.command == HCCL_CMD_SEND)
    die(me + " and " + them + " send to each other and neither receives: put send and receive into one group");
  if (std::memcmp(&mine, &theirs, sizeof mine))
    die(me + " is in " + describe(mine) + ", " + them + " in " + describe(theirs));
  if (transfer.header.whole != transfer.whole || transfer.header.size != transfer.size)
    die(describe(mine) + ": " + them + " sends " + std::to_string(transfer.header.whole) + " bytes, " + me +
        " expects " + std::to_string(transfer.whole));
}

}  // namespace sim::hccl
