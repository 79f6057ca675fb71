#include "opapi/rules.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <numeric>
#include <unordered_set>

#include "opapi/aclnn.h"
#include "opapi/rules_table.h"
#include "opapi/shape_rules.h"
#include "opapi/stored.h"
#include "opapi/watch.h"

namespace sim::aclnn {
namespace {

// The tables lie in the simulator's folder, next to the folder of this library.
const RulesTable& rules_table() {
  static const RulesTable table = [] {
    RulesTable found;
    Dl_info info;
    if (!dladdr(reinterpret_cast<void*>(&find_rules), &info)) return found;
    const auto folder = std::filesystem::path(info.dli_fname).parent_path().parent_path() / "rules";
    std::error_code error;
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(folder, error))
      if (entry.path().extension() == ".rules" && entry.path().stem() != "by_hand") files.push_back(entry.path());
    for (const auto& file : files) read_rules(file, found);
    read_rules(folder / "by_hand.rules", found);  // last: it replaces what the pages' tables say
    read_shapes(folder / "shapes.txt", found);
    return found;
  }();
  return table;
}

std::atomic<int> known_family = kNoFamily;  // a client may call before it initializes ACL: then it is asked again

int current_family() {
  if (const int family = known_family.load(std::memory_order_relaxed); family != kNoFamily) return family;
  const sim_soc* soc = sim_current_soc();
  for (size_t i = 0; soc && i < kFamilies.size(); ++i)
    if (std::string_view(soc->name).starts_with(kFamilies[i])) known_family = int(i);
  return known_family;
}

struct Verdict {
  int code = 0;
  std::string message;
};

std::string shape_text(at::IntArrayRef sizes) {
  std::string text;
  for (int64_t size : sizes) text += (text.empty() ? "" : ", ") + std::to_string(size);
  return "[" + text + "]";
}

bool is_empty(const aclTensor& tensor) {
  return std::any_of(tensor.sizes.begin(), tensor.sizes.end(), [](int64_t size) { return size == 0; });
}

bool is_contiguous(const aclTensor& tensor) {
  int64_t expected = 1;
  for (size_t i = tensor.sizes.size(); i-- > 0; expected *= tensor.sizes[i])
    if (tensor.sizes[i] != 1 && tensor.strides[i] != expected) return false;
  return true;
}

// Whether the first shape is the one to which the two others are brought together.
bool is_broadcast(at::IntArrayRef both, at::IntArrayRef a, at::IntArrayRef b) {
  if (both.size() != std::max(a.size(), b.size())) return false;
  for (size_t back = 1; back <= both.size(); ++back) {
    const int64_t left = back <= a.size() ? a[a.size() - back] : 1, right = back <= b.size() ? b[b.size() - back] : 1;
    if (left != right && left != 1 && right != 1) return false;
    if (both[both.size() - back] != (left == 1 ? right : left)) return false;
  }
  return true;
}

const aclTensor* tensor_of(const Argument& argument) {
  return argument.kind == Argument::kTensor ? static_cast<const aclTensor*>(argument.pointer) : nullptr;
}

const aclTensor* first_tensor_of(const Argument& argument) {
  if (argument.kind != Argument::kList || !argument.pointer) return tensor_of(argument);
  const auto& tensors = static_cast<const aclTensorList*>(argument.pointer)->tensors;
  return tensors.empty() ? nullptr : tensors.front();
}

// Data types that CANN converts by itself: each kind to itself and to those behind it (ophook_npu/sim/rules.py: KINDS).
enum class Kind : unsigned char { kTruth, kWhole, kReal, kComplex, kOther };

Kind kind_of(at::ScalarType type) {
  if (type == at::kBool) return Kind::kTruth;
  if (at::isIntegralType(type, false)) return Kind::kWhole;
  return at::isComplexType(type) ? Kind::kComplex : Kind::kReal;
}

Kind kind_of(aclDataType dtype) {
  const auto is = [dtype](std::initializer_list<aclDataType> types) {
    return std::find(types.begin(), types.end(), dtype) != types.end();
  };
  if (dtype == ACL_BOOL) return Kind::kTruth;
  if (is({ACL_INT8, ACL_INT16, ACL_INT32, ACL_INT64, ACL_UINT8, ACL_UINT16, ACL_UINT32, ACL_UINT64}))
    return Kind::kWhole;
  if (is({ACL_FLOAT, ACL_FLOAT16, ACL_DOUBLE, ACL_BF16})) return Kind::kReal;
  return is({ACL_COMPLEX32, ACL_COMPLEX64, ACL_COMPLEX128}) ? Kind::kComplex : Kind::kOther;
}

// The data type of a tensor, or one that is given by its number; -1: there is none.
int dtype_of(const Argument& argument) {
  if (const aclTensor* tensor = tensor_of(argument)) return tensor->dtype;
  return argument.said == Argument::kNumber ? int(argument.number) : -1;
}

std::string number_text(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.15g", number);
  return text;
}

std::string span_text(const Span& span) {
  if (span.low == span.high) return number_text(span.low);
  std::string text;
  if (!std::isinf(span.low)) text = (span.above ? "more than " : "at least ") + number_text(span.low);
  if (std::isinf(span.high)) return text;
  return text + (text.empty() ? "" : " and ") + (span.below ? "less than " : "at most ") + number_text(span.high);
}

// The number that a limit is about, where the argument has it.
std::optional<double> number_of(const ParameterRules& rule, const Numbers& numbers, const Argument& argument,
                                const aclTensor* tensor) {
  if (tensor)
    return numbers.at < tensor->sizes.size() ? std::optional(double(tensor->sizes[numbers.at])) : std::nullopt;
  if (argument.said == Argument::kNumber) return double(argument.number);
  if (argument.said == Argument::kReal) return argument.real;
  if (!argument.pointer) return std::nullopt;
  if (rule.scalar) {
    const at::Scalar& scalar = static_cast<const aclScalar*>(argument.pointer)->value;
    return scalar.isComplex() ? std::nullopt : std::optional(scalar.toDouble());
  }
  const auto member = [&](const auto& values) -> std::optional<double> {
    if (numbers.of == Numbers::kLength) return double(values.size());
    return numbers.at < values.size() ? std::optional(double(values[numbers.at])) : std::nullopt;
  };
  if (argument.said == Argument::kInts) return member(static_cast<const aclIntArray*>(argument.pointer)->values);
  if (argument.said == Argument::kBools) return member(static_cast<const aclBoolArray*>(argument.pointer)->values);
  return std::nullopt;
}

// A call as the check of one product family looks at it, rule by rule: what a function below finds broken is `found`.
struct Check {
  const FunctionRules& rules;
  const Argument* const arguments;
  const size_t count, family;
  Verdict found{};
  bool empty = false;  // one of the tensors whose emptiness ends the function's check early is

