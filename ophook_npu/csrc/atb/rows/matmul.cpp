// Products of matrices.
#include "atb/operation.h"
#include "kernels/matmul.h"

using namespace sim::atblib;

ATB_ROW(Linear, "LinearOperation",
        (In, x, In, weight, In, added, bool, transpose_x, bool, transpose_weight, Cube, cube, Out, out), when_run(),
        write(out,
              kernels::general_product(x, weight, added, 1, added.defined() ? 1 : 0, transpose_x, transpose_weight)))

struct LinearRules {
  using Param = infer::LinearParam;
  static constexpr const char* name = "LinearOperation";
  static std::string types(const Param& p) {
    return p.enAccum ? "hhf>f bbf>f" : p.hasBias ? "hhh>h bbf>b" : "hh>h bb>b";
  }
  static void parameters(const Param& p) {
    ATB_CHECK(!(p.hasBias && p.enAccum), ERROR_INVALID_PARAM, "enAccum and hasBias are both set; allowed: one of them");
    ATB_SIMULATED(p.outDataType == ACL_DT_UNDEFINED, "outDataType ", int(p.outDataType), " (quantized inputs)");
  }
  static void shapes(const Param& p, const Descs& in, Descs& out) {
    out[0] = in[p.enAccum ? 2 : 0];
    if (p.enAccum) return;
    const auto& x = in[0].shape;
    const auto& weight = in[1].shape;
    out[0].shape.dims[x.dimNum - 2] = x.dims[x.dimNum - (p.transposeA ? 1 : 2)];
    out[0].shape.dims[x.dimNum - 1] = weight.dims[weight.dimNum - (p.transposeB ? 2 : 1)];
  }
  static int prepare(const Param& p, Arguments& a) {
    for (size_t i : {0, 1})
      ATB_CHECK(a.rank(i) == 2 || a.rank(i) == 3, ERROR_INVALID_TENSOR_DIM_NUM, "input ", i, " has ", a.rank(i),
                " dimensions; allowed: 2 or 3");
    const int64_t r = a.rank(0), w = a.rank(1);
    ATB_CHECK(r >= w, ERROR_INVALID_TENSOR_DIM_NUM, "a matrix times ", a.size(1, 0), " matrices");
    const int64_t rows = a.size(0, size_t(p.transposeA ? r - 1 : r - 2));
    const int64_t inner = a.size(0, size_t(p.transposeA ? r - 2 : r - 1));
    const int64_t own = a.size(1, size_t(p.transposeB ? w - 1 : w - 2));
    const int64_t columns = a.size(1, size_t(p.transposeB ? w - 2 : w - 1));
    ATB_CHECK(inner == own, ERROR_INVALID_TENSOR_DIM, "x has ", inner, " columns and weight ", own, " rows");
    const bool third = p.hasBias || p.enAccum;
    if (p.enAccum)
      ATB_CHECK(a.rank(2) == r && a.size(2, size_t(r - 2)) == rows && a.size(2, size_t(r - 1)) == columns,
                ERROR_INVALID_TENSOR_DIM, "the product is (", rows, ", ", columns, "); what it is added to is not");
    if (p.hasBias)
      ATB_CHECK(a.rank(2) <= 2 && a.size(2, size_t(a.rank(2) - 1)) == columns, ERROR_INVALID_TENSOR_DIM, "a bias of ",
                columns, " numbers expected");
    return Linear_prepare(a, a.in(0), a.in(1), third ? a.in(2) : nullptr, p.transposeA, p.transposeB, 0, a.out(0));
  }
};
ATB_OPERATION(LinearRules)
