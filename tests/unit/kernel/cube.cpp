// Products on the cube unit, by its own instructions: z = a b, of one tile that fits L0. One compile serves all types.
#include "kernel_operator.h"

using namespace AscendC;

struct Sizes {
  uint32_t m, n, k, matrices;
  uint32_t bias, relu, nz, hf32;  // hf32: 1 nearest even, 2 ties to zero
  uint64_t scale;
};

constexpr uint32_t up(uint32_t value, uint32_t to) { return (value + to - 1) / to * to; }

template <typename T, typename C, typename Z>
class Product {
  static constexpr uint32_t kC0 = 32 / sizeof(T), kFractal = 512 / sizeof(T);

 public:
  __aicore__ void Run(GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR z, const Sizes& shape, QuantMode_t quant) {
    s = shape;
    m = up(s.m, 16), n = up(s.n, sizeof(T) == 1 ? 32 : 16), k = up(s.k, sizeof(T) == 4 ? 16 : kC0), ka = up(s.k, kC0);
    ga.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(a));
    gb.SetGlobalBuffer(reinterpret_cast<__gm__ T*>(b));
    gbias.SetGlobalBuffer(reinterpret_cast<__gm__ C*>(bias));
    gz.SetGlobalBuffer(reinterpret_cast<__gm__ Z*>(z));
    TPipe pipe;
    pipe.InitBuffer(a1, 1, m * ka * sizeof(T));
    pipe.InitBuffer(b1, 1, n * k * sizeof(T));
    pipe.InitBuffer(a2, 1, m * ka * sizeof(T));
    pipe.InitBuffer(b2, 1, n * k * sizeof(T));
    pipe.InitBuffer(c1, 1, n * sizeof(C));
    pipe.InitBuffer(c2, 1, 1024);
    pipe.InitBuffer(co1, 1, m * n * sizeof(C));
    pipe.InitBuffer(factors, 1, n * 8);
    CopyIn();
    SplitA();
    SplitB();
    Compute();
    CopyOut(quant);
  }

 private:
  __aicore__ Nd2NzParams Rows(uint32_t rows, uint32_t columns, uint32_t stride) {
    Nd2NzParams p;
    p.ndNum = 1, p.nValue = rows, p.dValue = columns, p.srcDValue = columns, p.dstNzC0Stride = stride, p.dstNzNStride = 1;
    return p;
  }
  __aicore__ void CopyIn() {
    LocalTensor<T> at = a1.template AllocTensor<T>(), bt = b1.template AllocTensor<T>();
    DataCopy(at, ga, Rows(s.m, s.k, m));
    if constexpr (sizeof(T) == 4) {  // squares need two fractals next to each other: 16 rows at a time
      for (uint32_t first = 0; first < s.k; first += 16)
        DataCopy(bt[first * n], gb[first * s.n], Rows(s.k - first < 16 ? s.k - first : 16, s.n, 16));
    } else {
      DataCopy(bt, gb, Rows(s.k, s.n, k));
    }
    a1.EnQue(at);
    b1.EnQue(bt);
    if (s.bias) {
      LocalTensor<C> t = c1.template AllocTensor<C>();
      DataCopy(t, gbias, n);
      c1.EnQue(t);
    }
  }
  __aicore__ void SplitA() {
    LocalTensor<T> from = a1.template DeQue<T>(), to = a2.template AllocTensor<T>();
    LoadData2DParams p;
    p.repeatTimes = ka / kC0, p.srcStride = m / 16, p.dstGap = 0, p.ifTranspose = false;
    for (uint32_t i = 0; i < m / 16; ++i) {
      p.startIndex = i;
      LoadData(to[i * (ka / kC0) * kFractal], from, p);
    }
    a2.EnQue(to);
    a1.FreeTensor(from);
  }
  __aicore__ void SplitB() {
    LocalTensor<T> from = b1.template DeQue<T>(), to = b2.template AllocTensor<T>();
    if constexpr (sizeof(T) == 2) {
      LoadData2DParams p;
      p.repeatTimes = n / 16, p.srcStride = k / 16, p.ifTranspose = true;
      for (uint32_t i = 0; i < k / 16; ++i) {
        p.startIndex = i;
        LoadData(to[i * (n / 16) * kFractal], from, p);
      }
    } else {
      constexpr uint32_t side = sizeof(T) == 1 ? 32 : 16;
      LoadData2dTransposeParams p;
      p.repeatTimes = n / side;
      p.srcStride = sizeof(T) == 1 ? k / 32 : 1;
      p.dstGap = sizeof(T) == 1 ? 1 : 0;
      p.dstFracGap = sizeof(T) == 1 ? 0 : n / 16 - 1;
      for (uint32_t i = 0; i < k / side; ++i) {
        p.startIndex = sizeof(T) == 1 ? i : i * (n / side);
        LoadDataWithTranspose(to[i * n * side], from, p);
      }
    }
    b2.EnQue(to);
    b1.FreeTensor(from);
  }
  __aicore__ void Compute() {
    LocalTensor<T> at = a2.template DeQue<T>(), bt = b2.template DeQue<T>();
    LocalTensor<C> ct = co1.template AllocTensor<C>();
    MmadParams p;
    p.m = s.m, p.n = s.n, p.k = s.k;
    SetHF32Mode(s.hf32 ? HF32Mode::ENABLE : HF32Mode::DISABLE);
    SetHF32TransMode(s.hf32 == 2 ? HF32TransMode::NEAREST_ZERO : HF32TransMode::NEAREST_EVEN);
    if (s.bias) {
      LocalTensor<C> from = c1.template DeQue<C>(), table = c2.template AllocTensor<C>();
      DataCopy(table, from, {1, uint16_t(n * sizeof(C) / 64), 0, 0});
      c2.EnQue(table);
      table = c2.template DeQue<C>();
      p.cmatrixInitVal = false, p.cmatrixSource = true;
      Mmad(ct, at, bt, table, p);
      c2.FreeTensor(table);
      c1.FreeTensor(from);
    } else {
      for (uint32_t i = 0; i < s.matrices; ++i) {  // further ones add to what is there
        p.cmatrixInitVal = i == 0;
        Mmad(ct, at, bt, p);
      }
    }
    co1.EnQue(ct);
    a2.FreeTensor(at);
    b2.FreeTensor(bt);
  }
  __aicore__ void CopyOut(QuantMode_t quant) {
    LocalTensor<C> ct = co1.template DeQue<C>();
    FixpipeParamsV220 p;
    p.nSize = s.n, p.mSize = s.m, p.srcStride = m, p.dstStride = s.n, p.ndNum = 1;
    p.quantPre = quant, p.reluEn = s.relu != 0, p.deqScalar = s.scale;
    if (s.nz >= 2) {  // the older parameters: 2 rows, 3 fractals
      FixpipeParams<C> older(n / 16, s.m * 16 * sizeof(C) / 32, 0, s.nz == 2 ? s.n : 0);
      older.quantParams = {quant, s.scale};
      older.reluEn = s.relu != 0;
      if (s.nz == 2) older.nz2ndParams = {true, 1, 0, 0, uint16_t(s.n)};
      Fixpipe(gz, ct, older);
    } else if (s.nz) {
      p.dstStride = s.m * (sizeof(Z) == 1 ? 32 : 16) * sizeof(Z) / 32;
      Fixpipe<Z, C, CFG_NZ>(gz, ct, p);
    } else if (quant == VDEQF16) {  // `bias` holds a factor for each column
      GlobalTensor<uint64_t> from;
      from.SetGlobalBuffer(reinterpret_cast<__gm__ uint64_t*>(gbias.GetPhyAddr(0)));
      LocalTensor<uint64_t> t = factors.template AllocTensor<uint64_t>();
      DataCopy(t, from, n);
      SetFlag<HardEvent::MTE2_FIX>(EVENT_ID0);
      WaitFlag<HardEvent::MTE2_FIX>(EVENT_ID0);
      if (s.matrices == 1) Fixpipe(gz, ct, t, p);
      else Configured(t, ct, p);
      factors.FreeTensor(t);
    } else {
      Fixpipe(gz, ct, p);
    }
    co1.FreeTensor(ct);
  }

  __aicore__ void Configured(const LocalTensor<uint64_t>& from, const LocalTensor<C>& ct, const FixpipeParamsV220& p) {
    TBuf<TPosition::C2PIPE2GM> place;
    GetTPipePtr()->InitBuffer(place, n * 8);
    DataCopy(place.Get<uint64_t>(), from, {uint16_t(n / 16), 1, 4, 1});
    PipeBarrier<PIPE_FIX>();
    SetFixPipeConfig(place.Get<uint64_t>());
    SetFixPipeConfig(ct, false);  // the factors stay
    Fixpipe(gz, ct, p);
  }

  Sizes s;
  uint32_t m, n, k, ka;  // rounded up to fractals; of b and of a
  GlobalTensor<T> ga, gb;
  GlobalTensor<C> gbias;
  GlobalTensor<Z> gz;
  TQue<TPosition::A1, 1> a1;
  TQue<TPosition::B1, 1> b1;
  TQue<TPosition::A2, 1> a2;
  TQue<TPosition::B2, 1> b2;
  TQue<TPosition::C1, 1> c1;
  TQue<TPosition::C2, 1> c2;
  TQue<TPosition::CO1, 1> co1;
  TQue<TPosition::A1, 1> factors;
};

