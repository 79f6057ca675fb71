// Memory: what is booked, what is refused, reserved ranges with handles mapped into them, and files to share it by.
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"

using namespace check;

namespace {

constexpr size_t kPage = 4096;

size_t in_use() {
  size_t free = 0, total = 0;
  OK(sim_memory_info(&free, &total));
  return total - free;
}

}  // namespace

TEST(memory_is_booked_and_given_back) {
  const size_t before = in_use();
  void *one = nullptr, *other = nullptr;
  OK(sim_malloc(1, &one));
  EQUAL(in_use() - before, 512u);
  EQUAL(reinterpret_cast<uintptr_t>(one) % 512, 0u);
  OK(sim_malloc(513, &other));
  EQUAL(in_use() - before, 512u + 1024u);
  memset(one, 1, 512);
  memset(other, 2, 1024);
  size_t left = 0;
  EQUAL(sim_memory_device(static_cast<char*>(other) + 500, &left), 0);
  EQUAL(left, 13u);  // what was asked for, though more is booked
  EQUAL(sim_memory_device(static_cast<char*>(other) + 513, &left), -1);
  EQUAL(sim_memory_device(&left, nullptr), -1);
  CHECK(!sim_is_pinned(one));
  sim_counters counters;
  sim_read_counters(&counters);
  EQUAL(counters.bytes_in_use, in_use());
  OK(sim_free(one));
  OK(sim_free(other));
  EQUAL(in_use(), before);
}

TEST(memory_that_is_used_up_is_refused) {
  size_t free = 0, total = 0;
  OK(sim_memory_info(&free, &total));
  void* block = nullptr;
  EQUAL(sim_malloc(free + 512, &block), kOutOfMemory);
  CHECK(says("asked for"));
  for (size_t size : {SIZE_MAX, SIZE_MAX - 100, SIZE_MAX - 511, SIZE_MAX / 2})
    EQUAL(sim_malloc(size, &block), kOutOfMemory);
  OK(sim_malloc(free, &block));
  void* more = nullptr;
  EQUAL(sim_malloc(1, &more), kOutOfMemory);
  void* handle = nullptr;
  EQUAL(sim_malloc_physical(kPage, 0, &handle), kOutOfMemory);
  OK(sim_free(block));
  EQUAL(in_use(), total - free);
  EQUAL(sim_malloc(0, &block), kInvalidParam);
}

TEST(what_was_not_allocated_cannot_be_freed) {
  void *block = nullptr, *host = nullptr;
  OK(sim_malloc(1000, &block));
  OK(sim_malloc_host(1000, &host));
  CHECK(sim_is_pinned(static_cast<char*>(host) + 999));
  CHECK(!sim_is_pinned(static_cast<char*>(host) + 1000));
  EQUAL(sim_memory_device(host, nullptr), -1);
  int local = 0;
  EQUAL(sim_free(nullptr), kInvalidParam);
  EQUAL(sim_free(&local), kInvalidParam);
  EQUAL(sim_free(static_cast<char*>(block) + 512), kInvalidParam);
  EQUAL(sim_free(host), kInvalidParam);
  EQUAL(sim_free_host(block), kInvalidParam);
  const size_t before = in_use();
  OK(sim_free(block));
  const size_t after = in_use();
  EQUAL(before - after, 1024u);
  EQUAL(sim_free(block), kInvalidParam);
  CHECK(says("was freed before"));
  EQUAL(in_use(), after);
  OK(sim_free_host(host));
  EQUAL(sim_free_host(host), kInvalidParam);
}

TEST(a_thread_without_a_device_gets_no_memory) {
  std::thread([] {
    void* block = nullptr;
    size_t free = 0, total = 0;
    EQUAL(sim_malloc(512, &block), kNoDevice);
    EQUAL(sim_memory_info(&free, &total), kNoDevice);
    OK(sim_malloc_host(512, &block));  // belongs to no device
    OK(sim_free_host(block));
  }).join();
}

