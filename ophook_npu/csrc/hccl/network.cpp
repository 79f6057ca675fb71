#include "network.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <sstream>
#include <utility>

#include "communicator.h"

namespace sim::hccl {
namespace {

constexpr uint32_t kFirstPort = 60000, kPorts = 32;  // CANN's, where no variable says others

std::string variable(const char* name) {
  const char* text = std::getenv(name);
  return text ? text : "";
}

// As CANN words it.
[[noreturn]] void wrong_variable(const char* name, const std::string& value, const std::string& expected,
                                 HcclResult code = HCCL_E_PARA) {
  throw Refused{code, "EI0001: Value " + value + " for environment variable " + name +
                          " is invalid. Expected value: " + expected};
}

// An address as the socket calls take it.
struct Peer {
  sockaddr_storage storage{};
  socklen_t size = 0;
};

Peer peer_at(const std::string& ip, uint32_t port) {
  Peer out;
  auto* four = reinterpret_cast<sockaddr_in*>(&out.storage);
  auto* six = reinterpret_cast<sockaddr_in6*>(&out.storage);
  if (inet_pton(AF_INET, ip.c_str(), &four->sin_addr) == 1) {
    four->sin_family = AF_INET;
    four->sin_port = htons(uint16_t(port));
    out.size = sizeof *four;
  } else if (inet_pton(AF_INET6, ip.c_str(), &six->sin6_addr) == 1) {
    six->sin6_family = AF_INET6;
    six->sin6_port = htons(uint16_t(port));
    out.size = sizeof *six;
  }
  return out;
}

Address address_in(const sockaddr_storage& storage) {
  char text[INET6_ADDRSTRLEN] = {};
  if (storage.ss_family == AF_INET) {
    const auto& four = reinterpret_cast<const sockaddr_in&>(storage);
    inet_ntop(AF_INET, &four.sin_addr, text, sizeof text);
    return {text, ntohs(four.sin_port)};
  }
  if (storage.ss_family == AF_INET6) {
    const auto& six = reinterpret_cast<const sockaddr_in6&>(storage);
    inet_ntop(AF_INET6, &six.sin6_addr, text, sizeof text);
    return {text, ntohs(six.sin6_port)};
  }
  return {};
}

// An interface that is up, with one address of it.
struct Nic {
  std::string name, ip;
  int family;
};

std::vector<Nic> nics() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list)) throw Refused{HCCL_E_SYSCALL, std::string("getifaddrs: ") + std::strerror(errno)};
  std::vector<Nic> out;
  for (ifaddrs* one = list; one; one = one->ifa_next) {
    if (!one->ifa_addr || !(one->ifa_flags & IFF_UP)) continue;
    const int family = one->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    if (family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&reinterpret_cast<const sockaddr_in6*>(one->ifa_addr)->sin6_addr))
      continue;  // means nothing without its interface
    sockaddr_storage storage{};
    std::memcpy(&storage, one->ifa_addr, family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
    out.push_back({one->ifa_name, address_in(storage).ip, family});
  }
  freeifaddrs(list);
  // CANN's order: by name, those of docker behind, and the loopback last.
  const auto place = [](const std::string& name) { return name == "lo" ? 2 : name.rfind("docker", 0) == 0 ? 1 : 0; };
  std::stable_sort(out.begin(), out.end(), [&](const Nic& a, const Nic& b) {
    return std::pair(place(a.name), a.name) < std::pair(place(b.name), b.name);
  });
  return out;
}

// Whether HCCL_SOCKET_IFNAME takes an interface: "eth,enp", "^eth", "=eth0", "^=eth0".
bool taken_by(std::string rule, const std::string& name) {
  const bool others = rule.rfind('^', 0) == 0;
  if (others) rule.erase(0, 1);
  const bool whole = rule.rfind('=', 0) == 0;
  if (whole) rule.erase(0, 1);
  std::istringstream names(rule);
  bool found = false;
  for (std::string each; std::getline(names, each, ',');)
    found |= whole ? name == each : !each.empty() && name.rfind(each, 0) == 0;
  return found != others;
}

uint32_t number(const char* of, const std::string& text, uint32_t least, uint32_t most) {
  uint32_t value = 0;
  const char *begin = text.data(), *end = begin + text.size();
  const auto [at, error] = std::from_chars(begin, end, value);
  if (error != std::errc() || at != end || value < least || value > most)
    wrong_variable(of, text, "range[" + std::to_string(least) + ", " + std::to_string(most) + "]");
  return value;
}

