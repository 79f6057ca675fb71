// Tiling structures: setters for the host here, and a plain structure for the kernel that the build writes from the
// same fields.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "text.h"

namespace AscendC {}  // namespace AscendC

namespace optiling {

class TilingDef {
 public:
  // CANN fills a structure up to a multiple of it, and begins one within another there.
  static constexpr size_t kWhole = 8;
  struct Field {
    const char *type, *name;
    size_t offset, size, align, count;  // offset from the object's begin
    bool nested;
  };
  // `known`: the kernel has the structure from the interface's own header.
  explicit TilingDef(const char* name, bool known = false) : name_(name), known_(known) {}
  virtual ~TilingDef() = default;
  void SaveToBuffer(void* to, size_t capacity) const {
    if (to && GetDataSize() <= capacity) save(static_cast<uint8_t*>(to));
  }
  size_t GetDataSize() const {
    size_t end = 0;
    for (const Field& f : fields_) end = aligned(end, align_of(f)) + size_of(f);
    size_t most = known_ ? 1 : kWhole;
    for (const Field& f : fields_) most = std::max(most, align_of(f));
    return aligned(end, most);
  }
  // From here on what is set is in `data`, too.
  void SetDataPtr(void* data) {
    bound_ = static_cast<uint8_t*>(data);
    size_t at = 0;
    for (const Field& f : fields_) {
      at = aligned(at, align_of(f));
      if (f.nested) const_cast<TilingDef&>(nested(f)).SetDataPtr(bound_ ? bound_ + at : nullptr);
      at += size_of(f);
    }
    changed();
  }
  const char* GetTilingClassName() const { return name_; }
  bool known() const { return known_; }
  const std::vector<Field>& fields() const { return fields_; }
  const TilingDef& nested(const Field& f) const {
    return *reinterpret_cast<const TilingDef*>(reinterpret_cast<const uint8_t*>(this) + f.offset);
  }
  void save(uint8_t* to) const {
    size_t at = 0;
    for (const Field& f : fields_) {
      at = aligned(at, align_of(f));
      if (f.nested) nested(f).save(to + at);
      else std::memcpy(to + at, reinterpret_cast<const uint8_t*>(this) + f.offset, f.size);
      at += size_of(f);
    }
  }

 protected:
  char add(const char* type, const char* name, const void* value, size_t size, size_t align, size_t count,
           bool nested = false) {
    fields_.push_back({type, name,
                       static_cast<size_t>(static_cast<const uint8_t*>(value) - reinterpret_cast<const uint8_t*>(this)),
                       size, align, count, nested});
    return 0;
  }

  void changed() const {
    if (bound_) save(bound_);
  }

 private:
  static size_t aligned(size_t at, size_t to) { return (at + to - 1) / to * to; }
  size_t size_of(const Field& f) const { return f.nested ? nested(f).GetDataSize() : f.size; }
  static size_t align_of(const Field& f) { return f.nested ? kWhole : f.align; }
  const char* name_;
  bool known_ = false;
  uint8_t* bound_ = nullptr;
  std::vector<Field> fields_;
};

}  // namespace optiling

namespace ophook::host {
// `key` is an operator's type, or type_key for the structure of one tiling key.
using MakeTiling = optiling::TilingDef* (*)();
// An operator's host library has it. A program fills its structures itself: nobody asks for them by an operator's name.
OPHOOK_REGISTRY __attribute__((weak)) void register_tiling(const char* key, const char* name, MakeTiling make);
struct TilingRegistration {
  TilingRegistration(const char* key, const char* name, MakeTiling make) {
    if (register_tiling) register_tiling(key, name, make);
  }
};
}  // namespace ophook::host

#define BEGIN_TILING_DATA_DEF(class_name)         \
  class class_name : public optiling::TilingDef { \
   public:                                        \
    class_name() : optiling::TilingDef(#class_name) {}
#define TILING_DATA_FIELD_DEF(type, field)                      \
  void set_##field(type value) { field##_ = value, changed(); } \
  type get_##field() const { return field##_; }                 \
  type field##_{};                                              \
  char field##_added_ = add(#type, #field, &field##_, sizeof(type), alignof(type), 0);
#define TILING_DATA_FIELD_DEF_ARR(type, length, field)                                                 \
  void set_##field(const type* values) { std::memcpy(field##_, values, sizeof(field##_)), changed(); } \
  type* get_##field() { return field##_; }                                                             \
  type field##_[length] = {};                                                                          \
  char field##_added_ = add(#type, #field, field##_, sizeof(field##_), alignof(type), length);
#define TILING_DATA_FIELD_DEF_STRUCT(type, field) \
  type field;                                     \
  char field##_added_ = add(#type, #field, static_cast<optiling::TilingDef*>(&field), 0, 1, 0, true);
#define END_TILING_DATA_DEF \
  }                         \
  ;
#define REGISTER_TILING_DATA_CLASS(op, class_name)                                 \
  static const ophook::host::TilingRegistration ophook_tiling_##op##_##class_name( \
      #op, #class_name, []() -> optiling::TilingDef* { return new class_name; });
