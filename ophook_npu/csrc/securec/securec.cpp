// libc_sec: functions of memory and strings that check the destination's size.
#include "../include/securec.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#define SECUREC_API extern "C" __attribute__((visibility("default")))

namespace {

bool overlap(const void* one, size_t length, const void* other, size_t size) {
  const auto a = reinterpret_cast<uintptr_t>(one), b = reinterpret_cast<uintptr_t>(other);
  return a < b ? b - a < length : a - b < size;
}

// What memcpy_s and memmove_s share; null where the bytes are to be copied.
errno_t checked(void* dest, size_t capacity, const void* src, size_t count) {
  if (capacity == 0 || capacity > SECUREC_MEM_MAX_LEN) return ERANGE;
  if (!dest) return EINVAL;
  if (!src || count > capacity) std::memset(dest, 0, capacity);
  return !src ? EINVAL_AND_RESET : count > capacity ? ERANGE_AND_RESET : EOK;
}

errno_t emptied(char* dest, errno_t code) {
  dest[0] = 0;
  return code;
}

// Writes the `count` first characters of `src`, or as many as there are, behind the `used` that dest has.
errno_t placed(char* dest, size_t used, size_t capacity, const char* src, size_t count) {
  const size_t length = strnlen(src, count);
  if (length >= capacity - used) return emptied(dest, ERANGE_AND_RESET);
  if (overlap(dest, used + length + 1, src, length + 1)) return emptied(dest, EOVERLAP_AND_RESET);
  std::memcpy(dest + used, src, length);
  dest[used + length] = 0;
  return EOK;
}

errno_t copied(char* dest, size_t capacity, const char* src, size_t count) {
  if (capacity == 0 || capacity > SECUREC_STRING_MAX_LEN) return ERANGE;
  if (!dest) return EINVAL;
  if (!src) return emptied(dest, EINVAL_AND_RESET);
  if (dest == src && strnlen(src, capacity) < capacity && std::strlen(src) <= count) return EOK;
  return placed(dest, 0, capacity, src, count);
}

errno_t appended(char* dest, size_t capacity, const char* src, size_t count) {
  if (capacity == 0 || capacity > SECUREC_STRING_MAX_LEN) return ERANGE;
  if (!dest) return EINVAL;
  if (!src) return emptied(dest, EINVAL_AND_RESET);
  const size_t used = strnlen(dest, capacity);
  if (used == capacity) return emptied(dest, EINVAL_AND_RESET);  // it is no string
  return placed(dest, used, capacity, src, count);
}

}  // namespace

SECUREC_API errno_t memset_s(void* dest, size_t capacity, int c, size_t count) {
  if (capacity == 0 || capacity > SECUREC_MEM_MAX_LEN) return ERANGE;
  if (!dest) return EINVAL;
  std::memset(dest, c, count < capacity ? count : capacity);
  return count > capacity ? ERANGE_AND_RESET : EOK;
}

SECUREC_API errno_t memcpy_s(void* dest, size_t capacity, const void* src, size_t count) {
  if (const errno_t code = checked(dest, capacity, src, count)) return code;
  if (dest == src) return EOK;
  if (overlap(dest, count, src, count)) {
    std::memset(dest, 0, capacity);
    return EOVERLAP_AND_RESET;
  }
  std::memcpy(dest, src, count);
  return EOK;
}

SECUREC_API errno_t memmove_s(void* dest, size_t capacity, const void* src, size_t count) {
  if (const errno_t code = checked(dest, capacity, src, count)) return code;
  std::memmove(dest, src, count);
  return EOK;
}

SECUREC_API errno_t strcpy_s(char* dest, size_t capacity, const char* src) {
  return copied(dest, capacity, src, SIZE_MAX);
}

SECUREC_API errno_t strncpy_s(char* dest, size_t capacity, const char* src, size_t count) {
  return copied(dest, capacity, src, count);
}

SECUREC_API errno_t strcat_s(char* dest, size_t capacity, const char* src) {
  return appended(dest, capacity, src, SIZE_MAX);
}

SECUREC_API errno_t strncat_s(char* dest, size_t capacity, const char* src, size_t count) {
  return appended(dest, capacity, src, count);
}

SECUREC_API char* strtok_s(char* token, const char* delimiters, char** context) {
  if (!delimiters || !context || (!token && !*context)) return nullptr;
  return strtok_r(token, delimiters, context);
}

