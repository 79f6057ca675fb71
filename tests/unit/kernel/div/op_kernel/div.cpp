// Its name is one of C's functions; the instruction is an argument of a template.
#include "kernel_operator.h"
#include "kernel_operator_list_tensor_intf.h"

using namespace AscendC;

template <typename T>
using ByScalar = void(const LocalTensor<T>&, const LocalTensor<T>&, const T&, const int32_t&);

template <typename T, ByScalar<T>* op>
__aicore__ inline void each(const GlobalTensor<T>& to, const GlobalTensor<T>& from, uint32_t count, T by) {
  TPipe pipe;
  TBuf<TPosition::VECCALC> room;
  const uint32_t whole = (count * sizeof(T) + 31) / 32 * 32;
  pipe.InitBuffer(room, whole);
  LocalTensor<T> values = room.Get<T>();
  const DataCopyExtParams bytes{1, uint32_t(count * sizeof(T)), 0, 0, 0};
  DataCopyPad(values, from, bytes, DataCopyPadExtParams<T>{false, 0, 0, 0});
  PipeBarrier<PIPE_ALL>();
  op(values, values, by, int32_t(count));
  PipeBarrier<PIPE_ALL>();
  DataCopyPad(to, values, bytes);
  PipeBarrier<PIPE_ALL>();
}

extern "C" __global__ __aicore__ void div(GM_ADDR x, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
  GET_TILING_DATA(told, tiling);
  const float converted = bfloat16_t(half(0.25f));  // the device's compiler converts these
  const uint32_t tensors = told.count ASSERT(told.count != 0 && "a semicolon is missing before this");
  ASSERT(tensors < 100);
  ListTensorDesc from(x), to(y);
  for (uint32_t i = 0; i < tensors; ++i) {
    uint64_t shape[8];
    TensorDesc<DTYPE_X> one;
    one.SetShapeAddr(shape);
    from.GetDesc(one, i);
    uint64_t count = 1;
    for (uint64_t d = 0; d < one.GetDim(); ++d) count *= one.GetShape(d);
    GlobalTensor<DTYPE_X> source, result;
    source.SetGlobalBuffer(from.GetDataPtr<DTYPE_X>(i), count);
    result.SetGlobalBuffer(to.GetDataPtr<DTYPE_X>(i), count);
    each<DTYPE_X, Muls>(result, source, uint32_t(count), DTYPE_X(converted));
  }
}
