// The shapes of an operator's tensors in one line, for both interfaces: "*#b m k, *#b k n -> *#b m n".
//
//   n      a size, the same wherever the name stands        8      this size           _    any size
//   2n     twice that size: an even one where n is not yet known
//   =n     a size that the caller tells, in the order in which such names come
//   #n     the same as n, or 1: what all of them broadcast to
//   *b     any number of dimensions, the same wherever it stands; *#b: what all of them broadcast to; *_: any. A tensor
//          may have several, if the others say how many dimensions all of them but one have: "*b *n, *n"
//   1*n    as many ones as *n has dimensions
//   [*n]   sizes that are listed: no tensor, but what a list, or an input of whole numbers, holds
//   :2     a result has the data type of input 2, or this one: float, int32, int64, uint8, bool. For the graph engine
//   , ->   between tensors; before the results. An input with a `?` behind it may be absent; a result with one may be
//          absent or empty, and have more or fewer ones
//
// In C++ a pattern is read while it is compiled: one that is written wrongly does not compile. In the rules' tables
// (csrc/rules/shapes.txt) it is read with them.
#pragma once

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/sim.h"
#include "kernels/dim.h"

namespace sim {

class Pattern {
 public:
  static constexpr size_t kMost = 64, kMostNames = 16, kMostTensors = 24;
  static constexpr uint8_t kFirst = 255, kTypes = 64;  // kFirst: nothing is said
  struct Term {
    enum Kind : uint8_t { kSize, kAny, kMany, kAnyMany, kNumber, kOnes } kind;
    uint8_t name;    // of kSize, kMany and kOnes
    bool broadcast;  // #
    int64_t number;  // of kNumber; what kSize is multiplied with
  };
  struct Tensor {
    uint8_t first, last;  // its terms
    uint8_t least;        // dimensions
    bool many, optional, listed;
    uint8_t type = kFirst;  // of a result: that of this input, or kTypes and its number in ge::DataType
  };

  // Throws a const char* where the text is wrong. It is looked at as long as the pattern is there.
  constexpr explicit Pattern(std::string_view text) : text_(text) { read(); }
  constexpr size_t inputs() const { return inputs_; }
  constexpr size_t tensors() const { return count_; }
  constexpr size_t sizes() const { return size_names_; }
  const Tensor& tensor(size_t i) const { return tensors_.at(i); }
  const Term& term(size_t i) const { return terms_.at(i); }
  constexpr size_t told() const { return told_; }
  uint8_t told_name(size_t i) const { return told_names_.at(i); }
  std::string_view told_text(size_t i) const { return names_.at(told_names_.at(i)); }
  std::string text(const int64_t* told) const;  // as messages have it: "(…, m, k), (…, k, n) -> (…, m, n)"

 private:
  constexpr void read();
  static constexpr uint8_t type_of(std::string_view word);
  constexpr uint8_t name_of(std::string_view name, std::array<std::string_view, kMostNames>& names, uint8_t& count);

  std::string_view text_;
  std::array<Term, kMost> terms_{};
  std::array<Tensor, kMostTensors> tensors_{};
  std::array<std::string_view, kMostNames> names_{}, many_names_{};
  std::array<uint8_t, kMostNames> told_names_{};
  uint8_t term_count_ = 0, count_ = 0, inputs_ = 0, size_names_ = 0, many_count_ = 0, told_ = 0;
};

constexpr uint8_t Pattern::name_of(std::string_view name, std::array<std::string_view, kMostNames>& names,
                                   uint8_t& count) {
  for (uint8_t i = 0; i < count; ++i)
    if (names[i] == name) return i;
  if (name.empty()) throw "a name is missing";
  for (const char c : name)
    if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && c != '_') throw "a name has letters only";
  if (count == kMostNames) throw "too many names";
  names[count] = name;
  return count++;
}

constexpr uint8_t Pattern::type_of(std::string_view word) {
  constexpr std::pair<std::string_view, uint8_t> kNamed[] = {
      {"float", 0}, {"int32", 3}, {"uint8", 4}, {"int64", 9}, {"bool", 12}};
  for (const auto& [name, number] : kNamed)
    if (word == name) return kTypes + number;
  if (word.size() != 1 || word.front() < '0' || word.front() > '9') throw "no such type";
  return uint8_t(word.front() - '0');
}

