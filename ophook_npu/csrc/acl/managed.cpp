// libascendcl: memory that host and device share under one address. CANN's page "Unified addressing". A simulated
// device's memory is the host's: nothing moves, and what a program advises is kept and told. In strict mode, where the
// host may not touch a device's memory, there is none.
#include <cstdlib>
#include <map>
#include <mutex>
#include <set>
#include <vector>

#include "acl/device_memory.h"
#include "acl/tasks.h"
#include "core/forever.h"

namespace sim::acl {
namespace {

constexpr size_t kPage = size_t{2} << 20;

struct Place {
  int type = 0;  // aclrtMemManagedLocationType; 0: none
  uint32_t id = 0;
  bool operator==(const Place&) const = default;
};
struct Advice {  // of a page
  bool read_mostly = false;
  Place preferred, fetched;
  std::set<int32_t> accessed_by;  // devices; the host: -1
};
struct Block {
  size_t size = 0;
  std::vector<Advice> pages;
};

std::mutex managed_mutex;
std::map<uintptr_t, Block>& blocks() { return sim::forever<std::map<uintptr_t, Block>>(); }

bool strict() {
  const char* told = std::getenv("OPHOOK_SIM_STRICT_MEMORY");
  return told && std::string_view(told) == "1";
}

#ifdef OPHOOK_NEWER_ACL
constexpr int32_t kNowhere = -2, kHost = -1;
Place as_place(const aclrtMemManagedLocation& location) {
  return {int(location.type), location.type == ACL_MEM_LOCATIONTYPE_HOST ? 0 : uint32_t(location.id)};
}
// As the attributes that are one number tell it: a device's or a node's, the host or nowhere.
int32_t number(const Place& place) {
  return place.type == ACL_MEM_LOCATIONTYPE_INVALID ? kNowhere
         : place.type == ACL_MEM_LOCATIONTYPE_HOST  ? kHost
                                                    : int32_t(place.id);
}

template <typename Do>
int each_page(const char* caller, const void* pointer, size_t size, Do what) {
  if (!size || !managed(pointer, size))
    return RT_INVALID(caller, "%p (%zu bytes) is not memory of aclrtMemAllocManaged", pointer, size);
  std::lock_guard lock(managed_mutex);
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  auto& [begin, block] = *--blocks().upper_bound(address);
  for (size_t page = (address - begin) / kPage; page * kPage < address - begin + size; ++page) what(block.pages[page]);
  return ACL_SUCCESS;
}
#endif

}  // namespace

bool managed(const void* pointer, size_t size) {
  std::lock_guard lock(managed_mutex);
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  auto found = blocks().upper_bound(address);
  return found != blocks().begin() && (--found, address - found->first < found->second.size) &&
         size <= found->second.size - (address - found->first);
}

void forget_managed(const void* pointer) {
  std::lock_guard lock(managed_mutex);
  if (!blocks().empty()) blocks().erase(reinterpret_cast<uintptr_t>(pointer));
}

extern "C" {

SIM_API aclError aclrtMemAllocManaged(void** out, uint64_t size, uint32_t flag) {
  REQUIRE(out);
  if (int code = sim_require_device(__func__)) return code;
  if (!on("Ascend910"))
    return sim_fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "%s: only Atlas A2 and Atlas A3 have it", __func__);
  if (strict()) return sim_unimplemented("aclrtMemAllocManaged where device memory is out of the host's reach");
  RT_INVALID_IF(!size || flag != 1, "%llu bytes, flag %u; allowed: more than 0, 1", (unsigned long long)size, flag);
  const size_t rounded = (size + kPage - 1) / kPage * kPage;
  if (int code = sim_malloc_by(__func__, __builtin_return_address(0), rounded, rounded, out)) return code;
  std::lock_guard lock(managed_mutex);
  blocks()[reinterpret_cast<uintptr_t>(*out)] = {rounded, std::vector<Advice>(rounded / kPage)};
  return ACL_SUCCESS;
}

#ifdef OPHOOK_NEWER_ACL
// Where its pages should lie: they lie where both sides see them.
SIM_API aclError aclrtMemManagedAdvise(const void* const pointer, uint64_t size, aclrtMemManagedAdviseType what,
                                       aclrtMemManagedLocation location) {
  RT_INVALID_IF(what < ACL_MEM_ADVISE_SET_READ_MOSTLY || what > ACL_MEM_ADVISE_UNSET_ACCESSED_BY,
                "advise %d; allowed: 0 to 5", int(what));
  const Place place = as_place(location);
  return each_page(__func__, pointer, size, [&](Advice& page) {
    switch (what) {
      case ACL_MEM_ADVISE_SET_READ_MOSTLY: page.read_mostly = true; break;
      case ACL_MEM_ADVISE_UNSET_READ_MOSTLY: page.read_mostly = false; break;
      case ACL_MEM_ADVISE_SET_PREFERRED_LOCATION: page.preferred = place; break;
      case ACL_MEM_ADVISE_UNSET_PREFERRED_LOCATION: page.preferred = {}; break;
      case ACL_MEM_ADVISE_SET_ACCESSED_BY: page.accessed_by.insert(number(place)); break;
      default: page.accessed_by.erase(number(place));
    }
  });
}
SIM_API aclError aclrtMemManagedPrefetchAsync(const void* pointer, size_t size, aclrtMemManagedLocation location,
                                              uint32_t flags, aclrtStream stream) {
  RT_INVALID_IF(flags, "flags has to be 0");
  if (int code = check_stream(stream)) return code;
  const Place place = as_place(location);
  return each_page(__func__, pointer, size, [&](Advice& page) { page.fetched = place; });
}
SIM_API aclError aclrtMemManagedPrefetchBatchAsync(const void** pointers, size_t* sizes, size_t count,
                                                   aclrtMemManagedLocation* places, size_t* begins, size_t groups,
                                                   uint64_t flags, aclrtStream stream) {
  REQUIRE(pointers, sizes, places, begins);
  RT_INVALID_IF(flags, "flags has to be 0");
  const auto wrong = [&](size_t i) { return begins[i] >= count || (i ? begins[i] <= begins[i - 1] : begins[i] != 0); };
  for (size_t i = 0; i < groups; ++i)
    if (wrong(i)) groups = 0;
  RT_INVALID_IF(!groups || groups > count,
                "prefetchLocIdxs has to begin with 0 and to rise, each less than count, for 1 to count places");
  for (size_t i = 0; i < count; ++i)
    RT_INVALID_IF(sizes[i] % kPage, "sizes[%zu] is %zu; allowed: multiples of 2 MB", i, sizes[i]);
  for (size_t i = 0, group = 0; i < count; ++i) {
    if (group + 1 < groups && begins[group + 1] == i) ++group;
    if (int code = aclrtMemManagedPrefetchAsync(pointers[i], sizes[i], places[group], 0, stream)) return code;
  }
  return ACL_SUCCESS;
}

SIM_API aclError aclrtMemManagedGetAttr(aclrtMemManagedRangeAttribute what, const void* pointer, size_t size,
                                        void* data, size_t room) {
  REQUIRE(data);
  RT_INVALID_IF(what < ACL_MEM_RANGE_ATTRIBUTE_READ_MOSTLY || what > ACL_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID,
                "attribute %d; allowed: 1 to 8", int(what));
  const bool several = what == ACL_MEM_RANGE_ATTRIBUTE_ACCESSED_BY;
  RT_INVALID_IF(!room || room % sizeof(int32_t) || (!several && room != sizeof(int32_t)),
                "dataSize %zu of attribute %d; allowed: 4%s", room, int(what), several ? ", or a multiple" : "");
  std::vector<Advice> pages;
  if (int code = each_page(__func__, pointer, size, [&](Advice& page) { pages.push_back(page); })) return code;
  // Of all pages, or of none.
  const auto common = [&](Place Advice::* which) {
    const auto other = [&](Advice& page) { return page.*which != pages[0].*which; };
    return std::any_of(pages.begin(), pages.end(), other) ? Place{} : pages[0].*which;
  };
  auto* out = static_cast<int32_t*>(data);
  switch (what) {
    case ACL_MEM_RANGE_ATTRIBUTE_READ_MOSTLY:
      *out = std::all_of(pages.begin(), pages.end(), [](Advice& page) { return page.read_mostly; });
      break;
    case ACL_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION: *out = number(common(&Advice::preferred)); break;
    case ACL_MEM_RANGE_ATTRIBUTE_ACCESSED_BY: {
      auto by = pages[0].accessed_by;
      for (const Advice& page : pages) std::erase_if(by, [&](int32_t one) { return !page.accessed_by.count(one); });
      std::fill_n(out, room / sizeof *out, kNowhere);
      std::copy_n(by.begin(), std::min(by.size(), room / sizeof *out), out);
      break;
    }
    case ACL_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE: *out = common(&Advice::preferred).type; break;
    case ACL_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID: *out = int32_t(common(&Advice::preferred).id); break;
    case ACL_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION: *out = number(common(&Advice::fetched)); break;
    case ACL_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE: *out = common(&Advice::fetched).type; break;
    default: *out = int32_t(common(&Advice::fetched).id);
  }
  return ACL_SUCCESS;
}
SIM_API aclError aclrtMemManagedGetAttrs(aclrtMemManagedRangeAttribute* what, size_t count, const void* pointer,
                                         size_t size, void** data, size_t* rooms) {
  REQUIRE(what, data, rooms);
  for (size_t i = 0; i < count; ++i)
    if (int code = aclrtMemManagedGetAttr(what[i], pointer, size, data[i], rooms[i])) return code;
  return ACL_SUCCESS;
}
#endif

}  // extern "C"
}  // namespace sim::acl
