// Rotary position embedding.
#include "atb/operation.h"
#include "kernels/atb.h"

using namespace sim::atblib;

ATB_ROW(Rope, "RopeOperation", (In, query, In, key, In, cos, In, sin, int64_t, pieces, Out, query_out, Out, key_out),
        when_run(), kernels::rotate_heads(query, cos, sin, pieces, query_out),
        kernels::rotate_heads(key, cos, sin, pieces, key_out))

// A tensor of two dimensions has all heads in its second, one of four in its last two.
static int64_t tokens(Arguments& a, size_t i) { return a.rank(i) == 2 ? a.size(i, 0) : a.size(i, 0) * a.size(i, 1); }
static int64_t hidden(Arguments& a, size_t i) { return a.rank(i) == 2 ? a.size(i, 1) : a.size(i, 2) * a.size(i, 3); }

struct RopeRules {
  using Param = infer::RopeParam;
  static constexpr const char* name = "RopeOperation";
  static std::string types(const Param&) { return "hhhhn>hh hhffn>hh bbbbn>bb"; }
  static void parameters(const Param&) {}
  static void shapes(const Param&, const Descs& in, Descs& out) { out[0] = in[0], out[1] = in[1]; }
  static int prepare(const Param& p, Arguments& a) {
    for (size_t i : {0, 1})
      ATB_CHECK(a.rank(i) == 2 || a.rank(i) == 4, ERROR_INVALID_TENSOR_DIM, "input ", i, " has ", a.rank(i),
                " dimensions; allowed: 2 or 4");
    ATB_CHECK(a.rank(2) == 2 && a.rank(3) == 2 && a.rank(4) == 1, ERROR_INVALID_TENSOR_DIM,
              "cos and sin of two dimensions, lengths of one expected");
    ATB_CHECK(tokens(a, 0) == tokens(a, 1), ERROR_INVALID_TENSOR_SIZE, "query has ", tokens(a, 0), " tokens, key ",
              tokens(a, 1));
    const int64_t depth = a.size(2, 1);
    ATB_CHECK(depth >= 16 && depth <= 4096, ERROR_INVALID_TENSOR_DIM, "cos has ", depth,
              " columns; allowed: 16 to 4096");
    ATB_CHECK(a.size(3, 0) == a.size(2, 0) && a.size(3, 1) == depth, ERROR_INVALID_TENSOR_SIZE,
              "cos and sin have other shapes");
    ATB_CHECK(hidden(a, 1) > 0 && hidden(a, 0) % hidden(a, 1) == 0, ERROR_INVALID_TENSOR_SIZE, "query has ",
              hidden(a, 0), " columns, key ", hidden(a, 1));
    ATB_CHECK(hidden(a, 1) % depth == 0, ERROR_INVALID_TENSOR_DIM, "key has ", hidden(a, 1), " columns, a head ",
              depth);
    ATB_CHECK(a.size(2, 0) == tokens(a, 0), ERROR_INVALID_TENSOR_SIZE, "cos has ", a.size(2, 0), " rows for ",
              tokens(a, 0), " tokens");
    ATB_CHECK(p.rotaryCoeff == 2 || p.rotaryCoeff == 4 || p.rotaryCoeff == depth, ERROR_INVALID_PARAM, "rotaryCoeff ",
              p.rotaryCoeff, "; allowed: 2, 4 or the size of a head, ", depth);
    ATB_CHECK(depth % p.rotaryCoeff == 0, ERROR_INVALID_PARAM, "a head of ", depth, " in ", p.rotaryCoeff, " pieces");
    ATB_CHECK(p.cosFormat == 0 || p.cosFormat == 1, ERROR_INVALID_PARAM, "cosFormat ", p.cosFormat,
              "; allowed: 0 or 1");
    return Rope_prepare(a, a.in(0), a.in(1), a.in(2), a.in(3), p.rotaryCoeff, a.out(0), a.out(1));
  }
};
ATB_OPERATION(RopeRules)
