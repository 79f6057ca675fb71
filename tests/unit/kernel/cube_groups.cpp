// Vector cores that ask groups of cube cores by messages. Of three blocks the first two are a group that multiplies 16 by
// 16 halves, and the third one a group that doubles numbers.
#include "kernel_operator.h"
#include "lib/matmul_intf.h"

using namespace matmul;

constexpr int kSide = 16, kPart = kSide * kSide, kRounds = 6;

struct Wanted {
  CubeGroupMsgHead head;
  uint8_t kind, together;
  int32_t rows;
  uint64_t a, b, c;
  uint8_t rest[32];
};
template <class Object, typename Message>
struct Multiplies {
  template <int32_t kind>
  __aicore__ inline static typename IsEqual<kind, 1>::Type Answer(Object& mm, __gm__ Message* message,
                                                                  CubeResGroupHandle<Message>& handle) {
    using T = typename Object::AType::T;
    GlobalTensor<T> a, b;
    GlobalTensor<typename Object::CType::T> c;
    a.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(message->a), message->rows * kSide);
    b.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(message->b), kPart);
    c.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(message->c), message->rows * kSide);
    mm.SetOrgShape(message->rows, kSide, kSide);
    mm.SetSingleShape(message->rows, kSide, kSide);
    mm.SetTensorA(a);
    mm.SetTensorB(b);
    mm.IterateAll(c);
    mm.End();
    const uint8_t others = message->together;
    handle.FreeMessage(message, CubeMsgState::VALID);
    for (int i = 1; i <= others; ++i) handle.FreeMessage(message + i, CubeMsgState::FAKE);
    handle.SetSkipMsg(others);
  }
  __aicore__ inline static void Call(Object& mm, __gm__ Message* message, CubeResGroupHandle<Message>& handle) {
    if (message->kind == 1) Answer<1>(mm, message, handle);
  }
  __aicore__ inline static void Init(Multiplies& mine, Object& mm, GM_ADDR tiling) {
    const auto* from = reinterpret_cast<__gm__ int32_t*>(tiling);
    auto* to = reinterpret_cast<int32_t*>(&mine.tiling);
    for (uint32_t i = 0; i < sizeof(TCubeTiling) / 4; ++i) to[i] = from[i];
    mm.SetSubBlockIdx(0);
    mm.Init(&mine.tiling, GetTPipePtr());
  }
  TCubeTiling tiling;
};

struct Number {
  CubeGroupMsgHead head;
  int32_t value, answer;
  uint8_t rest[116];
};
struct Count {
  int32_t calls = 0;
};
template <class Object, typename Message>
struct Doubles {
  __aicore__ inline static void Call(Object& count, __gm__ Message* message, CubeResGroupHandle<Message>& handle) {
    message->answer = message->value * 2 + 1000 * count.calls++;
    handle.FreeMessage(message);
  }
  __aicore__ inline static void Init(Doubles&, Object&, GM_ADDR) {}
};

using Half = MatmulType<TPosition::GM, CubeFormat::ND, half>;
using Float = MatmulType<TPosition::GM, CubeFormat::ND, float>;
using Object = MatmulImpl<Half, Half, Float, Float, CFG_NORM>;

__aicore__ inline void multiply(CubeResGroupHandle<Wanted>& group, GM_ADDR x, GM_ADDR y, GM_ADDR z) {
  const int mine = int(GetBlockIdx());
  group.AssignQueue(uint8_t(mine));
  CubeGroupMsgHead head = {CubeMsgState::VALID, uint8_t(mine)};
  if (mine < 3) {  // the first one asks for all three
    auto message = group.AllocMessage();
    if (mine == 0) {
      Wanted wanted = {head, 1, 2, 3 * kSide, uint64_t(x), uint64_t(y), uint64_t(z), {}};
      group.template Wait<true>(group.PostMessage(message, wanted));
    } else {
      group.template Wait<true>(group.PostFakeMsg(message));
    }
  } else {  // more than a queue holds, and no wait between them
    uint16_t last = 0;
    for (int round = 0; round < kRounds; ++round) {
      auto message = group.template AllocMessage<PipeMode::MTE3_MODE>();
      const uint64_t part = 3 + (mine - 3) * kRounds + round;
      Wanted wanted = {head, 1, 0, kSide, uint64_t(x) + part * kPart * 2, uint64_t(y), uint64_t(z) + part * kPart * 4, {}};
      last = group.template PostMessage<PipeMode::MTE3_MODE>(message, wanted);
    }
    while (!group.template Wait<false>(last)) {
    }
  }
  group.SetQuit(group.AllocMessage());
}
__aicore__ inline void count(CubeResGroupHandle<Number>& group, GM_ADDR z) {
  const int mine = int(GetBlockIdx());
  group.AssignQueue(uint8_t(5 - mine));
  auto message = group.AllocMessage();
  Number number = {{CubeMsgState::VALID, uint8_t(mine)}, mine, 0, {}};
  group.Wait(group.PostMessage(message, number));
  if ASCEND_IS_AIV {
    GlobalTensor<float> to;
    to.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(z) + mine * 16, 16);
    for (int i = 0; i < 16; ++i) to.SetValue(i, float(message->answer));
    DataCacheCleanAndInvalid<float, CacheLine::SINGLE_CACHE_LINE, DcciDst::CACHELINE_OUT>(to);
  }
  group.SetQuit(group.AllocMessage());
}

