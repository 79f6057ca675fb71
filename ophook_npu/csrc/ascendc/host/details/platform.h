// PlatformAscendC: what a tiling function asks about the processor.
#pragma once

#include "call.h"
#include "npu_arch.h"
#include "../../program/soc.h"

namespace platform_ascendc {

enum class CoreMemType { L0_A = 0, L0_B = 1, L0_C = 2, L1 = 3, L2 = 4, UB = 5, HBM = 6, FB = 7, BT = 8, RESERVED };
enum class ReservedSize { RESERVED_SIZE_8K, RESERVED_SIZE_16K, RESERVED_SIZE_32K };
enum class SocVersion {
  ASCEND910 = 0,
  ASCEND910B,
  ASCEND310P,
  ASCEND310B,
  ASCEND910_93,
  ASCEND910_95,
  ASCEND950,
  RESERVED_VERSION = 99999
};

class PlatformAscendC {
 public:
  explicit PlatformAscendC(const fe::PlatFormInfos* infos) : infos_(infos) {}
  uint32_t GetCoreNum() const { return GetCoreNumAiv(); }
  uint32_t GetCoreNumAic() const { return infos_->cube_cores; }
  // An Ascend310P's AI core has both units, and besides it has cores with nothing but a vector unit.
  uint32_t GetCoreNumAiv() const { return has_vector_cores() ? infos_->cube_cores : infos_->vector_cores; }
  uint32_t GetCoreNumVector() const { return has_vector_cores() ? infos_->vector_cores : 0; }
  void GetCoreMemSize(const CoreMemType& type, uint64_t& size) const {
    if (type == CoreMemType::FB || type == CoreMemType::BT) return of_architecture(type, size);
    infos_->GetLocalMemSize(fe::LocalMemType(type), size);
    // Of an Atlas A2 or A3 tiling has 256 bytes less: 524032 and 196352 of the 524288 and 196608 in the file. Sources
    // of the vendor's operators name both, and tilings that fill the unified buffer count on it.
    const bool kept = infos_->soc.begins("Ascend910B") || infos_->soc.begins("Ascend910_93");
    if (kept && size > 256 && (type == CoreMemType::UB || type == CoreMemType::L1)) size -= 256;
    if (type == CoreMemType::UB) size -= reserved_;
  }
  // The last call counts.
  void ReserveLocalMemory(ReservedSize size) { reserved_ = uint64_t{8192} << int(size); }
  // Bytes of a vector register, where a kernel sees these.
  uint32_t GetVecRegLen() const { return GetSocVersion() == SocVersion::ASCEND950 ? 256 : 0; }
  // An Atlas A3 is told as an A2, which has the same kernels: so its page says.
  SocVersion GetSocVersion() const {
    if (infos_->soc.begins("Ascend310P")) return SocVersion::ASCEND310P;
    if (infos_->soc.begins("Ascend310B")) return SocVersion::ASCEND310B;
    if (infos_->soc.begins("Ascend950")) return SocVersion::ASCEND950;
    return SocVersion::ASCEND910B;
  }
  NpuArch GetCurNpuArch() const {
    if (const auto* told = infos_->find("version", "NpuArch")) return NpuArch(std::atoi(told->value.c_str()));
    switch (GetSocVersion()) {
      case SocVersion::ASCEND310P: return NpuArch::DAV_2002;
      case SocVersion::ASCEND310B: return NpuArch::DAV_3002;
      case SocVersion::ASCEND950: return NpuArch::DAV_3510;
      default: return NpuArch::DAV_2201;
    }
  }
  // Bytes in a cycle; 0 for the others, which the page reserves.
  void GetCoreMemBw(const CoreMemType& type, uint64_t& bwSize) const {
    std::string rate;
    bwSize = 0;
    if (type != CoreMemType::L2 && type != CoreMemType::HBM) return;
    if (infos_->GetPlatformRes("AICoreMemoryRates", type == CoreMemType::L2 ? "l2_rate" : "ddr_rate", rate))
      bwSize = std::stoull(rate);
  }
  // 16 MiB where cube and vector cores are apart, and 2 MiB where a core has both units, as the vendor's tests have it.
  uint32_t GetLibApiWorkSpaceSize() const { return has_both_units() ? 2 * 1024 * 1024 : 16 * 1024 * 1024; }
  uint32_t GetResCubeGroupWorkSpaceSize() const { return has_both_units() ? ~0u : 1024 * 1024; }
  uint32_t GetResGroupBarrierWorkSpaceSize() const { return GetResCubeGroupWorkSpaceSize(); }
  // More slices than vector cores, two of which go with a cube core, are 0: the vendor's tests call it invalid.
  uint32_t CalcTschBlockDim(uint32_t slices, uint32_t cubes, uint32_t vectors) const {
    if (!cubes || !vectors || cubes > vectors) return slices;
    const uint32_t ratio = vectors / cubes;
    if (ratio == 2 && slices > vectors) return 0;
    return (slices + ratio - 1) / ratio;
  }
  // Its name from CANN 9 on.
  uint32_t CalcTschNumBlocks(uint32_t slices, uint32_t cubes, uint32_t vectors) const {
    return CalcTschBlockDim(slices, cubes, vectors);
  }

 private:
  bool has_both_units() const {
    return GetSocVersion() == SocVersion::ASCEND310P || GetSocVersion() == SocVersion::ASCEND310B;
  }
  void of_architecture(CoreMemType type, uint64_t& size) const {
    const int arch = int(GetCurNpuArch());
    size = 0;
#define ARCHITECTURE(cce, npu, socs, both, ub, l1, l0a, l0b, l0c, bt, fb) \
  if (arch == npu) size = type == CoreMemType::FB ? fb : bt;
#include "../../architectures.inc"
#undef ARCHITECTURE
  }
  bool has_vector_cores() const { return GetSocVersion() == SocVersion::ASCEND310P; }
  const fe::PlatFormInfos* infos_;
  uint64_t reserved_ = 0;
};

// That of the call that is tiled, or of the device that a program runs on.
inline const fe::PlatFormInfos* platform_now() {
  static thread_local fe::PlatFormInfos infos;
  ascendc_soc soc{};
  ophook_program_soc(&soc);
  infos = ophook::host::infos_of(soc);
  return &infos;
}

class PlatformAscendCManager {
 public:
  static PlatformAscendC* GetInstance() {
    static thread_local PlatformAscendC platform(nullptr);
    platform = PlatformAscendC(platform_now());
    return &platform;
  }
  // The simulated SoC, whichever of its family is named.
  static PlatformAscendC* GetInstance(const char*) { return GetInstance(); }
};

}  // namespace platform_ascendc
