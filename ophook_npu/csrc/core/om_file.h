// The simulator's .om file, as ophook_npu/sim/atc/om.py writes it: what its head says.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace sim {

enum class OmKind : uint32_t { model = 0, single_operator = 1 };

struct OmFile {
  OmKind kind = OmKind::model;
  std::string_view text, model;  // within the bytes that were read
};

// What CANN's own atc writes first: its files hold a device's machine code.
inline bool is_om_of_cann(std::string_view file) { return file.substr(0, 4) == "IMOD"; }

// "", or what is wrong with the file: the end of a sentence about it.
inline std::string read_om(std::string_view file, OmFile& out) {
  struct Head {
    char magic[8];
    uint32_t version;
    OmKind kind;
    uint64_t text, model;
  };
  static_assert(sizeof(Head) == 32);
  constexpr std::string_view kMagic = "OPHOOKOM";
  constexpr uint32_t kVersion = 1;
  Head head;
  if (is_om_of_cann(file))
    return "was made by CANN's atc and holds a device's code: convert it with the simulator's atc";
  if (file.size() <= sizeof head || file.substr(0, kMagic.size()) != kMagic)
    return "has " + std::to_string(file.size()) + " bytes that are no .om file of the simulator";
  std::memcpy(&head, file.data(), sizeof head);
  if (head.version != kVersion)
    return "has version " + std::to_string(head.version) + " of the format; allowed: " + std::to_string(kVersion) +
           ": convert it anew";
  const uint64_t left = file.size() - sizeof head;
  if (head.text > left || head.model != left - head.text)
    return "is not whole: it has " + std::to_string(file.size()) + " bytes, its head says " +
           std::to_string(sizeof head) + " + " + std::to_string(head.text) + " + " + std::to_string(head.model);
  out = {head.kind, file.substr(sizeof head, head.text), file.substr(sizeof head + head.text)};
  return "";
}

}  // namespace sim
