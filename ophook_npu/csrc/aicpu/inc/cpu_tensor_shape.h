// The shape of a tensor of an AI CPU kernel.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "cpu_types.h"

namespace aicpu {

class TensorShapeImpl;
class AICPU_VISIBILITY TensorShape {
  friend class CpuKernelUtils;

 public:
  TensorShape() = delete;
  ~TensorShape() = default;

  void SetFormat(Format format);
  Format GetFormat() const;
  bool GetUnknownRank() const;
  void SetUnknownRank(bool unknownRank);
  void SetDimSizes(const std::vector<int64_t>& dims);
  std::vector<int64_t> GetDimSizes() const;
  void SetDimSize(int32_t index, int64_t size);
  int64_t GetDimSize(int32_t index) const;
  int32_t GetDims() const;
  int64_t NumElements() const;

 private:
  explicit TensorShape(const std::shared_ptr<TensorShapeImpl>& impl) : impl_(impl) {}
  std::shared_ptr<TensorShapeImpl> impl_;
  friend struct Access;
};

}  // namespace aicpu
