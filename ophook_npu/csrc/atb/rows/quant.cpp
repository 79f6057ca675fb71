// Quantization, and normalization with it.
#include "atb/operation.h"
#include "kernels/norm_quant.h"
#include "kernels/quant.h"

using namespace sim::atblib;

ATB_ROW(QuantPerChannel, "ElewiseOperation", (In, x, In, scale, In, offset, Out, out), when_run(),
        write(out, sim::quant::quantized_by(x, scale, offset.numel() ? offset : at::Tensor(), at::kChar)))
ATB_ROW(QuantRmsNorm, "RmsNormOperation", (In, x, In, gamma, In, beta, In, scale, In, offset, double, eps, Out, out),
        when_run(),
        sim::quant::write_quantized(out, sim::quant::steps_of(sim::quant::rms_normal(x, gamma, beta, eps), scale,
                                                              offset, true)))

struct QuantPerChannelRules {
  using Param = infer::ElewiseParam;
  static constexpr const char* name = "ElewiseOperation";
  static std::string types(const Param&) { return "hhc>c bbc>c"; }
  static void parameters(const Param& p) {
    ATB_SIMULATED(p.elewiseType == p.ELEWISE_QUANT_PER_CHANNEL, "elewiseType ", int(p.elewiseType));
  }
  static void shapes(const Param&, const Descs& in, Descs& out) {
    out[0] = in[0];
    out[0].dtype = ACL_INT8;
  }
  static int prepare(const Param&, Arguments& a) {
    return QuantPerChannel_prepare(a, a.in(0), a.in(1), a.in(2), a.out(0));
  }
};
ATB_OPERATION(QuantPerChannelRules)

struct QuantRmsNormRules {
  using Param = infer::RmsNormParam;
  static constexpr const char* name = "RmsNormOperation";
  static std::string types(const Param&) { return "hhhhc>c bbbbc>c"; }
  static void parameters(const Param& p) {
    ATB_SIMULATED(p.layerType == p.RMS_NORM_NORM && p.normParam.quantType == infer::QUANT_INT8 &&
                      p.normParam.dynamicQuantType == infer::DYNAMIC_QUANT_UNDEFINED,
                  "layerType ", int(p.layerType), " with quantType ", int(p.normParam.quantType));
    ATB_CHECK(!p.normParam.rstd && p.normParam.precisionMode == p.HIGH_PRECISION_MODE &&
                  p.normParam.modelType == p.LLAMA_MODEL,
              ERROR_INVALID_PARAM, "rstd, precisionMode or modelType with quantization; allowed: none of them");
  }
  static void shapes(const Param&, const Descs& in, Descs& out) {
    out[0] = in[0];
    out[0].dtype = ACL_INT8;
  }
  static int prepare(const Param& p, Arguments& a) {
    return QuantRmsNorm_prepare(a, a.in(0), a.in(1), a.in(2), a.in(3), a.in(4), p.normParam.epsilon, a.out(0));
  }
};
ATB_OPERATION(QuantRmsNormRules)
