// Models that a program converts itself (aclgrph…): `atc` does the work, as for a file. A graph that was parsed goes to
// it as AIR, and what comes back is the offline model.
#include "include/ge/ge_ir_build_model.h"

#include <cstring>
#include <mutex>

#include "acl/error_codes/ge_error_codes.h"
#include "core/command.h"
#include "core/sim.h"
#include "graph/operator_factory.h"
#include "graph_impl.h"
#include "include/parser/caffe_parser.h"
#include "include/parser/onnx_parser.h"
#include "include/parser/tensorflow_parser.h"
#include "session.h"

namespace ge {
namespace {

namespace command = sim::command;

struct Process {
  std::mutex mutex;
  bool ready = false;
  OldOptions options;
};
Process& process() {
  static auto* one = new Process;
  return *one;
}

graphStatus refuse(const std::string& why) {
  sim_fail(ACL_ERROR_GE_PARAM_INVALID, "%s", why.c_str());
  return GRAPH_PARAM_INVALID;
}

// What atc makes of a model; it says itself why it makes nothing.
graphStatus convert(const char* caller, const OldOptions& options, std::vector<std::string> line,
                    const command::Folder& folder, const std::filesystem::path& made) {
  line.insert(line.begin(), command::tool("atc").string());
  for (const auto& [key, value] : options)
    if (!value.empty()) line.push_back("--" + key + "=" + value);
  const std::filesystem::path log = folder.path / "log";
  if (command::run(line, log) == 0 && std::filesystem::exists(made)) return GRAPH_SUCCESS;
  const std::string said = command::read(log);
  const size_t code = said.find("\nE");  // what comes before is the same for all
  return refuse(std::string(caller) + ": " +
                (said.empty() ? "atc does not start" : said.substr(code == std::string::npos ? 0 : code + 1)));
}

graphStatus parse(const char* caller, const OldOptions& options, std::vector<std::string> line, Graph& graph) {
  const command::Folder folder;
  if (folder.path.empty()) return refuse(std::string(caller) + ": no folder can be made for the graph");
  const std::filesystem::path made = folder.path / "graph.air";
  line.insert(line.end(), {"--mode=graph", "--output=" + made.string()});
  if (const graphStatus failed = convert(caller, options, line, folder, made)) return failed;
  AscendString name;
  const graphStatus named = graph.GetName(name);
  Graph loaded(named == GRAPH_SUCCESS && name.GetLength() ? name.GetString() : "graph");
  if (const graphStatus failed = loaded.LoadFromFile(made.c_str())) return failed;
  graph = loaded;
  return GRAPH_SUCCESS;
}

}  // namespace

graphStatus aclgrphParseONNX(const char_t* model, const Options& params, Graph& graph) {
  if (!model) return refuse("aclgrphParseONNX: model_file is null");
  return parse("aclgrphParseONNX", plain(params), {"--framework=5", std::string("--model=") + model}, graph);
}

graphStatus aclgrphParseONNXFromMem(const char_t* bytes, size_t size, const Options& params, Graph& graph) {
  const command::Folder folder;
  const std::filesystem::path model = folder.path / "model.onnx";
  if (!bytes || folder.path.empty() || !command::write(model, std::string(bytes, size)))
    return refuse("aclgrphParseONNXFromMem: no buffer, or it cannot be written to " + model.string());
  return parse("aclgrphParseONNXFromMem", plain(params), {"--framework=5", "--model=" + model.string()}, graph);
}

graphStatus aclgrphParseCaffe(const char_t* model, const char_t* weights, const Options& params, Graph& graph) {
  if (!model || !weights) return refuse("aclgrphParseCaffe: model_file or weights_file is null");
  return parse("aclgrphParseCaffe", plain(params),
               {"--framework=0", std::string("--model=") + model, std::string("--weight=") + weights}, graph);
}

graphStatus aclgrphParseTensorFlow(const char_t*, const Options&, Graph&) {
  return refuse("aclgrphParseTensorFlow: models of TensorFlow are not simulated");
}

graphStatus aclgrphBuildInitialize(Options& options) { return aclgrphBuildInitialize(plain(options)); }
graphStatus aclgrphBuildInitialize(OldOptions options) {
  std::lock_guard<std::mutex> lock(process().mutex);
  process().ready = true, process().options = std::move(options);
  return GRAPH_SUCCESS;
}

void aclgrphBuildFinalize() {
  std::lock_guard<std::mutex> lock(process().mutex);
  process().ready = false, process().options.clear();
}

graphStatus aclgrphBuildModel(const Graph& graph, const Options& options, ModelBufferData& model) {
  return aclgrphBuildModel(graph, plain(options), model);
}
graphStatus aclgrphBuildModel(const Graph& graph, const OldOptions& given, ModelBufferData& model) {
  OldOptions options = given;
  {
    std::lock_guard<std::mutex> lock(process().mutex);
    if (!process().ready) return refuse("aclgrphBuildModel: aclgrphBuildInitialize was not called");
    options.insert(process().options.begin(), process().options.end());
  }
  const command::Folder folder;
  if (folder.path.empty()) return refuse("aclgrphBuildModel: no folder can be made for the model");
  const std::filesystem::path air = folder.path / "model.air", output = folder.path / "model.om";
  if (const graphStatus failed = graph.SaveToFile(air.c_str())) return failed;
  const std::vector<std::string> line{"--framework=1", "--model=" + air.string(), "--exact_output=1",
                                      "--output=" + output.string()};
  if (const graphStatus failed = convert("aclgrphBuildModel", options, line, folder, output)) return failed;
  const std::string bytes = command::read(output);
  model.data = std::shared_ptr<uint8_t>(new uint8_t[bytes.size()], std::default_delete<uint8_t[]>());
  model.length = bytes.size();
  std::memcpy(model.data.get(), bytes.data(), bytes.size());
  return GRAPH_SUCCESS;
}

// Its inputs come from the caller, and all of its outputs go there.
graphStatus aclgrphGenerateForOp(const AscendString& type, const std::vector<TensorDesc>& inputs,
                                 const std::vector<TensorDesc>& outputs, Graph& graph) {
  const std::string caller = "aclgrphGenerateForOp: ", named = type.GetString();
  const Operator op = OperatorFactory::CreateOperator(named.c_str(), named.c_str());
  if (op.IsEmpty()) return refuse(caller + "no prototype is registered for operator type " + named);
  OperatorImpl& impl = *OpDescUtils::impl(op);
  if (inputs.size() > impl.input_desc.size() || outputs.size() != impl.output_desc.size())
    return refuse(caller + named + " takes " + std::to_string(impl.input_desc.size()) + " inputs and gives " +
                  std::to_string(impl.output_desc.size()) + " outputs; how many a dynamic one has cannot be told");
  std::vector<Operator> data;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].GetDataType() == DT_UNDEFINED) continue;  // an optional one that is absent
    data.emplace_back(("input" + std::to_string(i)).c_str(), "Data");
    OpDescUtils::impl(data.back())->output_desc.emplace_back("y", inputs[i]);
    impl.sources[impl.input_desc[i].first] = {OpDescUtils::shared(data.back()), 0};
    impl.input_desc[i].second = inputs[i];
  }
  for (size_t i = 0; i < outputs.size(); ++i) impl.output_desc[i].second = outputs[i];
  Graph made(named.c_str());
  made.SetInputs(data).SetOutputs(std::vector<Operator>{op});
  if (!made.IsValid()) return refuse(caller + "no graph comes of this: " + GraphUtils::impl(made)->problem);
  graph = made;
  return GRAPH_SUCCESS;
}

graphStatus aclgrphSaveModel(const std::string& file, const ModelBufferData& model) {
  return aclgrphSaveModel(file.c_str(), model);
}
graphStatus aclgrphSaveModel(const char_t* file, const ModelBufferData& model) {
  if (!file || !model.data || !model.length) return refuse("aclgrphSaveModel: no file name, or no model");
  std::string path = file;
  if (path.size() < 3 || path.compare(path.size() - 3, 3, ".om") != 0) path += ".om";
  if (command::write(path, std::string(reinterpret_cast<const char*>(model.data.get()), model.length)))
    return GRAPH_SUCCESS;
  return refuse("aclgrphSaveModel: " + path + " cannot be written");
}

graphStatus aclgrphGetIRVersion(int* major, int* minor, int* patch) {
  if (!major || !minor || !patch) return refuse("aclgrphGetIRVersion: an argument is null");
  *major = 1, *minor = 0, *patch = 0;
  return GRAPH_SUCCESS;
}

}  // namespace ge
