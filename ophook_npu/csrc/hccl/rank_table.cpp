// What is refused, and with which code, is what HCCL's pages and its own check refuse. Where a page and the check
// differ, the check decides: a field that is missing is HCCL_E_NOT_FOUND, one with a wrong value HCCL_E_PARA.
#include "rank_table.h"

#include <charconv>
#include <climits>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "communicator.h"
#include "core/json.h"
#include "core/visible.h"

namespace sim::hccl {
namespace {

constexpr const char *kDevicePort = "16666", *kHostPort = "60000";  // where the table says none
constexpr size_t kLongestServer = 64;

[[noreturn]] void wrong_value(const std::string& field, const std::string& value, const std::string& expected) {
  throw Refused{HCCL_E_PARA, "EI0014: Value [" + value + "] for config [" + field +
                                 "] of the rank table is invalid. Expected value: " + expected};
}

[[noreturn]] void missing(const char* field, HcclResult code = HCCL_E_NOT_FOUND) {
  throw Refused{code, std::string("EI0017: Config ") + field + " is missing in the ranktable file" +
                          (code == HCCL_E_NOT_FOUND ? "" : ", or is not what it has to be")};
}

// A text; that of `otherwise` where the field is optional and missing.
std::string text_of(const Json& of, const char* field, const char* otherwise = nullptr) {
  const Json* found = find(of, field);
  if (!found && otherwise) return otherwise;
  if (!found) missing(field);
  if (found->kind != Json::Kind::text) missing(field, HCCL_E_PARA);
  return found->text;
}

const std::vector<Json>& list_of(const Json& of, const char* field) {
  const Json* found = find(of, field);
  if (!found) missing(field);
  if (found->kind != Json::Kind::list || found->list.empty()) missing(field, HCCL_E_PARA);
  return found->list;
}

uint32_t number_of(const char* field, const std::string& text, uint32_t least, uint32_t most) {
  uint32_t value = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || at != end || value < least || value > most)
    wrong_value(field, text, "range[" + std::to_string(least) + ", " + std::to_string(most) + "]");
  return value;
}

std::string ip_of(const char* field, const std::string& text) {
  if (!text.empty() && !is_ip(text)) wrong_value(field, text, "an IPv4 or IPv6 address");
  return text;
}

// What the entries of a table must not have in common.
struct Seen {
  std::set<std::string> servers, ips;
  std::map<uint32_t, TableRank> ranks;
};

void read_device(const Json& device, const std::string& server, const std::string& host, bool several, bool pods,
                 Seen& seen) {
  TableRank out;
  out.server = server;
  const uint32_t rank = number_of("rank_id", text_of(device, "rank_id"), 0, INT_MAX);
  out.device = number_of("device_id", text_of(device, "device_id"), 0, uint32_t(sim_installed_devices()) - 1);
  const std::string ip = text_of(device, "device_ip", "");
  const uint32_t device_port = number_of("device_port", text_of(device, "device_port", kDevicePort), 1, 65535);
  const uint32_t host_port = number_of("host_port", text_of(device, "host_port", kHostPort), 1, 65535);
  if (several && ip.empty() && host.empty()) wrong_value("device_ip", ip, "a valid IP address");
  std::istringstream ips(ip);
  for (std::string each; std::getline(ips, each, ',');) {
    if (!seen.ips.insert(each).second) wrong_value("device_ip", each, "an address that no other device has");
    out.addresses.emplace_back(ip_of("device_ip", each), device_port);
  }
  if (!host.empty()) out.addresses.emplace_back(host, host_port);
  if (is_ip(server) && server != host) out.addresses.emplace_back(server, host_port);
  if (pods && text_of(device, "super_device_id", "none").empty())
    throw Refused{HCCL_E_PARA, "EI0004: super_device_id[] is invalid"};
  if (!seen.ranks.emplace(rank, std::move(out)).second)
    wrong_value("rank_id", std::to_string(rank), "a number that no other device has");
}

RankTable checked(const Json& table) {
  if (text_of(table, "status") != "completed")
    throw Refused{HCCL_E_TIMEOUT, "EI0004: the rank table is not completed (status " + text_of(table, "status") +
                                      "); CANN waits for it for 30 minutes, the simulator does not"};
  const std::string version = text_of(table, "version");
  if (version != "1.0" && version != "1.2")
    throw Refused{HCCL_E_NOT_SUPPORT, "a rank table of version " + version + " is not simulated; allowed: 1.0, 1.2"};
  const auto& servers = list_of(table, "server_list");
  const std::string count = text_of(table, "server_count", std::to_string(servers.size()).c_str());
  if (count != std::to_string(servers.size())) wrong_value("server_count", count, std::to_string(servers.size()));
  Seen seen;
  for (const Json& server : servers) {
    const std::string id = text_of(server, "server_id");
    if (id.empty() || id.size() > kLongestServer) wrong_value("server_id", id, "1 to 64 characters");
    if (!seen.servers.insert(id).second) wrong_value("server_id", id, "a name that no other server has");
    const std::string host = ip_of("host_ip", text_of(server, "host_ip", ""));
    for (const Json& device : list_of(server, "device"))
      read_device(device, id, host, servers.size() > 1, version == "1.2", seen);
  }
  RankTable out{uint32_t(servers.size()), {}, {}};
  std::set<std::string> left;  // servers whose ranks are behind
  for (auto& [rank, one] : seen.ranks) {
    if (rank != out.ranks.size())
      throw Refused{HCCL_E_UNAVAIL, "EI0014: the ranks of the table are not 0 to " +
                                        std::to_string(seen.ranks.size() - 1) + ": " +
                                        std::to_string(out.ranks.size()) + " is missing"};
    if (!out.ranks.empty() && out.ranks.back().server != one.server) left.insert(out.ranks.back().server);
    if (left.contains(one.server))
      wrong_value("rank_id", std::to_string(rank), "a number next to those of its server, " + one.server);
    out.ranks.push_back(std::move(one));
  }
  return out;
}

Json json_of(const std::string& text) try {
  return JsonReader(text).whole();
} catch (const std::invalid_argument& error) {
  throw Refused{HCCL_E_PARA, error.what()};
}

}  // namespace

RankTable read_rank_table(const char* path) {
  char real[PATH_MAX];
  std::ifstream file;
  if (realpath(path, real)) file.open(real);
  if (!file)
    throw Refused{HCCL_E_PARA, std::string("EI0004: The ranktable or rank is invalid, Reason:[path ") + path +
                                   " is not a valid real path]"};
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  try {
    RankTable out = checked(json_of(text));
    out.text = text;
    return out;
  } catch (Refused& refused) {
    refused.what += std::string(" (") + path + ")";
    if (refused.what.rfind("EI", 0))
      refused.what = "EI0004: The ranktable or rank is invalid, Reason:[" + refused.what + "]";
    throw refused;
  }
}

}  // namespace sim::hccl
