// MSPTI's records and codes, as the pages of its C interface and torch_npu's profiler have them: a tool reads them from
// its buffers byte by byte, so nothing is padded.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sim::mspti {

enum Result : int {
  kSuccess = 0,
  kInvalidParameter = 1,
  kSecondSubscriber = 2,
  kNoMoreRecords = 3,
  kNothingPushed = 5,
  kNotPreloaded = 6,
  kNotInitialized = 7,
  kInvalidKind = 8,
  kInner = 999,
};

enum Kind : uint32_t {
  kMarker = 1,
  kKernel,
  kApi,
  kHccl,
  kMemory,
  kMemset,
  kMemcpy,
  kExternalCorrelation,
  kCommunication,
  kAclApi,
  kNodeApi,
  kRuntimeApi,
  kKinds,
};

#define OPHOOK_RECORD __attribute__((packed, aligned(8)))

struct OPHOOK_RECORD Kernel {
  Kind kind = kKernel;
  uint64_t start, end;  // ns of the wall clock, here and below
  uint32_t device, stream;
  uint64_t correlation;
  const char *type, *name;
};

struct OPHOOK_RECORD ExternalCorrelation {
  Kind kind = kExternalCorrelation;
  uint32_t external_kind;
  uint64_t external, correlation;
};

struct OPHOOK_RECORD Communication {
  Kind kind = kCommunication;
  uint32_t data_type;
  uint64_t count;
  uint32_t device, stream;
  uint64_t start, end;
  const char *algorithm, *name, *group;
  uint64_t correlation;
};
constexpr uint32_t kNoDataType = 0xFFFF;

struct OPHOOK_RECORD Api {
  Kind kind;
  uint64_t start, end;
  uint32_t process, thread;
  uint64_t correlation;
  const char* name;
};

#undef OPHOOK_RECORD

// 0: no record of that kind is made here.
constexpr size_t record_size(Kind kind) {
  switch (kind) {
    case kKernel: return sizeof(Kernel);
    case kExternalCorrelation: return sizeof(ExternalCorrelation);
    case kCommunication: return sizeof(Communication);
    case kAclApi:
    case kNodeApi: return sizeof(Api);
    default: return 0;
  }
}

}  // namespace sim::mspti
