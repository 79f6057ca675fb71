// libascendcl: kernels that a program loads by itself, as CANN's page "Kernel loading and execution" has them. A binary
// is a library that `bisheng -shared`, ascendc_fatbin_library or `kernel build` made of Ascend C: it tells what its
// kernels take (ascendc/program/binary.h) and runs them, with all checks, as a task of the stream.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "acl/acl.h"
#include "acl/tasks.h"
#include "ascendc/program/binary.h"
#include "core/order_api.h"
#include "core/sim.h"

namespace sim::acl::kernels {
namespace {

constexpr uint32_t kMostBlocks = 65535;
constexpr size_t kMostParameters = 128, kAlignment = 8;

struct Binary {
  static constexpr const char* kKind = "a loaded binary";
  ~Binary() {
    if (library) dlclose(library);
  }
  void* library = nullptr;
  size_t bytes = 0;
  decltype(&ophook_binary_find) find = nullptr;
  decltype(&ophook_binary_launch) run = nullptr;
  aclrtOpExceptionCallback failed = nullptr;
  void* failed_data = nullptr;
};

struct Function {
  static constexpr const char* kKind = "a kernel of a loaded binary";
  std::shared_ptr<Binary> binary;
  const ophook_binary_kernel* kernel;
  uint64_t key = 0;  // tiling key
};

// What aclrtCreateBinary keeps: the caller's memory.
struct Data {
  const void* data;
  size_t size;
};

// An argument: a value, or (`held`) a placeholder, for whose memory the device gets a copy at each launch.
struct Parameter {
  std::vector<char> value;
  bool held = false;
};

struct Arguments {
  static constexpr const char* kKind = "a list of arguments";
  std::shared_ptr<Function> function;
  std::vector<std::unique_ptr<Parameter>> parameters;
  bool finished = false;
};

// Lists whose memory is the caller's: their handles are its addresses.
struct InMemory {
  std::mutex mutex;
  std::map<void*, std::shared_ptr<Arguments>> lists;
};
InMemory& in_memory() {
  static auto* one = new InMemory;
  return *one;
}

int find_arguments(const char* caller, void* handle, std::shared_ptr<Arguments>* out) {
  if (!Handles<Arguments>::all().find(handle)) {
    std::lock_guard lock(in_memory().mutex);
    const auto found = in_memory().lists.find(handle);
    if (found != in_memory().lists.end()) return *out = found->second, ACL_SUCCESS;
  }
  return find_handle(caller, handle, out);
}

// Memory on the device for the length of a task; freed when it can run no more.
struct Block {
  explicit Block(void* at) : memory(at) {}
  ~Block() {
    if (memory) sim_free(memory);
  }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  void* memory;
};

struct Launch {
  std::shared_ptr<Function> function;
  uint32_t blocks;
  std::vector<std::vector<char>> values;  // of each argument; or
  const char* packed = nullptr;           // all of them in device memory
  size_t packed_size = 0;
  std::vector<std::shared_ptr<Block>> memory;  // that they point to
};

// Where a compiler puts parameters that lie in memory one after the other.
std::vector<size_t> offsets(const ophook_binary_kernel& kernel, size_t* end) {
  std::vector<size_t> found;
  *end = 0;
  for (size_t i = 0; i < kernel.count; ++i) {
    const size_t unit = std::min(kernel.sizes[i] & ~(kernel.sizes[i] - 1), kAlignment);
    *end = (*end + unit - 1) / unit * unit;
    found.push_back(*end);
    *end += kernel.sizes[i];
  }
  return found;
}

int run(void* argument) {
  const auto& task = *static_cast<const Launch*>(argument);
  const ophook_binary_kernel& kernel = *task.function->kernel;
  std::vector<const void*> arguments;
  if (task.packed) {
    size_t end = 0;
    const auto places = offsets(kernel, &end);
    if (end > task.packed_size)
      return sim_fail(ACL_ERROR_RT_AICORE_EXCEPTION, "the kernel %s takes %zu bytes of arguments; %zu were given",
                      kernel.name, end, task.packed_size);
    if (const char* problem = sim_memory_problem("the arguments", task.packed, end))
      return sim_fail(ACL_ERROR_RT_AICORE_EXCEPTION, "the kernel %s: %s", kernel.name, problem);
    for (const size_t place : places) arguments.push_back(task.packed + place);
  } else {
    if (task.values.size() != kernel.count)
      return sim_fail(ACL_ERROR_RT_AICORE_EXCEPTION, "the kernel %s takes %zu arguments; %zu were given", kernel.name,
                      kernel.count, task.values.size());
    for (size_t i = 0; i < kernel.count; ++i) {
      if (task.values[i].size() != kernel.sizes[i])
        return sim_fail(ACL_ERROR_RT_AICORE_EXCEPTION, "the kernel %s: argument %zu has %zu bytes; allowed: %zu",
                        kernel.name, i + 1, task.values[i].size(), kernel.sizes[i]);
      arguments.push_back(task.values[i].data());
    }
  }
  return task.function->binary->run(kernel.name, task.blocks, task.function->key, arguments.data());
}

int start(const char* caller, Launch what, aclrtStream stream) {
  if (!what.blocks || what.blocks > kMostBlocks)
    return RT_INVALID(caller, "%u blocks; allowed: 1 to %u", what.blocks, kMostBlocks);
  const char* name = what.function->kernel->name;
  return sim_launch_telling_later(stream, name, run, new Launch(std::move(what)), drop<Launch>);
}

int check_config(const char* caller, const aclrtLaunchKernelCfg* config) {
  if (!config) return ACL_SUCCESS;
  if (config->numAttrs && !config->attrs) return missing(caller, "cfg->attrs");
  for (size_t i = 0; i < config->numAttrs; ++i) {
    const auto id = config->attrs[i].id;
    if (id < ACL_RT_LAUNCH_KERNEL_ATTR_SCHEM_MODE || id > ACL_RT_LAUNCH_KERNEL_ATTR_TIMEOUT_US)
      return RT_INVALID(caller, "attribute %d; allowed: 1 to %d", int(id), int(ACL_RT_LAUNCH_KERNEL_ATTR_TIMEOUT_US));
    if (id == ACL_RT_LAUNCH_KERNEL_ATTR_BLOCKDIM_OFFSET && config->attrs[i].value.blockDimOffset)
      return sim_unimplemented("a launch with a block offset");
  }
  return ACL_SUCCESS;
}

// Device memory that holds a copy of the host's.
int copied(const char* caller, const void* from, size_t size, std::shared_ptr<Block>* out) {
  void* memory = nullptr;
  if (int code = sim_malloc_by(caller, nullptr, size, size, &memory)) return code;
  *out = std::make_shared<Block>(memory);
  sim_memory_open();
  memcpy(memory, from, size);
  sim_memory_close();
  return ACL_SUCCESS;
}

int append(const char* caller, Arguments& arguments, Parameter parameter, aclrtParamHandle* out) {
  if (arguments.parameters.size() >= kMostParameters)
    return RT_INVALID(caller, "%zu arguments; no more are allowed", kMostParameters);
  *out = arguments.parameters.emplace_back(std::make_unique<Parameter>(std::move(parameter))).get();
  arguments.finished = false;
  return ACL_SUCCESS;
}

bool has_key(const ophook_binary_kernel& kernel, uint64_t key) {
  return std::find(kernel.keys, kernel.keys + kernel.key_count, key) != kernel.keys + kernel.key_count;
}

// The handle of a kernel for a tiling key: one, however often it is asked for.
void* function_of(const std::shared_ptr<Binary>& binary, const ophook_binary_kernel* kernel, uint64_t key) {
  const auto known =
      Handles<Function>::all().where([&](Function& each) { return each.kernel == kernel && each.key == key; });
  return known.empty() ? Handles<Function>::all().add(std::make_shared<Function>(Function{binary, kernel, key}))
                       : known.front().get();
}

int load(const char* caller, const char* path, const char* shown, size_t bytes, aclrtBinHandle* out) {
  int device = 0;
  if (int code = sim_get_device(&device)) return code;
  auto binary = std::make_shared<Binary>();
  binary->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!binary->library)
    return RT_INVALID(caller,
                      "%s is no binary of the simulated Ascend (%s); make it with the simulator's bisheng -shared, "
                      "ascendc_fatbin_library or ophook-npu kernel build",
                      shown, dlerror());
  binary->bytes = bytes;
  binary->find = reinterpret_cast<decltype(binary->find)>(dlsym(binary->library, "ophook_binary_find"));
  binary->run = reinterpret_cast<decltype(binary->run)>(dlsym(binary->library, "ophook_binary_launch"));
  if (!binary->find || !binary->run)
    return RT_INVALID(caller, "%s is a library, and holds no kernels that can be launched", shown);
  *out = Handles<Binary>::all().add(std::move(binary));
  return ACL_SUCCESS;
}

int check_options(const char* caller, const aclrtBinaryLoadOptions* options) {
  for (size_t i = 0; options && options->options && i < options->numOpt; ++i)
    if (options->options[i].type == ACL_RT_BINARY_LOAD_OPT_CPU_KERNEL_MODE)
      return sim_unimplemented((std::string(caller) + " of a kernel for AI CPU").c_str());
  return ACL_SUCCESS;
}

}  // namespace

