#include "handshake.h"

#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <thread>
#include <utility>

#include "network.h"

namespace sim::hccl {

int left_ms(Clock::time_point deadline) {
  auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return int(std::clamp<int64_t>(left, 0, 3600 * 1000));
}

namespace {

void fill_with_random(void* bytes, size_t size) {
  auto at = static_cast<uint8_t*>(bytes);
  while (size) {
    const ssize_t got = getrandom(at, size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) throw std::runtime_error(std::string("no random bytes: ") + std::strerror(errno));
    at += got;
    size -= size_t(got);
  }
}

uint64_t little_endian(const uint8_t* at, size_t size = 8) {
  uint64_t out = 0;
  for (size_t i = 0; i < size; ++i) out |= uint64_t(at[i]) << (8 * i);
  return out;
}

// SipHash-2-4 of Aumasson and Bernstein: a keyed hash for short messages.
uint64_t keyed_hash(const uint8_t* key, const std::string& message) {
  const uint64_t k0 = little_endian(key), k1 = little_endian(key + 8);
  uint64_t v0 = k0 ^ 0x736f6d6570736575, v1 = k1 ^ 0x646f72616e646f6d;
  uint64_t v2 = k0 ^ 0x6c7967656e657261, v3 = k1 ^ 0x7465646279746573;
  auto rounds = [&](int count) {
    while (count--) {
      v0 += v1, v1 = std::rotl(v1, 13) ^ v0, v0 = std::rotl(v0, 32);
      v2 += v3, v3 = std::rotl(v3, 16) ^ v2;
      v0 += v3, v3 = std::rotl(v3, 21) ^ v0;
      v2 += v1, v1 = std::rotl(v1, 17) ^ v2, v2 = std::rotl(v2, 32);
    }
  };
  auto absorb = [&](uint64_t word) { v3 ^= word, rounds(2), v0 ^= word; };
  auto bytes = reinterpret_cast<const uint8_t*>(message.data());
  size_t at = 0;
  for (; at + 8 <= message.size(); at += 8) absorb(little_endian(bytes + at));
  absorb(little_endian(bytes + at, message.size() - at) | uint64_t(message.size()) << 56);
  v2 ^= 0xff;
  rounds(4);
  return v0 ^ v1 ^ v2 ^ v3;
}

// `side` keeps one end's proof from being the other's.
Proof prove(const Secret& secret, char side, uint32_t listener, const Hello& hello, const Nonce& nonce) {
  std::string message(1, side);
  message.append(reinterpret_cast<const char*>(&listener), sizeof listener);
  message.append(reinterpret_cast<const char*>(&hello), sizeof hello);
  message.append(reinterpret_cast<const char*>(&nonce), sizeof nonce);
  return keyed(secret, message);
}

// In a time that does not tell how much of it is right.
bool same(const Proof& a, const Proof& b) {
  volatile uint8_t different = 0;
  for (size_t i = 0; i < a.size(); ++i) different = different | (a[i] ^ b[i]);
  return different == 0;
}

constexpr char kListens = 'L', kConnects = 'C';
// The last word. Without it a rank that the other end turned away, for a crowd, would take itself for let in.
constexpr char kLetIn = 'I';

struct Answer {
  Nonce nonce;
  Proof proof;
};

ucred peer_of(int socket) {
  ucred peer{0, uid_t(-1), gid_t(-1)};
  socklen_t size = sizeof peer;
  getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size);
  return peer;
}

int connected(const std::string& name) {
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0) throw std::runtime_error(std::string("no socket: ") + std::strerror(errno));
  const timeval second{1, 0};  // a listener whose queue others have filled must not be waited for without end
  setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &second, sizeof second);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto size = socklen_t(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (!connect(socket, reinterpret_cast<sockaddr*>(&address), size) && peer_of(socket).uid == geteuid()) return socket;
  close(socket);
  return -1;
}

}  // namespace

// Two hashes under the secret's two halves.
Proof keyed(const Secret& secret, const std::string& message) {
  Proof out;
  for (size_t half = 0; half < 2; ++half) {
    const uint64_t hash = keyed_hash(secret.data() + 16 * half, message);
    for (size_t i = 0; i < 8; ++i) out[8 * half + i] = uint8_t(hash >> (8 * i));
  }
  return out;
}

