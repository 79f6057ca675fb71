// Numbers compressed for their way to the host.

#include "kernels/compression.h"

#include "opapi/aclnn.h"

using namespace sim::aclnn;
namespace compression = sim::compression;

// `gathered`: whether what several cores wrote is put together. Here one writes all.
ACLNN(HansEncode, (In, numbers, Ref, counts, bool, count, bool, gathered, Out, mantissa, Out, fixed, Out, rest),
      compression::encoded_like(numbers, {mantissa, fixed, rest, counts}),
      compression::encode(numbers, count, {mantissa, fixed, rest, counts}))
ACLNN(HansDecode, (In, mantissa, In, fixed, In, rest, In, counts, bool, gathered, Out, numbers),
      compression::parts_like(numbers, {mantissa, fixed, rest, counts}),
      compression::decode({mantissa, fixed, rest, counts}, numbers))