  bool refused() {
    for (const bool invalid : {false, true})  // those first that have a code of their own
      for (size_t i = 0; i < count; ++i)
        if (rules.parameters[i].null_is_invalid == invalid && is_missing(i)) {
          found = {invalid ? kInvalid : kNullPointer,
                   rules.name + ": " + rules.parameters[i].name + " is null and may not be (" + rules.page + ")"};
          return true;
        }
    for (size_t i = 0; rules.free_if_empty && i < count; ++i)
      if (const aclTensor* tensor = rules.parameters[i].free_if_empty ? tensor_of(arguments[i]) : nullptr)
        empty |= is_empty(*tensor);
    for (size_t i = 0; i < count; ++i)
      if (arguments[i].pointer && is_asked_for(i) && tensors_break(i)) return true;
    for (size_t i = 0; i < count; ++i)
      if (arguments[i].kind == Argument::kValue && number_breaks(i)) return true;
    for (size_t i = 0; i < count; ++i)
      if (rules.parameters[i].scalar && arguments[i].pointer && scalar_breaks(i)) return true;
    for (size_t i = 0; i < count; ++i)
      for (const Relation& relation : rules.parameters[i].relations)
        if (holds_here(relation.only) && is_asked_for(i) && relation_breaks(i, relation)) return true;
    if (rules.has_columns && columns_break()) return true;
    for (size_t i = 0; i < count; ++i)
      if (is_asked_for(i) && value_breaks(i)) return true;
    return false;
  }