constexpr void Pattern::read() {
  std::string_view rest = text_;
  bool results = false;
  Tensor tensor{};
  const auto end_tensor = [&] {
    tensor.last = term_count_;
    tensors_[count_++] = tensor;
    tensor = {.first = term_count_};
  };
  while (!rest.empty()) {
    if (rest.front() == ' ') {
      rest.remove_prefix(1);
    } else if (rest.front() == ',') {
      end_tensor(), rest.remove_prefix(1);
    } else if (rest.front() == '?') {
      tensor.optional = true, rest.remove_prefix(1);
    } else if (rest.front() == '[' || rest.front() == ']') {
      tensor.listed = true, rest.remove_prefix(1);
    } else if (rest.front() == ':') {
      tensor.type = type_of(rest.substr(1, std::min(rest.size(), rest.find_first_of(" ,?")) - 1));
      rest.remove_prefix(std::min(rest.size(), rest.find_first_of(" ,?")));
    } else if (rest.starts_with("->")) {
      if (results) throw "two arrows";
      end_tensor(), rest.remove_prefix(2);
      inputs_ = count_, results = true;
    } else {
      const size_t length = std::min(rest.size(), rest.find_first_of(" ,?]"));
      std::string_view word = rest.substr(0, length);
      rest.remove_prefix(length);
      const auto take = [&word](char sign) {
        if (word.empty() || word.front() != sign) return false;
        word.remove_prefix(1);
        return true;
      };
      bool many = take('*');
      const bool told = take('='), ones = word.starts_with("1*");
      if (ones) many = true, word.remove_prefix(2);
      Term term{.kind = Term::kSize, .name = 0, .broadcast = take('#'), .number = 1};
      if (!word.empty() && word.front() >= '0' && word.front() <= '9') {
        for (term.number = 0; !word.empty() && word.front() >= '0' && word.front() <= '9'; word.remove_prefix(1))
          term.number = term.number * 10 + (word.front() - '0');
        if (word.empty()) term.kind = Term::kNumber;
      }
      if (many) {
        tensor.many = true;
        term.kind = ones ? Term::kOnes : word == "_" ? Term::kAnyMany : Term::kMany;
        if (term.kind != Term::kAnyMany) term.name = name_of(word, many_names_, many_count_);
      } else {
        ++tensor.least;
        if (word == "_") term.kind = Term::kAny;
        else if (term.kind == Term::kSize) {
          const uint8_t before = size_names_;
          term.name = name_of(word, names_, size_names_);
          if (told) {
            if (before == size_names_) throw "a size is told where its name stands first";
            told_names_[told_++] = term.name;
          }
        }
      }
      if (results && term.kind == Term::kAny) throw "a result has no place for any size";
      if (term_count_ == kMost || count_ + 1 == kMostTensors) throw "too long";
      terms_[term_count_++] = term;
    }
  }
  end_tensor();
  if (!results) inputs_ = count_;
}

template <size_t length>
struct Text {
  char value[length];
  consteval Text(const char (&text)[length]) { std::copy_n(text, length, value); }
};
template <Text text>
inline constexpr Pattern pattern{text.value};

// A shape as both interfaces have it; a dimension below 0 is unknown.
struct GivenShape {
  const int64_t* sizes = nullptr;
  size_t rank = 0;
  bool absent = false;  // there is no such tensor
  bool unknown_rank = false;
};

// What the names of a pattern stand for.
class SIM_API Matched {
 public:
  Matched(const Pattern& pattern, const GivenShape* inputs, const int64_t* told);
  explicit operator bool() const { return fits_; }
  Dim operator[](size_t name) const { return names_.at(name).size; }
  std::optional<Sizes> result(size_t tensor) const;  // none: of unknown rank

 private:
  // Whether all but one of the tensor's parts of any number of dimensions are known by now; then `one` has so many.
  bool is_settled(const Pattern::Tensor& tensor, size_t rank, size_t& one) const;
  std::optional<size_t> dimensions(const Pattern::Term& term) const;
  bool match(const Pattern::Tensor& tensor, const GivenShape& given, size_t one);
  bool match_size(const Pattern::Term& term, Dim came);
  bool match_many(const Pattern::Term& term, const int64_t* came, size_t count);

  const Pattern& pattern_;
  struct Name {
    Dim size;
    bool fixed;  // by a tensor that does not broadcast, or told
    bool seen;   // in one that does
  };
  struct Many {
    std::optional<Sizes> sizes;
    bool open;  // one of its tensors has an unknown rank
  };
  std::array<Name, Pattern::kMostNames> names_{};
  std::array<Many, Pattern::kMostNames> many_{};
  bool fits_ = true;
};

// ---- for tensors, whose sizes are known
// ------------------------------------------------------------------------------
struct Operand {
  Operand(const at::Tensor& of) : tensor(&of) {
    if (of.defined()) shape = {of.sizes().data(), of.sizes().size()};
    else shape.absent = true;
  }
  Operand(at::IntArrayRef sizes) : shape{sizes.data(), sizes.size()} {}
  GivenShape shape;
  const at::Tensor* tensor = nullptr;
};
SIM_API void shapes(const Pattern& pattern, const Operand* operands, const int64_t* told, int64_t* sizes);
// The same of inputs that are there or may be absent.
SIM_API Matched checked(const Pattern& pattern, const Operand* operands, const int64_t* told);

// Throws unless the shapes are what the pattern says, those of results as shape() does. Gives the sizes that its names
// stand for, in the order in which they come: auto [m, k, n] = shapes<"m k, k n -> m n">(x, weight, out).
template <Text text, typename... T>
std::array<int64_t, pattern<text>.sizes()> shapes(std::initializer_list<int64_t> told, const T&... operands) {
  static_assert(sizeof...(T) == pattern<text>.tensors(), "as many tensors as the pattern has");
  std::array<int64_t, pattern<text>.sizes()> sizes{};
  const Operand all[] = {operands...};
  shapes(pattern<text>, all, told.begin(), sizes.data());
  return sizes;
}
template <Text text, typename... T>
  requires(!pattern<text>.told())
auto shapes(const T&... operands) {
  return shapes<text>(std::initializer_list<int64_t>{}, operands...);
}

}  // namespace sim
