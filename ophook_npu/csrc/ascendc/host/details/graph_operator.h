// ge::Operator and its tensors: what functions take that the graph engine asks about an operator (SetCheckSupport,
// say).
#pragma once

#include <map>
#include <memory>
#include <typeinfo>
#include <utility>
#include <vector>

#include "graph_types.h"

#ifdef OPHOOK_CANN_GRAPH
#include "graph/operator.h"
#include "graph/tensor.h"
#else
namespace ge {

class Shape {
 public:
  Shape() = default;
  explicit Shape(const std::vector<int64_t>& dims) : dims_(dims) {}
  size_t GetDimNum() const { return dims_.size(); }
  int64_t GetDim(size_t i) const { return i < dims_.size() ? dims_[i] : 0; }
  graphStatus SetDim(size_t i, int64_t value) {
    if (i >= dims_.size()) return GRAPH_FAILED;
    return dims_[i] = value, GRAPH_SUCCESS;
  }
  std::vector<int64_t> GetDims() const { return dims_; }
  int64_t GetShapeSize() const {
    int64_t size = 1;
    for (const int64_t dim : dims_) size *= dim;
    return size;
  }

 private:
  std::vector<int64_t> dims_;
};

class TensorDesc {
 public:
  TensorDesc() = default;
  explicit TensorDesc(Shape shape, Format format = FORMAT_ND, DataType type = DT_FLOAT)
      : shape_(shape), origin_shape_(std::move(shape)), format_(format), origin_format_(format), type_(type) {}
  void Update(const Shape& shape, Format format = FORMAT_ND, DataType type = DT_FLOAT) {
    shape_ = shape, format_ = format, type_ = type;
  }
  Shape GetShape() const { return shape_; }
  void SetShape(const Shape& shape) { shape_ = shape; }
  Shape GetOriginShape() const { return origin_shape_; }
  void SetOriginShape(const Shape& shape) { origin_shape_ = shape; }
  Format GetFormat() const { return format_; }
  void SetFormat(Format format) { format_ = format; }
  Format GetOriginFormat() const { return origin_format_; }
  void SetOriginFormat(Format format) { origin_format_ = format; }
  DataType GetDataType() const { return type_; }
  void SetDataType(DataType type) { type_ = type; }
  graphStatus GetName(AscendString& name) const { return name = name_, GRAPH_SUCCESS; }
  void SetName(const char_t* name) { name_ = name; }

 private:
  AscendString name_;
  Shape shape_, origin_shape_;
  Format format_ = FORMAT_ND, origin_format_ = FORMAT_ND;
  DataType type_ = DT_FLOAT;
};

class Operator {
 public:
  Operator() = default;
  Operator(const char_t* name, const char_t* type) : name_(name), type_(type) {}
  graphStatus GetName(AscendString& name) const { return name = name_, GRAPH_SUCCESS; }
  graphStatus GetOpType(AscendString& type) const { return type = type_, GRAPH_SUCCESS; }
  size_t GetInputsSize() const { return inputs_.size(); }
  size_t GetOutputsSize() const { return outputs_.size(); }
  TensorDesc GetInputDesc(uint32_t i) const { return i < inputs_.size() ? inputs_[i].second : TensorDesc(); }
  TensorDesc GetOutputDesc(uint32_t i) const { return i < outputs_.size() ? outputs_[i].second : TensorDesc(); }
  TensorDesc GetInputDescByName(const char_t* name) const { return by_name(inputs_, name); }
  TensorDesc GetOutputDescByName(const char_t* name) const { return by_name(outputs_, name); }
  graphStatus UpdateInputDesc(const char_t* name, const TensorDesc& desc) { return update(inputs_, name, desc); }
  graphStatus UpdateOutputDesc(const char_t* name, const TensorDesc& desc) { return update(outputs_, name, desc); }
  template <typename T>
  graphStatus GetAttr(const char_t* name, T& value) const {
    const auto found = attrs_.find(name);
    if (found == attrs_.end() || *found->second.type != typeid(T)) return GRAPH_FAILED;
    return value = *static_cast<const T*>(found->second.value.get()), GRAPH_SUCCESS;
  }
  template <typename T>
  Operator& SetAttr(const char_t* name, const T& value) {
    return attrs_[name] = {&typeid(T), std::make_shared<T>(value)}, *this;
  }

 private:
  using Tensors = std::vector<std::pair<AscendString, TensorDesc> >;
  static TensorDesc by_name(const Tensors& tensors, const char_t* name) {
    for (const auto& own : tensors)
      if (own.first == name) return own.second;
    return TensorDesc();
  }
  static graphStatus update(Tensors& tensors, const char_t* name, const TensorDesc& desc) {
    for (auto& own : tensors)
      if (own.first == name) return own.second = desc, GRAPH_SUCCESS;
    return tensors.emplace_back(name, desc), GRAPH_SUCCESS;
  }
  AscendString name_, type_;
  Tensors inputs_, outputs_;
  struct Attribute {
    const std::type_info* type;
    std::shared_ptr<void> value;
  };
  std::map<AscendString, Attribute> attrs_;
};

}  // namespace ge
#endif
