// Aipp, which atc --insert_op_conf puts between an input of the model and its readers.
#include "ge/aipp_parameters.h"
#include "ge/rows/rows.h"
#include "kernels/aipp.h"

namespace sim::ge_table {
namespace {

using kernels::AippImage;
using kernels::AippSource;
using kernels::ImageFormat;

// The network's input: channels, height, width; a size of -1 is a gear's.
Dims network_of(const Call& call) {
  const Dims sizes = call.integers("network");
  if (sizes.size() != 3 || (sizes[0] != 1 && sizes[0] != 3))
    throw Refused(c10::str("network ", sizes, "; allowed: 1 or 3 channels, height and width"));
  return sizes;
}
bool channels_last(const Call& call) { return call.text("layout") == "NHWC"; }
bool is_static(const Call& call) { return call.integer("aipp_mode") == 1; }

int64_t sum(const Call& call, const char* one, const char* other) { return call.integer(one) + call.integer(other); }

// Of the part that is used: cut out as large as the network's input where no size is written.
Dim used(const Call& call, const char* size, const Dim& source, int64_t network) {
  if (!call.flag("crop")) return source;
  const int64_t written = call.integer(size);
  return written ? written : network;
}

// Static: the images are (n, height, width, channels), of YUV420SP (n, height * 3/2, width, 1). Dynamic: they have the
// network's sizes, and so many bytes for each of its pixels that the largest images fit (sim/atc/aipp_graph.py).
void aipp_rule(Shaper& s) {
  if (!s.text("aipp_config_path").empty()) throw Refused("atc reads the file of aipp_config_path, a graph does not");
  const Dims network = network_of(s);
  const Shape x = s.shape(0);
  if (x && x->size() != 4) throw Refused("its images have 4 dimensions, they are " + s.describe(0));
  if (s.dtype(0) != kUint8) throw Refused("its images are uint8, they are " + s.describe(0));
  if (is_static(s) == s.has(1)) throw Refused("dynamic AIPP reads parameters, static AIPP none");
  const int32_t type = int32_t(s.integer("dst_type"));
  if (!x) return s.out(type, known({unknown, unknown, unknown, unknown}));
  Dim height = (*x)[1], width = (*x)[2];
  if (is_static(s)) {
    const auto format = ImageFormat(s.integer("input_format"));
    const int64_t channels = format == ImageFormat::xrgb8888 ? 4 : format == ImageFormat::rgb888 ? 3 : 1;
    if (!may_be(known({(*x)[3]}), known({channels})))
      throw Refused(c10::str("images of input_format ", s.integer("input_format"), " with ", channels,
                             " channels; they are ", s.describe(0)));
    if (format == ImageFormat::yuv400 && network[0] != 1)
      throw Refused("images of YUV400_U8 for a network with 3 channels are not simulated");
    if (s.integer("input_format") == int64_t(ImageFormat::yuv420sp)) height = height * 2 / 3;
    height = used(s, "crop_size_h", height, network[1]);
    width = used(s, "crop_size_w", width, network[2]);
    if (s.flag("padding")) {
      height = height + sum(s, "top_padding_size", "bottom_padding_size");
      width = width + sum(s, "left_padding_size", "right_padding_size");
    }
  }
  if (channels_last(s)) return s.out(type, known({(*x)[0], height, width, network[0]}));
  s.out(type, known({(*x)[0], network[0], height, width}));
}

AippSource source_of(const Args& a) {
  AippSource source{ImageFormat(a.integer("input_format")), a[0].size(1), a[0].size(2)};
  if (source.format == ImageFormat::yuv420sp) source.height = source.height * 2 / 3;
  source.swapped = a.flag("rbuv_swap_switch");
  source.alpha_first = a.flag("ax_swap_switch");
  source.converts = a.flag("csc_switch");
  for (size_t i = 0; i < 3; ++i) {
    const std::string row = std::to_string(i);
    for (size_t j = 0; j < 3; ++j)
      source.matrix[3 * i + j] = a.integer(("matrix_r" + row + "c" + std::to_string(j)).c_str());
    source.input_bias[i] = a.integer(("input_bias_" + row).c_str());
    source.output_bias[i] = a.integer(("output_bias_" + row).c_str());
  }
  return source;
}
AippImage image_of(const Args& a, const AippSource& source) {
  const Dims network = network_of(a);
  AippImage image;
  if (a.flag("crop")) image.top = a.integer("load_start_pos_h"), image.left = a.integer("load_start_pos_w");
  image.height = used(a, "crop_size_h", source.height, network[1]).size();
  image.width = used(a, "crop_size_w", source.width, network[2]).size();
  if (a.flag("padding"))
    image.padding_top = a.integer("top_padding_size"), image.padding_left = a.integer("left_padding_size");
  for (size_t i = 0; i < 3; ++i) {
    const std::string channel = "_chn_" + std::to_string(i);
    image.mean[i] = a.integer(("mean" + channel).c_str());
    image.least[i] = c10::Half(float(a.real(("min" + channel).c_str())));
    image.factor[i] = c10::Half(float(a.real(("var_reci" + channel).c_str())));
  }
  return image;
}

AippSource source_of(const aipp::Common& given) {
  if (given.format < 1 || given.format > 4)
    throw Refused(c10::str("its parameters have the image format ", int(given.format),
                           "; allowed: 1 to 4. aclmdlSetInputAIPP writes them before the model runs"));
  AippSource source{ImageFormat(given.format), given.height, given.width};
  source.swapped = given.swapped, source.alpha_first = given.alpha_first, source.converts = given.converts;
  std::copy_n(given.matrix, 9, source.matrix.begin());
  std::copy_n(given.input_bias, 3, source.input_bias.begin());
  std::copy_n(given.output_bias, 3, source.output_bias.begin());
  return source;
}
AippImage image_of(const aipp::Image& given, const AippSource& source) {
  AippImage image;
  image.height = source.height, image.width = source.width;
  if (given.crops) image = {given.top, given.left, given.height, given.width};
  if (given.pads) image.padding_top = given.padding_top, image.padding_left = given.padding_left;
  for (size_t i = 0; i < 3; ++i) {
    image.mean[i] = given.mean[i];
    image.least[i] = c10::Half(given.least[i], c10::Half::from_bits());
    image.factor[i] = c10::Half(given.factor[i], c10::Half::from_bits());
  }
  return image;
}

void compute(const Args& a, const AippSource& source, int64_t index, const AippImage& how, double padding,
             const at::Tensor& out) {
  if (source.height < 1 || source.width < 1 || source.bytes() * (index + 1) > a[0].numel())
    throw Refused(c10::str("image ", index, " of ", source.height, " by ", source.width, " does not lie in ",
                           a[0].numel(), " bytes"));
  if (how.top < 0 || how.left < 0 || how.height < 0 || how.width < 0 || how.top + how.height > source.height ||
      how.left + how.width > source.width)
    throw Refused(c10::str("what is cut out, ", how.height, " by ", how.width, " at ", how.top, ", ", how.left,
                           ", lies outside of an image of ", source.height, " by ", source.width));
  if (how.height + how.padding_top > out.size(1) || how.width + how.padding_left > out.size(2))
    throw Refused(c10::str("an image of ", how.height, " by ", how.width, " does not fit into ", out.sizes()));
  if (source.format == ImageFormat::yuv400 && out.size(0) != 1)
    throw Refused("images of YUV400_U8 for a network with 3 channels are not simulated");
  kernels::aipp(a[0].const_data_ptr<uint8_t>() + index * source.bytes(), source, how, padding, out);
}

at::Tensor aipp_run(const Args& a) {
  const at::Tensor out = a.output(0), planes = channels_last(a) ? out.permute({0, 3, 1, 2}) : out;
  if (is_static(a)) {
    const AippSource source = source_of(a);
    const AippImage how = image_of(a, source);
    for (int64_t i = 0; i < planes.size(0); ++i) compute(a, source, i, how, a.real("padding_value"), planes[i]);
    return out;
  }
  const at::Tensor parameters = a[1];
  if (parameters.numel() < int64_t(sizeof(aipp::Common) + size_t(planes.size(0)) * sizeof(aipp::Image)))
    throw Refused(c10::str("its parameters are ", parameters.numel(), " bytes for ", planes.size(0), " images"));
  const auto* const common = reinterpret_cast<const aipp::Common*>(parameters.const_data_ptr<uint8_t>());
  const auto* const images = reinterpret_cast<const aipp::Image*>(common + 1);
  const AippSource source = source_of(*common);
  for (int64_t i = 0; i < planes.size(0); ++i)
    compute(a, source, i, image_of(images[i], source), 0, planes[i]);  // no function sets another value for padding
  return out;
}

}  // namespace

const Family aipp_rows = {
// As CANN names them in its attribute "aipp". The last ones say what the network takes.
#define SIZES                                                                                                    \
  "src_image_size_w:Int=0 src_image_size_h:Int=0 crop:Bool=false load_start_pos_w:Int=0 load_start_pos_h:Int=0 " \
  "crop_size_w:Int=0 crop_size_h:Int=0 resize:Bool=false resize_output_w:Int=0 resize_output_h:Int=0 "           \
  "padding:Bool=false left_padding_size:Int=0 right_padding_size:Int=0 top_padding_size:Int=0 "                  \
  "bottom_padding_size:Int=0 padding_value:Float=0.0 cpadding_value:Float=0.0 single_line_mode:Bool=false "
#define COLORS                                                                                                       \
  "csc_switch:Bool=false rbuv_swap_switch:Bool=false ax_swap_switch:Bool=false matrix_r0c0:Int=0 matrix_r0c1:Int=0 " \
  "matrix_r0c2:Int=0 matrix_r1c0:Int=0 matrix_r1c1:Int=0 matrix_r1c2:Int=0 matrix_r2c0:Int=0 matrix_r2c1:Int=0 "     \
  "matrix_r2c2:Int=0 output_bias_0:Int=0 output_bias_1:Int=0 output_bias_2:Int=0 input_bias_0:Int=0 "                \
  "input_bias_1:Int=0 input_bias_2:Int=0 "
#define NORMALIZATION                                                                                            \
  "mean_chn_0:Int=0 mean_chn_1:Int=0 mean_chn_2:Int=0 mean_chn_3:Int=0 min_chn_0:Float=0.0 min_chn_1:Float=0.0 " \
  "min_chn_2:Float=0.0 min_chn_3:Float=0.0 var_reci_chn_0:Float=1.0 var_reci_chn_1:Float=1.0 "                   \
  "var_reci_chn_2:Float=1.0 var_reci_chn_3:Float=1.0 "
    ROW(Aipp,
        "images params? -> features | aipp_mode:Int related_input_rank:Int=0 input_format:Int=0 "
        "max_src_image_size:Int=0 aipp_config_path:String= "
        "support_rotation:Bool=false " SIZES COLORS NORMALIZATION
        "network:ListInt layout:String=NCHW dst_type:Int=1 src_type:Int=0",
        aipp_rule, aipp_run(a)),
};

}  // namespace sim::ge_table
