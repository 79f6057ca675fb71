// Matmul objects: a product of whole matrices, tile by tile. Vector cores ask for it and cube cores compute it; with
// ASCENDC_CUBE_ONLY cube cores do both. Here the core that asks computes, by the same rules, and every access is
// checked.
#pragma once

#include "matmul_product.h"

namespace AscendC {

struct MatrixOffset {
  int32_t offset = 0, row = 0, col = 0, height = 0, width = 0;
};
template <class A, class B, class C, class BIAS = C, const auto& MM_CFG = CFG_NORM, class MM_CB = MatmulCallBackFunc<>,
          template <const auto&, typename...> class POLICY = Impl::Detail::MatmulPolicy>
class Matmul {
  static constexpr const MatmulConfig& kConfig = matmul_details::config_of(MM_CFG);
  static_assert(!MM_CB::writes, "Matmul: MatmulCallBackFunc with a function that copies C out is not implemented");
  static_assert(!MM_CB::loads || OPHOOK_CUBE_ONLY,
                "Matmul: MatmulCallBackFunc in a kernel with vector cores is not implemented");
  // Of a kernel without vector cores the cube cores are the only masters anyway.
  static_assert(!kConfig.enableMixDualMaster || OPHOOK_CUBE_ONLY,
                "Matmul: enableMixDualMaster of a kernel with vector cores is not implemented");
  static_assert(!kConfig.intraBlockPartSum, "Matmul: intraBlockPartSum is not implemented");

  static constexpr bool kSparse = matmul_details::is_sparse<B>;
  static_assert(!kSparse || (OPHOOK_CUBE_ONLY && kConfig.doMultiDataLoad),
                "Matmul: SparseMatmulType is for ASCENDC_CUBE_ONLY and the MDL template (SetSparseIndex.md)");

  using SrcT = typename A::T;
  using SrcBT = typename B::T;
  using DstT = typename C::T;
  using BiasT = typename BIAS::T;
  using At = ophook::rt::At;
  static constexpr bool fractal(CubeFormat format) { return format == CubeFormat::NZ; }
  static_assert((A::format == CubeFormat::ND || A::format == CubeFormat::VECTOR || fractal(A::format)) &&
                    (B::format == CubeFormat::ND || fractal(B::format)) &&
                    (C::format == CubeFormat::ND || fractal(C::format) || C::format == CubeFormat::ND_ALIGN),
                "Matmul: only the formats ND and NZ are implemented, and VECTOR of A");
  static_assert(C::pos != TPosition::CO1 ||
                    (C::format == CubeFormat::NZ && matmul_details::is_any<DstT, float, int32_t>),
                "Matmul: a C in TPosition::CO1 is NZ, of float or int32_t");
  static_assert(!kConfig.doBasicBlock ||
                    (!matmul_details::is_any<SrcT, int8_t, int4b_t> && A::format != CubeFormat::VECTOR &&
                     kConfig.scheduleType != ScheduleType::OUTER_PRODUCT),
                "Matmul: the BasicBlock template is not for int8_t and int4b_t, a vector, or OUTER_PRODUCT");
  static_assert(!kConfig.doIBShareNorm || !OPHOOK_CUBE_ONLY,
                "Matmul: the IBShare template is for kernels with vector cores");
  static_assert(!kConfig.isPartialOutput || kConfig.doMultiDataLoad, "Matmul: isPartialOutput is for the MDL template");
  static_assert(!kConfig.isEnableChannelSplit || (C::format == CubeFormat::NZ && std::is_same_v<DstT, float> &&
                                                  matmul_details::is_any<SrcT, half, bfloat16_t, float>),
                "Matmul: isEnableChannelSplit is for a C of float in NZ");
  static_assert(!kConfig.enableRelu, "Matmul: enableRelu is for Ascend 950");
  using Policy = POLICY<MM_CFG>;
  static_assert(!Policy::triangle || kConfig.doNorm || kConfig.doMultiDataLoad,
                "Matmul: the policies of triangles are for the Norm and the MDL template");
  static_assert(
      !Policy::nine_blocks ||
          (kConfig.doMultiDataLoad && OPHOOK_CUBE_ONLY && A::pos == TPosition::GM && B::pos == TPosition::GM),
      "Matmul: NBuffer33MatmulPolicy is for the MDL template, ASCENDC_CUBE_ONLY, and matrices in TPosition::GM");
  // OUTER_PRODUCT: two tiles at once. Which of them lies where is known of a C that is written to its place.
  static constexpr bool kPairs = kConfig.scheduleType == ScheduleType::OUTER_PRODUCT;
  static_assert(!kPairs || OPHOOK_CUBE_ONLY || A::layout != LayoutMode::NONE,
                "Matmul: OUTER_PRODUCT is for ASCENDC_CUBE_ONLY, or for products in batches");

 public:
  using AType = A;
  using BType = B;
  using CType = C;
  using BiasType = BIAS;
  __aicore__ Matmul() {}
  __aicore__ void Init(const TCubeTiling* tiling, TPipe* = nullptr, At at = At::here()) {
    Take(tiling, at);
    if (!registered_) ophook::rt::matmul_register(cube_only_, &tiling_, Use(), at);
    Begin();
  }
  // False: this core is done. Without a tiling, Init brings one.
  __aicore__ bool OphookRegister(bool cube_only, At at) {
    cube_only_ = cube_only;
    return ophook::rt::matmul_register(cube_only, nullptr, Use(), at);
  }
  __aicore__ bool OphookRegister(bool cube_only, const TCubeTiling* tiling, At at) {
    Take(tiling, at);
    Begin();
    registered_ = true;
    return ophook::rt::matmul_register(cube_only, &tiling_, Use(), at);
  }

