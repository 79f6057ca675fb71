#include "opapi/aclnn.h"

#include <dlfcn.h>

#include "core/fault.h"
#include "kernels/absent.h"
#include "kernels/hifloat8.h"
#include "kernels/wrong_shape.h"
#include "opapi/fractal.h"
#include "opapi/kernel_scope.h"
#include "opapi/memory.h"
#include "opapi/objects.h"
#include "opapi/rules.h"
#include "opapi/shape_rules.h"
#include "opapi/stored.h"
#include "opapi/watch.h"
#include "opapi/wider.h"

namespace sim::aclnn {

void release(void* call) {
  auto pending = static_cast<PendingCall*>(call);
  if (pending->owners.fetch_sub(1, std::memory_order_acq_rel) == 1) delete pending;
}

namespace {

struct Refused final : PendingCall {
  Refused(const char* op, int with, std::string why) : PendingCall(op), code(with), reason(std::move(why)) {}
  int ready() override { return sim_fail(code, "%s", reason.c_str()); }
  void run(void*) override {}
  int code;
  std::string reason;
};

// What a row does not take, where the page has a code of its own for it.
struct Coded : c10::Error {
  Coded(const c10::Error& error, int with) : c10::Error(error), code(with) {}
  int code;
};

int explain(const char* name, int unexpected) {
  try {
    throw;
  } catch (const Coded& error) {
    return sim_fail(error.code, "%s: %s", name, error.what_without_backtrace());
  } catch (const Absent& error) {
    return sim_fail(unexpected == kInvalid ? kNullPointer : unexpected, "%s: %s", name, error.what_without_backtrace());
  } catch (const c10::Error& error) {
    return sim_fail(unexpected, "%s: %s", name, error.what_without_backtrace());
  } catch (const std::bad_alloc&) {
    return sim_fail(kInner, "%s: the host is out of memory", name);
  } catch (const std::exception& error) {
    return sim_fail(unexpected, "%s: %s", name, error.what());
  } catch (...) {
    return sim_fail(kInner, "%s: an exception of an unknown type", name);
  }
}

int run_call(PendingCall& call, void* workspace) {
  thread_local KernelScope scope;  // once a stream thread, not once a task: it costs as much as a small operator
  try {
    call.run(workspace);
    return 0;
  } catch (...) {
    return explain(call.name, ACL_ERROR_RT_AICORE_EXCEPTION);
  }
}

// A launch with a workspace; one without is the call itself.
struct Launched {
  PendingCall* call;
  void* workspace;
  ~Launched() { release(call); }
};

constexpr sim_about kCall{sim_task_operator, [](const void* pointer, sim_listener* listener) {
                            static_cast<const PendingCall*>(pointer)->tell(listener);
                          }};
constexpr sim_about kLaunched{sim_task_operator, [](const void* pointer, sim_listener* listener) {
                                static_cast<const Launched*>(pointer)->call->tell(listener);
                              }};

// `written`: 0, 1, or 2, as for sim_listener::touch.
void tell_tensor(sim_listener* listener, int written, const at::Tensor& tensor, bool hifloat8) {
  if (!tensor.defined()) return;
  const auto sizes = tensor.sizes();
  const auto dtype = hifloat8 ? ACL_HIFLOAT8 : to_acl_dtype(tensor.scalar_type());
  listener->tensor(listener, written != 0, int(dtype), sizes.data(), sizes.size());
  if (listener->touch)
    listener->touch(listener, written, tensor.const_data_ptr(), size_t(tensor.element_size()), sizes.data(),
                    tensor.strides().data(), sizes.size());
}

// Around a second phase, for the observer.
struct Told {
  const char* name;
  const uint64_t begin = sim_call_begin();
  ~Told() { sim_call_end(name, begin); }
};

}  // namespace

static bool partly_same(const aclTensor* input, const aclTensor* output) {
  if (!input || !output || !input->data || !output->data) return false;
  if (of_4_bits(input->dtype) || of_4_bits(output->dtype)) return false;  // nothing takes it in place
  auto range = [](const aclTensor* tensor) {
    const auto start = reinterpret_cast<uintptr_t>(tensor->data);
    const auto size = static_cast<int64_t>(c10::elementSize(stored_type(tensor->dtype)));
    int64_t first = tensor->offset, last = tensor->offset + 1;
    for (size_t i = 0; i < tensor->sizes.size(); ++i) last += (tensor->sizes[i] - 1) * tensor->strides[i];
    return std::pair(start + uintptr_t(first * size), start + uintptr_t(last * size));
  };
  const auto [input_begin, input_end] = range(input);
  const auto [output_begin, output_end] = range(output);
  if (input_end <= output_begin || output_end <= input_begin) return false;
  return input_begin != output_begin || input->dtype != output->dtype || input->sizes != output->sizes ||
         input->strides != output->strides;
}

// The positions of the inputs to copy: all, if one of them lies partly in an output, else none.
static std::vector<size_t> inputs_apart(c10::ArrayRef<Given> parameters) {
  bool found = false;
  std::vector<size_t> inputs;
  for (const Given& from : parameters) {
    const In* input = std::get_if<In>(&from);
    if (!input) continue;
    for (const Given& to : parameters)
      if (const Out* output = std::get_if<Out>(&to)) found = found || partly_same(*input, *output);
  }
  if (found)
    for (size_t i = 0; i < parameters.size(); ++i)
      if (std::holds_alternative<In>(parameters[i])) inputs.push_back(i);
  return inputs;
}

// The positions of the outputs of which several elements are one in memory, as those of expanded tensors are.
static std::vector<size_t> outputs_shared(c10::ArrayRef<Given> parameters) {
  std::vector<size_t> outputs;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Out* output = std::get_if<Out>(&parameters[i]);
    if (!output || !*output) continue;
    const auto& [sizes, strides] = std::tie((*output)->sizes, (*output)->strides);
    for (size_t d = 0; d < sizes.size(); ++d)
      if (sizes[d] > 1 && !strides[d] && (outputs.empty() || outputs.back() != i)) outputs.push_back(i);
  }
  return outputs;
}
// One of the elements that are one in memory: the last that a device writes.
static at::Tensor of_each_place(at::Tensor tensor) {
  for (int64_t d = 0; d < tensor.dim(); ++d)
    if (tensor.size(d) > 1 && !tensor.stride(d)) tensor = tensor.narrow(d, tensor.size(d) - 1, 1);
  return tensor;
}

