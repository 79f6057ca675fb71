#include "caller.h"

#include "forever.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <execinfo.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace sim::order {
namespace {

constexpr int kDepth = 24;

// Python's own interface, as far as it is in the process: this library is not linked to it.
struct Python {
  template <typename F>
  static F find(const char* name) {
    return reinterpret_cast<F>(dlsym(RTLD_DEFAULT, name));
  }
  int (*initialized)() = find<int (*)()>("Py_IsInitialized");
  int (*finalizing)() = find<int (*)()>("Py_IsFinalizing");  // from 3.13 on
  int (*finalizing_before)() = find<int (*)()>("_Py_IsFinalizing");
  void* (*thread)() = find<void* (*)()>("PyGILState_GetThisThreadState");
  int (*lock)() = find<int (*)()>("PyGILState_Ensure");
  void (*unlock)(int) = find<void (*)(int)>("PyGILState_Release");
  void* (*frame)(void*) = find<void* (*)(void*)>("PyThreadState_GetFrame");
  void* (*back)(void*) = find<void* (*)(void*)>("PyFrame_GetBack");
  void* (*code)(void*) = find<void* (*)(void*)>("PyFrame_GetCode");
  int (*line)(void*) = find<int (*)(void*)>("PyFrame_GetLineNumber");
  int (*instruction)(void*) = find<int (*)(void*)>("PyFrame_GetLasti");  // from 3.11 on
  void (*release)(void*) = find<void (*)(void*)>("Py_DecRef");
  void* (*attribute)(void*, const char*) = find<void* (*)(void*, const char*)>("PyObject_GetAttrString");
  const char* (*text)(void*) = find<const char* (*)(void*)>("PyUnicode_AsUTF8");
  void (*clear)() = find<void (*)()>("PyErr_Clear");
  void* (*interpreter)() = find<void* (*)()>("PyInterpreterState_Get");
  void* (*first_thread)(void*) = find<void* (*)(void*)>("PyInterpreterState_ThreadHead");
  void* (*next_thread)(void*) = find<void* (*)(void*)>("PyThreadState_Next");

