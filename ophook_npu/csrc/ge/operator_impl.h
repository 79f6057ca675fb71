// What stands behind ge::Operator and ge::AttrValue: an operator's prototype and the values of one instance.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "graph/attr_value.h"
#include "graph/operator.h"

namespace ge {

using AttrData = std::variant<std::monostate, int64_t, float, bool, std::string, DataType, Tensor, std::vector<int64_t>,
                              std::vector<float>, std::vector<bool>, std::vector<std::string>, std::vector<DataType>,
                              std::vector<Tensor>, std::vector<uint8_t>, std::vector<std::vector<int64_t>>>;

using AttrMap = std::map<std::string, AttrData>;

class AttrValueImpl {
 public:
  AttrData data;
};

// An input or output of a prototype.
struct IrPort {
  enum Kind { kRequired, kOptional, kDynamic };
  std::string name;
  Kind kind;
};

struct IrAttr {
  std::string name;
  std::string type;  // "VT_INT", as GetRegisteredIrDef tells it
  bool required;
};

class OperatorImpl;

// An output of another operator, which an input reads.
struct IrSource {
  std::shared_ptr<OperatorImpl> from;
  size_t port = 0;
};
class OpIO : public IrSource {};  // what ge::Operator calls it

class OperatorImpl {
 public:
  std::string name, type;
  std::vector<IrPort> inputs, outputs;
  std::vector<IrAttr> ir_attrs;
  AttrMap attrs;                                               // defaults, then what was set
  std::vector<std::pair<std::string, TensorDesc>> input_desc;  // instances: dynamic ports spread out as x0, x1, …
  std::vector<std::pair<std::string, TensorDesc>> output_desc;
  std::map<std::string, AttrMap> input_attrs, output_attrs;  // of one input or output, by its name
  std::map<std::string, bool> spread_subgraphs;  // of the prototype: whether an instance has several of this name
  std::vector<std::string> subgraphs;
  InferenceContextPtr context;
  // Of a graph that a program builds (graph_build.cpp).
  std::map<std::string, IrSource> sources;            // by the input's name
  std::vector<std::shared_ptr<OperatorImpl>> before;  // what must run first
  std::vector<std::weak_ptr<OperatorImpl>> readers;   // those that have this one in `sources` or `before`
  std::string problem;                                // why it cannot be part of a graph
};

// ge::Operator names these two as friends.
class OpDescUtils {
 public:
  static OperatorImpl* impl(const Operator& op) { return op.operator_impl_.get(); }
  static const std::shared_ptr<OperatorImpl>& shared(const Operator& op) { return op.operator_impl_; }
};

// "Int" of REQUIRED_ATTR(x, Int) -> "VT_INT".
std::string attr_type_name(const std::string& declared);

}  // namespace ge
