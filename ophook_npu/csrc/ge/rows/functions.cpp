// Types whose arithmetic, checks and shapes are those of libopapi's functions (ge/rows/as_aclnn.h).
#include "ge/rows/rows.h"

namespace sim::ge_table {
namespace {

// How many rows there are is told.
void routed_back_rule(Shaper& s) {
  const Shape weights = s.shape(1);
  constexpr int32_t types[] = {kFloat, kHalf, kBfloat16};
  const int64_t type = s.integer("dtype");
  if (type < 0 || type > 2) throw Refused("dtype " + std::to_string(type) + "; allowed: 0, 1, 2");
  const Dim columns = !weights ? unknown : s.flag("transpose_w") ? (*weights)[weights->size() - 2] : weights->back();
  s.out(types[type], known({s.integer("output_bs"), columns}));
}

// A query of whole numbers is of tokens and keys that are.
void latent_rule(Shaper& s) { s.out(0, s.dtype(0) == kInt8 && s.has(16) ? kInt8 : s.dtype(7), std::nullopt); }

// A result that is scaled is of whole numbers, where no data type is told.
void weight_quantized_rule(Shaper& s) {
  const auto told = int32_t(s.integer("dtype"));
  s.out(told >= 0 ? told : s.has(4) ? int32_t(kInt8) : s.dtype(0), std::nullopt);
}

// Where no scale tells how many tokens there are, the number of choices of each does; torchair writes k for K.
void finalized_rule(Shaper& s) {
  const Shape rows = s.shape(0), places = s.shape(1);
  const int64_t choices = std::max(s.integer("K"), s.integer("k"));
  if (s.has(5) || choices < 1 || (rows && rows->empty()) || (places && places->size() != 1)) return;
  s.out(s.dtype(0), known({places ? (*places)[0] / choices : unknown, rows ? rows->back() : unknown}));
}

const Family functions = {
    // Products.
    {"FusedMatMul",
     "x1 x2 bias? x3? -> y | transpose_x1:Bool=false transpose_x2:Bool=false enable_hf32:Bool=false "
     "fused_op_type:String=",
     "aclnnFusedMatmul x1=x1^transpose_x1 x2=x2^transpose_x2 cubeMathType=0 -enable_hf32"},
    {"TransposeBatchMatMul",
     "x1 x2 bias? scale? -> y | perm_x1:ListInt={} perm_x2:ListInt={} perm_y:ListInt={} enable_hf32:Bool=false "
     "batch_split_factor:Int=1",
     "aclnnTransposeBatchMatMul cubeMathType=0 -enable_hf32"},
    {"TransposeQuantBatchMatMul",
     "x1 x2 bias? x1_scale? x2_scale? -> y | dtype:Int group_size:Int=0 perm_x1:ListInt={1,0,2} "
     "perm_x2:ListInt={0,1,2} perm_y:ListInt={1,0,2} batch_split_factor:Int=1",
     "aclnnTransposeQuantBatchMatMul out:dtype"},
    {"QuantBatchMatmulV3",
     "x1 x2 scale offset? bias? pertoken_scale? -> y | dtype:Int transpose_x1:Bool=false "
     "transpose_x2:Bool=false",
     "aclnnQuantMatmulV4 out:dtype"},
    {"QuantBatchMatmulV4",
     "x1 x2 bias? x1_scale? x2_scale? y_scale? x1_offset? x2_offset? y_offset? x2_table? -> y | dtype:Int "
     "compute_type:Int=-1 transpose_x1:Bool=false transpose_x2:Bool=false group_size:Int=-1",
     "aclnnQuantMatmulV5 out:dtype"},
    {"QuantBatchMatmulInplaceAdd",
     "x1 x2 x2_scale y x1_scale? -> y | transpose_x1:Bool=false transpose_x2:Bool=false group_size:Int=0",
     "aclnnQuantBatchMatmulInplaceAdd"},
    {"QuantMatmulDequant",
     "x quantized_weight weight_scale bias? x_scale? x_offset? smooth_scale? -> y | "
     "x_quant_mode:String=pertoken transpose_weight:Bool=true",
     "aclnnQuantMatmulDequant weight=quantized_weight"},
    {"QuantMatmulReduceSum",
     "x1 x2 dims bias? x1_scale? x2_scale? y_scale? x1_offset? x2_offset? y_offset? x2_table? -> y | dtype:Int "
     "compute_type:Int=-1 transpose_x1:Bool=false transpose_x2:Bool=false group_size:Int=-1 "
     "keep_dims:Bool=false",
     "aclnnQuantMatmulReduceSumWeightNz out:dtype"},
    {"WeightQuantBatchMatmulV2",
     "x weight antiquant_scale antiquant_offset? quant_scale? quant_offset? bias? -> y | "
     "transpose_x:Bool=false transpose_weight:Bool=false antiquant_group_size:Int=0 dtype:Int=-1 "
     "inner_precise:Int=0",
     "aclnnWeightQuantBatchMatmulV2 x=x^transpose_x weight=weight^transpose_weight", weight_quantized_rule},
    {"GroupedMatmul",
     "x* weight* bias* scale* offset* antiquant_scale* antiquant_offset* group_list? per_token_scale? -> y* | "
     "split_item:Int=0 dtype:Int=0 transpose_weight:Bool=false transpose_x:Bool=false group_type:Int=-1 "
     "group_list_type:Int=0 act_type:Int=0 tuning_config:ListInt={0}",
     "aclnnGroupedMatmulV5 out=y out:dtype{float16,bfloat16,int32,float}"},
    {"GroupedMatmulFinalizeRouting",
     "x w scale? bias? pertoken_scale? group_list? shared_input? logit? row_index? offset? -> y | dtype:Int=0 "
     "shared_input_weight:Float=1.0 shared_input_offset:Int=0 transpose_x:Bool=false transpose_w:Bool=false "
     "output_bs:Int=0 group_list_type:Int=1 tuning_config:ListInt={}",
     "aclnnGroupedMatmulFinalizeRoutingV3 -output_bs x1=x x2=w transposeX1=transpose_x transposeX2=transpose_w "
     "out:dtype{float,float16,bfloat16}",
     routed_back_rule},
    {"GroupedMatmulSwigluQuantV2",
     "x x_scale group_list weight* weight_scale* weight_assist_matrix* bias? smooth_scale* -> y y_scale | "
     "dequant_mode:Int=0 dequant_dtype:Int=0 quant_mode:Int=0 quant_dtype:Int=1 transpose_weight:Bool=false "
     "group_list_type:Int=0 tuning_config:ListInt={0}",
     "aclnnGroupedMatmulSwigluQuantV2 dequantDtype=0 -dequant_dtype output:quant_dtype "
     "outputScale:quant_mode{float,float,float8_e8m0}"},
    {"QuantGroupedMatmulDequant",
     "x quantized_weight weight_scale group_list bias? x_scale? x_offset? smooth_scale? -> y | "
     "x_quant_mode:String=pertoken transpose_weight:Bool=true",
     "aclnnQuantGroupedMatmulDequant weight=quantized_weight"},
    {"QuantGroupedMatmulInplaceAdd", "x1 x2 scale2 group_list y scale1? -> y | group_list_type:Int=0 group_size:Int=0",
     "aclnnQuantGroupedMatmulInplaceAdd"},
    {"FFN",
     "x weight1 weight2 expert_tokens? bias1? bias2? scale? offset? deq_scale1? deq_scale2? antiquant_scale1? "
     "antiquant_scale2? antiquant_offset1? antiquant_offset2? -> y | activation:String inner_precise:Int=0 "
     "output_dtype:Int=-1 tokens_index_flag:Bool=false",
     "aclnnFFNV3 y:output_dtype{float16,bfloat16}"},
    {"AddLora",
     "y x weightB indices weightA? -> y | layer_idx:Int=0 scale:Float=1e-3 y_offset:Int=0 y_slice_size:Int=-1",
     "aclnnAddLora"},
    // Norms and what follows them.
    {"RmsNorm", "x gamma -> y rstd | epsilon:Float=0.000001", "aclnnRmsNorm"},
    {"RmsNormGrad", "dy x rstd gamma -> dx dgamma", "aclnnRmsNormGrad"},
    {"AddRmsNorm", "x1 x2 gamma -> y rstd x | epsilon:Float=0.000001", "aclnnAddRmsNorm"},
    {"AddRmsNormCast", "x1 x2 gamma -> y1 y2 rstd x | epsilon:Float=0.000001", "aclnnAddRmsNormCast"},
    {"LayerNormV4", "x normalized_shape gamma? beta? -> y mean rstd | epsilon:Float=0.00001",
     "aclnnLayerNorm input=x weight=gamma bias=beta eps=epsilon mean:float rstd:float"},
    {"GroupNormSilu", "x gamma? beta? -> y mean variance | num_groups:Int eps:Float=0.0001",
     "aclnnGroupNormSilu self=x group=num_groups"},
    {"AddRmsNormDynamicQuant",
     "x1 x2 gamma smooth_scale1? smooth_scale2? beta? -> y1 y2 x scale1 scale2 | epsilon:Float=1e-6 "
     "output_mask:ListInt={} dst_type:Int=2",
     "aclnnAddRmsNormDynamicQuantV2 y1:dst_type y2:dst_type"},
    {"AddRmsNormDynamicMxQuant",
     "x1 x2 gamma beta? -> y x mxscale rstd | epsilon:Float=1e-6 scale_alg:Int=0 round_mode:String=rint "
     "dst_type:Int=40 output_rstd:Bool=false",
     "aclnnAddRmsNormDynamicMxQuant y:dst_type"},
    {"RmsNormDynamicMxQuant",
     "x gamma beta? -> y mxscale rstd | epsilon:Float=1e-6 scale_alg:Int=0 round_mode:String=rint "
     "dst_type:Int=40 output_rstd:Bool=false",
     "aclnnRmsNormDynamicMxQuant y:dst_type"},
    {"RmsNormGradQuant",
     "dy x rstd gamma scale_x offset_x? -> dx_out dgamma_out | div_mode:Bool=true quant_mode:String=static "
     "dst_type:Int=2",
     "aclnnRmsNormGradQuant dx:dst_type scalesX=scale_x"},
    {"SyncBatchNormGatherStats",
     "total_sum total_square_sum sample_count mean variance -> batch_mean batch_invstd mean variance | "
     "momentum:Float=0.1 eps:Float=1e-5",
     "aclnnSyncBatchNormGatherStats"},
    {"KvRmsNormRopeCache",
     "kv gamma cos sin index k_cache ckv_cache k_rope_scale? c_kv_scale? k_rope_offset? c_kv_offset? v? -> "
     "k_cache ckv_cache k_rope c_kv | epsilon:Float=1e-5 cache_mode:String=Norm is_output_kv:Bool=false",
     "aclnnKvRmsNormRopeCacheV2"},
    {"QkvRmsNormRopeCache",
     "qkv q_gamma k_gamma cos sin index q_out k_cache v_cache k_scale? v_scale? k_offset? v_offset? -> q_out "
     "k_cache v_cache q_out_before_quant k_out_before_quant v_out_before_quant | qkv_size:ListInt "
     "head_nums:ListInt epsilon:Float=1e-6 cache_mode:String=PA_NZ is_output_qkv:Bool=false",
     "aclnnQkvRmsNormRopeCache qOutBeforeQuant=q_out_before_quant?is_output_qkv "
     "kOutBeforeQuant=k_out_before_quant?is_output_qkv vOutBeforeQuant=v_out_before_quant?is_output_qkv"},
    {"DequantRopeQuantKvcache",
     "x cos sin k_cache v_cache indices scale_k scale_v offset_k? offset_v? weight_scale? activation_scale? "
     "bias? -> q k v k_cache v_cache | size_splits:ListInt quant_mode:String=static layout:String=BSND "
     "kv_output:Bool=false",
     "aclnnDequantRopeQuantKvcache q:cos k:cos v:cos"},
    {"MlaProlog",
     "token_x weight_dq weight_uq_qr weight_uk weight_dkv_kr rmsnorm_gamma_cq rmsnorm_gamma_ckv rope_sin "
     "rope_cos cache_index kv_cache kr_cache dequant_scale_x? dequant_scale_w_dq? dequant_scale_w_uq_qr? "
     "dequant_scale_w_dkv_kr? quant_scale_ckv? quant_scale_ckr? smooth_scales_cq? -> query query_rope kv_cache "
     "kr_cache | rmsnorm_epsilon_cq:Float=1e-5 rmsnorm_epsilon_ckv:Float=1e-5 cache_mode:String=PA_BSND",
     "aclnnMlaProlog"},
    {"MlaPrologV2",
     "token_x weight_dq weight_uq_qr weight_uk weight_dkv_kr rmsnorm_gamma_cq rmsnorm_gamma_ckv rope_sin "
     "rope_cos cache_index kv_cache kr_cache dequant_scale_x? dequant_scale_w_dq? dequant_scale_w_uq_qr? "
     "dequant_scale_w_dkv_kr? quant_scale_ckv? quant_scale_ckr? smooth_scales_cq? -> query query_rope kv_cache "
     "kr_cache dequant_scale_q_nope | rmsnorm_epsilon_cq:Float=1e-5 rmsnorm_epsilon_ckv:Float=1e-5 "
     "cache_mode:String=PA_BSND",
     "aclnnMlaPrologV2WeightNz", latent_rule},
    {"MlaPrologV3",
     "token_x weight_dq weight_uq_qr weight_uk weight_dkv_kr rmsnorm_gamma_cq rmsnorm_gamma_ckv rope_sin "
     "rope_cos kv_cache kr_cache cache_index? dequant_scale_x? dequant_scale_w_dq? dequant_scale_w_uq_qr? "
     "dequant_scale_w_dkv_kr? quant_scale_ckv? quant_scale_ckr? smooth_scales_cq? actual_seq_len? "
     "k_nope_clip_alpha? -> query query_rope kv_cache kr_cache dequant_scale_q_nope query_norm "
     "dequant_scale_q_norm | rmsnorm_epsilon_cq:Float=1e-5 rmsnorm_epsilon_ckv:Float=1e-5 "
     "cache_mode:String=PA_BSND query_norm_flag:Bool=false weight_quant_mode:Int=0 kv_cache_quant_mode:Int=0 "
     "query_quant_mode:Int=0 ckvkr_repo_mode:Int=0 quant_scale_repo_mode:Int=0 tile_size:Int=128 "
     "qc_qr_scale:Float=1.0 kc_scale:Float=1.0",
     "aclnnMlaPrologV3WeightNz queryOut:query_quant_mode{bfloat16,int8} queryNormOut:weight_uq_qr "
     "queryNormOut=query_norm?query_norm_flag dequantScaleQNormOut=dequant_scale_q_norm?query_norm_flag"},
    // Quantization.
    {"AntiMxQuant", "x mxscale -> y | axis:Int=-1 dst_type:Int=27", "aclnnAntiMxQuant y:dst_type"},
    {"AscendAntiQuantV2", "x scale offset? -> y | dst_type:Int=1 sqrt_mode:Bool=false",
     "aclnnAscendAntiQuant y:dst_type"},
    {"DequantSwigluQuant",
     "x weight_scale? activation_scale? bias? quant_scale? quant_offset? group_index? -> y scale | "
     "activate_left:Bool=false quant_mode:String=static dst_type:Int=2 round_mode:String=rint "
     "activate_dim:Int=-1 swiglu_mode:Int=0 clamp_limit:Float=7.0 glu_alpha:Float=1.702 glu_bias:Float=1.0",
     "aclnnDequantSwigluQuantV2 y:dst_type"},
    {"DynamicBlockMxQuant",
     "x -> y scale1 scale2 | round_mode:String=rint dst_type:Int=40 scale_alg:Int=0 dst_type_max:Float=0.0",
     "aclnnDynamicBlockMxQuant y:dst_type"},
    {"DynamicBlockQuant",
     "x -> y scale | min_scale:Float=0.0 round_mode:String=rint dst_type:Int=35 row_block_size:Int=1 "
     "col_block_size:Int=128 dst_type_max:Float=0.0",
     "aclnnDynamicBlockQuantV2 y:dst_type"},
    {"DynamicDualLevelMxQuant",
     "x smooth_scale? -> y level0_scale level1_scale | round_mode:String=rint level0_block_size:Int=512 "
     "level1_block_size:Int=32",
     "aclnnDynamicDualLevelMxQuant"},
    {"DynamicMxQuant",
     "x -> y mxscale | axis:Int=-1 round_mode:String=rint dst_type:Int=40 blocksize:Int=32 scale_alg:Int=0 "
     "dst_type_max:Float=0.0 max_low_bound:Float=0.0",
     "aclnnDynamicMxQuantV2 y:dst_type"},
    {"DynamicMxQuantWithDualAxis",
     "x -> y1 mxscale1 y2 mxscale2 | round_mode:String=rint dst_type:Int=40 scale_alg:Int=0 "
     "dst_type_max:Float=0.0",
     "aclnnDynamicMxQuantWithDualAxis y1:dst_type y2:dst_type"},
    {"FlatQuant",
     "x kronecker_p1 kronecker_p2 -> out quant_scale | clip_ratio:Float=1.0 dst_dtype:Int=3 "
     "dst_type_max:Float=0.0",
     "aclnnFlatQuantV3 groupListType=0 out:dst_dtype"},
    {"GeluQuant",
     "x input_scale? input_offset? -> y out_scale | approximate:String=none quant_mode:String=dynamic "
     "dst_type:Int=2 round_mode:String=rint",
     "aclnnGeluQuant self=x y:dst_type"},
    {"GroupQuant", "x scale group_index offset? -> y | dst_type:Int=2", "aclnnGroupQuant y:dst_type"},
    {"GroupedDynamicBlockQuant",
     "x group_list -> y scale | min_scale:Float=0.0 round_mode:String=rint dst_type:Int=35 "
     "row_block_size:Int=1 col_block_size:Int=128 group_list_type:Int=0 dst_type_max:Float=0.0",
     "aclnnGroupedDynamicBlockQuant y:dst_type"},
    {"GroupedDynamicMxQuant",
     "x group_index -> y mxscale | round_mode:String=rint dst_type:Int=35 blocksize:Int=32 scale_alg:Int=0 "
     "dst_type_max:Float=0.0",
     "aclnnGroupedDynamicMxQuant y:dst_type"},
    {"QuantMax", "x scale -> y amax | round_mode:String=rint dst_type:Int=35", "aclnnQuantMax y:dst_type"},
    {"GroupedQuantMax", "x scale group_list -> y amax | round_mode:String=rint dst_type:Int=35",
     "aclnnGroupedQuantMax y:dst_type"},
    {"QuantUpdateScatter",
     "var indices updates quant_scales quant_zero_points? -> var | reduce:String axis:Int=-2 quant_axis:Int=-1 "
     "round_mode:String=rint",
     "aclnnInplaceQuantScatterV2 selfRef=var reduction=reduce{,update}"},
    {"RotateQuant",
     "x rotation alpha? -> y scale | y_dtype:Int=0 axis:Int=-1 round_mode:String=rint scale_alg:Int=0 "
     "dst_type_max:Float=0.0 transpose_y:Bool=false",
     "aclnnRotateQuant y:y_dtype trans=transpose_y"},
    {"SwigluMxQuant",
     "x group_index? -> y mxscale | activate_dim:Int=-1 activate_left:Bool=false swiglu_mode:Int=0 "
     "clamp_limit:Float=7.0 glu_alpha:Float=1.702 glu_bias:Float=1.0 group_mode:Int=0 axis:Int=-1 "
     "dst_type:Int=40 round_mode:String=rint scale_alg:Int=0 max_dtype_value:Float=0.0",
     "aclnnSwigluMxQuant y:dst_type"},
    // Experts.
    {"MoeInitRouting", "x row_idx expert_idx -> expanded_x expanded_row_idx expanded_expert_idx | active_num:Int",
     "aclnnMoeInitRouting"},
    {"MoeFinalizeRouting", "expanded_x x1 x2? bias scales expanded_row_idx expanded_expert_idx -> y",
     "aclnnMoeFinalizeRouting"},
    {"MoeFinalizeRoutingV2",
     "expanded_x expanded_row_idx x1? x2? bias? scales? expert_idx? -> y | drop_pad_mode:Int=0 K:Int=1 k:Int=1",
     "aclnnMoeFinalizeRoutingV4 k=K|k", finalized_rule},
    {"MoeComputeExpertTokens", "sorted_experts -> total_rows_before_expert | num_experts:Int",
     "aclnnMoeComputeExpertTokens"},
    {"MoeGatingTopK",
     "x bias? input_ids? tid2eid? -> y expert_idx y2 | k:Int k_group:Int=1 group_count:Int=1 group_select_mode:Int=0 "
     "renorm:Int=0 norm_type:Int=0 out_flag:Bool=false routed_scaling_factor:Float=1.0 eps:Float=1e-20",
     "aclnnMoeGatingTopK outOut=y2"},
    {"MoeGatingTopKSoftmax", "x finished? -> y expert_idx row_idx | k:Int", "aclnnMoeGatingTopKSoftmax"},
    {"MoeInitRoutingV3",
     "x expert_idx scale? offset? -> expanded_x expanded_row_idx expert_tokens_count_or_cumsum expanded_scale "
     "| active_num:Int=-1 expert_capacity:Int=-1 expert_num:Int=-1 drop_pad_mode:Int=0 "
     "expert_tokens_num_type:Int=0 expert_tokens_num_flag:Bool=false quant_mode:Int=-1 "
     "active_expert_range:ListInt={} row_idx_type:Int=0",
     "aclnnMoeInitRoutingV3 expandedXOut:quant_mode{int8,int8}"},
    {"MoeReRouting",
     "tokens expert_token_num_per_rank per_token_scales? -> permute_tokens permute_per_token_scales "
     "permute_token_idx expert_token_num | expert_token_num_type:Int=1 idx_type:Int=0",
     "aclnnMoeReRouting counts=expert_token_num_per_rank scales=per_token_scales kind=expert_token_num_type "
     "index_kind=idx_type out_scales:per_token_scales indices:int32 totals:expert_token_num_per_rank"},
    {"MoeUpdateExpert",
     "expert_ids eplb_table expert_scales? pruning_threshold? active_mask? -> balanced_expert_ids "
     "balanced_active_mask | local_rank_id:Int=-1 world_size:Int=-1 balance_mode:Int=0",
     "aclnnMoeUpdateExpert"},
    {"MoeDistributeDispatch",
     "x expert_ids scales? x_active_mask? expert_scales? -> expand_x dynamic_scales expand_idx "
     "expert_token_nums ep_recv_count tp_recv_count expand_scales | group_ep:String ep_world_size:Int "
     "ep_rank_id:Int moe_expert_num:Int group_tp:String= tp_world_size:Int=0 tp_rank_id:Int=0 "
     "expert_shard_type:Int=0 shared_expert_num:Int=1 shared_expert_rank_num:Int=0 quant_mode:Int=0 "
     "global_bs:Int=0 expert_token_nums_type:Int=1",
     "aclnnMoeDistributeDispatch expandX:quant_mode{,int8,int8}"},
    {"MoeDistributeDispatchV2",
     "x expert_ids scales? x_active_mask? expert_scales? elastic_info? performance_info? -> expand_x "
     "dynamic_scales expand_idx expert_token_nums ep_recv_count tp_recv_count expand_scales | group_ep:String "
     "ep_world_size:Int ep_rank_id:Int moe_expert_num:Int group_tp:String= tp_world_size:Int=0 "
     "tp_rank_id:Int=0 expert_shard_type:Int=0 shared_expert_num:Int=1 shared_expert_rank_num:Int=0 "
     "quant_mode:Int=0 global_bs:Int=0 expert_token_nums_type:Int=1 comm_alg:String= zero_expert_num:Int=0 "
     "copy_expert_num:Int=0 const_expert_num:Int=0 y_dtype:Int=0",
     "aclnnMoeDistributeDispatchV4 assistInfoForCombine=expand_idx expandX:y_dtype"},
    {"MoeDistributeCombine",
     "expand_x expert_ids expand_idx ep_send_counts expert_scales tp_send_counts? x_active_mask? "
     "activation_scale? weight_scale? group_list? expand_scales? -> x | group_ep:String ep_world_size:Int "
     "ep_rank_id:Int moe_expert_num:Int group_tp:String= tp_world_size:Int=0 tp_rank_id:Int=0 "
     "expert_shard_type:Int=0 shared_expert_num:Int=1 shared_expert_rank_num:Int=0 global_bs:Int=0 "
     "out_dtype:Int=0 comm_quant_mode:Int=0 group_list_type:Int=0",
     "aclnnMoeDistributeCombine"},
    {"MoeDistributeCombineV2",
     "expand_x expert_ids assist_info_for_combine ep_send_counts expert_scales tp_send_counts? x_active_mask? "
     "activation_scale? weight_scale? group_list? expand_scales? shared_expert_x? elastic_info? ori_x? "
     "const_expert_alpha_1? const_expert_alpha_2? const_expert_v? performance_info? -> x | group_ep:String "
     "ep_world_size:Int ep_rank_id:Int moe_expert_num:Int group_tp:String= tp_world_size:Int=0 "
     "tp_rank_id:Int=0 expert_shard_type:Int=0 shared_expert_num:Int=1 shared_expert_rank_num:Int=0 "
     "global_bs:Int=0 out_dtype:Int=0 comm_quant_mode:Int=0 group_list_type:Int=0 comm_alg:String= "
     "zero_expert_num:Int=0 copy_expert_num:Int=0 const_expert_num:Int=0",
     "aclnnMoeDistributeCombineV4"},
    {"MoeDistributeCombineAddRmsNorm",
     "expand_x expert_ids assist_info ep_send_counts expert_scales tp_send_counts? x_active_mask? "
     "activation_scale? weight_scale? group_list? expand_scales? shared_expert_x? elastic_info? ori_x? "
     "const_expert_alpha_1? const_expert_alpha_2? const_expert_v? -> y rstd x | group_ep:String "
     "ep_world_size:Int ep_rank_id:Int moe_expert_num:Int group_tp:String= tp_world_size:Int=0 "
     "tp_rank_id:Int=0 expert_shard_type:Int=0 shared_expert_num:Int=1 shared_expert_rank_num:Int=0 "
     "global_bs:Int=0 out_dtype:Int=0 comm_quant_mode:Int=0 group_list_type:Int=0 comm_alg:String= "
     "norm_eps:Float=1e-6 zero_expert_num:Int=0 copy_expert_num:Int=0 const_expert_num:Int=0",
     "aclnnMoeDistributeCombineAddRmsNormV2 assistInfoForCombine=assist_info"},
    {"AttentionToFFN",
     "x session_id micro_batch_id layer_id expert_ids expert_rank_table scales? active_mask? -> | group:String "
     "world_size:Int ffn_token_info_table_shape:ListInt ffn_token_data_shape:ListInt "
     "attn_token_info_table_shape:ListInt moe_expert_num:Int quant_mode:Int=0 sync_flag:Int=0 "
     "ffn_start_rank_id:Int=0",
     "aclnnAttentionToFFN"},
    {"FFNToAttention",
     "x session_ids micro_batch_ids token_ids expert_offsets actual_token_num attn_rank_table? -> | "
     "group:String world_size:Int token_info_table_shape:ListInt token_data_shape:ListInt",
     "aclnnFFNToAttention"},
    {"AttentionWorkerCombine",
     "schedule_context expert_scales layer_id -> y next_layer_id | hidden_size:Int=0 token_dtype:Int=0",
     "aclnnAttentionWorkerCombine needSchedule=0"},
    {"AttentionWorkerScheduler", "schedule_context -> schedule_context", "aclnnInplaceAttentionWorkerScheduler"},
    {"FfnWorkerScheduler", "schedule_context -> schedule_context | sync_group_size:Int=1 execute_mode:Int=0",
     "aclnnInplaceFfnWorkerScheduler"},
    {"FfnWorkerBatching",
     "schedule_context -> y group_list session_ids micro_batch_ids token_ids expert_offsets dynamic_scale "
     "actual_token_num | expert_num:Int max_out_shape:ListInt token_dtype:Int=0 need_schedule:Int=0 "
     "layer_num:Int=0",
     "aclnnFfnWorkerBatching"},
    // Products between ranks.
    {"MatmulAllReduce",
     "x1 x2 bias? x3? antiquant_scale? antiquant_offset? dequant_scale? pertoken_scale? comm_quant_scale_1? "
     "comm_quant_scale_2? -> y | group:String reduce_op:String=sum is_trans_a:Bool=false is_trans_b:Bool=false "
     "comm_turn:Int=0 antiquant_group_size:Int=0 group_size:Int=0 y_dtype:Int=28 comm_quant_mode:Int=0 "
     "comm_mode:String=ai_cpu",
     "aclnnMatmulAllReduceV3 x1=x1^is_trans_a x2=x2^is_trans_b streamMode=1"},
    {"AllGatherMatmul",
     "x1 x2 bias? -> y gather_out | group:String is_trans_a:Bool=false is_trans_b:Bool=false gather_index:Int=0 "
     "comm_turn:Int=0 rank_size:Int=0 is_gather_out:Bool=true",
     "aclnnAllGatherMatmul x1=x1^is_trans_a x2=x2^is_trans_b streamMode=1 gatherOut=gather_out?is_gather_out "
     "-rank_size"},
    {"AllGatherMatmulV2",
     "x1 x2 bias? x1_scale? x2_scale? quant_scale? -> y gather_out amax_out | group:String is_trans_a:Bool=false "
     "is_trans_b:Bool=false gather_index:Int=0 comm_turn:Int=0 rank_size:Int=0 block_size:Int=0 group_size:Int=0 "
     "is_gather_out:Bool=true is_amax_out:Bool=false y_dtype:Int=0 comm_mode:String",
     "aclnnAllGatherMatmulV2 x1=x1^is_trans_a x2=x2^is_trans_b streamMode=1 gatherOut=gather_out?is_gather_out "
     "amaxOut=amax_out?is_amax_out output:y_dtype gatherOut:x1 -rank_size"},
    {"MatmulReduceScatter",
     "x1 x2 bias? -> y | group:String reduce_op:String=sum is_trans_a:Bool=false is_trans_b:Bool=false "
     "comm_turn:Int=0 rank_size:Int=0",
     "aclnnMatmulReduceScatter x1=x1^is_trans_a x2=x2^is_trans_b streamMode=1 -rank_size"},
    {"MatmulReduceScatterV2",
     "x1 x2 bias? x1_scale? x2_scale? quant_scale? -> y amax_out | group:String reduce_op:String=sum "
     "is_trans_a:Bool=false is_trans_b:Bool=false comm_turn:Int=0 rank_size:Int=0 block_size:Int=0 group_size:Int=0 "
     "is_amax_out:Bool=false y_dtype:Int=28 comm_mode:String=ai_cpu",
     "aclnnMatmulReduceScatterV2 x1=x1^is_trans_a x2=x2^is_trans_b streamMode=1 amaxOut=amax_out?is_amax_out "
     "output:y_dtype -rank_size"},
    {"AlltoAllMatmul",
     "x1 x2 bias? x1_scale? x2_scale? comm_scale? x1_offset? x2_offset? -> y all2all_out | group:String "
     "world_size:Int all2all_axes:ListInt={-2,-1} y_dtype:Int=28 x1_quant_mode:Int=0 x2_quant_mode:Int=0 "
     "comm_quant_mode:Int=0 x1_quant_dtype:Int=28 comm_quant_dtype:Int=28 transpose_x1:Bool=false "
     "transpose_x2:Bool=false group_size:Int=0 alltoall_out_flag:Bool=true comm_mode:String=ai_cpu",
     "aclnnAlltoAllMatmulV2 output:y_dtype alltoAllOut=all2all_out?alltoall_out_flag alltoAllOut:x1"},
    {"MatmulAlltoAll",
     "x1 x2 bias? x1_scale? x2_scale? comm_scale? x1_offset? x2_offset? -> y | group:String world_size:Int "
     "all2all_axes:ListInt={-1,-2} y_dtype:Int=28 x1_quant_mode:Int=0 x2_quant_mode:Int=0 "
     "comm_quant_mode:Int=0 comm_quant_dtype:Int=28 transpose_x1:Bool=false transpose_x2:Bool=false "
     "group_size:Int=0 comm_mode:String=ai_cpu",
     "aclnnMatmulAlltoAllV2 output:y_dtype"},
    {"AlltoAllvGroupedMatMul",
     "gmm_x gmm_weight send_counts_tensor? recv_counts_tensor? mm_x? mm_weight? -> gmm_y mm_y permute_out | "
     "group:String ep_world_size:Int send_counts:ListInt recv_counts:ListInt trans_gmm_weight:Bool=false "
     "trans_mm_weight:Bool=false permute_out_flag:Bool=false comm_mode:String=ai_cpu",
     "aclnnAlltoAllvGroupedMatMulV2 mmYOptional=mm_y?mm_x"},
    {"AlltoAllvQuantGroupedMatMul",
     "gmm_x gmm_weight gmm_x_scale gmm_weight_scale send_counts_tensor? recv_counts_tensor? mm_x? mm_weight? "
     "mm_x_scale? mm_weight_scale? -> gmm_y mm_y permute_out | group:String ep_world_size:Int "
     "send_counts:ListInt recv_counts:ListInt gmm_x_quant_mode:Int gmm_weight_quant_mode:Int "
     "trans_gmm_weight:Bool=false trans_mm_weight:Bool=false permute_out_flag:Bool=false mm_x_quant_mode:Int=0 "
     "mm_weight_quant_mode:Int=0 group_size:Int=0 y_dtype:Int=28 mm_dtype:Int=28 comm_mode:String=ai_cpu",
     "aclnnAlltoAllvQuantGroupedMatMulV2 gmmY:y_dtype mmYOptional:mm_dtype mmYOptional=mm_y?mm_x"},
    {"GroupedMatMulAlltoAllv",
     "gmm_x gmm_weight send_counts_tensor? recv_counts_tensor? mm_x? mm_weight? -> y mm_y | group:String "
     "ep_world_size:Int send_counts:ListInt recv_counts:ListInt trans_gmm_weight:Bool=false "
     "trans_mm_weight:Bool=false comm_mode:String=ai_cpu",
     "aclnnGroupedMatMulAlltoAllvV2 mmYOptional=mm_y?mm_x"},
    {"QuantGroupedMatMulAlltoAllv",
     "gmm_x gmm_weight gmm_x_scale gmm_weight_scale send_counts_tensor? recv_counts_tensor? mm_x? mm_weight? "
     "mm_x_scale? mm_weight_scale? comm_quant_scale? -> y mm_y | group:String ep_world_size:Int "
     "send_counts:ListInt recv_counts:ListInt gmm_x_quant_mode:Int gmm_weight_quant_mode:Int "
     "trans_gmm_weight:Bool=false trans_mm_weight:Bool=false mm_x_quant_mode:Int=0 mm_weight_quant_mode:Int=0 "
     "comm_quant_mode:Int=0 group_size:Int=0 y_dtype:Int=28 mm_dtype:Int=28 comm_quant_dtype:Int=0 "
     "comm_mode:String=ai_cpu",
     "aclnnQuantGroupedMatMulAlltoAllvV2 y:y_dtype mmYOptional:mm_dtype mmYOptional=mm_y?mm_x"},
    {"DistributeBarrier", "x_ref time_out? elastic_info? -> x_ref | group:String world_size:Int",
     "aclnnDistributeBarrierV2"},
    // Attention for inference, and rotated tensors.
    {"PromptFlashAttention",
     "query key value pse_shift? atten_mask? actual_seq_lengths? actual_seq_lengths_kv? deq_scale1? quant_scale1? "
     "deq_scale2? quant_scale2? quant_offset2? -> attention_out | num_heads:Int scale_value:Float=1.0 "
     "pre_tokens:Int=214748647 next_tokens:Int=0 input_layout:String=BSH num_key_value_heads:Int=1 "
     "sparse_mode:Int=0 inner_precise:Int=1",
     "aclnnPromptFlashAttentionV3"},
    {"IncreFlashAttention",
     "query key* value* pse_shift? atten_mask? actual_seq_lengths? dequant_scale1? quant_scale1? dequant_scale2? "
     "quant_scale2? quant_offset2? antiquant_scale? antiquant_offset? block_table? kv_padding_size? -> "
     "attention_out | num_heads:Int scale_value:Float=1.0 input_layout:String=BSH num_key_value_heads:Int=1 "
     "block_size:Int=0 inner_precise:Int=1",
     "aclnnIncreFlashAttentionV4"},
    {"FusedInferAttentionScore",
     "query key* value* pse_shift? atten_mask? actual_seq_lengths? actual_seq_lengths_kv? dequant_scale1? "
     "quant_scale1? dequant_scale2? quant_scale2? quant_offset2? antiquant_scale? antiquant_offset? block_table? "
     "query_padding_size? kv_padding_size? key_antiquant_scale? key_antiquant_offset? value_antiquant_scale? "
     "value_antiquant_offset? key_shared_prefix? value_shared_prefix? actual_shared_prefix_len? query_rope? key_rope? "
     "key_rope_antiquant_scale? dequant_scale_query? learnable_sink? q_start_idx? kv_start_idx? -> attention_out "
     "softmax_lse | num_heads:Int scale:Float=1.0 pre_tokens:Int=2147483647 next_tokens:Int=2147483647 "
     "input_layout:String=BSH num_key_value_heads:Int=0 sparse_mode:Int=0 inner_precise:Int=0 block_size:Int=0 "
     "antiquant_mode:Int=0 softmax_lse_flag:Bool=false key_antiquant_mode:Int=0 value_antiquant_mode:Int=0 "
     "query_quant_mode:Int=0 pse_type:Int=0 out_dtype:Int=0",
     "aclnnFusedInferAttentionScoreV4 deqScale1=dequant_scale1 deqScale2=dequant_scale2 scaleValue=scale "
     "softmaxLse=softmax_lse?softmax_lse_flag"},
    {"RotaryMul", "x r1 r2 -> y", "aclnnRotaryPositionEmbedding cos=r1 sin=r2 mode=0"},
    {"RotaryPositionEmbedding", "x cos sin rotate? -> y | mode:Int=0", "aclnnRotaryPositionEmbedding"},
    {"RotaryMulGrad", "x r1 r2 dy -> dx dr1 dr2 | need_backward:Bool=true",
     "aclnnRotaryPositionEmbeddingGrad cos=r1 sin=r2 dcos=dr1 dsin=dr2 mode=0 -need_backward"},
    {"RotaryPositionEmbeddingGrad", "dy cos sin x? -> dx dcos dsin | mode:Int=0", "aclnnRotaryPositionEmbeddingGrad"},
    {"ApplyRotaryPosEmb", "query key cos sin -> query key | layout:Int=1 rotary_mode:String=half",
     "aclnnApplyRotaryPosEmbV2"},
    {"InterleaveRope", "x cos sin -> y", "aclnnInterleaveRope"},
    // Sparse attention, whose converters ask for these by name.
    {"LightningIndexer",
     "query key weights actual_seq_lengths_query? actual_seq_lengths_key? block_table? -> sparse_indices "
     "sparse_values | layout_query:String=BSND layout_key:String=BSND sparse_count:Int=2048 sparse_mode:Int=3 "
     "pre_tokens:Int next_tokens:Int return_values:Bool=false",
     "aclnnLightningIndexer sparseValuesOut=sparse_values?return_values"},
    {"QuantLightningIndexer",
     "query key weights query_dequant_scale key_dequant_scale actual_seq_lengths_query? actual_seq_lengths_key? "
     "block_table? -> sparse_indices | query_quant_mode:Int key_quant_mode:Int layout_query:String=BSND "
     "layout_key:String=BSND sparse_count:Int=2048 sparse_mode:Int=3 pre_tokens:Int next_tokens:Int",
     "aclnnQuantLightningIndexer"},
    {"SparseFlashAttention",
     "query key value sparse_indices block_table? actual_seq_lengths_query? actual_seq_lengths_kv? query_rope? "
     "key_rope? sinks? -> attention_out softmax_max softmax_sum | scale_value:Float sparse_block_size:Int=1 "
     "layout_query:String=BSND layout_kv:String=BSND sparse_mode:Int=3 pre_tokens:Int next_tokens:Int "
     "attention_mode:Int=0 return_softmax_lse:Bool=false",
     "aclnnSparseFlashAttentionV2"},
    {"KvQuantSparseFlashAttention",
     "query key value sparse_indices key_dequant_scale? value_dequant_scale? block_table? actual_seq_lengths_query? "
     "actual_seq_lengths_kv? sinks? -> attention_out | scale_value:Float key_quant_mode:Int value_quant_mode:Int "
     "sparse_block_size:Int=1 layout_query:String=BSND layout_kv:String=BSND sparse_mode:Int=3 pre_tokens:Int "
     "next_tokens:Int attention_mode:Int=0 quant_scale_repo_mode:Int=1 tile_size:Int=128 rope_head_dim:Int=64",
     "aclnnKvQuantSparseFlashAttention chosen=sparse_indices key_scale=key_dequant_scale "
     "value_scale=value_dequant_scale pages=block_table query_lengths=actual_seq_lengths_query "
     "key_lengths=actual_seq_lengths_kv scale=scale_value key_mode=key_quant_mode value_mode=value_quant_mode "
     "block=sparse_block_size layout_key=layout_kv mode=sparse_mode before=pre_tokens after=next_tokens "
     "scales_together=quant_scale_repo_mode tile=tile_size rope=rope_head_dim"},
    // Activations and gated units.
    {"PRelu", "x weight -> y", "aclnnPrelu self=x"},
    {"MaskedSoftmaxWithRelPosBias",
     "x atten_mask? relative_pos_bias -> y | scale_value:Float=1.0 inner_precision_mode:Int=0",
     "aclnnMaskedSoftmaxWithRelPosBias"},
    {"SwiGlu", "x -> y | dim:Int=-1", "aclnnSwiGlu"},
    {"SwiGluGrad", "y_grad x -> y | dim:Int=-1", "aclnnSwiGluGrad"},
    {"GLU", "x -> y | dim:Int=-1", "aclnnGlu self=x"},
    {"GLUGrad", "y_grad x -> x_grad | dim:Int=-1", "aclnnGluBackward gradOut=y_grad self=x"},
    {"GeGluV2", "x -> y gelu | dim:Int=-1 approximate:Int=1 activate_left:Bool=false", "aclnnGeGluV3 self=x"},
    // Others.
    {"StridedSliceAssignV2", "var input_value begin end strides axes? -> var", "aclnnStridedSliceAssignV2"},
    {"ClippedSwiglu",
     "x group_index? -> y | dim:Int=-1 alpha:Float=1.702 limit:Float=7.0 bias:Float=1.0 interleaved:Bool=true",
     "aclnnClippedSwiglu"},
    {"AttentionUpdate", "lse* go* -> output lse_m | update_type:Int sp:Int",
     "aclnnAttentionUpdate localOut=go lseOut=lse_m?update_type out:go"},
    {"EmbeddingBag",
     "weight indices offsets? per_sample_weights? -> y offset2bag bag_size max_indices | mode:String=mean "
     "scale_grad_by_freq:Bool=false sparse:Bool=false include_last_offset:Bool=false padding_idx:Int=-1",
     "aclnnEmbeddingBag mode=mode{sum,mean,max}"},
    {"RecurrentGatedDeltaRule",
     "query key value beta state actual_seq_lengths ssm_state_indices g? gk? num_accepted_tokens? -> out state | "
     "scale_value:Float=1.0",
     "aclnnRecurrentGatedDeltaRule"},
    {"FusedCausalConv1d",
     "x weight conv_states query_start_loc? cache_indices? initial_state_mode? bias? num_accepted_tokens? "
     "num_computed_tokens? block_idx_first_scheduled_token? block_idx_last_scheduled_token? initial_state_idx? "
     "-> conv_states y | activation_mode:Int=0 pad_slot_id:Int=-1 run_mode:Int=0 max_query_len:Int=-1 "
     "residual_connection:Int=1 block_size:Int=128 conv_mode:Int=0",
     "aclnnFusedCausalConv1d"},
    {"InplaceFusedCausalConv1d",
     "x weight conv_states query_start_loc? cache_indices? initial_state_mode? bias? num_accepted_tokens? "
     "num_computed_tokens? block_idx_first_scheduled_token? block_idx_last_scheduled_token? initial_state_idx? "
     "-> conv_states x | activation_mode:Int=0 pad_slot_id:Int=-1 run_mode:Int=0 max_query_len:Int=-1 "
     "residual_connection:Int=1 block_size:Int=128 conv_mode:Int=0",
     "aclnnInplaceFusedCausalConv1d"},
    {"MaskedCausalConv1d", "input weight mask? -> output", "aclnnMaskedCausalConv1d x=input"},
#define SAMPLING "interpolation_mode:String=bilinear padding_mode:String=zeros align_corners:Bool=false"
#define SAMPLED(modes) \
  " input=x interpolationMode=interpolation_mode{" modes "} paddingMode=padding_mode{zeros,border,reflection}"
    {"GridSampler2D", "x grid -> y | " SAMPLING, "aclnnGridSampler2D" SAMPLED("bilinear,nearest,bicubic")},
    {"GridSampler3D", "x grid -> y | " SAMPLING " data_format:String=NCDHW",
     "aclnnGridSampler3D" SAMPLED("bilinear,nearest")},
    {"GridSampler2DGrad", "grad x grid -> dx dgrid | " SAMPLING,
     "aclnnGridSampler2DBackward gradOutput=grad inputGrad=dx gridGrad=dgrid" SAMPLED("bilinear,nearest,bicubic")},
    {"GridSampler3DGrad", "grad x grid -> dx dgrid | " SAMPLING,
     "aclnnGridSampler3DBackward gradOutput=grad inputGrad=dx gridGrad=dgrid" SAMPLED("bilinear,nearest,bicubic")},
    {"MaxPool3DWithArgmaxV2",
     "x -> y argmax | ksize:ListInt strides:ListInt pads:ListInt dilation:ListInt={1,1,1} ceil_mode:Bool=false "
     "data_format:String=NCDHW dtype:Int=3",
     "aclnnMaxPool3dWithArgmax self=x kernelSize=ksize stride=strides padding=pads indices=argmax"},
    {"MultinomialWithReplacement", "x seed offset -> y | numsamples:Int replacement:Bool=false",
     "aclnnMultinomialTensor self=x seedTensor=seed offsetTensor=offset replacement=true offset=0"},
    {"GlobalAveragePool", "x -> y", "aclnnGlobalAveragePool self=x"},
    {"Shrink", "input_x -> output_y | lambd:Float=0.5 bias:Float=0.0", "aclnnShrink self=input_x"},
    {"Softplus", "x -> y", "aclnnSoftplus self=x beta=1 threshold=20"},
    {"GatherNd", "x indices -> y | negative_index_support:Bool=false", "aclnnGatherNd self=x"},
    {"Einsum", "x* -> y | equation:String N:Int", "aclnnEinsum tensors=x -N"},
    {"ScatterList", "var* indice updates mask? -> var* | reduce:String=update axis:Int=-2", "aclnnScatterList"},
    {"ScatterPaKvCache",
     "key key_cache slot_mapping value value_cache compress_lens? compress_seq_offset? seq_lens? -> key_cache "
     "value_cache | cache_mode:String=Norm scatter_mode:String=None strides:ListInt={1,1} "
     "offsets:ListInt={0,0}",
     "aclnnScatterPaKvCache"},
};

}  // namespace
}  // namespace sim::ge_table
