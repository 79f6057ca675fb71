// Collectives inside a graph. The graph's own thread runs them, over the communicators that torch_npu's process group
// made; a group is named as HcclGetCommName names it.
#include <numeric>

#include "ge/rows/rows.h"
#include "opapi/devices.h"

namespace sim::ge_table {
namespace {

HcclReduceOp reduction(const Args& a) {
  const std::string name = a.text("reduction");
  const std::pair<const char*, HcclReduceOp> known[] = {
      {"sum", HCCL_REDUCE_SUM}, {"prod", HCCL_REDUCE_PROD}, {"max", HCCL_REDUCE_MAX}, {"min", HCCL_REDUCE_MIN}};
  for (auto [text, op] : known)
    if (name == text) return op;
  throw Refused("reduction '" + name + "'; allowed: sum, prod, max, min");
}

// Runs `call` with the group's communicator; it returns HCCL's code and leaves the reason with the core.
template <typename F>
void in_group(const Args& a, F call) {
  const sim::hccl::Here here;
  sim::done(call(sim::communicator(a.text("group"))));
}

at::Tensor all_reduce(const Args& a) {
  at::Tensor x = a[0], out = a.output(0);
  in_group(a, [&](HcclComm comm) {
    return HcclAllReduce(x.data_ptr(), out.data_ptr(), uint64_t(x.numel()), hccl_dtype(x.scalar_type()), reduction(a),
                         comm, nullptr);
  });
  return out;
}

at::Tensor all_gather(const Args& a) {
  at::Tensor x = a[0], out = a.output(0);
  in_group(a, [&](HcclComm comm) {
    return HcclAllGather(x.data_ptr(), out.data_ptr(), uint64_t(x.numel()), hccl_dtype(x.scalar_type()), comm, nullptr);
  });
  return out;
}

at::Tensor reduce_scatter(const Args& a) {
  at::Tensor x = a[0], out = a.output(0);
  in_group(a, [&](HcclComm comm) {
    return HcclReduceScatter(x.data_ptr(), out.data_ptr(), uint64_t(out.numel()), hccl_dtype(x.scalar_type()),
                             reduction(a), comm, nullptr);
  });
  return out;
}

Results broadcast_from(const Args& a) {
  Results results;
  for (size_t i = 0; i < a.count(); ++i) {
    at::Tensor out = a.output(i);
    out.copy_(a[i]);
    in_group(a, [&](HcclComm comm) {
      return HcclBroadcast(out.data_ptr(), uint64_t(out.numel()), hccl_dtype(out.scalar_type()),
                           uint32_t(a.integer("root_rank")), comm, nullptr);
    });
    results.push_back(out);
  }
  return results;
}

at::Tensor all_to_all(const Args& a) {
  at::Tensor x = a[0], out = a.output(0);
  in_group(a, [&](HcclComm comm) {
    uint32_t ranks = 1;
    HcclGetRankSize(comm, &ranks);
    const uint64_t share = uint64_t(x.numel()) / ranks;
    const HcclDataType dtype = hccl_dtype(x.scalar_type());
    return HcclAlltoAll(x.data_ptr(), share, dtype, out.data_ptr(), share, dtype, comm, nullptr);
  });
  return out;
}

at::Tensor all_to_all_v(const Args& a) {
  at::Tensor x = a[0], out = a.output(0);
  auto unsigned_values = [&](size_t input) {
    const Dims values = a.need(input);
    return std::vector<uint64_t>(values.begin(), values.end());
  };
  const auto send_counts = unsigned_values(1), send_offsets = unsigned_values(2), counts = unsigned_values(3),
             offsets = unsigned_values(4);
  in_group(a, [&](HcclComm comm) {
    const HcclDataType dtype = hccl_dtype(x.scalar_type());
    return HcclAlltoAllV(x.data_ptr(), send_counts.data(), send_offsets.data(), dtype, out.data_ptr(), counts.data(),
                         offsets.data(), dtype, comm, nullptr);
  });
  return out;
}

// The first dimension times or through the number of ranks.
Shape first_dimension(Shaper& s, bool larger) {
  Shape shape = s.shape(0);
  const int64_t ranks = s.integer("rank_size");
  if (!shape) return shape;
  if (shape->empty() || ranks < 1)
    throw Refused("it takes a first dimension and ranks, it has " + s.describe(0) + " and " + std::to_string(ranks));
  Dim& first = shape->front();
  if (!larger && first % ranks != 0)
    throw Refused(s.describe(0) + " does not divide by " + std::to_string(ranks) + " ranks");
  first = larger ? first * ranks : first / ranks;
  return shape;
}

void gathered(Shaper& s) { s.out(s.dtype(0), first_dimension(s, true)); }
void scattered(Shaper& s) { s.out(s.dtype(0), first_dimension(s, false)); }

void each_same(Shaper& s) {
  for (size_t i = 0; i < s.count(); ++i) s.out(i, s.dtype(i), s.shape(i));
}

void received(Shaper& s) {
  const Values counts = s.values(3);
  s.out(s.dtype(0), known({counts ? Dim(std::accumulate(counts->begin(), counts->end(), int64_t{0})) : unknown}));
}

}  // namespace

#define FUSION " fusion:Int=0 fusion_id:Int=-1"
const Family collective_rows = {
    ROW(HcomAllReduce, "x -> y | reduction:String group:String" FUSION, same, all_reduce(a)),
    ROW(HcomAllGather, "x -> y | rank_size:Int group:String" FUSION, gathered, all_gather(a)),
    ROW(HcomReduceScatter, "x -> y | reduction:String group:String rank_size:Int" FUSION, scattered, reduce_scatter(a)),
    {"HcomBroadcast", "x* -> y* | root_rank:Int group:String" FUSION, each_same, broadcast_from},
    ROW(HcomAllToAll, "x -> y | group:String", same, all_to_all(a)),
    ROW(HcomAllToAllV,
        "send_data send_counts send_displacements recv_counts recv_displacements -> recv_data | group:String", received,
        all_to_all_v(a)),
};
#undef FUSION

}  // namespace sim::ge_table
