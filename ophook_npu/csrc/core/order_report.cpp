// What the check of order tells: each two places of a program when they are found, and how often at the end.
#include <unistd.h>

#include <cstdlib>

#include "lines.h"
#include "order_state.h"
#include "order_api.h"

namespace sim::order {
namespace {

std::string line_name(const Access& access) {
  return access.stream < 0 ? "the host" : "stream " + std::to_string(access.stream);
}

std::string shape(const Access& access) {
  if (access.item == 1 && access.sizes.size() == 1)
    return std::to_string(access.sizes[0]) + (access.sizes[0] == 1 ? " byte" : " bytes");
  std::string text;
  for (const int64_t size : access.sizes) text += (text.empty() ? "" : ", ") + std::to_string(size);
  return "[" + text + "], elements of " + std::to_string(access.item) + " bytes";
}

std::vector<std::string> frames(const Access& access) { return shown(state().by_number[size_t(access.caller)]); }

std::string told(const char* which, const Access& access) {
  std::string text = std::string("  ") + which + ": " + access.task +
                     (access.stream >= 0        ? " on " + line_name(access)
                      : access.task == kOwnCode ? ""
                                                : " of the host") +
                     " " + (access.writes ? "writes " : "reads ") + shape(access) + "\n";
  for (const std::string& frame : frames(access)) text += "    " + frame + "\n";
  return text;
}

// The line of Python that called, as "train.py:8"; empty where it is none.
std::string python_line(const Access& access) {
  const auto from = frames(access);
  const std::string at = from.empty() ? "" : from.front().substr(0, from.front().find(' '));
  const size_t colon = at.rfind(':');
  return colon == std::string::npos || colon + 1 == at.size() ? "" : at.substr(at.rfind('/') + 1);
}

// Where, and what it takes to order the two: in torch's words where both are lines of Python.
std::string advice(const Access& first, const Access& second) {
  if (first.stream < 0) return "";  // nothing the host did is unordered with what it launches later
  const std::string one = line_name(first), at = python_line(first), before = python_line(second);
  const bool python = !at.empty() && !before.empty();
  const std::string task = python ? std::string(first.task) + " (" + at + ")" : first.task;
  if (second.stream < 0 || first.stream == second.stream) {
    const std::string why = second.stream < 0 ? "" : "; a pinned copy is taken to run beside the kernels of its stream";
    if (python) return "before " + before + ": `event.synchronize()`, where `event.record()` follows " + task + why;
    return "synchronize " + one + ", or an event recorded on it after " + task + ", before " + second.task + why;
  }
  std::string text = python ? "before " + before + ": `torch.npu.current_stream().wait_stream(s)`, s being " + one +
                                  ", which runs " + task
                            : "let " + line_name(second) + " wait for an event that " + one + " records after " + task;
  if (python && std::string_view(first.task).starts_with("Hccl"))
    text = "before " + before + ": `work.wait()` on the stream of " + second.task + ", work being what " + at +
           " gave; or `wait_stream` of a stream that waited for it";
  if (second.writes && python)
    text += "; where the tensor of " + at +
            " was freed and its memory given to another: `tensor.record_stream(s)` before that";
  return text;
}

std::string json(const Access& access) {
  std::string from;
  for (const std::string& frame : frames(access)) from += (from.empty() ? "" : ", ") + quoted(frame);
  return "{\"task\": " + quoted(access.task) + ", \"stream\": " + std::to_string(access.stream) +
         ", \"writes\": " + (access.writes ? "true" : "false") + ", \"from\": [" + from + "]}";
}

std::string place(const Access& access) {
  const auto from = frames(access);
  return std::string(access.task) + (from.empty() ? "" : " at " + from.front());
}

std::string race(int number) { return quoted(std::to_string(getpid()) + "." + std::to_string(number)); }

const char* report() { return getenv("OPHOOK_SIM_ORDER_REPORT"); }

// A number for a race that is told of now; at the end of the process it is said how often it was seen.
int next_race(State& all) {
  static const bool at_end = [] {
    return std::atexit([] {
             std::lock_guard lock(state().mutex);
             tell_counts(state());
           }) == 0;
  }();
  (void)at_end;
  return ++all.races;
}

}  // namespace

void note(State& all, const std::string& text) {
  if (all.noted.insert(text).second) write_all(2, "[simulated Ascend] order: " + text + "\n");
}

void tell(State& all, const Access& first, const Access& second, uintptr_t begin, uintptr_t end, bool in_graph,
          bool outside_of_capture, const Access* made) {
  const Kind kind{first.task, second.task, first.writes, second.writes, first.caller, second.caller};
  const auto [known, added] = all.told.try_emplace(kind);
  ++known->second.count;
  if (!added) return;
  known->second.number = next_race(all);
  known->second.first = place(first), known->second.second = place(second);
  const char* what = first.writes ? second.writes ? "write and write" : "write and read" : "read and write";
  std::string missing = advice(first, second);
  std::string title = std::string(what) + " of the same memory, and nothing orders them" +
                      (in_graph ? ", in every replay of a captured graph" : "");
  if (outside_of_capture) {
    what = "outside of a capture";
    const Access& lost = in_graph ? first : second;
    title = std::string(lost.task) + " on " + line_name(lost) + " runs now and in no replay: " + line_name(lost) +
            " is not captured, and the capture has the same memory";
    missing = "let " + line_name(lost) + " wait for an event of the captured stream before " + lost.task +
              ", and the captured stream for one of " + line_name(lost) + " after it (in torch: wait_stream, twice)";
  }
  std::string where = sim_memory_text(reinterpret_cast<void*>(begin), end - begin);
  if (made && made != &first && made != &second) where += "; what lies there was made by " + place(*made);
  std::string text = "[simulated Ascend] order: " + title + "\n" + told("first", first) + told("second", second) +
                     "  memory: " + where + "\n";
  if (!missing.empty()) text += "  next: " + missing + "\n";
  write_all(2, text);
  if (const char* path = report())
    append(path, "{\"race\": " + race(known->second.number) + ", \"kind\": " + quoted(what) + ", \"graph\": " +
                     (in_graph ? "true" : "false") + ", \"first\": " + json(first) + ", \"second\": " + json(second) +
                     ", \"memory\": " + quoted(where) + ", \"missing\": " + quoted(missing) + "}\n");
}

void tell_counts(State& all) {
  for (auto& [kind, told] : all.told) {
    if (told.count < 2) continue;
    const std::string count = std::to_string(told.count);
    write_all(2, "[simulated Ascend] order: seen " + count + " times: " + told.first + ", and " + told.second + "\n");
    if (const char* path = report()) append(path, "{\"race\": " + race(told.number) + ", \"count\": " + count + "}\n");
  }
  all.told.clear();
}

}  // namespace sim::order

