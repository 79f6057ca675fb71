// A row of ge/rows/as_aclnn.h read: which port or attribute each parameter of the function is.
#pragma once

#include <algorithm>
#include <cctype>
#include <cstring>
#include <sstream>

#include "ge/rows/as_aclnn.h"
#include "opapi/aclnn.h"
#include "opapi/places.h"
#include "opapi/rules.h"
#include "opapi/shape_rules.h"

namespace sim::ge_table::as_aclnn {

using namespace sim::aclnn;

constexpr size_t kNone = size_t(-1);

// Of the products that rules tell apart, this one.
inline size_t family() {
  size_t at = 0;
  while (at + 1 < kFamilies.size() && !product_is(kFamilies[at])) ++at;
  return at;
}

// "expandedXOut" and "expanded_x" are one name.
inline std::string plain(std::string_view name) {
  std::string out;
  for (const char c : name)
    if (c != '_') out += char(std::tolower(static_cast<unsigned char>(c)));
  for (bool found = true; found;) {
    found = false;
    for (const std::string_view end : {"optional", "out", "ref"})
      if (out.size() > end.size() && out.ends_with(end)) out.resize(out.size() - end.size()), found = true;
  }
  return out;
}

struct Port {
  std::string name;
  bool optional = false, dynamic = false;
};

inline std::vector<Port> ports_of(std::istringstream& words, std::string_view end) {
  std::vector<Port> out;
  for (std::string word; words >> word && word != end;) {
    Port port{word, word.back() == '?', word.back() == '*'};
    if (port.optional || port.dynamic) port.name.pop_back();
    out.push_back(std::move(port));
  }
  return out;
}

inline size_t find_port(const std::vector<Port>& ports, std::string_view name) {
  for (size_t i = 0; i < ports.size(); ++i)
    if (plain(ports[i].name) == plain(name)) return i;
  return kNone;
}

// Where a parameter's value comes from.
struct Parameter {
  std::string kind, name;
  size_t input = kNone, output = kNone, asked_with = kNone;
  std::string attribute, other, literal, asked_by, swapped_by, typed_by;
  std::vector<std::string> choices, types;  // the number that an attribute's text is; the data type that its number is
  bool is_tensor() const {
    return kind == "In" || kind == "Out" || kind == "Ref" || kind == "Resized" || kind == "List";
  }
  bool said() const { return input != kNone || output != kNone || !attribute.empty() || !literal.empty(); }
};

struct Reader : Call {
  using Call::Call;
  const ge_call& call() const { return call_; }
  int64_t default_of(const char* attr) const { return int64_t(otherwise(attr).number); }
};

// Where the tensors of each port begin among a call's. Operators that run by type leave out optional inputs at the end.
inline std::vector<size_t> begins(const std::vector<Port>& ports, size_t given, const size_t* counts) {
  const auto dynamic = size_t(std::count_if(ports.begin(), ports.end(), [](const Port& port) { return port.dynamic; }));
  if (dynamic > 1 && !counts) throw Refused("how many tensors each of its dynamic inputs has is not told");
  std::vector<size_t> out{0};
  for (size_t i = 0; i < ports.size(); ++i)
    out.push_back(std::min(given, out.back() + (counts             ? counts[i]
                                                : ports[i].dynamic ? given + 1 - ports.size()
                                                                   : size_t(1))));
  return out;
}

struct Fitted {
  aclnn::Row* row = nullptr;
  const FunctionRules* rules = nullptr;  // null: the function has no page, or another one
  std::string function;
  std::vector<Port> inputs, outputs;
  std::vector<Parameter> parameters;
  Attributes attributes;
  std::vector<std::string> ignored;
  Attributes unused_attributes;
  std::vector<size_t> unused_inputs;

  Fitted(const char* text, const char* prototype, const Attributes& of) : attributes(of) {
    std::istringstream ports(prototype);
    inputs = ports_of(ports, "->"), outputs = ports_of(ports, "|");
    std::istringstream words(text);
    words >> function;
    row = row_of(function.c_str());
    if (!row) throw std::logic_error("there is no " + function);
    read_parameters();
    for (std::string word; words >> word;) say(word);
    for (Parameter& one : parameters)
      if (!one.said()) find(one);
    pair_outputs();
    check();
  }

  void read_parameters() {
    std::string text = row->parameters;
    std::replace_if(text.begin(), text.end(), [](char c) { return std::strchr("(),", c); }, ' ');
    std::istringstream words(text);
    for (Parameter one; words >> one.kind >> one.name;) parameters.push_back(one);
    rules = rules_named(function.c_str());
    if (rules && rules->parameters.size() != parameters.size()) rules = nullptr;
    for (size_t i = 0; rules && i < parameters.size(); ++i) parameters[i].name = rules->parameters[i].name;
  }

