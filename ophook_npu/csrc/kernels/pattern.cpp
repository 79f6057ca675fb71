#include "kernels/pattern.h"

#include <bit>

#include "kernels/absent.h"
#include "kernels/check.h"
#include "kernels/sizes.h"

#include "kernels/tensors.h"
#include "kernels/wrong_shape.h"

namespace sim {

static bool is_many(const Pattern::Term& term) {
  return term.kind == Pattern::Term::kMany || term.kind == Pattern::Term::kAnyMany || term.kind == Pattern::Term::kOnes;
}
static Dim dim_of(int64_t size) { return size < 0 ? unknown : Dim(size); }

std::string Pattern::text(const int64_t* told) const {
  std::string out;
  for (size_t i = 0; i < count_; ++i) {
    out += i == 0 ? "(" : i == inputs_ ? " -> (" : ", (";
    for (size_t at = tensors_[i].first; at < tensors_[i].last; ++at) {
      const Term& term = terms_[at];
      if (at > tensors_[i].first) out += ", ";
      // One name needs none: "…".
      const std::string many =
          many_count_ < 2 || term.kind == Term::kAnyMany ? "…" : "*" + std::string(many_names_[term.name]);
      if (term.kind == Term::kOnes) out += "1" + many;
      else if (is_many(term)) out += many;
      else if (term.kind == Term::kAny) out += "_";
      else {
        const auto from = std::find(told_names_.begin(), told_names_.begin() + told_, term.name);
        const bool is_told = term.kind == Term::kSize && from != told_names_.begin() + told_;
        if (is_told) out += std::to_string(told[from - told_names_.begin()] * term.number);
        else if (term.kind == Term::kNumber || term.number != 1) out += std::to_string(term.number);
        if (!is_told && term.kind == Term::kSize) out += names_[term.name];
      }
    }
    out += ")";
  }
  return out;
}

Matched::Matched(const Pattern& pattern, const GivenShape* inputs, const int64_t* told) : pattern_(pattern) {
  for (size_t i = 0; i < pattern.told(); ++i) names_[pattern.told_name(i)] = {dim_of(told[i]), true, false};
  // In their order, but those with several parts of any number of dimensions when the others have told these numbers.
  uint32_t left = 0;
  const auto look_at = [&](size_t i) {
    size_t one = 0;
    if (!inputs[i].unknown_rank && !is_settled(pattern.tensor(i), inputs[i].rank, one)) return false;
    fits_ = match(pattern.tensor(i), inputs[i], one);
    return true;
  };
  for (size_t i = 0; i < pattern.inputs() && fits_; ++i)
    if (!inputs[i].absent && !look_at(i)) left |= 1u << i;
  for (size_t before = pattern.inputs() + 1; left && size_t(std::popcount(left)) < before && fits_;) {
    before = std::popcount(left);
    for (size_t i = 0; i < pattern.inputs() && fits_; ++i)
      if (left >> i & 1 && look_at(i)) left &= ~(1u << i);
  }
  for (size_t i = 0; left && i < pattern.inputs() && fits_; ++i)  // of unknown rank, as far as is known
    if (left >> i & 1) fits_ = match(pattern.tensor(i), {.unknown_rank = true}, 0);
}

std::optional<size_t> Matched::dimensions(const Pattern::Term& term) const {
  if (term.kind == Pattern::Term::kAnyMany || term.broadcast) return std::nullopt;
  const auto& sizes = many_[term.name].sizes;
  return sizes ? std::optional(sizes->size()) : std::nullopt;
}

bool Matched::is_settled(const Pattern::Tensor& tensor, size_t rank, size_t& one) const {
  size_t known = tensor.least, open = 0;
  for (size_t at = tensor.first; tensor.many && at < tensor.last; ++at) {
    const Pattern::Term& term = pattern_.term(at);
    if (!is_many(term)) continue;
    const auto count = dimensions(term);
    count ? known += *count : ++open;
  }
  one = rank >= known ? rank - known : 0;
  return open < 2;
}

bool Matched::match(const Pattern::Tensor& tensor, const GivenShape& given, size_t one) {
  if (given.unknown_rank) {
    for (size_t at = tensor.first; at < tensor.last; ++at)
      if (pattern_.term(at).kind == Pattern::Term::kMany) many_[pattern_.term(at).name].open = true;
    return true;
  }
  if (given.rank < tensor.least || (given.rank > tensor.least && !tensor.many)) return false;
  const int64_t *came = given.sizes, *const end = came + given.rank;
  for (size_t at = tensor.first; at < tensor.last; ++at) {
    const Pattern::Term& term = pattern_.term(at);
    const bool many = is_many(term);
    const size_t count = many ? dimensions(term).value_or(one) : 1;
    if (count > size_t(end - came)) return false;
    if (many ? !match_many(term, came, count) : !match_size(term, dim_of(*came))) return false;
    came += count;
  }
  return came == end;
}

bool Matched::match_size(const Pattern::Term& term, Dim came) {
  if (term.kind == Pattern::Term::kAny) return true;
  if (term.kind == Pattern::Term::kNumber) return !(came != term.number);
  Name& name = names_[term.name];
  if (!term.broadcast) {
    if (came % term.number != 0 || name.size != came / term.number) return false;
    if (!name.size.known()) name.size = came / term.number;
    name.fixed = true;
    return true;
  }
  if (!name.seen) name.size = name.fixed ? name.size : 1;
  name.seen = true;
  if (name.size != came && came != 1 && (name.fixed || name.size != 1)) return false;
  name.size = joined(name.size, came);
  return true;
}

bool Matched::match_many(const Pattern::Term& term, const int64_t* came, size_t count) {
  if (term.kind == Pattern::Term::kAnyMany) return true;
  if (term.kind == Pattern::Term::kOnes) {
    for (size_t i = 0; i < count; ++i)
      if (dim_of(came[i]) != 1) return false;
    return true;
  }
  std::optional<Sizes>& all = many_[term.name].sizes;
  if (!all || term.broadcast) {
    Sizes other;
    other.reserve(count);
    for (size_t i = 0; i < count; ++i) other.push_back(dim_of(came[i]));
    if (all) return broadcast_into(*all, other);
    return all = std::move(other), true;
  }
  if (all->size() != count) return false;
  for (size_t i = 0; i < count; ++i) {
    const Dim other = dim_of(came[i]);
    if ((*all)[i] != other) return false;
    if (!(*all)[i].known()) (*all)[i] = other;
  }
  return true;
}

std::optional<Sizes> Matched::result(size_t tensor) const {
  const Pattern::Tensor& of = pattern_.tensor(tensor);
  Sizes out;
  out.reserve(8);  // as many dimensions as a tensor has: one allocation, as this is a part of every first phase
  for (size_t at = of.first; at < of.last; ++at) {
    const Pattern::Term& term = pattern_.term(at);
    if (term.kind == Pattern::Term::kAnyMany) return std::nullopt;
    if (term.kind == Pattern::Term::kMany) {
      const auto& [sizes, open] = many_[term.name];
      if (!sizes || (open && term.broadcast)) return std::nullopt;
      out.insert(out.end(), sizes->begin(), sizes->end());
    } else if (term.kind == Pattern::Term::kOnes) {
      const auto count = dimensions(term);
      if (!count) return std::nullopt;
      out.insert(out.end(), *count, 1);
    } else if (term.kind == Pattern::Term::kNumber) {
      out.push_back(term.number);
    } else {
      out.push_back(names_[term.name].size * term.number);
    }
  }
  return out;
}

// What an input should have been after those before it: "(…, 4, k)".
static std::string expected(const Pattern& pattern, size_t input, const Matched& before, const int64_t* told) {
  std::string words = pattern.text(told);
  for (size_t i = 0; i < input; ++i) words.erase(0, words.find(')') + 1);
  words = words.substr(words.find('(') + 1, words.find(')') - words.find('(') - 1);
  std::string out;
  for (size_t at = pattern.tensor(input).first; at < pattern.tensor(input).last; ++at) {
    const std::string word = words.substr(0, words.find(','));
    words.erase(0, word.size() + 2);
    const Pattern::Term& term = pattern.term(at);
    const bool is_known = term.kind == Pattern::Term::kSize && before[term.name].known();
    out += (out.empty() ? "" : ", ") + (is_known ? std::to_string(before[term.name].size() * term.number) : word);
  }
  return "(" + out + ")";
}

// Told from other violations, as of an output: where an empty tensor ends a call, no shape is compared.
[[noreturn]] static void wrong_shape(const std::string& what) {
  throw WrongShape({__func__, __FILE__, __LINE__}, what);
}

[[noreturn]] static void refuse(const Pattern& pattern, const GivenShape* shapes, const int64_t* told) {
  std::array<GivenShape, Pattern::kMostTensors> some;
  some.fill({.absent = true});
  std::string before;
  for (size_t i = 0; i < pattern.inputs(); ++i) {
    const Matched known(pattern, some.data(), told);
    some[i] = shapes[i];
    const std::string came = c10::str(at::IntArrayRef(shapes[i].sizes, shapes[i].rank));
    if (!Matched(pattern, some.data(), told))
      wrong_shape("shape " + came + (before.empty() ? "" : " beside " + before) + ", expected " +
                  expected(pattern, i, known, told) + " as in " + pattern.text(told));
    if (!shapes[i].absent) before += (before.empty() ? "" : ", ") + came;
  }
  wrong_shape("shapes " + before + " do not fit " + pattern.text(told));
}

Matched checked(const Pattern& pattern, const Operand* operands, const int64_t* told) {
  std::array<GivenShape, Pattern::kMostTensors> shapes;
  for (size_t i = 0; i < pattern.inputs(); ++i) shapes[i] = operands[i].shape;
  Matched found(pattern, shapes.data(), told);
  if (!found) [[unlikely]]
    refuse(pattern, shapes.data(), told);
  for (size_t i = pattern.inputs(); i < pattern.tensors(); ++i) {
    if (!operands[i].tensor || !operands[i].tensor->defined()) continue;
    const std::optional<Sizes> result = found.result(i);
    if (!result) continue;  // an input that says so is absent
    const at::IntArrayRef came = operands[i].tensor->sizes();
    if (std::equal(came.begin(), came.end(), result->begin(), result->end())) continue;
    const Dims sizes = known_sizes(*result);
    pattern.tensor(i).optional ? asked({*operands[i].tensor}, sizes) : shape(*operands[i].tensor, sizes);
  }
  return found;
}

void shapes(const Pattern& pattern, const Operand* operands, const int64_t* told, int64_t* sizes) {
  for (size_t i = 0; i < pattern.inputs(); ++i)
    if (operands[i].shape.absent && !pattern.tensor(i).optional) absent();
  const Matched found = checked(pattern, operands, told);
  for (size_t i = 0; i < pattern.sizes(); ++i) sizes[i] = found[i].known() ? found[i].size() : 0;
}

}  // namespace sim
