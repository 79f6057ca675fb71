// What stands for a device's server of communication (AI CPU): it carries out the tasks of a group in the order in
// which they were prepared, each round once it was committed, on a thread of its own. What a round sends is what lies
// in the send buffer at Commit; what it receives is there when a core has waited for it. So a missing Wait, or a Commit
// that comes too early, gives the same wrong numbers in every run.
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "ascendc/hccl.h"
#include "core.h"

namespace ophook::rt::comm {

constexpr uint32_t kAny = 0, kA2 = 2, kA3 = 3, k950 = 950;  // ascendc_group::product
constexpr int kWindow = 7;                                  // Argument::role: memory that other ranks write

struct Part {  // of a buffer, in elements
  uint64_t at, count;
};
using Parts = std::vector<Part>;

struct Copy {  // of BatchWrite
  std::vector<uint8_t> bytes;
  uint8_t* to;
};

struct CommTask {
  HcclTask asked;
  const char* call;
  At at{nullptr, 0};
  int core;                                                    // that prepared it
  std::vector<uint64_t> sent, sent_at, received, received_at;  // of AlltoAllV
  bool skips_own = false, silent = false;                      // SetSkipLocalRankCopy(1), SetDebugMode(1)
  int committed = 0, handed = 0, finished = 0;                 // rounds
  std::deque<std::vector<uint8_t>> kept;                       // what committed rounds send that were not handed over
  std::vector<Copy> copies;                                    // of BatchWrite
  const CommTask* after = nullptr;                             // InterHcclGroupSync
  bool over() const { return finished == asked.repeat; }
};

class Server {
 public:
  Server(const ascendc_wires* wires, const void* context) : wires_(wires), context_(context) {}
  ~Server();
  struct Round {
    CommTask* task;
    std::vector<uint8_t> from, to;
  };
  void hand(Round round);
  bool take(Round* over);            // the next round that is over, if there is one
  bool busy();                       // it works, or what it has done was not taken
  bool rest(unsigned milliseconds);  // until something is over, or so long; false: nothing is under way
  std::string failure();

 private:
  void serve();
  const ascendc_wires* wires_;
  const void* context_;
  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Round> todo_, over_;
  bool works_ = false, ends_ = false;
  std::string failed_;
};

// A group from InitV2 to Finalize.
struct Group {
  Group(const ascendc_wires* wires, const void* of) : context(of), server(wires, of) {}
  const void* context;
  ascendc_group told{};
  std::deque<CommTask> tasks;       // by handle: one that comes later moves none
  const CommTask* after = nullptr;  // InterHcclGroupSync: of all tasks from now on
  int calls = 0;                    // that the limit of prepared tasks counts
  int poster = -1, finalized_by = -1;
  struct Waited {
    uint32_t seq;
    int phase;
  };
  std::map<int, Waited> waits;  // by core: its last Wait
  std::set<int> cores;          // that have an Hccl object of it
  Server server;
};

struct Communication {
  const ascendc_wires* wires;
  std::vector<const void*> contexts;
  std::deque<Group> groups;
  std::string failed;      // why the ranks could not communicate
  uint32_t patience = 60;  // seconds that a core looks at memory that no rank changes
};
Communication& communication(Launch& launch);  // made where it is asked for first

uint32_t element_size(uint32_t dtype);  // of HcclDataType; 0: it has none here
Parts sent_parts(const CommTask& task, int round, const ascendc_group& group);
Parts received_parts(const CommTask& task, int round, const ascendc_group& group);

// Hands committed rounds to the servers and takes what is over. `idle`: no core can run, so it waits a moment; false:
// it would wait for nothing.
bool serve(Launch& launch, bool idle);
// Behind the last core: lets the servers end, and reports what was left open.
void end_communication(Launch& launch);
// Whether memory lies in the window of a rank.
bool in_window(Core& c, const uint8_t* data);
// Before a core looks at memory that other ranks write: other cores run meanwhile if nothing has changed since this
// core looked last.
void looks_at(Core& c, const char* call, const uint8_t* data, uint64_t bytes, At at);

}  // namespace ophook::rt::comm
