// The processor that this thread's device is, for programs and operators' own aclnn functions.
#ifndef OPHOOK_ACLNN_OPDEV_PLATFORM_H_
#define OPHOOK_ACLNN_OPDEV_PLATFORM_H_

#include <cstdint>
#include <string>

#include "acl/acl_rt.h"
#include "platform/soc_spec.h"

namespace fe {
struct PlatFormInfos;
}

namespace op {

// The numbers are ours: programs compare names.
enum class SocVersion : uint32_t {
  ASCEND910,
  ASCEND910B,
  ASCEND910_93,
  ASCEND950,
  ASCEND910E,
  ASCEND310,
  ASCEND310P,
  ASCEND310B,
  ASCEND310C,
  ASCEND610LITE,
  ASCEND615A,
  RESERVED_VERSION = 99999
};

class PlatformInfo {
 public:
  SocVersion GetSocVersion() const {
    const std::string& name = GetSocLongVersion();
    const auto begins = [&](const char* with) { return name.rfind(with, 0) == 0; };
    if (begins("Ascend950")) return SocVersion::ASCEND950;
    if (begins("Ascend910_93")) return SocVersion::ASCEND910_93;
    if (begins("Ascend910B")) return SocVersion::ASCEND910B;
    if (begins("Ascend310P")) return SocVersion::ASCEND310P;
    if (begins("Ascend310B")) return SocVersion::ASCEND310B;
    return SocVersion::RESERVED_VERSION;
  }
  const std::string& GetSocLongVersion() const {
    static const std::string name = [] {
      const char* told = aclrtGetSocName();
      return std::string(told ? told : "");
    }();
    return name;
  }
  NpuArch GetCurNpuArch() const {
    switch (GetSocVersion()) {
      case SocVersion::ASCEND950: return NpuArch::DAV_3510;
      case SocVersion::ASCEND310P: return NpuArch::DAV_2002;
      case SocVersion::ASCEND310B: return NpuArch::DAV_3002;
      case SocVersion::RESERVED_VERSION: return NpuArch::DAV_RESV;
      default: return NpuArch::DAV_2201;
    }
  }
  int32_t GetDeviceId() const {
    int32_t device = 0;
    return aclrtGetDevice(&device) ? 0 : device;
  }
  int64_t GetBlockSize() const { return 32; }  // bytes
  uint32_t GetCubeCoreNum() const { return cores(ACL_DEV_ATTR_CUBE_CORE_NUM); }
  uint32_t GetVectorCoreNum() const { return cores(ACL_DEV_ATTR_VECTOR_CORE_NUM); }
  fe::PlatFormInfos* GetPlatformInfos() const;  // of opdev's other headers
  bool Valid() const { return GetSocVersion() != SocVersion::RESERVED_VERSION; }

 private:
  static uint32_t cores(aclrtDevAttr kind) {
    int32_t device = 0;
    int64_t count = 0;
    if (!aclrtGetDevice(&device)) aclrtGetDeviceInfo(uint32_t(device), kind, &count);
    return uint32_t(count);
  }
};

inline const PlatformInfo& GetCurrentPlatformInfo() {
  static const PlatformInfo info;
  return info;
}

}  // namespace op

#endif