#define PRODUCT(name, T, C, Z, quant)                                                                        \
  extern "C" __global__ __aicore__ void name(GM_ADDR a, GM_ADDR b, GM_ADDR bias, GM_ADDR z, GM_ADDR tiling) { \
    GET_TILING_DATA_WITH_STRUCT(Sizes, shape, tiling);                                                       \
    Product<T, C, Z> product;                                                                                \
    product.Run(a, b, bias, z, shape, quant);                                                                \
  }
PRODUCT(halves, half, float, float, NoQuant)
PRODUCT(halves_to_half, half, float, half, F322F16)
PRODUCT(halves_to_bytes, half, float, int8_t, QF322B8_PRE)
PRODUCT(bfloats, bfloat16_t, float, float, NoQuant)
PRODUCT(bfloats_to_bfloat, bfloat16_t, float, bfloat16_t, F322BF16)
PRODUCT(floats, float, float, float, NoQuant)
PRODUCT(bytes, int8_t, int32_t, int32_t, NoQuant)
PRODUCT(bytes_to_half, int8_t, int32_t, half, DEQF16)
PRODUCT(bytes_to_half_by_column, int8_t, int32_t, half, VDEQF16)
PRODUCT(bytes_to_bytes, int8_t, int32_t, int8_t, REQ8)

