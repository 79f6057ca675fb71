#include "lines.h"

#include <fcntl.h>
#include <unistd.h>

namespace sim {

void write_all(int file, const std::string& text) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t wrote = write(file, text.data() + done, text.size() - done);
    if (wrote <= 0) return;
    done += size_t(wrote);
  }
}

void append(const char* path, const std::string& text) {
  const int file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0) return;
  write_all(file, text);
  close(file);
}

}  // namespace sim
