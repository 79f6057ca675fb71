// Ascend Transformer Boost over the rows of libopapi: an operation is a row as an aclnn function's (opapi/aclnn.h), and
// what says which of a pack's tensors are the row's parameters.
//
//   ATB_ROW(Rope, "RopeOperation", (In, query, …, Out, query_out), check, what runs)
//   struct RopeRules { using Param = infer::RopeParam; … };
//   ATB_OPERATION(RopeRules)
//   ATB_FUNCTION(AtbMLA, (In, q_nope, …)) { … }     // one that has a C function of its own
//
// How ATB fails: every function returns one of its codes (include/atb/types.h) and leaves the reason for
// aclGetRecentErrMsg and on stderr, as ATB has a log of its own: torch_npu does not ask for the message everywhere. No
// exception leaves the library. CreateOperation answers what is wrong with the parameters, Setup
// what is wrong with the tensors, in ATB's order: their number, their data types, their shapes. What goes wrong when
// the operation runs is the stream's error. Inside, checks throw Refusal (ATB_CHECK) or c10::Error (SIM_CHECK).
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "include/aclnn/acl_meta.h"
#include "include/atb/atb_infer.h"
#include "opapi/aclnn.h"

namespace sim::atblib {

using namespace sim::aclnn;
namespace infer = ::atb::infer;
using ::atb::ErrorType, ::atb::Tensor, ::atb::TensorDesc, ::atb::VariantPack;
using Descs = ::atb::SVector<TensorDesc>;

struct Refusal {
  int code;
  std::string reason;
};
// The refusal's code, with its reason told.
int told(const char* name, const Refusal& refusal);
[[noreturn]] void refuse(int code, std::initializer_list<Part> parts);
#define ATB_CHECK(condition, code, ...)                                 \
  do {                                                                  \
    if (!(condition)) [[unlikely]]                                      \
      sim::atblib::refuse(sim::atblib::ErrorType::code, {__VA_ARGS__}); \
  } while (false)
// A parameter that ATB has and the simulator does not: named, and refused.
#define ATB_SIMULATED(condition, ...) ATB_CHECK(condition, ERROR_INVALID_PARAM, __VA_ARGS__, " is not simulated")

// The arguments of one Setup, made for the row's first phase and dropped after it.
class Arguments {
 public:
  Arguments(const VariantPack& pack, uint64_t* workspace, aclOpExecutor** executor)
      : workspace(workspace), executor(executor), pack_(pack) {}
  ~Arguments();
  In in(size_t i, bool as_it_lies = false) { return make(pack_.inTensors[i], as_it_lies); }
  // The tensor as it lies in memory, whatever its format says: caches, which have the shape of their tiles.
  In raw(size_t i) { return in(i, true); }
  In flat(In tensor);  // the same of a C function's tensor
  Out out(size_t i) { return make(pack_.outTensors[i], true); }
  Ints host(size_t i, const char* name);   // from hostData
  Ints host(In tensor, const char* name);  // from memory of the host; none for an absent tensor
  Ints none();
  std::pair<Ints, Ints> halves(Ints both);  // (2, n) numbers as two lists
  const TensorDesc& desc(size_t i) const { return pack_.inTensors[i].desc; }
  const TensorDesc& out_desc(size_t i) const { return pack_.outTensors[i].desc; }
  int64_t size(size_t i, size_t dim) const;
  int64_t rank(size_t i) const { return int64_t(desc(i).shape.dimNum); }

  uint64_t* const workspace;
  aclOpExecutor** const executor;