// z = convolution of an image of 2 times 16 channels, 6 by 7, with 16 filters of 3 by 3, padding 1, stride 2: image to matrix.
// `packed`: by LoadData3DParamsV2Pro, in two repeats of half the columns. `start`: the first place; the last columns are
// then of a fractal that kExtension does not fill.
template <bool packed, uint16_t start = 0>
inline void Convolve(GM_ADDR image, GM_ADDR filters, GM_ADDR z) {
  constexpr uint16_t kHeight = 6, kWidth = 7, kChannels = 32, kOut = 16, kDepth = kChannels * 9, kPlaces = 16;  // 3 by 4 places
  GlobalTensor<half> from, weights;
  GlobalTensor<float> to;
  from.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(image));
  weights.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(filters));
  to.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(z));
  TPipe pipe;
  TQue<TPosition::A1, 1> a1;
  TQue<TPosition::B1, 1> b1;
  TQue<TPosition::A2, 1> a2;
  TQue<TPosition::B2, 1> b2;
  TQue<TPosition::CO1, 1> co1;
  constexpr uint32_t kImage = kChannels * kHeight * kWidth;
  pipe.InitBuffer(a1, 1, kImage * sizeof(half));
  pipe.InitBuffer(b1, 1, kDepth * kOut * sizeof(half));
  pipe.InitBuffer(a2, 1, kPlaces * kDepth * sizeof(half));
  pipe.InitBuffer(b2, 1, kDepth * kOut * sizeof(half));
  pipe.InitBuffer(co1, 1, kPlaces * kOut * sizeof(float));
  LocalTensor<half> a = a1.AllocTensor<half>(), b = b1.AllocTensor<half>();
  DataCopy(a, from, kImage);
  DataCopy(b, weights, kDepth * kOut);  // as L0B wants it already
  a1.EnQue(a);
  b1.EnQue(b);
  a = a1.DeQue<half>(), b = b1.DeQue<half>();
  LocalTensor<half> left = a2.AllocTensor<half>(), right = b2.AllocTensor<half>();
  const uint8_t padding[4] = {1, 1, 1, 1};
  if (packed) {
    constexpr uint64_t kHalf = kDepth / 2;
    SetFmatrix(kHeight, kWidth, padding, FmatrixMode::FMATRIX_LEFT);
    SetLoadDataPaddingValue(half(0));
    SetLoadDataBoundary(0);
    SetLoadDataRepeat({kHalf / 16, 2, 1});
    LoadData(left, a, LoadData3DParamsV2Pro(kChannels, false, false, false, false, false, uint64_t(kPlaces) << 16 | kHalf, 0x10103030202));
  } else {
    LoadData(left, a, LoadData3DParamsV2<half>(padding, kHeight, kWidth, kChannels, start ? kDepth - 8 : kDepth, kPlaces - start, 0, start, 2, 2, 3, 3, 1, 1, false, false, half(0)));
  }
  LoadData2DParams p;
  p.repeatTimes = kDepth / 16, p.srcStride = 1;
  LoadData(right, b, p);
  a2.EnQue(left);
  b2.EnQue(right);
  a1.FreeTensor(a);
  b1.FreeTensor(b);
  left = a2.DeQue<half>(), right = b2.DeQue<half>();
  LocalTensor<float> c = co1.AllocTensor<float>();
  MmadParams m;
  m.m = 12 - start, m.n = kOut, m.k = kDepth;
  Mmad(c, left, right, m);
  a2.FreeTensor(left);
  b2.FreeTensor(right);
  co1.EnQue(c);
  c = co1.DeQue<float>();
  FixpipeParamsV220 out(kOut, 12 - start, 16, kOut, false);
  Fixpipe(to, c, out);
  co1.FreeTensor(c);
}
extern "C" __global__ __aicore__ void convolution(GM_ADDR image, GM_ADDR filters, GM_ADDR bias, GM_ADDR z, GM_ADDR tiling) {
  Convolve<false>(image, filters, z);
}
extern "C" __global__ __aicore__ void convolution_packed(GM_ADDR image, GM_ADDR filters, GM_ADDR bias, GM_ADDR z, GM_ADDR tiling) {
  Convolve<true>(image, filters, z);
}
extern "C" __global__ __aicore__ void convolution_from_the_fifth(GM_ADDR image, GM_ADDR filters, GM_ADDR bias,
                                                                 GM_ADDR z, GM_ADDR tiling) {
  Convolve<false, 5>(image, filters, z);
}

