// What is known about the processor, as a context has it: fe::PlatFormInfos.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "text.h"

namespace fe {
enum class LocalMemType { L0_A = 0, L0_B = 1, L0_C = 2, L1 = 3, L2 = 4, UB = 5, HBM = 6, RESERVED };
// Made by the runtime, or by a program that tests a tiling function: SetPlatformRes.
struct PlatFormInfos {
  ophook::host::Text soc;
  uint32_t cube_cores = 0, vector_cores = 0;
  uint64_t ub = 0, l1 = 0, l0a = 0, l0b = 0, l0c = 0, l2 = 0, hbm = 0;
  struct Line {
    ophook::host::Text section, key, value;
  };
  std::vector<Line> lines = {};  // that a program set
  bool of_vector_cores = false;

  bool Init() { return true; }
  uint32_t GetCoreNum() const { return cube_cores && !of_vector_cores ? cube_cores : vector_cores; }
  void SetCoreNumByCoreType(const std::string& type) { of_vector_cores = type == "VectorCore"; }
  void GetLocalMemSize(const LocalMemType& type, uint64_t& size) const {
    const uint64_t sizes[] = {l0a, l0b, l0c, l1, l2, ub, hbm};
    size = type < LocalMemType::RESERVED ? sizes[int(type)] : 0;
  }
  // Lines of a section of CANN's file for each processor; those that are set already and not among them remain.
  void SetPlatformRes(const std::string& label, const std::map<std::string, std::string>& told) {
    for (const auto& line : told) {
      const std::string &key = line.first, &value = line.second;
      if (Line* before = find(label.c_str(), key.c_str())) before->value = value;
      else lines.push_back({label, key, value});
#define TELLS(section, name, field) \
  if (label == section && key == name) field = decltype(field)(std::strtoull(value.c_str(), nullptr, 10));
#define OF_ARCHITECTURE(...)
#include "platform.inc"
#undef OF_ARCHITECTURE
#undef TELLS
    }
    const auto is = [&](const char* section, const char* key) { return label == section && told.count(key); };
    // One whose file counts only AI cores has one of each unit in a core.
    if (is("SoCInfo", "ai_core_cnt") && !is("SoCInfo", "vector_core_cnt")) vector_cores = cube_cores;
    if (is("version", "SoC_version")) soc = told.at("SoC_version");
    else if (is("version", "Short_SoC_version")) soc = told.at("Short_SoC_version");
  }
  // What CANN has in a file for each processor, by section and key; false: it has no such line. One that is not known
  // here is told, since no answer is an answer: that the processor lacks something.
  bool GetPlatformRes(const std::string& label, const std::string& key, std::string& value) const {
    if (const Line* line = find(label.c_str(), key.c_str())) return value = line->value.c_str(), true;
    const Product* is = product();
    if (label == "version" && key == "SoC_version") return value = soc.c_str(), true;
    if (label == "version" && key == "Short_SoC_version" && is) return value = is->begins, true;
#define TELLS(section, name, field) \
  if (label == section && key == name) return value = std::to_string(field), true;
#define OF_ARCHITECTURE(section, name, ...)                \
  if (label == section && key == name && is) {             \
    const char* const told[] = {__VA_ARGS__};              \
    return value = told[is->architecture], !value.empty(); \
  }
#include "platform.inc"
#undef OF_ARCHITECTURE
#undef TELLS
    fprintf(stderr, "[simulated Ascend] GetPlatformRes: %s of %s is not known\n", key.c_str(), label.c_str());
    return false;
  }
  bool GetPlatformResWithLock(const std::string& label, const std::string& key, std::string& value) const {
    return GetPlatformRes(label, key, value);
  }
  // The lines of a section that were set.
  bool GetPlatformRes(const std::string& label, std::map<std::string, std::string>& told) const {
    for (const Line& line : lines)
      if (line.section == label.c_str()) told[line.key] = line.value.c_str();
    return !told.empty();
  }
  struct Product {
    const char* begins;
    int architecture;  // which of the four in platform.inc
  };
  const Product* product() const {
    static const Product all[] = {
        {"Ascend910_93", 0}, {"Ascend910B", 0}, {"Ascend950", 1}, {"Ascend310P", 2}, {"Ascend310B", 3}};
    for (const Product& one : all)
      if (soc.begins(one.begins)) return &one;
    return nullptr;
  }
  const Line* find(const char* section, const char* key) const {
    for (const Line& line : lines)
      if (line.section == section && line.key == key) return &line;
    return nullptr;
  }
  Line* find(const char* section, const char* key) {
    return const_cast<Line*>(static_cast<const PlatFormInfos*>(this)->find(section, key));
  }
};
}  // namespace fe