  // Whether an empty tensor ends the first phase before it looks at this parameter's shape.
  bool is_idle(size_t own) const {
    const auto& relations = rules.parameters[own].relations;
    return std::any_of(relations.begin(), relations.end(), [&](const Relation& relation) {
      const bool here = relation.kind == Relation::kIdle && holds_here(relation.only);
      const aclTensor* tensor = here ? tensor_of(arguments[relation.first]) : nullptr;
      return tensor && is_empty(*tensor);
    });
  }

 private:
  // What an argument breaks, in the words that every refusal has. A shape that CANN's own check compares is as invalid
  // as anything else; the code that a page has for shapes is that of the others.
  bool refuse(size_t own, const std::string& came, const std::string& allowed, int code = 0) {
    found = {code ? code : rules.invalid_code, rules.name + ": " + rules.parameters[own].name + " " + came + "; " +
                                                   std::string(kFamilies[family]) + " allows " + allowed + " (" +
                                                   rules.page + ")"};
    return true;
  }
  bool holds_here(int only) const { return only == kNoFamily || only == int(family); }
  bool is_asked_for(size_t own) const {
    const auto& asked = rules.parameters[own].asked;
    return !asked || arguments[*asked].number;
  }
  bool is_missing(size_t own) const {
    if (arguments[own].kind == Argument::kValue || arguments[own].pointer) return false;
    const ParameterRules& rule = rules.parameters[own];
    if (rule.required || (rule.asked && is_asked_for(own))) return true;
    return std::any_of(rule.relations.begin(), rule.relations.end(), [&](const Relation& relation) {
      return relation.kind == Relation::kEither && !arguments[relation.first].pointer;
    });
  }

  bool tensors_break(size_t own) {
    if (const aclTensor* tensor = tensor_of(arguments[own])) return tensor_breaks(own, *tensor);
    if (arguments[own].kind != Argument::kList) return false;
    const auto& tensors = static_cast<const aclTensorList*>(arguments[own].pointer)->tensors;
    return std::any_of(tensors.begin(), tensors.end(),
                       [&](const aclTensor* tensor) { return tensor && tensor_breaks(own, *tensor); });
  }

  bool tensor_breaks(size_t own, const aclTensor& tensor) {
    const ParameterRules& rule = rules.parameters[own];
    const uint64_t dtypes = rule.free_dtypes && (empty || is_empty(tensor)) ? 0 : rule.dtypes[family];
    if (dtypes && !(dtypes >> tensor.dtype & 1))
      return refuse(own, "has data type " + dtype_name(tensor.dtype), dtype_names(dtypes));
    const size_t rank = tensor.sizes.size();
    if (rule.ranks && !(empty && rule.free_ranks) && (rank >= 32 || !(rule.ranks >> rank & 1)))
      return refuse(own, "has " + std::to_string(rank) + " dimensions", rank_names(rule.ranks),
                    rule.ranks_checked ? kInvalid : rules.shape_code);
    const auto has_one_of = [&](uint64_t formats) {
      return unsigned(tensor.format) < 64 && formats >> unsigned(tensor.format) & 1;
    };
    if (const uint64_t formats = empty && rule.free_formats ? 0 : rule.formats[family]; formats && !has_one_of(formats))
      return refuse(own, "has format " + format_name(tensor.format), format_names(formats));
    for (const FormatsOf& of : rule.formats_of)
      if ((of.dtypes ? of.dtypes >> tensor.dtype & 1 : of.rank == rank) && holds_here(of.only) &&
          !has_one_of(of.formats))
        return refuse(own,
                      "of " + (of.dtypes ? dtype_name(tensor.dtype) : std::to_string(rank) + " dimensions") +
                          " has format " + format_name(tensor.format),
                      format_names(of.formats));
    if (rule.tiled && !is_private(tensor.format) && tensor.storage_sizes.size() < 4)
      return refuse(own, "has a storage " + shape_text(tensor.storage_sizes), "one of 4 or 5 dimensions, in tiles");
    if (is_private(tensor.format) && !rule.private_formats[family] && !rule.any_format)
      return refuse(own, "has the private format " + std::to_string(tensor.format), "ND");
    // What a private format lays out, its storage says, and of no element there is no order.
    if (rule.contiguous && !is_private(tensor.format) && !is_contiguous(tensor) && !is_empty(tensor))
      return refuse(own, "of shape " + shape_text(tensor.sizes) + " has strides " + shape_text(tensor.strides),
                    "no other than contiguous memory");
    return false;
  }