extern "C" {

// ---- binaries ----
SIM_API aclError aclrtBinaryLoadFromFile(const char* path, aclrtBinaryLoadOptions* options, aclrtBinHandle* handle) {
  REQUIRE(path, handle);
  if (int code = check_options(__func__, options)) return code;
  RT_INVALID_IF(access(path, R_OK), "cannot read %s", path);
  const std::unique_ptr<char, decltype(&free)> whole(realpath(path, nullptr), free);
  const int file = open(whole.get(), O_RDONLY | O_CLOEXEC);
  const off_t bytes = file < 0 ? 0 : lseek(file, 0, SEEK_END);
  if (file >= 0) close(file);
  return load(__func__, whole.get(), path, size_t(bytes), handle);
}

SIM_API aclError aclrtBinaryLoadFromData(const void* data, size_t length, const aclrtBinaryLoadOptions* options,
                                         aclrtBinHandle* handle) {
  REQUIRE(data, handle);
  RT_INVALID_IF(!length, "length is 0");
  if (int code = check_options(__func__, options)) return code;
  const int file = memfd_create("ophook-kernels", MFD_CLOEXEC);
  if (file < 0 || write(file, data, length) != ssize_t(length)) {
    if (file >= 0) close(file);
    return sim_fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "%s: the host has no %zu bytes for a file", __func__, length);
  }
  // dlopen gives a library that it has under the same name, and a descriptor's number comes again: another spelling of
  // the path for each load.
  static std::atomic<uint32_t> loads{0};
  std::string path = "/proc/self/fd";
  for (uint32_t bits = ++loads; bits; bits >>= 1) path += bits & 1 ? "/." : "/";
  path += "/" + std::to_string(file);
  const int code = load(__func__, path.c_str(), "the data", length, handle);
  close(file);
  return code;
}

