// The GE prototype of AddCustom, as an operator project's build generates it from the OpDef in ../op_host. Here for those
// who build graphs without that build; the names x, y, z are what torchair.ge.custom_op must use.
// Made by `ophook-npu op export npu::npu_add_custom` from the operator's declaration.
#ifndef ADD_CUSTOM_PROTO_H
#define ADD_CUSTOM_PROTO_H

#include "graph/operator_reg.h"

namespace ge {

REG_OP(AddCustom)
    .INPUT(x, TensorType({DT_FLOAT16, DT_FLOAT, DT_BF16, DT_INT32}))
    .INPUT(y, TensorType({DT_FLOAT16, DT_FLOAT, DT_BF16, DT_INT32}))
    .OUTPUT(z, TensorType({DT_FLOAT16, DT_FLOAT, DT_BF16, DT_INT32}))
    .OP_END_FACTORY_REG(AddCustom);

} // namespace ge

#endif // ADD_CUSTOM_PROTO_H