  bool cast_breaks(size_t own, size_t from) {
    const aclTensor *one = tensor_of(arguments[own]), *other = tensor_of(arguments[from]);
    const bool scalar = rules.parameters[from].scalar && arguments[from].pointer;
    if (!one || !(other || scalar)) return false;
    const at::ScalarType number =
        scalar ? static_cast<const aclScalar*>(arguments[from].pointer)->value.type() : at::kFloat;
    const Kind to = kind_of(one->dtype), kind = scalar ? kind_of(number) : kind_of(other->dtype);
    if (kind <= to || to == Kind::kOther || kind == Kind::kOther || (other && one->dtype == other->dtype)) return false;
    return refuse(own, "has data type " + dtype_name(one->dtype),
                  "one to which " + (scalar ? std::string(at::toString(number)) : dtype_name(other->dtype)) + " of " +
                      rules.parameters[from].name + " can be converted");
  }

  // Of a scalar the kind is known, whatever number of bits its caller gave it.
  bool scalar_breaks(size_t own) {
    const at::ScalarType type = static_cast<const aclScalar*>(arguments[own].pointer)->value.type();
    const uint64_t dtypes = rules.parameters[own].dtypes[family];
    uint64_t left = dtypes;
    while (left && kind_of(aclDataType(std::countr_zero(left))) != kind_of(type)) left &= left - 1;
    if (left || !dtypes) return false;
    return refuse(own, std::string("has data type ") + at::toString(type), dtype_names(dtypes));
  }

  bool number_breaks(size_t own) {
    const uint64_t dtypes = rules.parameters[own].dtypes[family];
    const int came = dtype_of(arguments[own]);
    if (!dtypes || came < 0 || (came < 64 && dtypes >> came & 1)) return false;
    return refuse(own, "is " + dtype_name(came), dtype_names(dtypes));
  }

  // Two lists have the same data types member by member.
  bool lists_break(size_t own, size_t other) {
    if (arguments[other].kind != Argument::kList || !arguments[own].pointer || !arguments[other].pointer) return false;
    const auto& left = static_cast<const aclTensorList*>(arguments[own].pointer)->tensors;
    const auto& right = static_cast<const aclTensorList*>(arguments[other].pointer)->tensors;
    for (size_t i = 0; i < std::min(left.size(), right.size()); ++i)
      if (left[i] && right[i] && left[i]->dtype != right[i]->dtype)
        return refuse(own, "has data type " + dtype_name(left[i]->dtype),
                      "that of " + rules.parameters[other].name + ", " + dtype_name(right[i]->dtype));
    return false;
  }

  bool relation_breaks(size_t own, const Relation& relation) {
    const aclTensor *one = tensor_of(arguments[own]), *first = tensor_of(arguments[relation.first]);
    const std::string& other = rules.parameters[relation.first].name;
    switch (relation.kind) {
      case Relation::kCast: return cast_breaks(own, relation.first);
      case Relation::kDtype: {
        if (arguments[own].kind == Argument::kList) return lists_break(own, relation.first);
        const int came = dtype_of(arguments[own]), wanted = dtype_of(arguments[relation.first]);
        if (came < 0 || wanted < 0 || came == wanted) return false;
        if (rules.parameters[own].free_same && (empty || (one && is_empty(*one)))) return false;
        return refuse(own, (one ? "has data type " : "is ") + dtype_name(came),
                      "that of " + other + ", " + dtype_name(wanted));
      }
      case Relation::kFormat:
        if (!one || !first || one->format == first->format) return false;
        return refuse(own, "has format " + format_name(one->format),
                      "that of " + other + ", " + format_name(first->format));
      case Relation::kShape:
        if (!one || !first || one->sizes == first->sizes || is_idle(own)) return false;
        return refuse(own, "has shape " + shape_text(one->sizes), "that of " + other + ", " + shape_text(first->sizes),
                      kInvalid);
      case Relation::kShapeOfBroadcast: {
        const aclTensor* second = tensor_of(arguments[relation.second]);
        if (!one || !first || !second || is_idle(own) || is_broadcast(one->sizes, first->sizes, second->sizes))
          return false;
        return refuse(own, "has shape " + shape_text(one->sizes),
                      "the broadcast of " + shape_text(first->sizes) + " and " + shape_text(second->sizes), kInvalid);
      }
      case Relation::kEither:  // looked at with the null pointers
      case Relation::kIdle: return false;
    }
    return false;
  }