TEST(threads_allocate_and_free_at_the_same_time) {
  const size_t before = in_use();
  together(4, [&](int index) {
    OK(sim_set_device(0));
    std::vector<void*> own;
    for (int round = 0; round < rounds(300); ++round) {
      void* block = nullptr;
      OK(index == 3 ? sim_malloc_host(size_t(round) + 1, &block) : sim_malloc(size_t(round) * 100 + 1, &block));
      *static_cast<char*>(block) = char(index);
      own.push_back(block);
      if (round % 3 == 2) {
        EQUAL(sim_memory_device(own.back(), nullptr), index == 3 ? -1 : 0);
        EQUAL(*static_cast<char*>(own.back()), char(index));
        OK(index == 3 ? sim_free_host(own.back()) : sim_free(own.back()));
        own.pop_back();
      }
    }
    for (void* block : own) OK(index == 3 ? sim_free_host(block) : sim_free(block));
  });
  EQUAL(in_use(), before);
}

TEST(two_threads_that_free_one_block_free_it_once) {
  for (int round = 0; round < rounds(200); ++round) {
    void* block = nullptr;
    OK(sim_malloc(512, &block));
    std::atomic<int> freed{0};
    together(2, [&](int) { freed += sim_free(block) == 0; });
    EQUAL(freed, 1);
  }
}

TEST(handles_are_mapped_into_a_reserved_range) {
  const size_t before = in_use();
  void *range = nullptr, *one = nullptr, *other = nullptr;
  OK(sim_reserve_address(4 * kPage, &range));
  EQUAL(in_use(), before);
  auto at = [&](size_t page) { return static_cast<char*>(range) + page * kPage; };
  OK(sim_malloc_physical(2 * kPage, 0, &one));
  OK(sim_malloc_physical(kPage, 0, &other));
  EQUAL(in_use() - before, 3 * kPage);
  EQUAL(sim_memory_device(range, nullptr), -1);
  OK(sim_map(at(0), 2 * kPage, 0, one));
  OK(sim_map(at(2), kPage, 0, other));
  size_t left = 0;
  EQUAL(sim_memory_device(at(1), &left), 0);
  EQUAL(left, 2 * kPage);  // what is mapped next to each other is one piece
  memset(range, 7, 3 * kPage);
  EQUAL(sim_free(range), kInvalidParam);
  EQUAL(sim_release_address(range), kInvalidParam);
  CHECK(says("still mapped"));
  OK(sim_unmap(at(0)));
  EQUAL(sim_unmap(at(0)), kInvalidParam);
  EQUAL(sim_memory_device(at(0), nullptr), -1);
  OK(sim_map(at(3), kPage, kPage, one));  // the handle's second page
  EQUAL(*at(3), 7);
  EQUAL(sim_free_physical(one), kInvalidParam);
  CHECK(says("still mapped"));
  OK(sim_unmap(at(2)));
  OK(sim_unmap(at(3)));
  OK(sim_free_physical(one));
  OK(sim_free_physical(other));
  EQUAL(in_use(), before);
  OK(sim_release_address(range));
  EQUAL(sim_release_address(range), kInvalidParam);
}

TEST(what_does_not_fit_a_range_or_a_handle_is_not_mapped) {
  void *range = nullptr, *handle = nullptr;
  OK(sim_reserve_address(4 * kPage, &range));
  OK(sim_malloc_physical(2 * kPage, 0, &handle));
  auto at = [&](size_t page) { return static_cast<char*>(range) + page * kPage; };
  int local = 0;
  EQUAL(sim_map(&local, kPage, 0, handle), kInvalidParam);
  EQUAL(sim_map(at(4), kPage, 0, handle), kInvalidParam);
  EQUAL(sim_map(at(3), 2 * kPage, 0, handle), kInvalidParam);
  EQUAL(sim_map(at(0), 3 * kPage, 0, handle), kInvalidParam);
  EQUAL(sim_map(at(0), kPage, 2 * kPage, handle), kInvalidParam);
  EQUAL(sim_map(at(0), kPage, SIZE_MAX - kPage + 1, handle), kInvalidParam);  // the sum of both is no size
  EQUAL(sim_map(at(0), SIZE_MAX - kPage + 1, 2 * kPage, handle), kInvalidParam);
  EQUAL(sim_map(at(0), 0, 0, handle), kInvalidParam);
  EQUAL(sim_map(at(0), kPage, 0, nullptr), kInvalidParam);
  OK(sim_map(at(1), 2 * kPage, 0, handle));
  for (size_t page : {1, 2}) EQUAL(sim_map(at(page), kPage, 0, handle), kInvalidParam);
  EQUAL(sim_map(at(0), 2 * kPage, 0, handle), kInvalidParam);
  CHECK(says("already mapped"));
  OK(sim_unmap(at(1)));
  EQUAL(sim_malloc_physical(kPage, 99, &handle), kInvalidDevice);
  OK(sim_free_physical(handle));
  OK(sim_release_address(range));
}

