// What every file over ATen includes first: ATen, as far as it is called, and the rows' header. The builder compiles it
// once and hands it to all of them: parsing it is most of what such a file costs. A guard: g++ warns of #pragma once in
// a header that it precompiles, and CI has -Werror.
#ifndef OPHOOK_OPAPI_PREFIX_H
#define OPHOOK_OPAPI_PREFIX_H

#include <functional>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include "kernels/aten.h"
#include "opapi/aclnn.h"

// The compiler finds these by itself; they are named because the builder sees changes of what stands in quotes.
#include "light/ATen/Context.h"
#include "light/ATen/DeviceGuard.h"
#include "light/ATen/TensorUtils.h"
#include "light/ATen/TracerMode.h"

#endif
