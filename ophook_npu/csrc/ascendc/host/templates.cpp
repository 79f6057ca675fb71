// Tiling keys by template: every combination that a selection lists, each with its key.
#include "templates.h"

#include <algorithm>
#include <map>

#include "details/template_arguments.h"

namespace ophook::host {
namespace {

constexpr size_t kMostKeys = 4096;

std::map<std::string, Templates>& all() {
  static std::map<std::string, Templates> templates;
  return templates;
}
thread_local std::string why_none;

bool is_argument(const TemplateArgument& a) { return a.kind < TemplateArgument::kCores; }

// The numbers that a list means: those of an unsigned argument begin with how they are written.
std::vector<uint64_t> expanded(const TemplateArgument& a) {
  std::vector<uint64_t> out;
  size_t i = 0;
  if (a.kind == TemplateArgument::kNumber && !a.values.empty()) {
    const uint64_t form = a.values[i++];
    if (form != ASCENDC_TPL_UI_LIST && i < a.values.size())
      for (uint64_t ranges = a.values[i++]; ranges && i + 1 < a.values.size(); --ranges, i += 2)
        for (uint64_t v = a.values[i]; v <= a.values[i + 1] && out.size() <= kMostKeys; ++v) out.push_back(v);
    if (form == ASCENDC_TPL_UI_RANGE) return out;
  }
  for (; i < a.values.size(); ++i)
    if (a.values[i] < kInput) out.push_back(a.values[i]);
  return out;
}

struct Listed {
  uint64_t key;
  std::vector<uint64_t> values;
  std::string cores;
};

// A number is the place of its value in the declaration: the page counts its bits from how many values there are.
// What is declared nowhere is coded as their number.
using Declared = std::vector<std::vector<uint64_t>>;
uint64_t coded(const TemplateArgument& a, const std::vector<uint64_t>& declared, uint64_t value) {
  if (a.kind != TemplateArgument::kNumber) return value;
  return uint64_t(std::find(declared.begin(), declared.end(), value) - declared.begin());
}

uint64_t key_of(const Templates& t, const Declared& declared, const std::vector<uint64_t>& values) {
  uint64_t key = 0;
  unsigned shift = 0;
  for (size_t i = 0; i < t.arguments.size(); ++i) {
    key |= coded(t.arguments[i], declared[i], values[i]) << shift;
    shift += t.arguments[i].width;
  }
  return key;
}

// `error`: what is wrong with the declaration itself.
std::vector<Listed> listed(const Templates& t, std::string& error) {
  std::vector<Listed> out;
  Declared declared;
  unsigned width = 0;
  for (const TemplateArgument& a : t.arguments) {
    width += a.width;
    const bool number = a.kind == TemplateArgument::kNumber;
    const std::vector<uint64_t>& all = declared.emplace_back(expanded(a));
    for (const uint64_t v : all)
      if (a.width < 64 && coded(a, all, v) >> a.width)
        error = a.name + " is declared with " + std::to_string(number ? all.size() : v) + (number ? " values" : "") +
                ", which " + std::to_string(a.width) + " bits do not hold";
  }
  if (width > 63) error = "the arguments of " + t.op + " take " + std::to_string(width) + " bits; allowed: up to 63";
  if (t.selections.empty()) error = t.op + " has an ASCENDC_TPL_ARGS_DECL and no ASCENDC_TPL_SEL";
  for (const TemplateSelection& selection : t.selections) {
    if (!error.empty()) return {};
    std::string cores;
    for (const TemplateArgument& a : selection)
      if (a.kind == TemplateArgument::kCores) cores = kTemplateCores[a.values.front()];
    std::vector<Listed> some{{0, {}, cores}};
    for (size_t i = 0; i < t.arguments.size(); ++i) {
      const TemplateArgument& a = t.arguments[i];
      const TemplateArgument* chosen = &a;  // one that the selection leaves out has all its values
      for (const TemplateArgument& s : selection)
        if (is_argument(s) && s.name == a.name) chosen = &s;
      const std::vector<uint64_t> values = expanded(*chosen);
      for (const uint64_t value : values)
        if (a.kind == TemplateArgument::kNumber && coded(a, declared[i], value) == declared[i].size())
          error = "an ASCENDC_TPL_SEL has " + a.name + "=" + std::to_string(value) +
                  ", which ASCENDC_TPL_UINT_DECL does not list";
      std::vector<Listed> more;
      for (const Listed& one : some)
        for (const uint64_t value : values) {
          more.push_back(one);
          more.back().values.push_back(value);
          if (a.kind == TemplateArgument::kShared) more.back().cores = kTemplateCores[value];
        }
      some = std::move(more);
      if (some.size() > kMostKeys) {
        error = t.op + " has more than " + std::to_string(kMostKeys) + " tiling keys";
        return {};
      }
    }
    for (Listed& one : some) {
      one.key = key_of(t, declared, one.values);
      bool known = false;
      for (const Listed& before : out) known |= before.key == one.key;
      if (!known) out.push_back(std::move(one));
    }
  }
  return out;
}

std::string named(const Templates& t, const std::vector<uint64_t>& values) {
  std::string out;
  for (size_t i = 0; i < t.arguments.size() && i < values.size(); ++i)
    out += (i ? ", " : "") + t.arguments[i].name + "=" + std::to_string(values[i]);
  return out;
}

const Templates* find(const std::string& op) {
  const auto found = all().find(op);
  if (found != all().end()) return &found->second;
  return all().size() == 1 && only_operator() ? &all().begin()->second : nullptr;  // declared under another name
}

}  // namespace

Templates& declare_templates(const char* op, std::vector<TemplateArgument> arguments) {
  Templates& t = all()[op];
  t.op = op, t.arguments = std::move(arguments);
  return t;
}
TemplateSelections::TemplateSelections(Templates& of, std::vector<TemplateSelection> selections) {
  of.selections = std::move(selections);
}

uint64_t template_key(const Templates& t, std::initializer_list<TemplateValue> given) {
  std::vector<uint64_t> values;
  for (const TemplateValue& v : given) values.push_back(v.value);
  std::string error;
  if (values.size() != t.arguments.size()) {
    why_none = "GET_TPL_TILING_KEY got " + std::to_string(values.size()) + " values; " + t.op + " declares " +
               std::to_string(t.arguments.size());
    return kNoKey;
  }
  for (const Listed& one : listed(t, error))
    if (one.values == values) return one.key;
  why_none = error.empty() ? "no ASCENDC_TPL_SEL of " + t.op + " lists " + named(t, values) : error;
  return kNoKey;
}

void forget_template_error() { why_none.clear(); }
std::string template_error(const std::string& op, uint64_t key) {
  const Templates* t = find(op);
  if (!t) return "";
  std::string error;
  for (const Listed& one : listed(*t, error))
    if (one.key == key) return "";
  if (!error.empty()) return error;
  return why_none.empty() ? "no ASCENDC_TPL_SEL of " + t->op + " lists the tiling key " + std::to_string(key)
                          : why_none;
}

std::string templates_of(const std::string& op) {
  const Templates* t = find(op);
  if (!t) return "{}";
  std::string error, out = "{\"arguments\":[";
  const std::vector<Listed> keys = listed(*t, error);
  for (const TemplateArgument& a : t->arguments) {
    constexpr const char* kinds[] = {"number", "truth", "dtype", "datatype", "format", "cores"};
    const auto bound = std::find_if(a.values.begin(), a.values.end(), [](uint64_t v) { return v >= kInput; });
    const uint64_t first = bound == a.values.end() ? 0 : *bound;
    const bool input = first & kInput, output = first & kOutput;
    out += std::string(out.back() == '[' ? "" : ",") + "{\"name\":\"" + a.name + "\",\"kind\":\"" + kinds[a.kind] +
           "\",\"bound\":" +
           (input || output
                ? std::string("[\"") + (input ? "input" : "output") + "\"," + std::to_string(first & 0xffffffffu) + "]"
                : "null") +
           "}";
  }
  out += "],\"error\":\"" + error + "\",\"keys\":[";
  for (const Listed& one : keys) {
    out += std::string(out.back() == '[' ? "" : ",") + "{\"key\":" + std::to_string(one.key) + ",\"cores\":\"" +
           one.cores + "\",\"values\":[";
    for (size_t i = 0; i < one.values.size(); ++i) out += (i ? "," : "") + std::to_string(one.values[i]);
    out += "]}";
  }
  return out + "]}";
}

}  // namespace ophook::host