TEST(a_handle_that_was_freed_is_no_memory) {
  const size_t before = in_use();
  void *range = nullptr, *handle = nullptr;
  OK(sim_reserve_address(kPage, &range));
  OK(sim_malloc_physical(kPage, 0, &handle));
  OK(sim_free_physical(handle));
  EQUAL(sim_free_physical(handle), kInvalidParam);
  EQUAL(sim_free_physical(nullptr), kInvalidParam);
  char own[64] = {};
  EQUAL(sim_free_physical(own), kInvalidParam);
  EQUAL(sim_map(range, kPage, 0, handle), kInvalidParam);
  EQUAL(in_use(), before);
  OK(sim_release_address(range));
}

TEST(threads_map_and_unmap_in_one_range) {
  const size_t before = in_use();
  void* range = nullptr;
  OK(sim_reserve_address(4 * kPage, &range));
  together(4, [&](int index) {
    char* own = static_cast<char*>(range) + size_t(index) * kPage;
    for (int round = 0; round < rounds(100); ++round) {
      void* handle = nullptr;
      size_t left = 0;
      OK(sim_malloc_physical(kPage, 0, &handle));
      OK(sim_map(own, kPage, 0, handle));
      *own = char(index);
      EQUAL(sim_memory_device(own, &left), 0);
      CHECK(left >= kPage && left <= size_t(4 - index) * kPage);
      OK(sim_unmap(own));
      OK(sim_free_physical(handle));
    }
  });
  EQUAL(in_use(), before);
  OK(sim_release_address(range));
}

TEST(what_a_kernel_can_reach_and_what_it_is_otherwise) {
  void *block = nullptr, *host = nullptr;
  OK(sim_malloc_by("aclrtMalloc", reinterpret_cast<const void*>(&sim_malloc), 100, 100, &block));
  OK(sim_malloc_host(100, &host));
  auto at = [&](size_t offset) { return static_cast<char*>(block) + offset; };
  auto text = [](const void* pointer, size_t size) { return std::string(sim_memory_text(pointer, size)); };
  auto has = [](const std::string& whole, const char* part) { return whole.find(part) != std::string::npos; };
  for (int round = 0; round < 2; ++round) {  // looked up, then remembered
    CHECK(sim_memory_reach(at(0), 100));
    CHECK(sim_memory_reach(at(99), 1));
    CHECK(!sim_memory_reach(at(0), 101));
    CHECK(!sim_memory_reach(at(99), 2));
    CHECK(!sim_memory_reach(at(100), 1));
    CHECK(!sim_memory_reach(at(0), SIZE_MAX));
    CHECK(!sim_memory_reach(at(0) - 1, 1));
    CHECK(!sim_memory_reach(host, 100));
    int local = 0;
    CHECK(!sim_memory_reach(&local, 1));
    CHECK(!sim_memory_reach(nullptr, 1));
    CHECK(has(text(&local, 1), "is memory of the host, or none"));
  }
  CHECK(has(text(at(90), 20), "lies 90 bytes into allocation "));
  CHECK(has(text(at(90), 20), "100 bytes at "));
  CHECK(has(text(at(90), 20), "on device 0, made by aclrtMalloc for "));
  CHECK(has(text(at(90), 20), "20 bytes from there leave it after 10"));
  CHECK(has(text(at(103), 1), "lies 3 bytes beyond the end of allocation "));
  CHECK(has(text(nullptr, 8), "null, where 8 bytes"));
  OK(sim_free(block));
  CHECK(!sim_memory_reach(at(0), 1));
  CHECK(has(text(at(7), 1), "lies 7 bytes into allocation "));
  CHECK(has(text(at(7), 1), ", which was freed"));
  EQUAL(sim_free(block), kInvalidParam);
  CHECK(says(", which was freed"));
  OK(sim_free_host(host));
}

