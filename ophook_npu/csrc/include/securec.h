// The checked functions for memory and strings that CANN ships as libc_sec, by the published description of that
// library (openEuler's libboundscheck). Those for wide characters, and those
// that read a file or the terminal, are not implemented.
#ifndef OPHOOK_SECUREC_H
#define OPHOOK_SECUREC_H

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int errno_t;

#define EOK 0
// The destination was emptied before the function returned: EINVAL, ERANGE and 54, each with 128.
#define EINVAL_AND_RESET 150
#define ERANGE_AND_RESET 162
#define EOVERLAP_AND_RESET 182
// A capacity above these is ERANGE.
#define SECUREC_MEM_MAX_LEN 0x7fffffffUL
#define SECUREC_STRING_MAX_LEN 0x7fffffffUL

#ifdef __cplusplus
extern "C" {
#endif

errno_t memset_s(void* dest, size_t destMax, int c, size_t count);
errno_t memcpy_s(void* dest, size_t destMax, const void* src, size_t count);
errno_t memmove_s(void* dest, size_t destMax, const void* src, size_t count);
errno_t strcpy_s(char* strDest, size_t destMax, const char* strSrc);
errno_t strncpy_s(char* strDest, size_t destMax, const char* strSrc, size_t count);
errno_t strcat_s(char* strDest, size_t destMax, const char* strSrc);
errno_t strncat_s(char* strDest, size_t destMax, const char* strSrc, size_t count);
char* strtok_s(char* strToken, const char* strDelimit, char** context);

// The number of characters written; -1 where they do not fit, or for a wrong argument.
int vsprintf_s(char* strDest, size_t destMax, const char* format, va_list argList)
    __attribute__((format(printf, 3, 0)));
int sprintf_s(char* strDest, size_t destMax, const char* format, ...) __attribute__((format(printf, 3, 4)));
int vsnprintf_s(char* strDest, size_t destMax, size_t count, const char* format, va_list argList)
    __attribute__((format(printf, 4, 0)));
int snprintf_s(char* strDest, size_t destMax, size_t count, const char* format, ...)
    __attribute__((format(printf, 4, 5)));
// As these, but what does not fit is cut off: destMax - 1.
int vsnprintf_truncated_s(char* strDest, size_t destMax, const char* format, va_list argList)
    __attribute__((format(printf, 3, 0)));
int snprintf_truncated_s(char* strDest, size_t destMax, const char* format, ...) __attribute__((format(printf, 3, 4)));

// As sscanf, but behind the place for %c, %s and %[ comes its size in bytes. Where that is too small the place is
// emptied and -1 returned.
int vsscanf_s(const char* buffer, const char* format, va_list argList);
int sscanf_s(const char* buffer, const char* format, ...);

#ifdef __cplusplus
}
#endif
#endif