// z: products of 21 parts, then what six cores were told.
extern "C" __global__ __aicore__ void groups(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR workspace, GM_ADDR tiling) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
  TPipe pipe;
  KfcWorkspace place(workspace);
  auto first = CreateCubeResGroup<1, Object, Multiplies, Wanted>(place, 0, 4, 6, tiling);
  auto second = CreateCubeResGroup<2, Count, Doubles, Number>(place, 4, 2, 6, tiling);
  multiply(first, x, y, z);
  count(second, z + 21 * kPart * 4);
}

template <typename F>
__aicore__ inline void numbers(GM_ADDR workspace, uint8_t blocks, uint8_t queues, F each) {
  TPipe pipe;
  KfcWorkspace place(workspace);
  auto group = CreateCubeResGroup<1, Count, Doubles, Number>(place, 0, blocks, queues, nullptr);
  if ASCEND_IS_AIV each(group, int(GetBlockIdx()));
}
#define FAULT(name, blocks, queues, ...)                                                                      \
  extern "C" __global__ __aicore__ void name(GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR workspace, GM_ADDR) {         \
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);                                                        \
    numbers(workspace, blocks, queues, [&](CubeResGroupHandle<Number>& group, [[maybe_unused]] int mine) __VA_ARGS__); \
  }
FAULT(nobody_quits, 2, 2, { if (mine < 2) group.AssignQueue(mine); })
FAULT(one_queue_of_two_cores, 2, 2, {
  group.AssignQueue(mine % 2);
  if (mine < 2) group.SetQuit(group.AllocMessage());
})
FAULT(no_such_queue, 2, 2, { group.AssignQueue(mine); group.SetQuit(group.AllocMessage()); })
FAULT(without_a_queue, 2, 2, { group.AllocMessage(); })
FAULT(fewer_queues_than_cubes, 6, 4, { group.AssignQueue(mine); })
FAULT(two_modes, 2, 6, {
  group.AssignQueue(mine);
  auto message = group.template AllocMessage<PipeMode::MTE3_MODE>();
  Number number{};
  group.PostMessage(message, number);
})
extern "C" __global__ __aicore__ void in_two_groups(GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR workspace, GM_ADDR) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
  KfcWorkspace place(workspace);
  for (int i = 0; i < 2; ++i) {
    auto group = CreateCubeResGroup<1, Count, Doubles, Number>(place, 0, 6, 6, nullptr);
    group.AssignQueue(GetBlockIdx());
    group.SetQuit(group.AllocMessage());
  }
}
extern "C" __global__ __aicore__ void the_end_of_ub(GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR workspace, GM_ADDR) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
  TPipe pipe;
  TBuf<TPosition::VECCALC> all;
  if ASCEND_IS_AIV pipe.InitBuffer(all, 192 * 1024 - 1600);
  KfcWorkspace place(workspace);
  auto group = CreateCubeResGroup<1, Count, Doubles, Number>(place, 0, 6, 6, nullptr);
  group.AssignQueue(GetBlockIdx());
  group.SetQuit(group.AllocMessage());
}
extern "C" __global__ __aicore__ void addresses_of_its_own(GM_ADDR, GM_ADDR, GM_ADDR, GM_ADDR workspace, GM_ADDR) {
  KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
  KfcWorkspace place(workspace);
  place.UpdateKfcWorkspace(1024);
  if (place.GetKfcWorkspace() != workspace + 1024) return;
  CreateCubeResGroup<1, Count, Doubles, Number>(place, 0, 6, 6, nullptr);
}
