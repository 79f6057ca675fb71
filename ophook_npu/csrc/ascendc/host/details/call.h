// Between the C interface of a call (host.h) and the contexts that functions of the host side are given.
#pragma once

#include <utility>
#include <vector>

#include "../host.h"
#include "contexts.h"

namespace ophook::host {

inline void fill(gert::Node& node, const ascendc_tensor* tensors, const int32_t* counts, size_t parameters,
                 std::vector<gert::Tensor*>& out, std::vector<gert::CompileTimeTensorDesc>& descs,
                 std::vector<std::vector<int>>& ir, std::vector<int>& places) {
  size_t at = 0;
  for (size_t p = 0; p < parameters; ++p) {
    ir.emplace_back();
    if (counts[p] < 0) places.push_back(-1);
    for (int32_t i = 0; i < counts[p]; ++i, ++at) {
      const ascendc_tensor& t = tensors[at];
      gert::StorageShape shape;
      for (int32_t d = 0; d < t.rank; ++d)
        shape.MutableOriginShape().AppendDim(t.dims[d]), shape.MutableStorageShape().AppendDim(t.dims[d]);
      ir.back().push_back(int(out.size())), places.push_back(int(out.size()));
      node.add(out, gert::Tensor(shape, gert::StorageFormat(), t.data ? gert::kOnHost : gert::kOnDeviceHbm,
                                 ge::DataType(t.dtype), const_cast<void*>(t.data)));
      descs.emplace_back(), descs.back().SetDataType(ge::DataType(t.dtype));
    }
  }
}
inline fe::PlatFormInfos infos_of(const ascendc_soc& s) {
  fe::PlatFormInfos infos;
  infos.soc = s.name, infos.cube_cores = s.cube_cores, infos.vector_cores = s.vector_cores;
  infos.ub = s.ub, infos.l1 = s.l1, infos.l0a = s.l0a, infos.l0b = s.l0b, infos.l0c = s.l0c;
  infos.l2 = s.l2, infos.hbm = s.hbm;
  return infos;
}
inline gert::Node node_of(const ascendc_call& call) {
  gert::Node node;
  node.name = node.type = call.type;
  fill(node, call.inputs, call.input_counts, call.input_parameters, node.inputs, node.input_descs, node.ir_inputs,
       node.input_places);
  fill(node, call.outputs, call.output_counts, call.output_parameters, node.outputs, node.output_descs, node.ir_outputs,
       node.output_places);
  std::vector<gert::AttrValue> attrs;
  for (size_t i = 0; i < call.attr_count; ++i) {
    const ascendc_attr& a = call.attrs[i];
    gert::AttrValue value;
    value.kind = gert::AttrValue::Kind(a.kind);
    value.whole = a.whole, value.flag = a.whole != 0, value.real = float(a.real), value.text = a.text ? a.text : "";
    if (a.wholes) value.wholes.assign(a.wholes, a.wholes + a.count);
    if (a.reals) value.reals.assign(a.reals, a.reals + a.count);
    if (a.lengths) value.lengths.assign(a.lengths, a.lengths + a.lists);
    attrs.push_back(std::move(value));
  }
  node.attrs = gert::RuntimeAttrs(std::move(attrs));
  const ascendc_soc& s = call.soc;
  node.own_platform.reset(new fe::PlatFormInfos(infos_of(s)));
  node.platform = node.own_platform.get();
  return node;
}

// What inference has written goes back to the caller.
inline void take_inferred(const gert::Node& node, const ascendc_call& call, bool dtypes) {
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    ascendc_tensor& t = call.outputs[i];
    const gert::Shape& shape = node.outputs[i]->GetOriginShape();
    t.rank = int32_t(shape.GetDimNum());
    for (int32_t d = 0; d < t.rank; ++d) t.dims[d] = shape.GetDim(size_t(d));
    if (dtypes) t.dtype = int32_t(node.outputs[i]->GetDataType());
  }
}

}  // namespace ophook::host