 private:
  aclTensor* make(const Tensor& tensor, bool as_it_lies);
  const VariantPack& pack_;
  std::vector<const aclTensor*> tensors_;
  std::vector<const aclIntArray*> arrays_;
};

// What one kind of parameters makes: the rules of an operation are a struct with these static functions.
//
//   name                        for errors and traces
//   types(p)                    the data types that there are kernels for with these parameters, a letter a tensor:
//                               h float16, b bfloat16, f float, c int8, i int32, n int32 or uint32
//   parameters(p)               CreateOperation's checks
//   shapes(p, inputs, outputs)  InferShape
//   prepare(p, arguments)       Setup: checks of shapes, then the row's first phase

// An operation between Setup and Execute.
class Prepared : public ::atb::Operation {
 public:
  explicit Prepared(const char* name) : name_(name) {}
  ~Prepared() override { drop(); }
  std::string GetName() const override { return name_; }
  ::atb::Status InferShape(const Descs& inputs, Descs& outputs) const override;
  uint32_t GetInputNum() const override { return 0; }
  uint32_t GetOutputNum() const override { return 0; }
  ::atb::Status Setup(const VariantPack& pack, uint64_t& workspace, ::atb::Context* context) override;
  ::atb::Status Execute(const VariantPack& pack, uint8_t* workspace, uint64_t size, ::atb::Context* context) override;

  // The first phase of a row, run by `first`, takes the place of what was prepared before.
  template <typename First>
  int prepare(uint64_t* workspace, First first) {
    return guarded([&] {
      aclOpExecutor* executor = nullptr;
      const int code = first(workspace, &executor);
      keep(executor, code == 0 ? *workspace : 0);
      return code == 0 ? 0 : first_phase_refused();
    });
  }
  int launch(void* workspace, uint64_t size, ::atb::Context* context);

 protected:
  template <typename F>
  int guarded(F run) const {
    try {
      return run();
    } catch (...) {
      return explained();
    }
  }
  const char* name_;

 private:
  int explained() const;
  int first_phase_refused() const;
  void keep(aclOpExecutor* executor, uint64_t workspace);
  void drop();
  aclOpExecutor* executor_ = nullptr;
  uint64_t workspace_ = 0;
};

// A tensor that a C function was given: alive, and of this many dimensions.
const aclTensor& given(In tensor, const char* name, size_t rank);
int64_t total(Ints lengths);
// A C function's tensor as one of a pack.
Tensor on_device(In tensor);
Tensor on_host(In tensor);
// How many inputs and outputs these types are of.
std::pair<uint32_t, uint32_t> numbers_of(const std::string& types);
// Throws where a pack has other tensors than the definition says.
void check_pack(const VariantPack& pack, const std::string& types);
void check_descs(const Descs& descs, size_t inputs);
std::vector<const void*> addresses(const VariantPack& pack);

template <typename Rules>
int setup(const typename Rules::Param& parameters, const VariantPack& pack, uint64_t* workspace,
          aclOpExecutor** executor) {
  check_pack(pack, Rules::types(parameters));
  Arguments arguments(pack, workspace, executor);
  return Rules::prepare(parameters, arguments);
}

template <typename Rules>
class Ruled final : public Prepared {
 public:
  using Param = typename Rules::Param;
  explicit Ruled(const Param& parameters) : Prepared(Rules::name), parameters_(parameters) {}
  uint32_t GetInputNum() const override { return numbers_of(Rules::types(parameters_)).first; }
  uint32_t GetOutputNum() const override { return numbers_of(Rules::types(parameters_)).second; }
  ::atb::Status InferShape(const Descs& inputs, Descs& outputs) const override {
    return guarded([&] {
      check_descs(inputs, GetInputNum());
      outputs.resize(GetOutputNum());
      Rules::shapes(parameters_, inputs, outputs);
      return 0;
    });
  }
  ::atb::Status Setup(const VariantPack& pack, uint64_t& workspace, ::atb::Context* context) override {
    workspace = 0;
    if (!context) return told(name_, {ErrorType::ERROR_INVALID_PARAM, "the context is null"});
    return guarded([&] {
      const int code = prepare(&workspace, [&](uint64_t* size, aclOpExecutor** executor) {
        return setup<Rules>(parameters_, pack, size, executor);
      });
      if (code == 0) prepared_for_ = addresses(pack);
      return code;
    });
  }
  ::atb::Status Execute(const VariantPack& pack, uint8_t* workspace, uint64_t size, ::atb::Context* context) override {
    // Other tensors than Setup saw, of the same shapes: ATB takes the addresses from here.
    if (!pack.inTensors.empty() && !prepared_for_.empty() && addresses(pack) != prepared_for_) {
      uint64_t asked = 0;
      if (const int code = Setup(pack, asked, context)) return code;
    }
    return launch(workspace, size, context);
  }

