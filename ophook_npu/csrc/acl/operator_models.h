// Single operators that can be run: loaded from .om files, or compiled by the program. A call finds one by its type,
// its descriptions and its attributes.
#pragma once

#include <memory>
#include <optional>

#include "acl/operator_call.h"

namespace sim::acl {

// An operator with all that it refers to.
struct KeptOperator {
  KeptOperator() = default;
  explicit KeptOperator(const Operator& op);
  Operator view();  // as long as this is neither moved nor destroyed

  std::string type;
  std::vector<aclTensorDesc> inputs, outputs;
  aclopAttr attributes;

 private:
  std::vector<const aclTensorDesc*> in_, out_;
};

struct OperatorModel : KeptOperator {
  using KeptOperator::KeptOperator;
  // Where a tensor of the call lies in a private format: what it stands for, as the file says. Index by index.
  struct Origin {
    aclFormat format;
    std::vector<int64_t> dims;
  };
  std::vector<std::optional<Origin>> input_origins, output_origins;
  bool loaded = false;  // it stays; what the program compiled gives way where there are too many
  uint64_t used = 0;

  bool has_unknown_sizes() const;
  // The call as what it stands for: itself, where no tensor has an origin.
  KeptOperator stands_for(const Operator& call) const;
};

// Makes the operator one that calls find, unless there is one.
SIM_API int compile(const char* caller, const Operator& op);
// The same, and runs it: on the way values on the host are known, which may decide what sizes there are.
SIM_API int compile_and_execute(const Operator& op, const Memory& memory, void* stream, aclTensorDesc* const told[]);
// What is compiled from now on fits all sizes, as with ACL_OP_COMPILE_FUZZ.
SIM_API void compile_for_all_sizes(bool all);
// The content of an .om file; `where` names it in messages.
int load_operator(const std::string& where, const void* data, size_t size);
void keep_operators(uint64_t most);
// Null, with ACL_ERROR_OP_NOT_FOUND and a message, where there is none.
std::shared_ptr<const OperatorModel> find_operator(const char* caller, const Operator& op, int& code);
// Whether a Cast among them has the attribute `truncate`: then aclopCast gives it.
bool cast_truncates();

}  // namespace sim::acl