// What follows so many commas of the parameters' text, "(Ref, self, In, other)".
static std::string_view word(const Row& row, size_t commas) {
  std::string_view rest = row.parameters;
  for (; commas > 0; --commas) rest.remove_prefix(std::min(rest.size(), rest.find(',') + 1));
  rest = rest.substr(0, rest.find_first_of(",)"));
  while (!rest.empty() && (rest.front() == ' ' || rest.front() == '(')) rest.remove_prefix(1);
  return rest;
}
static std::string parameter_name(const Row& row, size_t position) { return std::string(word(row, 2 * position + 1)); }
static bool reads_what_it_writes(const Row& row, size_t position) { return word(row, 2 * position) == "Ref"; }

static const FunctionRules* rules_of(Row& row, c10::ArrayRef<Given> parameters);
using Arguments = c10::SmallVector<Argument, 16>;
static Arguments arguments_of(c10::ArrayRef<Given> parameters);

// A tensor of HIFLOAT8 among the parameters. It is held as bytes; rows see its values.
struct HiFloat8 {
  Place place;
  bool written;
};

// An image, as its format says, of sizes (N, …, C).
static bool has_channels_last(const aclTensor& tensor) {
  return (tensor.format == ACL_FORMAT_NHWC && tensor.sizes.size() == 4) ||
         (tensor.format == ACL_FORMAT_NDHWC && tensor.sizes.size() == 5);
}
static at::Tensor channels_first(const at::Tensor& image) { return image.movedim(-1, 1); }

