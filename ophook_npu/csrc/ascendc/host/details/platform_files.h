// A processor by its name, as its file in the toolkit tells of it (data/platform_config), or that of the device.
#pragma once

#include <link.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>

#include "platform.h"

namespace ophook::host {

// In the toolkit that a loaded library is of.
inline std::string platform_file(const std::string& soc) {
  std::string file = "/../data/platform_config/" + soc + ".ini";
  const auto look = [](dl_phdr_info* library, size_t, void* found) {
    std::string& name = *static_cast<std::string*>(found);
    const std::string path = library->dlpi_name, beside = path.substr(0, path.rfind('/')) + name;
    if (path.find('/') == std::string::npos || !std::ifstream(beside)) return 0;
    return name = beside, 1;
  };
  if (dl_iterate_phdr(look, &file)) return file;
  const char* home = std::getenv("ASCEND_HOME_PATH");
  return home ? home + file.substr(3) : "";
}

// False with the reason on stderr.
inline bool read_platform(const char* soc, fe::PlatFormInfos& out) {
  if (!soc) {
    const fe::PlatFormInfos* device = platform_ascendc::platform_now();
    if (device->soc.empty()) fprintf(stderr, "[simulated Ascend] there is no device whose processor could be told\n");
    return out = *device, !device->soc.empty();
  }
  const std::string name = soc;
  std::ifstream file(name.find('/') == std::string::npos ? platform_file(name) : "");
  std::map<std::string, std::map<std::string, std::string>> sections;
  std::string section;
  for (std::string line; std::getline(file, line);) {
    const size_t equals = line.find('=');
    if (!line.empty() && line.front() == '[') section = line.substr(1, line.find(']') - 1);
    else if (equals != std::string::npos) sections[section][line.substr(0, equals)] = line.substr(equals + 1);
  }
  if (sections.empty()) fprintf(stderr, "[simulated Ascend] there is no data/platform_config/%s.ini\n", soc);
  for (const auto& one : sections) out.SetPlatformRes(one.first, one.second);
  return !sections.empty();
}

}  // namespace ophook::host

namespace fe {

class OptionalInfos {
 public:
  bool Init() { return true; }
  std::string GetSocVersion() const { return soc_; }
  void SetSocVersion(const std::string& soc) { soc_ = soc; }

 private:
  ophook::host::Text soc_;
};

// What follows has std::string in it: objects with the older one and with the newer one have one each.
#if _GLIBCXX_USE_CXX11_ABI
inline namespace of_newer_strings {
#else
inline namespace of_older_strings {
#endif

// The same as older programs have it.
struct OptionalInfo {
  std::string soc_version;
};
struct PlatformInfo {
  struct {
    std::string short_soc_version;
  } str_info;
  struct {
    uint32_t ai_core_cnt = 0, vector_core_cnt = 0;
    uint64_t l2_size = 0, memory_size = 0;
  } soc_info;
  struct {
    uint64_t ub_size = 0, l0_a_size = 0, l0_b_size = 0, l0_c_size = 0, l1_size = 0;
  } ai_core_spec;
};

// 0 where a call has done what it says. The processor is the one that a program has set, by its name, or the device's.
class PlatformInfoManager {
 public:
  static PlatformInfoManager& Instance() {
    static PlatformInfoManager all;
    return all;
  }
  static PlatformInfoManager& GeInstance() { return Instance(); }
  uint32_t InitializePlatformInfo() { return 0; }
  uint32_t GetPlatformInfos(const std::string& soc, PlatFormInfos& infos, OptionalInfos& optional) const {
    optional.SetSocVersion(soc);
    return ophook::host::read_platform(soc.c_str(), infos) ? 0 : 1;
  }
  void SetOptionalCompilationInfo(const OptionalInfos& optional) { soc_ = optional.GetSocVersion(); }
  void SetOptionalCompilationInfo(const OptionalInfo& optional) { soc_ = optional.soc_version; }
  uint32_t GetPlatformInfoWithOutSocVersion(PlatFormInfos& infos, OptionalInfos& optional) const {
    optional.SetSocVersion(soc_);
    return ophook::host::read_platform(soc_.empty() ? nullptr : soc_.c_str(), infos) ? 0 : 1;
  }
  uint32_t GetPlatformInfoWithOutSocVersion(PlatformInfo& info, OptionalInfo& optional) const {
    optional.soc_version = soc_;
    const auto found = platform_info_map_.find(soc_);
    if (found != platform_info_map_.end()) return info = found->second, 0;
    PlatFormInfos infos;
    OptionalInfos unused;
    if (const uint32_t failed = GetPlatformInfoWithOutSocVersion(infos, unused)) return failed;
    (void)infos.GetPlatformRes("version", "Short_SoC_version", info.str_info.short_soc_version);
    info.soc_info.ai_core_cnt = infos.cube_cores, info.soc_info.vector_core_cnt = infos.vector_cores;
    info.soc_info.l2_size = infos.l2, info.soc_info.memory_size = infos.hbm;
    info.ai_core_spec.ub_size = infos.ub, info.ai_core_spec.l1_size = infos.l1;
    info.ai_core_spec.l0_a_size = infos.l0a, info.ai_core_spec.l0_b_size = infos.l0b;
    info.ai_core_spec.l0_c_size = infos.l0c;
    return 0;
  }
  std::map<std::string, PlatformInfo> platform_info_map_;

 private:
  std::string soc_;
};

}  // namespace of_newer_strings or of_older_strings
}  // namespace fe
