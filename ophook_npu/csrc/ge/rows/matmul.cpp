// Products of matrices and of batches of them.
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

void outer_rule(Shaper& s) {
  require_type(s, 0, {kHalf, kFloat});
  require_same_dtype(s, 0, 2);
  s.out(pattern<"n, m -> n m">);
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
    FITTED(Renorm, "x -> y | p:Float dim:Int maxnorm:Float", factors_rule,
           kernels::renorm_factors(a[0], a.real("p"), a.integer("dim"), a.real("maxnorm"))),
    ROW(CdistGrad, "grad x1 x2 cdist -> y | p:Float=2.0", cdist_grad_rule,
        kernels::spread_distances_backward(a[0], a[1], a[2], a[3], a.real("p"))),
    ROW(Ger, "x1 x2 -> y", outer_rule, at::outer(a[0], a[1])),
    {"Slogdet", "x -> sign y", "aclnnSlogdet self=x logOut=y"},
};

}  // namespace sim::ge_table
