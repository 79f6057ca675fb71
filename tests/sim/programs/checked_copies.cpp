// libc_sec as its description has it: results, and what is left in the destination.
#include <cstdio>
#include <cstring>

#include "securec.h"

static int failures = 0;
static void is(const char* what, long found, long wanted) {
  if (found != wanted) std::printf("%s: %ld, wanted %ld\n", what, found, wanted), ++failures;
}

int main() {
  char a[8] = "abcdefg", b[4];
  is("copy", memcpy_s(b, 4, a, 4), EOK);
  is("copied", b[3], 'd');
  is("too much", memcpy_s(b, 4, a, 5), ERANGE_AND_RESET);
  is("emptied", b[0] | b[3], 0);
  is("no source", memcpy_s(b, 4, nullptr, 1), EINVAL_AND_RESET);
  is("no destination", memcpy_s(nullptr, 4, a, 1), EINVAL);
  is("no room", memcpy_s(b, 0, a, 0), ERANGE);
  is("beyond the maximum", memcpy_s(b, SECUREC_MEM_MAX_LEN + 1, a, 0), ERANGE);
  is("overlap", memcpy_s(a + 1, 4, a, 3), EOVERLAP_AND_RESET);
  is("left alone before it", a[0], 'a');
  is("emptied after it", a[1] | a[4], 0);
  char c[8] = "abcdefg";
  is("move", memmove_s(c + 1, 7, c, 3), EOK);
  is("moved", std::strncmp(c, "aabcefg", 8), 0);
  is("set", memset_s(c, 8, 'x', 9), ERANGE_AND_RESET);
  is("set as far as it goes", c[7], 'x');
  is("no string to append to", strcat_s(c, 8, "y"), EINVAL_AND_RESET);
  is("string", strcpy_s(c, 8, "1234567"), EOK);
  is("one more", strcpy_s(c, 8, "12345678"), ERANGE_AND_RESET);
  is("part of a string", strncpy_s(c, 8, "12345678", 7), EOK);
  is("full", strcat_s(c, 8, "8"), ERANGE_AND_RESET);
  is("append", strcpy_s(c, 8, "ab") | strncat_s(c, 8, "cdef", 2), EOK);
  is("appended", std::strcmp(c, "abcd"), 0);
  is("a part of itself", strcat_s(c, 8, c + 2), EOVERLAP_AND_RESET);
  is("print", sprintf_s(c, 8, "%d", 1234567), 7);
  is("too long", sprintf_s(c, 8, "%s", "12345678"), -1);
  is("emptied", c[0], 0);
  is("cut", snprintf_s(c, 8, 3, "%d", 12345), -1);
  is("left", std::strcmp(c, "123"), 0);
  is("truncated", snprintf_truncated_s(c, 4, "%d", 12345), 3);
  char list[] = "a,b", *rest = nullptr;
  is("first", strtok_s(list, ",", &rest)[0], 'a');
  is("second", strtok_s(nullptr, ",", &rest)[0], 'b');
  is("end", strtok_s(nullptr, ",", &rest) == nullptr, 1);
  int number = 0, at = 0;
  char word[6] = "?", one = 0;
  is("read", sscanf_s("12 abcde!x", "%d %5[^!]%*c%c%n", &number, word, 6u, &one, 1u, &at), 3);
  is("number", number, 12), is("word", std::strcmp(word, "abcde"), 0), is("character", one, 'x'), is("place", at, 10);
  is("no room", sscanf_s("abcdef", "%s", word, 6u), -1), is("emptied by it", word[0], 0);
  is("no match", sscanf_s("x", "%d", &number), 0), is("nothing to read", sscanf_s("", "%d", &number), -1);
  std::printf("%d failures\n", failures);
  return failures;
}