 private:
  const Param parameters_;
  std::vector<const void*> prepared_for_;
};

// Makes an operation known, so that it can be destroyed by its pointer; null leaves *out as it is.
int publish(std::unique_ptr<Prepared> operation, ::atb::Operation** out);
// The operation of a C function: the one that the caller has from an earlier call, or a new one.
int function_operation(const char* name, uint64_t* workspace, ::atb::Operation** operation, ::atb::Context* context,
                       Prepared** out);
int function_launch(const char* name, void* workspace, uint64_t size, ::atb::Operation* operation,
                    ::atb::Context* context);

template <typename Rules>
int create(const typename Rules::Param& parameters, ::atb::Operation** out) {
  if (!out) return told(Rules::name, {ErrorType::ERROR_INVALID_PARAM, "no place for the operation"});
  try {
    Rules::parameters(parameters);
    return publish(std::make_unique<Ruled<Rules>>(parameters), out);
  } catch (const Refusal& refusal) {
    return told(Rules::name, refusal);
  } catch (const std::bad_alloc&) {
    return told(Rules::name, {ErrorType::ERROR_OUT_OF_HOST_MEMORY, "the host is out of memory"});
  }
}

}  // namespace sim::atblib

// clang-format off
// A row, and op_prepare(arguments, its parameters): its first phase.
#define ATB_ROW(op, name, parameters, check, ...) \
  static void op##_atb_row(sim::aclnn::Held* sim_parameter, sim::aclnn::Phase sim_phase) { \
    SIM_PAIRS(SIM_BIND, SIM_NOTHING, SIM_UNWRAP parameters) \
    if (sim_phase == sim::aclnn::Phase::first) { check; return; } \
    __VA_ARGS__; \
  } \
  static int op##_prepare(sim::atblib::Arguments& sim_arguments, \
                          SIM_PAIRS(SIM_PARAMETER, SIM_COMMA, SIM_UNWRAP parameters)) { \
    static constinit sim::aclnn::Row row{name, #parameters, op##_atb_row}; \
    return sim::aclnn::prepare(row, {SIM_PAIRS(SIM_GIVEN, SIM_COMMA, SIM_UNWRAP parameters)}, sim_arguments.workspace, \
                               sim_arguments.executor); \
  }
// The two C functions that ATB has for some operations. A body follows, their Setup: `a` are its Arguments, and it
// returns what a row's first phase does.
#define ATB_FUNCTION(function, parameters) \
  static int function##_setup(sim::atblib::Arguments& a, \
                              SIM_PAIRS(SIM_PARAMETER, SIM_COMMA, SIM_UNWRAP parameters)); \
  extern "C" SIM_API int function##GetWorkspaceSize(SIM_PAIRS(SIM_PARAMETER, SIM_COMMA, SIM_UNWRAP parameters), \
                                                     uint64_t* workspace, atb::Operation** operation, \
                                                     atb::Context* context) { \
    sim::atblib::Prepared* prepared = nullptr; \
    if (int code = sim::atblib::function_operation(#function, workspace, operation, context, &prepared)) return code; \
    return prepared->prepare(workspace, [&](uint64_t* size, aclOpExecutor** executor) { \
      static const atb::VariantPack none; \
      sim::atblib::Arguments arguments(none, size, executor); \
      return function##_setup(arguments, SIM_PAIRS(ATB_NAME, SIM_COMMA, SIM_UNWRAP parameters)); \
    }); \
  } \
  extern "C" SIM_API int function(void* workspace, uint64_t size, atb::Operation* operation, atb::Context* context) { \
    return sim::atblib::function_launch(#function, workspace, size, operation, context); \
  } \
  static int function##_setup(sim::atblib::Arguments& a, \
                              SIM_PAIRS(ATB_PARAMETER, SIM_COMMA, SIM_UNWRAP parameters))
#define ATB_NAME(kind, name) name
#define ATB_PARAMETER(kind, name) [[maybe_unused]] kind name
#define ATB_OPERATION(rules) \
  template <> SIM_API atb::Status atb::CreateOperation(const rules::Param& parameters, atb::Operation** operation) { \
    return sim::atblib::create<rules>(parameters, operation); \
  }
// clang-format on
