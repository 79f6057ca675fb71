// The choice of experts.
#include "atb/operation.h"
#include "kernels/atb.h"

using namespace sim::atblib;

ATB_ROW(GroupTopk, "GroupTopkOperation", (In, x, int64_t, groups, int64_t, kept, int64_t, largest, Out, out),
        when_run(), write(out, kernels::keep_groups(x, groups, kept, largest)))

struct GroupTopkRules {
  using Param = infer::GroupTopkParam;
  static constexpr const char* name = "GroupTopkOperation";
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

ATB_ROW(AddTopk, "FusedAddTopkDivOperation",
        (In, x, In, added, In, copies, In, table, int64_t, groups, int64_t, groups_kept, int64_t, largest, int64_t, k,
         bool, norm, double, factor, Out, weights, Out, experts),
        when_run(),
        write({weights, experts},
              kernels::add_top_k(x, added, copies, table,
                                 {NAMED(groups, groups_kept), .n = largest, NAMED(k, norm, factor)})))

ATB_FUNCTION(AtbFusedAddTopkDiv,
             (In, x, In, add_num, In, mapping_num, In, mapping_table, int64_t, groups, int64_t, groups_kept, int64_t, n,
              int64_t, k, int32_t, activation, bool, norm, float, factor, bool, mapped, Out, y, Out, indices)) {
  ATB_CHECK(groups > 0 && groups_kept > 0 && groups_kept <= groups && n > 0 && k > 0, ERROR_INVALID_PARAM, "groupNum ",
            groups, ", groupTopk ", groups_kept, ", n ", n, ", k ", k,
            "; allowed: above 0, and groupTopk up to groupNum");
  ATB_CHECK(activation == 8, ERROR_INVALID_PARAM, "activationType ", activation, "; allowed: 8 (sigmoid)");
  const auto& scores = given(x, "x", 2);
  const int64_t experts = scores.sizes[1];
  ATB_CHECK(experts % groups == 0 && experts >= k && experts >= groups * n, ERROR_INVALID_TENSOR_DIM, experts,
            " experts; allowed: a multiple of groupNum, ", groups, ", at least k, ", k, ", and groupNum * n");
  ATB_CHECK(experts <= groups * 32 && (groups == 8 || experts <= 32), ERROR_INVALID_TENSOR_DIM, experts,
            " experts; allowed: up to 32 a group, and 32 where groupNum is not 8");
  ATB_CHECK(given(add_num, "add_num", 1).sizes[0] == experts, ERROR_INVALID_TENSOR_DIM, "add_num of ", experts,
            " numbers expected");
  if (mapped)
    ATB_CHECK(given(mapping_num, "mapping_num", 1).sizes[0] == experts &&
                  given(mapping_table, "mapping_table", 2).sizes[0] == experts && mapping_table->sizes[1] <= 128,
              ERROR_INVALID_TENSOR_DIM, "mapping_num and mapping_table of ", experts,
              " rows, and up to 128 columns, expected");
  return AddTopk_prepare(a, x, add_num, mapped ? mapping_num : nullptr, mapped ? mapping_table : nullptr, groups,
                         groups_kept, n, k, norm, factor, y, indices);
}
