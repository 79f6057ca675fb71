#include "opapi/rules_table.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <fstream>
#include <limits>

#include "acl/acl_base.h"

namespace sim::aclnn {
namespace {

struct Named {
  std::string_view name;
  int value;
};
// By number, because older torch_npu wheels do not name the newest of them.
constexpr Named kDtypes[] = {
    {"FLOAT", 0},        {"FLOAT16", 1},        {"BFLOAT16", 27},    {"DOUBLE", 11},      {"INT4", 29},
    {"INT8", 2},         {"INT16", 6},          {"INT32", 3},        {"INT64", 9},        {"UINT1", 30},
    {"UINT8", 4},        {"UINT16", 7},         {"UINT32", 8},       {"UINT64", 10},      {"BOOL", 12},
    {"STRING", 13},      {"COMPLEX32", 33},     {"COMPLEX64", 16},   {"COMPLEX128", 17},  {"HIFLOAT8", 34},
    {"FLOAT8_E5M2", 35}, {"FLOAT8_E4M3FN", 36}, {"FLOAT8_E8M0", 37}, {"FLOAT6_E3M2", 38}, {"FLOAT6_E2M3", 39},
    {"FLOAT4_E2M1", 40}, {"FLOAT4_E1M2", 41},
};

constexpr Named kFormats[] = {
    {"ND", 2},
    {"NCHW", 0},
    {"NHWC", 1},
    {"HWCN", 16},
    {"NCDHW", 30},
    {"NDHWC", 27},
    {"NCL", 47},
    {"NC1HWC0", 3},
    {"NDC1HWC0", 32},
    {"FRACTAL_Z", 4},
    {"FRACTAL_NZ", 29},
    {"FRACTAL_NZ_C0_16", 50},
    {"FRACTAL_NZ_C0_32", 51},
    {"FRACTAL_NZ_C0_2", 52},
    {"FRACTAL_NZ_C0_4", 53},
    {"FRACTAL_NZ_C0_8", 54},
};

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (;;) {
    const size_t end = text.find(at);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

int family_of(std::string_view name) {
  for (size_t i = 0; i < kFamilies.size(); ++i)
    if (kFamilies[i] == name) return int(i);
  return kNoFamily;
}

// Calls set(family, words) with each family's part of a column: "A B", or "Ascend950:A B C|*:A B".
template <typename Set>
void by_family(std::string_view column, Set set) {
  std::string_view rest = "-";
  std::array<bool, kFamilies.size()> told{};
  for (std::string_view part : split(column, '|')) {
    const size_t colon = part.find(':');
    if (colon == std::string_view::npos) {
      rest = part;
    } else if (part.substr(0, colon) == "*") {
      rest = part.substr(colon + 1);
    } else if (const int family = family_of(part.substr(0, colon)); family != kNoFamily) {
      told[family] = true;
      set(size_t(family), part.substr(colon + 1));
    }
  }
  for (size_t family = 0; family < kFamilies.size(); ++family)
    if (!told[family]) set(family, rest);
}

template <size_t N>
uint64_t bits_of(const Named (&known)[N], std::string_view words) {
  uint64_t bits = 0;
  if (words == "-") return bits;
  for (std::string_view word : split(words, ' '))
    for (const Named& one : known)
      if (one.name == word) bits |= uint64_t(1) << one.value;
  return bits;
}

template <size_t N>
std::string name_of(const Named (&known)[N], int value, const char* what) {
  for (const Named& one : known)
    if (one.value == value) return std::string(one.name);
  return what + std::to_string(value);
}

template <size_t N>
std::string names_of(const Named (&known)[N], uint64_t bits) {
  std::string names;
  for (const Named& one : known)
    if (bits >> one.value & 1) names += (names.empty() ? "" : ", ") + std::string(one.name);
  return names;
}

uint32_t rank_bits(std::string_view column) {
  uint32_t bits = 0;
  if (column == "-") return bits;
  if (column.size() == 3 && column[1] == '-') {
    for (int rank = column[0] - '0'; rank <= column[2] - '0'; ++rank) bits |= 1u << rank;
  } else {
    for (std::string_view rank : split(column, ' ')) bits |= 1u << (rank[0] - '0');
  }
  return bits;
}

Argument::Kind kind_of(std::string_view type) {
  if (type == "aclTensor*") return Argument::kTensor;
  if (type == "aclTensorList*") return Argument::kList;
  return type.ends_with('*') ? Argument::kPointer : Argument::kValue;
}

// A column with "=" leaves what the page says.
void read_parameter(const std::vector<std::string_view>& columns, ParameterRules& rules) {
  const auto says = [&](size_t column) { return columns[column] != "="; };
  rules.name = columns[1];
  if (says(2)) rules.kind = kind_of(columns[2]), rules.scalar = columns[2] == "aclScalar*";
  if (says(4)) rules.required = columns[4] == "required";
  if (says(8)) rules.related = columns[8] == "-" ? "" : columns[8];
  if (says(5))
    by_family(columns[5],
              [&](size_t family, std::string_view words) { rules.dtypes[family] = bits_of(kDtypes, words); });
  if (rules.kind != Argument::kTensor && rules.kind != Argument::kList) return;
  if (says(6)) {
    by_family(columns[6], [&](size_t family, std::string_view words) {
      rules.formats[family] = bits_of(kFormats, words);
      rules.private_formats[family] = words.find("FRACTAL") != words.npos || words.find("C1HWC0") != words.npos;
    });
    const auto lists = [&](std::string_view format) { return columns[6].find(format) != columns[6].npos; };
    rules.both_orders = !lists("HWCN") && ((lists("NCHW") && lists("NHWC")) || (lists("NCDHW") && lists("NDHWC")));
  }
  if (says(7)) rules.ranks = rank_bits(columns[7]);
}

size_t position(const FunctionRules& function, std::string_view name) {
  size_t at = 0;
  while (at < function.parameters.size() && function.parameters[at].name != name) ++at;
  return at;
}

// One span of what a number may be: "4", "1..64", ">0..1", "0..<1", "..4"; of "sizes" behind a place, "2:1..".
void limit(ParameterRules& one, std::string_view key, std::string_view value, int only) {
  Numbers numbers{key == "values" ? Numbers::kItself : key == "length" ? Numbers::kLength : Numbers::kAt, 0, only, {}};
  if (const size_t colon = value.find(':'); numbers.of == Numbers::kAt) {
    numbers.at = std::stoull(std::string(value.substr(0, colon)));
    value.remove_prefix(colon + 1);
  }
  if (std::isalpha(static_cast<unsigned char>(value[0]))) return void(one.texts.emplace_back(value));
  constexpr double kAny = std::numeric_limits<double>::infinity();
  const auto number = [](std::string_view said, double none) {
    return said.empty() ? none : std::stod(std::string(said));
  };
  const bool above = value.starts_with('>');
  const size_t dots = value.find("..");
  const std::string_view first = value.substr(above, dots == value.npos ? dots : dots - above);
  const std::string_view last = dots == value.npos ? first : value.substr(dots + 2);
  const bool below = last.starts_with('<');
  const Span span{number(first, -kAny), number(last.substr(below), kAny), above, below};
  for (Numbers& known : one.numbers)
    if (known.of == numbers.of && known.at == numbers.at && known.only == only) return known.spans.push_back(span);
  numbers.spans.push_back(span);
  one.numbers.push_back(std::move(numbers));
}

void relate(const FunctionRules& function, ParameterRules& one) {
  constexpr std::pair<std::string_view, Relation::Kind> kKinds[] = {
      {"dtype", Relation::kDtype},  {"format", Relation::kFormat}, {"cast", Relation::kCast},
      {"shape", Relation::kShape},  {"idle", Relation::kIdle},     {"shape_of_broadcast", Relation::kShapeOfBroadcast},
      {"either", Relation::kEither}};
  static_cast<RelatedRules&>(one) = {};
  bool formats_checked = false;
  for (std::string_view word : split(one.related, ' ')) {
    const size_t equals = word.find('=');
    one.contiguous |= word == "contiguous";
    one.any_format |= word == "any_format";
    one.null_is_invalid |= word == "null_is_invalid";
    one.tiled |= word == "tiled";
    const std::string_view key = word.substr(0, equals), said = equals == word.npos ? "" : word.substr(equals + 1);
    if (key == "free_if_empty") {
      const auto names = [&](std::string_view column) { return said.find(column) != said.npos; };
      one.free_if_empty = true;
      one.free_dtypes = names("dtypes"), one.free_formats = names("formats"), one.free_ranks = names("ranks");
      one.free_same = names("same");
    }
    if (key == "checked") {
      formats_checked = said.find("formats") != said.npos;
      one.ranks_checked = said.find("ranks") != said.npos;
    }
    if (key == "asked") one.asked = position(function, said);
    const size_t colon = key.find(':');
    const int only = colon == key.npos ? kNoFamily : family_of(key.substr(colon + 1));
    if (const std::string_view of = key.substr(0, colon); of == "values" || of == "length" || of == "sizes")
      for (std::string_view value : split(said, ',')) limit(one, of, value, only);
    if (key.substr(0, colon) == "columns")
      for (std::string_view dtype : split(said, ','))
        for (size_t family = 0; family < kFamilies.size(); ++family)
          if (only == kNoFamily || only == int(family))
            one.columns[family].push_back(std::countr_zero(bits_of(kDtypes, dtype)));
    if (constexpr std::string_view kFormatsOf = "formats_of_"; key.starts_with(kFormatsOf)) {
      uint64_t formats = 0;
      for (std::string_view format : split(said, ',')) formats |= bits_of(kFormats, format);
      const std::string_view of = key.substr(0, colon).substr(kFormatsOf.size());
      const uint64_t dtypes = bits_of(kDtypes, of);
      one.formats_of.push_back({dtypes ? 0 : size_t(of[0] - '0'), dtypes, only, formats});
    }
    for (const auto& [name, kind] : kKinds) {
      if (equals == word.npos || key.substr(0, colon) != name) continue;
      const auto others = split(said, ',');
      if (kind == Relation::kShapeOfBroadcast)
        one.relations.push_back({kind, position(function, others.front()), position(function, others.back()), only});
      else
        for (std::string_view other : others) one.relations.push_back({kind, position(function, other), 0, only});
    }
  }
  if (!formats_checked) one.formats = {};
  one.any_format |= formats_checked;
}

}  // namespace

void read_rules(const std::string& path, RulesTable& table) {
  std::ifstream file(path);
  FunctionRules function;
  auto finish = [&] {
    function.free_if_empty = function.has_columns = false;
    for (ParameterRules& one : function.parameters) {
      relate(function, one);
      function.free_if_empty |= one.free_if_empty;
      function.has_columns |=
          std::any_of(one.columns.begin(), one.columns.end(), [](const auto& of) { return !of.empty(); });
    }
    if (!function.name.empty()) table[function.name] = std::move(function);
    function = {};
  };
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const auto columns = split(line, '\t');
    if (!columns[0].empty()) {
      finish();
      if (columns.size() != 3 && columns.size() != 4) continue;
      if (columns[1] == "=") {
        if (const auto page = table.find(std::string(columns[0])); page != table.end()) function = page->second;
      } else {
        function.name = columns[0];
        function.page = columns[1];
        for (std::string_view family : split(columns[2], ' '))
          if (family.starts_with('!') && family_of(family.substr(1)) != kNoFamily)
            function.absent[size_t(family_of(family.substr(1)))] = true;
      }
      for (std::string_view code : columns.size() == 4 ? split(columns[3], ' ') : std::vector<std::string_view>{})
        (code.starts_with("shapes=") ? function.shape_code : function.invalid_code) =
            std::stoi(std::string(code.substr(code.find('=') + 1)));
    } else if (columns.size() == 9) {
      const size_t at = position(function, columns[1]);
      if (at == function.parameters.size()) function.parameters.emplace_back();
      read_parameter(columns, function.parameters[at]);
    } else {
      function.name.clear();
    }
  }
  finish();
}

std::string dtype_name(int value) { return name_of(kDtypes, value, "number "); }
std::string dtype_names(uint64_t bits) { return names_of(kDtypes, bits); }
std::string format_name(int value) { return name_of(kFormats, value, "format "); }
std::string format_names(uint64_t bits) { return names_of(kFormats, bits); }

std::string rank_names(uint32_t bits) {
  std::string names;
  for (int rank = 0; rank < 32; ++rank)
    if (bits >> rank & 1) names += (names.empty() ? "" : ", ") + std::to_string(rank);
  return names;
}

}  // namespace sim::aclnn
