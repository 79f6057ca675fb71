// Which operator types exist, with their prototypes: the operator table's own, and those that libraries register with
// REG_OP. A library's prototype goes before the table's, the first library before the later ones.
#pragma once

#include <string>
#include <vector>

#include "graph/operator_factory.h"
#include "kernels.h"
#include "operator_impl.h"

namespace gesim {

// The operator table in libopapi.so; every pointer is NULL where that library is not loaded.
struct Kernels {
  decltype(&ophook_ge_proto) proto = nullptr;
  decltype(&ophook_ge_type) type = nullptr;
  decltype(&ophook_ge_each_run) each_run = nullptr;
  decltype(&ophook_ge_check) check = nullptr;
  decltype(&ophook_ge_infer) infer = nullptr;
  decltype(&ophook_ge_run) run = nullptr;
};
const Kernels& kernels();

// The installed custom operator packages, most important first.
std::vector<std::string> package_folders();

// Loads the op_proto libraries of the installed custom operator packages, once: $ASCEND_CUSTOM_OPP_PATH, then
// $ASCEND_OPP_PATH/vendors in the order of vendors/config.ini's load_priority.
void load_custom_protos();
// One line for each library that was found and could not be loaded.
const std::vector<std::string>& custom_proto_errors();

bool registered(const std::string& type);  // by a library or by the table
bool registered_by_library(const std::string& type);
ge::Operator create(const std::string& name, const std::string& type);  // IsEmpty() where the type is unknown
const ge::InferShapeFunc* infer_function(const std::string& type);
const ge::VerifyFunc* verify_function(const std::string& type);

}  // namespace gesim
