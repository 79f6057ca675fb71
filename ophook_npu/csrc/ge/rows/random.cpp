// Randomness: dropout with masks of bytes and of bits, and tensors drawn from seed and offset.
#include "ge/rows/rows.h"
#include "kernels/random.h"
#include "kernels/sampling.h"

namespace sim::ge_table {
namespace {

// A byte for each element of a tensor of shape `shape`; callers may ask for more, in one dimension.
void mask_rule(Shaper& s) { s.out(kUint8, std::nullopt); }

// The same seeds give the same mask, as on the device.
at::Tensor byte_mask(const Args& a) {
  return kernels::draw_bytes(a.output(0).sizes(), *a.number(1), static_cast<uint64_t>(a.integer("seed")),
                             static_cast<uint64_t>(a.integer("seed2")));
}

// A mask has a number of `parts` of each element, or more.
void has_parts(const Shaper& s, size_t mask, size_t of, int64_t parts) {
  if (numbers_in(s, mask) * parts < numbers_in(s, of))
    throw Refused("its mask " + s.describe(mask) + " has too few for " + s.describe(of));
}
void dropout_rule(Shaper& s) {
  if (s.dtype(1) != kUint8) throw Refused("its mask must be uint8, it is " + s.describe(1));
  has_parts(s, 1, 0, 1), one_number(s, 2, 3);
  same(s);
}
void dropout_bits_rule(Shaper& s) {
  has_parts(s, 1, 0, 8), one_number(s, 2, 3);
  same(s);
}
at::Tensor dropout(const Args& a) {
  return kernels::dropped(a[0], a[1].flatten().narrow(0, 0, a[0].numel()), *a.number(2));
}

// A byte for each element, of which a mask has more.
at::Tensor bytes_of_mask(const Args& a, size_t mask, size_t of) {
  return a[mask].flatten().narrow(0, 0, a[of].numel()).view(a[of].sizes());
}
int64_t one_axis(const Call& call, const char* attr) {
  const Dims axes = call.integers(attr);
  if (axes.size() != 1) throw Refused(std::string(attr) + " needs one value, it has " + std::to_string(axes.size()));
  return axes[0];
}
void softmax_dropout_rule(Shaper& s) {
  require_same_dtype(s, 0, 2);
  like_first(s, 1), has_parts(s, 2, 0, 1);
  for (const size_t i : {0, 1}) s.out(i, s.dtype(0), s.shape(0));
}
void softmax_dropout_grad_rule(Shaper& s) {
  like_first(s, 2), has_parts(s, 1, 0, 1);
  same(s);
}

// ---- a bit an element, in as many bytes as fill blocks of 128 bits -------------------------------------------------
void bit_mask_rule(Shaper& s, size_t numbers) {
  const Values shape = s.values(0);
  one_number(s, 1, numbers);
  s.out(kUint8, known({shape ? Dim((c10::multiply_integers(*shape) + 127) / 128 * 16) : unknown}));
}
void bit_mask_rule(Shaper& s) { bit_mask_rule(s, 2); }
uint64_t last_number(const at::Tensor& values) {
  return static_cast<uint64_t>(values.flatten()[-1].item().to<int64_t>());
}
at::Tensor bit_mask(const Args& a) {
  at::Tensor out = a.output(0).zero_();
  kernels::pack_bits(out, kernels::draw_kept(c10::multiply_integers(a.need(0)), *a.number(1), last_number(a[2]),
                                             a.has(4) ? last_number(a[4]) : 0));
  return out;
}
at::Tensor dropout_bits(const Args& a) {
  return kernels::dropped(a[0], kernels::unpack_bits(a[1], 0, a[0].numel()), *a.number(2));
}

// ---- drawn from seed and offset ------------------------------------------------------------------------------------
void drawn_rule(Shaper& s) { s.out(static_cast<int32_t>(s.integer("dtype")), shape_from(s, 0)); }
void bernoulli_rule(Shaper& s) {
  drawn_rule(s);
  broadcast_shapes(shape_from(s, 0), s.shape(1), s);
}
// The data type that is told, or the chances' own.
void chances_rule(Shaper& s) {
  require_type(s, 0, {kFloat, kHalf, kDouble}), require_type(s, 1, {kInt64}), require_type(s, 2, {kInt64});
  one_number(s, 1, 3);
  const auto dtype = int32_t(s.integer("dtype"));
  s.out(dtype == ge_absent ? s.dtype(0) : dtype, s.shape(0));
}
at::Generator stream(const Args& a, size_t seed, size_t offset) {
  return kernels::generator(last_number(a[seed]), last_number(a[offset]));
}
// A seed of -1 at offset 0 leaves it to the device.
at::Generator stream_or_own(const Args& a, size_t seed, size_t offset) {
  const bool told = last_number(a[seed]) != uint64_t(-1) || last_number(a[offset]);
  return told ? stream(a, seed, offset) : kernels::own_generator();
}
void permutation_rule(Shaper& s) {
  const Values n = s.values(0);
  s.out(static_cast<int32_t>(s.integer("dtype")), known({at_or_unknown(n, 0)}));
}

// Of a mask: the places of what is true, shuffled.
void places_rule(Shaper& s) {
  const Shape mask = s.shape(0);
  const int64_t count = s.integer("count");
  if (s.dtype(0) != kBool) throw Refused("its input must be bool, it is " + s.describe(0));
  if (count < 1) throw Refused("count=" + std::to_string(count) + " is not simulated; allowed: above 0");
  s.out(0, kInt32, known({count, mask ? Dim(rank_of(mask)) : unknown}));
  s.out(1, kBool, known({count}));
}
// Seeds of 0 leave it to the device; others give the same each time.
at::Generator seeded(const Args& a) {
  const auto seed = static_cast<uint64_t>(a.integer("seed"));
  const auto second = static_cast<uint64_t>(a.knows("seed2") ? a.integer("seed2") : 0);
  return seed || second ? kernels::generator(seed, second) : kernels::own_generator();
}

// Two seeds in one input.
at::Generator of_seeds(const Args& a, size_t input) {
  const Dims seeds = a.need(input);
  return kernels::generator(uint64_t(seeds.at(0)), uint64_t(seeds.at(1)));
}
void two_seeds(const Shaper& s, size_t input) {
  require_type(s, input, {kInt32, kInt64});
  require_shape(s, input, known({2}), "has to be two seeds");
}
void stateless_between_rule(Shaper& s) {
  const size_t least = s.count() - 2;
  if (least == 2) two_seeds(s, 1);
  require_type(s, least, {kInt32, kInt64}), require_same_dtype(s, least, least + 2), one_number(s, least, least + 2);
  s.out(s.dtype(least), shape_from(s, 0));
}
// `shape` is the result's, the parameter is broadcast to it.
void broadcast_parameter(Shaper& s, int32_t dtype) {
  two_seeds(s, 1);
  const Shape out = shape_from(s, 0);
  if (!may_be(broadcast_shapes(out, s.shape(2), s), out)) throw Refused(s.describe(2) + " is larger than the result");
  s.out(dtype, out);
}
void stateless_gamma_rule(Shaper& s) {
  require_type(s, 2, {kFloat, kHalf, kDouble});
  broadcast_parameter(s, s.dtype(2));
}
void stateless_poisson_rule(Shaper& s) {
  require_type(s, 2, {kFloat, kHalf, kDouble, kInt32, kInt64});
  broadcast_parameter(s, int32_t(s.integer("dtype")));
}

// ---- drawn by the seeds that are attributes ------------------------------------------------------------------------
void real_rule(Shaper& s) {
  const auto dtype = int32_t(s.integer("dtype"));
  if (dtype != kFloat && dtype != kHalf && dtype != kDouble)
    throw Refused("dtype=" + std::to_string(dtype) + "; allowed: 0 (float32), 1 (float16), 11 (float64)");
  s.out(dtype, shape_from(s, 0));
}
void between_rule(Shaper& s) {
  require_type(s, 1, {kInt32, kInt64}), require_same_dtype(s, 1, 3), one_number(s, 1, 3);
  s.out(s.dtype(1), shape_from(s, 0));
}
void truncated_rule(Shaper& s) {
  const Shape shape = shape_from(s, 0);
  require_type(s, 1, {kFloat, kHalf, kDouble}), require_same_dtype(s, 1, 5);
  for (size_t i = 1; i < 5; ++i)
    if (numbers_in(s, i) != 1) {
      const Shape own = s.shape(i);
      if (own && (own->size() != 1 || (shape && (shape->empty() || (*own)[0] != (*shape)[0]))))
        throw Refused(s.describe(i) + " is neither one number nor one for each of the first dimension");
    }
  s.out(s.dtype(1), shape);
}
// The shape that is told, and behind it that of the parameters.
void for_each_rule(Shaper& s, int32_t dtype) {
  Shape out = shape_from(s, 0);
  const Shape own = s.shape(1);
  if (out && own) out->insert(out->end(), own->begin(), own->end());
  s.out(dtype, own ? out : std::nullopt);
}
void gamma_rule(Shaper& s) {
  require_type(s, 1, {kFloat, kHalf, kDouble});
  for_each_rule(s, s.dtype(1));
}
void poisson_rule(Shaper& s) {
  require_type(s, 1, {kFloat, kHalf, kDouble, kInt32, kInt64});
  for_each_rule(s, int32_t(s.integer("dtype")));
}
void poisson_like_rule(Shaper& s) {
  require_type(s, 0, {kFloat, kHalf});
  same(s);
}
void drawn_classes_rule(Shaper& s) {
  require_type(s, 0, {kFloat, kHalf, kDouble}), require_type(s, 1, {kInt32}), one_number(s, 1, 2);
  if (s.count() > 2) two_seeds(s, 2);
  const Matched found = s.match(pattern<"b _ -> b">);
  s.out(int32_t(s.integer(s.knows("dtype") ? "dtype" : "output_dtype")),
        known({found[0], at_or_unknown(s.values(1), 0)}));
}
void permutation_of_rule(Shaper& s) {
  if (s.integer("n") < 0) throw Refused("n=" + std::to_string(s.integer("n")) + "; allowed: 0 or more");
  s.out(int32_t(s.integer("dtype")), known({s.integer("n")}));
}
void dropped_rule(Shaper& s) {
  require_type(s, 0, {kFloat, kHalf}), require_type(s, 1, {kUint8, kBool});
  has_parts(s, 1, 0, 1);
  same(s);
}
void kept_bits_rule(Shaper& s) {
  require_type(s, 1, {kFloat, kHalf});
  bit_mask_rule(s, 2);
}
at::Tensor kept_bits(const Args& a) {
  at::Tensor out = a.output(0).zero_();
  kernels::pack_bits(out, kernels::kept({c10::multiply_integers(a.need(0))}, *a.number(1), seeded(a)));
  return out;
}
void kept_rule(Shaper& s) {
  require_type(s, 1, {kFloat, kHalf}), one_number(s, 1, 2);
  s.only("dtype", double(kBool));
  s.out(kBool, shape_from(s, 0));
}
void candidates_rule(Shaper& s) {
  require_type(s, 0, {kInt64});
  const Dim count = s.integer("num_sampled");
  const Matched found = s.match(pattern<"_ k -> k">);
  if (found[0] != Dim(s.integer("num_true")))
    throw Refused(c10::str("num_true=", s.integer("num_true"), " for ", s.describe(0)));
  if (s.integer("num_sampled") < 1 || s.integer("range_max") < 1 ||
      (s.flag("unique") && s.integer("num_sampled") > s.integer("range_max")))
    throw Refused(c10::str("num_sampled=", s.integer("num_sampled"), " of range_max=", s.integer("range_max")));
  s.out(0, kInt64, known({count})), s.out(1, kFloat, s.shape(0)), s.out(2, kFloat, known({count}));
}
kernels::Candidates candidates(const Args& a, bool rare) {
  return {.count = a.integer("num_sampled"), .range = a.integer("range_max"), .once = a.flag("unique"), .rare = rare};
}

}  // namespace

const Family random_rows = {
    ROW(DropOutGenMaskV3, "shape prob -> y | seed:Int=0 seed2:Int=0", mask_rule, byte_mask(a)),
    ROW(StatelessDropOutGenMask, "shape prob seed seed1 offset? -> y", bit_mask_rule, bit_mask(a)),
    ROW(DropOutDoMask, "x mask keep_prob -> y", dropout_bits_rule, dropout_bits(a)),
    ROW(StatelessRandomUniformV2, "shape key counter alg -> y | dtype:Type=0", drawn_rule,
        at::rand(a.need(0), stream(a, 1, 2), at::kFloat)),
    ROW(StatelessRandomNormalV2, "shape key counter alg -> y | dtype:Type=0", drawn_rule,
        at::randn(a.need(0), stream(a, 1, 2), at::kFloat)),
    ROW(StatelessBernoulli, "shape prob seed offset -> y | dtype:Type=0", bernoulli_rule,
        kernels::draw_bernoulli(a[1], a.need(0), stream(a, 2, 3)).to(a.out_dtype())),
    ROW(StatelessBernoulliV2, "x seed offset -> y | dtype:Type=28", chances_rule,
        kernels::draw_bernoulli(a[0], a[0].sizes(), stream_or_own(a, 1, 2)).to(a.out_dtype())),
    ROW(StatelessRandperm, "n seed offset -> y | layout:Int=0 dtype:Type=9", permutation_rule,
        at::randperm(a.need(0).at(0), stream(a, 1, 2), at::kLong)),
    EACH_OF(AxpyWithSoftmaxAndDropOutDoMask,
            "x1 x2 mask -> y1 y2 | alpha:Float input_keep_prob:Float axis:ListInt={-1}", softmax_dropout_rule,
            kernels::softmax_dropout(a[0], a[1], {bytes_of_mask(a, 2, 0), a.real("input_keep_prob")}, a.real("alpha"),
                                     one_axis(a, "axis"))),
    ROW(DropoutWithMulsAndSoftmaxGrad,
        "y_grad mask softmax_output -> x_grad | input_keep_prob:Float alpha:Float axes:ListInt={-1}",
        softmax_dropout_grad_rule,
        kernels::softmax_dropout_backward(a[0], a[2], {bytes_of_mask(a, 1, 0), a.real("input_keep_prob")},
                                          a.real("alpha"), one_axis(a, "axes"))),
    EACH_OF(RandomChoiceWithMask, "x -> y mask | count:Int=0 seed:Int=0 seed2:Int=0", places_rule,
            kernels::draw_places(a[0], a.integer("count"), seeded(a))),
#define SEEDS "seed:Int=0 seed2:Int=0"
    ROW(RandomUniform, "shape -> y | dtype:Type " SEEDS, real_rule,
        kernels::uniform_of(a.need(0), a.out_dtype(), seeded(a))),
    ROW(RandomStandardNormal, "shape -> y | dtype:Type " SEEDS, real_rule, at::randn(a.need(0), seeded(a), at::kFloat)),
    ROW(RandomUniformInt, "shape min max -> y | " SEEDS, between_rule,
        kernels::uniform_between(a.need(0), a[1], a[2], seeded(a))),
    ROW(TruncatedNormal, "shape -> y | " SEEDS " dtype:Type=0", real_rule,
        kernels::truncated_normal(a.need(0), seeded(a))),
    ROW(ParameterizedTruncatedNormal, "shape means stdevs min max -> y | " SEEDS, truncated_rule,
        kernels::truncated_normal(a.need(0), {a[1], a[2], a[3], a[4]}, seeded(a))),
    ROW(RandomGamma, "shape alpha -> y | " SEEDS, gamma_rule, kernels::gamma_samples(a.need(0), a[1], seeded(a))),
    ROW(RandomPoisson, "shape rate -> y | dtype:Type=9 " SEEDS, poisson_rule,
        kernels::poisson_samples(a.need(0), a[1], seeded(a))),
    ROW(Poisson, "x -> y | seed:Int=0", poisson_like_rule, kernels::poisson_samples({}, a[0], seeded(a))),
    ROW(Multinomial, "logits num_samples -> y | dtype:Type=9 " SEEDS, drawn_classes_rule,
        kernels::classes_of(a[0], a.need(1).at(0), seeded(a))),
    ROW(RandomShuffle, "x -> y | " SEEDS, same, kernels::shuffled(a[0], seeded(a))),
    ROW(DropOutGenMask, "shape prob -> y | " SEEDS, kept_bits_rule, kept_bits(a)),
    ROW(DropOutGenMaskV4, "shape prob -> y | " SEEDS " dtype:Type=12", kept_rule,
        kernels::kept(a.need(0), *a.number(1), seeded(a))),
#define CANDIDATES                                                                                                \
  "true_classes -> sampled_candidates true_expected_count sampled_expected_count | num_true:Int num_sampled:Int " \
  "unique:Bool range_max:Int " SEEDS
    EACH_OF(UniformCandidateSampler, CANDIDATES, candidates_rule,
            kernels::candidates(a[0], candidates(a, false), seeded(a))),
    EACH_OF(LogUniformCandidateSampler, CANDIDATES, candidates_rule,
            kernels::candidates(a[0], candidates(a, true), seeded(a))),
    ROW(Randperm, " -> out | n:Int layout:Int=0 dtype:Type=9", permutation_of_rule,
        kernels::permutation(a.integer("n"), kernels::own_generator())),
    ROW(StatelessRandomUniformInt, "shape seed minval maxval -> y", stateless_between_rule,
        kernels::uniform_between(a.need(0), a[2], a[3], of_seeds(a, 1))),
    ROW(StatelessRandomUniformIntV2, "shape key counter alg minval maxval -> y", stateless_between_rule,
        kernels::uniform_between(a.need(0), a[4], a[5], stream(a, 1, 2))),
    ROW(StatelessTruncatedNormalV2, "shape key counter alg -> y | dtype:Type=0", drawn_rule,
        kernels::truncated_normal(a.need(0), stream(a, 1, 2))),
    ROW(StatelessRandomGammaV2, "shape seed alpha -> y", stateless_gamma_rule,
        kernels::gamma_samples_of(a.need(0), a[2], of_seeds(a, 1))),
    ROW(StatelessRandomPoisson, "shape seed lam -> y | dtype:Type", stateless_poisson_rule,
        kernels::poisson_samples_of(a.need(0), a[2], of_seeds(a, 1))),
    ROW(StatelessMultinomial, "logits num_samples seed -> y | output_dtype:Type=9", drawn_classes_rule,
        kernels::classes_of(a[0], a.need(1).at(0), of_seeds(a, 2))),
    ROW(DropOutDoMaskV3D, "x mask -> y | keep_prob:Float", dropped_rule,
        kernels::dropped(a[0], bytes_of_mask(a, 1, 0), a.real("keep_prob"))),
    ROW(DropOutDoMaskV3, "x mask keep_prob -> y", dropout_rule, dropout(a)),
};
[[maybe_unused]] const bool random_each_run = random_rows.runs_each_time();

}  // namespace sim::ge_table
