#include "aclnn_call.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <utility>

#include "core/sim.h"
#include "graph_impl.h"
#include "registry.h"

namespace gesim {
namespace {

// The argument objects of aclnn functions, made by the functions of libopapi.so.
struct Objects {
  void* (*tensor)(const int64_t* dims, uint64_t rank, int32_t dtype, const int64_t* strides, int64_t offset,
                  int32_t format, const int64_t* storage_dims, uint64_t storage_rank, void* data) = nullptr;
  void* (*tensors)(const void* const* tensors, uint64_t count) = nullptr;
  void* (*ints)(const int64_t* values, uint64_t count) = nullptr;
  void* (*floats)(const float* values, uint64_t count) = nullptr;
  void* (*bools)(const bool* values, uint64_t count) = nullptr;
  int (*drop_tensor)(const void*) = nullptr;
  int (*drop_tensors)(const void*) = nullptr;
  int (*drop_ints)(const void*) = nullptr;
  int (*drop_floats)(const void*) = nullptr;
  int (*drop_bools)(const void*) = nullptr;
};

template <typename F>
bool look_up(void* library, const char* name, F& out) {
  out = reinterpret_cast<F>(dlsym(library, name));
  return out != nullptr;
}

template <typename F>
bool find(const char* name, F& out) {
  out = reinterpret_cast<F>(sim_opapi_symbol(name));
  return out != nullptr;
}

const Objects* objects() {
  static const Objects* found = []() -> const Objects* {
    auto* all = new Objects;
    bool complete = find("aclCreateTensor", all->tensor) && find("aclCreateTensorList", all->tensors) &&
                    find("aclCreateIntArray", all->ints) && find("aclCreateFloatArray", all->floats) &&
                    find("aclCreateBoolArray", all->bools) && find("aclDestroyTensor", all->drop_tensor) &&
                    find("aclDestroyTensorList", all->drop_tensors) && find("aclDestroyIntArray", all->drop_ints) &&
                    find("aclDestroyFloatArray", all->drop_floats) && find("aclDestroyBoolArray", all->drop_bools);
    return complete ? all : nullptr;
  }();
  return found;
}

struct Functions {
  void* first = nullptr;  // aclnnXGetWorkspaceSize, or ophook_graph_X where that takes more than tensors
  int (*second)(void* workspace, uint64_t size, void* executor, void* stream) = nullptr;
};

Functions look_for(const std::string& type) {
  std::vector<void*> libraries;
  for (const std::string& package : package_folders())
    if (void* library = dlopen((package + "/op_api/lib/libcust_opapi.so").c_str(), RTLD_NOW))
      libraries.push_back(library);
  if (void* library = dlopen("libcust_opapi.so", RTLD_NOW)) libraries.push_back(library);
  // Never those of libopapi.so, which a package may be linked to: their arguments are not in the order of a prototype.
  const void* own = sim_opapi_symbol(("aclnn" + type).c_str());
  Functions out;
  for (void* library : libraries)
    if ((look_up(library, ("ophook_graph_" + type).c_str(), out.first) ||
         look_up(library, ("aclnn" + type + "GetWorkspaceSize").c_str(), out.first)) &&
        look_up(library, ("aclnn" + type).c_str(), out.second) && reinterpret_cast<void*>(out.second) != own)
      return out;
  return Functions{};
}

Functions functions(const std::string& type) {
  static std::mutex mutex;
  static std::map<std::string, Functions> known;
  std::lock_guard<std::mutex> lock(mutex);
  auto it = known.find(type);
  if (it == known.end()) it = known.emplace(type, look_for(type)).first;
  return it->second;
}

// ---- the call: a function whose arguments are only known at run time --------------------------------------------
// Integers and pointers go one way (registers, then the stack), floating-point arguments another (eight registers),
// each in their own order, on x86-64 and on aarch64 alike. So f(a, 1.0, b) may be called as f(a, b, 1.0).
constexpr size_t kMaxWords = 32;
constexpr size_t kMaxFloats = 8;
using Words = std::array<uint64_t, kMaxWords>;
using Floats = std::array<double, kMaxFloats>;

template <size_t>
using Word = uint64_t;

template <size_t... I>
int call_with(void* function, [[maybe_unused]] const Words& w, const Floats& f, std::index_sequence<I...>) {
  using Typed = int (*)(Word<I>..., double, double, double, double, double, double, double, double);
  return reinterpret_cast<Typed>(function)(w[I]..., f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7]);
}

template <size_t N = 0>
int call(void* function, size_t count, const Words& words, const Floats& floats) {
  if constexpr (N <= kMaxWords) {
    if (count == N) return call_with(function, words, floats, std::make_index_sequence<N>());
    return call<N + 1>(function, count, words, floats);
  } else {
    return -1;
  }
}

class Arguments {
 public:
  ~Arguments() {
    for (auto it = drops_.rbegin(); it != drops_.rend(); ++it) it->first(it->second);
  }

