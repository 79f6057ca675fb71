#include "opapi/shape_rules.h"

#include <bit>
#include <fstream>
#include <stdexcept>

#include "kernels/absent.h"
#include "opapi/rules.h"

namespace sim::aclnn {
namespace {

bool is_asked_for(const FunctionRules& function, size_t parameter, const HeldList& held) {
  const auto flag = function.parameters[parameter].asked;
  const bool* asked = flag ? std::get_if<bool>(&held[*flag]) : nullptr;
  return !asked || *asked;
}

const at::Tensor& tensor_of(const Held& held, size_t member) {
  static const at::Tensor none;
  if (const Tensors* list = std::get_if<Tensors>(&held)) return member < list->size() ? (*list)[member] : none;
  const at::Tensor* tensor = std::get_if<at::Tensor>(&held);
  return tensor ? *tensor : none;
}

Operand operand(const Held& held, size_t member) {
  if (const Dims* listed = std::get_if<Dims>(&held)) {
    for (const int64_t size : *listed) SIM_CHECK(size >= 0, "a size of ", size, " is listed");
    return Operand(at::IntArrayRef(*listed));
  }
  return Operand(tensor_of(held, member));
}

// Of any shape: "*_".
bool is_free(const Pattern& pattern, size_t tensor) {
  const auto& [first, last, least, many, optional, listed, type] = pattern.tensor(tensor);
  return last == first + 1 && pattern.term(first).kind == Pattern::Term::kAnyMany;
}

int64_t number(const Held& held) {
  return std::visit(
      [](const auto& value) -> int64_t {
        if constexpr (std::is_integral_v<std::decay_t<decltype(value)>>) return int64_t(value);
        else throw std::logic_error("a shape is told by what is no whole number");
      },
      held);
}

}  // namespace

ShapeRules::ShapeRules(std::string text, const FunctionRules& function) : text_(std::move(text)) {
  for (std::string_view rest = text_; !rest.empty();) {
    const size_t end = std::min(rest.size(), rest.find('|'));
    patterns_.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(rest.size(), end + 1));
  }
  const Pattern& pattern = first();
  size_t at = 0;
  const auto fits = [](const ParameterRules& one, bool listed) {
    if (listed) return one.kind == Argument::kPointer && !one.scalar;
    return one.kind == Argument::kTensor || one.kind == Argument::kList;
  };
  for (size_t i = 0; i < pattern.tensors(); ++i, ++at) {
    while (at < function.parameters.size() && !fits(function.parameters[at], pattern.tensor(i).listed)) ++at;
    if (at == function.parameters.size()) throw "more tensors than the function has";
    parameters_.push_back(at);
  }
  for (size_t i = 0; i < pattern.told(); ++i) {
    size_t told = 0;
    while (told < function.parameters.size() && function.parameters[told].name != pattern.told_text(i)) ++told;
    if (told == function.parameters.size()) throw "no parameter tells this size";
    told_.push_back(told);
  }
  for (const Pattern& each : patterns_)
    if (each.inputs() != pattern.inputs() || each.tensors() != pattern.tensors() || each.told() != pattern.told())
      throw "ways to fit that are not of the same tensors";
  for (size_t i = 0; i < pattern.tensors(); ++i) {
    if (is_free(pattern, i)) continue;
    const Pattern::Tensor& tensor = pattern.tensor(i);
    const bool plain = tensor.last == tensor.first + 1 && pattern.term(tensor.first).kind == Pattern::Term::kMany &&
                       pattern.term(tensor.first).name == 0 && !function.parameters[parameters_[i]].asked;
    if (!plain) {
      alike_.clear();
      return;
    }
    alike_.push_back(parameters_[i]);
  }
}

const Pattern& ShapeRules::pick(const GivenShape* inputs, const int64_t* told) const {
  if (patterns_.size() > 1)
    for (const Pattern& each : patterns_)
      if (Matched(each, inputs, told)) return each;
  return first();
}

bool ShapeRules::are_alike(const HeldList& held, size_t member) const {
  const at::Tensor* first = nullptr;
  for (const size_t at : alike_) {
    const at::Tensor& tensor = tensor_of(held[at], member);
    if (!tensor.defined()) return false;
    if (!first) first = &tensor;
    else if (tensor.sizes() != first->sizes()) return false;
  }
  return first;
}

void ShapeRules::check(const FunctionRules& function, const HeldList& held) const {
  const Tensors* members = nullptr;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const Tensors* list = std::get_if<Tensors>(&held[parameters_[i]]);
    if (!list || is_free(first(), i)) continue;
    SIM_CHECK(!members || members->size() == list->size(), "lists of ", members->size(), " and ", list->size(),
              " tensors");
    members = list;
  }
  for (size_t member = 0; member < (members ? members->size() : 1); ++member)
    if (!are_alike(held, member)) check(function, held, member);
}

void ShapeRules::check(const FunctionRules& function, const HeldList& held, size_t member) const {
  c10::SmallVector<Operand, 12> operands;
  std::array<GivenShape, Pattern::kMostTensors> shapes;
  std::array<int64_t, Pattern::kMostNames> told;
  for (size_t i = 0; i < told_.size(); ++i) told[i] = number(held[told_[i]]);
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const size_t at = parameters_[i];
    operands.push_back(is_asked_for(function, at, held) ? operand(held[at], member) : Operand(at::Tensor()));
    shapes[i] = operands.back().shape;
    if (shapes[i].absent && i < first().inputs() && function.parameters[at].required) absent();
  }
  checked(pick(shapes.data(), told.data()), operands.data(), told.data());
}

void read_shapes(const std::string& path, RulesTable& table) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const size_t tab = line.find('\t');
    if (line.empty() || line[0] == '#' || tab == line.npos) continue;
    const std::string text = line.substr(tab + 1);
    for (std::string_view rest = std::string_view(line).substr(0, tab); !rest.empty();) {
      const size_t end = std::min(rest.size(), rest.find(' '));
      const auto found = table.find(std::string(rest.substr(0, end)));
      rest.remove_prefix(std::min(rest.size(), end + 1));
      if (found == table.end()) continue;
      try {
        found->second.shapes = std::make_shared<const ShapeRules>(text, found->second);
      } catch (const char*) {  // the tests read every line with both readers
      }
    }
  }
}

TypeOfResult type_of_result(const FunctionRules& function, size_t parameter) {
  const ParameterRules& rules = function.parameters[parameter];
  for (const uint64_t types : rules.dtypes)
    if (std::has_single_bit(types)) return {.type = std::countr_zero(types)};
  for (const Relation& relation : rules.relations)
    if (relation.kind == Relation::kDtype) return {.parameter = int(relation.first)};
  return {};
}

}  // namespace sim::aclnn