  // A number that is none of those which may be: the parameter's own, the number of an array's, or one of the sizes.
  bool limit_breaks(size_t own, const Numbers& numbers, double number, const aclTensor* tensor) {
    const auto within = [&](const Span& span) {
      return (span.above ? number > span.low : number >= span.low) &&
             (span.below ? number < span.high : number <= span.high);
    };
    if (std::isnan(number) || std::any_of(numbers.spans.begin(), numbers.spans.end(), within)) return false;
    std::string allowed;
    for (const Span& span : numbers.spans) allowed += (allowed.empty() ? "" : ", ") + span_text(span);
    std::string came = (numbers.of == Numbers::kItself ? "is " : "has ") + number_text(number);
    if (numbers.of == Numbers::kLength) came += " numbers";
    if (numbers.of == Numbers::kAt) came += (tensor ? " in dimension " : " at index ") + std::to_string(numbers.at);
    if (tensor) came = "of shape " + shape_text(tensor->sizes) + " " + came;
    return refuse(own, came, allowed);
  }

  bool value_breaks(size_t own) {
    const ParameterRules& rule = rules.parameters[own];
    const Argument& argument = arguments[own];
    const aclTensor* tensor = tensor_of(argument);
    for (const Numbers& numbers : rule.numbers)
      if (holds_here(numbers.only))
        if (const auto number = number_of(rule, numbers, argument, tensor);
            number && limit_breaks(own, numbers, *number, tensor))
          return true;
    if (rule.texts.empty() || argument.said != Argument::kText || !argument.pointer) return false;
    const std::string came = static_cast<const char*>(argument.pointer);
    std::string allowed;
    for (const std::string& text : rule.texts) {
      if (text == came) return false;
      allowed += (allowed.empty() ? "" : ", ") + text;
    }
    return refuse(own, "is \"" + came + "\"", allowed);
  }

  // A first phase that CANN generates looks for the data types of the call, of a list its first tensor's, in the
  // columns of the operator's definition.
  bool columns_break() {
    std::vector<size_t> left;  // the columns that have the types of the parameters before
    std::vector<std::pair<size_t, int>> before;
    for (size_t i = 0; i < count; ++i) {
      const std::vector<int>& own = rules.parameters[i].columns[family];
      const aclTensor* tensor = own.empty() ? nullptr : first_tensor_of(arguments[i]);
      if (!tensor) continue;
      if (before.empty()) left.resize(own.size()), std::iota(left.begin(), left.end(), 0);
      uint64_t allowed = 0;
      for (size_t column : left) allowed |= uint64_t(1) << own[column];
      std::erase_if(left, [&](size_t column) { return own[column] != tensor->dtype; });
      if (left.empty()) {
        std::string others;
        for (const auto& [other, dtype] : before)
          others += (others.empty() ? " beside " : ", ") + dtype_name(dtype) + " of " + rules.parameters[other].name;
        return refuse(i, "has data type " + dtype_name(tensor->dtype), dtype_names(allowed) + others);
      }
      before.emplace_back(i, tensor->dtype);
    }
    return false;
  }
};

std::atomic<bool> enforced = [] {
  const char* mode = std::getenv("OPHOOK_SIM_RULES");
  return !mode || std::strcmp(mode, "off") != 0;
}();

const char* report_file() {
  static const char* const file = std::getenv("OPHOOK_SIM_RULES_REPORT");
  return file && *file ? file : nullptr;
}

// Appends one JSON line, whole even where several processes write, and each only once in this process.
void report(const char* file, const FunctionRules& rules, size_t family, const Verdict& found) {
  static std::mutex mutex;
  static std::unordered_set<std::string> told;
  std::string line = "{\"function\": \"" + rules.name + "\", \"family\": \"" + std::string(kFamilies[family]) +
                     "\", \"simulated\": " + (int(family) == current_family() ? "true" : "false") +
                     ", \"code\": " + std::to_string(found.code) + ", \"message\": \"";
  for (char c : found.message) {
    if (c == '"' || c == '\\') line += '\\';
    line += static_cast<unsigned char>(c) < 32 ? ' ' : c;
  }
  line += "\"}\n";
  const std::lock_guard lock(mutex);
  if (!told.insert(line).second) return;
  if (const int out = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644); out >= 0) {
    [[maybe_unused]] const auto written = ::write(out, line.data(), line.size());
    close(out);
  }
}

}  // namespace