bool whole(bool sending, int socket, void* data, size_t size, Clock::time_point deadline) {
  auto at = static_cast<char*>(data);
  while (size) {
    pollfd one{socket, short(sending ? POLLOUT : POLLIN), 0};
    if (poll(&one, 1, left_ms(deadline)) == 0) return false;
    const ssize_t done =
        sending ? send(socket, at, size, MSG_NOSIGNAL | MSG_DONTWAIT) : recv(socket, at, size, MSG_DONTWAIT);
    if (done < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (done <= 0) return false;
    at += done;
    size -= size_t(done);
  }
  return true;
}

Secret new_secret() {
  Secret out;
  fill_with_random(out.data(), out.size());
  return out;
}

std::string address_of(const Secret& secret, uint32_t rank) {
  constexpr char digits[] = "0123456789abcdef";
  std::string out = "ophook-hccl-";
  for (uint8_t byte : keyed(secret, "address of rank " + std::to_string(rank))) {
    out += digits[byte >> 4];
    out += digits[byte & 15];
  }
  return out;
}

Connect connect_to(const Secret& secret, uint32_t rank) {
  return [name = address_of(secret, rank)](Clock::time_point) { return connected(name); };
}

int joined(const Secret& secret, uint32_t ranks, uint32_t rank, uint32_t to, const Connect& connect,
           Clock::time_point deadline) {
  const int socket = connect(std::min(deadline, Clock::now() + std::chrono::seconds(3)));
  if (socket < 0) return -1;
  Hello hello{ranks, rank, {}};
  fill_with_random(hello.nonce.data(), hello.nonce.size());
  Answer answer;
  // It answers once the ranks before it have answered it.
  if (whole(true, socket, &hello, sizeof hello, deadline) && whole(false, socket, &answer, sizeof answer, deadline) &&
      same(answer.proof, prove(secret, kListens, to, hello, answer.nonce))) {
    Proof proof = prove(secret, kConnects, to, hello, answer.nonce);
    char word = 0;
    if (whole(true, socket, &proof, sizeof proof, deadline) && whole(false, socket, &word, sizeof word, deadline) &&
        word == kLetIn)
      return socket;
  }
  close(socket);
  return -1;
}

int join(const Secret& secret, uint32_t ranks, uint32_t rank, uint32_t to, const Connect& connect,
         Clock::time_point deadline) {
  bool there = false;
  const Connect noted = [&](Clock::time_point until) {
    const int socket = connect(until);
    there = socket >= 0;
    return socket;
  };
  while (true) {
    if (const int socket = joined(secret, ranks, rank, to, noted, deadline); socket >= 0) return socket;
    if (Clock::now() >= deadline)
      throw std::runtime_error("rank " + std::to_string(to) + " did not come in time: " +
                               (there ? "it did not answer"
                                      : "nobody listens for this root info, which may be one of an earlier attempt "
                                        "(docs/faults.md, torchrun's restarts)"));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

Visitor::Visitor(int socket, Clock::time_point until) : socket_(socket), until_(until), from_(other_end(socket)) {
  fill_with_random(nonce_.data(), nonce_.size());
  if (!from_.empty()) send_at_once(socket);
}

Visitor::~Visitor() {
  if (socket_ >= 0) close(socket_);
}

int Visitor::release() { return std::exchange(socket_, -1); }

std::string Visitor::who() const {
  if (!from_.empty()) return from_;
  const ucred peer = peer_of(socket_);
  return "process " + std::to_string(peer.pid) + " of user " + std::to_string(peer.uid);
}

Visitor::State Visitor::wrong(const std::string& why) {
  why_ = why;
  return State::wrong;
}

bool Visitor::take(void* into, size_t size) {
  while (done_ < size) {
    const ssize_t got = recv(socket_, static_cast<char*>(into) + done_, size - done_, MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return gone_ = got == 0 || errno != EAGAIN, false;
    done_ += size_t(got);
  }
  done_ = 0;
  return true;
}

Visitor::State Visitor::proceed(const Secret& secret, uint32_t here) {
  if (from_.empty() && peer_of(socket_).uid != geteuid()) return wrong("it is another user's");
  auto waiting = [this] {
    if (gone_) return wrong("it went away");
    return Clock::now() < until_ ? State::waits : wrong("it said too little in time");
  };
  if (!greeted_) {
    if (!take(&hello_, sizeof hello_)) return waiting();
    greeted_ = true;
    const Answer answer{nonce_, prove(secret, kListens, here, hello_, nonce_)};
    // A new socket takes so few bytes at once.
    if (send(socket_, &answer, sizeof answer, MSG_DONTWAIT | MSG_NOSIGNAL) != ssize_t(sizeof answer))
      return wrong("it went away");
  }
  if (!take(&proof_, sizeof proof_)) return waiting();
  if (!same(proof_, prove(secret, kConnects, here, hello_, nonce_))) return wrong("it does not know the secret");
  return send(socket_, &kLetIn, sizeof kLetIn, MSG_DONTWAIT | MSG_NOSIGNAL) == 1 ? State::proven
                                                                                 : wrong("it went away");
}

}  // namespace sim::hccl