SIM_API aclrtBinary aclrtCreateBinary(const void* data, size_t size) {
  if (!data || !size) {
    sim_fail(ACL_ERROR_INVALID_PARAM, "%s: %s", __func__, data ? "dataLen is 0" : "data is null");
    return nullptr;
  }
  return Handles<Data>::all().add(std::make_shared<Data>(Data{data, size}));
}
SIM_API aclError aclrtDestroyBinary(aclrtBinary binary) {
  if (Handles<Data>::all().take(binary)) return ACL_SUCCESS;
  return sim_fail(ACL_ERROR_INVALID_PARAM, "%s: %p was not made by aclrtCreateBinary", __func__, binary);
}
SIM_API aclError aclrtBinaryLoad(const aclrtBinary binary, aclrtBinHandle* handle) {
  const auto found = Handles<Data>::all().find(binary);
  if (!found) return sim_fail(ACL_ERROR_INVALID_PARAM, "%s: %p was not made by aclrtCreateBinary", __func__, binary);
  return aclrtBinaryLoadFromData(found->data, found->size, nullptr, handle);
}
SIM_API aclError aclrtBinaryUnLoad(aclrtBinHandle handle) {
  FIND(Binary, binary, end_handle, __func__, handle);
  for (const auto& one : Handles<Function>::all().where([&](Function& each) { return each.binary == binary; }))
    Handles<Function>::all().take(one.get());
  return ACL_SUCCESS;
}

SIM_API aclError aclrtBinaryGetFunction(const aclrtBinHandle handle, const char* name, aclrtFuncHandle* function) {
  REQUIRE(name, function);
  FIND(Binary, binary, find_handle, __func__, handle);
  const ophook_binary_kernel* kernel = binary->find(name);
  RT_INVALID_IF(!kernel, "the binary has no kernel %s of C linkage (extern \"C\")", name);
  // A name alone means the tiling key 0, or the only one.
  RT_INVALID_IF(kernel->keys && kernel->key_count != 1 && !has_key(*kernel, 0),
                "the kernel %s has %zu tiling keys, and 0 is none of them; aclrtBinaryGetFunctionByEntry takes a key",
                name, kernel->key_count);
  *function = function_of(binary, kernel, kernel->keys && kernel->key_count == 1 ? *kernel->keys : 0);
  return ACL_SUCCESS;
}