// A row's call: its parameters between the phases.
struct RowCall final : PendingCall {
  RowCall(Row& of, c10::ArrayRef<Given> parameters) : PendingCall(of.name), row(of) {
    held.reserve(parameters.size());
    for (const Given& given : parameters)
      std::visit([this](auto value) { held.emplace_back(std::in_place_type<Value<decltype(value)>>, convert(value)); },
                 given);
    each_tensor(parameters,
                [this](const Place& place, const aclTensor& tensor, Use use) { look_at(place, tensor, use); });
    if (channels_last) [[unlikely]]
      turn_images(of, parameters);
    first_phase(parameters);
    apart = inputs_apart(parameters);
    shared = outputs_shared(parameters);
    workspace_size = workspace_of(parameters);
    given.append(parameters.begin(), parameters.end());
  }
  RowCall(const RowCall& other)
      : PendingCall(other.name),
        row(other.row),
        held(other.held),
        apart(other.apart),
        shared(other.shared),
        fractals(other.fractals),
        images(other.images),
        small(other.small),
        idle(other.idle),
        given(other.given) {
    workspace_size = other.workspace_size;
  }
  void run(void*) override {
    if (idle) [[unlikely]]
      return;
    for (const Held& parameter : held)
      if (!in_reach(parameter)) [[unlikely]]
        tell_unreachable(parameter_name(row, size_t(&parameter - held.data())), parameter);
    work();
  }
  void work() {
    if (apart.empty() && shared.empty() && fractals.empty() && small.empty()) return compute(held);
    auto copied = held;
    for (const Fractal& each : fractals) each.unpack(copied);
    for (size_t input : apart)
      if (auto& tensor = std::get<at::Tensor>(copied[input]); tensor.defined()) tensor = tensor.clone();
    for (size_t output : shared)
      std::get<at::Tensor>(copied[output]) = std::get<at::Tensor>(copied[output]).clone(at::MemoryFormat::Contiguous);
    for (const auto& [place, written] : small) place.in(copied) = kernels::from_hifloat8(place.in(copied));
    compute(copied);
    for (size_t output : shared) {
      const at::Tensor to = of_each_place(std::get<at::Tensor>(held[output]));
      at::Tensor from = std::get<at::Tensor>(copied[output]);
      for (int64_t d = 0; d < to.dim(); ++d) from = from.narrow(d, from.size(d) - to.size(d), to.size(d));
      to.copy_(from);
    }
    for (const auto& [place, written] : small)
      if (written) place.in(held).copy_(kernels::to_hifloat8(place.in(copied)));
  }
  void compute(HeldList& parameters) {
    try {
      row.body(parameters.data(), Phase::second);
    } catch (const Violation&) {
      throw;  // what the row itself does not take
    } catch (const c10::IndexError&) {
      throw;
    } catch (const c10::Error&) {
      if (!compute_wider(row, given, parameters)) throw;
    }
  }
  // Where the page lists both orders for all images of the call, and all have their channels last, rows see them first.
  void turn_images(Row& of, c10::ArrayRef<Given> parameters) {
    const FunctionRules* rules = rules_of(of, parameters);
    if (!rules) return;
    std::vector<Place> turned;
    bool all = true;
    each_tensor(parameters, [&](const Place& place, const aclTensor& tensor, Use) {
      if (!takes_both_orders(*rules, place.parameter)) return;
      all = all && has_channels_last(tensor);
      turned.push_back(place);
    });
    if (!all) return;
    images = std::move(turned);
    for (const Place& place : images) {
      at::Tensor& image = place.in(held);
      const at::Tensor seen = channels_first(image);
      for (Held& each : held)  // the sizes of an image are listed in its own order, or in the other
        if (Dims* sizes = std::get_if<Dims>(&each); sizes && *sizes == image.sizes()) *sizes = seen.sizes().vec();
      image = seen;
    }
  }
  void first_phase(c10::ArrayRef<Given> parameters) {
    try {
      if (const FunctionRules* rules = rules_of(row, parameters); rules && rules->shapes)
        rules->shapes->check(*rules, held);
      small.empty() ? row.body(held.data(), Phase::first) : first_of_small();
    } catch (const Absent&) {
      throw;
    } catch (const WrongShape& error) {
      const FunctionRules* rules = rules_of(row, parameters);
      idle = rules && is_idle(*rules, arguments_of(parameters).data());
      if (!idle) refuse(error, false);
    } catch (const c10::TypeError& error) {
      refuse(error, true);
    } catch (const c10::Error& error) {
      refuse(error, false);
    }
  }
  [[noreturn]] void refuse(const c10::Error& error, bool dtype) const {
    const FunctionRules* rules = row.rules.load(std::memory_order_relaxed);
    throw Coded(error, rules ? code_of(*rules, dtype) : kInvalid);
  }
  void look_at(const Place& place, const aclTensor& tensor, Use use) {
    channels_last = channels_last || has_channels_last(tensor);
    const FunctionRules* rules = row.rules.load(std::memory_order_relaxed);
    const bool told = tensor.storage_sizes.size() > 3 && tensor.storage_sizes.size() > tensor.sizes.size();
    if (is_fractal(tensor.format) || (told && rules && is_tiled(*rules, place.parameter))) [[unlikely]] {
      SIM_CHECK(use == Use::in || use == Use::list, "parameter ", place.parameter,
                ": an output in FRACTAL_NZ is not simulated");
      fractals.push_back(fractal_at(place, tensor));
    }
    if (tensor.dtype == ACL_HIFLOAT8) [[unlikely]] {
      SIM_CHECK(use != Use::resized, "parameter ", place.parameter,
                ": an output of HIFLOAT8 whose shape depends on values is not simulated");
      small.push_back({place, use != Use::in});
    }
  }
  void first_of_small() {
    auto seen = held;
    for (const auto& [place, written] : small) {
      auto& tensor = place.in(seen);
      tensor = at::empty_strided(tensor.sizes(), tensor.strides(), at::kFloat);
    }
    try {
      row.body(seen.data(), Phase::first);
    } catch (c10::Error& error) {
      error.add_context("parameters of HIFLOAT8 are Float here");
      throw;
    }
    for (const auto& [place, written] : small)  // of one that was untold, its shape
      if (auto& tensor = place.in(held); tensor.sizes() != place.in(seen).sizes())
        tensor.unsafeGetTensorImpl()->set_sizes_contiguous(place.in(seen).sizes());
  }
  // What the caller passed may be gone by now: what is held says the rest.
  void tell(sim_listener* listener) const override {
    for (size_t i = 0; i < given.size(); ++i) {
      const bool output = std::holds_alternative<Out>(given[i]) || std::holds_alternative<Resized>(given[i]);
      const bool hifloat8 =
          std::any_of(small.begin(), small.end(), [&](const HiFloat8& one) { return one.place.parameter == i; });
      const int written = output && listener->touch && reads_what_it_writes(row, i) ? 2 : output;
      if (const auto* tensor = std::get_if<at::Tensor>(&held[i])) tell_tensor(listener, written, *tensor, hifloat8);
      else if (const auto* space = std::get_if<Space>(&held[i])) tell_tensor(listener, output, space->memory, false);
      else if (const auto* tensors = std::get_if<Tensors>(&held[i]))
        for (const at::Tensor& each : *tensors)
          tell_tensor(listener, parameter_name(row, i).starts_with("out"), each, hifloat8);
    }
  }
  // Reads what the caller passed as `object` once more; whether there was any.
  bool reread(const void* object) {
    bool found = false;
    for (size_t i = 0; i < given.size(); ++i)
      std::visit(
          [&](auto value) {
            using Kind = decltype(value);
            constexpr bool tensors =
                std::is_same_v<Kind, In> || std::is_same_v<Kind, Out> || std::is_same_v<Kind, List>;
            const void* passed = nullptr;
            if constexpr (std::is_same_v<Kind, Resized>) passed = value.tensor;
            else if constexpr (tensors) passed = value;
            if (!passed || passed != object) return;
            held[i].template emplace<Value<Kind>>(convert(value));
            for (const Place& place : images)
              if (place.parameter == i) place.in(held) = channels_first(place.in(held));
            found = true;
          },
          given[i]);
    return found;
  }

