// The bounds-checked string functions that torchair expects CANN's libraries to bring along (C11 Annex K style).
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#define SECUREC_API extern "C" __attribute__((visibility("default")))

SECUREC_API int strcpy_s(char* to, size_t capacity, const char* from) {
  if (!to || capacity == 0) return EINVAL;
  if (!from) {
    to[0] = 0;
    return EINVAL;
  }
  size_t length = std::strlen(from);
  if (length >= capacity) {
    to[0] = 0;
    return ERANGE;
  }
  std::memmove(to, from, length + 1);
  return 0;
}

// Returns the number of characters, or -1 with an empty string where they do not fit.
SECUREC_API int vsnprintf_s(char* to, size_t capacity, size_t count, const char* format, va_list arguments) {
  if (!to || !format || capacity == 0) return -1;
  int length = std::vsnprintf(to, capacity, format, arguments);
  if (length < 0) {
    to[0] = 0;
    return -1;
  }
  if (static_cast<size_t>(length) <= count && static_cast<size_t>(length) < capacity) return length;
  if (count < capacity) to[count] = 0;  // cut at `count`, which is not an error of the destination but still told as -1
  else to[0] = 0;
  return -1;
}

SECUREC_API int snprintf_s(char* to, size_t capacity, size_t count, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf_s(to, capacity, count, format, arguments);
  va_end(arguments);
  return length;
}