// "60000,60050-60100"; 0, which is any, of "auto".
std::vector<uint32_t> ports_in(const char* of, const std::string& text) {
  std::vector<uint32_t> out;
  if (text.empty() || text == "auto") return {0};
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    const size_t dash = part.find('-');
    const uint32_t first = number(of, part.substr(0, dash), 1, 65535);
    const uint32_t last = dash == std::string::npos ? first : number(of, part.substr(dash + 1), first, 65535);
    for (uint32_t port = first; port <= last; ++port) out.push_back(port);
  }
  return out;
}

// A socket that listens there, or -1 and errno.
int bound(const std::string& ip, uint32_t port, uint32_t* got) {
  Peer own = peer_at(ip, port);
  const int socket = ::socket(own.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket < 0) return -1;
  const int on = 1;
  setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  socklen_t size = sizeof own.storage;
  if (!bind(socket, reinterpret_cast<sockaddr*>(&own.storage), own.size) && !listen(socket, SOMAXCONN) &&
      !getsockname(socket, reinterpret_cast<sockaddr*>(&own.storage), &size)) {
    *got = address_in(own.storage).port;
    return socket;
  }
  const int error = errno;
  close(socket);
  errno = error;
  return -1;
}

int count_in(const char* name) { return std::atoi(variable(name).c_str()); }

}  // namespace

Address::Address(const std::string& ip_, uint32_t port_) : port(port_) { std::strncpy(ip, ip_.c_str(), sizeof ip - 1); }

std::string Address::text() const { return std::string(ip) + " port " + std::to_string(port); }

bool is_ip(const std::string& text) { return peer_at(text, 0).size; }