// z: four fractals of x, the last one first. Calls of no repeats do nothing.
extern "C" __global__ __aicore__ void backwards(GM_ADDR x, GM_ADDR z) {
  GlobalTensor<half> from, to;
  from.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(x), 1024);
  to.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(z), 1024);
  LocalTensor<half> l1(TPosition::A1, 0, 1024), l0(TPosition::A2, 0, 1024), right(TPosition::B2, 0, 1024);
  LoadData2DParams p(3, 4, 1, 1, 0, true, 1);
  LoadData(l1, from, p);
  p.repeatTimes = 0;
  LoadData(l1, from, p);
  SetFlag<HardEvent::MTE2_MTE1>(EVENT_ID0);
  WaitFlag<HardEvent::MTE2_MTE1>(EVENT_ID0);
  p.addrMode = 0;
  LoadData(l0, l1, p);
  LoadDataWithTranspose(right, l1, LoadData2dTransposeParams(0, 0, 1, 0, 0));
  SetFlag<HardEvent::MTE2_MTE3>(EVENT_ID0);
  WaitFlag<HardEvent::MTE2_MTE3>(EVENT_ID0);
  DataCopy(to, l1, 1024);
}

// z = x w of int8_t, 32 by 128 and 128 by 48, of whose w two of each four values are there. `no_index`: without what says which.
template <bool no_index>
inline void Sparse(GM_ADDR x, GM_ADDR w, GM_ADDR index, GM_ADDR z) {
  constexpr uint16_t kM = 32, kN = 48, kK = 128;
  GlobalTensor<int8_t> left, right;
  GlobalTensor<uint8_t> places;
  GlobalTensor<int32_t> to;
  left.SetGlobalBuffer(reinterpret_cast<__gm__ int8_t*>(x));
  right.SetGlobalBuffer(reinterpret_cast<__gm__ int8_t*>(w));
  places.SetGlobalBuffer(reinterpret_cast<__gm__ uint8_t*>(index));
  to.SetGlobalBuffer(reinterpret_cast<__gm__ int32_t*>(z));
  LocalTensor<int8_t> a1(TPosition::A1, 0, kM * kK), b1(TPosition::B1, 65536, kN * kK / 2), a2(TPosition::A2, 0, kM * kK), b2(TPosition::B2, 0, kN * kK / 2);
  LocalTensor<uint8_t> i1(TPosition::B1, 131072, kN * kK / 8);
  LocalTensor<int32_t> c(TPosition::CO1, 0, kM * kN);
  DataCopy(a1, left, kM * kK);
  DataCopy(b1, right, kN * kK / 2);
  DataCopy(i1, places, kN * kK / 8);
  SetFlag<HardEvent::MTE2_MTE1>(EVENT_ID0);
  WaitFlag<HardEvent::MTE2_MTE1>(EVENT_ID0);
  LoadData2DParams p;
  p.srcStride = 1, p.repeatTimes = kM * kK / 512;
  LoadData(a2, a1, p);
  p.repeatTimes = kN * kK / 2 / 512;
  if (no_index) LoadData(b2, b1, p);
  else LoadDataWithSparse(b2, b1, i1, p);
  SetFlag<HardEvent::MTE1_M>(EVENT_ID0);
  WaitFlag<HardEvent::MTE1_M>(EVENT_ID0);
  MmadParams m;
  m.m = kM, m.n = kN, m.k = kK;
  MmadWithSparse(c, a2, b2, m);
  SetFlag<HardEvent::M_FIX>(EVENT_ID0);
  WaitFlag<HardEvent::M_FIX>(EVENT_ID0);
  Fixpipe(to, c, FixpipeParamsV220(kN, kM, kM, kN, false));
}
extern "C" __global__ __aicore__ void sparse(GM_ADDR x, GM_ADDR w, GM_ADDR index, GM_ADDR z, GM_ADDR tiling) { Sparse<false>(x, w, index, z); }
extern "C" __global__ __aicore__ void sparse_without_index(GM_ADDR x, GM_ADDR w, GM_ADDR index, GM_ADDR z, GM_ADDR tiling) { Sparse<true>(x, w, index, z); }

