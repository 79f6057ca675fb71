#include "print.h"

#include <cmath>
#include <cstdio>
#include <cstring>

#include "acl/acl.h"
#include "graph/types.h"

namespace gesim {
namespace {

// As torchair's kernel for eager mode writes a number: whole ones without a point, others with up to nine digits.
std::string number(double value) {
  char text[400];
  if (std::isnan(value)) return "nan";
  std::snprintf(text, sizeof text, std::isfinite(value) && value == std::floor(value) ? "%.0f" : "%.9g", value);
  return text;
}

using Writer = std::string (*)(const void* data, int64_t index);

template <typename T>
T value_at(const void* data, int64_t index) {
  T value;
  std::memcpy(&value, static_cast<const char*>(data) + size_t(index) * sizeof(T), sizeof(T));
  return value;
}

template <typename T>
std::string whole(const void* data, int64_t index) {
  return std::to_string(value_at<T>(data, index));
}

template <typename T>
std::string real(const void* data, int64_t index) {
  return number(double(value_at<T>(data, index)));
}

std::string half(const void* data, int64_t index) {
  return number(double(aclFloat16ToFloat(value_at<uint16_t>(data, index))));
}

// What writes an element; null where the data type cannot be printed.
Writer writer_of(int32_t dtype) {
  switch (dtype) {
    case ge::DT_FLOAT: return real<float>;
    case ge::DT_DOUBLE: return real<double>;
    case ge::DT_FLOAT16: return half;
    case ge::DT_INT8: return whole<int8_t>;
    case ge::DT_INT16: return whole<int16_t>;
    case ge::DT_INT32: return whole<int32_t>;
    case ge::DT_INT64: return whole<int64_t>;
    case ge::DT_UINT8:
    case ge::DT_BOOL: return whole<uint8_t>;
    case ge::DT_UINT16: return whole<uint16_t>;
    case ge::DT_UINT32: return whole<uint32_t>;
    case ge::DT_UINT64: return whole<uint64_t>;
    default: return nullptr;
  }
}

// The part of the tensor that begins with element `first`, from dimension `dim` on: of more than twice `some` entries
// the first and the last.
std::string part(const ge_tensor& tensor, int32_t dim, int64_t first, int64_t some) {
  if (dim == tensor.rank) return writer_of(tensor.dtype)(tensor.data, first);
  int64_t step = 1;
  for (int32_t i = dim + 1; i < tensor.rank; ++i) step *= tensor.dims[i];
  const int64_t count = tensor.dims[dim];
  const char* between = dim + 1 == tensor.rank ? " " : "\n ";
  std::string out = "[";
  for (int64_t i = 0; i < count; ++i) {
    if (i) out += between;
    if (some >= 0 && count > 2 * some && i == some) {
      out += std::string("...") + between;
      i = count - some;
    }
    out += part(tensor, dim + 1, first + i * step, some);
  }
  return out + "]";
}

}  // namespace

const char* engine_proto(const std::string& type) {
  if (type == "StringFormat") return "x* -> y | template:String=%s placeholder:String=%s summarize:Int=3";
  if (type == "PrintV2") return "x -> | output_stream:String=stderr";
  return nullptr;
}

bool makes_text(const Node& node) { return node.type == "StringFormat"; }
bool prints_text(const Node& node) { return node.type == "PrintV2"; }

std::string check_texts(const Graph& graph, int index) {
  const Node& node = graph.nodes[index];
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const Edge& edge = node.inputs[i];
    const bool text = edge.node >= 0 && makes_text(graph.nodes[edge.node]);
    if (text != prints_text(node))
      return text ? "it reads a text of StringFormat; PrintV2 alone does"
                  : "it prints what is no text of a StringFormat";
    if (makes_text(node) && !writer_of(node.input_desc[i].dtype))
      return "its input '" + node.input_desc[i].name + "' has a data type that cannot be printed";
  }
  if (!makes_text(node)) return "";
  const Attr* some = node.attr("summarize");
  return some && (some->i == 0 || some->i < -1)
             ? "summarize is " + std::to_string(some->i) + "; allowed: -1 for all, or how many of each end are printed"
             : "";
}

std::string format_text(const Node& node, const std::vector<ge_tensor>& values) {
  const Attr *told = node.attr("template"), *holder = node.attr("placeholder"), *some = node.attr("summarize");
  std::string text = told ? told->s : "%s";
  const std::string placeholder = holder ? holder->s : "%s";
  size_t from = 0;
  for (const ge_tensor& value : values) {
    const size_t at = placeholder.empty() ? std::string::npos : text.find(placeholder, from);
    if (at == std::string::npos) break;
    const std::string written = part(value, 0, 0, some ? some->i : 3);
    text.replace(at, placeholder.size(), written);
    from = at + written.size();
  }
  return text;
}

}  // namespace gesim
