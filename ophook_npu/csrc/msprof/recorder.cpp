#include "msprof/recorder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <random>
#include <stdexcept>

#include "acl/acl_prof.h"
#include "core/fault.h"
#include "core/lines.h"
#include "core/observe.h"

namespace sim::prof {
namespace {

// Any of these asks for tasks.
constexpr uint64_t kTasks = ACL_PROF_TASK_TIME | kTaskTimeL0 | kTaskTimeL2 | kTaskTimeL3 | kOperatorAttributes;

[[noreturn]] void cannot(const char* what, const std::string& path) {
  throw std::runtime_error(std::string(what) + " " + path + ": " + strerror(errno));
}

void make_folder(const std::string& path) {
  if (mkdir(path.c_str(), 0750) && errno != EEXIST) cannot("cannot make the folder", path);
}

void write(const std::string& path, const std::string& text) {
  FILE* file = fopen(path.c_str(), "w");
  if (!file) cannot("cannot write", path);
  const bool whole = !sim_fault_disk(path.c_str()) && fputs(text.c_str(), file) >= 0;
  if (fclose(file) || !whole) cannot("cannot write", path);
}

std::string date(uint64_t ns, const char* format) {
  const auto seconds = time_t(ns / 1000000000u);
  tm local;
  char text[64];
  strftime(text, sizeof text, format, localtime_r(&seconds, &local));
  return text;
}

// As CANN names them: PROF_, a number, the time to milliseconds, and letters that tell processes apart.
std::string folder_name(unsigned index) {
  const uint64_t now = nanoseconds(CLOCK_REALTIME);
  char text[64];
  snprintf(text, sizeof text, "PROF_%06u_%s%03u_", index, date(now, "%Y%m%d%H%M%S").c_str(),
           unsigned(now / 1000000u % 1000u));
  std::random_device random;
  std::string name = text;
  for (int i = 0; i < 16; ++i) name += char('A' + random() % 26);
  return name;
}

// Both clocks at one moment: whole microseconds of the one, and what the other showed then.
std::string moment(const char* when) {
  const uint64_t raw = nanoseconds(CLOCK_MONOTONIC_RAW), real = nanoseconds(CLOCK_REALTIME);
  const std::string date_text = date(real, "%Y-%m-%d %H:%M:%S");
  char text[256];
  snprintf(text, sizeof text,
           "{\"collectionTime%s\": \"%llu\", \"collectionDate%s\": \"%s.%06u\", \"clockMonotonicRaw\": \"%llu\"}\n",
           when, (unsigned long long)(real / 1000u), when, date_text.c_str(), unsigned(real / 1000u % 1000000u),
           (unsigned long long)(raw - real % 1000u));
  return text;
}

struct Told : sim_listener {
  Told() : sim_listener{} {  // what is not set is not asked for
    type = [](sim_listener* self, const char* text) { static_cast<Told*>(self)->line("type", quoted(text)); };
    node = [](sim_listener* self, const char* text) { static_cast<Told*>(self)->line("node", quoted(text)); };
    tensor = [](sim_listener* self, int is_output, int dtype, const int64_t* dims, size_t rank) {
      std::string& list = static_cast<Told*>(self)->tensors[is_output ? 1 : 0];
      list += list.empty() ? "[" : ",[";
      list += std::to_string(dtype);
      for (size_t i = 0; i < rank; ++i) list += "," + std::to_string(dims[i]);
      list += "]";
    };
  }
  void line(const char* key, const std::string& value) { text += std::string(",\"") + key + "\":" + value; }
  std::string text, tensors[2];
};

}  // namespace

bool Lines::open(const std::string& path) {
  path_ = path;
  file_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);
  return file_ >= 0;
}

void Lines::add(const std::string& line) {
  waiting_ += line;
  if (waiting_.size() > 1 << 20) flush();
}

