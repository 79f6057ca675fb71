// Collectives between two devices of this process, whose ranks run on threads of their own, several at once.
#include <numeric>

#include "check.h"
#include "hccl/hccl.h"

using namespace check;

namespace {

// Device memory of the current device, as int32.
struct Numbers {
  explicit Numbers(int size) { OK(sim_malloc(size * sizeof(int32_t), reinterpret_cast<void**>(&at))); }
  ~Numbers() { sim_free(at); }
  Numbers(const Numbers&) = delete;
  Numbers& operator=(const Numbers&) = delete;
  int32_t* at = nullptr;
};

// Runs body(rank, communicator, stream) for both ranks at once.
void on_both(const std::function<void(int, HcclComm, void*)>& body) {
  int32_t devices[] = {0, 1};
  HcclComm comms[2] = {};
  OK(HcclCommInitAll(2, devices, comms));
  together(2, [&](int rank) {
    OK(sim_set_device(rank));
    void* stream = nullptr;
    OK(sim_stream_create(&stream));
    body(rank, comms[rank], stream);
    OK(sim_stream_synchronize(stream, -1));
    OK(sim_stream_destroy(stream));
    OK(HcclCommDestroy(comms[rank]));
  });
}

}  // namespace

TEST(collectives_reduce_between_threads) {
  constexpr int kSize = 1000;
  on_both([](int rank, HcclComm comm, void* stream) {
    Numbers from(kSize), to(kSize);
    std::iota(from.at, from.at + kSize, rank);
    for (int round = 0; round < rounds(50); ++round) {
      OK(HcclAllReduce(from.at, to.at, kSize, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, comm, stream));
      OK(HcclBarrier(comm, stream));
    }
    OK(sim_stream_synchronize(stream, -1));
    EQUAL(to.at[0], 1);
    EQUAL(to.at[kSize - 1], 2 * kSize - 1);
  });
}

TEST(collectives_move_what_other_streams_wrote) {
  constexpr int kSize = 512;
  on_both([](int rank, HcclComm comm, void* stream) {
    Numbers from(kSize), all(2 * kSize), back(kSize);
    void *writer = nullptr, *written = nullptr;
    OK(sim_stream_create(&writer));
    OK(sim_event_create(&written));
    for (int round = 0; round < rounds(50); ++round) {
      OK(launch(writer, [&, rank, round] { return std::fill_n(from.at, kSize, 10 * round + rank), 0; }));
      OK(sim_event_record(written, writer));
      OK(sim_event_wait(stream, written));
      OK(HcclAllGather(from.at, all.at, kSize, HCCL_DATA_TYPE_INT32, comm, stream));
      if (rank) OK(HcclRecv(back.at, kSize, HCCL_DATA_TYPE_INT32, 0, comm, stream));
      else OK(HcclSend(from.at, kSize, HCCL_DATA_TYPE_INT32, 1, comm, stream));
      OK(sim_stream_synchronize(stream, -1));
      EQUAL(all.at[kSize - 1], 10 * round);
      EQUAL(all.at[kSize], 10 * round + 1);
      if (rank) EQUAL(back.at[0], 10 * round);
    }
    OK(sim_event_destroy(written));
    OK(sim_stream_destroy(writer));
  });
}

TEST(collectives_of_several_communicators_at_once) {
  together(3, [](int index) {
    for (int round = 0; round < rounds(20); ++round)
      on_both([index](int rank, HcclComm comm, void* stream) {
        Numbers own(1);
        *own.at = rank ? 0 : index;
        OK(HcclBroadcast(own.at, 1, HCCL_DATA_TYPE_INT32, 0, comm, stream));
        OK(sim_stream_synchronize(stream, -1));
        EQUAL(*own.at, index);
      });
  });
}

TEST(collectives_exchange_by_a_matrix) {
  on_both([](int rank, HcclComm comm, void* stream) {
    const uint64_t counts[] = {1, 2, 3, 0};  // what rank 0 sends to both, and rank 1
    Numbers from(3), to(4);
    for (int i = 0; i < 3; ++i) from.at[i] = 10 * rank + i;
    OK(HcclAlltoAllVC(from.at, counts, HCCL_DATA_TYPE_INT32, to.at, HCCL_DATA_TYPE_INT32, comm, stream));
    OK(sim_stream_synchronize(stream, -1));
    const std::vector<int> expected = rank ? std::vector{1, 2} : std::vector{0, 10, 11, 12};
    EQUAL(std::equal(expected.begin(), expected.end(), to.at), true);
    EQUAL(HcclAlltoAllVC(from.at, counts, HCCL_DATA_TYPE_INT32, from.at, HCCL_DATA_TYPE_INT32, comm, stream),
          HCCL_E_PARA);
    EQUAL(HcclCommUnsetMemoryRange(comm, from.at), HCCL_E_NOT_SUPPORT);
    EQUAL(std::string(HcclGetErrorString(HCCL_E_PARA)), std::string("parameter error"));
    EQUAL(std::string(HcclGetErrorString(HcclResult(99))), std::string("unknown error"));
  });
}
