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
    AS_INPUTS(Tile, "x -> y | multiples:ListInt"),
    AS_INPUTS(ReverseV2, "x -> y | axis:ListInt"),
    AS_INPUTS(Slice, "x -> y | offsets:ListInt size:ListInt"),
    AS_INPUTS(StridedSlice,
              "x -> y | begin:ListInt end:ListInt strides:ListInt begin_mask:Int=0 end_mask:Int=0 ellipsis_mask:Int=0 "
              "new_axis_mask:Int=0 shrink_axis_mask:Int=0"),
    AS_INPUTS(ResizeNearestNeighborV2, "x -> y | size:ListInt align_corners:Bool=false half_pixel_centers:Bool=false"),
    AS_INPUTS(ResizeBilinearV2, "x -> y | align_corners:Bool=false half_pixel_centers:Bool=false size:ListInt"),
    AS_INPUTS(ScatterNd, "indices x -> y | shape:ListInt"),
    AS_INPUTS(SplitV, "x -> y* | size_splits:ListInt split_dim:Int num_split:Int"),
    AS_INPUTS(HistogramFixedWidth, "x range -> y | nbins:Int dtype:Int=3"),
    AS_INPUTS(InTopK, "x1 x2 -> y | k:Int"),
    // The ascending numbers of assist_seq are how a device counts places.
    AS_INPUTS(TopK, "x assist_seq -> values indices | k:Int sorted:Bool=true dim:Int=-1 largest:Bool=true"),
    AS_INPUTS(TopKV2, "x k assist_seq -> values indices | sorted:Bool=true dim:Int=-1 largest:Bool=true"),
};

}  // namespace
}  // namespace sim::ge_table
