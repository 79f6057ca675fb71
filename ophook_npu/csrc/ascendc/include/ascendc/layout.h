// Shapes, strides and coordinates as tuples, and layouts that map one to places in memory.
#pragma once

#include "enums.h"
#include "runtime.h"
#include "std.h"

namespace AscendC {

template <typename... Ts>
using Shape = Std::tuple<Ts...>;
template <typename... Ts>
using Stride = Std::tuple<Ts...>;
template <typename... Ts>
using Coord = Std::tuple<Ts...>;
template <typename... Ts>
__aicore__ inline constexpr Shape<Ts...> MakeShape(const Ts&... t) {
  return {t...};
}
template <typename... Ts>
__aicore__ inline constexpr Stride<Ts...> MakeStride(const Ts&... t) {
  return {t...};
}
template <typename... Ts>
__aicore__ inline constexpr Coord<Ts...> MakeCoord(const Ts&... t) {
  return {t...};
}

template <typename ShapeType, typename StrideType>
struct Layout;
template <typename T>
struct is_layout : Std::false_type {};
template <typename ShapeType, typename StrideType>
struct is_layout<Layout<ShapeType, StrideType>> : Std::true_type {};
template <typename T>
constexpr bool is_layout_v = is_layout<T>::value;

namespace layout_details {
template <typename T>
struct is_tuple : std::false_type {};
template <typename... Ts>
struct is_tuple<std::tuple<Ts...>> : std::true_type {};
template <typename T>
constexpr int64_t size(const T& shape) {
  if constexpr (is_tuple<T>::value)
    return std::apply([](const auto&... each) { return (int64_t(1) * ... * size(each)); }, shape);
  else return int64_t(shape);
}
template <typename C, typename S, typename D>
constexpr int64_t place(const C& coord, const S& shape, const D& stride);
template <typename C, typename S, typename D, size_t... I>
constexpr int64_t place_each(const C& coord, const S& shape, const D& stride, std::index_sequence<I...>) {
  if constexpr (is_tuple<C>::value)
    return (int64_t(0) + ... + place(std::get<I>(coord), std::get<I>(shape), std::get<I>(stride)));
  else {  // a number counts through the dimensions, the first one fastest
    int64_t rest = int64_t(coord), sum = 0;
    auto next = [&](bool last, int64_t size) {
      const int64_t one = last ? rest : rest % size;
      if (!last) rest /= size;  // the last one may be of any size, 0 too
      return one;
    };
    ((sum += place(next(I + 1 == sizeof...(I), size(std::get<I>(shape))), std::get<I>(shape), std::get<I>(stride))),
     ...);
    return sum;
  }
}
template <typename C, typename S, typename D>
constexpr int64_t place(const C& coord, const S& shape, const D& stride) {
  if constexpr (is_tuple<S>::value)
    return place_each(coord, shape, stride, std::make_index_sequence<std::tuple_size_v<S>>());
  else return int64_t(coord) * int64_t(stride);
}
template <typename T>
struct is_known : std::false_type {};
template <auto v>
struct is_known<std::integral_constant<decltype(v), v>> : std::true_type {};
template <typename... Ts>
struct is_known<std::tuple<Ts...>> : std::bool_constant<(is_known<Ts>::value && ...)> {};
// Of numbers that are types the result is one too.
template <typename C, typename S, typename D>
constexpr auto place_of(const C& coord, const S& shape, const D& stride) {
  if constexpr (is_known<C>::value && is_known<S>::value && is_known<D>::value)
    return Std::Int<size_t(place(C{}, S{}, D{}))>{};
  else return place(coord, shape, stride);
}
}  // namespace layout_details

template <typename CoordType, typename ShapeType, typename StrideType,
          typename = std::enable_if_t<!is_layout<ShapeType>::value>>
__aicore__ inline constexpr auto Crd2Idx(const CoordType& coord, const ShapeType& shape, const StrideType& stride) {
  return layout_details::place_of(coord, shape, stride);
}
template <typename CoordType, typename ShapeType, typename StrideType>
__aicore__ inline constexpr auto Crd2Idx(const CoordType& coord, const Layout<ShapeType, StrideType>& layout) {
  return layout_details::place_of(coord, layout.GetShape(), layout.GetStride());
}

template <typename ShapeType, typename StrideType>
struct Layout : private Std::tuple<ShapeType, StrideType> {
  __aicore__ constexpr Layout(const ShapeType& shape = {}, const StrideType& stride = {})
      : Std::tuple<ShapeType, StrideType>(shape, stride) {}
  __aicore__ constexpr decltype(auto) layout() { return *this; }
  __aicore__ constexpr decltype(auto) layout() const { return *this; }
  __aicore__ constexpr decltype(auto) GetShape() { return Std::get<0>(Tuple()); }
  __aicore__ constexpr decltype(auto) GetShape() const { return Std::get<0>(Tuple()); }
  __aicore__ constexpr decltype(auto) GetStride() { return Std::get<1>(Tuple()); }
  __aicore__ constexpr decltype(auto) GetStride() const { return Std::get<1>(Tuple()); }
  template <typename CoordType>
  __aicore__ constexpr auto operator()(const CoordType& coord) const {
    return Crd2Idx(coord, *this);
  }

