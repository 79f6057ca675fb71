// What the host side of an operator and its kernel name alike.
#pragma once

namespace AscendC {
enum class TopKMode { TOPK_NORMAL, TOPK_NSMALL };
}  // namespace AscendC