  __aicore__ void SetOrgShape(int orgM, int orgN, int orgK, At at = At::here()) {
    SetOrgShape(orgM, orgN, orgK, orgK, 0, at);
  }
  __aicore__ void SetOrgShape(int orgM, int orgN, int orgKa, int orgKb, int orgKc = 0, At at = At::here()) {
    Enabled(kConfig.enableSetOrgShape, "SetOrgShape", "enableSetOrgShape is false", at);
    Whole(orgM, orgN, orgKa, orgKb, orgKc);
  }
  __aicore__ void SetSingleShape(int singleM, int singleN, int singleK, At at = At::here()) {
    Enabled(kConfig.enableSetTail, "SetSingleShape", "enableSetTail is false", at);
    single_m_ = singleM, single_n_ = singleN, single_k_ = singleK, Rewind();
  }
  __aicore__ void SetTail(int m = -1, int n = -1, int k = -1, At at = At::here()) {
    Enabled(kConfig.enableSetTail, "SetTail", "enableSetTail is false", at);
    if (m != -1) single_m_ = m;
    if (n != -1) single_n_ = n;
    if (k != -1) single_k_ = k;
    Rewind();
  }
  // For the functions of MatmulCallBackFunc.
  __aicore__ void SetUserDefInfo(const uint64_t tilingPtr) { user_tiling_ = tilingPtr; }
  __aicore__ void SetSelfDefineData(const uint64_t dataPtr, At at = At::here()) {
    Enabled(kConfig.enableSetDefineData, "SetSelfDefineData", "enableSetDefineData is false", at);
    user_data_ = dataPtr;
  }
  // REGIST_MATMUL_OBJ sets it; with cube cores alone it is 0. What it is changes no product here.
  __aicore__ void SetSubBlockIdx(uint8_t subBlockIdx) { sub_block_ = subBlockIdx; }
  __aicore__ uint8_t GetSubBlockIdx() {
    return sub_block_ >= 0 ? uint8_t(sub_block_) : uint8_t(ophook::rt::sub_block_index());
  }
  __aicore__ void SetHF32(bool enableHF32 = false, int32_t transMode = 0) {
    ophook::rt::set_hf32(enableHF32);
    ophook::rt::set_hf32_ties(transMode ? ophook::rt::Ties::from_zero : ophook::rt::Ties::to_even);
  }
  template <class T>
  __aicore__ void SetWorkspace(GlobalTensor<T>& gm) {
    workspace_ = reinterpret_cast<DstT*>(gm.GetPhyAddr(0));
  }
  template <class T>
  __aicore__ void SetWorkspace(__gm__ const T* addr, int) {
    workspace_ = reinterpret_cast<DstT*>(const_cast<T*>(addr));
  }
  template <class T>
  __aicore__ void SetWorkspace(GlobalTensor<T>& addr, int) {  // as IterateNBatch's page calls it
    SetWorkspace(addr);
  }
  __aicore__ void SetLocalWorkspace(const LocalTensor<uint8_t>&) {}

  __aicore__ void SetTensorA(const GlobalTensor<SrcT>& gm, bool isTransposeA = false, At at = At::here()) {
    MayTranspose<A>("SetTensorA", isTransposeA, at);
    Side(a_, gm, isTransposeA, fractal(A::format));
  }
  __aicore__ void SetTensorA(const LocalTensor<SrcT>& leftMatrix, bool isTransposeA = false, At at = At::here()) {
    MayTranspose<A>("SetTensorA", isTransposeA, at);
    Side(a_, leftMatrix, isTransposeA, fractal(A::format));
  }
  __aicore__ void SetTensorB(const GlobalTensor<SrcBT>& gm, bool isTransposeB = false, At at = At::here()) {
    MayTranspose<B>("SetTensorB", isTransposeB, at);
    Side(b_, gm, isTransposeB, fractal(B::format));
  }
  __aicore__ void SetTensorB(const LocalTensor<SrcBT>& rightMatrix, bool isTransposeB = false, At at = At::here()) {
    MayTranspose<B>("SetTensorB", isTransposeB, at);
    Side(b_, rightMatrix, isTransposeB, fractal(B::format));
  }
  // A row of A, or a column of B, of one value.
  __aicore__ void SetTensorA(SrcT aScalar) { Uniform<SrcT>(a_, aScalar); }
  __aicore__ void SetTensorB(SrcBT bScalar) { Uniform<SrcBT>(b_, bScalar); }
  __aicore__ void SetSparseIndex(const GlobalTensor<uint8_t>& indexGlobal) {
    static_assert(kSparse, "SetSparseIndex: B is no SparseMatmulType");
    index_ = indexGlobal.view();
  }
  __aicore__ void SetBias(const GlobalTensor<BiasT>& biasGlobal, At at = At::here()) { Bias(biasGlobal, at); }
  __aicore__ void SetBias(const LocalTensor<BiasT>& inputBias, At at = At::here()) { Bias(inputBias, at); }
  __aicore__ void DisableBias() { bias_.given = false; }
  __aicore__ void ClearBias() { bias_.given = false; }
  __aicore__ void SetQuantScalar(const uint64_t quantScalar, At at = At::here()) {
    Enabled(kConfig.enableQuantVector, "SetQuantScalar", "enableQuantVector is false", at);
    scale_ = quantScalar, scaled_ = true, by_column_ = false;
  }
  __aicore__ void SetQuantVector(const GlobalTensor<uint64_t>& scales, At at = At::here()) {
    Enabled(kConfig.enableQuantVector, "SetQuantVector", "enableQuantVector is false", at);
    scales_ = scales.view(), scales_in_l1_ = false, scaled_ = by_column_ = true;
  }
  __aicore__ void SetQuantVector(const LocalTensor<uint64_t>& quantTensor, At at = At::here()) {
    Enabled(kConfig.enableQuantVector, "SetQuantVector", "enableQuantVector is false", at);
    scales_on_core_ = quantTensor.view(), scales_in_l1_ = scaled_ = by_column_ = true;
  }

