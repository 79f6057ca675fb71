#include "log.h"
#include "state.h"

#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <map>
#include <mutex>
#include <string>

namespace {

constexpr long kLargest = 20 << 20;  // bytes of a file
constexpr int kFiles = 10;           // of one process
constexpr const char* kLevels[] = {"DEBUG", "INFO", "WARNING", "ERROR"};
constexpr const char* kMyself = "[simulated Ascend] the log: ";

// A whole number of the range, or the other one where it is none.
int number(const char* text, int least, int most, int otherwise) {
  if (!text || !*text) return otherwise;
  char* end = nullptr;
  const long value = strtol(text, &end, 10);
  return *end || value < least || value > most ? otherwise : int(value);
}

std::string now(const char* form) {
  const auto time = std::chrono::system_clock::now();
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm parts{};
  localtime_r(&seconds, &parts);
  char text[40];
  strftime(text, sizeof text, form, &parts);
  return text;
}
long microseconds() {
  return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch())
             .count() %
         1000000;
}

struct Log {
  std::mutex mutex;
  bool printed = sim::switched_on("ASCEND_LOG_PRINT_TO_STDOUT") ||
                 sim::switched_on("ASCEND_SLOG_PRINT_TO_STDOUT");  // the second is older
  int level = number(getenv("ASCEND_GLOBAL_LOG_LEVEL"), sim_log_debug, sim_log_error + 1, sim_log_error);
  std::map<std::string, int, std::less<>> levels = modules();
  std::string folder = where();
  std::atomic<bool> written{printed || !folder.empty()};
  FILE* file = nullptr;
  pid_t process = 0;  // whose file it is
  std::deque<std::string> files;

  // "GE=0:RUNTIME=1"; with anything else in it the whole is as if it were not set.
  static std::map<std::string, int, std::less<>> modules() {
    std::map<std::string, int, std::less<>> found;
    const char* text = getenv("ASCEND_MODULE_LOG_LEVEL");
    for (std::string rest = text ? text : ""; !rest.empty();) {
      const size_t equals = rest.find('='), end = rest.find(':');
      const std::string value = equals < end ? rest.substr(equals + 1, end - equals - 1) : "";
      const int one = number(value.c_str(), sim_log_debug, sim_log_error + 1, -1);
      if (one < 0 || rest.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") != equals) return {};
      found[rest.substr(0, equals)] = one;
      rest = end == std::string::npos ? "" : rest.substr(end + 1);
    }
    return found;
  }
  static std::string where() {
    const char* own = getenv("ASCEND_PROCESS_LOG_PATH");
    if (own && *own) return std::string(own) + "/debug/plog";
    const char* work = getenv("ASCEND_WORK_PATH");
    return work && *work ? std::string(work) + "/log/debug/plog" : "";
  }

  // A file for this process with room in it; null, said once, where there can be none.
  FILE* open() {
    if (file && process == getpid() && ftell(file) < kLargest) return file;
    if (file) fclose(file);
    if (process != getpid()) files.clear(), process = getpid();
    for (size_t slash = folder.find('/', 1);; slash = folder.find('/', slash + 1)) {
      mkdir(folder.substr(0, slash).c_str(), 0750);
      if (slash == std::string::npos) break;
    }
    char time[40];
    snprintf(time, sizeof time, "%s%03ld", now("%Y%m%d%H%M%S").c_str(), microseconds() / 1000);
    files.push_back(folder + "/plog-" + std::to_string(process) + "_" + time + ".log");
    file = fopen(files.back().c_str(), "ae");
    if (!file) {
      fprintf(stderr, "%s%s: %s; nothing is written\n", kMyself, files.back().c_str(), strerror(errno));
      written = false;
      return nullptr;
    }
    if (files.size() > size_t(number(getenv("ASCEND_HOST_LOG_FILE_NUM"), 1, 1000, kFiles))) {
      remove(files.front().c_str());
      files.pop_front();
    }
    return file;
  }
};

Log& log() {
  static Log* one = new Log;  // never freed: threads may write until the process ends
  return *one;
}

}  // namespace

int sim_log_wanted(const char* module, int level) {
  const Log& here = log();
  if (!here.written) return 0;
  const auto own = here.levels.find(module);
  return level >= (own == here.levels.end() ? here.level : own->second);
}

void sim_log(const char* module, int level, const char* place, const char* text) {
  if (!sim_log_wanted(module, level)) return;
  Log& here = log();
  std::lock_guard lock(here.mutex);
  FILE* to = here.printed ? stdout : here.open();
  if (!to) return;
  const long part = microseconds();
  fprintf(to, "[%s] %s(%d,%s):%s.%03ld.%03ld [%s]%s\n", level >= 0 && level <= sim_log_error ? kLevels[level] : "?",
          module, int(getpid()), program_invocation_short_name, now("%Y-%m-%d-%H:%M:%S").c_str(), part / 1000,
          part % 1000, place, text);
  if (fflush(to) && !here.printed) {
    fprintf(stderr, "%s%s: %s; nothing more is written\n", kMyself, here.files.back().c_str(), strerror(errno));
    here.written = false;
  }
}

void sim_log_task(const char* name, int stream, int device) {
  if (!sim_log_wanted("RUNTIME", sim_log_info)) return;
  char text[160];
  snprintf(text, sizeof text, "task %.100s on stream %d of device %d", name, stream, device);
  sim_log("RUNTIME", sim_log_info, "simulated Ascend", text);
}
