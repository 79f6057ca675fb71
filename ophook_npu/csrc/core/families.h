// The products that CANN's pages tell apart; a SoC is of the one that its name begins with.
#pragma once

#include <array>
#include <string_view>

namespace sim {

constexpr std::array<std::string_view, 5> kFamilies{"Ascend910B", "Ascend910_93", "Ascend950", "Ascend310P",
                                                    "Ascend310B"};

}  // namespace sim
