// Offline models as libascendcl keeps them: what was read, what is loaded under a number, and the tensors of a run.
#pragma once

#include <memory>
#include <optional>

#include "acl/acl.h"
#include "acl/operator_description.h"
#include "core/handles.h"
#include "ge/offline.h"

namespace sim::acl::offline {

// A model that was read, for descriptions and for runs.
struct Offline {
  explicit Offline(om_model* read) : model(read) {}
  ~Offline();
  Offline(const Offline&) = delete;
  Offline& operator=(const Offline&) = delete;

  const om_description& about() const;
  int output_dims(size_t gear, size_t index, int64_t sizes[16]) const;  // the rank, -1 where it is not known
  void aipp(size_t input, aclAippInfo* out) const;                      // of one that has it
  size_t largest_gear() const;                                          // what runs where nobody set one
  // The gear that a caller describes by these numbers; none where there is no such gear.
  std::optional<size_t> gear_of(const std::vector<uint64_t>& numbers) const;

  om_model* model;
  void* stream = nullptr;      // of a loaded one, for runs that wait
  std::optional<size_t> gear;  // that was set last
};

// Each returns 0 or the code, with the reason.
int read_model(const char* caller, const void* bytes, size_t size, std::shared_ptr<Offline>* out);
int read_model_file(const char* caller, const char* path, std::shared_ptr<Offline>* out);
int find_model(const char* caller, uint32_t id, std::shared_ptr<Offline>* out);

}  // namespace sim::acl::offline

struct aclmdlDesc {
  uint32_t id = 0;
  std::shared_ptr<sim::acl::offline::Offline> model;
};

struct aclmdlDataset {
  struct Destroy {
    void operator()(aclTensorDesc* desc) const { aclDestroyTensorDesc(desc); }
  };
  struct Blob {
    aclDataBuffer* buffer;
    std::unique_ptr<aclTensorDesc, Destroy> desc;
  };
  std::vector<Blob> blobs;
  std::optional<size_t> gear;
};

// What aclmdlSetConfigOpt and aclmdlSetExecConfigOpt were given, by attribute: a number or an address, and the path.
struct aclmdlConfigHandle {
  std::map<aclmdlConfigAttr, uint64_t> values;
  std::string path;

  uint64_t operator[](aclmdlConfigAttr attr) const {
    const auto found = values.find(attr);
    return found == values.end() ? 0 : found->second;
  }
  void* address(aclmdlConfigAttr attr) const { return reinterpret_cast<void*>((*this)[attr]); }
};
struct aclmdlExecConfigHandle {
  std::map<aclmdlExecConfigAttr, uint64_t> values;
};
