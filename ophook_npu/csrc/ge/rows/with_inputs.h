// A call of a type whose attributes are another type's inputs (AsInputs of rows.h), as a call of that one.
#pragma once

#include <algorithm>
#include <cstring>
#include <deque>
#include <sstream>
#include <string>
#include <vector>

#include "ge/rows/rows.h"

namespace sim::ge_table {

// The names of a prototype's inputs.
inline std::vector<std::string> inputs_of(const char* prototype) {
  std::istringstream in(std::string(prototype, std::strstr(prototype, "->")));
  std::vector<std::string> out;
  for (std::string word; in >> word; out.push_back(word))
    if (word.back() == '?' || word.back() == '*') word.pop_back();
  return out;
}

struct WithInputs {
  WithInputs(const ge_call& given, const Row& own, const Attributes& attributes, const Row& of) : call(given) {
    const std::vector<std::string> names = inputs_of(own.proto);
    const Call values(given, attributes);
    for (const std::string& name : inputs_of(of.proto)) {
      const auto fed = size_t(std::find(names.begin(), names.end(), name) - names.begin());
      const auto told =
          std::find_if(attributes.begin(), attributes.end(), [&](const Attribute& one) { return one.name == name; });
      ge_tensor tensor{.dtype = ge_absent};
      if (fed < given.input_count) {
        tensor = given.inputs[fed];
      } else if (told != attributes.end()) {
        if (told->kind == "Float") {
          tensor = {.dtype = kDouble, .rank = 0, .data = &reals.emplace_back(values.real(name.c_str()))};
          inputs.push_back(tensor);
          continue;
        }
        const bool one = told->kind == "Int";
        Dims& kept = numbers.emplace_back(one ? Dims{values.integer(name.c_str())} : values.integers(name.c_str()));
        kept.reserve(1);  // data() of an empty value must not be NULL
        tensor = {.dtype = kInt64, .rank = one ? 0 : 1, .dims = {int64_t(kept.size())}, .data = kept.data()};
      }
      inputs.push_back(tensor);
    }
    call.type = of.type, call.inputs = inputs.data(), call.input_count = inputs.size();
  }
  ge_call call;
  std::vector<ge_tensor> inputs;
  std::deque<Dims> numbers;
  std::deque<double> reals;
};

}  // namespace sim::ge_table
