// A string that is the same in objects of g++'s older std::string and of its newer one: a program and an operator's
// library, which may have one each, hand contexts and what is registered to each other.
#pragma once

#include <cstring>
#include <string>
#include <vector>

// The registry of a program exports it (libopp_registry.so); that in an operator's library is the library's own.
#ifdef OPHOOK_PROGRAM_REGISTRY
#define OPHOOK_REGISTRY __attribute__((visibility("default")))
#else
#define OPHOOK_REGISTRY
#endif

namespace ophook::host {

class Text {
 public:
  Text() = default;
  Text(const char* text) {
    if (text) chars_.assign(text, text + std::strlen(text) + 1);
  }
  Text(const std::string& text) : Text(text.c_str()) {}
  operator std::string() const { return c_str(); }
  const char* c_str() const { return chars_.empty() ? "" : chars_.data(); }
  bool empty() const { return *c_str() == 0; }
  bool begins(const char* with) const { return std::strncmp(c_str(), with, std::strlen(with)) == 0; }
  bool operator==(const char* other) const { return std::strcmp(c_str(), other) == 0; }
  bool operator==(const Text& other) const { return *this == other.c_str(); }
  friend std::string operator+(const std::string& a, const Text& b) { return a + b.c_str(); }
  friend std::string operator+(const Text& a, const std::string& b) { return a.c_str() + b; }

 private:
  std::vector<char> chars_;  // with the 0 behind them
};

}  // namespace ophook::host
