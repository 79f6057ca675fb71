// Transforms between time and frequency.
#include "ge/rows/rows.h"
#include "kernels/signal.h"

namespace sim::ge_table {
namespace {

void planes_rule(Shaper& s) {
  require_type(s, 0, {kComplex64, kComplex128});
  matrices(s);
}

// Of real numbers, and back to them: the length is an input.
template <int32_t from, int32_t to>
void real_spectrum_rule(Shaper& s) {
  require_type(s, 0, {from});
  require_type(s, 1, {kInt32});
  one_number(s, 1, 2);
  Shape shape = s.shape(0);
  if (shape && shape->empty()) throw Refused("its input is a scalar, " + s.describe(0));
  if (shape) {
    const Dim length = at_or_unknown(s.values(1), 0);
    shape->back() = from == kFloat ? length / 2 + 1 : length;
  }
  s.out(to, shape);
}

struct Segments {
  int64_t size, hop, window;
  bool normalized, onesided;
};
// What is not told, or 0, follows from the length of a window.
Segments segments_of(const Call& call) {
  const int64_t size = call.integer("n_fft"), hop = call.integer("hop_length"), window = call.integer("win_length");
  return {.size = size,
          .hop = hop ? hop : size / 4,
          .window = window ? window : size,
          .normalized = call.flag("normalized"),
          .onesided = call.flag("onesided")};
}
void windows_rule(Shaper& s) {
  require_type(s, 0, {kFloat, kDouble, kComplex64, kComplex128});
  const Segments of = segments_of(s);
  const bool real = s.dtype(0) == kFloat || s.dtype(0) == kDouble;
  const bool wide_parts = s.dtype(0) == kDouble || s.dtype(0) == kComplex128;
  if (of.size < 1 || of.hop < 1 || of.window < 1 || of.window > of.size)
    throw Refused(c10::str("n_fft=", of.size, ", hop_length=", of.hop, ", win_length=", of.window));
  if (of.onesided && !real) throw Refused("onesided of complex numbers, " + s.describe(0));
  if (s.has(1)) require_shape(s, 1, known({of.window}), "has to be as long as win_length says");
  const bool complex = s.flag("return_complex");
  const int32_t type = complex ? (wide_parts ? kComplex128 : kComplex64) : (wide_parts ? kDouble : kFloat);
  Shape shape = s.shape(0);
  if (!shape) return s.out(type, std::nullopt);
  if (shape->empty() || shape->size() > 2) throw Refused("1 or 2 dimensions expected, not " + s.describe(0));
  const Dim length = shape->back();
  if (length < of.size) throw Refused(c10::str("n_fft=", of.size, " of ", s.describe(0)));
  shape->back() = of.onesided ? of.size / 2 + 1 : of.size;
  shape->push_back((length - of.size) / of.hop + 1);
  if (!complex) shape->push_back(2);
  s.out(type, shape);
}
at::Tensor spectra(const Args& a) {
  const Segments of = segments_of(a);
  return kernels::stft(a[0], a.count() > 1 ? a[1] : at::Tensor(), of.size, of.hop, of.window, of.normalized,
                       of.onesided, a.flag("return_complex"));
}

}  // namespace

const Family fourier_rows = {
    ROW(FFT, "x -> y", (one_of<kComplex64, kComplex128>), at::fft_fft(a[0])),
    ROW(IFFT, "x -> y", (one_of<kComplex64, kComplex128>), at::fft_ifft(a[0])),
    ROW(FFT2D, "x -> y", planes_rule, at::fft_fft2(a[0])),
    ROW(IFFT2D, "x -> y", planes_rule, at::fft_ifft2(a[0])),
    ROW(RFFT, "input fft_length -> y", (real_spectrum_rule<kFloat, kComplex64>), at::fft_rfft(a[0], a.need(1).at(0))),
    ROW(IRFFT, "x fft_length -> y", (real_spectrum_rule<kComplex64, kFloat>), at::fft_irfft(a[0], a.need(1).at(0))),
    ROW(STFT,
        "x window? -> y | hop_length:Int=0 win_length:Int=0 normalized:Bool=false onesided:Bool=true "
        "return_complex:Bool=true n_fft:Int",
        windows_rule, spectra(a)),
};

}  // namespace sim::ge_table