bool product_is(std::string_view family) {
  const int current = current_family();
  return current >= 0 && kFamilies[size_t(current)] == family;
}

const FunctionRules* rules_named(const char* function) {
  const auto found = rules_table().find(function);
  return found == rules_table().end() ? nullptr : &found->second;
}

bool rules_wanted() { return enforced.load(std::memory_order_relaxed) || report_file() || watching(); }

const FunctionRules* find_rules(const char* function, const Argument* parameters, size_t count) {
  const auto found = rules_table().find(function);
  if (found == rules_table().end()) return nullptr;
  const FunctionRules& rules = found->second;
  bool same = rules.parameters.size() == count;
  for (size_t i = 0; same && i < count; ++i) same = rules.parameters[i].kind == parameters[i].kind;
  if (same) return &rules;
  if (const char* file = report_file())
    report(file, rules, 0, {0, rules.name + " has other parameters here than on its page (" + rules.page + ")"});
  return nullptr;
}

bool is_tiled(const FunctionRules& rules, size_t parameter) { return rules.parameters[parameter].tiled; }

bool takes_both_orders(const FunctionRules& rules, size_t parameter) { return rules.parameters[parameter].both_orders; }

bool is_idle(const FunctionRules& rules, const Argument* arguments) {
  const int family = current_family();
  const Check check{rules, arguments, rules.parameters.size(), size_t(family)};
  for (size_t i = 0; family != kNoFamily && i < check.count; ++i)
    if (check.is_idle(i)) return true;
  return false;
}

int code_of(const FunctionRules& rules, bool dtype) { return dtype ? rules.invalid_code : rules.shape_code; }

int apply_rules(const FunctionRules& rules, const Argument* arguments, size_t count) {
  const int family = current_family();
  if (family == kNoFamily) return 0;
  const char* file = report_file();
  for (size_t other = 0; (file || watching()) && other < kFamilies.size(); ++other) {
    const auto tell = [&](const Verdict& found) {
      if (file) report(file, rules, other, found);
      if (watching())
        watched("refused\t" + std::string(kFamilies[other]) + "\t" + std::to_string(found.code) + "\t" + found.message);
    };
    if (Check check{rules, arguments, count, other}; check.refused()) tell(check.found);
    if (rules.absent[other])
      tell({kInvalid, rules.name + " does not exist on " + std::string(kFamilies[other]) + " (" + rules.page + ")"});
  }
  if (!enforced) return 0;
  Check check{rules, arguments, count, size_t(family)};
  return check.refused() ? sim_fail(check.found.code, "%s", check.found.message.c_str()) : 0;
}

}  // namespace sim::aclnn

// For tests, which cannot set a variable before this library is loaded. Each returns what held before.
extern "C" SIM_API int ophook_enforce_rules(int on) { return sim::aclnn::enforced.exchange(on != 0); }
extern "C" SIM_API int ophook_rules_family(int family) { return sim::aclnn::known_family.exchange(family); }
