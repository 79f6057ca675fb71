// Types of the graph engine that end in D: what is an input of the others is an attribute of theirs.
#include "ge/rows/rows.h"

namespace sim::ge_table {
namespace {

const Family as_inputs_rows = {
#define AS_INPUTS(type, prototype)           \
  {                                          \
    #type "D", prototype, AsInputs { #type } \
  }
#define OVER "x -> y | axes:ListInt keep_dims:Bool=false"
    AS_INPUTS(ReduceSum, OVER),
    AS_INPUTS(ReduceMax, OVER),
    AS_INPUTS(ReduceMin, OVER),
    AS_INPUTS(ReduceAll, OVER),
    AS_INPUTS(ReduceAny, OVER),
    AS_INPUTS(ReduceProd, OVER),
    AS_INPUTS(EuclideanNorm, "x -> y | axes:ListInt={} keep_dims:Bool=false"),
    AS_INPUTS(CumulativeLogsumexp, "x -> y | axis:Int exclusive:Bool=false reverse:Bool=false"),
    AS_INPUTS(Cumsum, "x -> y | axis:Int exclusive:Bool=false reverse:Bool=false"),
    AS_INPUTS(Cumprod, "x -> y | axis:Int exclusive:Bool=false reverse:Bool=false"),
    AS_INPUTS(BroadcastTo, "x -> y | shape:ListInt"),
    AS_INPUTS(Expand, "x -> y | shape:ListInt"),
    AS_INPUTS(Fill, "value -> y | dims:ListInt"),
    AS_INPUTS(FillV2, "-> y | value:Float=0 dims:ListInt"),
    AS_INPUTS(Transpose, "x -> y | perm:ListInt"),
    AS_INPUTS(SpaceToBatchND, "x -> y | block_shape:ListInt paddings:ListInt"),
    AS_INPUTS(BatchToSpaceND, "x -> y | block_shape:ListInt crops:ListInt"),
    AS_INPUTS(GatherV2, "x indices -> y | axis:Int"),
    AS_INPUTS(OneHot, "x on_value off_value -> y | depth:Int axis:Int=-1"),
    {"ArgMaxD", "x -> y | dimension:Int dtype:Type=9", AsInputs{"ArgMaxV2", kInt32}},
    {"ArgMinD", "x -> y | dimension:Int dtype:Type=9", AsInputs{"ArgMin", kInt32}},
    AS_INPUTS(Tile, "x -> y | multiples:ListInt"),
    AS_INPUTS(ReverseV2, "x -> y | axis:ListInt"),
    AS_INPUTS(Slice, "x -> y | offsets:ListInt size:ListInt"),
    AS_INPUTS(StridedSlice,
              "x -> y | begin:ListInt end:ListInt strides:ListInt begin_mask:Int=0 end_mask:Int=0 ellipsis_mask:Int=0 "
              "new_axis_mask:Int=0 shrink_axis_mask:Int=0"),
    AS_INPUTS(StridedSliceAssign,
              "var input_value -> var | begin:ListInt end:ListInt strides:ListInt begin_mask:Int=0 end_mask:Int=0 "
              "ellipsis_mask:Int=0 new_axis_mask:Int=0 shrink_axis_mask:Int=0"),
    AS_INPUTS(ResizeNearestNeighborV2, "x -> y | size:ListInt align_corners:Bool=false half_pixel_centers:Bool=false"),
    AS_INPUTS(ResizeBilinearV2, "x -> y | align_corners:Bool=false half_pixel_centers:Bool=false size:ListInt"),
    AS_INPUTS(ScatterNd, "indices x -> y | shape:ListInt"),
    AS_INPUTS(Split, "x -> y* | split_dim:Int num_split:Int"),
    AS_INPUTS(SplitV, "x -> y* | size_splits:ListInt split_dim:Int num_split:Int"),
    AS_INPUTS(HistogramFixedWidth, "x range -> y | nbins:Int dtype:Int=3"),
    AS_INPUTS(InTopK, "x1 x2 -> y | k:Int"),
    // The ascending numbers of assist_seq are how a device counts places.
    AS_INPUTS(TopK, "x assist_seq -> values indices | k:Int sorted:Bool=true dim:Int=-1 largest:Bool=true"),
    AS_INPUTS(TopKV2, "x k assist_seq -> values indices | sorted:Bool=true dim:Int=-1 largest:Bool=true"),
};

}  // namespace
}  // namespace sim::ge_table