SIM_API aclError aclrtBinaryGetFunctionByEntry(aclrtBinHandle handle, uint64_t key, aclrtFuncHandle* function) {
  REQUIRE(function);
  FIND(Binary, binary, find_handle, __func__, handle);
  const ophook_binary_kernel* kernel = binary->find(nullptr);
  RT_INVALID_IF(!kernel, "the binary has not one kernel of C linkage (extern \"C\"), but none or several");
  RT_INVALID_IF(kernel->keys && !has_key(*kernel, key), "the kernel %s has no tiling key %llu", kernel->name,
                static_cast<unsigned long long>(key));
  *function = function_of(binary, kernel, key);
  return ACL_SUCCESS;
}

SIM_API aclError aclrtBinaryGetDevAddress(const aclrtBinHandle handle, void** address, size_t* size) {
  REQUIRE(address, size);
  FIND(Binary, binary, find_handle, __func__, handle);
  Dl_info info{};
  dladdr(reinterpret_cast<void*>(binary->find), &info);
  *address = info.dli_fbase;
  *size = binary->bytes;
  return ACL_SUCCESS;
}

SIM_API aclError aclrtBinarySetExceptionCallback(aclrtBinHandle handle, aclrtOpExceptionCallback callback, void* data) {
  FIND(Binary, binary, find_handle, __func__, handle);
  binary->failed = callback, binary->failed_data = data;
  return ACL_SUCCESS;
}

// ---- what a kernel is ----
SIM_API aclError aclrtGetFunctionName(aclrtFuncHandle handle, uint32_t room, char* name) {
  REQUIRE(name);
  FIND(Function, function, find_handle, __func__, handle);
  RT_INVALID_IF(!room, "maxLen is 0");
  snprintf(name, room, "%s", function->kernel->name);
  return ACL_SUCCESS;
}
SIM_API aclError aclrtFunctionGetBinary(const aclrtFuncHandle handle, aclrtBinHandle* binary) {
  REQUIRE(binary);
  FIND(Function, function, find_handle, __func__, handle);
  *binary = function->binary.get();
  return ACL_SUCCESS;
}
SIM_API aclError aclrtFunctionGetParamCount(const void* handle, size_t* count) {
  REQUIRE(count);
  FIND(Function, function, find_handle, __func__, handle);
  *count = function->kernel->count;
  return ACL_SUCCESS;
}
SIM_API aclError aclrtFunctionGetParamInfo(const void* handle, size_t index, size_t* offset, size_t* size) {
  REQUIRE(offset);
  FIND(Function, function, find_handle, __func__, handle);
  RT_INVALID_IF(index >= function->kernel->count, "parameter %zu of %zu", index, function->kernel->count);
  size_t end = 0;
  *offset = offsets(*function->kernel, &end)[index];
  if (size) *size = function->kernel->sizes[index];
  return ACL_SUCCESS;
}
// Of a kernel without SIMT, as all that are simulated.
SIM_API aclError aclrtFunctionGetAvailDynUbufPerBlock(void* handle, uint32_t flags, size_t* size) {
  REQUIRE(size);
  FIND(Function, function, find_handle, __func__, handle);
  RT_INVALID_IF(flags, "flags has to be 0");
  *size = 0;
  return ACL_SUCCESS;
}
SIM_API aclError aclrtGetFunctionAttribute(aclrtFuncHandle handle, aclrtFuncAttribute what, int64_t* value) {
  REQUIRE(value);
  FIND(Function, function, find_handle, __func__, handle);
  constexpr int64_t kTypes[] = {ACL_KERNEL_TYPE_VECTOR, ACL_KERNEL_TYPE_MIX, ACL_KERNEL_TYPE_MIX, ACL_KERNEL_TYPE_CUBE};
  constexpr int64_t kRatios[] = {1, 1 << 16 | 2, 1 << 16 | 1,
                                 1 << 16};  // cubes in the upper half, vectors in the lower
  const auto kind = size_t(function->kernel->kind);
  switch (what) {
    case ACL_FUNC_ATTR_KERNEL_TYPE: *value = kTypes[kind % 4]; return ACL_SUCCESS;
    case ACL_FUNC_ATTR_KERNEL_RATIO: *value = kRatios[kind % 4]; return ACL_SUCCESS;
    default:
      return sim_fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "%s: attribute %d is not simulated", __func__, int(what));
  }
}

