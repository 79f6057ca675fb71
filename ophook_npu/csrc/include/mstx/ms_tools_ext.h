// Marks and ranges for a tool that listens. None does on the simulated Ascend: as without a tool on hardware, calls
// return at once, and ranges have the number 0. `aclprofMark` and its like (acl/acl_prof.h) are in a profile.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef void* aclrtStream;
typedef uint64_t mstxRangeId;
typedef struct mstxDomainRegistration_st* mstxDomainHandle_t;

#define MSTX_FAIL 1
#define MSTX_SUCCESS 0

static inline void mstxMarkA(const char* message, aclrtStream stream) { (void)message, (void)stream; }
static inline mstxRangeId mstxRangeStartA(const char* message, aclrtStream stream) {
  (void)message, (void)stream;
  return 0;
}
static inline void mstxRangeEnd(mstxRangeId id) { (void)id; }
static inline mstxDomainHandle_t mstxDomainCreateA(const char* name) {
  (void)name;
  return NULL;
}
static inline void mstxDomainDestroy(mstxDomainHandle_t domain) { (void)domain; }
static inline void mstxDomainMarkA(mstxDomainHandle_t domain, const char* message, aclrtStream stream) {
  (void)domain, (void)message, (void)stream;
}
static inline mstxRangeId mstxDomainRangeStartA(mstxDomainHandle_t domain, const char* message, aclrtStream stream) {
  (void)domain, (void)message, (void)stream;
  return 0;
}
static inline void mstxDomainRangeEnd(mstxDomainHandle_t domain, mstxRangeId id) { (void)domain, (void)id; }

#ifdef __cplusplus
}
#endif