void Lines::flush() {
  size_t done = 0;
  if (!waiting_.empty() && sim_fault_disk(path_.c_str())) {
    whole_ = false;
    waiting_.resize(waiting_.size() / 2);  // what there was room for
  }
  while (done < waiting_.size()) {
    const ssize_t now = ::write(file_, waiting_.data() + done, waiting_.size() - done);
    if (now < 0 && errno == EINTR) continue;
    if (now < 0) {
      whole_ = false;
      break;
    }
    done += size_t(now);
  }
  waiting_.clear();
}

bool Lines::close() {
  if (file_ < 0) return whole_;
  flush();
  if (::close(file_)) whole_ = false;
  file_ = -1;
  return whole_;
}

Recorder::Recorder(const std::string& result, unsigned index, const Asked& what)
    : folder(result + "/" + folder_name(index)), asked(what) {
  make_folder(folder);
  make_folder(folder + "/host");
  make_folder(folder + "/host/data");
  std::string devices;
  for (int device : asked.devices) {
    add(device);
    devices += (devices.empty() ? "" : ", ") + std::to_string(device);
  }
  const sim_soc* soc = sim_current_soc();
  write(folder + "/host/sample.json",
        "{\"devices\": [" + devices + "], \"dataTypeConfig\": " + std::to_string(asked.data) +
            ", \"aicoreMetrics\": " + std::to_string(asked.metrics) + ", \"pid\": " + std::to_string(getpid()) +
            ", \"soc\": " + quoted(soc ? soc->name : "") + "}\n");
  if (!calls_.open(folder + "/host/data/calls.jsonl")) cannot("cannot write", folder + "/host/data/calls.jsonl");
  write(folder + "/host/start_info", moment("Begin"));
}

void Recorder::add(int device) {
  const std::string own = folder + "/device_" + std::to_string(device), file = own + "/data/tasks.jsonl";
  make_folder(own);
  make_folder(own + "/data");
  if (!tasks_[device].open(file)) cannot("cannot write", file);
}

void Recorder::task(const sim_task_run& run, const void* task) {
  if (!(asked.data & kTasks)) return;
  Told told;
  told.line("name", quoted(run.name));
  sim_task_tell(task, &told);
  for (int side = 0; side < 2; ++side)
    if (!told.tensors[side].empty()) told.line(side ? "out" : "in", "[" + told.tensors[side] + "]");
  char numbers[400];
  snprintf(numbers, sizeof numbers,
           "{\"kind\":%d,\"stream\":%d,\"task\":%u,\"model\":%u,\"connection\":%llu,\"launched\":%llu,\"thread\":%u,"
           "\"begin\":%llu,\"end\":%llu,\"failed\":%d",
           int(run.kind), run.stream, run.number, run.model, (unsigned long long)run.connection,
           (unsigned long long)run.launched_ns, run.thread, (unsigned long long)run.begin_ns,
           (unsigned long long)run.end_ns, run.failed);
  tasks_.at(run.device).add(numbers + told.text + "}\n");
}

void Recorder::call(const sim_call_made& made) {
  if (!(asked.data & ACL_PROF_ACL_API)) return;
  char numbers[256];
  snprintf(numbers, sizeof numbers,
           "{\"level\":\"%s\",\"connection\":%llu,\"begin\":%llu,\"end\":%llu,\"thread\":%u,\"name\":",
           made.level == sim_level_acl ? "acl" : "node", (unsigned long long)made.connection,
           (unsigned long long)made.begin_ns, (unsigned long long)made.end_ns, made.thread);
  calls_.add(numbers + quoted(made.name) + "}\n");
}

bool Recorder::end() {
  if (ended_) return true;
  ended_ = true;
  bool whole = calls_.close();
  for (auto& [device, lines] : tasks_) whole = lines.close() && whole;
  try {
    write(folder + "/host/end_info", moment("End"));
  } catch (const std::exception&) {
    whole = false;
  }
  return whole;
}

}  // namespace sim::prof
