// Part of every operator's host library: the C interface.
#include "host.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <set>

#include "details/call.h"
#include "details/platform.h"
#include "registry.h"
#include "templates.h"

namespace ophook::host {
namespace {

int fail(char* error, size_t capacity, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(error, capacity, format, arguments);
  va_end(arguments);
  return 1;
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}
template <typename T, typename F>
std::string joined(const std::vector<T>& values, F text) {
  std::string out = "[";
  for (size_t i = 0; i < values.size(); ++i) out += (i ? "," : "") + text(values[i]);
  return out + "]";
}

// `values`, `computed`: what is registered about it elsewhere.
std::string param(const ops::OpParamDef& p, bool values, bool computed) {
  auto number = [](auto value) { return std::to_string(int(value)); };
  return "{\"name\":" + quoted(p.name) + ",\"kind\":" + std::to_string(int(p.kind)) +
         ",\"dtypes\":" + joined(p.dtypes, number) + ",\"queried\":" + joined(p.queried, number) +
         ",\"formats\":" + joined(p.formats, number) + ",\"listed\":" + (p.listed ? "true" : "false") +
         ",\"values\":" + (p.values || values ? "true" : "false") +
         ",\"follows\":" + quoted(p.as_other(ops::FollowType::DTYPE) ? p.follows : "") +
         ",\"computed\":" + (p.computed || computed ? "true" : "false") + ",\"scalar\":" + number(p.scalar) +
         ",\"version\":" + number(p.version) + ",\"to\":" + number(p.to) + ",\"to_of\":" + quoted(p.to_of) +
         ",\"initial\":" +
         joined(p.initial,
                [](const ops::ScalarVar& v) {
                  return "[" + std::to_string(uint32_t(v.scalar_type)) + "," + v.number() + "]";
                }) +
         "}";
}
std::string attr(const ops::OpAttrDef& a) {
  std::string preset = "null";
  char number[64];
  switch (a.preset.kind) {
    case gert::AttrValue::kInt: preset = std::to_string(a.preset.whole); break;
    case gert::AttrValue::kBool: preset = a.preset.flag ? "true" : "false"; break;
    case gert::AttrValue::kFloat:
      std::snprintf(number, sizeof number, "%.9g", double(a.preset.real)), preset = number;
      break;
    case gert::AttrValue::kText: preset = quoted(a.preset.text); break;
    case gert::AttrValue::kInts: preset = joined(a.preset.wholes, [](int64_t v) { return std::to_string(v); }); break;
    case gert::AttrValue::kFloats: preset = joined(a.preset.reals, [](float v) { return std::to_string(v); }); break;
    case gert::AttrValue::kBools:
      preset = joined(a.preset.wholes, [](int64_t v) { return std::string(v ? "true" : "false"); });
      break;
    case gert::AttrValue::kIntLists: {
      size_t from = 0;
      preset = joined(a.preset.lengths, [&](size_t length) {
        const auto begin = a.preset.wholes.begin() + ptrdiff_t(from);
        from += length;
        return joined(std::vector<int64_t>(begin, begin + ptrdiff_t(length)),
                      [](int64_t v) { return std::to_string(v); });
      });
      break;
    }
    default: break;
  }
  return "{\"version\":" + std::to_string(a.version) + ",\"name\":" + quoted(a.name) + ",\"type\":" + quoted(a.type) +
         ",\"required\":" + (a.required ? "true" : "false") + ",\"default\":" + preset + "}";
}

void write_struct(const optiling::TilingDef& def, std::set<std::string>& done, std::string& out) {
  if (def.known() || !done.insert(def.GetTilingClassName()).second) return;
  for (const auto& f : def.fields())
    if (f.nested) write_struct(def.nested(f), done, out);
  out += "struct alignas(8) " + std::string(def.GetTilingClassName()) + " {\n";
  for (const auto& f : def.fields())
    out += std::string(f.nested ? "  alignas(8) " : "  ") + f.type + " " + f.name +
           (f.count ? "[" + std::to_string(f.count) + "]" : "") + ";\n";
  out += "};\n";
}

// What GET_TILING_DATA reads where a tiling key has a structure of its own, registered as TYPE_KEY: the members that
// the operator's structure has, too. CANN compiles each key by itself, with that key's structure.
std::string read_by_key(const std::string& type, const optiling::TilingDef& whole) {
  std::string cases;
  for (const auto& one : registry().tilings) {
    const std::string& name = one.first;
    if (name.compare(0, type.size() + 1, type + "_") || name.size() == type.size() + 1 ||
        name.find_first_not_of("0123456789", type.size() + 1) != std::string::npos)
      continue;
    const std::unique_ptr<optiling::TilingDef> own(one.second.second());
    if (!std::strcmp(own->GetTilingClassName(), whole.GetTilingClassName())) continue;
    const std::string of = own->GetTilingClassName();
    cases += "    case " + name.substr(type.size() + 1) + "ull: {\n      " + of +
             " own{};\n      read(&own, sizeof own, \"" + of + "\");\n";
    for (const auto& f : whole.fields())
      for (const auto& g : own->fields()) {
        if (std::string(f.name) != g.name || !f.count != !g.count || f.nested != g.nested) continue;
        if (f.nested && std::string(f.type) != g.type) continue;
        const std::string member = f.name;
        cases += f.count ? "      for (int i = 0; i < " + std::to_string(std::min(f.count, g.count)) + "; ++i) to." +
                               member + "[i] = own." + member + "[i];\n"
                         : "      to." + member + " = own." + member + ";\n";
      }
    cases += "      return true;\n    }\n";
  }
  if (cases.empty()) return cases;
  return "template <typename Read>\nbool ophook_tiling_by_key(uint64_t key, OphookDefaultTiling& to, const Read& read) "
         "{\n"
         "  switch (key) {\n" +
         cases + "    default: return false;\n  }\n}\n";
}

}  // namespace
}  // namespace ophook::host