  // The next tile of C; false when there is none left. A single tile may be a sum over several calls: it is computed
  // here, from the matrices as they are, and its accumulators wait for GetTensorC.
  template <bool sync = true>
  __aicore__ bool Iterate(bool enPartialSum = false, At at = At::here()) {
    Enabled(IterateMode::ITERATE_MODE_NORMAL, "Iterate", at);
    if (enPartialSum) MayAdd("Iterate", at);
    if (enPartialSum && sum_.empty())
      return ophook::rt::refuse("Iterate", "enPartialSum adds to the tile of an Iterate before, and there was none",
                                at),
             false;
    if (!Next()) return false;
    if (SingleTile()) Sum("Iterate", enPartialSum, sync, at);
    return true;
  }
  // The next tile, left in CO1 as NZ.
  template <bool sync = true, typename L0>
  __aicore__ bool Iterate(bool enPartialSum, const LocalTensor<L0>& localCmatrix, At at = At::here()) {
    static_assert(C::pos == TPosition::CO1, "Matmul: Iterate with a tensor of CO1 is for a C in TPosition::CO1");
    static_assert(matmul_details::is_any<L0, float, int32_t>, "Matmul: a tensor of CO1 is of float or int32_t");
    Enabled(IterateMode::ITERATE_MODE_NORMAL, "Iterate", at);
    if (enPartialSum) MayAdd("Iterate", at);
    if (!Next()) return false;
    Tile("Iterate", SideOf(localCmatrix, false, true), 0, true, sync, at, enPartialSum);
    return true;
  }
  template <bool sync = true>
  __aicore__ void GetTensorC(const GlobalTensor<DstT>& gm, uint8_t atomic = 0, bool in_a_row = false,
                             At at = At::here()) {
    Get<sync>(in_a_row, at);
    Tile("GetTensorC", Result(gm), atomic, in_a_row, sync, at);
  }
  template <bool sync = true>
  __aicore__ void GetTensorC(const LocalTensor<DstT>& to, uint8_t atomic = 0, bool in_a_row = false,
                             At at = At::here()) {
    Get<sync>(in_a_row, at);
    Tile("GetTensorC", Result(to), atomic, in_a_row, sync, at);
  }
  // An older form, whose last four parameters are to stay 0.
  template <bool sync = true>
  __aicore__ void GetTensorC(const LocalTensor<DstT>& c, uint8_t enAtomic, bool enSequentialWrite, uint32_t height,
                             uint32_t width = 0, uint32_t srcGap = 0, uint32_t dstGap = 0, At at = At::here()) {
    if (height || width || srcGap || dstGap)
      ophook::rt::refuse("GetTensorC",
                         "height, width, srcGap and dstGap are not implemented: their page keeps them at 0", at);
    GetTensorC<sync>(c, enAtomic, enSequentialWrite, at);
  }
  // To both: the product is computed for each.
  template <bool sync = true>
  __aicore__ void GetTensorC(const GlobalTensor<DstT>& gm, const LocalTensor<DstT>& co2Local, uint8_t atomic = 0,
                             bool in_a_row = false, At at = At::here()) {
    static_assert(!OPHOOK_CUBE_ONLY || (sync && !sync),
                  "Matmul: GetTensorC to two places is for kernels with vector cores");
    Get<sync>(in_a_row, at);
    Tile("GetTensorC", Result(gm), atomic, in_a_row, sync, at);
    Tile("GetTensorC", Result(co2Local), 0, in_a_row, sync, at);
  }
  // Of Iterate<false>: where the next tile lies in the workspace, as many elements for each as a whole one has.
  template <bool sync = true>
  __aicore__ GlobalTensor<DstT> GetTensorC(uint8_t atomic = 0, bool in_a_row = false, At at = At::here()) {
    GlobalTensor<DstT> from;
    if (!workspace_) return ophook::rt::refuse("GetTensorC", "SetWorkspace was not called", at), from;
    Get<false>(false, at);
    const uint64_t elements = uint64_t(tiling_.baseM) * uint64_t(tiling_.baseN);
    from.SetGlobalBuffer(workspace_ + uint64_t(next_ - 1) * elements, elements);
    Tile("GetTensorC", Result(from), atomic, true, sync, at);
    return from;
  }
  __aicore__ void AsyncGetTensorC(const LocalTensor<DstT>& c, At at = At::here()) {
    GetTensorC<false>(c, 0, false, at);
  }
  __aicore__ MatrixOffset GetOffsetC() { return {}; }  // reserved, as its page has it
  template <bool sync = true>
  __aicore__ void IterateAll(const GlobalTensor<DstT>& gm, uint8_t atomic = 0, bool in_a_row = false, bool = false,
                             bool = false, At at = At::here()) {
    Enabled(IterateMode::ITERATE_MODE_ALL, "IterateAll", at);
    Rewind();
    if constexpr (A::ibShare && B::ibShare)
      if (!ophook::rt::matmul_asked_by_first(at)) return;
    while (Next()) Tile("IterateAll", Result(gm), atomic, in_a_row, sync, at);
    if constexpr (A::ibShare && B::ibShare) ophook::rt::matmul_told_to_second(at);
  }
  template <bool sync = true>
  __aicore__ void IterateAll(const LocalTensor<DstT>& to, uint8_t atomic = 0, At at = At::here()) {
    static_assert(!(A::ibShare && B::ibShare) || !sizeof(sync),
                  "Matmul: where A and B have IBSHARE, the result goes to a GlobalTensor");
    Enabled(IterateMode::ITERATE_MODE_ALL, "IterateAll", at);
    Rewind();
    while (Next()) Tile("IterateAll", Result(to), atomic, false, sync, at);
  }
  // Several products at once: matrices one after the other, or `matrixStride` elements apart; where one side has fewer,
  // each of its matrices serves as many of the other's, and each product has a bias of its own. Cube cores that ask
  // themselves say the numbers beforehand.
  __aicore__ void SetBatchNum(int32_t batchA, int32_t batchB) {
    static_assert(OPHOOK_CUBE_ONLY || !sizeof(A), "Matmul: SetBatchNum is for ASCENDC_CUBE_ONLY");
    batch_a_ = batchA, batch_b_ = batchB;
  }
  template <bool sync = true, bool waitIterateBatch = false, typename Tensor, bool MIX = !OPHOOK_CUBE_ONLY,
            std::enable_if_t<MIX, int> = 0>
  __aicore__ void IterateBatch(const Tensor& to, uint32_t batchA, uint32_t batchB, bool enSequentialWrite,
                               const uint32_t matrixStrideA = 0, const uint32_t matrixStrideB = 0,
                               const uint32_t matrixStrideC = 0, const bool enPartialSum = false,
                               const uint8_t enAtomic = 0, At at = At::here()) {
    Enabled(IterateMode::ITERATE_MODE_BATCH, "IterateBatch", at);
    static_assert(sync || !is_local<Tensor>, "Matmul: IterateBatch into local memory is not asynchronous");
    if (enPartialSum)
      ophook::rt::refuse("IterateBatch", "sums over several calls (enPartialSum) are not implemented", at);
    Batches<sync>("IterateBatch", Result(to), 0, batchA, batchB, enSequentialWrite, matrixStrideA, matrixStrideB,
                  matrixStrideC, enAtomic, at);
  }
  // batchLoop times as many, into the workspace, from where GetBatchTensorC takes them.
  template <bool sync = true, bool waitIterateBatch = false>
  __aicore__ void IterateNBatch(const uint32_t batchLoop, uint32_t batchA, uint32_t batchB, bool enSequentialWrite,
                                const uint32_t matrixStrideA = 0, const uint32_t matrixStrideB = 0,
                                const uint32_t matrixStrideC = 0, At at = At::here()) {
    static_assert(kConfig.isNBatch, "IterateNBatch: isNBatch of the MatmulConfig has to be true");
    Enabled(IterateMode::ITERATE_MODE_N_BATCH, "IterateNBatch", at);
    if (!workspace_) return ophook::rt::refuse("IterateNBatch", "SetWorkspace was not called", at);
    GlobalTensor<DstT> to;
    to.SetGlobalBuffer(workspace_);
    for (uint32_t i = 0; i < batchLoop; ++i)
      Batches<sync>("IterateNBatch", Result(to), i, batchA, batchB, enSequentialWrite, matrixStrideA, matrixStrideB,
                    matrixStrideC, 0, at);
    taken_ = 0;
  }
  // Where the next of IterateNBatch's results lies.
  template <bool sync = true>
  __aicore__ GlobalTensor<DstT> GetBatchTensorC(uint32_t batchA, uint32_t batchB, bool enSequentialWrite = false,
                                                At at = At::here()) {
    GlobalTensor<DstT> from;
    if (!workspace_) return ophook::rt::refuse("GetBatchTensorC", "SetWorkspace was not called", at), from;
    const uint32_t most = batchA > batchB ? batchA : batchB;
    from.SetGlobalBuffer(workspace_ + PlaceOf<C::layout>(kC, taken_++ * results_, own_c_));
    if (sync) ophook::rt::matmul_done("GetBatchTensorC", at);
    return from;
  }
  template <bool sync = true>
  __aicore__ GlobalTensor<DstT> GetBatchC(uint32_t batchA, uint32_t batchB, bool enSequentialWrite = false,
                                          At at = At::here()) {
    return GetBatchTensorC<sync>(batchA, batchB, enSequentialWrite, at);
  }
  // The same, copied into the core's own memory.
  template <bool sync = true>
  __aicore__ void GetBatchTensorC(const LocalTensor<DstT>& c, uint32_t batchA, uint32_t batchB,
                                  bool enSequentialWrite = false, At at = At::here()) {
    const GlobalTensor<DstT> from = GetBatchTensorC<sync>(batchA, batchB, enSequentialWrite, at);
    if (!workspace_) return;
    const uint32_t most = batchA > batchB ? batchA : batchB;
    constexpr uint32_t block = 32 / sizeof(DstT);
    const uint32_t rows = most * uint32_t(single_m_), wide = (uint32_t(single_n_) + block - 1) / block * block;
    if (own_c_ != uint64_t(single_m_) * wide)
      return ophook::rt::refuse("GetBatchTensorC", "of rows that are parts of wider ones is not implemented", at);
    if (uint32_t(single_n_) != wide && C::format != CubeFormat::ND_ALIGN)
      return ophook::rt::refuse("GetBatchTensorC",
                                "a singleCoreN that is no multiple of 32 bytes needs a C of CubeFormat::ND_ALIGN", at);
    if constexpr (!plain(C::layout) && C::layout != LayoutMode::BNGS1S2)
      return ophook::rt::refuse("GetBatchTensorC", "of matrices that lie in one another is not implemented", at);
    ophook::rt::matmul_done("GetBatchTensorC", at);  // the copy is of what the cube core has written
    DataCopy(c, from, rows * wide, at);
    if (sync) ophook::rt::matmul_done("GetBatchTensorC", at);
  }
  template <bool sync = true>
  __aicore__ void GetBatchC(const LocalTensor<DstT>& c, uint32_t batchA, uint32_t batchB,
                            bool enSequentialWrite = false, At at = At::here()) {
    GetBatchTensorC<sync>(c, batchA, batchB, enSequentialWrite, at);
  }
  template <typename Tensor, bool CUBE = OPHOOK_CUBE_ONLY, std::enable_if_t<CUBE, int> = 0>
  __aicore__ void IterateBatch(const Tensor& to, bool enPartialSum, uint8_t enAtomic, bool enSequentialWrite,
                               const uint32_t matrixStrideA = 0, const uint32_t matrixStrideB = 0,
                               const uint32_t matrixStrideC = 0, At at = At::here()) {
    Enabled(IterateMode::ITERATE_MODE_BATCH, "IterateBatch", at);
    if (enPartialSum)
      ophook::rt::refuse("IterateBatch", "sums over several calls (enPartialSum) are not implemented", at);
    Batches<true>("IterateBatch", Result(to), 0, uint32_t(batch_a_), uint32_t(batch_b_), enSequentialWrite,
                  matrixStrideA, matrixStrideB, matrixStrideC, enAtomic, at);
  }
  __aicore__ void WaitIterateBatch(At at = At::here()) { ophook::rt::matmul_done("WaitIterateBatch", at); }
  __aicore__ void WaitIterateAll(At at = At::here()) { ophook::rt::matmul_done("WaitIterateAll", at); }
  __aicore__ void WaitGetTensorC(At at = At::here()) { ophook::rt::matmul_done("WaitGetTensorC", at); }
  __aicore__ void End(At at = At::here()) {
    ophook::rt::matmul_done("End", at);
    a_.given = b_.given = bias_.given = false;
  }