TEST(memory_that_is_freed_under_a_task_stays_until_it_is_done) {
  void *block = nullptr, *stream = nullptr, *range = nullptr, *handle = nullptr;
  OK(sim_stream_create(&stream));
  OK(sim_malloc(64 * kPage, &block));
  OK(sim_reserve_address(kPage, &range));
  OK(sim_malloc_physical(kPage, 0, &handle));
  OK(sim_map(range, kPage, 0, handle));
  Door begun, freed;
  std::atomic<int> sum{0};
  OK(launch(stream, [&] {
    begun.open();
    freed.pass();
    for (size_t page = 0; page < 64; ++page) sum += ++static_cast<char*>(block)[page * kPage];
    sum += ++*static_cast<char*>(range);
    return 0;
  }));
  OK(launch(stream, [&] { return sim_memory_reach(block, 1) ? 1 : 0; }));
  begun.pass();
  OK(sim_free(block));
  OK(sim_unmap(range));
  OK(sim_free_physical(handle));
  freed.open();
  OK(sim_stream_synchronize(stream, -1));
  EQUAL(sum, 65);
  OK(sim_release_address(range));
  OK(sim_stream_destroy(stream));
}

// Run by itself, with OPHOOK_SIM_STRICT_MEMORY=1: the core reads it once.
TEST(strict_memory_is_filled_when_it_is_made_and_when_it_is_freed) {
  if (!getenv("OPHOOK_SIM_STRICT_MEMORY")) return;
  void *block = nullptr, *next = nullptr;
  OK(sim_malloc(2 * kPage, &block));
  const auto* bytes = static_cast<const volatile unsigned char*>(block);
  sim_memory_open();
  EQUAL(int(bytes[0]), 0xff);
  memset(block, 7, 2 * kPage);
  OK(sim_free(block));  // under a use, which it outlives
  EQUAL(int(bytes[0]), 0xff);
  EQUAL(int(bytes[2 * kPage - 1]), 0xff);
  sim_memory_close();
  OK(sim_malloc(2 * kPage, &next));
  CHECK(next != block);  // nobody gets its addresses
  OK(sim_free(next));
}

TEST(memory_of_the_host_is_reached_by_the_address_of_its_registration) {
  void *host = nullptr, *at = nullptr, *again = nullptr;
  OK(sim_malloc_host(4096, &host));
  OK(sim_host_register("here", host, 4096, 1, 0, &at));
  CHECK(at != host);
  OK(sim_host_device_pointer(host, &again));
  EQUAL(at, again);
  CHECK(sim_memory_reach(at, 4096) && !sim_memory_reach(at, 4097) && !sim_memory_reach(host, 1));
  CHECK(!sim_copy_takes(at, 1, 1) && !sim_copy_takes(at, 1, 0) && sim_copy_takes(host, 4096, 0));
  static_cast<char*>(at)[4095] = 7;
  EQUAL(int(static_cast<char*>(host)[4095]), 7);
  EQUAL(sim_host_register("here", host, 1, 1, 0, &at), kInvalidParam);
  OK(sim_host_unregister(host));
  EQUAL(sim_host_unregister(host), kInvalidParam);
  CHECK(!sim_memory_reach(again, 1));
  OK(sim_free_host(host));
}

TEST(a_kernels_memory_is_judged_in_one_sentence) {
  void *block = nullptr, *host = nullptr;
  int local = 0;
  OK(sim_malloc(100, &block));
  OK(sim_malloc_host(100, &host));
  const auto problem = [](const void* pointer, size_t size) {
    const char* text = sim_memory_problem("x", pointer, size);
    return std::string(text ? text : "none");
  };
  const auto has = [](const std::string& text, const char* part) { return text.find(part) != std::string::npos; };
  EQUAL(problem(block, 100), "none");
  CHECK(has(problem(host, 100), "100 bytes at"));  // pinned memory that is not registered
  CHECK(has(problem(host, 100), "on the host, made by aclrtMallocHost"));
  EQUAL(problem(nullptr, 0), "none");
  EQUAL(problem(&local, 0), "none");
  CHECK(has(problem(nullptr, 4), "x (4 bytes) is not in device memory as a whole: null, where 4 bytes"));
  CHECK(has(problem(&local, 4), "is memory of the host, or none"));
  CHECK(has(problem(block, 101), "101 bytes from there leave it after 100"));
  CHECK(has(problem(static_cast<char*>(block) + 100, 1), "0 bytes beyond the end of allocation "));
  OK(sim_free(block));
  OK(sim_free_host(host));
  CHECK(has(problem(block, 1), "100 bytes at "));
  CHECK(has(problem(block, 1), ", made by aclrtMalloc, which was freed"));
}