// ---- lists of arguments ----
SIM_API aclError aclrtKernelArgsInit(aclrtFuncHandle handle, aclrtArgsHandle* arguments) {
  REQUIRE(arguments);
  FIND(Function, function, find_handle, __func__, handle);
  *arguments = Handles<Arguments>::all().add(std::make_shared<Arguments>(Arguments{function, {}}));
  return ACL_SUCCESS;
}
// The caller's memory is where CANN builds the list; here it is the list's name alone.
SIM_API aclError aclrtKernelArgsInitByUserMem(aclrtFuncHandle handle, aclrtArgsHandle arguments, void* memory, size_t) {
  REQUIRE(arguments, memory);
  FIND(Function, function, find_handle, __func__, handle);
  std::lock_guard lock(in_memory().mutex);
  in_memory().lists[arguments] = std::make_shared<Arguments>(Arguments{function, {}});
  return ACL_SUCCESS;
}
SIM_API aclError aclrtKernelArgsGetHandleMemSize(aclrtFuncHandle handle, size_t* size) {
  REQUIRE(size);
  FIND(Function, function, find_handle, __func__, handle);
  *size = sizeof(void*) * (kMostParameters + 1);
  return ACL_SUCCESS;
}
SIM_API aclError aclrtKernelArgsGetMemSize(aclrtFuncHandle handle, size_t wanted, size_t* size) {
  REQUIRE(size);
  FIND(Function, function, find_handle, __func__, handle);
  *size = (wanted + kAlignment - 1) / kAlignment * kAlignment;
  return ACL_SUCCESS;
}

SIM_API aclError aclrtKernelArgsAppend(aclrtArgsHandle handle, void* value, size_t size, aclrtParamHandle* parameter) {
  REQUIRE(value, parameter);
  FIND(Arguments, arguments, find_arguments, __func__, handle);
  RT_INVALID_IF(!size, "paramSize is 0");
  const auto* bytes = static_cast<const char*>(value);
  return append(__func__, *arguments, {{bytes, bytes + size}}, parameter);
}
SIM_API aclError aclrtKernelArgsAppendPlaceHolder(aclrtArgsHandle handle, aclrtParamHandle* parameter) {
  REQUIRE(parameter);
  FIND(Arguments, arguments, find_arguments, __func__, handle);
  return append(__func__, *arguments, {{}, true}, parameter);
}

static Parameter* parameter_of(const Arguments& arguments, void* handle) {
  for (const auto& one : arguments.parameters)
    if (one.get() == handle) return one.get();
  return nullptr;
}

SIM_API aclError aclrtKernelArgsGetPlaceHolderBuffer(aclrtArgsHandle handle, aclrtParamHandle which, size_t size,
                                                     void** buffer) {
  REQUIRE(buffer);
  FIND(Arguments, arguments, find_arguments, __func__, handle);
  Parameter* parameter = parameter_of(*arguments, which);
  RT_INVALID_IF(!parameter || !parameter->held || !size, "%s",
                parameter && parameter->held ? "dataSize is 0" : "the parameter is not a placeholder of this list");
  parameter->value.assign(size, 0);
  *buffer = parameter->value.data();
  return ACL_SUCCESS;
}
SIM_API aclError aclrtKernelArgsParaUpdate(aclrtArgsHandle handle, aclrtParamHandle which, void* value, size_t size) {
  REQUIRE(value);
  FIND(Arguments, arguments, find_arguments, __func__, handle);
  Parameter* parameter = parameter_of(*arguments, which);
  RT_INVALID_IF(!parameter || parameter->held, "the parameter is not a value of this list");
  RT_INVALID_IF(size != parameter->value.size(), "%zu bytes; the parameter has %zu", size, parameter->value.size());
  memcpy(parameter->value.data(), value, size);
  arguments->finished = false;
  return ACL_SUCCESS;
}
SIM_API aclError aclrtKernelArgsFinalize(aclrtArgsHandle handle) {
  FIND(Arguments, arguments, find_arguments, __func__, handle);
  arguments->finished = true;
  return ACL_SUCCESS;
}