 private:
  __aicore__ void Rewind() { next_ = 0; }
  __aicore__ void Whole(int m, int n, int ka, int kb, int kc) { m_ = m, n_ = n, ka_ = ka, kb_ = kb, kc_ = kc ? kc : n; }
  __aicore__ bool Next() {
    const int tiles_m = (single_m_ + tiling_.baseM - 1) / tiling_.baseM,
              tiles_n = (single_n_ + tiling_.baseN - 1) / tiling_.baseN;
    const int tiles_k = kConfig.isPartialOutput ? (single_k_ + tiling_.baseK - 1) / tiling_.baseK : 1;
    const bool columns_first = tiling_.iterateOrder == 1;
    do {
      if (next_ >= tiles_m * tiles_n * tiles_k) return Rewind(), false;
      const int tile = next_ / tiles_k;
      tile_m_ = columns_first ? tile / tiles_n : tile % tiles_m;
      tile_n_ = columns_first ? tile % tiles_n : tile / tiles_m;
      tile_k_ = next_ % tiles_k;
      ++next_;
    } while (!Policy::wanted(tile_m_, tile_n_));
    fetched_ = summed_ = false;
    return true;
  }
  __aicore__ bool SingleTile() const {
    return single_m_ <= tiling_.baseM && single_n_ <= tiling_.baseN && !kConfig.isPartialOutput;
  }
  __aicore__ void MayAdd(const char* call, At at) {
    if (!SingleTile())
      ophook::rt::refuse(
          call, "enPartialSum needs a product of one tile: singleCoreM and singleCoreN up to baseM and baseN", at);
    if (bias_.given)
      ophook::rt::refuse(call, "enPartialSum with a bias: no page says whether it counts again; call DisableBias first",
                         at);
  }
  __aicore__ void Sum(const char* call, bool onto, bool sync, At at) {
    if (!onto) sum_.clear();
    summed_ = false;
    Tile(call, {}, 0, false, sync, at, onto, &sum_);
    summed_ = true;
  }
  template <bool sync>
  __aicore__ void Get(bool in_a_row, At at) {
    static_assert(!(A::ibShare && B::ibShare) || !sizeof(sync),
                  "Matmul: where A and B have IBSHARE, IterateAll alone gives results");
    static_assert(!Policy::nine_blocks || !sizeof(sync), "Matmul: NBuffer33MatmulPolicy has IterateAll alone");
    static_assert(!kPairs || !kConfig.doMultiDataLoad || !sizeof(sync),
                  "Matmul: OUTER_PRODUCT of the MDL template has IterateAll alone");
    Enabled(kConfig.enableGetTensorC, "GetTensorC", "enableGetTensorC is false", at);
    if (kPairs && (in_a_row || !sync))
      ophook::rt::refuse("GetTensorC", "two tiles at once (OUTER_PRODUCT) are implemented for a C written to its place",
                         at);
    if (!sync) Fetch(at);
  }
  // One Iterate<false> computes all tiles: each GetTensorC<false> takes the next one.
  __aicore__ void Fetch(At at) {
    if (fetched_) Iterate<false>(false, at);
    fetched_ = true;
  }
  __aicore__ void Take(const TCubeTiling* tiling, At at) {
    if (tiling) tiling_ = *tiling;
    else if (!matmul_details::is_constant(MM_CFG))
      ophook::rt::refuse("REGIST_MATMUL_OBJ", "the tiling is a null pointer, and no constant", at);
    matmul_details::constants(tiling_, MM_CFG);
  }
  static ophook::rt::MatmulUse Use() {
    return {ophook::rt::dtype_of<SrcT>(),
            ophook::rt::dtype_of<SrcBT>(),
            A::isTrans,
            B::isTrans,
            uint32_t(sizeof(BiasT)),
            kConfig,
            Policy::nine_blocks};
  }
  // A call whose code the MatmulConfig takes out: on a device it does nothing.
  static void Enabled(bool enabled, const char* call, const char* field, At at) {
    if (!enabled) ophook::rt::refuse(call, ("the MatmulConfig takes the call out: " + std::string(field)).c_str(), at);
  }
  static void Enabled(IterateMode mode, const char* call, At at) {
    Enabled((uint8_t(kConfig.iterateMode) & uint8_t(mode)) != 0, call, "iterateMode has another mode", at);
  }
  __aicore__ void Begin() {
    Whole(tiling_.M, tiling_.N, tiling_.Ka, tiling_.Kb, 0);
    single_m_ = tiling_.singleCoreM, single_n_ = tiling_.singleCoreN, single_k_ = tiling_.singleCoreK;
    Rewind();
    bias_.given = false, scaled_ = by_column_ = false;
  }
  template <typename T>
  static ophook::rt::MatrixSide SideOf(const GlobalTensor<T>& gm, bool transposed, bool fractals) {
    return {{}, gm.view(), ophook::rt::dtype_of<T>(), true, false, fractals, transposed, 0, 0, sizeof(T)};
  }
  template <typename T>
  static ophook::rt::MatrixSide SideOf(const LocalTensor<T>& local, bool transposed, bool fractals) {
    return {local.view(), {}, ophook::rt::dtype_of<T>(), true, true, fractals, transposed, 0, 0, sizeof(T)};
  }
  // Matrices of a tensor of several dimensions, by the layout that the tiling tells: B batches, N heads of G groups,
  // and S rows of D.
  enum Which { kA, kB, kC };
  struct Dims {
    uint64_t b, s, n, g, d;
  };
  __aicore__ Dims DimsOf(Which which) const {
    const TCubeTiling& t = tiling_;
    auto of = [](int b, int s, int n, int g, int d) {
      return Dims{uint64_t(b), uint64_t(s), uint64_t(n), uint64_t(g), uint64_t(d)};
    };
    if (which == kA) return of(t.ALayoutInfoB, t.ALayoutInfoS, t.ALayoutInfoN, t.ALayoutInfoG, t.ALayoutInfoD);
    if (which == kB) return of(t.BLayoutInfoB, t.BLayoutInfoS, t.BLayoutInfoN, t.BLayoutInfoG, t.BLayoutInfoD);
    return of(t.CLayoutInfoB, t.CLayoutInfoS1, t.CLayoutInfoN, t.CLayoutInfoG, t.CLayoutInfoS2);
  }
  template <typename Tensor>
  static constexpr bool is_local = std::is_same_v<Tensor, LocalTensor<DstT>>;
  static constexpr bool nested(LayoutMode layout) { return layout == LayoutMode::BSNGD || layout == LayoutMode::SBNGD; }
  static constexpr bool plain(LayoutMode layout) { return layout == LayoutMode::NONE || layout == LayoutMode::NORMAL; }
  // Elements to the i-th matrix, and from one of its rows to the next (0: as for a single one).
  template <LayoutMode layout>
  __aicore__ uint64_t PlaceOf(Which which, uint64_t i, uint64_t own) const {
    const Dims d = DimsOf(which);
    if constexpr (layout == LayoutMode::BSNGD) return i / (d.n * d.g) * d.s * d.n * d.g * d.d + i % (d.n * d.g) * d.d;
    else if constexpr (layout == LayoutMode::SBNGD) return i * d.d;
    else if constexpr (layout == LayoutMode::BNGS1S2) return i * d.s * d.d;
    else return i * own;
  }
  template <LayoutMode layout>
  __aicore__ int64_t RowOf(Which which) const {
    const Dims d = DimsOf(which);
    if constexpr (layout == LayoutMode::BSNGD) return int64_t(d.n * d.g * d.d);
    else if constexpr (layout == LayoutMode::SBNGD) return int64_t(d.b * d.n * d.g * d.d);
    else if constexpr (layout == LayoutMode::BNGS1S2) return int64_t(d.d);
    else return 0;
  }
  template <bool sync>
  __aicore__ void Batches(const char* call, ophook::rt::MatrixSide to, uint32_t turn, uint32_t batchA, uint32_t batchB,
                          bool in_a_row, uint32_t step_a, uint32_t step_b, uint32_t step_c, uint8_t atomic, At at) {
    static_assert(kConfig.doNorm, "Matmul: products in batches are for the Norm template");
    static_assert(A::layout != LayoutMode::NONE && B::layout != LayoutMode::NONE && C::layout != LayoutMode::NONE,
                  "Matmul: products in batches need a LayoutMode in the MatmulTypes of A, B and C");
    static_assert(!std::is_same_v<SrcT, int4b_t>, "Matmul: products in batches are not for int4b_t");
    static_assert(!std::is_same_v<DstT, int8_t>, "Matmul: products in batches give half, bfloat16_t, float or int32_t");
    static_assert(!nested(A::layout) || A::format != CubeFormat::NZ,
                  "Matmul: a layout of BSNGD or SBNGD is for the format ND");
    static_assert(kConfig.isBiasBatch || kConfig.batchMode != BatchMode::SINGLE_LARGE_THAN_L1,
                  "Matmul: SINGLE_LARGE_THAN_L1 needs isBiasBatch");
    const uint32_t most = batchA > batchB ? batchA : batchB;
    if (!batchA || !batchB || most % batchA || most % batchB)
      return ophook::rt::refuse(call, "batchA and batchB: one must be a multiple of the other", at);
    if (scaled_) ophook::rt::refuse(call, "products in batches are not quantized: SetQuantScalar, SetQuantVector", at);
    if (step_c) ophook::rt::refuse(call, "matrixStrideC is reserved and stays 0", at);
    if (nested(C::layout) && in_a_row)
      ophook::rt::refuse(call, "enSequentialWrite is not for a C of the layout BSNGD or SBNGD", at);
    uint32_t together = 1;  // products that are added to one matrix of C: of a group, where C has none
    if constexpr (!plain(A::layout) || !plain(B::layout) || !plain(C::layout)) {
      for (const Which which : {kA, kB, kC}) {
        const Dims d = DimsOf(which);
        if (!d.b || !d.s || !d.n || !d.g || !d.d)
          return ophook::rt::refuse(call, "the tiling has no layout: SetALayout, SetBLayout and SetCLayout", at);
      }
      const Dims l = DimsOf(kA), r = DimsOf(kB);
      if (l.g * batchB != r.g * batchA)
        ophook::rt::refuse(call, "ALayoutInfoG / batchA and BLayoutInfoG / batchB must be equal", at);
      if ((A::layout == LayoutMode::BSNGD && l.n * l.g % batchA) ||
          (B::layout == LayoutMode::BSNGD && r.n * r.g % batchB))
        ophook::rt::refuse(call, "of BSNGD, N * G of the layout must be a multiple of the batch", at);
      if (!plain(C::layout) && DimsOf(kC).g == 1) together = uint32_t(l.g > r.g ? l.g : r.g);
      if (most % together)
        ophook::rt::refuse(call, "products of a group are added: the batch must have whole groups", at);
    }
    if (!plain(A::layout) || kConfig.batchMode == BatchMode::BATCH_LESS_THAN_L1)
      ophook::rt::matmul_batch(call, ophook::rt::dtype_of<SrcT>(), batchA, batchB, single_m_, single_n_, single_k_, at);
    const ophook::rt::MatrixSide a = a_, b = b_, bias = bias_;
    const int width = kc_;
    const uint64_t own_a = step_a ? step_a : uint64_t(m_) * ka_, own_b = step_b ? step_b : uint64_t(n_) * kb_;
    if (in_a_row) kc_ = single_n_;
    const uint64_t own_c = step_c ? step_c : uint64_t(in_a_row ? single_m_ : m_) * uint64_t(Width(kc_));
    own_c_ = own_c;
    row_a_ = RowOf<A::layout>(kA), row_b_ = RowOf<B::layout>(kB), row_c_ = RowOf<C::layout>(kC);
    const uint32_t results = results_ = most / together;
    for (uint32_t i = 0; i < results; ++i) {
      const uint64_t number = uint64_t(turn) * results + i;
      const ophook::rt::MatrixSide c = Moved(to, PlaceOf<C::layout>(kC, number, own_c));
      Rewind();
      while (Next()) {
        for (uint32_t part = i * together; part < (i + 1) * together; ++part) {
          a_ = Moved(a, PlaceOf<A::layout>(kA, uint64_t(turn) * batchA + part / (most / batchA), own_a));
          b_ = Moved(b, PlaceOf<B::layout>(kB, uint64_t(turn) * batchB + part / (most / batchB), own_b));
          bias_.given = bias.given && part == i * together;
          if (bias_.given) bias_ = Moved(bias, kConfig.isBiasBatch ? number * uint64_t(n_) : 0);
          if (together > 1) Sum(call, part > i * together, false, at);
        }
        Tile(call, c, atomic, false, sync, at);
      }
    }
    a_ = a, b_ = b, bias_ = bias, kc_ = width, row_a_ = row_b_ = row_c_ = 0;
    Rewind();
  }
  static ophook::rt::MatrixSide Moved(ophook::rt::MatrixSide side, uint64_t elements) {
    const uint64_t bytes = side.dtype == ophook::rt::Dtype::i4 ? elements / 2 : elements * side.size;
    if (side.on_core) {
      side.local.offset += uint32_t(bytes),
          side.local.bytes = bytes < side.local.bytes ? uint32_t(side.local.bytes - bytes) : 0;
    } else {
      side.global.data += bytes;
    }
    return side;
  }
  static bool Rows(const ophook::rt::MatrixSide& side) {
    return side.given && !side.on_core && !side.fractals && !side.uniform;
  }
  // Of a row of C.
  static int64_t Width(int64_t columns) {
    return C::format == CubeFormat::ND_ALIGN ? (columns * int(sizeof(DstT)) + 31) / 32 * 32 / int(sizeof(DstT))
                                             : columns;
  }
  template <typename T>
  __aicore__ void Uniform(ophook::rt::MatrixSide& side, T value) {
    static_assert(std::is_same_v<T, half> || std::is_same_v<T, float>,
                  "Matmul: one value in place of a matrix is half or float");
    side = {};
    side.dtype = ophook::rt::dtype_of<T>(), side.given = side.uniform = true, side.size = sizeof(T);
    side.value = float(value);
    Rewind();
  }
  // Which blocks a matrix takes in L1 follows ISTRANS: a transposed one needs it, and of 8, 4 and 32 bits so does the
  // other.
  template <class TYPE>
  static void MayTranspose(const char* call, bool transposed, At at) {
    using T = typename TYPE::T;
    if (transposed && !TYPE::isTrans)
      ophook::rt::refuse(call, "a transposed matrix needs a MatmulType with ISTRANS true", at);
    if (!transposed && TYPE::isTrans && !std::is_same_v<T, half> && !std::is_same_v<T, bfloat16_t>)
      ophook::rt::refuse(
          call, "ISTRANS of the MatmulType is true; a type other than half and bfloat16_t is transposed then", at);
  }
  template <typename Tensor>
  __aicore__ void Side(ophook::rt::MatrixSide& side, const Tensor& tensor, bool transposed, bool fractals) {
    side = SideOf(tensor, transposed, fractals);
    Rewind();
  }
  template <typename Tensor>
  __aicore__ void Bias(const Tensor& tensor, At at) {
    // At run time: operators have classes of every choice of types, and call this of some.
    if constexpr (!matmul_details::has_bias<SrcT, BiasT>)
      return ophook::rt::refuse("SetBias", "a bias is int32_t for int8_t and int4b_t, and float or half for the others",
                                at);
    Enabled(kConfig.enableSetBias, "SetBias", "enableSetBias is false", at);
    if (!matmul_details::is_constant(MM_CFG) && tiling_.isBias != 1)
      ophook::rt::refuse("SetBias", "isBias of the tiling is not 1: EnableBias(true) sets it", at);
    Side(bias_, tensor, false, false);
  }
  template <typename Tensor>
  __aicore__ ophook::rt::MatrixSide Result(const Tensor& to) {
    return SideOf(to, false, fractal(C::format));
  }
  __aicore__ void Tile(const char* call, ophook::rt::MatrixSide c, uint8_t atomic, bool in_a_row, bool sync, At at,
                       bool onto = false, std::vector<uint8_t>* sum = nullptr) {
    if constexpr (!matmul_details::has_result<SrcT, DstT>)
      return ophook::rt::refuse(
          call, "no C of this type comes of an A and a B of theirs: Matmul使用说明.md has the table", at);
    ophook::rt::MatrixProduct p;
    p.onto = onto, p.summed = summed_ && !sum, p.sum = p.summed ? &sum_ : sum;
    p.a = a_, p.b = b_, p.bias = bias_, p.c = c;
    // A matrix in local memory is this core's part alone.
    const int m = a_.on_core ? single_m_ : m_, ka = a_.on_core ? single_k_ : ka_;
    const int n = b_.on_core ? single_n_ : n_, kb = b_.on_core ? single_k_ : kb_;
    p.a.rows = a_.transposed ? ka : m, p.a.columns = a_.transposed ? m : ka;
    p.b.rows = b_.transposed ? n : kb, p.b.columns = b_.transposed ? kb : n;
    p.c.rows = m_, p.c.columns = c.on_core ? single_n_ : kc_;
    p.c.columns = Width(p.c.columns);
    if (row_a_) p.a.columns = row_a_;
    if (row_b_) p.b.columns = row_b_;
    if (row_c_) p.c.columns = row_c_;
    p.m = single_m_, p.n = single_n_, p.k = single_k_;
    p.first_m = int64_t(tile_m_) * tiling_.baseM, p.first_n = int64_t(tile_n_) * tiling_.baseN;
    p.tile_m = p.m - p.first_m < tiling_.baseM ? p.m - p.first_m : tiling_.baseM;
    p.tile_n = p.n - p.first_n < tiling_.baseN ? p.n - p.first_n : tiling_.baseN;
    if (kConfig.isPartialOutput) {
      p.first_k = int64_t(tile_k_) * tiling_.baseK;
      p.k = p.k - p.first_k < tiling_.baseK ? p.k - p.first_k : tiling_.baseK;
      if (tile_k_) p.bias.given = false;
    }
    if (kConfig.doBasicBlock && (p.tile_m < tiling_.baseM || p.tile_n < tiling_.baseN))
      return ophook::rt::refuse(
          call, "the BasicBlock template has no tails: singleCoreM and singleCoreN are whole tiles", at);
    // Rows of more than 16 bits of elements need several copies.
    if (!kConfig.intrinsicsCheck &&
        ((Rows(p.a) && A::format != CubeFormat::VECTOR && p.a.columns > 65535) || (Rows(p.b) && p.b.columns > 65535)))
      return ophook::rt::refuse(call, "a matrix with rows of more than 65535 elements needs intrinsicsCheck", at);
    if (p.summed) p.tile_m = sum_m_, p.tile_n = sum_n_;
    else sum_m_ = int(p.tile_m), sum_n_ = int(p.tile_n);
    std::vector<uint8_t> left, right;
    if constexpr (MM_CB::copies_a)
      if (!p.summed) {
        if (p.a.transposed || p.a.on_core)
          return ophook::rt::refuse(call, "CopyA1 for a matrix that is transposed or in L1 is not implemented", at);
        left = Loaded<SrcT>(call, TPosition::A1, p.tile_m, p.k, p.tile_m, tiling_.baseK, at,
                            [&](auto& block, int64_t k, int rows, int columns) {
                              MM_CB::copy_a(block, p.a.global.data, tile_m_, int((p.first_k + k) / tiling_.baseK), rows,
                                            columns, user_tiling_, user_data_);
                            });
        p.a.loaded = left.data(), p.a.loaded_row = p.first_m, p.a.loaded_column = p.first_k, p.a.columns = p.k,
        p.a.rows = p.tile_m;
        p.a.fractals = false;
      }
    if constexpr (MM_CB::copies_b)
      if (!p.summed) {
        if (p.b.transposed || p.b.on_core)
          return ophook::rt::refuse(call, "CopyB1 for a matrix that is transposed or in L1 is not implemented", at);
        right = Loaded<SrcBT>(call, TPosition::B1, p.k, p.tile_n, tiling_.baseK, p.tile_n, at,
                              [&](auto& block, int64_t k, int rows, int columns) {
                                MM_CB::copy_b(block, p.b.global.data, int((p.first_k + k) / tiling_.baseK), tile_n_,
                                              rows, columns, user_tiling_, user_data_);
                              });
        p.b.loaded = right.data(), p.b.loaded_row = p.first_k, p.b.loaded_column = p.first_n, p.b.columns = p.tile_n,
        p.b.rows = p.k;
        p.b.fractals = false;
      }
    if constexpr (kSparse) p.sparse = true, p.index = index_, p.b.columns = kb / 2;
    p.in_a_row = in_a_row, p.atomic = atomic, p.narrow = kConfig.isEnableChannelSplit;
    p.scaled = scaled_, p.scaled_by_column = by_column_, p.scale = scale_, p.scales = scales_;
    p.scales_on_core = scales_on_core_, p.scales_in_l1 = scales_in_l1_;
    ophook::rt::matmul_tile(call, p, at);
    if (sync) ophook::rt::matmul_done(call, at);
  }