TEST(threads_use_memory_that_others_free) {
  std::atomic<char*> shared{nullptr};
  std::atomic<bool> over{false};
  std::atomic<int> reached{0};
  together(3, [&](int index) {
    OK(sim_set_device(0));
    if (index == 0) {
      for (int round = 0; round < rounds(2000); ++round) {
        void* block = nullptr;
        OK(sim_malloc(512, &block));
        shared = static_cast<char*>(block);
        if (round % 7 == 0) std::this_thread::yield();
        OK(sim_free(block));
      }
      over = true;
      return;
    }
    while (!over) {
      sim_memory_open();
      char* block = shared;
      // Only read, as two threads are here.
      if (block && sim_memory_reach(block, 1)) reached += 1 + *static_cast<volatile char*>(block);
      sim_memory_close();
    }
  });
}

TEST(device_memory_is_shared_by_a_file) {
  void* block = nullptr;
  OK(sim_malloc(3 * kPage + 100, &block));
  auto* bytes = static_cast<char*>(block);
  memset(bytes, 1, kPage + 10);
  int file = -1, again = -1;
  size_t offset = 0;
  OK(sim_share_memory("HcclCommRegister", bytes + 100, 3 * kPage, &file, &offset));
  EQUAL(offset, 100u);
  EQUAL(int(bytes[kPage + 9]), 1);
  EQUAL(int(bytes[kPage + 10]), 0);
  auto* other = static_cast<char*>(mmap(nullptr, 4 * kPage, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
  EQUAL(int(other[kPage + 9]), 1);
  other[2 * kPage] = 5;
  EQUAL(int(bytes[2 * kPage]), 5);
  bytes[2 * kPage + 1] = 6;
  EQUAL(int(other[2 * kPage + 1]), 6);
  // A second part of the same memory is in the same file.
  OK(sim_share_memory("HcclCommRegister", bytes + 2 * kPage, 10, &again, &offset));
  EQUAL(offset, 2 * kPage);
  other[2 * kPage + 2] = 7;
  EQUAL(int(bytes[2 * kPage + 2]), 7);
  EQUAL(sim_share_memory("HcclCommRegister", bytes + 200, 3 * kPage, &again, &offset), kInvalidParam);
  CHECK(says("leave the allocation"));
  EQUAL(sim_share_memory("HcclCommRegister", &offset, 8, &again, &offset), kInvalidParam);
  OK(sim_free(block));
  EQUAL(int(other[2 * kPage + 2]), 7);  // as long as somebody has it
  munmap(other, 4 * kPage);
  close(file);
  close(again);

  void *range = nullptr, *handle = nullptr;
  OK(sim_reserve_address(2 * kPage, &range));
  OK(sim_malloc_physical(2 * kPage, 0, &handle));
  OK(sim_map(range, kPage, kPage, handle));  // the handle's second page
  memset(range, 3, kPage);
  OK(sim_share_memory("HcclCommRegister", static_cast<char*>(range) + 8, 8, &file, &offset));
  EQUAL(offset, kPage + 8);
  char byte = 0;
  EQUAL(pread(file, &byte, 1, off_t(offset)), 1);
  EQUAL(int(byte), 3);
  EQUAL(sim_share_memory("HcclCommRegister", range, 2 * kPage, &again, &offset), kInvalidParam);
  CHECK(says("leave the handle"));
  close(file);
  OK(sim_unmap(range));
  OK(sim_free_physical(handle));
  OK(sim_release_address(range));
}
