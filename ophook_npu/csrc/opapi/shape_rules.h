// How the shapes of a function's tensors relate: csrc/rules/shapes.txt, written once. Its first phase compares them,
// whatever OPHOOK_SIM_RULES says, since a row's kernel relies on them; the graph engine infers from the same line.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/pattern.h"
#include "opapi/places.h"
#include "opapi/rules_table.h"

namespace sim::aclnn {

class ShapeRules {
 public:
  // Throws a const char* where the text does not fit the function's parameters.
  ShapeRules(std::string text, const FunctionRules& function);
  // Throws where the held parameters of a call do not fit; members of lists are looked at one by one.
  void check(const FunctionRules& function, const HeldList& held) const;
  // Several ways to fit are separated by `|`: the first that these inputs fit, or the first of all.
  const Pattern& pick(const GivenShape* inputs, const int64_t* told) const;
  const Pattern& first() const { return patterns_.front(); }
  // The parameter that is tensor `i` of the pattern, and that which is told as the pattern's i-th such name.
  size_t parameter(size_t i) const { return parameters_.at(i); }
  size_t told(size_t i) const { return told_.at(i); }

 private:
  void check(const FunctionRules& function, const HeldList& held, size_t member) const;
  bool are_alike(const HeldList& held, size_t member) const;

  std::string text_;  // patterns look into it
  std::vector<Pattern> patterns_;
  std::vector<size_t> parameters_, told_;
  std::vector<size_t> alike_;  // the parameters of which all have one shape where nothing is broadcast, and that is all
};

void read_shapes(const std::string& path, RulesTable& table);
// The rules of a function by its name, or null.
const FunctionRules* rules_named(const char* function);
// The data type of a function's result, where its rules say one: a number, or that of another parameter (below 0:
// none).
struct TypeOfResult {
  int type = -1, parameter = -1;
};
TypeOfResult type_of_result(const FunctionRules& function, size_t parameter);

}  // namespace sim::aclnn