  // `rows` by `columns` of a matrix in blocks along the depth, which `load` brings to L1 as NZ.
  template <typename T, typename Load>
  __aicore__ std::vector<uint8_t> Loaded(const char* call, TPosition position, int64_t rows, int64_t columns,
                                         int64_t most_rows, int64_t most_columns, At at, Load load) {
    std::vector<uint8_t> values(size_t(rows * columns) * sizeof(T));
    for (int64_t r = 0; r < rows; r += most_rows)
      for (int64_t k = 0; k < columns; k += most_columns) {
        const int64_t height = rows - r < most_rows ? rows - r : most_rows,
                      width = columns - k < most_columns ? columns - k : most_columns;
        constexpr int64_t c0 = 32 / sizeof(T);
        const auto bytes = uint64_t((height + 15) / 16 * 16 * ((width + c0 - 1) / c0 * c0)) * sizeof(T);
        const ophook::rt::Local block = ophook::rt::matmul_block(call, position, bytes, ophook::rt::dtype_of<T>(), at);
        const LocalTensor<int8_t> seen(block);
        load(seen, r + k, int(height), int(width));
        ophook::rt::matmul_loaded(call, block, height, width, values.data() + size_t(r * columns + k) * sizeof(T),
                                  columns * int64_t(sizeof(T)), at);
      }
    return values;
  }

