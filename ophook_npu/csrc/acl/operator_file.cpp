#include "acl/operator_file.h"

#include <charconv>
#include <cstdlib>
#include <stdexcept>

#include "core/om_file.h"

namespace sim::acl {
namespace {

struct Wrong : std::runtime_error {
  using std::runtime_error::runtime_error;
};

constexpr size_t kMostDims = 16, kMostTensors = 4096;

// Up to the separator, which is taken as well.
std::string_view cut(std::string_view& rest, char separator) {
  const size_t at = rest.find(separator);
  const std::string_view part = rest.substr(0, at);
  rest = at == std::string_view::npos ? std::string_view() : rest.substr(at + 1);
  return part;
}

template <typename F>
void each(std::string_view list, char separator, F use) {
  if (list == "-") return;
  for (size_t at = 0; at <= list.size();) {
    const size_t end = std::min(list.find(separator, at), list.size());
    use(list.substr(at, end - at));
    at = end + 1;
  }
}

int64_t integer(std::string_view text) {
  int64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size() || text.empty())
    throw Wrong("'" + std::string(text) + "' is no whole number");
  return value;
}

float real(std::string_view text) {
  const std::string copy(text);
  char* end = nullptr;
  const float value = std::strtof(copy.c_str(), &end);
  if (copy.empty() || *end) throw Wrong("'" + copy + "' is no number");
  return value;
}

char byte(std::string_view digits) {
  unsigned value = 0;
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  if (digits.size() != 2 || problem != std::errc() || end != digits.data() + 2)
    throw Wrong("'" + std::string(digits) + "' is no byte");
  return char(value);
}

std::string bytes(std::string_view digits) {
  std::string result;
  for (size_t i = 0; i < digits.size(); i += 2) result += byte(digits.substr(i, 2));
  return result;
}

std::string word(std::string_view text) {
  if (text == "%") return "";
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      result += text[i];
      continue;
    }
    result += byte(text.substr(i + 1, 2));
    i += 2;
  }
  return result;
}

std::vector<int64_t> sizes(std::string_view text) {
  std::vector<int64_t> result;
  each(text, ',', [&](std::string_view one) { result.push_back(integer(one)); });
  if (result.size() > kMostDims) throw Wrong("a tensor has " + std::to_string(result.size()) + " dimensions");
  return result;
}

void tensor(std::string_view text, std::vector<aclTensorDesc>& to,
            std::vector<std::optional<OperatorModel::Origin>>& origins) {
  if (to.size() == kMostTensors) throw Wrong("more than 4096 tensors on a side");
  aclTensorDesc desc{};
  desc.dtype = aclDataType(integer(cut(text, ' ')));
  desc.format = desc.storage_format = aclFormat(integer(cut(text, ' ')));
  desc.dims = desc.storage_dims = sizes(cut(text, ' '));
  auto& origin = origins.emplace_back();
  while (!text.empty()) {
    std::string_view told = cut(text, ' ');
    const std::string_view key = cut(told, ':');
    if (key == "ranges") {
      each(told, ',', [&](std::string_view one) {
        const int64_t low = integer(cut(one, ':'));
        desc.ranges.emplace_back(low, integer(one));
      });
    } else if (key == "const") {
      desc.is_const = true, desc.constant = bytes(told);
    } else if (key == "dynamic") {
      desc.dynamic_input = word(told);
    } else if (key == "origin") {
      const auto format = aclFormat(integer(cut(told, ':')));
      origin = {format, sizes(told)};
    } else {
      throw Wrong("'" + std::string(key) + "' says nothing of a tensor");
    }
  }
  to.push_back(std::move(desc));
}

template <typename T, typename F>
std::vector<T> list(std::string_view text, char separator, F one) {
  std::vector<T> result;
  each(text, separator, [&](std::string_view each) { result.push_back(one(each)); });
  return result;
}

aclopAttr::Value value(std::string_view kind, std::string_view text) {
  const auto flag = [](std::string_view one) { return integer(one) != 0; };
  if (kind == "bool") return flag(text);
  if (kind == "int") return integer(text);
  if (kind == "float") return real(text);
  if (kind == "string") return word(text);
  if (kind == "dtype") return aclDataType(integer(text));
  if (kind == "bools") return list<bool>(text, ',', flag);
  if (kind == "ints") return list<int64_t>(text, ',', integer);
  if (kind == "floats") return list<float>(text, ',', real);
  if (kind == "strings") return list<std::string>(text, ',', word);
  if (kind == "lists")
    return list<std::vector<int64_t>>(text, '|', [](std::string_view one) {
      return one.empty() ? std::vector<int64_t>() : list<int64_t>(one, ',', integer);
    });
  throw Wrong("'" + std::string(kind) + "' is no kind of attribute");
}

void line(std::string_view text, OperatorModel& model, bool& generalized) {
  const std::string_view key = cut(text, '=');
  if (key == "type") model.type = word(text);
  if (key == "input") tensor(text, model.inputs, model.input_origins);
  if (key == "output") tensor(text, model.outputs, model.output_origins);
  if (key == "generalized") generalized = integer(text) != 0;
  if (key == "attribute") {
    const std::string name = word(cut(text, ' '));
    const std::string_view kind = cut(text, ' ');
    model.attributes.values[name] = value(kind, text);
  }
}

}  // namespace

std::string read_operator(std::string_view file, OperatorModel& model, bool& generalized, int& code) {
  OmFile read;
  code = ACL_ERROR_PARSE_MODEL;
  if (std::string problem = read_om(file, read); !problem.empty()) return problem;
  code = ACL_ERROR_MODEL_MISSING_ATTR;
  if (read.kind != OmKind::single_operator) return "is a model of a network: load it by aclmdlLoadFromFile";
  code = ACL_ERROR_DESERIALIZE_MODEL;
  try {
    while (!read.text.empty()) line(cut(read.text, '\n'), model, generalized);
  } catch (const Wrong& wrong) {
    return std::string("cannot be read: ") + wrong.what();
  }
  code = ACL_ERROR_MODEL_MISSING_ATTR;
  return model.type.empty() ? "names no type of an operator" : "";
}

}  // namespace sim::acl
