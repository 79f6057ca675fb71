// Products of matrices and of batches of them.
#include <map>
#include <sstream>

#include "ge/rows/rows.h"
#include "kernels/matmul.h"
#include "kernels/reduce.h"

namespace sim::ge_table {
namespace {

// The matrices as they are, or turned. A bias fits the columns.
#define PRODUCTS(batch)                                              \
  {                                                                  \
    {&pattern<batch "m k, " batch "k n, *_ n? -> " batch "m n">,     \
     &pattern<batch "m k, " batch "n k, *_ n? -> " batch "m n">},    \
    {                                                                \
      &pattern<batch "k m, " batch "k n, *_ n? -> " batch "m n">,    \
          &pattern<batch "k m, " batch "n k, *_ n? -> " batch "m n"> \
    }                                                                \
  }
constexpr const Pattern* kProducts[2][2] = PRODUCTS("");
constexpr const Pattern* kBatches[2][2] = PRODUCTS("*#b ");

void matmul_shape(Shaper& s) {
  require_same_dtype(s, 0, 2);
  s.out(*kProducts[s.flag("transpose_x1")][s.flag("transpose_x2")]);
}
void batch_shape(Shaper& s) {
  require_same_dtype(s, 0, 2);
  s.out(*kBatches[s.flag("adj_x1")][s.flag("adj_x2")]);
}

// CANN's pages of aclblasGemmEx have these types.
void general_rule(Shaper& s) {
  static constexpr int32_t kTypes[][2] = {{kHalf, kHalf}, {kHalf, kFloat}, {kInt8, kFloat}, {kInt8, kInt32}};
  require_same_dtype(s, 0, 2);
  require_same_dtype(s, 2, 5);
  const bool known_types = std::any_of(std::begin(kTypes), std::end(kTypes), [&](const int32_t (&pair)[2]) {
    return s.dtype(0) == pair[0] && s.dtype(2) == pair[1];
  });
  if (!known_types)
    throw Refused(s.describe(0) + " and a sum of " + s.describe(2) +
                  "; allowed: float16 into float16 or float32, int8 into float32 or int32");
  one_number(s, 3, 5);
  static constexpr const Pattern* kGeneral[2][2] = {
      {&pattern<"m k, k n, m n, *_, *_ -> m n :2">, &pattern<"m k, n k, m n, *_, *_ -> m n :2">},
      {&pattern<"k m, k n, m n, *_, *_ -> m n :2">, &pattern<"k m, n k, m n, *_, *_ -> m n :2">}};
  s.out(*kGeneral[s.flag("transpose_a")][s.flag("transpose_b")]);
}

at::Tensor matmul(const Args& a) {
  return kernels::product_of(a[0], a[1], a[2], a.flag("transpose_x1"), a.flag("transpose_x2"));
}
at::Tensor batch_matmul(const Args& a) {
  return kernels::product_of(a[0], a[1], a[2], a.flag("adj_x1"), a.flag("adj_x2"));
}

void cdist_grad_rule(Shaper& s) {
  s.out(s.dtype(1), s.match(pattern<"*b m n d, *b m n d, *b m n d, *b m n d -> *b m d">).result(4));
}

// What each slice is to be multiplied by. op-plugin may make room for as many numbers as x has.
void factors_rule(Shaper& s) { s.out(s.dtype(0), all_unknown(s.shape(0))); }
Results factors(const Args& a) {
  a.fit(0, kernels::renorm_factors(a[0], a.real("p"), a.integer("dim"), a.real("maxnorm")));
  return {};
}

// ---- sums of products by an equation, such as "ij,jk->ik" -----------------------------------------------------------
// What dimensions a letter stands for; three dots are all that no letter of their input stands for.
struct Letters {
  std::map<char, Dim> sizes;
  std::map<char, int> counts;
  Shape dotted = known({});
};
void read_operand(const std::string& letters, const Shape& shape, Letters& into, const Call& s) {
  const size_t dots = letters.find("..."), named = letters.size() - (dots == std::string::npos ? 0 : 3);
  if (shape->size() < named || (dots == std::string::npos && shape->size() != named))
    throw Refused("'" + letters + "' for an input of " + std::to_string(shape->size()) + " dimensions");
  const size_t more = shape->size() - named;
  size_t at = 0;
  for (size_t i = 0; i < letters.size(); ++i) {
    if (i == dots) {
      const auto first = shape->begin() + int64_t(at);
      into.dotted = broadcast_shapes(into.dotted, known({first, first + int64_t(more)}), s);
      at += more, i += 2;
      continue;
    }
    Dim& size = into.sizes.try_emplace(letters[i], (*shape)[at]).first->second;
    if (!size.known() || size == 1) size = (*shape)[at];
    else if ((*shape)[at] != size && (*shape)[at] != 1)
      throw Refused(std::string("sizes of '") + letters[i] + "' differ");
    ++into.counts[letters[i]], ++at;
  }
}
void equation_rule(Shaper& s) {
  require_same_dtype(s, 0, s.count());
  const std::string equation = s.text("equation");
  const size_t arrow = equation.find("->");
  std::stringstream operands(equation.substr(0, arrow));
  Letters letters;
  std::string one;
  size_t count = 0;
  for (; std::getline(operands, one, ','); ++count) {
    if (count >= s.count()) throw Refused("'" + equation + "' for " + std::to_string(s.count()) + " inputs");
    if (!s.shape(count)) return s.out(s.dtype(0), std::nullopt);
    read_operand(one, s.shape(count), letters, s);
  }
  if (equation.substr(0, arrow).ends_with(',') || !arrow)  // an input without dimensions has no letter
    read_operand("", s.shape(count) ? s.shape(count) : known({}), letters, s), ++count;
  if (count != s.count()) throw Refused("'" + equation + "' for " + std::to_string(s.count()) + " inputs");
  std::string result = arrow == std::string::npos ? "..." : equation.substr(arrow + 2);
  if (arrow == std::string::npos)
    for (const auto& [letter, times] : letters.counts)
      if (times == 1) result += letter;
  Sizes out;
  for (size_t i = 0; i < result.size(); ++i) {
    if (result[i] == '.') {
      out.insert(out.end(), letters.dotted->begin(), letters.dotted->end());
      i += 2;
    } else if (letters.sizes.contains(result[i])) {
      out.push_back(letters.sizes.at(result[i]));
    } else {
      throw Refused(std::string("no input has '") + result[i] + "'");
    }
  }
  s.out(s.dtype(0), out);
}

}  // namespace

const Family matmul_rows = {
    ROW(MatMul, "x1 x2 bias? -> y | transpose_x1:Bool=false transpose_x2:Bool=false", matmul_shape, matmul(a)),
    ROW(MatMulV2, "x1 x2 bias? offset_w? -> y | transpose_x1:Bool=false transpose_x2:Bool=false offset_x:Int=0",
        matmul_shape, matmul(a)),
    ROW(BatchMatMul, "x1 x2 -> y | adj_x1:Bool=false adj_x2:Bool=false", batch_shape, batch_matmul(a)),
    ROW(BatchMatMulV2, "x1 x2 bias? offset_w? -> y | adj_x1:Bool=false adj_x2:Bool=false offset_x:Int=0", batch_shape,
        batch_matmul(a)),
    ROW(GEMM, "a b c alpha beta -> y | transpose_a:Bool=false transpose_b:Bool=false", general_rule,
        kernels::scaled_product({.a = a[0],
                                 .b = a[1],
                                 .c = a[2],
                                 .alpha = a[3],
                                 .beta = a[4],
                                 .turn_a = a.flag("transpose_a"),
                                 .turn_b = a.flag("transpose_b")})),
    // Pair by pair: torch_npu spreads both over the rows of the other.
    ROW(Cdist, "x1 x2 -> y | p:Float=2.0", (pattern<"*b c, *b c -> *b">),
        at::cdist(wide(a[0]).unsqueeze(-2), wide(a[1]).unsqueeze(-2), norm_order(a)).squeeze(-1).squeeze(-1)),
    ROW(MatrixTriangularSolve, "matrix rhs -> y | lower:Bool=true adjoint:Bool=false",
        (pattern<"*#b n n, *#b n m -> *#b n m">),
        std::get<0>(at::triangular_solve(a[1], a[0], !a.flag("lower"), a.flag("adjoint"), false))),
    ROW(MatrixDeterminant, "x -> y", (pattern<"*b n n -> *b">), kernels::determinant(a[0])),
    ROW(Einsum, "x* -> y | equation:String N:Int", equation_rule,
        at::einsum(a.text("equation"), a.tensors(0, a.count()))),
    {"Renorm", "x -> y | p:Float dim:Int maxnorm:Float", factors_rule, factors},
    ROW(CdistGrad, "grad x1 x2 cdist -> y | p:Float=2.0", cdist_grad_rule,
        kernels::spread_distances_backward(a[0], a[1], a[2], a[3], a.real("p"))),
};

}  // namespace sim::ge_table
