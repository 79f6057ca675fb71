// Writes a graph as ge.proto.ModelDef: what parse.cpp reads.
#include <algorithm>
#include <cstring>
#include <iterator>

#include "ir.h"

namespace gesim {
namespace {

class Message {
 public:
  void number(uint32_t field, int64_t value) { varint(field << 3), varint(uint64_t(value)); }
  void real(uint32_t field, float value) { varint(field << 3 | 5), raw(value); }
  void bytes(uint32_t field, const void* data, size_t size) {
    varint(field << 3 | 2), varint(size);
    out_.append(static_cast<const char*>(data), size);
  }
  void text(uint32_t field, const std::string& value) { bytes(field, value.data(), value.size()); }
  // What `fill` writes, as a message.
  template <typename F>
  void message(uint32_t field, F fill) {
    Message inside;
    fill(inside);
    text(field, inside.out_);
  }
  void numbers(uint32_t field, const std::vector<int64_t>& values) {
    if (values.empty()) return;
    Message inside;
    for (const int64_t value : values) inside.varint(uint64_t(value));
    text(field, inside.out_);
  }
  void reals(uint32_t field, const std::vector<float>& values) {
    if (values.empty()) return;
    Message inside;
    for (const float value : values) inside.raw(value);
    text(field, inside.out_);
  }
  const std::string& written() const { return out_; }

 private:
  void varint(uint64_t value) {
    for (; value > 0x7f; value >>= 7) out_ += char(value | 0x80);
    out_ += char(value);
  }
  void raw(float value) { out_.append(reinterpret_cast<const char*>(&value), sizeof value); }
  std::string out_;
};

int64_t to_proto(int32_t dtype) {
  const auto found = std::find(std::begin(kFromProto), std::end(kFromProto), dtype);
  return found == std::end(kFromProto) ? 0 : found - std::begin(kFromProto);
}

void attribute(Message& to, uint32_t field, const std::string& name, const Attr& value);

void describe(Message& to, uint32_t field, const Desc& desc) {
  to.message(field, [&](Message& out) {
    out.text(1, desc.name);
    out.number(2, to_proto(desc.dtype));
    out.message(3, [&](Message& shape) { shape.numbers(1, desc.dims); });
    out.text(4, desc.layout);
    if (!desc.device.empty()) out.text(14, desc.device);
    for (const auto& [name, value] : desc.attrs) attribute(out, 5, name, value);
    if (!desc.format) return;
    Attr format, origin;
    format.kind = Attr::kInt, format.i = desc.format;
    origin.kind = Attr::kInts, origin.ints = desc.dims;
    attribute(out, 5, "format_for_int", format), attribute(out, 5, "origin_shape", origin);
  });
}

// An empty list tells its kind by a number of its own.
void list(Message& out, const Attr& value) {
  static const std::pair<Attr::Kind, int64_t> kDeclared[] = {
      {Attr::kStrings, 1}, {Attr::kInts, 2}, {Attr::kFloats, 3}, {Attr::kBools, 4}, {Attr::kTypes, 10}};
  for (const std::string& one : value.strings) out.text(2, one);
  if (value.kind != Attr::kStrings && value.kind != Attr::kFloats)
    out.numbers(value.kind == Attr::kBools ? 5 : value.kind == Attr::kTypes ? 12 : 3, value.ints);
  out.reals(4, value.floats);
  for (const auto& [kind, declared] : kDeclared)
    if (kind == value.kind) out.number(20, declared);
}

void attribute(Message& to, uint32_t field, const std::string& name, const Attr& value) {
  to.message(field, [&](Message& entry) {
    entry.text(1, name);
    entry.message(2, [&](Message& out) {
      switch (value.kind) {
        case Attr::kNone: break;
        case Attr::kString: out.text(2, value.s); break;
        case Attr::kInt: out.number(3, value.i); break;
        case Attr::kFloat: out.real(4, value.f); break;
        case Attr::kBool: out.number(5, value.i); break;
        case Attr::kType: out.number(15, value.i); break;
        case Attr::kTensor:
          out.message(12, [&](Message& tensor) {
            describe(tensor, 1, value.desc);
            if (value.data) tensor.bytes(2, value.data->data(), value.data->size());
          });
          break;
        case Attr::kIntLists:
          out.message(14, [&](Message& lists) {
            for (const auto& one : value.lists) lists.message(1, [&](Message& inside) { inside.numbers(1, one); });
          });
          break;
        default: out.message(1, [&](Message& inside) { list(inside, value); });
      }
    });
  });
}

}  // namespace

std::string model_of(const Graph& graph) {
  Message model;
  model.text(1, graph.name);
  model.message(7, [&](Message& out) {
    out.text(1, graph.name);
    for (const auto& [name, value] : graph.attrs) attribute(out, 11, name, value);
    for (const Node& node : graph.nodes)
      out.message(6, [&](Message& op) {
        op.text(1, node.name), op.text(2, node.type);
        for (const Edge& edge : node.inputs)
          op.text(5, edge.node < 0 ? "" : graph.nodes[size_t(edge.node)].name + ":" + std::to_string(edge.port));
        for (const int before : node.control) op.text(5, graph.nodes[size_t(before)].name + ":-1");
        for (const auto& [name, value] : node.attrs) attribute(op, 10, name, value);
        for (const Desc& desc : node.input_desc) describe(op, 33, desc);
        for (const Desc& desc : node.output_desc) describe(op, 34, desc);
      });
  });
  return model.written();
}

}  // namespace gesim
