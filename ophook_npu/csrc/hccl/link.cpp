#include "link.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <stdexcept>
#include <thread>

#include "hccl/hccl_types.h"
#include "types.h"

namespace sim::hccl {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint32_t kFailure = 0xffffffff;  // command of a rank that says why it failed
constexpr uint64_t kLongestReason = 1024;

struct Hello {
  uint32_t ranks, rank;
};

struct Header {
  Tag tag;
  uint64_t size;
};

std::string reason_of(int error) { return std::strerror(error); }

// Abstract: nothing is left behind in any folder, and the name dies with the process.
socklen_t address_of(const std::string& id, uint32_t rank, sockaddr_un* address) {
  const std::string name = "ophook-hccl-" + id + "-" + std::to_string(rank);
  *address = {};
  address->sun_family = AF_UNIX;
  std::memcpy(address->sun_path + 1, name.data(), name.size());
  return socklen_t(offsetof(sockaddr_un, sun_path) + 1 + name.size());
}

int left_ms(Clock::time_point deadline) {
  auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return int(std::clamp<int64_t>(left, 0, 3600 * 1000));
}

std::string listed(const std::vector<uint32_t>& ranks) {
  std::string out = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < ranks.size(); ++i) out += (i ? ", " : "") + std::to_string(ranks[i]);
  return out;
}

// For the few bytes of a greeting.
void whole(bool sending, int socket, void* data, size_t size, Clock::time_point deadline) {
  auto at = static_cast<char*>(data);
  while (size) {
    pollfd one{socket, short(sending ? POLLOUT : POLLIN), 0};
    if (poll(&one, 1, left_ms(deadline)) == 0) throw std::runtime_error("a rank connected and then said nothing");
    ssize_t done = sending ? send(socket, at, size, MSG_NOSIGNAL) : recv(socket, at, size, 0);
    if (done < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (done <= 0) throw std::runtime_error("a rank connected and then went away");
    at += done;
    size -= size_t(done);
  }
}

struct Listener {
  explicit Listener(const std::string& id, uint32_t rank, uint32_t ranks) : socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address;
    const socklen_t size = address_of(id, rank, &address);
    if (socket < 0 || bind(socket, reinterpret_cast<sockaddr*>(&address), size) || listen(socket, int(ranks))) {
      const int error = errno;
      if (socket >= 0) close(socket);
      throw std::runtime_error(error == EADDRINUSE ? "rank " + std::to_string(rank) + " is taken: two ranks have this number"
                                                   : "no socket to listen on: " + reason_of(error));
    }
  }
  ~Listener() { close(socket); }
  const int socket;
};

