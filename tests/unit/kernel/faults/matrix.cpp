// The cube unit: order of its pipes, sizes of its memories, shapes of its fractals.
#include "common.h"

KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);

namespace {

constexpr uint32_t kSide = 32, kElements = kSide * kSide;  // of x, of y as halves: 2,048 bytes of 4,096

inline GlobalTensor<half> matrix(GM_ADDR memory) {
  GlobalTensor<half> tensor;
  tensor.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(memory) + GetBlockIdx() * kCount * 2, kElements);
  return tensor;
}
inline Nd2NzParams rows(uint16_t stride = kSide) { return Nd2NzParams(1, kSide, kSide, 0, kSide, stride, 1, 0); }
inline LoadData2DParams fractals(uint16_t first, bool transpose) { return LoadData2DParams(first, 2, 2, 0, 0, transpose, 0); }
inline MmadParams product() {
  MmadParams p;
  p.m = p.n = p.k = kSide;
  return p;
}
inline FixpipeParamsV220 whole_result() { return FixpipeParamsV220(kSide, kSide, kSide, kSide, false); }

template <HardEvent event>
inline void order(bool wanted = true) {
  if (!wanted) return;
  SetFlag<event>(EVENT_ID0);
  WaitFlag<event>(EVENT_ID0);
}

// z = x y of 32 by 32 halves in each core; `missing` leaves one of its four waits out.
enum Step { kNone, kLoads, kProduct, kOut };
struct Memories {
  TPipe pipe;
  TBuf<TPosition::A1> a1, b1;
  TBuf<TPosition::A2> a2;
  TBuf<TPosition::B2> b2;
  TBuf<TPosition::CO1> co1;
  Memories(uint32_t l0 = kElements * 2, uint32_t l0c = kElements * 4) {
    pipe.InitBuffer(a1, kElements * 2);
    pipe.InitBuffer(b1, kElements * 2);
    pipe.InitBuffer(a2, l0);
    pipe.InitBuffer(b2, kElements * 2);
    pipe.InitBuffer(co1, l0c);
  }
};
inline void load(Memories& m, GM_ADDR x, GM_ADDR y, bool wait = true) {
  DataCopy(m.a1.Get<half>(), matrix(x), rows());
  DataCopy(m.b1.Get<half>(), matrix(y), rows());
  order<HardEvent::MTE2_MTE1>(wait);
}
inline void split(Memories& m, bool wait = true) {
  for (uint16_t i = 0; i < 2; ++i) {
    LoadData(m.a2.Get<half>()[i * 512], m.a1.Get<half>(), fractals(i, false));
    LoadData(m.b2.Get<half>()[i * 512], m.b1.Get<half>(), fractals(i, true));
  }
  order<HardEvent::MTE1_M>(wait);
}
inline void out(Memories& m, GM_ADDR z, bool wait = true) {
  order<HardEvent::M_FIX>(wait);
  Fixpipe(part(z), m.co1.Get<float>(), whole_result());
}
inline void good(GM_ADDR x, GM_ADDR y, GM_ADDR z) {
  Memories m;
  load(m, x, y);
  split(m);
  Mmad(m.co1.Get<float>(), m.a2.Get<half>(), m.b2.Get<half>(), product());
  out(m, z);
}

}  // namespace

template <bool wrong>
void loads_before_the_copy_is_over(ARGUMENTS) {
  {
    Memories m;
    load(m, x, y, !wrong);
    LoadData(m.a2.Get<half>(), m.a1.Get<half>(), fractals(0, false));  // FAULT missing_sync
  }
  good(x, y, z);
}
EXPORT(loads_before_the_copy_is_over)

template <bool wrong>
void multiplies_before_the_load_is_over(ARGUMENTS) {
  Memories m;
  load(m, x, y);
  split(m, !wrong);
  Mmad(m.co1.Get<float>(), m.a2.Get<half>(), m.b2.Get<half>(), product());  // FAULT missing_sync
  out(m, z);
}
EXPORT(multiplies_before_the_load_is_over)

template <bool wrong>
void writes_before_the_product_is_there(ARGUMENTS) {
  Memories m;
  load(m, x, y);
  split(m);
  Mmad(m.co1.Get<float>(), m.a2.Get<half>(), m.b2.Get<half>(), product());
  order<HardEvent::M_FIX>(!wrong);
  Fixpipe(part(z), m.co1.Get<float>(), whole_result());  // FAULT missing_sync
}
EXPORT(writes_before_the_product_is_there)