namespace {
thread_local ascendc_soc of_call;
}
void ophook_program_soc(ascendc_soc* out) {
  if (!of_call.name && ophook_device_soc) return ophook_device_soc(out);
  *out = of_call;
}

using namespace ophook::host;

const char* ascendc_describe() {
  static thread_local std::string text;  // the caller copies it before its next call
  text = "[";
  for (const auto& [type, op] : registry().ops) {
    settled(*op);
    const Functions& f = functions_of(type.c_str());
    size_t in = 0, out = 0;
    const auto input = [&](const auto& p) {
      const size_t i = in++;
      return param(*p, f.IsInputDataDependency(i) || f.IsTilingInputDataDependency(i), false);
    };
    const auto output = [&](const auto& p) { return param(*p, false, f.IsOutputShapeDependOnCompute(out++)); };
    text += (text.size() > 1 ? ",{" : "{") + std::string("\"type\":") + quoted(type) +
            ",\"inputs\":" + joined(op->inputs, input) + ",\"outputs\":" + joined(op->outputs, output) +
            ",\"attrs\":" + joined(op->attrs, [](const auto& a) { return attr(*a); }) +
            ",\"socs\":" + joined(op->core.socs, quoted) +
            ",\"kernels\":" + joined(op->core.kernels, [](const auto& k) { return joined(k, quoted); }) +
            ",\"tiling\":" + (f.tiling ? "true" : "false") + ",\"infer\":" + (f.infer_shape ? "true" : "false") +
            ",\"groups\":" + joined(op->communication.groups, quoted) + ",\"refused\":" + quoted(op->refused()) +
            ",\"launches_empty\":" + (op->core.launches_empty ? "true" : "false") + "}";
  }
  text += "]";
  return text.c_str();
}

const char* ascendc_prelude(const char* type) {
  static thread_local std::string text;  // the caller copies it before its next call
  text = "// The tiling data of " + std::string(type) +
         ", as its host side registered it.\n#pragma once\n#include <cstdint>\n#include "
         "\"kernel_tiling/kernel_tiling.h\"\n";
  std::set<std::string> done;
  for (const auto& [key, tiling] : registry().tilings) {
    std::unique_ptr<optiling::TilingDef> def(tiling.second());
    write_struct(*def, done, text);
  }
  auto own = registry().tilings.find(type);
  if (own != registry().tilings.end()) {
    text += "using OphookDefaultTiling = " + own->second.first + ";\n";
    text += read_by_key(type, *std::unique_ptr<optiling::TilingDef>(own->second.second()));
  }
  return text.c_str();
}

const char* ascendc_templates(const char* type) {
  static thread_local std::string text;  // the caller copies it before its next call
  text = templates_of(type);
  return text.c_str();
}

int ascendc_tiles(const char* type) {
  const Functions* found = registered_functions(type);
  return found && found->tiling ? 1 : 0;
}

const void* ascendc_functions(const char* type) { return registered_functions(type); }

int ascendc_tile(const ascendc_call* call, ascendc_tiling* out, char* error, size_t capacity) {
  const Functions& functions = functions_of(call->type);
  if (!functions.tiling) return fail(error, capacity, "%s registers no tiling function", call->type);
  gert::Node node = node_of(*call);
  of_call = call->soc;
  gert::TilingContext context(node);
  if (functions.compile_info_creator) {
    context.compile_info.reset(functions.compile_info_creator(), functions.compile_info_deleter);
    gert::TilingParseContext parse(node, {nullptr, node.platform}, {context.compile_info.get()});
    if (functions.tiling_parse && functions.tiling_parse(&parse) != ge::GRAPH_SUCCESS)
      return fail(error, capacity, "TilingParse of %s failed", call->type);
  }
  forget_template_error();
  if (functions.tiling(&context) != ge::GRAPH_SUCCESS)
    return fail(error, capacity, "the tiling function of %s refuses the call", call->type);
  const gert::TilingData& data = *context.GetRawTilingData();
  if (data.GetDataSize() > sizeof out->data)
    return fail(error, capacity, "%zu bytes of tiling data; allowed: up to %zu", data.GetDataSize(), sizeof out->data);
  if (context.block_dim == 0)
    return fail(error, capacity, "the tiling function of %s sets no block dim (SetBlockDim)", call->type);
  if (const std::string why = template_error(call->type, context.tiling_key); !why.empty())
    return fail(error, capacity, "%s", why.c_str());
  out->block_dim = context.block_dim;
  out->tiling_key = context.tiling_key;
  out->need_atomic = context.need_atomic;
  out->workspace = 0;
  for (const size_t size : context.workspaces) out->workspace += size;
  out->size = data.GetDataSize();
  std::memcpy(out->data, data.GetData(), data.GetDataSize());
  return 0;
}

int ascendc_infer(const ascendc_call* call, char* error, size_t capacity) {
  const Functions& functions = functions_of(call->type);
  gert::Node node = node_of(*call);
  if (functions.infer_datatype) {
    gert::InferDataTypeContext context(node);
    if (functions.infer_datatype(&context) != ge::GRAPH_SUCCESS)
      return fail(error, capacity, "%s refuses these data types", call->type);
  }
  if (!functions.infer_shape)
    return fail(error, capacity, "%s registers no shape inference", call->type), ASCENDC_INFERS_NOTHING;
  gert::InferShapeContext context(node);
  if (functions.infer_shape(&context) != ge::GRAPH_SUCCESS)
    return fail(error, capacity, "%s refuses these shapes", call->type);
  take_inferred(node, *call, functions.infer_datatype != nullptr);
  return 0;
}
