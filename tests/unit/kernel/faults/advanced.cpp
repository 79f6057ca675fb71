// The advanced functions.
#include "common.h"

namespace {

constexpr uint32_t kRows = 16, kWidth = 64;  // 1,024 elements: one buffer

struct Rows {
  TPipe pipe;
  TBuf<TPosition::VECCALC> in, out, extra, work;
  Rows(GM_ADDR x, bool load = true) {
    pipe.InitBuffer(in, kBytes);
    pipe.InitBuffer(out, kBytes);
    pipe.InitBuffer(extra, kBytes);
    pipe.InitBuffer(work, kBytes);
    if (load) DataCopy(in.Get<float>(), part(x), kCount);
    SetFlag<HardEvent::MTE2_V>(EVENT_ID0);
    WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
  }
};
inline SoftMaxTiling rows() {
  SoftMaxTiling t{};
  t.srcM = kRows, t.srcK = kWidth;
  return t;
}

}  // namespace

template <bool wrong>
void softmax_whose_tiling_was_not_read(ARGUMENTS) {
  fill(x, z);
  Rows r(x);
  SoftMaxTiling t{};
  if (!wrong) t = rows();
  SoftMax(r.out.Get<float>(), r.in.Get<float>(), r.work.Get<uint8_t>(), t);  // FAULT parameter
}
EXPORT(softmax_whose_tiling_was_not_read)

template <bool wrong>
void rows_that_end_within_a_block(ARGUMENTS) {
  fill(x, z);
  Rows r(x);
  SoftMaxShapeInfo shape;
  shape.srcM = shape.oriSrcM = kRows, shape.oriSrcK = 60, shape.srcK = wrong ? 60 : 64;
  SoftMax(r.out.Get<float>(), r.in.Get<float>(), r.work.Get<uint8_t>(), rows(), shape);  // FAULT parameter
}
EXPORT(rows_that_end_within_a_block)

template <bool wrong>
void more_rows_than_the_buffer_has(ARGUMENTS) {
  fill(x, z);
  Rows r(x);
  SumParams p;
  p.outter = wrong ? kRows + 1 : kRows, p.inner = p.n = kWidth;
  Sum(r.out.Get<float>(), r.in.Get<float>(), r.work.Get<uint8_t>(), p);  // FAULT local_bounds
}
EXPORT(more_rows_than_the_buffer_has)

template <bool wrong>
void sums_what_was_never_loaded(ARGUMENTS) {
  fill(x, z);
  Rows r(x, !wrong);
  SumParams p;
  p.outter = kRows, p.inner = p.n = kWidth;
  Sum(r.out.Get<float>(), r.in.Get<float>(), r.work.Get<uint8_t>(), p);  // FAULT uninitialized
}
EXPORT(sums_what_was_never_loaded)

template <bool wrong>
void copies_out_rows_of_what_was_never_computed(ARGUMENTS) {
  fill(x, z);
  Rows r(x, false);
  Duplicate(r.in.Get<float>(), 1.0f, kWidth / 2);
  const uint32_t to[] = {kRows, kWidth}, from[] = {1, kWidth};
  Broadcast<float, 2, 0>(r.out.Get<float>(), r.in.Get<float>(), to, from);
  SetFlag<HardEvent::V_MTE3>(EVENT_ID0);
  WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
  DataCopy(part(z)[kWidth], r.out.Get<float>()[kWidth], wrong ? kWidth : kWidth / 2);  // FAULT uninitialized
}
EXPORT(copies_out_rows_of_what_was_never_computed)

template <bool wrong>
void a_row_that_is_no_row(ARGUMENTS) {
  fill(x, z);
  Rows r(x);
  const uint32_t to[] = {kRows, kWidth}, from[] = {wrong ? 2u : 1u, kWidth};
  Broadcast<float, 2, 0>(r.out.Get<float>(), r.in.Get<float>(), to, from);  // FAULT parameter
}
EXPORT(a_row_that_is_no_row)

template <bool wrong>
void repeats_onto_itself(ARGUMENTS) {
  fill(x, z);
  Rows r(x);
  const uint32_t to[] = {2, 8}, from[] = {1, 8};
  Broadcast<float, 2, 0>(wrong ? r.in.Get<float>() : r.out.Get<float>(), r.in.Get<float>(), to, from);  // FAULT parameter
}
EXPORT(repeats_onto_itself)

template <bool wrong>
void takes_columns_off_the_left(ARGUMENTS) {
  fill(x, z);
  Rows r(x);
  UnPadTiling t{};
  t.srcHeight = kRows, t.srcWidth = kWidth;
  UnPadParams p(wrong ? 2 : 0, 2);
  UnPad(r.out.Get<float>(), r.in.Get<float>(), p, t);  // FAULT parameter
}
EXPORT(takes_columns_off_the_left)