  bool here() const { return initialized && initialized(); }
  bool usable() const {
    if (!here() || !thread || !lock || !frame || !back || !code || !line || !attribute || !text) return false;
    const auto ends = finalizing ? finalizing : finalizing_before;
    return !(ends && ends()) && thread();
  }
  std::string of(void* object, const char* name) const {
    void* value = attribute(object, name);
    const char* found = value ? text(value) : nullptr;
    std::string copy = found ? found : "?";
    if (!value || !found) clear();
    if (value) release(value);
    return copy;
  }
};

// Places by what they are: a line of a code object, which is kept, so that no other gets its address; or an address.
struct Places {
  using Key = std::pair<const void*, int>;
  struct Hash {
    size_t operator()(const Key& key) const { return std::hash<const void*>()(key.first) * 31 + size_t(key.second); }
  };
  std::mutex mutex;
  std::map<Key, int> ids;
  std::unordered_map<Key, int, Hash> instructions;  // of code objects that are kept; Python searches for their lines
  std::vector<std::string> texts;
  std::vector<const void*> addresses;  // whose text is looked up when it is shown
};
Places& places() { return sim::forever<Places>(); }

// Both with the mutex held.
int known(const void* what, int line) {
  const auto found = places().ids.find({what, line});
  return found == places().ids.end() ? -1 : found->second;
}

int add(const void* what, int line, std::string text, const void* address) {
  const auto [at, added] = places().ids.try_emplace({what, line}, int(places().texts.size()));
  if (added) places().texts.push_back(std::move(text)), places().addresses.push_back(address);
  return at->second;
}

int place_of(const Python& python, void* frame) {
  void* code = python.code(frame);
  const int instruction = python.instruction ? python.instruction(frame) : -1;
  if (instruction >= 0) {
    const auto found = places().instructions.find({code, instruction});
    if (found != places().instructions.end()) {
      python.release(code);
      return found->second;
    }
  }
  const int line = python.line(frame);
  int place = known(code, line);
  if (place < 0) {
    place = add(code, line,
                python.of(code, "co_filename") + ":" + std::to_string(line) + " " + python.of(code, "co_qualname"),
                nullptr);
  } else {
    python.release(code);
  }
  if (instruction >= 0) places().instructions.emplace(Places::Key{code, instruction}, place);
  return place;
}

// The places of a thread, the innermost first. Python's lock and the mutex are held.
std::vector<int> frames_of(const Python& python, void* thread, int most = kDepth) {
  std::vector<int> frames;
  void* frame = python.frame(thread);
  for (int depth = 0; frame && depth < most; ++depth) {
    frames.push_back(place_of(python, frame));
    void* outer = python.back(frame);
    python.release(frame);
    frame = outer;
  }
  if (frame) python.release(frame);
  return frames;
}

constexpr const char* kBackward = "a thread of this backward pass";

// A thread of autograd has no frame of Python: those of the thread that waits for the backward pass, if one does, and
// behind them that it is so.
std::vector<int> who_went_backward(const Python& python) {
  std::vector<int> found;
  if (!python.interpreter || !python.first_thread || !python.next_thread) return found;
  for (void* one = python.first_thread(python.interpreter()); one; one = python.next_thread(one)) {
    const auto innermost = frames_of(python, one, 1);
    if (innermost.empty() || places().texts[size_t(innermost[0])].find("torch/autograd/graph.py:") == std::string::npos)
      continue;
    if (!found.empty()) return {};
    found = frames_of(python, one);
  }
  if (!found.empty()) found.push_back(add(kBackward, 0, kBackward, nullptr));
  return found;
}

Caller of_python(const Python& python) {
  Caller caller;
  const int held = python.lock();
  {
    std::lock_guard lock(places().mutex);
    caller.frames = frames_of(python, python.thread());
    if (caller.frames.empty()) caller.frames = who_went_backward(python);
  }
  python.unlock(held);
  return caller;
}

Caller of_cpp() {
  Caller caller;
  void* addresses[kDepth];
  const int count = backtrace(addresses, kDepth);
  std::lock_guard lock(places().mutex);
  for (int i = 2; i < count; ++i) {  // this function and who asks
    const int place = known(addresses[i], 0);
    caller.frames.push_back(place < 0 ? add(addresses[i], 0, "", addresses[i]) : place);
  }
  return caller;
}

std::string symbol(const void* address) {
  Dl_info info{};
  if (!dladdr(address, &info) || !info.dli_fname) return "";
  std::string file = info.dli_fname;
  char offset[32];  // for addr2line
  snprintf(offset, sizeof offset, "+0x%zx",
           size_t(static_cast<const char*>(address) - static_cast<char*>(info.dli_fbase)));
  file = file.substr(file.rfind('/') + 1) + offset;
  if (!info.dli_sname) return file;
  int status = 0;
  char* plain = abi::__cxa_demangle(info.dli_sname, nullptr, nullptr, &status);
  const std::string name = plain ? plain : info.dli_sname;
  std::free(plain);
  return file + " " + name;
}

bool of_the_field(const std::string& text) {  // torch's and the toolkit's own code, and Python's
  for (const char* part : {"/torch/", "/torch_npu/", "/torchair/", "libascendcl", "libopapi", "libophook_sim",
                           "libhccl", "libnnopbase", "libc.so", "<frozen"})
    if (text.find(part) != std::string::npos) return true;
  return false;
}

}  // namespace

Caller whoever_calls() {
  static const Python python;
  if (!python.here()) return of_cpp();
  return python.usable() ? of_python(python) : Caller{};
}

std::vector<std::string> shown(const Caller& caller) {
  std::vector<std::string> all, own;
  bool backward = false;
  for (const int frame : caller.frames) {
    std::string text;
    const void* address = nullptr;
    {
      std::lock_guard lock(places().mutex);
      text = places().texts[size_t(frame)];
      address = places().addresses[size_t(frame)];
    }
    if (address) text = symbol(address);
    backward |= text == kBackward;
    if (text.empty() || text == kBackward) continue;
    all.push_back(text);
    if (!of_the_field(text)) own.push_back(text);
  }
  auto& best = own.empty() ? all : own;
  if (best.size() > 3) best.resize(3);
  if (backward) best.push_back(kBackward);
  if (best.empty()) best.push_back("called by a thread of C++, as in a backward pass");
  return best;
}

}  // namespace sim::order
