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
// The same with input 0, the memory of output 0, which it gives, and their data type.
template <typename F>
at::Tensor exchanged(const Args& a, F call) {
  const at::Tensor x = a[0], out = a.output(0);
  in_group(a, [&](HcclComm comm) { return call(x, out, hccl_dtype(x.scalar_type()), comm); });
  return out;
}

at::Tensor all_reduce(const Args& a) {
  return exchanged(a, [&](const at::Tensor& x, const at::Tensor& out, HcclDataType dtype, HcclComm comm) {
    return HcclAllReduce(x.data_ptr(), out.data_ptr(), uint64_t(x.numel()), dtype, reduction(a), comm, nullptr);
  });
}

at::Tensor all_gather(const Args& a) {
  return exchanged(a, [](const at::Tensor& x, const at::Tensor& out, HcclDataType dtype, HcclComm comm) {
    return HcclAllGather(x.data_ptr(), out.data_ptr(), uint64_t(x.numel()), dtype, comm, nullptr);
  });
}

at::Tensor reduce_scatter(const Args& a) {
  return exchanged(a, [&](const at::Tensor& x, const at::Tensor& out, HcclDataType dtype, HcclComm comm) {
    return HcclReduceScatter(x.data_ptr(), out.data_ptr(), uint64_t(out.numel()), dtype, reduction(a), comm, nullptr);
  });
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
  return exchanged(a, [](const at::Tensor& x, const at::Tensor& out, HcclDataType dtype, HcclComm comm) {
    uint32_t ranks = 1;
    HcclGetRankSize(comm, &ranks);
    const uint64_t share = uint64_t(x.numel()) / ranks;
    return HcclAlltoAll(x.data_ptr(), share, dtype, out.data_ptr(), share, dtype, comm, nullptr);
  });
}

std::vector<uint64_t> unsigned_values(const Args& a, size_t input) {
  const Dims values = a.need(input);
  return {values.begin(), values.end()};
}

at::Tensor all_to_all_v(const Args& a) {
  const auto send_counts = unsigned_values(a, 1), send_offsets = unsigned_values(a, 2), counts = unsigned_values(a, 3),
             offsets = unsigned_values(a, 4);
  return exchanged(a, [&](const at::Tensor& x, const at::Tensor& out, HcclDataType dtype, HcclComm comm) {
    return HcclAlltoAllV(x.data_ptr(), send_counts.data(), send_offsets.data(), dtype, out.data_ptr(), counts.data(),
                         offsets.data(), dtype, comm, nullptr);
  });
}

// Of parts of different sizes: how many elements each rank has, and where they lie, one behind the other if that is not
// told. torchair tells both by places of the first dimension, and no offsets as an empty list.
struct Parts {
  Parts(const Args& a, size_t counts_at) : counts(unsigned_values(a, counts_at)) {
    const at::Tensor x = a[0];
    row = uint64_t(c10::multiply_integers(x.sizes().slice(1)));
    if (a.has(counts_at + 1)) offsets = unsigned_values(a, counts_at + 1);
    if (offsets.empty() && !counts.empty()) {
      offsets.resize(counts.size());
      std::exclusive_scan(counts.begin(), counts.end(), offsets.begin(), uint64_t{0});
    }
    for (auto* all : {&counts, &offsets})
      for (uint64_t& one : *all) one *= row;
  }
  std::vector<uint64_t> counts, offsets;
  uint64_t row;  // elements of a place
};

at::Tensor all_gather_v(const Args& a) {
  const Parts to(a, 2);
  return exchanged(a, [&](const at::Tensor& x, const at::Tensor& out, HcclDataType dtype, HcclComm comm) {
    return HcclAllGatherV(x.data_ptr(), to.row * unsigned_values(a, 1).at(0), out.data_ptr(), to.counts.data(),
                          to.offsets.data(), dtype, comm, nullptr);
  });
}

at::Tensor reduce_scatter_v(const Args& a) {
  const Parts from(a, 2);
  return exchanged(a, [&](const at::Tensor& x, const at::Tensor& out, HcclDataType dtype, HcclComm comm) {
    return HcclReduceScatterV(x.data_ptr(), from.counts.data(), from.offsets.data(), out.data_ptr(),
                              from.row * unsigned_values(a, 1).at(0), dtype, reduction(a), comm, nullptr);
  });
}

Results send(const Args& a) {
  at::Tensor x = a[0];
  in_group(a, [&](HcclComm comm) {
    return HcclSend(x.data_ptr(), uint64_t(x.numel()), hccl_dtype(x.scalar_type()), uint32_t(a.integer("dest_rank")),
                    comm, nullptr);
  });
  return {};
}

at::Tensor receive(const Args& a) {
  at::Tensor out = a.output(0);
  in_group(a, [&](HcclComm comm) {
    return HcclRecv(out.data_ptr(), uint64_t(out.numel()), hccl_dtype(out.scalar_type()),
                    uint32_t(a.integer("src_rank")), comm, nullptr);
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

Dim sum_of(const Values& counts) { return counts ? Dim(c10::sum_integers(*counts)) : unknown; }
void received(Shaper& s) { s.out(s.dtype(0), known({sum_of(s.values(3))})); }

// The first dimension is what the numbers of an input come to.
template <size_t counts_at>
void by_counts(Shaper& s) {
  Shape shape = s.shape(0);
  if (shape && shape->empty()) throw Refused("it takes a first dimension, it has " + s.describe(0));
  if (shape) shape->front() = sum_of(s.values(counts_at));
  s.out(s.dtype(0), shape);
}

void nothing(Shaper&) {}
void as_told(Shaper& s) {
  const Dims sizes = s.integers("shape");
  s.out(static_cast<int32_t>(s.integer("dtype")), known(Sizes(sizes.begin(), sizes.end())));
}

}  // namespace

#define FUSION " fusion:Int=0 fusion_id:Int=-1"
const Family collective_rows = {
    ROW(HcomAllReduce, "x -> y | reduction:String group:String" FUSION, same, all_reduce(a)),
    ROW(HcomAllGather, "x -> y | rank_size:Int group:String" FUSION, gathered, all_gather(a)),
    ROW(HcomReduceScatter, "x -> y | reduction:String group:String rank_size:Int" FUSION, scattered, reduce_scatter(a)),
    {"HcomBroadcast", "x* -> y* | root_rank:Int group:String" FUSION, each_like_its_input, broadcast_from},
    ROW(HcomAllToAll, "x -> y | group:String", same, all_to_all(a)),
    ROW(HcomAllToAllV,
        "send_data send_counts send_displacements recv_counts recv_displacements -> recv_data | group:String", received,
        all_to_all_v(a)),
    ROW(HcomAllGatherV, "x send_count recv_counts recv_displacements? -> y | group:String", by_counts<2>,
        all_gather_v(a)),
    ROW(HcomReduceScatterV, "x recv_count send_counts send_displacements? -> y | reduction:String group:String",
        by_counts<1>, reduce_scatter_v(a)),
    {"HcomSend", "x -> | group:String sr_tag:Int dest_rank:Int", nothing, send},
    ROW(HcomReceive, "-> y | group:String sr_tag:Int src_rank:Int shape:ListInt dtype:Type", as_told, receive(a)),
    // A hint to the cache.
    {"Cmo", "src -> | max_size:Int type:Int=6 offset:Int=0", nothing, [](const Args&) { return Results{}; }},
};
[[maybe_unused]] const bool collective_each_run = collective_rows.runs_each_time();
#undef FUSION

}  // namespace sim::ge_table