  Row& row;
  HeldList held;
  std::vector<size_t> apart, shared;
  std::vector<Fractal> fractals;
  bool channels_last = false;
  std::vector<Place> images;
  std::vector<HiFloat8> small;
  bool idle = false;  // an empty tensor ended the call in its first phase
  GivenList given;    // looked at again by a repeatable executor whose tensors move
};

std::unique_ptr<PendingCall> moved(const PendingCall& call, const void* object) {
  const auto row_call = dynamic_cast<const RowCall*>(&call);
  if (!row_call) return nullptr;
  auto copy = std::make_unique<RowCall>(*row_call);
  if (!copy->reread(object)) return nullptr;
  return copy;
}

static Argument argument(const Given& given) {
  return std::visit(
      [](auto value) -> Argument {
        using Kind = decltype(value);
        if constexpr (std::is_same_v<Kind, In> || std::is_same_v<Kind, Out>) return {Argument::kTensor, value};
        else if constexpr (std::is_same_v<Kind, Resized>) return {Argument::kTensor, value.tensor};
        else if constexpr (std::is_same_v<Kind, MaybeNum>) return {Argument::kPointer, value.scalar};
        else if constexpr (std::is_same_v<Kind, List>) return {Argument::kList, value};
        else if constexpr (std::is_same_v<Kind, Text>) return {Argument::kPointer, value, Argument::kText};
        else if constexpr (std::is_same_v<Kind, Ints>) return {Argument::kPointer, value, Argument::kInts};
        else if constexpr (std::is_same_v<Kind, Bools>) return {Argument::kPointer, value, Argument::kBools};
        else if constexpr (std::is_pointer_v<Kind>) return {Argument::kPointer, value};
        else if constexpr (std::is_floating_point_v<Kind>)
          return {Argument::kValue, nullptr, Argument::kReal, 0, value};
        else return {Argument::kValue, nullptr, Argument::kNumber, int64_t(value)};
      },
      given);
}