  TCubeTiling tiling_{};
  uint64_t user_tiling_ = 0, user_data_ = 0;
  ophook::rt::MatrixSide a_, b_, bias_;
  int m_ = 0, n_ = 0, ka_ = 0, kb_ = 0, kc_ = 0;
  int single_m_ = 0, single_n_ = 0, single_k_ = 0;
  int next_ = 0, tile_m_ = 0, tile_n_ = 0, tile_k_ = 0, batch_a_ = 1, batch_b_ = 1;
  int64_t row_a_ = 0, row_b_ = 0, row_c_ = 0;  // of matrices in batches
  DstT* workspace_ = nullptr;
  uint32_t results_ = 0;
  uint64_t taken_ = 0, own_c_ = 0;  // of IterateNBatch's results, and what each takes
  bool fetched_ = false;            // the tile of the last Iterate
  std::vector<uint8_t> sum_;        // its accumulators, where it was the only one
  int sum_m_ = 0, sum_n_ = 0;
  bool summed_ = false;                         // they are of this tile
  bool registered_ = false, cube_only_ = true;  // which cores ask is settled
  bool scaled_ = false, by_column_ = false;
  uint64_t scale_ = 0;
  ophook::rt::Global scales_, index_;
  ophook::rt::Local scales_on_core_;
  bool scales_in_l1_ = false;
  int sub_block_ = -1;  // as SetSubBlockIdx says
};
// What computes on the core that calls it, without REGIST_MATMUL_OBJ; it has no page, and public kernels name it.
template <class A, class B, class C, class BIAS = C, const auto& MM_CFG = CFG_NORM, class MM_CB = MatmulCallBackFunc<>,
          template <const auto&, typename...> class POLICY = Impl::Detail::MatmulPolicy>
using MatmulImpl = Matmul<A, B, C, BIAS, MM_CFG, MM_CB, POLICY>;

namespace matmul_details {
template <class MM>
__aicore__ bool Register(bool cube_only, ophook::rt::At at, MM& mm) {
  return mm.OphookRegister(cube_only, at);
}
template <class MM>
__aicore__ bool Register(bool cube_only, ophook::rt::At at, MM& mm, const TCubeTiling* tiling) {
  return mm.OphookRegister(cube_only, tiling, at);
}
template <class MM, class... Rest>
__aicore__ bool Register(bool cube_only, ophook::rt::At at, MM& mm, const TCubeTiling* tiling, Rest&&... rest) {
  static_assert(sizeof...(Rest) <= 6, "REGIST_MATMUL_OBJ: a kernel has up to four Matmul objects");
  const bool stays = mm.OphookRegister(cube_only, tiling, at);
  return Register(cube_only, at, rest...) && stays;
}
}  // namespace matmul_details

}  // namespace AscendC