bool is_own_ip(const std::string& ip) {
  const Peer own = peer_at(ip, 0);
  const int socket = ::socket(own.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool bound = socket >= 0 && !bind(socket, reinterpret_cast<const sockaddr*>(&own.storage), own.size);
  if (socket >= 0) close(socket);
  return bound;
}

std::string chosen_ip() {
  if (const std::string ip = variable("HCCL_IF_IP"); !ip.empty()) {
    if (!is_ip(ip)) wrong_variable("HCCL_IF_IP", ip, "an IPv4 or IPv6 address");
    return ip;
  }
  const std::string rule = variable("HCCL_SOCKET_IFNAME"), family = variable("HCCL_SOCKET_FAMILY");
  if (!family.empty() && family != "AF_INET" && family != "AF_INET6")
    wrong_variable("HCCL_SOCKET_FAMILY", family, "AF_INET or AF_INET6");
  std::string there, first;
  for (const int wanted : {AF_INET, AF_INET6})
    for (const Nic& nic : nics()) {
      if (!family.empty() && (family == "AF_INET") != (nic.family == AF_INET)) continue;
      if (nic.family != wanted) continue;
      there += (there.empty() ? "" : ", ") + nic.name + " " + nic.ip;
      if (first.empty() && (rule.empty() || taken_by(rule, nic.name))) first = nic.ip;
    }
  if (!first.empty()) return first;
  if (there.empty()) throw Refused{HCCL_E_NOT_FOUND, "this machine has no interface with an address"};
  wrong_variable("HCCL_SOCKET_IFNAME", rule, "an interface of this machine: " + there, HCCL_E_NOT_FOUND);
}

bool ranks_elsewhere() {
  if (!variable("HCCL_IF_IP").empty() || !variable("HCCL_SOCKET_IFNAME").empty()) return true;
  const std::pair<const char*, const char*> launchers[] = {
      {"LOCAL_WORLD_SIZE", "WORLD_SIZE"},  // torchrun
      {"OMPI_COMM_WORLD_LOCAL_SIZE", "OMPI_COMM_WORLD_SIZE"},
  };
  for (const auto& [here, all] : launchers)
    if (const int local = count_in(here); local && count_in(all) > local) return true;
  return false;
}

std::chrono::seconds connect_timeout() {
  if (const std::string text = variable("OPHOOK_SIM_HCCL_CONNECT_TIMEOUT"); !text.empty())
    return std::chrono::seconds(number("OPHOOK_SIM_HCCL_CONNECT_TIMEOUT", text, 1, 7200));
  const std::string text = variable("HCCL_CONNECT_TIMEOUT");
  return std::chrono::seconds(text.empty() ? 120 : number("HCCL_CONNECT_TIMEOUT", text, 120, 7200));
}

// A part of a second counts as a whole one. 0 is for ever, as CANN says of the products that are simulated.
std::chrono::seconds execution_timeout() {
  constexpr int32_t kForEver = std::numeric_limits<int32_t>::max();
  const std::string text = variable("HCCL_EXEC_TIMEOUT");
  if (text.empty()) return kExecutionTimeout;
  const size_t dot = text.find('.');
  const bool formed = text.find_first_not_of("0123456789.") == std::string::npos && dot != 0 &&
                      (dot == std::string::npos || (dot + 1 < text.size() && text.size() <= dot + 3 &&
                                                    text.find('.', dot + 1) == std::string::npos));
  const double value = formed ? std::strtod(text.c_str(), nullptr) : -1;
  if (value < 0 || value > std::numeric_limits<uint32_t>::max())
    wrong_variable("HCCL_EXEC_TIMEOUT", text, "a non-negative number with up to 2 decimals");
  return std::chrono::seconds(value > 0 ? int32_t(std::min<double>(std::ceil(value), kForEver)) : kForEver);
}

uint64_t buffer_size() {
  constexpr uint64_t kDefault = 200;
  const std::string text = variable("HCCL_BUFFSIZE");
  return (text.empty() ? kDefault : number("HCCL_BUFFSIZE", text, 1, 1 << 20)) << 20;
}

std::vector<uint32_t> root_ports() {
  constexpr const char* kRange = "HCCL_HOST_SOCKET_PORT_RANGE";
  if (const std::string text = variable(kRange); !text.empty()) return ports_in(kRange, text);
  const std::string base = variable("HCCL_IF_BASE_PORT");
  const uint32_t first = base.empty() ? kFirstPort : number("HCCL_IF_BASE_PORT", base, 1024, 65520);
  std::vector<uint32_t> out;
  for (uint32_t i = 0; i < kPorts && first + i < 65536; ++i) out.push_back(first + i);
  if (base.empty()) out.push_back(0);  // more programs run at once here than on a machine with as many devices
  return out;
}

std::vector<uint32_t> rank_ports() {
  constexpr const char* kRange = "HCCL_NPU_SOCKET_PORT_RANGE";
  return ports_in(kRange, variable(kRange));
}

int listening(const std::string& ip, const std::vector<uint32_t>& ports, uint32_t* got) {
  for (const uint32_t port : ports) {
    const int socket = bound(ip, port, got);
    if (socket >= 0) return socket;
    if (errno == EADDRINUSE) continue;
    const std::string reason = std::strerror(errno);
    throw Refused{HCCL_E_UNAVAIL, "EI0019: Failed to enable listening for the host network adapter socket. Reason: " +
                                      Address(ip, port).text() + ": " + reason};
  }
  throw Refused{HCCL_E_UNAVAIL,
                "EI0019: Failed to enable listening for the host network adapter socket. Reason: The IP address " + ip +
                    " and ports from " + std::to_string(ports.front()) + " on have already been bound"};
}

int connected(const std::string& from, const Address& to, Clock::time_point until) {
  const Peer own = peer_at(from, 0), peer = peer_at(to.ip, to.port);
  const int socket = ::socket(peer.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket < 0) throw std::runtime_error(std::string("no socket: ") + std::strerror(errno));
  send_at_once(socket);
  int error = 0;
  socklen_t size = sizeof error;
  pollfd one{socket, POLLOUT, 0};
  if (bind(socket, reinterpret_cast<const sockaddr*>(&own.storage), own.size)) error = errno;
  else if (!connect(socket, reinterpret_cast<const sockaddr*>(&peer.storage), peer.size) ||
           (errno == EINPROGRESS && poll(&one, 1, left_ms(until)) > 0 &&
            !getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) && !error))
    return socket;
  close(socket);
  return -1;
}

void send_at_once(int socket) {
  const int on = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

std::string other_end(int socket) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  if (getpeername(socket, reinterpret_cast<sockaddr*>(&storage), &size)) return "";
  const Address address = address_in(storage);
  return address.none() ? "" : address.text();
}

std::string this_machine() {
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  char network[64] = {};
  if (readlink("/proc/self/ns/net", network, sizeof network - 1) < 0) *network = 0;
  return boot + network;
}

}  // namespace sim::hccl
