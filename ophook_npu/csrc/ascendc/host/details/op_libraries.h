// Operators' libraries that a program loads, and what each registers.
#pragma once

#include <dlfcn.h>

#include <cstdio>
#include <memory>
#include <vector>

#include "op_impl.h"

namespace gert {

// Libraries, and the package that they are of.
class OppSoDesc {
 public:
  OppSoDesc(const ge::AscendString& path, const ge::AscendString& package)
      : OppSoDesc(std::vector<ge::AscendString>{path}, package) {}
  OppSoDesc(const std::vector<ge::AscendString>& paths, const ge::AscendString& package)
      : paths_(paths), package_(package) {}
  std::vector<ge::AscendString> GetSoPaths() const { return paths_; }
  ge::AscendString GetPackageName() const { return package_; }

 private:
  std::vector<ge::AscendString> paths_;
  ge::AscendString package_;
};

class OpImplSpaceRegistryV2 {
 public:
  // They stay loaded: what they register points into them.
  ge::graphStatus AddSoToRegistry(const OppSoDesc& libraries) {
    for (const ge::AscendString& path : libraries.GetSoPaths())
      if (add(path.GetString()) != ge::GRAPH_SUCCESS) return ge::GRAPH_FAILED;
    return ge::GRAPH_SUCCESS;
  }
  // Null: none of the libraries registers anything about it.
  const OpImplFunctionsV2* GetOpImpl(const ge::char_t* type) const {
    for (const Ask ask : asked_)
      if (const void* found = ask(type)) return static_cast<const OpImplFunctionsV2*>(found);
    return nullptr;
  }

 private:
  using Ask = const void* (*)(const char*);
  ge::graphStatus add(const char* path) {
    const bool named = path && *path;  // without a name it would be the program
    void* library = named ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
    if (!library) {
      fprintf(stderr, "[simulated Ascend] %s\n", named ? dlerror() : "an operators' library has no path");
      return ge::GRAPH_FAILED;
    }
    // One without a registry of its own has told that of programs.
    void* ask = dlsym(library, "ascendc_functions");
    if (!ask) ask = dlsym(library, "ophook_registered_functions");
    if (!ask) {
      fprintf(stderr, "[simulated Ascend] %s registers no operators; link it with -lexe_graph or -lopp_registry\n",
              path);
      return ge::GRAPH_FAILED;
    }
    asked_.push_back(reinterpret_cast<Ask>(ask));
    return ge::GRAPH_SUCCESS;
  }
  std::vector<Ask> asked_;
};

class DefaultOpImplSpaceRegistryV2 {
 public:
  static DefaultOpImplSpaceRegistryV2& GetInstance() {
    static DefaultOpImplSpaceRegistryV2 all;
    return all;
  }
  // Null before one is set.
  const std::shared_ptr<OpImplSpaceRegistryV2>& GetSpaceRegistry() const { return registry_; }
  void SetSpaceRegistry(const std::shared_ptr<OpImplSpaceRegistryV2>& registry) { registry_ = registry; }
  void ClearSpaceRegistry() { registry_.reset(); }

 private:
  std::shared_ptr<OpImplSpaceRegistryV2> registry_;
};

}  // namespace gert
