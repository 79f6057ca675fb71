// Instructions that Ascend 950 alone has and that headers of CANN's operators name for every product: they are
// declared, and a kernel that calls one does not compile.
#pragma once

namespace AscendC {
namespace of_950 {
template <typename...>
constexpr bool here = false;
}

#define OPHOOK_OF_950(name)                                                          \
  template <typename... Given>                                                       \
  __aicore__ inline void name(const Given&...) {                                     \
    static_assert(of_950::here<Given...>, #name " is an instruction of Ascend 950"); \
  }
OPHOOK_OF_950(Ands)
OPHOOK_OF_950(Ors)
#undef OPHOOK_OF_950
template <typename T, RoundMode roundMode, typename... Given>
__aicore__ inline void Truncate(const Given&...) {
  static_assert(of_950::here<Given...>, "Truncate is an instruction of Ascend 950");
}

// Without bodies: templates that no kernel uses name them with fixed arguments, which a compiler would instantiate. A
// kernel that calls one is not loaded, and the message names it.
class Mutex {
 public:
  template <pipe_t pipe>
  static __aicore__ void Lock(const uint8_t);
  template <pipe_t pipe>
  static __aicore__ void Unlock(const uint8_t);
};

}  // namespace AscendC
