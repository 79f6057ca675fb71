// What the benchmarks of C functions share.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "acl/acl.h"

// Processor time of all threads, in µs; CLOCK_THREAD_CPUTIME_ID: of this one.
inline double cpu_us(clockid_t clock = CLOCK_PROCESS_CPUTIME_ID) {
  timespec now;
  clock_gettime(clock, &now);
  return now.tv_sec * 1e6 + now.tv_nsec / 1e3;
}

// Ends the program with the reason, unless `code` is success.
inline void require(int code, const char* what) {
  if (!code) return;
  const char* reason = aclGetRecentErrMsg();
  fprintf(stderr, "%s: %d %s\n", what, code, reason ? reason : "");
  exit(1);
}