template <bool wrong>
void multiplies_into_what_is_still_written_out(ARGUMENTS) {
  Memories m;
  load(m, x, y);
  split(m);
  Mmad(m.co1.Get<float>(), m.a2.Get<half>(), m.b2.Get<half>(), product());
  out(m, z);
  order<HardEvent::FIX_M>(!wrong);
  Mmad(m.co1.Get<float>(), m.a2.Get<half>(), m.b2.Get<half>(), product());  // FAULT missing_sync
}
EXPORT(multiplies_into_what_is_still_written_out)

template <bool wrong>
void loads_over_what_is_still_multiplied(ARGUMENTS) {
  Memories m;
  load(m, x, y);
  split(m);
  Mmad(m.co1.Get<float>(), m.a2.Get<half>(), m.b2.Get<half>(), product());
  order<HardEvent::M_MTE1>(!wrong);
  LoadData(m.a2.Get<half>(), m.a1.Get<half>(), fractals(0, false));  // FAULT missing_sync
  out(m, z);
}
EXPORT(loads_over_what_is_still_multiplied)

template <bool wrong>
void result_larger_than_its_buffer(ARGUMENTS) {
  good(x, y, z);
  Memories m(kElements * 2, wrong ? kElements * 2 : kElements * 4);
  load(m, x, y);
  split(m);
  Mmad(m.co1.Get<float>(), m.a2.Get<half>(), m.b2.Get<half>(), product());  // FAULT local_bounds
}
EXPORT(result_larger_than_its_buffer)

template <bool wrong>
void loads_beyond_l1(ARGUMENTS) {
  good(x, y, z);
  Memories m;
  load(m, x, y);
  LoadData(m.a2.Get<half>(), m.a1.Get<half>(), fractals(wrong ? 2 : 1, false));  // FAULT local_bounds
}
EXPORT(loads_beyond_l1)

// The lower half of a matrix: the image that it is part of ends behind the tensor, and its rows do not.
template <bool wrong>
void rows_beyond_l1(ARGUMENTS) {
  good(x, y, z);
  Memories m;
  load(m, x, y);
  LoadData3DParamsV2<half> p;
  p.l1H = 1, p.l1W = kSide, p.channelSize = p.kExtension = kSide, p.mExtension = wrong ? 32 : 16;
  p.strideW = p.strideH = p.filterW = p.filterH = p.dilationFilterW = p.dilationFilterH = 1;
  LoadData(m.a2.Get<half>(), m.a1.Get<half>()[16 * 16], p);  // FAULT local_bounds
}
EXPORT(rows_beyond_l1)

template <bool wrong>
void matrix_larger_than_its_buffer(ARGUMENTS) {
  good(x, y, z);
  TPipe pipe;
  TBuf<TPosition::A1> a1;
  pipe.InitBuffer(a1, kElements * 2 - (wrong ? 32 : 0));
  DataCopy(a1.Get<half>(), matrix(x), rows());  // FAULT local_bounds
}
EXPORT(matrix_larger_than_its_buffer)

template <bool wrong>
void more_l0a_than_there_is(ARGUMENTS) {
  good(x, y, z);
  TPipe pipe;
  TBuf<TPosition::A2> a2;
  pipe.InitBuffer(a2, wrong ? 65 * 1024 : 64 * 1024);  // FAULT local_overcommit
}
EXPORT(more_l0a_than_there_is)

template <bool wrong>
void fractal_begins_within_another(ARGUMENTS) {
  good(x, y, z);
  Memories m(kElements * 4);
  load(m, x, y);
  LoadData(m.a2.Get<half>()[wrong ? 16 : 256], m.a1.Get<half>(), fractals(0, false));  // FAULT alignment
}
EXPORT(fractal_begins_within_another)

template <bool wrong>
void depth_that_was_never_loaded(ARGUMENTS) {
  Memories m;
  load(m, x, y);
  LoadData(m.a2.Get<half>(), m.a1.Get<half>(), fractals(0, false));
  if (!wrong) LoadData(m.a2.Get<half>()[512], m.a1.Get<half>(), fractals(1, false));
  for (uint16_t i = 0; i < 2; ++i) LoadData(m.b2.Get<half>()[i * 512], m.b1.Get<half>(), fractals(i, true));
  order<HardEvent::MTE1_M>();
  Mmad(m.co1.Get<float>(), m.a2.Get<half>(), m.b2.Get<half>(), product());
  order<HardEvent::M_FIX>();
  Fixpipe(part(z), m.co1.Get<float>(), whole_result());  // FAULT uninitialized
}
EXPORT(depth_that_was_never_loaded)

