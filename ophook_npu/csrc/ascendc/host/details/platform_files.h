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
    if (device->soc.empty()) fprintf(stderr, "[simulated Ascend] AddPlatformInfo: there is no device\n");
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
  for (const auto& [label, lines] : sections) out.SetPlatformRes(label, lines);
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

// 0 where a call has done what it says.
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
};

}  // namespace fe