 private:
  constexpr Std::tuple<ShapeType, StrideType>& Tuple() { return *this; }
  constexpr const Std::tuple<ShapeType, StrideType>& Tuple() const { return *this; }
};
template <typename ShapeType, typename StrideType>
__aicore__ inline constexpr auto MakeLayout(const ShapeType& shape, const StrideType& stride) {
  return Layout<ShapeType, StrideType>(shape, stride);
}

namespace layout_details {
// One that has no numbers takes no room, although two empty tuples of one type do.
template <typename L, bool empty = std::is_empty_v<L>>
struct Kept {
  constexpr Kept(const L& of) : layout(of) {}
  L layout;
};
template <typename L>
struct Kept<L, true> {
  constexpr Kept(const L&) {}
  static inline L layout;
};
}  // namespace layout_details
// What a tensor's type may say beside the type of its elements: where it lies and how. As large as an element, since
// functions of the interface ask for the size of a tensor's type.
template <typename T, TPosition pos = TPosition::GM, typename LayoutType = Layout<Shape<>, Stride<>>>
struct alignas(sizeof(T)) TensorTrait : private layout_details::Kept<LayoutType> {
  static_assert(ophook::rt::dtype_of<T>() != ophook::rt::Dtype::other &&
                    ophook::rt::dtype_of<T>() != ophook::rt::Dtype::f64 &&
                    ophook::rt::dtype_of<T>() != ophook::rt::Dtype::b8,
                "TensorTrait: int4b_t, whole numbers, half, bfloat16_t and float");
  static_assert(is_layout<LayoutType>::value, "TensorTrait: its third argument is a Layout");
  using LiteType = T;
  using LiteLayoutType = LayoutType;
  static constexpr const TPosition tPos = pos;
  __aicore__ constexpr TensorTrait(const LayoutType& t = {}) : layout_details::Kept<LayoutType>(t) {}
  __aicore__ LayoutType& GetLayout() { return this->layout; }
  __aicore__ const LayoutType& GetLayout() const { return this->layout; }
  __aicore__ void SetLayout(const LayoutType& t) { this->layout = t; }
  __aicore__ decltype(auto) GetShape() const { return this->layout.GetShape(); }
  __aicore__ decltype(auto) GetStride() const { return this->layout.GetStride(); }
};
template <typename T, TPosition pos, typename LayoutType>
__aicore__ inline constexpr auto MakeTensorTrait(const LayoutType& t) {
  return TensorTrait<T, pos, LayoutType>(t);
}
template <typename T>
struct is_tensorTrait : Std::false_type {};
template <typename T, TPosition pos, typename LayoutType>
struct is_tensorTrait<TensorTrait<T, pos, LayoutType>> : Std::true_type {};
template <typename T>
constexpr bool is_tensorTrait_v = is_tensorTrait<T>::value;

}  // namespace AscendC
