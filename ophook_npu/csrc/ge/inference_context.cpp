// libgraph: what inference functions of resources share beside shapes. This engine carries none of it from node to
// node: a context is that of one call, and says that nothing is known of a resource, unless a program sets its own.
#include "graph/inference_context.h"

#include <map>

#include "core/log.h"
#include "operator_impl.h"

namespace ge {

class ShapeAndTypeImpl {
 public:
  Shape shape;
  DataType type = DT_UNDEFINED;
};

ShapeAndType::ShapeAndType() : shape_and_type_impl_(std::make_shared<ShapeAndTypeImpl>()) {}
ShapeAndType::ShapeAndType(const Shape& shape, DataType type) : ShapeAndType() {
  SetShape(shape);
  SetType(type);
}
void ShapeAndType::SetShape(const Shape& shape) { shape_and_type_impl_->shape = shape; }
void ShapeAndType::SetType(DataType type) { shape_and_type_impl_->type = type; }
Shape ShapeAndType::GetShape() const { return shape_and_type_impl_->shape; }
DataType ShapeAndType::GetDataType() const { return shape_and_type_impl_->type; }

struct InnerInferenceContext {
  using Handles = std::vector<std::vector<ShapeAndType>>;
  Handles in, out;
  std::vector<std::string> marks;
  std::map<AscendString, ResourceContext*> resources;
  std::set<AscendString> relied_on, changed;
};

InferenceContext::InferenceContext(std::unique_ptr<InnerInferenceContext>& inner)
    : inner_inference_context_(std::move(inner)) {}
std::unique_ptr<InferenceContext> InferenceContext::Create(void*) {
  auto inner = std::make_unique<InnerInferenceContext>();
  return std::unique_ptr<InferenceContext>(new InferenceContext(inner));
}

const std::vector<std::vector<ShapeAndType>>& InferenceContext::GetInputHandleShapesAndTypes() const {
  return inner_inference_context_->in;
}
const std::vector<std::vector<ShapeAndType>>& InferenceContext::GetOutputHandleShapesAndTypes() const {
  return inner_inference_context_->out;
}
void InferenceContext::SetInputHandleShapesAndTypes(std::vector<std::vector<ShapeAndType>>&& handles) {
  inner_inference_context_->in = std::move(handles);
}
void InferenceContext::SetOutputHandleShapesAndTypes(const std::vector<std::vector<ShapeAndType>>& handles) {
  inner_inference_context_->out = handles;
}
void InferenceContext::SetOutputHandleShapesAndTypes(std::vector<std::vector<ShapeAndType>>&& handles) {
  inner_inference_context_->out = std::move(handles);
}

void InferenceContext::SetMarks(const std::vector<std::string>& marks) { inner_inference_context_->marks = marks; }
void InferenceContext::SetMarks(const std::vector<AscendString>& marks) {
  inner_inference_context_->marks.clear();
  for (const AscendString& one : marks) inner_inference_context_->marks.emplace_back(one.GetString());
}
const std::vector<std::string>& InferenceContext::GetMarks() const { return inner_inference_context_->marks; }
void InferenceContext::GetMarks(std::vector<AscendString>& marks) const {
  marks.clear();
  for (const std::string& one : inner_inference_context_->marks) marks.emplace_back(one.c_str());
}

ResourceContext* InferenceContext::GetResourceContext(const AscendString& key) {
  const auto found = inner_inference_context_->resources.find(key);
  return found == inner_inference_context_->resources.end() ? nullptr : found->second;
}
graphStatus InferenceContext::SetResourceContext(const AscendString& key, ResourceContext* context) {
  inner_inference_context_->resources[key] = context;
  return GRAPH_SUCCESS;
}
graphStatus InferenceContext::RegisterReliedOnResourceKey(const AscendString& key) {
  inner_inference_context_->relied_on.insert(key);
  return GRAPH_SUCCESS;
}
graphStatus InferenceContext::AddChangedResourceKey(const AscendString& key) {
  inner_inference_context_->changed.insert(key);
  return GRAPH_SUCCESS;
}
const std::set<AscendString>& InferenceContext::GetReliedOnResourceKeys() const {
  return inner_inference_context_->relied_on;
}
const std::set<AscendString>& InferenceContext::GetChangedResourceKeys() const {
  return inner_inference_context_->changed;
}
void InferenceContext::ClearChangedResourceKeys() { inner_inference_context_->changed.clear(); }

void Operator::SetInferenceContext(const InferenceContextPtr& context) {
  if (operator_impl_) operator_impl_->context = context;
}
InferenceContextPtr Operator::GetInferenceContext() const {
  return operator_impl_ && operator_impl_->context ? operator_impl_->context : InferenceContext::Create();
}

}  // namespace ge

// MindSpore's library of prototypes declares this one of the log as C++, and links libgraph alone.
__attribute__((visibility("default"))) int CheckLogLevel(int, int level) { return sim_log_wanted("GE", level); }