int connect_to(const std::string& id, uint32_t rank, Clock::time_point deadline) {
  sockaddr_un address;
  const socklen_t size = address_of(id, rank, &address);
  while (true) {
    const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (socket < 0) throw std::runtime_error("no socket: " + reason_of(errno));
    if (!connect(socket, reinterpret_cast<sockaddr*>(&address), size)) return socket;
    close(socket);
    if (Clock::now() >= deadline) throw std::runtime_error(listed({rank}) + " did not come in time");
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

// "HcclAllReduce (sum) of float32, call 3"
std::string describe(const Tag& tag) {
  std::string out = command_name(tag.command);
  if (tag.command == HCCL_CMD_ALLREDUCE || tag.command == HCCL_CMD_REDUCE_SCATTER || tag.command == HCCL_CMD_REDUCE)
    out += " (" + reduction_name(tag.op) + ")";
  if (tag.command != HCCL_CMD_BARRIER) out += " of " + dtype_name(tag.dtype);
  if (tag.command == HCCL_CMD_BROADCAST || tag.command == HCCL_CMD_SCATTER) out += " from rank " + std::to_string(tag.root);
  if (tag.command == HCCL_CMD_REDUCE) out += " to rank " + std::to_string(tag.root);
  if (tag.serial) out += ", call " + std::to_string(tag.serial);
  return out;
}

}  // namespace

Link::Link(const std::string& id, uint32_t ranks, uint32_t rank, std::chrono::seconds timeout)
    : ranks_(ranks), rank_(rank), sockets_(ranks, -1), inside_(ranks, false) {
  const auto deadline = Clock::now() + timeout;
  try {
    Listener listener(id, rank, ranks);
    for (uint32_t lower = 0; lower < rank; ++lower) {
      sockets_[lower] = connect_to(id, lower, deadline);
      Hello hello{ranks, rank};
      whole(true, sockets_[lower], &hello, sizeof hello, deadline);
    }
    for (uint32_t missing = ranks - 1 - rank; missing; --missing) {
      pollfd one{listener.socket, POLLIN, 0};
      int ready;
      while ((ready = poll(&one, 1, left_ms(deadline))) < 0 && errno == EINTR) {}
      if (ready == 0) {
        std::vector<uint32_t> absent;
        for (uint32_t higher = rank + 1; higher < ranks; ++higher)
          if (sockets_[higher] < 0) absent.push_back(higher);
        throw std::runtime_error(listed(absent) + " did not come within " + std::to_string(timeout.count()) + " s");
      }
      const int socket = accept4(listener.socket, nullptr, nullptr, SOCK_CLOEXEC);
      if (socket < 0) throw std::runtime_error("no connection: " + reason_of(errno));
      Hello hello{};
      try {
        whole(false, socket, &hello, sizeof hello, deadline);
        if (hello.ranks != ranks)
          throw std::runtime_error("rank " + std::to_string(hello.rank) + " says " + std::to_string(hello.ranks) + " ranks, rank " +
                                   std::to_string(rank) + " says " + std::to_string(ranks));
        if (hello.rank <= rank || hello.rank >= ranks || sockets_[hello.rank] >= 0)
          throw std::runtime_error("rank " + std::to_string(hello.rank) + " came to rank " + std::to_string(rank) + " of " + std::to_string(ranks));
      } catch (...) {
        close(socket);
        throw;
      }
      sockets_[hello.rank] = socket;
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

void Link::die(const std::string& reason, bool gone) {
  dead_ = reason;
  for (uint32_t peer = 0; peer < ranks_; ++peer) {
    if (sockets_[peer] < 0) continue;
    if (!inside_[peer]) {
      const std::string text = reason.substr(0, kLongestReason);
      const Header header{{kFailure, 0}, text.size()};
      std::string message(reinterpret_cast<const char*>(&header), sizeof header);
      message += text;
      (void)!send(sockets_[peer], message.data(), message.size(), MSG_DONTWAIT | MSG_NOSIGNAL);  // it may be gone as well
    }
    shutdown(sockets_[peer], SHUT_WR);
  }
  if (gone) throw Gone(reason);
  throw std::runtime_error(reason);
}

void Link::heard_of_failure(uint64_t size, uint32_t peer) {
  std::string text(std::min(size, kLongestReason), '\0');
  whole(false, sockets_[peer], text.data(), text.size(), Clock::now() + std::chrono::seconds(5));
  die(text.find(" failed: ") == std::string::npos ? "rank " + std::to_string(peer) + " failed: " + text : text);
}

void Link::copy_own(std::vector<Piece>& sends, std::vector<Piece>& receives) {
  auto own = [this](const Piece& piece) { return piece.peer == rank_; };
  std::deque<Piece> given;
  std::copy_if(sends.begin(), sends.end(), std::back_inserter(given), own);
  for (const Piece& piece : receives) {
    if (!own(piece)) continue;
    if (given.empty() || given.front().size != piece.size)
      die("rank " + std::to_string(rank_) + " receives from itself what it does not send in the same group");
    std::memmove(piece.data, given.front().data, piece.size);
    given.pop_front();
  }
  if (!given.empty()) die("rank " + std::to_string(rank_) + " sends to itself what it does not receive in the same group");
  std::erase_if(sends, own);
  std::erase_if(receives, own);
}

// One piece under way: its header, then its bytes.
struct Link::Transfer {
  explicit Transfer(const Piece& piece) : tag(piece.tag), header{piece.tag, piece.size}, data(static_cast<char*>(piece.data)), size(piece.size) {}
  bool in_header() const { return done < sizeof header; }
  bool finished() const { return done == sizeof header + size; }
  char* at() { return in_header() ? reinterpret_cast<char*>(&header) + done : data + (done - sizeof header); }
  uint64_t left() const { return in_header() ? sizeof header - done : sizeof header + size - done; }

  const Tag tag;
  Header header;  // of a piece that comes in: as it is received
  char* const data;
  const uint64_t size;
  uint64_t done = 0;  // of header and bytes
};

void Link::exchange(std::vector<Piece> sends, std::vector<Piece> receives, std::chrono::seconds timeout) {
  if (!dead_.empty()) throw std::runtime_error("the communicator is unusable since an earlier failure: " + dead_);
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

  const auto deadline = Clock::now() + timeout;
  while (true) {
    std::vector<pollfd> waiting;
    std::vector<uint32_t> peers;
    for (uint32_t peer = 0; peer < ranks_; ++peer) {
      const short events = short((out[peer].empty() ? 0 : POLLOUT) | (in[peer].empty() ? 0 : POLLIN));
      if (!events) continue;
      waiting.push_back({sockets_[peer], events, 0});
      peers.push_back(peer);
    }
    if (waiting.empty()) return;
    const int ready = poll(waiting.data(), waiting.size(), left_ms(deadline));
    if (ready < 0 && errno != EINTR) die("poll: " + reason_of(errno));
    if (ready == 0) {
      const Transfer& first = in[peers[0]].empty() ? out[peers[0]].front() : in[peers[0]].front();
      die(describe(first.tag) + ": after " + std::to_string(timeout.count()) + " s still waiting for " + listed(peers));
    }
    for (size_t i = 0; i < waiting.size(); ++i) {
      const uint32_t peer = peers[i];
      // Receiving first: what a rank that is gone sent before says more than that it is gone.
      if (!in[peer].empty() && (waiting[i].revents & (POLLIN | POLLHUP | POLLERR))) move(false, peer, in[peer]);
      else if (!out[peer].empty() && (waiting[i].revents & (POLLOUT | POLLHUP | POLLERR))) move(true, peer, out[peer]);
    }
  }
}

void Link::check(const Transfer& transfer, uint32_t peer) {
  const Tag &mine = transfer.tag, &theirs = transfer.header.tag;
  const std::string them = "rank " + std::to_string(peer), me = "rank " + std::to_string(rank_);
  if (theirs.command == kFailure) heard_of_failure(transfer.header.size, peer);
  if (mine.command == HCCL_CMD_RECEIVE && theirs.command == HCCL_CMD_SEND)
    die(me + " and " + them + " send to each other and neither receives: put send and receive into one group");
  if (std::memcmp(&mine, &theirs, sizeof mine)) die(me + " is in " + describe(mine) + ", " + them + " in " + describe(theirs));
  if (transfer.header.size != transfer.size)
    die(describe(mine) + ": " + them + " sends " + std::to_string(transfer.header.size) + " bytes, " + me + " expects " +
        std::to_string(transfer.size));
}

}  // namespace sim::hccl
