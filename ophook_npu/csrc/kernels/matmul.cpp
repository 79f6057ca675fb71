#include "kernels/matmul.h"

namespace sim::kernels {

static at::Tensor turned(const at::Tensor& x, bool turn) { return turn ? x.transpose(-1, -2) : x; }

bool multiplies_brain() {
#if defined(__x86_64__)
  static const bool does = __builtin_cpu_supports("avx512bf16");
  return does;
#else
  return false;
#endif
}

namespace {

// Whether ATen's own kernel for Half or BFloat16 is to be taken: it adds up in Float too, and takes ten to a hundred
// times as long as Float's, but for the few rows where converting the other matrix takes longer, and for products that
// the processor has instructions for.
bool as_it_is(const at::Tensor& a, const at::Tensor& b) {
  constexpr int64_t kFewRows = 8, kMany = int64_t(1) << 21;
  if (multiplies_brain() && a.scalar_type() == at::kBFloat16 && a.dim() >= 2 && b.dim() >= 2 &&
      a.numel() * b.size(-1) >= kMany)
    return true;
  const bool narrow = a.scalar_type() == at::kHalf || a.scalar_type() == at::kBFloat16;
  const bool along_rows = b.dim() < 2 || b.stride(-2) == 1;
  return !narrow || (along_rows && (a.dim() < 2 || a.size(-2) < kFewRows));
}

}  // namespace

at::Tensor batch_product(const at::Tensor& x, const at::Tensor& y) {
  if (!as_it_is(x, y)) return batch_product(wide(x), wide(y)).to(x.scalar_type());
  return x.dim() == 3 && y.dim() == 3 && x.size(0) == y.size(0) ? at::bmm(x, y) : at::matmul(x, y);
}

void product_into(const at::Tensor& out, const at::Tensor& a, const at::Tensor& b) {
  if (as_it_is(a, b)) at::mm_out(const_cast<at::Tensor&>(out), a, b);
  else out.copy_(at::mm(wide(a), wide(b)));
}

void sum_into(const at::Tensor& out, const at::Tensor& self, const at::Tensor& a, const at::Tensor& b,
              const at::Scalar& beta, const at::Scalar& alpha) {
  auto& to = const_cast<at::Tensor&>(out);
  const bool batch = a.dim() == 3;
  if (batch && a.size(0) != b.size(0)) return sum_into(out, self, a, b.expand({a.size(0), -1, -1}), beta, alpha);
  if (!as_it_is(a, b))
    out.copy_(batch ? at::baddbmm(wide(self), wide(a), wide(b), beta, alpha)
                    : at::addmm(wide(self), wide(a), wide(b), beta, alpha));
  else if (batch) at::baddbmm_out(to, self, a, b, beta, alpha);
  else at::addmm_out(to, self, a, b, beta, alpha);
}

at::Tensor product_of(const at::Tensor& x, const at::Tensor& y, const at::Tensor& bias, bool turn_x, bool turn_y) {
  const at::Tensor a = turned(x, turn_x), b = turned(y, turn_y);
  if (!bias.defined()) return batch_product(a, b);
  if (!as_it_is(a, b)) return product_of(wide(a), wide(b), wide(bias), false, false).to(x.scalar_type());
  if (a.dim() == 2 && b.dim() == 2) return at::addmm(bias.to(a.scalar_type()), a, b);
  const at::Tensor out = at::matmul(a, b);
  return at::add(out, bias.to(out.scalar_type()));
}

at::Tensor general_product(const at::Tensor& a, const at::Tensor& b, const at::Tensor& c, double alpha, double beta,
                           bool turn_a, bool turn_b) {
  auto result = at::matmul(wide(turned(a, turn_a)), wide(turned(b, turn_b))).mul(alpha);
  return beta == 0 ? result : result.add(wide(c), beta);
}

at::Tensor scaled_product(const ScaledProduct& of) {
  // Sums of small whole numbers are exact in double.
  const auto operand = [](const at::Tensor& x, bool turn) {
    return x.is_floating_point() ? wide(turned(x, turn)) : turned(x, turn).to(at::kDouble);
  };
  const at::Tensor product = at::matmul(operand(of.a, of.turn_a), operand(of.b, of.turn_b)).to(of.c.scalar_type());
  return wide(product).mul(wide(of.alpha.reshape({}))).add(wide(of.c).mul(wide(of.beta.reshape({}))));
}

at::Tensor permuted_product(const at::Tensor& x, const at::Tensor& y, at::IntArrayRef perm_x, at::IntArrayRef perm_y,
                            at::IntArrayRef perm_out) {
  return at::bmm(wide(x.permute(perm_x)), wide(y.permute(perm_y))).permute(perm_out);
}

void product_then_like(const at::Tensor& x, const at::Tensor& y, const at::Tensor& bias, const at::Tensor& third,
                       const std::string& then, int64_t mode, const at::Tensor& out) {
  const bool takes_third = then == "add" || then == "mul", gelu = then == "gelu_tanh" || then == "gelu_erf";
  const bool cast = then == "16cast32";
  SIM_CHECK(then.empty() || takes_third || gelu || cast || then == "relu", "fusedOpType '", then,
            "'; allowed: '', 16cast32, add, mul, gelu_erf, gelu_tanh, relu");
  const int64_t most = gelu || cast ? 2 : takes_third ? 3 : 6;
  SIM_CHECK(x.dim() == y.dim() && x.dim() >= 2 && x.dim() <= most, "x1 ", x.sizes(), " and x2 ", y.sizes(), "; '", then,
            "' takes 2 to ", most, " dimensions, as many of both");
  SIM_CHECK(x.sizes().slice(0, size_t(x.dim()) - 2) == y.sizes().slice(0, size_t(y.dim()) - 2), "batches of x1 ",
            x.sizes(), " and x2 ", y.sizes(), " differ");
  matrix(out, x, y);
  if (gelu || cast) of_dtype("x1", x, {at::kHalf, at::kBFloat16});
  else SIM_CHECK(x.scalar_type() != at::kFloat || mode == 3, "cubeMathType ", mode, " for FLOAT; allowed: 3");
  of_dtype("y", out, {cast ? at::kFloat : x.scalar_type()});
  if (gelu) refuse_if_given({bias}, "bias with gelu");
  SIM_CHECK(takes_third == third.defined(), "x3 goes with add and mul, and these with x3");
  if (!takes_third) return;
  same_dtype({x, third});
  broadcast(out, {out, third});
}

at::Tensor product_then(const at::Tensor& x, const at::Tensor& y, const at::Tensor& bias, const at::Tensor& third,
                        const std::string& then, int64_t mode) {
  constexpr int64_t kInFull = 4;
  auto value = at::matmul(wide(x), wide(y));
  if (bias.defined()) value = value.add(wide(bias));
  if (then != "16cast32" && mode != kInFull) value = wide(value.to(x.scalar_type()));
  if (then == "add") return value.add(wide(third));
  if (then == "mul") return value.mul(wide(third));
  if (then == "relu") return at::relu(value);
  if (then == "gelu_tanh") return at::gelu(value, "tanh");
  return then == "gelu_erf" ? at::gelu(value) : value;
}

void lora_like(const Lora& of, const at::Tensor& out) {
  shapes<"rows all, rows columns, sets layers size rank, rows, sets layers rank columns? -> rows all">(
      of.y, of.x, of.b, of.indices, of.a, out);
  SIM_CHECK(of.a.defined() || of.x.size(1) == of.b.size(3), "without the first matrix x has ", of.b.size(3),
            " columns, not ", of.x.size(1));
  SIM_CHECK(of.layer >= 0 && of.layer < of.b.size(1), "layerIdx ", of.layer, " of ", of.b.size(1), " layers");
  SIM_CHECK(of.size == of.b.size(2) && of.offset >= 0 && of.offset + of.size <= of.y.size(1), "ySliceSize ", of.size,
            " from yOffset ", of.offset, " on, for ", of.b.size(2), " columns of weightB and ", of.y.size(1), " of y");
}

// An index that is no set's, -1 or the number of sets, adds nothing: so op-plugin's test has it, the page is silent.
// The first product stays float.
at::Tensor split_product(const at::Tensor& x, const at::Tensor& high, const at::Tensor& low, double scale) {
  return at::add(at::matmul(wide(x), wide(high)), at::matmul(wide(x), wide(low)), scale);
}

at::Tensor with_lora(const Lora& of, double scale) {
  auto sum = wide(of.y).clone();
  const at::Tensor sets = of.indices.to(at::kLong);
  SIM_CHECK(sets.ge(-1).logical_and(sets.le(of.b.size(0))).all().item<bool>(), "indices beyond ", of.b.size(0),
            " sets");
  for (int64_t set = 0; set < of.b.size(0); ++set) {
    const at::Tensor rows = sets.eq(set).nonzero().squeeze(1);
    if (!rows.numel()) continue;
    auto value = wide(of.x.index_select(0, rows));
    if (of.a.defined()) value = at::matmul(value, wide(of.a[set][of.layer]).t());
    sum.narrow(1, of.offset, of.size).index_add_(0, rows, at::matmul(value, wide(of.b[set][of.layer]).t()).mul(scale));
  }
  return sum;
}

Qr qr(const at::Tensor& x, int64_t mode) {
  static constexpr const char* kModes[] = {"reduced", "complete", "r"};
  auto [q, r] = at::linalg_qr(wide(x), kModes[mode]);
  return {mode == 2 ? at::Tensor() : q, r};
}

Svd svd(const at::Tensor& x, bool full, bool vectors) {
  if (!vectors) return {at::linalg_svdvals(x), {}, {}};
  auto [u, s, vh] = at::linalg_svd(x, full);
  return {s, u, vh.mH()};
}

void distances_like(const at::Tensor& x, const at::Tensor& y, const at::Tensor& out) {
  shapes<"*#b m d, *#b n d -> *#b m n">(x, y, out);
}

// ATen renormalizes by positive norms only.
at::Tensor renorm_factors(const at::Tensor& x, double p, int64_t dim, double max) {
  auto norm = at::linalg_vector_norm(wide(x), p, all_but(x, wrap(dim, x)), true);
  return at::mul(at::reciprocal(at::add(norm, 1e-7)), max).masked_fill(at::le(norm, max), 1);
}
at::Tensor renormalized(const at::Tensor& x, const at::Scalar& p, int64_t dim, const at::Scalar& max) {
  if (p.toDouble() > 0) return at::renorm(x, p, dim, max);
  return at::mul(wide(x), renorm_factors(x, p.toDouble(), dim, max.toDouble()));
}

at::Tensor plus_batches(const at::Tensor& self, const at::Tensor& a, const at::Tensor& b, const at::Scalar& beta,
                        const at::Scalar& alpha) {
  const int64_t batches = std::max(a.size(0), b.size(0));
  return at::addbmm(wide(self), wide(a).expand({a.size(0) ? batches : 0, -1, -1}),
                    wide(b).expand({b.size(0) ? batches : 0, -1, -1}), beta, alpha);
}

int64_t crossing(const at::Tensor& self, int64_t dims, int64_t dim) {
  return c10::maybe_wrap_dim(dim, self.dim()) + dims - self.dim();
}

at::Tensor crossed(const at::Tensor& self, const at::Tensor& other, int64_t dim) {
  const auto type = at::result_type(self, other);
  const auto sizes = at::infer_size(self.sizes(), other.sizes());
  const int64_t place = crossing(self, int64_t(sizes.size()), dim);
  return at::linalg_cross(self.to(type).expand(sizes), other.to(type).expand(sizes), place);
}

at::Tensor vector_sum(const at::Tensor& self, const at::Tensor& matrix, const at::Tensor& vector,
                      const at::Scalar& beta, const at::Scalar& alpha) {
  const auto type = c10::promoteTypes(at::result_type(self, matrix), vector.scalar_type());
  const auto computed = type == at::kBool ? at::kLong : type;
  return at::addmv(self.to(computed), matrix.to(computed), vector.to(computed), beta, alpha).to(type);
}

at::Tensor determinant(const at::Tensor& matrices) {
  const auto [sign, log] = at::linalg_slogdet(matrices.to(at::kDouble));
  return sign * at::exp(log);
}

}  // namespace sim::kernels
