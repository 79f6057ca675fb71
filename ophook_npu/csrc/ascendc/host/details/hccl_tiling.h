// Mc2CcTilingConfig: what a tiling function says of the tasks that its kernel's Hccl objects prepare.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

#include "../../include/ascendc/hccl_types.h"
#include "../../include/kernel_tiling/kernel_tiling.h"
#include "platform.h"

// Tiling functions say HCCL_CMD_ALLREDUCE and the like without a namespace. The toolkit's header has types of data and
// reductions of the same names, which stand for these where it is there.
using namespace AscendC::hccl_commands;
#if __has_include(<hccl/hccl_types.h>)
#include <hccl/hccl_types.h>
#else
using namespace AscendC::hccl_types;
#endif

namespace AscendC {

// 0, or not 0 where the pages do not list the value; the reason goes to standard error.
class Mc2CcTilingConfig {
 public:
  Mc2CcTilingConfig(const std::string& groupName, uint32_t opType, const std::string& algConfig,
                    uint32_t reduceType = 0, uint8_t dstDataType = 0, uint8_t srcDataType = 0, uint8_t commEngine = 0) {
    SetGroupName(groupName), SetOpType(opType), SetAlgConfig(algConfig);
    SetReduceType(reduceType, dstDataType, srcDataType), SetCommEngine(commEngine);
  }
  virtual ~Mc2CcTilingConfig() = default;

  uint32_t GetTiling(::Mc2InitTiling& tiling) {
    const ophook::hccl::InitTiling told{ophook::hccl::kInitTiling, {}};
    std::memcpy(&tiling, &told, sizeof told);
    return check();
  }
  uint32_t GetTiling(::Mc2CcTiling& tiling) {
    const uint32_t failed = check();
    told_.is = failed ? 0 : ophook::hccl::kCcTiling;  // a kernel refuses one that is not
    std::memcpy(&tiling, &told_, sizeof told_);
    return failed;
  }

  uint32_t SetOpType(uint32_t opType) { return told_.command = opType, 0; }
  uint32_t SetGroupName(const std::string& groupName) { return copy("groupName", groupName, told_.group, group_fits_); }
  uint32_t SetAlgConfig(const std::string& algConfig) {
    return copy("algConfig", algConfig, told_.algorithm, algorithm_fits_);
  }
  uint32_t SetReduceType(uint32_t reduceType, uint8_t dstDataType = 0, uint8_t srcDataType = 0) {
    told_.reduction = reduceType, told_.to = dstDataType, told_.from = srcDataType;
    return 0;
  }
  uint32_t SetStepSize(uint8_t stepSize) { return told_.step = stepSize, 0; }
  uint32_t SetSkipLocalRankCopy(uint8_t skip) { return known("skipLocalRankCopy", skip, 0, 1, told_.skips_own); }
  uint32_t SetSkipBufferWindowCopy(uint8_t skip) {
    return known("skipBufferWindowCopy", skip, 0, 2, told_.from_window);
  }
  uint32_t SetDebugMode(uint8_t debugMode) { return known("debugMode", debugMode, 1, 4, told_.debug); }
  uint32_t SetCommBlockNum(uint16_t num) { return told_.blocks = num, 0; }
  uint32_t SetQueueNum(uint16_t num) { return told_.queues = num, 0; }
  uint32_t SetCommEngine(uint8_t commEngine) { return told_.engine = commEngine, 0; }

 private:
  static uint32_t refuse(const std::string& what) {
    std::cerr << "[simulated Ascend] Mc2CcTilingConfig: " << what << "\n";
    return 1;
  }
  template <size_t size>
  static uint32_t copy(const char* name, const std::string& text, char (&to)[size], bool& fits) {
    fits = text.size() <= size;
    if (!fits)
      return refuse(std::string(name) + " has " + std::to_string(text.size()) + " bytes; allowed: up to " +
                    std::to_string(size));
    std::memset(to, 0, size);
    std::memcpy(to, text.data(), text.size());
    return 0;
  }
  static uint32_t known(const char* name, uint8_t value, uint8_t least, uint8_t most, uint8_t& to) {
    if (value < least || value > most)
      return refuse(std::string(name) + " is " + std::to_string(value) + "; allowed: " + std::to_string(least) +
                    " to " + std::to_string(most));
    to = value;
    return 0;
  }

  struct Command {
    uint32_t command;
    const char* algorithm;  // how one begins on an Atlas A3; other products take any. Its page lists one of each, and
                            // the vendor's own operators use others (level0:ring).
    bool on_a2, on_a3, on_950;
  };
  uint32_t check() const {
    static constexpr Command kCommands[] = {
        {HCCL_CMD_ALLREDUCE, "AllReduce=level0:", true, true, true},
        {HCCL_CMD_ALLGATHER, "AllGather=level0:", true, true, true},
        {HCCL_CMD_REDUCE_SCATTER, "ReduceScatter=level0:", true, true, true},
        {HCCL_CMD_ALLTOALL, "AlltoAll=level0:", true, true, true},
        {HCCL_CMD_ALLTOALLV, "AlltoAll=level0:", true, true, true},  // of an Atlas A2 for its windows alone
        {HCCL_CMD_BATCH_WRITE, "BatchWrite=level0:", true, true, false},
        {HCCL_CMD_HALF_ALLTOALLV, "", false, false, true},
    };
    if (!group_fits_ || !algorithm_fits_) return 1;
    using platform_ascendc::SocVersion;
    const fe::PlatFormInfos* infos = platform_ascendc::platform_now();
    const SocVersion soc = platform_ascendc::PlatformAscendC(infos).GetSocVersion();
    const bool a3 = infos->soc.begins("Ascend910_93"), newer = soc == SocVersion::ASCEND950;
    for (const Command& one : kCommands) {
      if (one.command != told_.command) continue;
      if (a3 && one.command == HCCL_CMD_BATCH_WRITE && std::max<uint32_t>(told_.blocks, 1) * told_.queues > 40)
        return refuse("SetCommBlockNum(" + std::to_string(told_.blocks) + ") and SetQueueNum(" +
                      std::to_string(told_.queues) + "); allowed: up to 40 queues in all");
      if (!(a3 ? one.on_a3 : newer ? one.on_950 : one.on_a2)) break;
      const std::string algorithm(told_.algorithm, strnlen(told_.algorithm, sizeof told_.algorithm));
      if (a3 && algorithm.rfind(one.algorithm, 0))
        return refuse("algConfig is '" + algorithm + "'; allowed on an Atlas A3: '" + one.algorithm + "…'");
      return 0;
    }
    return refuse("opType is " + std::to_string(told_.command) + "; allowed on " +
                  (a3      ? "an Atlas A3: 2, 6, 7, 8, 10, 18"
                   : newer ? "an Ascend950: 2, 6, 7, 8, 10, 20"
                           : "an Atlas A2: 2, 6, 7, 8, 10, 18") +
                  " (HcclCMDType)");
  }

  ophook::hccl::CcTiling told_{};
  bool group_fits_ = true, algorithm_fits_ = true;
};

}  // namespace AscendC