static Arguments arguments_of(c10::ArrayRef<Given> parameters) {
  Arguments arguments;
  for (const Given& given : parameters) arguments.push_back(argument(given));
  return arguments;
}

static const FunctionRules* rules_of(Row& row, c10::ArrayRef<Given> parameters) {
  if (!row.looked_up.load(std::memory_order_acquire)) {
    const Arguments arguments = arguments_of(parameters);
    row.rules = find_rules(row.name, arguments.data(), arguments.size());
    row.looked_up.store(true, std::memory_order_release);
  }
  return row.rules.load(std::memory_order_relaxed);
}

// 0, or the code of what CANN's page says about these arguments.
static int refused_by_rules(Row& row, c10::ArrayRef<Given> parameters) {
  if (!rules_wanted()) return 0;
  const FunctionRules* rules = rules_of(row, parameters);
  if (!rules) return 0;
  const Arguments arguments = arguments_of(parameters);
  return apply_rules(*rules, arguments.data(), arguments.size());
}

// Throws where an argument is no object, or another than the function takes. Null is the rules' and the row's affair.
static void check_handles(const Row& row, c10::ArrayRef<Given> parameters) {
  const auto dead = [](auto value) -> const void* {
    using Kind = decltype(value);
    if constexpr (std::is_same_v<Kind, Resized>) return is_or_null(value.tensor) ? nullptr : value.tensor;
    else if constexpr (std::is_same_v<Kind, MaybeNum>) return is_or_null(value.scalar) ? nullptr : value.scalar;
    else if constexpr (std::is_pointer_v<Kind> && !std::is_same_v<Kind, Text>)
      return is_or_null(value) ? nullptr : value;
    else return nullptr;
  };
  for (const Given& given : parameters)
    if (const void* handle = std::visit(dead, given)) [[unlikely]]
      SIM_CHECK(false, parameter_name(row, size_t(&given - parameters.begin())), " (", handle, ") ",
                objects().what(handle));
}

