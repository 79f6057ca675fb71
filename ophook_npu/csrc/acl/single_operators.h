// Single operators that were compiled before: run, or kept as a handle to be run.
#pragma once

#include "acl/acl_op.h"
#include "acl/operator_models.h"

namespace sim::acl {

// Runs what a call finds. `stands_for`: what the tensors of the call are without their private formats, where the
// caller knows; null: as the model says. `told`: as in execute.
int run_single(const char* caller, const Operator& op, const Memory& memory, void* stream,
               aclTensorDesc* const told[] = nullptr, KeptOperator* stands_for = nullptr);
int make_handle(const char* caller, const Operator& op, aclopHandle** handle, const KeptOperator* stands_for = nullptr);

}  // namespace sim::acl
