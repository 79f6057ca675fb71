// Addresses of this machine, and TCP connections between it and others: how ranks of several machines reach each other.
#pragma once

#include <vector>

#include "handshake.h"

namespace sim::hccl {

// As it is told to other ranks. `ip` is text; empty: none.
struct Address {
  char ip[48] = {};
  uint32_t port = 0;

  Address() = default;
  Address(const std::string& ip, uint32_t port);
  bool none() const { return !*ip; }
  std::string text() const;  // "10.0.0.1 port 60000"
};

// Whether this is one; whether it is one of this machine, at which a process can listen.
bool is_ip(const std::string& text);
bool is_own_ip(const std::string& ip);

// The address that HCCL_IF_IP or HCCL_SOCKET_IFNAME asks for, or the one that CANN takes where neither is set. Throws
// Refused where there is none.
std::string chosen_ip();

// Whether a communicator may have ranks on other machines: an interface was asked for, or the launcher has started more
// processes than on this machine. Where it may not, nothing listens on any network.
bool ranks_elsewhere();

// At which ports the root of a communicator listens, and a rank; the first that is free, and 0 is any.
std::vector<uint32_t> root_ports();
std::vector<uint32_t> rank_ports();
// A socket that listens at this address alone. Throws Refused.
int listening(const std::string& ip, const std::vector<uint32_t>& ports, uint32_t* got);

// How long ranks wait for each other at the start, and in a collective. Throw Refused where a variable is wrong.
constexpr std::chrono::seconds kExecutionTimeout{1836};  // where none is set
std::chrono::seconds connect_timeout();
std::chrono::seconds execution_timeout();
uint64_t buffer_size();  // bytes: HCCL_BUFFSIZE

// A new connection from an address of this machine, or -1 where none came about before `until`.
int connected(const std::string& from, const Address& to, Clock::time_point until);

// A small message of a TCP connection leaves at once: a header is sent before its bytes, and what follows it would wait
// until the other end has confirmed it.
void send_at_once(int socket);

// The other end of a TCP connection: "10.0.0.2 port 4711"; empty where it is none.
std::string other_end(int socket);

// The same for processes that reach each other's Unix sockets.
std::string this_machine();

}  // namespace sim::hccl