  void say(const std::string& word) {
    if (word[0] == '-') {
      ignored.push_back(word.substr(1));
      return;
    }
    const size_t at = word.find_first_of("=:");
    const std::string name = word.substr(0, at);
    auto found =
        std::find_if(parameters.begin(), parameters.end(), [&](const Parameter& one) { return one.name == name; });
    if (found == parameters.end())
      found = std::find_if(parameters.begin(), parameters.end(),
                           [&](const Parameter& one) { return plain(one.name) == plain(name); });
    if (at == word.npos || found == parameters.end())
      throw std::logic_error(function + " has no parameter for '" + word + "'");
    const size_t brace = word.find('{');
    const std::string value = word.substr(at + 1, brace - at - 1);
    std::vector<std::string>& listed = word[at] == ':' ? found->types : found->choices;
    if (brace != word.npos) {
      std::istringstream all(word.substr(brace + 1, word.size() - brace - 2));
      for (std::string one; std::getline(all, one, ',');) listed.push_back(one);
    }
    if (word[at] == ':') {
      found->typed_by = value;
      return;
    }
    const size_t sign = value.find_first_of("^?|");
    if (sign != value.npos)
      (value[sign] == '^'   ? found->swapped_by
       : value[sign] == '?' ? found->asked_by
                            : found->other) = value.substr(sign + 1);
    if (!found->asked_by.empty()) found->asked_with = find_port(inputs, found->asked_by);
    find(*found, value.substr(0, sign));
    if (!found->said()) found->literal = value;
  }

  void find(Parameter& one) { find(one, one.name); }
  void find(Parameter& one, const std::string& name) {
    const size_t in = find_port(inputs, name), out = find_port(outputs, name);
    if (one.is_tensor()) {
      if (one.kind != "In") one.output = out;
      if (one.kind == "In" || one.kind == "List" || out != kNone) one.input = in;
      return;
    }
    for (const Attribute& attribute : attributes)
      if (one.attribute != name && plain(attribute.name) == plain(name)) one.attribute = attribute.name;
    if (one.attribute.empty()) one.input = in;
  }

  void pair_outputs() {
    for (size_t i = 0; i < outputs.size(); ++i) {
      const auto takes = [&](const Parameter& one) { return one.output == i; };
      if (std::any_of(parameters.begin(), parameters.end(), takes)) continue;
      const size_t same = find_port(inputs, outputs[i].name);
      for (Parameter& one : parameters)
        if (!one.said() && one.is_tensor() && one.kind != "In") {
          one.output = i;
          break;
        }
      if (std::any_of(parameters.begin(), parameters.end(), takes) || same == kNone) continue;
      for (Parameter& one : parameters)  // the function calls it an input, as it leaves it as it is
        if (one.input == same) one.output = i;
    }
  }

  void check() {
    const auto taken = [&](auto is) { return std::any_of(parameters.begin(), parameters.end(), is); };
    for (size_t i = 0; i < parameters.size(); ++i) {
      const Parameter& one = parameters[i];
      const bool pointer = one.is_tensor() || one.kind == "Nums" || one.kind == "Ints" || one.kind == "Floats" ||
                           one.kind == "Bools" || one.kind == "Text" || one.kind == "MaybeNum" || one.kind == "Num";
      if (!one.said() && (!pointer || (rules && rules->parameters[i].required)))
        throw std::logic_error(function + ": nothing tells its parameter " + one.name);
    }
    for (size_t i = 0; i < outputs.size(); ++i)
      if (!taken([&](const Parameter& one) { return one.output == i; }))
        throw std::logic_error(function + " has no parameter for the output " + outputs[i].name);
    for (size_t i = 0; i < inputs.size(); ++i)
      if (!taken([&](const Parameter& one) { return one.input == i; }) && !is_ignored(inputs[i].name))
        unused_inputs.push_back(i);
    for (const Attribute& attribute : attributes)
      if (!taken([&](const Parameter& one) {
            return one.attribute == attribute.name || one.other == attribute.name || one.asked_by == attribute.name ||
                   one.swapped_by == attribute.name || one.typed_by == attribute.name;
          }) &&
          !is_ignored(attribute.name))
        unused_attributes.push_back(attribute);
  }
  bool is_ignored(const std::string& name) const {
    return std::find(ignored.begin(), ignored.end(), name) != ignored.end();
  }

  // What the function has no parameter for must not be asked.
  void refuse_unused(const Reader& call, const std::vector<size_t>& begin) const {
    for (const size_t port : unused_inputs)
      for (size_t i = begin[port]; i < begin[port + 1]; ++i)
        if (call.has(i)) throw Refused("its input " + inputs[port].name + " is not simulated");
    for (const Attribute& one : unused_attributes) {
      const char* name = one.name.c_str();
      if (one.required) continue;
      if (one.kind == "String") call.only(name, one.text.c_str());
      else if (one.kind != "ListInt") call.only(name, one.number);
      else if (const Dims came = call.integers(name); came != one.integers)
        throw Refused(c10::str(one.name, "=", at::IntArrayRef(came), " is not simulated"));
    }
  }
};

}  // namespace sim::ge_table::as_aclnn
