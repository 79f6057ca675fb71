// Writes what ran between aclprofStart and aclprofStop, as lines of JSON below a folder PROF_…, for the program msprof
// (ophook_npu/sim/msprof), which makes of it what CANN documents:
//
//   host/start_info  host/end_info     the times of both clocks, under CANN's names
//   host/sample.json                   what was asked for
//   host/data/calls.jsonl              calls of the host
//   device_N/data/tasks.jsonl          tasks of one device
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/sim.h"

namespace sim::prof {

// Of aclprofCreateConfig's dataTypeConfig what older headers do not name.
constexpr uint64_t kTaskTimeL0 = 0x0800, kTaskMemory = 0x1000, kTaskTimeL2 = 0x2000, kOperatorAttributes = 0x4000,
                   kTaskTimeL3 = 0x8000;

struct Asked {
  std::vector<int> devices;
  uint64_t data = 0;  // ACL_PROF_… of acl_prof.h
  int metrics = 0;
};

// A file of lines, written in large pieces, and never by a fork of this process.
class Lines {
 public:
  bool open(const std::string& path);
  void add(const std::string& line);
  bool close();  // whether all of it was written
  ~Lines() { close(); }

 private:
  void flush();
  int file_ = -1;
  bool whole_ = true;
  std::string path_, waiting_;
};

class Recorder {
 public:
  // Makes a folder below `result`; throws std::runtime_error with the reason.
  Recorder(const std::string& result, unsigned index, const Asked& asked);
  ~Recorder() { end(); }
  bool records(int device) const { return tasks_.count(device) != 0; }
  void add(int device);
  void task(const sim_task_run& run, const void* task);
  void call(const sim_call_made& made);
  bool end();  // false where something could not be written

  const std::string folder;
  const Asked asked;

 private:
  Lines calls_;
  std::map<int, Lines> tasks_;
  bool ended_ = false;
};

}  // namespace sim::prof
