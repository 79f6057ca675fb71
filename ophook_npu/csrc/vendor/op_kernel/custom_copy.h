// How tiles come into the local memory and go out of it, in kernels whose queues hold tensors of one type.
#ifndef CUSTOM_COPY_H
#define CUSTOM_COPY_H

#include "kernel_operator.h"

namespace custom_copy {

// DataCopyPad moves any number of bytes, so the tail of a run needs no case of its own.
template <typename T, typename Queue>
__aicore__ inline void In(Queue& queue, AscendC::GlobalTensor<T>& from, uint64_t offset, uint32_t length)
{
    AscendC::LocalTensor<T> to = queue.template AllocTensor<T>();
    AscendC::DataCopyExtParams copy{1, static_cast<uint32_t>(length * sizeof(T)), 0, 0, 0};
    AscendC::DataCopyPadExtParams<T> pad{false, 0, 0, static_cast<T>(0)};
    AscendC::DataCopyPad(to, from[offset], copy, pad);
    queue.EnQue(to);
}

template <typename T, typename Queue>
__aicore__ inline void Out(Queue& queue, AscendC::GlobalTensor<T>& to, uint64_t offset, uint32_t length)
{
    AscendC::LocalTensor<T> from = queue.template DeQue<T>();
    AscendC::DataCopyExtParams copy{1, static_cast<uint32_t>(length * sizeof(T)), 0, 0, 0};
    AscendC::DataCopyPad(to[offset], from, copy);
    queue.FreeTensor(from);
}

} // namespace custom_copy

#endif // CUSTOM_COPY_H