using namespace sim;

void sim_order_tell(const char* kind, const char* first, const char* first_at, const char* second,
                    const char* second_at, const char* where, const char* missing) {
  const auto frames = order::shown(order::whoever_calls());
  const std::string here = frames.empty() ? "" : frames.front();
  if (!first_at) first_at = here.c_str();
  order::State& all = order::state();
  std::lock_guard lock(all.mutex);
  const auto at = [](const char* task, const char* place) {
    const std::string from = *place ? quoted(place) : "";
    return "{\"task\": " + quoted(task) + ", \"stream\": -1, \"writes\": true, \"from\": [" + from + "]}";
  };
  const auto shown = [](const char* which, const char* task, const char* place) {
    return std::string("  ") + which + ": " + task + "\n" + (*place ? std::string("    ") + place + "\n" : "");
  };
  write_all(2, std::string("[simulated Ascend] order: ") + kind + "\n" + shown("first", first, first_at) +
                   shown("second", second, second_at) + "  where: " + where + "\n  next: " + missing + "\n");
  if (const char* path = order::report())
    append(path, "{\"race\": " + order::race(order::next_race(all)) + ", \"kind\": " + quoted(kind) +
                     ", \"graph\": false, \"first\": " + at(first, first_at) +
                     ", \"second\": " + at(second, second_at) + ", \"memory\": " + quoted(where) +
                     ", \"missing\": " + quoted(missing) + "}\n");
}