// Of the older parameters: what is not simulated.
extern "C" __global__ __aicore__ void older_matrices(GM_ADDR z) {
  GlobalTensor<half> to;
  to.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(z), 16);
  FixpipeParams<float> params(1, 8, 0, 16);
  params.nz2ndParams = {true, 2, 1, 16, 16};
  params.quantParams = {QuantMode_t::F322F16};
  Fixpipe(to, LocalTensor<float>(), params);
}

// A tensor that is only declared is the beginning of L0C, for Mmad and for Fixpipe. z: 16 x 16 ones times ones.
extern "C" __global__ __aicore__ void only_declared(GM_ADDR z) {
  GlobalTensor<float> to;
  to.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(z), 256);
  LocalTensor<half> a(TPosition::A2, 0, 256), b(TPosition::B2, 0, 256);
  LocalTensor<float> c;
  InitConstValue(a, InitConstValueParams<half>(1, 1, 0, half(1)));
  InitConstValue(b, InitConstValueParams<half>(1, 1, 0, half(1)));
  SetFlag<HardEvent::MTE1_M>(EVENT_ID0);
  WaitFlag<HardEvent::MTE1_M>(EVENT_ID0);
  Mmad(c, a, b, MmadParams(16, 16, 16, 0, false, true));
  SetFlag<HardEvent::M_FIX>(EVENT_ID0);
  WaitFlag<HardEvent::M_FIX>(EVENT_ID0);
  Fixpipe(to, c, FixpipeParamsV220(16, 0, 16, 16, false));  // of no rows: nothing
  Fixpipe(to, c, FixpipeParamsV220(16, 16, 16, 16, false));
}