  void* make_tensor(const ge_tensor& tensor) {
    std::vector<int64_t> strides(static_cast<size_t>(tensor.rank), 1);
    for (int i = tensor.rank - 2; i >= 0; --i) strides[i] = strides[i + 1] * tensor.dims[i + 1];
    constexpr int32_t format_nd = 2;
    auto rank = static_cast<uint64_t>(tensor.rank);
    return objects()->tensor(tensor.dims, rank, tensor.dtype, strides.data(), 0, format_nd, tensor.dims, rank,
                             tensor.data);
  }
  void tensor(const ge_tensor& value) { pointer(make_tensor(value), objects()->drop_tensor); }
  void tensors(const std::vector<ge_tensor>& values) {
    std::vector<const void*> made;
    for (const ge_tensor& value : values) made.push_back(make_tensor(value));
    pointer(objects()->tensors(made.data(), made.size()), objects()->drop_tensors);  // a list owns its tensors
  }
  void pointer(void* value, int (*drop)(const void*)) {
    word(reinterpret_cast<uint64_t>(value));
    if (value && drop) drops_.emplace_back(drop, value);
  }
  void word(uint64_t value) {
    if (count_ < kMaxWords) words_[count_] = value;
    ++count_;
  }
  void real(double value) {
    if (reals_ < kMaxFloats) floats_[reals_] = value;
    ++reals_;
  }
  bool fits() const { return count_ <= kMaxWords && reals_ <= kMaxFloats; }
  int call_function(void* function) const { return call(function, count_, words_, floats_); }

 private:
  Words words_{};
  Floats floats_{};
  size_t count_ = 0, reals_ = 0;
  std::vector<std::pair<int (*)(const void*), void*>> drops_;
};

std::string reason_given() {
  const char* text = sim_error_message();
  return text ? std::string(": ") + text : "";
}

// "x0, x1, …" of a dynamic port, or the port itself.
std::vector<ge_tensor> gather(const ge::IrPort& port, const std::vector<Desc>& descs,
                              const std::vector<ge_tensor>& tensors, size_t& at) {
  std::vector<ge_tensor> out;
  if (port.kind != ge::IrPort::kDynamic) {
    out.push_back(tensors[at++]);
    return out;
  }
  while (at < descs.size() && descs[at].name == port.name + std::to_string(out.size())) out.push_back(tensors[at++]);
  return out;
}

std::string add_attr(Arguments& arguments, const ge::IrAttr& declared, const Attr& value) {
  switch (value.kind) {
    case Attr::kInt:
    case Attr::kBool:
    case Attr::kType: arguments.word(static_cast<uint64_t>(value.i)); break;
    case Attr::kFloat: arguments.real(value.f); break;
    case Attr::kString: arguments.pointer(const_cast<char*>(value.s.c_str()), nullptr); break;
    case Attr::kInts:
      arguments.pointer(objects()->ints(value.ints.data(), value.ints.size()), objects()->drop_ints);
      break;
    case Attr::kFloats:
      arguments.pointer(objects()->floats(value.floats.data(), value.floats.size()), objects()->drop_floats);
      break;
    case Attr::kBools: {
      std::unique_ptr<bool[]> plain(new bool[value.ints.size() + 1]);
      std::copy(value.ints.begin(), value.ints.end(), plain.get());
      arguments.pointer(objects()->bools(plain.get(), value.ints.size()), objects()->drop_bools);
      break;
    }
    default:
      if (value.kind == Attr::kNone && declared.required)
        return "its required attribute '" + declared.name + "' is not set";
      return "its attribute '" + declared.name + "' of type " + declared.type + " cannot be given to an aclnn function";
  }
  return "";
}

}  // namespace

bool aclnn_exists(const std::string& type) { return registered_by_library(type) && functions(type).second != nullptr; }

std::string aclnn_launch(const Node& node, const std::vector<ge_tensor>& inputs, const std::vector<ge_tensor>& outputs,
                         void* stream, const std::function<void*(size_t)>& workspace) {
  Functions found = functions(node.type);
  if (!objects()) return "libopapi.so lacks the functions that make aclnn arguments (aclCreateTensor and others)";
  ge::Operator op = create(node.name, node.type);
  const ge::OperatorImpl& prototype = *ge::OpDescUtils::impl(op);
  const std::vector<Attr> attributes = ge::attributes_of(node, prototype);

  Arguments arguments;
  size_t at = 0;
  for (const ge::IrPort& port : prototype.inputs) {
    std::vector<ge_tensor> tensors = gather(port, node.input_desc, inputs, at);
    if (port.kind == ge::IrPort::kDynamic) arguments.tensors(tensors);
    else if (tensors[0].dtype == ge_absent) arguments.pointer(nullptr, nullptr);
    else arguments.tensor(tensors[0]);
  }
  for (size_t i = 0; i < attributes.size(); ++i)
    if (std::string problem = add_attr(arguments, prototype.ir_attrs[i], attributes[i]); !problem.empty())
      return problem;
  at = 0;
  auto is_input = [&](const ge::IrPort& port) {
    return std::any_of(prototype.inputs.begin(), prototype.inputs.end(),
                       [&](const ge::IrPort& in) { return in.name == port.name; });
  };
  for (const ge::IrPort& port : prototype.outputs) {
    std::vector<ge_tensor> tensors = gather(port, node.output_desc, outputs, at);
    if (is_input(port)) continue;  // written in place: the function has one parameter for both
    if (port.kind == ge::IrPort::kDynamic) arguments.tensors(tensors);
    else arguments.tensor(tensors[0]);
  }
  uint64_t size = 0;
  void* executor = nullptr;
  arguments.pointer(&size, nullptr);
  arguments.pointer(&executor, nullptr);
  if (!arguments.fits()) return "it has more arguments than an aclnn call can take";

  std::string name = "aclnn" + node.type;
  if (int code = arguments.call_function(found.first))
    return name + "GetWorkspaceSize returned " + std::to_string(code) + reason_given();
  void* memory = size ? workspace(size) : nullptr;
  if (size && !memory)
    return "there is no device memory for its workspace of " + std::to_string(size) + " bytes" + reason_given();
  if (int code = found.second(memory, size, executor, stream))
    return name + " returned " + std::to_string(code) + reason_given();
  return "";
}

}  // namespace gesim
