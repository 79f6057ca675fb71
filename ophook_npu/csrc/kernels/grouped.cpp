#include "kernels/grouped.h"

#include "kernels/pattern.h"

#include "kernels/mx_quant.h"
#include "kernels/needed.h"
#include "kernels/norm_quant.h"
#include "kernels/quant.h"
#include "kernels/scaled_product.h"

namespace sim::grouped {

using namespace sim::quant;
using namespace sim::weighted;
using sim::mx::of_whole_numbers;

constexpr auto kFloat4OfBytes = at::kByte;  // FLOAT4_E1M2

bool of_4_bit_floats(const at::Tensor& tensor) {
  return tensor.scalar_type() == kFloat4 || tensor.scalar_type() == kFloat4OfBytes;
}

// Of the tensors for all experts: one a list entry, or the rows of the only one.
static at::Tensor of_expert(const Tensors& list, int64_t expert, bool stacked) {
  if (list.empty() || !list[0].defined() || list[0].numel() == 0) return {};
  if (stacked) return list[0][expert];
  SIM_CHECK(expert < int64_t(list.size()), "expert ", expert, " of ", list.size());
  return list[expert];
}

const char* activation_of(int64_t act_type) {
  static constexpr const char* kNames[] = {"", "relu", "gelu_tanh", "", "fastgelu", "silu"};
  SIM_CHECK(act_type >= 0 && act_type <= 5 && act_type != 3, "act_type ", act_type,
            "; allowed: 0, 1 (relu), 2 (gelu_tanh), 4 (fastgelu), 5 (silu)");
  return kNames[act_type];
}

void grouped_product(const Tensors& x, const Tensors& weight, const Lists& lists,
                     const std::vector<groups::Group>& groups, int64_t group_type, const std::string& activation,
                     const Tensors& out) {
  const bool stacked = weight.size() == 1 && weight[0].dim() == 3;
  const bool apart = x.size() > 1 || (groups.empty() && !stacked);  // an x each
  const bool out_apart = group_type == kInner ? out[0].dim() == 2 : out.size() > 1 || (apart && x.size() == 1);
  int64_t row = 0;
  auto one = [&](int64_t expert, const at::Tensor& rows, const at::Tensor& matrix, int64_t start,
                 const at::Tensor& place) {
    auto row_scale = apart ? of_expert(lists.row_scale, expert, false) : of_expert(lists.row_scale, 0, false);
    if (row_scale.defined() && !apart)
      row_scale = (row_scale.dim() == 3 ? row_scale : row_scale.reshape({-1})).narrow(0, start, rows.size(0));
    const Extras with{of_expert(lists.bias, expert, stacked),
                      of_expert(lists.scale, expert, stacked),
                      of_expert(lists.offset, expert, stacked),
                      of_expert(lists.antiquant_scale, expert, stacked),
                      of_expert(lists.antiquant_offset, expert, stacked),
                      row_scale};
    auto value = product(rows, matrix, with);
    write_product(place, activation.empty() ? value : kernels::activated(value, activation), with);
  };
  if (apart) {
    for (size_t i = 0; i < x.size(); ++i) {
      one(i, x[i], of_expert(weight, i, false), 0, out_apart ? out[i] : out[0].narrow(0, row, x[i].size(0)));
      row += x[i].size(0);
    }
    return;
  }
  for (size_t i = 0; i < groups.size(); ++i) {
    const auto [expert, start, count] = groups[i];
    if (group_type == kInner) {
      auto matrix = weight.size() == 1 ? weight[0].narrow(0, start, count) : of_expert(weight, i, false);
      one(expert, x[0].narrow(1, start, count), matrix, start, out_apart ? out[i] : out[0][i]);
    } else if (count) {
      one(expert, x[0].narrow(0, start, count), of_expert(weight, expert, stacked), start,
          out_apart ? out[i] : out[0].narrow(0, start, count));
    }
  }
}

Dims row_sizes(const at::Tensor& x) {
  if (of_whole_numbers(x)) return whole_sizes(x);
  return of_small_floats(x) ? mx::number_sizes(x) : Dims(x.sizes().vec());
}

// A weight in tiles may come as a view of these: (experts, n / 32, k / 16, 16, 32), or with 64 columns in 8 words.
Dims matrix_sizes(const at::Tensor& weight) {
  const at::IntArrayRef told = weight.sizes();
  const bool words = weight.scalar_type() == at::kInt;
  if (told.size() == 4 && told[2] == 16 && told[3] == (words ? 8 : 32))
    return {told[1] * told[2], told[0] * (words ? 64 : 32)};
  if (told.size() == 5 && told[3] == 16 && told[4] == (words ? 8 : 32))
    return {told[0], told[2] * told[3], told[1] * (words ? 64 : 32)};
  return row_sizes(weight);
}

// By split_item, an output for each weight, or one for all: rows in their order, or a matrix for each group of columns.
static void products_like(const Tensors& x, const Tensors& weight, const at::Tensor& list, int64_t group_type,
                          bool out_apart, const Tensors& out) {
  SIM_CHECK(out.size() == (out_apart ? weight.size() : 1), "a list of ", out.size(), " outputs for ", weight.size(),
            " weights; expected: ", out_apart ? weight.size() : 1);
  SIM_CHECK(x.size() == 1 || x.size() == weight.size(), "lists of ", x.size(), " x and ", weight.size(), " weights");
  for (const Tensors* all : {&x, &weight})
    for (const at::Tensor& each : *all) SIM_CHECK(each.dim() > 1, "matrices expected, got ", each.sizes());
  const bool inner = group_type == kInner;
  SIM_CHECK(!inner || out_apart || list.defined(), "one output for all groups of columns needs a groupList");
  int64_t rows = 0, depth = 0;
  for (const at::Tensor& each : x) rows += each.size(0);
  for (size_t i = 0; i < weight.size(); ++i) {
    const Dims sizes = matrix_sizes(weight[i]), given = row_sizes(x.size() > 1 ? x[i] : x[0]);
    SIM_CHECK(sizes.size() == 2 || (weight.size() == 1 && sizes.size() == 3), "a weight ", weight[i].sizes(), " of ",
              weight.size(), "; (k, n), or one of (experts, k, n) expected");
    const int64_t k = sizes[sizes.size() - 2], n = sizes.back();
    depth += k;
    SIM_CHECK(inner && weight.size() > 1 ? depth <= given.back() : k == given.back(), "x ", given, " by a weight ",
              sizes);
    Dims result = given;
    result.back() = n;
    if (!out_apart && inner) shape(out[0], {list.size(0), rows, n});
    else if (!out_apart) result[0] = rows, shape(out[0], result);
    else if (inner || x.size() > 1 || weight.size() == 1) shape(out[i], result);
    else
      SIM_CHECK(out[i].dim() == 2 && out[i].size(1) == n, "an output (rows, ", n, ") expected, got ", out[i].sizes());
  }
}

std::vector<groups::Group> groups_of_list(const at::Tensor& list, int64_t kind, const Tensors& x, const Tensors& weight,
                                          int64_t group_type) {
  if (list.defined() && x.size() == 1) return groups::of(list, kind, x[0].size(group_type == kInner ? 1 : 0));
  std::vector<groups::Group> groups;
  if (group_type != kInner) return groups;
  int64_t start = 0;
  for (size_t i = 0; i < weight.size(); ++i) {  // as many columns of x as each weight has rows
    groups.push_back({int64_t(i), start, weight[i].size(0)});
    start += weight[i].size(0);
  }
  return groups;
}

// What goes with the weights, each list like theirs: for each column, or for each group of k too; or one number, or
// powers of two for blocks of k.
static void columns_like(const char* name, const Tensors& list, const Tensors& weight, bool stacked) {
  if (list.empty() || !given(list[0])) return;
  SIM_CHECK(list.size() == weight.size(), name, " has ", list.size(), " tensors for ", weight.size(), " weights");
  for (size_t i = 0; i < list.size(); ++i) {
    const at::IntArrayRef came = list[i].sizes(), own = came.slice(stacked && !came.empty() ? 1 : 0);
    const Dims sizes = matrix_sizes(weight[i]);
    const int64_t k = sizes[sizes.size() - 2], columns = sizes.back();
    const bool blocks = list[i].scalar_type() == at::kFloat8_e8m0fnu && own.size() == 3;
    const bool one = c10::multiply_integers(own) == 1;
    const bool each =
        !own.empty() && own.size() <= 2 && own.back() == columns && (own.size() == 1 || (own[0] && k % own[0] == 0));
    SIM_CHECK((!stacked || (!came.empty() && came[0] == sizes[0])) && (one || each || blocks), name, " ", came,
              " for a weight ", at::IntArrayRef(sizes));
  }
}

// One for each row of x.
static void rows_like(const Tensors& list, const Tensors& x) {
  if (list.empty() || !given(list[0])) return;
  SIM_CHECK(list.size() == x.size(), "perTokenScale has ", list.size(), " tensors for ", x.size(), " x");
  for (size_t i = 0; i < list.size(); ++i)
    if (list[i].dim() != 3) counted("perTokenScale", list[i], {x[i].size(0)});
    else SIM_CHECK(list[i].size(0) == x[i].size(0), "perTokenScale ", list[i].sizes(), " for x ", x[i].sizes());
}

void grouped(const Tensors& x, const Tensors& weight, const Lists& lists, const Tensors& out, int64_t split_item,
             const GroupIndex& groups) {
  SIM_CHECK(!x.empty() && !weight.empty() && !out.empty(), "x, weight and out must not be empty lists");
  SIM_CHECK(split_item >= 0 && split_item <= 3, "split_item ", split_item, "; allowed: 0 to 3");
  groups::listed(groups.list, groups.kind);
  products_like(x, weight, groups.list, groups.type, split_item < 2, out);
  const bool stacked = weight.size() == 1 && weight[0].dim() == 3;
  const int64_t experts = stacked ? weight[0].size(0) : int64_t(weight.size());
  SIM_CHECK(!groups.list.defined() || groups.list.size(0) == experts || (groups.type == kInner && experts == 1),
            "a group list of ", groups.list.sizes(), " for ", experts, " weights");
  columns_like("bias", lists.bias, weight, stacked), columns_like("scale", lists.scale, weight, stacked);
  columns_like("offset", lists.offset, weight, stacked);
  columns_like("antiquantScale", lists.antiquant_scale, weight, stacked);
  columns_like("antiquantOffset", lists.antiquant_offset, weight, stacked);
  rows_like(lists.row_scale, x);
}

void grouped(const Tensors& x, const Tensors& weight, const Lists& lists, const Tensors& out, int64_t split_item,
             const GroupIndex& groups, int64_t act_type, std::initializer_list<Tensors> absent) {
  grouped(x, weight, lists, out, split_item, groups);
  const int64_t group_type = groups.type;
  SIM_CHECK(group_type == kNoGroups || group_type == kRows || group_type == kInner, "group_type ", group_type,
            "; allowed: -1, 0, 2");
  SIM_CHECK(group_type != kInner || !of_small_floats(x[0]), "group_type 2 of ", x[0].scalar_type(),
            " is not simulated");
  activation_of(act_type);
  for (const auto& list : absent)
    SIM_CHECK(
        list.empty(),
        "activation_input, activation_quant_scale, activation_quant_offset and the outputs of a fused quantization ",
        "are not simulated");
}

void scaled_in_groups(const Tensors& x, const Tensors& weight, const Tensors& scale, int64_t group_size) {
  if (group_size == 0) return;
  SIM_CHECK(x[0].scalar_type() == at::kChar && weight[0].scalar_type() == at::kInt, "quantGroupSize ", group_size,
            " of ", x[0].scalar_type(), " by ", weight[0].scalar_type(), "; allowed: 0");
  for (const at::Tensor& each : scale) {
    const int64_t groups = each.dim() > 2 ? each.size(1) : 1, k = x[0].size(-1);
    SIM_CHECK(groups == 1 || groups * group_size == k, "scale ", each.sizes(), " for quantGroupSize ", group_size,
              " and k of ", k);
  }
}

void added_like(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& list, bool turned, bool weight_turned,
                int64_t group_type, const at::Tensor& out) {
  SIM_CHECK(turned && !weight_turned, "transposeX ", turned, " and transposeWeight ", weight_turned,
            "; allowed: true and false");
  SIM_CHECK(group_type == kInner, "groupType ", group_type, "; allowed: 2");
  const auto [k, m, n, groups] = shapes<"k m, k n, groups">(x, weight, list);
  SIM_CHECK(groups <= 1024, groups, " groups; 1024 at most are allowed");
  // The groups one under the other are taken, too.
  if (out.dim() == 2) shape(out, {groups * m, n});
  else shape(out, {groups, m, n});
}

void add_products(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& list, int64_t kind,
                  const at::Tensor& out) {
  int64_t i = 0;
  for (const auto& [expert, start, count] : groups::of(list, kind, x.size(0)))
    out.view({list.size(0), x.size(1), weight.size(1)})[i++].add_(
        at::matmul(wide(x.narrow(0, start, count)).t(), wide(weight.narrow(0, start, count))));
}

// A scale for each row of x and each column of the weight, or for so many along k too.
static void swiglu_rows_like(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& scale, bool stacked,
                             const at::Tensor& row_scale, const Dims& sizes, const at::Tensor& out,
                             const at::Tensor& out_scale) {
  const int64_t columns = sizes[2];
  const bool of_4_bits = weight.scalar_type() == at::kInt;
  const Dims told = scale.sizes().slice(stacked && scale.dim() ? 1 : 0).vec();  // of one expert
  const bool by_groups = of_4_bits && told.size() == 2;
  SIM_CHECK((!stacked || (scale.dim() && scale.size(0) == sizes[0])) && told.size() == (by_groups ? 2 : 1) &&
                told.back() == columns && (!by_groups || (told[0] && sizes[1] % told[0] == 0)),
            "a weightScale (", stacked ? std::to_string(sizes[0]) + ", " : "", of_4_bits ? "[groups of " : "",
            of_4_bits ? std::to_string(sizes[1]) + ", ] " : "", columns, ") expected, got ", scale.sizes());
  of_dtype("xScale", row_scale, {at::kFloat});
  shape(row_scale, {x.size(0)});
  if (of_4_bits) SIM_CHECK(is_encoded(scale), "weightScale of ", scale.scalar_type(), "; allowed: UINT64, INT64");
  else if (x.scalar_type() == at::kChar) of_dtype("weightScale", scale, {at::kFloat, at::kHalf, at::kBFloat16});
  else of_dtype("weightScale", scale, {at::kFloat, at::kBFloat16});
  if (of_whole_numbers(x)) of_dtype("output", out, {at::kChar});
  else if (mx::is_hifloat8(x)) of_dtype("output", out, {at::kFloat});
  else scaled::in_8_bits("output", out);
  shape(out, {x.size(0), columns / 2});
  of_dtype("outputScale", out_scale, {at::kFloat});
  shape(out_scale, {x.size(0)});
}

// What goes with weights of 4 bits.
static void swiglu_extras_like(const at::Tensor& x, const at::Tensor& weight, const Requantized& how,
                               const Dims& sizes) {
  const bool small = weight.scalar_type() == at::kInt, both = x.scalar_type() == at::kInt;
  const at::Tensor assist = of_expert(how.assist, 0, false), smooth = present(how.smooth);
  SIM_CHECK(assist.defined() == (small && !both), "weightAssistMatrix goes with x of int8 and a weight of int4");
  if (assist.defined()) of_dtype("weightAssistMatrix", assist, {at::kFloat});
  if (assist.defined()) how.assist.size() > 1 ? shape(assist, {sizes[2]}) : shape(assist, {sizes[0], sizes[2]});
  if (!smooth.defined()) return;
  SIM_CHECK(both, "smoothScale goes with x and a weight of int4");
  of_dtype("smoothScale", smooth, {at::kFloat});
  if (smooth.dim() == 1) shape(smooth, {sizes[0]});
  else shape(smooth, {sizes[0], sizes[2] / 2});
}

// A scale for each 32 numbers along k.
static void swiglu_blocks_like(const at::Tensor& x, const Tensors& scale, bool stacked, const at::Tensor& row_scale,
                               const Dims& sizes, const at::Tensor& out, const at::Tensor& out_scale) {
  const int64_t rows = x.size(0), blocks = divided(sizes[1] + 63, 64), columns = sizes[2];
  SIM_CHECK(columns % 128 == 0, "n of ", columns, "; allowed: multiples of 128");
  for (const at::Tensor& each : scale) {
    of_dtype("weightScale", each, {at::kFloat8_e8m0fnu});
    if (stacked) shape(each, {sizes[0], blocks, columns, 2});
    else shape(each, {blocks, columns, 2});
  }
  of_dtype("xScale", row_scale, {at::kFloat8_e8m0fnu});
  shape(row_scale, {rows, blocks, 2});
  if (!of_4_bit_floats(x)) scaled::in_8_bits("output", out);
  else of_dtype("output", out, {kFloat4, kFloat4OfBytes, at::kFloat8_e5m2, at::kFloat8_e4m3fn});
  mx::out_like(out, {rows, columns / 2});
  of_dtype("outputScale", out_scale, {at::kFloat8_e8m0fnu});
  shape(out_scale, {rows, divided(columns / 2 + 63, 64), 2});
}

void swiglu_product_like(const SwigluProduct& of, std::initializer_list<at::Tensor> absent, const at::Tensor& out,
                         const at::Tensor& out_scale) {
  const size_t lists = of.weight.size();
  SIM_CHECK(lists && lists == of.scale.size() && (of.how.assist.empty() || of.how.assist.size() == lists), "lists of ",
            lists, " weights, ", of.scale.size(), " scales and ", of.how.assist.size(),
            " weightAssistMatrix; allowed: one of each, or one for each expert");
  of_dtype("x", of.x, {at::kChar, at::kInt, at::kFloat8_e5m2, at::kFloat8_e4m3fn, at::kFloat, kFloat4, kFloat4OfBytes});
  SIM_CHECK(of.how.in_blocks ? !of_whole_numbers(of.x) && !mx::is_hifloat8(of.x) : !of_4_bit_floats(of.x), "x of ",
            of.x.scalar_type(), " with ", of.how.in_blocks ? "a scale for each 32 numbers" : "a scale for each row");
  for (const at::Tensor& each : of.weight) {
    if (of.x.scalar_type() == at::kChar) of_dtype("weight", each, {at::kChar, at::kInt});
    else if (of.x.scalar_type() == at::kInt || mx::is_hifloat8(of.x)) of_dtype("weight", each, {of.x.scalar_type()});
    else if (of_4_bit_floats(of.x)) of_dtype("weight", each, {kFloat4, kFloat4OfBytes});
    else if (!of.how.in_blocks || each.scalar_type() != kFloat4) scaled::in_8_bits("weight", each);
    like(each, of.weight[0]);
  }
  Dims sizes = matrix_sizes(of.weight[0]);
  const bool stacked = sizes.size() == 3;
  SIM_CHECK(stacked ? lists == 1 : lists > 1 || of.how.in_blocks, "lists of ", lists, " weights ",
            of.weight[0].sizes());
  if (!stacked && sizes.size() == 2) sizes = {int64_t(lists), sizes[0], sizes[1]};
  SIM_CHECK(of.x.dim() == 2 && sizes.size() == 3 &&
                sizes[1] == (of_whole_numbers(of.x) ? whole_sizes(of.x)[1] : mx::number_sizes(of.x)[1]) &&
                sizes[2] % 2 == 0,
            "x (m, k) and weight (experts, k, n) expected, got ", of.x.sizes(), " and ", of.weight[0].sizes());
  for (const at::Tensor& each : absent) SIM_CHECK(!present(each).defined(), "a bias or an offset is not simulated");
  SIM_CHECK(of.kind == groups::kEnds || of.kind == groups::kCounts, "groupListType ", of.kind, "; allowed: 0, 1");
  if (of.how.in_blocks) swiglu_blocks_like(of.x, of.scale, stacked, of.row_scale, sizes, out, out_scale);
  for (const at::Tensor& each : of.how.in_blocks ? Tensors{} : of.scale)
    swiglu_rows_like(of.x, of.weight[0], each, stacked, of.row_scale, sizes, out, out_scale);
  swiglu_extras_like(of.x, of.weight[0], of.how, sizes);
}

static at::Tensor in_type(const at::Tensor& value, int64_t code) {
  return code == 0 ? value : value.to(code == 1 ? at::kHalf : at::kBFloat16).to(at::kFloat);
}

// No page says where the product has the type of dequantDtype (the activation is taken to read it), nor, where the
// scale of a block is written between a floor and a ceiling, which it is: that of aclnnDynamicMxQuant, a floor.
void swiglu_product(const SwigluProduct& of, const at::Tensor& list, const at::Tensor& out,
                    const at::Tensor& out_scale) {
  const bool stacked = matrix_sizes(of.weight[0]).size() == 3;
  for (const auto& [expert, start, count] : groups::of(list, of.kind, of.x.size(0))) {
    if (!count) continue;
    const auto part = [&, start = start, count = count](const at::Tensor& all) { return all.narrow(0, start, count); };
    const Extras with{of_expert(of.how.assist, expert, stacked),
                      of_expert(of.scale, expert, stacked),
                      {},
                      {},
                      {},
                      part(of.row_scale)};
    const at::Tensor matrix = of_expert(of.weight, expert, stacked);
    const bool groups_along_k = of.x.scalar_type() == at::kInt && with.scale.dim() == 2;
    const at::Tensor value = groups_along_k ? product_by_groups(part(of.x), matrix, with.scale, {}, with.row_scale)
                                            : product(part(of.x), matrix, with);
    const Tensors halves = in_type(value, of.how.dequant).chunk(2, 1);
    at::Tensor gated = at::silu(halves[0]).mul(halves[1]);
    if (given(of.how.smooth)) gated = gated.mul(of.how.smooth[expert]);
    if (of.how.in_blocks) {
      mx::quant(gated, -1, {}, part(out), part(out_scale));
      continue;
    }
    write_rows_quantized(part(out), part(out_scale), gated);
  }
}

at::Tensor ends_of(const Dims& ends) { return ends.empty() ? at::Tensor() : at::tensor(ends, at::kLong); }

static void layer_like(const Layer& layer, int64_t experts) {
  const bool stacked = experts > 0;
  if (stacked)
    SIM_CHECK(layer.weight.size(0) == experts, experts, " expert_tokens for a weight ", layer.weight.sizes());
  const Tensors weight{layer.weight};
  columns_like("bias", {layer.bias}, weight, stacked), columns_like("deqScale", {layer.scale}, weight, stacked);
  columns_like("antiquantScale", {layer.antiquant_scale}, weight, stacked);
  columns_like("antiquantOffset", {layer.antiquant_offset}, weight, stacked);
}

void feed_forward_like(const FeedForward& of, int64_t experts, const at::Tensor& out) {
  const int64_t dims = experts ? 3 : 2;
  SIM_CHECK(of.first.weight.dim() == dims && of.second.weight.dim() == dims, "weights of ", dims,
            " dimensions expected, got ", of.first.weight.sizes(), " and ", of.second.weight.sizes());
  SIM_CHECK(of.first.weight.size(-1) == of.second.weight.size(-2), "the layers do not fit: ", of.first.weight.sizes(),
            " and ", of.second.weight.sizes(), " (activations that halve are not simulated)");
  SIM_CHECK(of.x.scalar_type() != at::kChar || (of.scale.defined() && of.first.scale.defined()),
            "int8 needs scale, deq_scale1 and deq_scale2");
  kernels::known_activation(of.activation);
  SIM_CHECK(of.x.dim() && of.x.size(-1) == whole_sizes(of.first.weight)[size_t(dims - 2)], "x ", of.x.sizes(),
            " for weight1 ", of.first.weight.sizes());
  for (const Layer* layer : {&of.first, &of.second}) layer_like(*layer, experts);
  const int64_t inner = whole_sizes(of.first.weight).back();
  if (of.scale.defined() && of.scale.dim() > 1) shape(of.scale, {experts, inner});
  else if (of.scale.defined() && experts) shape(of.scale, {experts});
  else one_or_each("scale", of.scale, inner);
  counted("offset", of.offset, {std::max<int64_t>(experts, 1)});
  shapes<"*rows _ -> *rows =width">({of.second.weight.size(-1)}, of.x, out);
}

void feed_forward(const FeedForward& of, const Dims& tokens, bool ends, bool fast, const at::Tensor& out) {
  const bool experts = !tokens.empty(), quantized = of.x.scalar_type() == at::kChar;
  auto rows = of.x.reshape({-1, of.x.size(-1)}), result = out.reshape({-1, out.size(-1)});
  auto groups = experts ? groups::of(tokens, ends ? groups::kEnds : groups::kCounts, rows.size(0))
                        : std::vector<groups::Group>{{0, 0, rows.size(0)}};
  auto each = [&](const at::Tensor& all, int64_t expert) { return experts ? all[expert] : all; };
  for (const auto& [expert, start, count] : groups) {
    if (!count) continue;
    auto inner = product(rows.narrow(0, start, count), each(of.first.weight, expert), of.first.of(expert, experts));
    // At full precision the activation takes float; else, and behind a dequantization, what the next layer takes.
    const auto narrow = quantized ? out.scalar_type() : of.x.scalar_type();
    if (quantized || fast) inner = wide(inner.to(narrow));
    inner = kernels::activated(inner, of.activation);
    if (quantized) {
      // The device's quantization calculates in the type of its input; for bfloat16 in float.
      const auto type = narrow == at::kHalf ? at::kHalf : at::kFloat;
      inner = inner.to(type).mul(each(of.scale, expert).to(type));
      if (of.offset.defined()) inner = inner.add(each(of.offset, expert).to(type));
      inner = inner.round().clamp(-128, 127).to(at::kChar);
    } else {
      inner = inner.to(narrow);
    }
    auto value = product(inner, each(of.second.weight, expert), of.second.of(expert, experts));
    result.narrow(0, start, count).copy_(value);
  }
  if (!result.is_alias_of(out)) out.copy_(result.reshape(out.sizes()));
}

// ---- back to the tokens --------------------------------------------------------------------------------------------
bool by_blocks_of_32(const Combined& of) { return of.with.scale.scalar_type() == at::kFloat8_e8m0fnu; }
// FLOAT8 by FLOAT4, whose scale is turned with the weight.
bool is_mixed(const Combined& of) {
  return by_blocks_of_32(of) && of_4_bit_floats(of.weight) && !of_4_bit_floats(of.x);
}

Combined turned_over(Combined of) {
  of.weight = of.weight.transpose(-1, -2);
  of.with.scale = of.with.scale.transpose(1, 2);
  return of;
}

void finalized_product_like(Combined of, int64_t dtype, bool turned, bool weight_turned, const at::Tensor& out) {
  SIM_CHECK(dtype == 0, "dtype ", dtype, "; allowed: 0 (FLOAT)");
  SIM_CHECK(!turned, "transposeX1 is not simulated; allowed: false");
  SIM_CHECK(of.kind == groups::kEnds || of.kind == groups::kCounts, "groupListType ", of.kind, "; allowed: 0, 1");
  SIM_NEEDED(of.with.scale.defined() && of.list.defined() && of.row_index.defined() && of.logit.defined(),
             "scale, groupList, logit or rowIndex is null");
  const bool floats = of.x.scalar_type() != at::kChar, packed = of.weight.scalar_type() == at::kInt;
  const bool by_groups = by_blocks_of_32(of), mixed = is_mixed(of);
  SIM_NEEDED(of.with.row_scale.defined() || !(by_groups || packed), "pertokenScale is null");
  SIM_CHECK(!weight_turned || (by_groups && of.with.scale.dim() == 4 && of.weight.dim() == 3),
            "transposeX2 is simulated with scales of FLOAT8_E8M0 alone");
  SIM_CHECK(weight_turned || !mixed || mx::lies_transposed(of.weight), "FLOAT8 by FLOAT4 takes a turned weight");
  if (weight_turned) of = turned_over(std::move(of));
  else if (mixed) of.with.scale = of.with.scale.transpose(1, 2);
  if (of.x.scalar_type() == kFloat4 || mx::is_hifloat8(of.x)) of_dtype("x2", of.weight, {of.x.scalar_type()});
  else if (by_groups && of.weight.scalar_type() == kFloat4) scaled::in_8_bits("x1", of.x);
  else if (floats) scaled::in_8_bits("x1", of.x), scaled::in_8_bits("x2", of.weight);
  else of_dtype("x2", of.weight, {at::kChar, at::kInt});
  of_dtype("out", out, {at::kFloat});
  const Dims inner = floats ? mx::number_sizes(of.x) : Dims(of.x.sizes().vec());
  const Dims sizes = floats ? mx::number_sizes(of.weight) : Dims(of.weight.sizes().vec());
  SIM_CHECK(inner.size() == 2 && sizes.size() == 3 && sizes[1] == inner[1] && out.dim() == 2,
            "x1 (m, k), x2 (experts, k, n) and out (batch, n) expected, got ", of.x.sizes(), ", ", of.weight.sizes(),
            " and ", out.sizes());
  const int64_t rows = of.x.size(0), experts = of.weight.size(0), columns = sizes[2] * (packed ? 8 : 1);
  shape(out, {out.size(0), columns});
  const int64_t blocks = divided(inner[1] + 63, 64);
  if (by_groups) shape(of.with.scale, {experts, blocks, columns, 2});
  else
    SIM_CHECK(of.with.scale.numel() == experts * columns || (packed && of.with.scale.dim() == 3),
              "a scale for each of ", experts, " x ", columns, " columns expected, got ", of.with.scale.sizes());
  shape(of.list, {experts}), shape(of.row_index, {rows});
  if (of.with.row_scale.defined()) {
    if (by_groups) shape(of.with.row_scale, {rows, blocks, 2});
    else shape(of.with.row_scale, {rows});
  }
  shape(of.logit, {rows});
  if (of.with.bias.defined()) shape(of.with.bias, {experts, columns});
  if (by_groups) {
    for (const at::Tensor& scale : {of.with.scale, of.with.row_scale})
      of_dtype("a scale", scale, {at::kFloat8_e8m0fnu});
    refuse_if_given({of.with.offset}, "offset of a product of FLOAT8 or FLOAT4");
  } else if (floats) {
    refuse_if_given({of.with.offset}, "offset of a product of FLOAT8 or HIFLOAT8");
  } else if (packed) {
    if (of.with.offset.defined()) like(of.with.offset, of.with.scale);
  } else {
    if (of.with.bias.defined()) of_dtype("bias", of.with.bias, {at::kBFloat16});
    refuse_if_given({of.with.offset}, "offset of a product of int8");
  }
  if (!of.shared.defined()) return;
  SIM_CHECK(of.shared.dim() == 2 && of.shared.size(1) == columns && of.shared_offset >= 0 &&
                of.shared_offset + of.shared.size(0) <= out.size(0),
            "sharedInput ", of.shared.sizes(), " from row ", of.shared_offset, " on, for out ", out.sizes());
}

// offset: what a weight's zero point adds for each 1 of a group of x along k, already scaled.
static at::Tensor with_zero_points(const at::Tensor& value, const at::Tensor& x, const at::Tensor& row_scale,
                                   const at::Tensor& offset) {
  if (!offset.defined()) return value;
  auto sums = x.to(at::kFloat).unflatten(1, {offset.size(0), -1}).sum(2);
  return value.add(at::matmul(sums, offset).mul(wide(row_scale).reshape({-1, 1})));
}

at::Tensor finalized_product(const Combined& given, at::IntArrayRef sizes) {
  Combined of = given;
  if (is_mixed(of) && of.with.scale.size(1) == mx::number_sizes(of.weight)[2])
    of.with.scale = of.with.scale.transpose(1, 2);  // of a weight that is turned by its strides
  auto total = at::zeros(sizes);
  const at::Tensor places = of.row_index.to(at::kLong);
  SIM_CHECK(places.ge(0).logical_and(places.lt(sizes[0])).all().item<bool>(), "rowIndex beyond ", sizes[0], " rows");
  for (const auto& [expert, start, count] : groups::of(of.list, of.kind, of.x.size(0))) {
    if (!count) continue;
    const auto part = [&, start = start, count = count](const at::Tensor& all) {
      return all.defined() ? all.narrow(0, start, count) : all;
    };
    const auto own = [expert = expert](const at::Tensor& all) { return all.defined() ? all[expert] : all; };
    const bool before_rows = of.with.bias.defined() && of.x.scalar_type() == at::kChar &&
                             of.with.bias.scalar_type() == at::kBFloat16;  // are scaled
    const Extras here{
        before_rows ? at::Tensor() : own(of.with.bias), own(of.with.scale), {}, {}, {}, part(of.with.row_scale)};
    auto value = by_blocks_of_32(of) ? scaled_product(part(of.x), own(of.weight), here)
                                     : product(part(of.x), own(of.weight), here);
    if (before_rows) {
      const at::Tensor added = wide(own(of.with.bias)).unsqueeze(0);
      value = value.add(here.row_scale.defined() ? added.mul(wide(here.row_scale).unsqueeze(1)) : added);
    }
    value = with_zero_points(value, part(of.x), here.row_scale, own(of.with.offset));
    if (of.logit.defined()) value = value.mul(part(of.logit).unsqueeze(1));
    total.index_add_(0, part(places), value);
  }
  if (of.shared.defined()) total.narrow(0, of.shared_offset, of.shared.size(0)).add_(wide(of.shared), of.shared_weight);
  return total;
}

}  // namespace sim::grouped
