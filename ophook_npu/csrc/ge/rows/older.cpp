// Types of torch_npu's older interface, which runs operators by type, that are libopapi's functions as well
// (ge/rows/as_aclnn.h).
#include "ge/rows/rows.h"

namespace sim::ge_table {
#define REDUCTION "reduction:String=mean"
#define REDUCED " reduction=reduction{none,mean,sum}"
const Family older = {
    // What is found: the sizes are those that the values give.
    {"MaskedSelect", "x mask -> y", "aclnnMaskedSelect self=x"},
    {"UniqueWithCountsAndSorting",
     "x -> y indices counts | return_inverse:Bool=false return_counts:Bool=false sorted:Bool=true",
     "aclnnUnique2 self=x inverseOut=indices countsOut=counts"},
    {"UniqueConsecutive", "x -> y idx count | return_idx:Bool=false return_counts:Bool=false axis:Int=1000",
     "aclnnUniqueConsecutive self=x returnInverse=return_idx dim=axis inverseOut=idx countsOut=count"},

    // Losses.
    {"MseLoss", "predict label -> y | " REDUCTION, "aclnnMseLoss self=predict target=label" REDUCED},
    {"MseLossGrad", "predict label dout -> y | " REDUCTION,
     "aclnnMseLossBackward gradOutput=dout self=predict target=label" REDUCED},
    {"BinaryCrossEntropy", "x y weight? -> output | " REDUCTION, "aclnnBinaryCrossEntropy self=x target=y" REDUCED},
    {"BinaryCrossEntropyGrad", "x y grad_output weight? -> output | " REDUCTION,
     "aclnnBinaryCrossEntropyBackward self=x target=y" REDUCED, same},
    {"SigmoidCrossEntropyWithLogitsV2", "predict target weight? pos_weight? -> loss | " REDUCTION,
     "aclnnBinaryCrossEntropyWithLogits self=predict" REDUCED},
    {"SigmoidCrossEntropyWithLogitsGradV2", "predict target dout weight? pos_weight? -> gradient | " REDUCTION,
     "aclnnBinaryCrossEntropyWithLogitsBackward self=predict gradOutput=dout" REDUCED},
    {"SigmoidCrossEntropyWithLogits", "predict target -> loss",
     "aclnnBinaryCrossEntropyWithLogits self=predict reduction=0"},
    {"SigmoidCrossEntropyWithLogitsGrad", "predict target dout -> gradient",
     "aclnnBinaryCrossEntropyWithLogitsBackward self=predict gradOutput=dout reduction=0"},
    {"SmoothL1LossV2", "predict label -> loss | sigma:Float=1.0 " REDUCTION,
     "aclnnSmoothL1Loss self=predict target=label beta=sigma" REDUCED},
    {"SmoothL1LossGradV2", "predict label dout -> gradient | sigma:Float=1.0 " REDUCTION,
     "aclnnSmoothL1LossBackward self=predict target=label gradOut=dout beta=sigma" REDUCED},
    {"LpLoss", "predict label -> y | p:Int=1 " REDUCTION, "aclnnL1Loss self=predict target=label" REDUCED},
    {"L1LossGrad", "grads predict label -> y | " REDUCTION,
     "aclnnL1LossBackward gradOutput=grads self=predict target=label" REDUCED},
    {"SoftMarginLoss", "input_x input_y -> output_z | " REDUCTION,
     "aclnnSoftMarginLoss self=input_x target=input_y" REDUCED},
    {"SoftMarginLossGrad", "predict label dout -> gradient | " REDUCTION,
     "aclnnSoftMarginLossBackward gradOutput=dout self=predict target=label" REDUCED},

    // Activations.
    {"Selu", "x -> y", "aclnnSelu self=x"},
    {"SeluGrad", "gradients outputs -> y", "aclnnSeluBackward gradOutput=gradients result=outputs"},
    {"CeluV2", "x -> y | alpha:Float=1.0", "aclnnCelu self=x"},
    {"SiluGrad", "dy x -> dx", "aclnnSiluBackward gradOutput=dy self=x"},
    {"SoftShrink", "input_x -> output_y | lambd:Float=0.5", "aclnnSoftshrink self=input_x"},
    {"SoftShrinkGrad", "input_grad input_x -> output_y | lambd:Float=0.5",
     "aclnnSoftshrinkBackward gradOutput=input_grad self=input_x lambda=lambd"},
    {"SoftplusV2Grad", "input_gradients input_features -> output_backprops | beta:Float=1.0 threshold:Float=20.0",
     "aclnnSoftplusBackward gradOutput=input_gradients self=input_features"},
    {"ThresholdV2D", "x -> y | threshold:Float value:Float", "aclnnThreshold self=x"},
    {"ScaledMaskedSoftmax", "x mask? -> y | scale:Float=1.0 fixed_triu_mask:Bool=false",
     "aclnnScaledMaskedSoftmax fixTriuMask=fixed_triu_mask"},
    {"ScaledMaskedSoftmaxGrad", "y_grad y mask? -> x_grad | scale:Float=1.0 fixed_triu_mask:Bool=false",
     "aclnnScaledMaskedSoftmaxBackward gradOutput=y_grad fixTriuMask=fixed_triu_mask"},

    // Norms.
    {"AddLayerNorm", "x1 x2 gamma beta bias? -> y mean rstd x | epsilon:Float=1e-5 additional_output:Bool=false",
     "aclnnAddLayerNorm"},
    {"AddLayerNormGrad", "dy x1 x2 rstd mean gamma dsum? -> dx dgamma dbeta", "aclnnAddLayerNormGrad"},
    {"DeepNorm", "x gx beta gamma -> mean rstd y | alpha:Float=0.3 epsilon:Float=1e-6", "aclnnDeepNorm"},
    {"DeepNormGrad", "dy x gx gamma mean rstd -> dx dgx dbeta dgamma | alpha:Float=0.3", "aclnnDeepNormGrad"},
    {"GroupNormSwish",
     "x gamma beta -> y mean rstd | num_groups:Int data_format:String=NCHW eps:Float=0.00001 activate_swish:Bool=true "
     "swish_scale:Float=1.0",
     "aclnnGroupNormSwish"},

    // Along dimensions.
    {"Cummax", "x -> y indices | dim:Int", "aclnnCummax self=x indicesOut:int64"},
    {"Cummin", "x -> y indices | axis:Int", "aclnnCummin self=x dim=axis"},
    {"ReduceMeanD", "x -> y | axes:ListInt keep_dims:Bool=false noop_with_empty_axes:Bool=false",
     "aclnnMeanV2 self=x dim=axes keepDim=keep_dims"},
    {"Roll", "x -> y | shifts:ListInt dims:ListInt={}", "aclnnRoll"},
    {"ShuffleChannel", "x -> y | group:Int=1", "aclnnChannelShuffle self=x groups=group"},
    {"Histogram", "x -> y | bins:Int=100 min:Float=0.0 max:Float=0.0", "aclnnHistc self=x"},

    // Of matrices and vectors.
    {"Diag", "x -> y | diagonal:Int=0", "aclnnDiag self=x"},
    {"DiagPart", "x -> y | diagonal:Int=0", "aclnnDiag self=x"},
    {"Eye", " -> y | num_rows:Int num_columns:Int=0 batch_shape:ListInt={} dtype:Int=0",
     "aclnnEye n=num_rows m=num_columns out:dtype"},
    {"Trace", "x -> y", "aclnnTrace self=x"},
    {"Dot", "input_x input_y -> output", "aclnnDot self=input_x tensor=input_y"},
    {"Cross", "x1 x2 -> y | dim:Int=-65530", "aclnnLinalgCross self=x1 other=x2"},
    {"Pdist", "x -> y | p:Float=2.0", "aclnnPdist self=x"},
    {"LogMatrixDeterminant", "x -> sign y", "aclnnSlogdet self=x logOut=y"},
    {"MatrixInverse", "x -> y | adjoint:Bool=false", "aclnnInverse self=x"},
    {"Svd", "x -> sigma u v | compute_uv:Bool=true full_matrices:Bool=false", "aclnnSvd input=x"},
    {"Qr", "x -> q r | full_matrices:Bool=false", "aclnnLinalgQr self=x mode=full_matrices"},

    // Of two tensors.
    {"TensorEqual", "input_x input_y -> output_z", "aclnnEqual self=input_x other=input_y out:bool"},
    {"IsClose", "x1 x2 -> y | rtol:Float=1e-05 atol:Float=1e-08 equal_nan:Bool=false", "aclnnIsClose self=x1 other=x2"},
    {"LeftShift", "x y -> z", "aclnnLeftShift self=x shiftBits=y"},

    // Images and volumes.
    {"UpsampleNearest3d", "x -> y | output_size:ListInt={} scales:ListFloat={}",
     "aclnnUpsampleNearest3d self=x scalesD=0 scalesH=0 scalesW=0"},
    {"UpsampleNearest3dGrad", "grad_output -> y | input_size:ListInt output_size:ListInt={} scales:ListFloat={}",
     "aclnnUpsampleNearest3dBackward gradOut=grad_output scalesD=0 scalesH=0 scalesW=0"},
    {"UpsampleTrilinear3d", "x -> y | output_size:ListInt={} scales:ListFloat={} align_corners:Bool=false",
     "aclnnUpsampleTrilinear3d self=x scalesD=0 scalesH=0 scalesW=0"},
    {"UpsampleTrilinear3dGrad",
     "grad_output -> y | input_size:ListInt output_size:ListInt={} scales:ListFloat={} align_corners:Bool=false",
     "aclnnUpsampleTrilinear3dBackward gradOut=grad_output scalesD=0 scalesH=0 scalesW=0"},

    {"LogSpaceD", "assist -> y | start:Float end:Float steps:Int=100 base:Float=10.0 dtype:Int=1",
     "aclnnLogSpace -assist -dtype result:assist"},
};

}  // namespace sim::ge_table
