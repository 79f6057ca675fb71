// In the place of the header of this name that operator projects include.
#pragma once

#include "../details/op_def.h"

#define REGISTER_OP_AICORE_CONFIG(type, soc, function) \
  static const ophook::host::ConfigRegistration ophook_config_##type##_##soc(#type, #soc, function)