template <bool wrong>
void a_pad_beyond_the_block(ARGUMENTS) {
  fill(x, z);
  Rows r(x);
  PadTiling t{};
  t.srcHeight = 8, t.srcWidth = t.srcOriWidth = 12;
  PadParams p(0, wrong ? 5 : 4, 1);
  Pad(r.out.Get<float>(), r.in.Get<float>(), p, t);  // FAULT parameter
}
EXPORT(a_pad_beyond_the_block)

template <bool wrong>
void a_mask_whose_rows_end_within_a_block(ARGUMENTS) {
  fill(x, z);
  Rows r(x);
  Duplicate(r.extra.Get<int32_t>(), 1, kCount);
  SelectWithBytesMaskShapeInfo info;
  info.firstAxis = 8, info.srcLastAxis = 16, info.maskLastAxis = wrong ? 24 : 32;
  Select(r.out.Get<float>(), r.in.Get<float>(), 1.0f, r.extra.Get<int32_t>(), r.work.Get<uint8_t>(), info);  // FAULT parameter
}
EXPORT(a_mask_whose_rows_end_within_a_block)

template <bool wrong>
void keeps_none(ARGUMENTS) {
  fill(x, z);
  Rows r(x);
  Duplicate(r.extra.Get<int32_t>(), 1, kCount);
  DropOutShapeInfo info;
  info.firstAxis = 1, info.srcLastAxis = info.maskLastAxis = kWidth;
  DropOut(r.out.Get<float>(), r.in.Get<float>(), r.extra.Get<uint8_t>(), r.work.Get<uint8_t>(), wrong ? 0.0f : 0.5f, info);  // FAULT parameter
}
EXPORT(keeps_none)

template <bool wrong>
void steps_down(ARGUMENTS) {
  fill(x, z);
  Rows r(x);
  Arange(r.out.Get<float>(), 0.0f, wrong ? -1.0f : 1.0f, int32_t(kWidth));  // FAULT parameter
}
EXPORT(steps_down)

constexpr TransDataConfig kToBlocks{DataFormat::NCDHW, DataFormat::NDC1HWC0};

template <bool wrong>
void orders_onto_itself(ARGUMENTS) {
  fill(x, z);
  Rows r(x);
  const auto from = MakeLayout(MakeShape(1, 16, 1, 4, 4), MakeStride());
  const auto to = MakeLayout(MakeShape(1, 1, 1, 4, 4, 16), MakeStride());
  TransDataParams<decltype(from), decltype(to)> p{from, to};
  LocalTensor<half> source = r.in.Get<half>(), other = r.out.Get<half>();
  if (wrong) other = source[16];
  TransData<kToBlocks>(other, source, p);  // FAULT parameter
}
EXPORT(orders_onto_itself)

template <bool wrong>
void transposes_onto_itself(ARGUMENTS) {
  fill(x, z);
  Rows r(x);
  ConfusionTransposeTiling t{};
  t.param0 = kRows, t.param1 = kWidth;
  const LocalTensor<float> to = wrong ? r.in.Get<float>() : r.out.Get<float>();
  ConfusionTranspose(to, r.in.Get<float>(), r.work.Get<uint8_t>(), TransposeType::TRANSPOSE_ND2ND_ONLY, t);  // FAULT overlap
}
EXPORT(transposes_onto_itself)

template <bool wrong>
void works_where_its_result_goes(ARGUMENTS) {
  fill(x, z);
  Rows r(x);
  const LocalTensor<uint8_t> work = (wrong ? r.out : r.work).Get<uint8_t>();
  Tanh(r.out.Get<float>(), r.in.Get<float>(), work, kCount);  // FAULT overlap
}
EXPORT(works_where_its_result_goes)

template <bool wrong>
void works_where_its_rows_are(ARGUMENTS) {
  fill(x, z);
  Rows r(x);
  const LocalTensor<uint8_t> work = (wrong ? r.in : r.work).Get<uint8_t>();
  SoftMax(r.out.Get<float>(), r.in.Get<float>(), work, rows());  // FAULT overlap
}
EXPORT(works_where_its_rows_are)

template <bool wrong>
void goes_on_with_a_source_that_may_be_reused(ARGUMENTS) {
  fill(x, z);
  Rows r(x);
  const uint32_t shape[] = {kRows, kWidth};
  ReduceMax<float, Pattern::Reduce::AR, wrong>(r.out.Get<float>(), r.in.Get<float>(), r.work.Get<uint8_t>(), shape, true);
  Exp<float, 8, false>(r.out.Get<float>(), r.in.Get<float>(), kCount);  // FAULT uninitialized
}
EXPORT(goes_on_with_a_source_that_may_be_reused)

template <bool wrong>
void goes_on_with_angles_that_may_be_reused(ARGUMENTS) {
  fill(x, z);
  Rows r(x);
  Sin<float, wrong>(r.out.Get<float>(), r.in.Get<float>(), kCount);
  Exp<float, 8, false>(r.out.Get<float>(), r.in.Get<float>(), kCount);  // FAULT uninitialized
}
EXPORT(goes_on_with_angles_that_may_be_reused)