void live(const char* parameter, const aclTensor* tensor) {
  SIM_CHECK(is_or_null(tensor), parameter, " (", static_cast<const void*>(tensor), ") ", objects().what(tensor));
}
void live(const char* parameter, const aclIntArray* array) {
  SIM_CHECK(is_or_null(array), parameter, " (", static_cast<const void*>(array), ") ", objects().what(array));
}
void live(const char* parameter, const aclFloatArray* array) {
  SIM_CHECK(is_or_null(array), parameter, " (", static_cast<const void*>(array), ") ", objects().what(array));
}

int turn_away(int code, const char* name, uint64_t* workspace, aclOpExecutor** executor) {
  if (workspace) *workspace = 0;
  if (!executor) return code;
  const char* told = sim_error_message();
  const std::string why = told ? told : "";
  *executor = nullptr;
  try {
    auto call = std::make_unique<Refused>(name, code, why);
    *executor = objects().make<aclOpExecutor>(call.get(), false);
    call.release();
  } catch (const std::bad_alloc&) {  // then the code alone has to do
  }
  return sim_fail(code, "%s", why.c_str());
}

int hand_over(std::unique_ptr<PendingCall> call, uint64_t* workspace, aclOpExecutor** executor) {
  *workspace = call->workspace_size;
  *executor = objects().make<aclOpExecutor>(call.get(), false);
  call.release();
  return 0;
}

int prepare(Row& row, std::initializer_list<Given> parameters, uint64_t* workspace, aclOpExecutor** executor) {
  if (watching()) watched(std::string("call\t") + row.name);
  if (sim::fault::on()) [[unlikely]]
    if (const int code = sim_fault_call((std::string(row.name) + "GetWorkspaceSize").c_str()))
      return turn_away(code, row.name, workspace, executor);
  try {
    check_handles(row, parameters);
    if (const int code = refused_by_rules(row, parameters)) return turn_away(code, row.name, workspace, executor);
    const Stored stored(row, parameters);
    auto call = std::make_unique<RowCall>(row, stored.parameters());
    if (!workspace || !executor)
      return sim_fail(kNullPointer, "%s: no place for the workspace size or the executor", row.name);
    return hand_over(std::move(call), workspace, executor);
  } catch (...) {
    return turn_away(explain(row.name, kInvalid), row.name, workspace, executor);
  }
}

