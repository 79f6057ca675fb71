// The choice of experts.
#include "atb/operation.h"
#include "kernels/atb.h"

using namespace sim::atblib;

ATB_ROW(GroupTopk, "GroupTopkOperation", (In, x, int64_t, groups, int64_t, kept, int64_t, largest, Out, out),
        when_run(), write(out, kernels::keep_groups(x, groups, kept, largest)))

struct GroupTopkRules {
  using Param = infer::GroupTopkParam;
  static constexpr const char* name = "GroupTopkOperation";
  static uint32_t inputs(const Param&) { return 2; }
  static uint32_t outputs(const Param&) { return 1; }
  static std::string types(const Param&) { return "hi>h bi>b"; }
  static void parameters(const Param& p) {
    ATB_CHECK(p.groupNum >= 1, ERROR_INVALID_PARAM, "groupNum ", p.groupNum, "; allowed: above 0");
    ATB_CHECK(p.k >= 1 && p.k <= p.groupNum, ERROR_INVALID_PARAM, "k ", p.k, "; allowed: 1 to groupNum, ", p.groupNum);
    ATB_CHECK(p.groupMultiFlag <= p.SUM_MULTI_MAX, ERROR_INVALID_PARAM, "groupMultiFlag ", int(p.groupMultiFlag),
              "; allowed: 0 or 1");
  }
  static void shapes(const Param&, const Descs& in, Descs& out) { out[0] = in[0]; }
  static int prepare(const Param& p, Arguments& a) {
    ATB_CHECK(a.rank(0) == 2 && a.rank(1) == 1, ERROR_INVALID_TENSOR_DIM_NUM,
              "scores (tokens, experts) and their numbers expected");
    const int64_t experts = a.size(0, 1), n = p.groupMultiFlag == p.SUM_MULTI_MAX ? p.n : 1;
    ATB_CHECK(a.size(1, 0) == 1024, ERROR_INVALID_TENSOR_DIM, a.size(1, 0), " numbers; allowed: 1024");
    ATB_CHECK(experts % p.groupNum == 0, ERROR_INVALID_TENSOR_DIM, experts, " experts in ", p.groupNum, " groups");
    ATB_CHECK(n >= 1 && n <= experts / p.groupNum, ERROR_INVALID_PARAM, "n ", n, "; allowed: 1 to ",
              experts / p.groupNum, ", the size of a group");
    return GroupTopk_prepare(a, a.in(0), p.groupNum, p.k, n, a.out(0));
  }
};
ATB_OPERATION(GroupTopkRules)
