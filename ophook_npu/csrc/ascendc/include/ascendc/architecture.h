// What the device's compiler defines by itself, so that a source may ask before it includes anything.
#pragma once

#ifndef __NPU_ARCH__
#if !defined(__CCE_AICORE__) || __CCE_AICORE__ == 220  // Atlas A2 and A3
#define __NPU_ARCH__ 2201
#elif __CCE_AICORE__ == 310
#define __NPU_ARCH__ 3510
#elif __CCE_AICORE__ == 200
#define __NPU_ARCH__ 2002
#elif __CCE_AICORE__ == 300
#define __NPU_ARCH__ 3002
#endif
#endif
