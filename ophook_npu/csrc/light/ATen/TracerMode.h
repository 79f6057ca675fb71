// Empty, in front of ATen's own: see kernels/aten.h.
#pragma once
