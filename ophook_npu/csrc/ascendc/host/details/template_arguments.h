// Tiling keys by template: the arguments that a kernel's template has, which combinations of them there are, and the
// key of one.
#pragma once

#include <initializer_list>
#include <vector>

#include "../../include/ascendc/template_numbers.h"
#include "text.h"

namespace ophook::host {

struct TemplateArgument {
  enum Kind { kNumber, kTruth, kDtype, kDatatype, kFormat, kShared, kCores, kNothing } kind;  // kShared: of cores, too
  Text name;
  unsigned width;                // bits of the key; in a selection 0
  std::vector<uint64_t> values;  // of a datatype or format the first kInput or kOutput with an index counts
};
constexpr uint64_t kInput = uint64_t{1} << 40, kOutput = uint64_t{1} << 41, kNoKey = ~uint64_t{0};
using TemplateSelection = std::vector<TemplateArgument>;

struct Templates {
  Text op;
  std::vector<TemplateArgument> arguments;
  std::vector<TemplateSelection> selections;
};
// Of the operator; the same header in several sources declares one.
OPHOOK_REGISTRY Templates& declare_templates(const char* op, std::vector<TemplateArgument> arguments);
struct OPHOOK_REGISTRY TemplateSelections {
  TemplateSelections(Templates& of, std::vector<TemplateSelection> selections);
};

struct TemplateValue {
  template <typename T>
  TemplateValue(T given) : value(static_cast<uint64_t>(given)) {}
  uint64_t value;
};
// kNoKey where the values are none that a selection lists; tiling is then refused with their names.
OPHOOK_REGISTRY uint64_t template_key(const Templates& of, std::initializer_list<TemplateValue> values);
template <typename... T>
uint64_t template_key(const Templates& of, T... values) {
  return template_key(of, {TemplateValue(values)...});
}

}  // namespace ophook::host

#define OPHOOK_TPL(kind, name, width, ...)                                \
  ::ophook::host::TemplateArgument {                                      \
    ::ophook::host::TemplateArgument::kind, #name, width, { __VA_ARGS__ } \
  }
#define ASCENDC_TPL_DTYPE_DECL(x, ...) OPHOOK_TPL(kDtype, x, 8, __VA_ARGS__)
#define ASCENDC_TPL_DATATYPE_DECL(x, ...) OPHOOK_TPL(kDatatype, x, 8, __VA_ARGS__)
#define ASCENDC_TPL_FORMAT_DECL(x, ...) OPHOOK_TPL(kFormat, x, 8, __VA_ARGS__)
#define ASCENDC_TPL_UINT_DECL(x, bw, ...) OPHOOK_TPL(kNumber, x, bw, __VA_ARGS__)
#define ASCENDC_TPL_BOOL_DECL(x, ...) OPHOOK_TPL(kTruth, x, 1, __VA_ARGS__)
#define ASCENDC_TPL_DTYPE_SEL(x, ...) OPHOOK_TPL(kDtype, x, 0, __VA_ARGS__)
#define ASCENDC_TPL_DATATYPE_SEL(x, ...) OPHOOK_TPL(kDatatype, x, 0, __VA_ARGS__)
#define ASCENDC_TPL_FORMAT_SEL(x, ...) OPHOOK_TPL(kFormat, x, 0, __VA_ARGS__)
#define ASCENDC_TPL_UINT_SEL(x, ...) OPHOOK_TPL(kNumber, x, 0, __VA_ARGS__)
#define ASCENDC_TPL_BOOL_SEL(x, ...) OPHOOK_TPL(kTruth, x, 0, __VA_ARGS__)
#define ASCENDC_TPL_KERNEL_TYPE_DECL(x, ...) OPHOOK_TPL(kShared, x, 8, __VA_ARGS__)
#define ASCENDC_TPL_SHARED_KERNEL_TYPE_SEL(x, ...) OPHOOK_TPL(kShared, x, 0, __VA_ARGS__)
#define ASCENDC_TPL_INPUT(index) (::ophook::host::kInput | (index))
#define ASCENDC_TPL_OUTPUT(index) (::ophook::host::kOutput | (index))

// Which cores a selection's kernel runs on. The name is told as the value's place in this list.
#define OPHOOK_TPL_CORES(name) (::ophook::host::TemplateCores::name)
namespace ophook::host {
enum TemplateCores : uint64_t { AIV_ONLY, AIC_ONLY, MIX_AIV_1_0, MIX_AIC_1_0, MIX_AIC_1_1, MIX_AIC_1_2 };
constexpr const char* kTemplateCores[] = {"AIV_ONLY",    "AIC_ONLY",    "MIX_AIV_1_0",
                                          "MIX_AIC_1_0", "MIX_AIC_1_1", "MIX_AIC_1_2"};
}  // namespace ophook::host
#define ASCENDC_TPL_AIV_ONLY OPHOOK_TPL_CORES(AIV_ONLY)
#define ASCENDC_TPL_AIC_ONLY OPHOOK_TPL_CORES(AIC_ONLY)
#define ASCENDC_TPL_MIX_AIV_1_0 OPHOOK_TPL_CORES(MIX_AIV_1_0)
#define ASCENDC_TPL_MIX_AIC_1_0 OPHOOK_TPL_CORES(MIX_AIC_1_0)
#define ASCENDC_TPL_MIX_AIC_1_1 OPHOOK_TPL_CORES(MIX_AIC_1_1)
#define ASCENDC_TPL_MIX_AIC_1_2 OPHOOK_TPL_CORES(MIX_AIC_1_2)
#define ASCENDC_TPL_KERNEL_TYPE_SEL(x) OPHOOK_TPL(kCores, kernel_type, 0, x)
// What the kernel reads its tiling as, it says itself (GET_TILING_DATA_WITH_STRUCT); results never depend on an order
// here.
#define ASCENDC_TPL_TILING_STRUCT_SEL(x) OPHOOK_TPL(kNothing, tiling_struct, 0, 0)
#define ASCENDC_TPL_DETERMINISTIC_SEL(x) OPHOOK_TPL(kNothing, deterministic, 0, 0)

#define ASCENDC_TPL_ARGS_DECL(op, ...) \
  static ::ophook::host::Templates& ophook_templates = ::ophook::host::declare_templates(#op, {__VA_ARGS__})
#define ASCENDC_TPL_ARGS_SEL(...) \
  ::ophook::host::TemplateSelection { __VA_ARGS__ }
#define ASCENDC_TPL_SEL(...) \
  static const ::ophook::host::TemplateSelections ophook_selections(ophook_templates, {__VA_ARGS__})
#define GET_TPL_TILING_KEY(...) ::ophook::host::template_key(ophook_templates, __VA_ARGS__)
#define ASCENDC_TPL_SEL_PARAM(context, ...)                     \
  do {                                                          \
    (context)->SetTilingKey(GET_TPL_TILING_KEY({__VA_ARGS__})); \
  } while (0)