// The product has rows of which nothing was loaded, as a last tile's: harmless where they stay in L0C.
template <bool wrong>
void takes_out_rows_that_were_never_loaded(ARGUMENTS) {
  good(x, y, z);
  Memories m;
  load(m, x, y);
  LoadData(m.a2.Get<half>(), m.a1.Get<half>(), fractals(0, false));
  for (uint16_t i = 0; i < 2; ++i) LoadData(m.b2.Get<half>()[i * 512], m.b1.Get<half>(), fractals(i, true));
  order<HardEvent::MTE1_M>();
  Mmad(m.co1.Get<float>(), m.a2.Get<half>(), m.b2.Get<half>(), product());
  order<HardEvent::M_FIX>();
  auto taken = FixpipeParamsV220(kSide, wrong ? kSide : kSide / 2, kSide, kSide, false);
  Fixpipe(part(z), m.co1.Get<float>(), taken);  // FAULT uninitialized
}
EXPORT(takes_out_rows_that_were_never_loaded)

template <bool wrong>
void adds_to_a_result_that_is_none(ARGUMENTS) {
  Memories m;
  load(m, x, y);
  split(m);
  MmadParams p = product();
  p.cmatrixInitVal = !wrong;
  Mmad(m.co1.Get<float>(), m.a2.Get<half>(), m.b2.Get<half>(), p);
  order<HardEvent::M_FIX>();
  Fixpipe(part(z), m.co1.Get<float>(), whole_result());  // FAULT uninitialized
}
EXPORT(adds_to_a_result_that_is_none)

template <bool wrong>
void left_and_right_exchanged(ARGUMENTS) {
  good(x, y, z);
  Memories m;
  load(m, x, y);
  split(m);
  if (wrong)
    Mmad(m.co1.Get<float>(), m.b2.Get<half>(), m.a2.Get<half>(), product());  // FAULT position
}
EXPORT(left_and_right_exchanged)

template <bool wrong>
void columns_of_the_result_overlap(ARGUMENTS) {
  Memories m;
  load(m, x, y);
  split(m);
  Mmad(m.co1.Get<float>(), m.a2.Get<half>(), m.b2.Get<half>(), product());
  order<HardEvent::M_FIX>();
  FixpipeParamsV220 p = whole_result();
  if (wrong) p.srcStride = 16;
  Fixpipe(part(z), m.co1.Get<float>(), p);  // FAULT stride
}
EXPORT(columns_of_the_result_overlap)

template <bool wrong>
void halves_give_no_halves(ARGUMENTS) {
  good(x, y, z);
  Memories m;
  load(m, x, y);
  split(m);
  if (wrong)
    Mmad(m.co1.Get<half>(), m.a2.Get<half>(), m.b2.Get<half>(), product());  // FAULT data_type
}
EXPORT(halves_give_no_halves)

template <bool wrong>
void a_vector_instruction_on_a_cube_core(ARGUMENTS) {
  good(x, y, z);
  TPipe pipe;
  TBuf<TPosition::VECCALC> work;
  pipe.InitBuffer(work, 64);
  if (wrong) Duplicate(work.Get<float>(), 0.0f, 16);  // FAULT wrong_core
}
EXPORT(a_vector_instruction_on_a_cube_core)

template <bool wrong>
void result_to_l1_as_it_is(ARGUMENTS) {
  good(x, y, z);
  Memories m;
  load(m, x, y);
  split(m);
  Mmad(m.co1.Get<float>(), m.a2.Get<half>(), m.b2.Get<half>(), product());
  order<HardEvent::M_FIX>();
  auto p = FixpipeParamsV220(16, kSide, kSide, kSide, false);
  p.quantPre = F322F16;
  Fixpipe<half, float, CFG_NZ>(m.a1.Get<half>(), m.co1.Get<float>(), p);
  p.quantPre = NoQuant;
  if (wrong) Fixpipe<float, float, CFG_NZ>(m.b1.Get<float>(), m.co1.Get<float>(), p);  // FAULT parameter
}
EXPORT(result_to_l1_as_it_is)

template <bool wrong>
void half_bytes_transposed_to_the_left(ARGUMENTS) {
  good(x, y, z);
  Memories m;
  load(m, x, y);
  LoadData2dTransposeParams p;
  p.repeatTimes = 1;
  if (wrong) LoadDataWithTranspose(m.a2.Get<int4b_t>(), m.a1.Get<int4b_t>(), p);  // FAULT data_type
  LoadDataWithTranspose(m.b2.Get<int4b_t>(), m.b1.Get<int4b_t>(), p);
}
EXPORT(half_bytes_transposed_to_the_left)
