// Where the tensors of a call are among its parameters.
#pragma once

#include "opapi/objects.h"

namespace sim::aclnn {

using HeldList = c10::SmallVector<Held, 8>;
using GivenList = c10::SmallVector<Given, 8>;

struct Place {
  size_t parameter;
  int64_t member;  // of a list; -1: no list

  template <typename All>
  at::Tensor& in(All& held) const {
    return member < 0 ? std::get<at::Tensor>(held[parameter]) : std::get<Tensors>(held[parameter])[size_t(member)];
  }
};

enum class Use { in, out, resized, list };  // a list is of inputs, or of outputs

// Calls see(Place, const aclTensor&, Use) for each tensor that is there.
template <typename See>
void each_tensor(c10::ArrayRef<Given> parameters, See see) {
  for (const Given& given : parameters) {
    const auto position = size_t(&given - parameters.begin());
    const auto tell = [&](const aclTensor* tensor, Use use, int64_t member = -1) {
      if (tensor) see(Place{position, member}, *tensor, use);
    };
    if (const In* input = std::get_if<In>(&given)) tell(*input, Use::in);
    else if (const Out* output = std::get_if<Out>(&given)) tell(*output, Use::out);
    else if (const Resized* space = std::get_if<Resized>(&given)) tell(space->tensor, Use::resized);
    else if (const List* list = std::get_if<List>(&given); list && *list)
      for (size_t i = 0; i < (*list)->tensors.size(); ++i) tell((*list)->tensors[i], Use::list, int64_t(i));
  }
}

}  // namespace sim::aclnn