SECUREC_API int vsnprintf_s(char* to, size_t capacity, size_t count, const char* format, va_list arguments) {
  if (!to || capacity == 0 || capacity > SECUREC_STRING_MAX_LEN) return -1;
  if (!format) return emptied(to, -1);
  const int length = std::vsnprintf(to, capacity, format, arguments);
  if (length < 0) return emptied(to, -1);
  if (static_cast<size_t>(length) <= count && static_cast<size_t>(length) < capacity) return length;
  // Cut where the caller asked for it, which is still told as -1; emptied where the destination is too small.
  to[count < capacity ? count : 0] = 0;
  return -1;
}

SECUREC_API int vsprintf_s(char* to, size_t capacity, const char* format, va_list arguments) {
  return vsnprintf_s(to, capacity, SIZE_MAX, format, arguments);
}

SECUREC_API int vsnprintf_truncated_s(char* to, size_t capacity, const char* format, va_list arguments) {
  if (!to || capacity == 0 || capacity > SECUREC_STRING_MAX_LEN) return -1;
  if (!format) return emptied(to, -1);
  const int length = std::vsnprintf(to, capacity, format, arguments);
  if (length < 0) return emptied(to, -1);
  return static_cast<size_t>(length) < capacity ? length : static_cast<int>(capacity) - 1;
}

#define OPHOOK_VARIADIC(call)  \
  va_list arguments;           \
  va_start(arguments, format); \
  const int length = call;     \
  va_end(arguments);           \
  return length

SECUREC_API int snprintf_s(char* to, size_t capacity, size_t count, const char* format, ...) {
  OPHOOK_VARIADIC(vsnprintf_s(to, capacity, count, format, arguments));
}

SECUREC_API int sprintf_s(char* to, size_t capacity, const char* format, ...) {
  OPHOOK_VARIADIC(vsprintf_s(to, capacity, format, arguments));
}

SECUREC_API int snprintf_truncated_s(char* to, size_t capacity, const char* format, ...) {
  OPHOOK_VARIADIC(vsnprintf_truncated_s(to, capacity, format, arguments));
}

namespace {

// The next part of a format, up to the first conversion that stores something, and what that is: 'n', 's' for text, 'c'
// for characters without an end, 'p' for all others, 0 behind the last.
struct Part {
  std::string text;
  char kind = 0;
  size_t width = 1;
};
Part next_part(const char*& format) {
  Part part;
  while (*format) {
    const char* const begin = format;
    if (*format++ != '%') {
      part.text += *begin;
      continue;
    }
    const bool stores = *format != '*' && *format != '%';
    format += *format == '*';
    char* end = nullptr;
    if (*format >= '0' && *format <= '9') part.width = std::strtoul(format, &end, 10), format = end;
    format += std::strspn(format, "hlLqjzt");
    const char conversion = *format;
    if (conversion) ++format;
    if (conversion == '[') {
      format += *format == '^';
      format += *format == ']';
      while (*format && *format != ']') ++format;
      if (*format) ++format;
    }
    part.text.append(begin, format);
    if (!stores) continue;
    part.kind = conversion == 'n' ? 'n' : conversion == 'c' ? 'c' : conversion == 's' || conversion == '[' ? 's' : 'p';
    break;
  }
  return part;
}

}  // namespace

SECUREC_API int vsscanf_s(const char* buffer, const char* format, va_list list) {
  if (!buffer || !format) return -1;
  int stored = 0;
  for (const char* rest = buffer;;) {
    Part part = next_part(format);
    if (!part.kind) return stored;
    void* const place = va_arg(list, void*);
    if (!place) return -1;
    if (part.kind == 'n') {
      int before = 0;
      part.text.erase(part.text.rfind('%'));
      std::sscanf(rest, (part.text + "%n").c_str(), &before);
      rest += before, *static_cast<int*>(place) = int(rest - buffer);
      continue;
    }
    const size_t size = part.kind == 'p' ? 0 : va_arg(list, unsigned);
    std::vector<char> text(part.kind == 'p' ? 0 : std::max(std::strlen(rest) + 1, part.width));
    int used = 0;
    const int found = std::sscanf(rest, (part.text + "%n").c_str(), part.kind == 'p' ? place : text.data(), &used);
    if (found < 1) return stored ? stored : found;
    if (part.kind != 'p') {
      const size_t needed = part.kind == 'c' ? part.width : std::strlen(text.data()) + 1;
      if (needed > size) {
        if (size) *static_cast<char*>(place) = 0;
        return -1;
      }
      std::memcpy(place, text.data(), needed);
    }
    rest += used, ++stored;
  }
}
SECUREC_API int sscanf_s(const char* buffer, const char* format, ...) {
  va_list list;
  va_start(list, format);
  const int stored = vsscanf_s(buffer, format, list);
  va_end(list);
  return stored;
}