// ---- launches ----
SIM_API aclError aclrtLaunchKernelWithConfig(aclrtFuncHandle handle, uint32_t blocks, aclrtStream stream,
                                             aclrtLaunchKernelCfg* config, aclrtArgsHandle list, void*) {
  FIND(Function, function, find_handle, __func__, handle);
  FIND(Arguments, arguments, find_arguments, __func__, list);
  if (int code = check_config(__func__, config)) return code;
  RT_INVALID_IF(!arguments->finished, "aclrtKernelArgsFinalize was not called");
  Launch task{function, blocks, {}};
  for (const auto& parameter : arguments->parameters) {
    if (!parameter->held) {
      task.values.push_back(parameter->value);
      continue;
    }
    if (parameter->value.empty()) return RT_INVALID(__func__, "a placeholder has no buffer");
    std::shared_ptr<Block> block;
    if (int code = copied(__func__, parameter->value.data(), parameter->value.size(), &block)) return code;
    const auto* address = reinterpret_cast<const char*>(&block->memory);
    task.values.emplace_back(address, address + sizeof block->memory);
    task.memory.push_back(std::move(block));
  }
  return start(__func__, std::move(task), stream);
}

SIM_API aclError aclrtLaunchKernelV2(aclrtFuncHandle handle, uint32_t blocks, const void* arguments, size_t size,
                                     aclrtLaunchKernelCfg* config, aclrtStream stream) {
  FIND(Function, function, find_handle, __func__, handle);
  if (int code = check_config(__func__, config)) return code;
  if (!arguments && function->kernel->count) return missing(__func__, "argsData");
  return start(__func__, {function, blocks, {}, static_cast<const char*>(arguments), size}, stream);
}
SIM_API aclError aclrtLaunchKernel(aclrtFuncHandle handle, uint32_t blocks, const void* arguments, size_t size,
                                   aclrtStream stream) {
  return aclrtLaunchKernelV2(handle, blocks, arguments, size, nullptr, stream);
}

#ifdef OPHOOK_NEWER_ACL
SIM_API aclError aclrtLaunchKernelWithHostArgs(aclrtFuncHandle handle, uint32_t blocks, aclrtStream stream,
                                               aclrtLaunchKernelCfg* config, void* arguments, size_t size,
                                               aclrtPlaceHolderInfo* places, size_t count) {
  FIND(Function, function, find_handle, __func__, handle);
  if (int code = check_config(__func__, config)) return code;
  REQUIRE(arguments);
  if (count && !places) return missing(__func__, "placeHolderArray");
  RT_INVALID_IF(!size, "argsSize is 0");
  std::shared_ptr<Block> block;
  if (int code = copied(__func__, arguments, size, &block)) return code;
  auto* memory = static_cast<char*>(block->memory);
  for (size_t i = 0; i < count; ++i) {
    const aclrtPlaceHolderInfo& place = places[i];
    if (place.addrOffset + sizeof memory > size || place.dataOffset >= size)
      return RT_INVALID(__func__, "placeholder %zu (address at %u, data at %u) leaves the %zu bytes", i,
                        place.addrOffset, place.dataOffset, size);
    char* data = memory + place.dataOffset;
    sim_memory_open();
    memcpy(memory + place.addrOffset, &data, sizeof data);
    sim_memory_close();
  }
  Launch task{function, blocks, {}, memory, size};
  task.memory.push_back(std::move(block));
  return start(__func__, std::move(task), stream);
}
#endif

SIM_API aclError aclrtLaunchKernelWithArgsArray(void* handle, uint32_t blocks, aclrtStream stream,
                                                aclrtLaunchKernelCfg* config, void** arguments) {
  FIND(Function, function, find_handle, __func__, handle);
  if (int code = check_config(__func__, config)) return code;
  const ophook_binary_kernel& kernel = *function->kernel;
  if (!arguments && kernel.count) return missing(__func__, "args");
  Launch task{function, blocks, {}};
  for (size_t i = 0; i < kernel.count; ++i) {
    if (!arguments[i]) return missing(__func__, "an element of args");
    const auto* value = static_cast<const char*>(arguments[i]);
    task.values.emplace_back(value, value + kernel.sizes[i]);
  }
  return start(__func__, std::move(task), stream);
}

}  // extern "C"
}  // namespace sim::acl::kernels