// The vendor's examples say `using namespace matmul` alone, and then any name of AscendC.
namespace matmul {
using namespace AscendC;
}

// Programs name them without a namespace, too.
#define OPHOOK_NAMES(use)                                                                                              \
  use(CFG_MDL) use(CFG_NORM) use(CFG_IBSHARE_NORM) use(MM_CFG_BB) use(MatmulConfig) use(MatmulConfigMode)              \
      use(MatmulShapeParams) use(MatmulQuantParams) use(MatmulBiasParams) use(MatmulBatchParams) use(MatmulFuncParams) \
          use(MatmulApiStaticTiling) use(BatchMode) use(BatchOutMode) use(IterateOrder) use(ScheduleType)              \
              use(GetMMConfig) use(GetNormalConfig) use(GetMDLConfig) use(GetSpecialMDLConfig)                         \
                  use(GetIBShareNormConfig) use(GetBasicConfig) use(GetMatmulApiTiling)
#define OPHOOK_USE(name) using AscendC::name;
OPHOOK_NAMES(OPHOOK_USE)
#undef OPHOOK_NAMES
#undef OPHOOK_USE

// The cube cores of a kernel whose vector cores ask serve them until the end: nothing after it is theirs.
#define REGIST_MATMUL_OBJ(tpipe, workspace, ...) \
  static_cast<void>(workspace);                  \
  if (!::AscendC::matmul_details::Register(OPHOOK_CUBE_ONLY, ::ophook::rt::At::here(), __VA_ARGS__)) return