Row* row_of(const char* function) {
  Dl_info here;
  if (!dladdr(reinterpret_cast<void*>(&row_of), &here)) return nullptr;
  static void* const library = dlopen(here.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  return static_cast<Row*>(dlsym(library, (std::string(function) + "Row").c_str()));
}

std::unique_ptr<PendingCall> first_phase(Row& row, c10::ArrayRef<Given> parameters, bool rules) {
  if (rules && refused_by_rules(row, parameters)) {
    std::string_view why = sim_error_message();
    constexpr std::string_view stamp = "[simulated Ascend] ";  // the engine's own error has it, too
    if (why.starts_with(stamp)) why.remove_prefix(stamp.size());
    throw std::invalid_argument(std::string(why));
  }
  return std::make_unique<RowCall>(row, parameters);
}

at::Tensor tensor_of(const PendingCall& call, size_t parameter, size_t member) {
  const Held& found = static_cast<const RowCall&>(call).held[parameter];
  if (const Tensors* list = std::get_if<Tensors>(&found)) return list->at(member);
  if (const Space* space = std::get_if<Space>(&found)) return space->memory;
  return std::get<at::Tensor>(found);
}

void compute(PendingCall& call) {
  auto& row_call = static_cast<RowCall&>(call);
  if (!row_call.idle) row_call.work();
}

// The executor's call, for one launch: from an executor that can be used again one more, else the executor is gone.
static PendingCall* take_call(aclOpExecutor* executor) {
  if (!objects().is<aclOpExecutor>(executor)) return nullptr;
  if (executor->repeatable) return executor->call->owners.fetch_add(1, std::memory_order_relaxed), executor->call;
  PendingCall* call = nullptr;
  objects().end(executor, "was run already (aclSetAclOpExecutorRepeatable makes one that can run again)",
                [&](aclOpExecutor& one) { call = one.call; });
  return call;
}

int launch(const char* name, void* workspace, uint64_t size, aclOpExecutor* executor, void* stream) {
  const Told told{name};
  if (!executor) return sim_fail(kNullPointer, "%s: no executor; its first phase was not called", name);
  PendingCall* call = take_call(executor);
  if (!call)
    return sim_fail(kInvalid, "%s: executor (%p) %s", name, static_cast<void*>(executor),
                    objects().what(executor).c_str());
  std::unique_ptr<PendingCall, void (*)(void*)> owned(call, release);
  if (int code = call->ready()) return code;
  if (call->workspace_size > 0 && !workspace)
    return sim_fail(kNullPointer, "%s: workspace is null; its first phase asked for %llu bytes", name,
                    (unsigned long long)call->workspace_size);
  if (call->workspace_size > size)
    return sim_fail(kInvalid, "%s: the workspace has %llu bytes; its first phase asked for %llu", name,
                    (unsigned long long)size, (unsigned long long)call->workspace_size);
  // The stream owns the launch from here: it may be captured, and run again after the caller has forgotten it.
  if (!call->workspace_size) {
    return sim_launch_about(
        stream, name, &kCall, [](void* pointer) { return run_call(*static_cast<PendingCall*>(pointer), nullptr); },
        owned.release(), release);
  }
  auto launched = std::make_unique<Launched>(call, workspace);
  owned.release();
  return sim_launch_about(
      stream, name, &kLaunched,
      [](void* pointer) {
        const auto launch = static_cast<Launched*>(pointer);
        if (const char* problem = sim_memory_problem("workspace", launch->workspace, launch->call->workspace_size))
          return sim_fail(ACL_ERROR_RT_AICORE_EXCEPTION, "%s: %s", launch->call->name, problem);
        return run_call(*launch->call, launch->workspace);
      },
      launched.release(), [](void* pointer) { delete static_cast<Launched*>(pointer); });
}

}  // namespace sim::aclnn

using namespace sim::aclnn;

static int no_executor(const char* caller, aclOpExecutor* executor) {
  return sim_fail(executor ? kInvalid : kInnerNull, "%s: executor (%p) %s", caller, static_cast<void*>(executor),
                  objects().what(executor).c_str());
}

extern "C" SIM_API int aclSetAclOpExecutorRepeatable(aclOpExecutor* executor) {
  if (!objects().is<aclOpExecutor>(executor)) return no_executor("aclSetAclOpExecutorRepeatable", executor);
  executor->repeatable = true;
  return 0;
}

extern "C" SIM_API int aclDestroyAclOpExecutor(aclOpExecutor* executor) {
  PendingCall* call = nullptr;
  if (!objects().end(executor, "was destroyed", [&](aclOpExecutor& one) { call = one.call; }))
    return no_executor("aclDestroyAclOpExecutor", executor);
  release(call);
  return 0;
}
