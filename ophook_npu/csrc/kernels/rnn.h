// Recurrent layers over time-major sequences: x is (T, B, input), states are (B, hidden), results (T, B, hidden). A
// mask (T, B, 1 or hidden) says which steps count: another keeps the state and gives 0; undefined, all do.
#pragma once

#include <array>

#include "kernels/tensors.h"

namespace sim::kernels {

// ---- LSTM ----------------------------------------------------------------------------------------------------------
struct Lstm {
  std::array<int64_t, 4> places;  // where the gates i, j (the cell's candidate), f and o stand in a weight
  bool reversed;                  // time is walked from its end
  double forget_bias = 0;
};
struct LstmInput {
  at::Tensor x, w_x, w_h, mask;
};
// y, h, c, i, j, f, o and tanh(c) of each step.
Tensors lstm(const LstmInput& of, const at::Tensor& bias, at::Tensor h, at::Tensor c, const Lstm& how);
// A weight whose rows are those of the input, and after them those of the state.
struct LstmWeight {
  at::Tensor x, h;
};
LstmWeight split_weight(const at::Tensor& weight, int64_t inputs);
at::Tensor joined_weight(const at::Tensor& w_x, const at::Tensor& w_h);
// A first state (batch, hidden) from one with more dimensions, in float; zeros where it is absent.
at::Tensor first_state(const at::Tensor& given, int64_t batch, int64_t hidden);
struct LstmSaved {
  at::Tensor h0, c0, h, c, i, j, f, o, tanh_c;
};
struct LstmGradients {
  at::Tensor dw_x, dw_h, dx, db, dh, dc;
};
// dy: of the results; dh and dc: of the last states.
LstmGradients lstm_backward(const LstmInput& of, const LstmSaved& saved, const at::Tensor& dy, at::Tensor dh,
                            at::Tensor dc, const Lstm& how);

// ---- GRU: the gates r and z stand in front, in either order; the candidate is last ---------------------------------
// h, z, r, the candidate, and the candidate's part that comes from the state.
Tensors gru(const at::Tensor& x, const at::Tensor& w_x, const at::Tensor& w_h, const at::Tensor& b_x,
            const at::Tensor& b_h, at::Tensor h, bool reset_first, bool reset_after = true);
struct GruSaved {
  at::Tensor h0, h, z, r, candidate, inner_h;
};
// dw_x, dw_h, db_x, db_h, dx, dh
Tensors gru_backward(const at::Tensor& x, const at::Tensor& w_x, const at::Tensor& w_h, const GruSaved& saved,
                     const at::Tensor& dy, at::Tensor dh, bool reset_first);

}  // namespace sim::kernels
