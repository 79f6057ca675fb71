#include "opapi/devices.h"

#include "kernels/absent.h"

namespace sim {

HcclDataType hccl_dtype(at::ScalarType dtype) {
  switch (dtype) {
    case at::kFloat: return HCCL_DATA_TYPE_FP32;
    case at::kHalf: return HCCL_DATA_TYPE_FP16;
    case at::kBFloat16: return HCCL_DATA_TYPE_BFP16;
    case at::kDouble: return HCCL_DATA_TYPE_FP64;
    case at::kChar: return HCCL_DATA_TYPE_INT8;
    case at::kShort: return HCCL_DATA_TYPE_INT16;
    case at::kInt: return HCCL_DATA_TYPE_INT32;
    case at::kLong: return HCCL_DATA_TYPE_INT64;
    case at::kByte:
    case at::kBool: return HCCL_DATA_TYPE_UINT8;
    default: break;
  }
  SIM_CHECK(false, "HCCL has no data type ", dtype);
}

void communicator_named(const std::string& name) {
  if (name.empty()) throw Absent({__func__, __FILE__, uint32_t(__LINE__)}, "the name of the group is null or empty");
}

HcclComm communicator(const std::string& name) {
  communicator_named(name);
  const HcclComm comm = ophook_hccl_find(name.c_str());
  SIM_CHECK(comm, "there is no group '", name, "' in this process");
  return comm;
}

void done(HcclResult code) {
  const char* reason = code ? sim_error_message() : nullptr;
  SIM_CHECK(!code, reason ? reason : "the collective failed");
}

HcclDevices::HcclDevices(const std::string& name) : comm_(communicator(name)) {
  done(HcclGetRankSize(comm_, &ranks_));
  done(HcclGetRankId(comm_, &rank_));
}

at::Tensor HcclDevices::sum(const at::Tensor& x) {
  const hccl::Here here;
  const at::Tensor from = x.contiguous(), to = at::empty_like(from);
  done(HcclAllReduce(from.data_ptr(), to.data_ptr(), uint64_t(from.numel()), hccl_dtype(from.scalar_type()),
                     HCCL_REDUCE_SUM, comm_, nullptr));
  return to;
}

at::Tensor HcclDevices::share_of_sum(const at::Tensor& x) {
  const hccl::Here here;
  const at::Tensor from = x.contiguous(), to = at::empty_like(from.narrow(0, 0, divided(from.size(0), ranks_)));
  done(HcclReduceScatter(from.data_ptr(), to.data_ptr(), uint64_t(to.numel()), hccl_dtype(from.scalar_type()),
                         HCCL_REDUCE_SUM, comm_, nullptr));
  return to;
}

at::Tensor HcclDevices::gather(const at::Tensor& x) {
  const hccl::Here here;
  const at::Tensor from = x.contiguous();
  at::DimVector sizes(from.sizes());
  sizes[0] *= ranks_;
  const at::Tensor to = at::empty(sizes, from.options());
  done(HcclAllGather(from.data_ptr(), to.data_ptr(), uint64_t(from.numel()), hccl_dtype(from.scalar_type()), comm_,
                     nullptr));
  return to;
}

at::Tensor HcclDevices::exchange(const at::Tensor& x, const Dims& sent, const Dims& received) {
  const hccl::Here here;
  SIM_CHECK(int64_t(sent.size()) == ranks_ && int64_t(received.size()) == ranks_, "numbers of rows to ", sent.size(),
            " and from ", received.size(), " devices of ", ranks_);
  const at::Tensor from = x.contiguous();
  const int64_t width = c10::multiply_integers(from.sizes().slice(1));
  struct Shares {
    std::vector<uint64_t> counts, offsets;
    int64_t rows = 0;
    Shares(const Dims& list, int64_t width) {
      for (const int64_t count : list) {
        SIM_CHECK(count >= 0, count, " rows for a device");
        counts.push_back(uint64_t(count * width));
        offsets.push_back(uint64_t(rows * width));
        rows += count;
      }
    }
  } out(sent, width), in(received, width);
  SIM_CHECK(out.rows <= from.size(0), out.rows, " rows for all devices of ", from.size(0));
  at::DimVector sizes(from.sizes());
  sizes[0] = in.rows;
  const at::Tensor to = at::empty(sizes, from.options());
  const HcclDataType dtype = hccl_dtype(from.scalar_type());
  done(HcclAlltoAllV(from.data_ptr(), out.counts.data(), out.offsets.data(), dtype, to.data_ptr(), in.counts.data(),
                     in.offsets.data(), dtype, comm_, nullptr));
  return to;
}

void HcclDevices::put(int64_t rank, int64_t offset, const at::Tensor& x) {
  const at::Tensor from = x.contiguous();
  done(ophook_hccl_put(comm_, uint32_t(rank), uint64_t(offset), from.const_data_ptr(), from.nbytes()));
}

void HcclDevices::raise(int64_t rank, int64_t offset) {
  done(ophook_hccl_raise(comm_, uint32_t(rank), uint64_t(offset)));
}

}  // namespace sim
