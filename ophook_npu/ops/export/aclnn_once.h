// Out of tree only: what EXEC_NPU_CMD_EXT calls, with every symbol looked up once and the first phase's status heard.
//
// EXEC_NPU_CMD_EXT does all that a call owes torch_npu: stream, workspace, task queue levels 0 to 2, cached executors,
// determinism, release. But five of its look-ups are made in every call, each through the folders of all custom operator
// packages (realpath, dlopen, dlsym): several times an operator's own cost. And it drops what the first phase returns,
// so that the second one runs without an executor. The in-tree EXEC_NPU_CMD does neither, and needs symbols that
// libtorch_npu.so keeps to itself.
//
// The macro names its helpers unqualified, so inside namespace op_api it finds these first. A torch_npu whose macro is
// made of other helpers is not disturbed: they are then unused. Remove this file when the macro caches by itself.
#ifndef OPHOOK_ACLNN_ONCE_H
#define OPHOOK_ACLNN_ONCE_H

#include <tuple>

#include "op_plugin/include/npu_cpp_extension.h"

namespace op_api {
namespace {

// Optional in CANN: memory and caches that an operator library keeps for a thread.
template <typename... Args>
void call_if_there(void* address, Args... args)
{
    if (address != nullptr) {
        reinterpret_cast<void (*)(Args...)>(address)(args...);
    }
}

// The macro holds both addresses in static variables of the call.
[[maybe_unused]] void GetApiFunc(const char* name, const char* first_phase_name, void*& second_phase, void*& first_phase)
{
    if (first_phase == nullptr || second_phase == nullptr) {
        ::GetApiFunc(name, first_phase_name, second_phase, first_phase);
    }
}

[[maybe_unused]] void InitExecCommonCtx()
{
    static void* const init = GetOpApiFuncAddr("InitHugeMemThreadLocal");
    call_if_there<void*, bool>(init, nullptr, false);
}

[[maybe_unused]] void ReleaseExecCommonCtx()
{
    static void* const release = GetOpApiFuncAddr("ReleaseHugeMem");
    call_if_there<void*, bool>(release, nullptr, false);
}

[[maybe_unused]] void UnInitExecCommonCtx()
{
    static void* const uninit = GetOpApiFuncAddr("UnInitHugeMemThreadLocal");
    static void* const uninit_cache = GetOpApiFuncAddr("UnInitPTACacheThreadLocal");
    call_if_there<void*, bool>(uninit, nullptr, false);
    call_if_there(uninit_cache);
}

// The first phase. More specialized than torch_npu's, which is found too, through the arguments' types.
template <typename Function, typename... Ts>
int call(Function first_phase, const std::tuple<Ts...>& arguments)
{
    const int status = std::apply(first_phase, arguments);
    TORCH_CHECK(status == 0, "the operator library refuses the call, error ", status, "\n",
        c10_npu::c10_npu_get_error_message());
    return status;
}

} // namespace
} // namespace op_api

#endif // OPHOOK_ACLNN_ONCE_H
