// Programs of the toolkit that a library runs: files in a folder of their own, and what they say. For libraries of both
// ABIs of C++ strings, so all of it is inline.
#pragma once

#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern char** environ;

namespace sim::command {

// A folder that is gone with all in it when this is.
struct Folder {
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "ophook-XXXXXX").string();
    if (mkdtemp(name.data())) path = name;
  }
  ~Folder() {
    std::error_code ignored;
    if (!path.empty()) std::filesystem::remove_all(path, ignored);
  }
  std::filesystem::path path;
};

inline std::string read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
inline bool write(const std::filesystem::path& path, const std::string& text) {
  std::error_code ignored;
  std::filesystem::create_directories(path.parent_path(), ignored);
  return bool(std::ofstream(path, std::ios::binary) << text);
}

// The exit status of a command, -1 where it did not start; what it says goes into `log`.
inline int run(const std::vector<std::string>& command, const std::filesystem::path& log) {
  std::vector<char*> arguments;
  for (const auto& each : command) arguments.push_back(const_cast<char*>(each.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 1, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&files, 1, 2);
  pid_t child;
  const int failed = posix_spawn(&child, arguments[0], &files, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  if (failed) return -1;
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// A program in the toolkit's bin: "bisheng".
inline std::filesystem::path tool(const char* name) {
  Dl_info own;
  if (!dladdr(reinterpret_cast<const void*>(&tool), &own)) return {};
  return std::filesystem::absolute(own.dli_fname).parent_path().parent_path() / "bin" / name;
}

}  // namespace sim::command
