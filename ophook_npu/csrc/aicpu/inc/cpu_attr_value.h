// An attribute of an AI CPU kernel. Attributes that are tensors or shapes are not simulated.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cpu_tensor.h"
#include "cpu_tensor_shape.h"

namespace aicpu {

class AttrValueImpl;
class AICPU_VISIBILITY AttrValue {
  friend class CpuKernelUtils;

 public:
  AttrValue() = delete;
  ~AttrValue() = default;
  AttrValue(const AttrValue&) = delete;
  AttrValue& operator=(const AttrValue&) = delete;

#define OPHOOK_AICPU_ATTRIBUTE(Name, Type, Given)    \
  Type Get##Name() const;                            \
  void Set##Name(Given value);                       \
  std::vector<Type> GetList##Name() const;           \
  void SetList##Name(const std::vector<Type>& list); \
  void AddList##Name(Given value);                   \
  int32_t List##Name##Size() const;
  OPHOOK_AICPU_ATTRIBUTE(String, std::string, const std::string&)
  OPHOOK_AICPU_ATTRIBUTE(Int, int64_t, int64_t)
  OPHOOK_AICPU_ATTRIBUTE(Float, float, float)
  OPHOOK_AICPU_ATTRIBUTE(Bool, bool, bool)
  OPHOOK_AICPU_ATTRIBUTE(DataType, DataType, DataType)
#undef OPHOOK_AICPU_ATTRIBUTE
  std::vector<std::vector<int64_t>> GetListListInt() const;
  void SetListListInt(const std::vector<std::vector<int64_t>>& lists);

 private:
  explicit AttrValue(const std::shared_ptr<AttrValueImpl>& impl) : impl_(impl) {}
  std::shared_ptr<AttrValueImpl> impl_;
  friend struct Access;
};

}  // namespace aicpu
