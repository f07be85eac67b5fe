"""The names of TileLang's language that tile2triton refuses, each with the reason and a way out."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Refusal:
    """Why a name has no meaning here: an error code, the reason, and what to write instead."""

    code: str
    reason: str
    instead: str


_SINGLE_THREADS = Refusal(
    "T2T600",
    "works on the threads of a warp, which a Triton program does not show",
    "write it on whole tiles: T.Parallel, T.copy, and the T.reduce operators",
)
_INSTRUCTIONS = Refusal(
    "T2T601",
    "stands for single instructions of NVIDIA's or AMD's machines and for their registers",
    "use T.gemm and T.copy; Triton chooses the instructions",
)
_CLUSTERS = Refusal(
    "T2T602",
    "works on clusters of thread blocks, whose members a Triton program does not show",
    "launch with T.Kernel, and let each program load what it needs",
)
_FOREIGN_CODE = Refusal(
    "T2T603",
    "calls code that is not written in this language",
    "write the computation with T operators; docs/operators.md lists them",
)
_COMPILER_INTERNALS = Refusal(
    "T2T604",
    "builds the intermediate representation of TileLang's own compiler",
    "write the Python statement that it stands for",
)
_PACKED_PRODUCTS = Refusal(
    "T2T606",
    "takes operands in a packed format of one hardware generation",
    "unpack or scale the operands into tiles, then use T.gemm",
)
_PACKED_VECTORS = Refusal(
    "T2T607",
    "computes on vectors of one thread",
    "write the operation for one element in a T.Parallel loop",
)
_GATHERING_COPIES = Refusal(
    "T2T608",
    "is a mode of the copy engine that stock Triton does not offer on all targets",
    "index the tensor with `rows[i]` in a T.Parallel loop",
)
_FIXED_POINT = Refusal(
    "T2T609",
    "is an operation of TVM that TileLang's own kernels do not use",
    "write the arithmetic that it stands for",
)
_GRID_BARRIER = Refusal(
    "T2T610",
    "waits for all programs of a launch, which Triton runs in any order",
    "end the T.Kernel block there and go on in a second one",
)

GROUPS: tuple[tuple[Refusal, str], ...] = (
    (
        _SINGLE_THREADS,
        """
        comm_reducer tvm_thread_allreduce ldg32 ldg64 ldg128 ldg256 stg32 stg64 stg128 stg256
        lds32 lds64 lds128 sts32 sts64 sts128 extract_lane syncthreads_count
        syncthreads_and syncthreads_or any_sync all_sync ballot ballot_sync activemask
        match_any_sync match_all_sync shfl_sync shfl_xor shfl_up shfl_down tvm_warp_shuffle
        tvm_warp_shuffle_up tvm_warp_shuffle_down tvm_warp_activemask dp4a __fns
        tvm_thread_invariant named_barrier_arrive tvm_storage_sync
        """,
    ),
    (
        _INSTRUCTIONS,
        """
        address_of access_ptr tvm_access_ptr alloc_descriptor alloc_wgmma_desc
        alloc_tcgen05_smem_desc alloc_tcgen05_instr_desc alloc_tcgen05_instruction_desc
        initialize_wgmma_descriptor initialize_tcgen05_descriptor increase_descriptor_offset
        create_tma_descriptor compute_gmma_descriptor compute_umma_descriptor get_ldmatrix_offset
        get_mma_micro_size mma_fill mma_store mma_store_index_map ptx_cp_async ptx_cp_async_bulk
        ptx_ldmatrix ptx_mma ptx_mma_block_scale ptx_mma_sm70 ptx_mma_sp ptx_wgmma_ss ptx_wgmma_rs
        ptx_wgmma_sp_rs ptx_wgmma_sp_ss ptx_tcgen05_mma_blockscaled_ss ptx_tcgen05_mma_ss
        ptx_tcgen05_mma_ts tvm_bmma_sync tvm_fill_fragment tvm_load_matrix_sync tvm_mma_sync
        tvm_store_matrix_sync tvm_mfma tvm_mfma_store mfma mfma_store
        SparseTensorCoreIntrinEmitter TCGEN05DescriptorParams TCGEN05TensorCoreIntrinEmitter
        TensorCoreIntrinEmitter TensorCoreIntrinEmitterSM120
        TensorCoreIntrinEmitterWithLadderTransform WGMMADescriptorParams
        WGMMATensorCoreIntrinEmitter tcgen05_mma wgmma_mma ptx_cp_async_barrier
        ptx_init_barrier_thread_count ptx_arrive_barrier ptx_arrive_barrier_expect_tx
        ptx_fence_barrier_init ptx_wait_barrier WGSparseTensorCoreIntrinEmitter create_barriers
        """,
    ),
    (
        _CLUSTERS,
        """
        copy_cluster block_rank_in_cluster cluster_sync
        cluster_arrive cluster_arrive_relaxed cluster_wait ptx_arrive_cluster_barrier
        clc_try_cancel clc_try_cancel_multicast clc_is_canceled clc_get_first_ctaid_x
        clc_get_first_ctaid_y clc_get_first_ctaid_z tma_load_2sm
        """,
    ),
    (
        _FOREIGN_CODE,
        """
        CUDASourceCodeKernel call_extern call_pure_extern call_intrin call_cpacked
        call_cpacked_lowered call_kernel call_llvm_intrin call_llvm_pure_intrin call_packed
        call_packed_lowered import_source llvm_lookup_intrinsic_id tvm_call_cpacked
        tvm_call_cpacked_lowered tvm_call_packed tvm_call_packed_lowered anylist_getitem
        anylist_resetitem anylist_setitem_call_cpacked anylist_setitem_call_packed
        TVMBackendAllocWorkspace TVMBackendFreeWorkspace tvm_stack_alloca tvm_stack_make_array
        tvm_stack_make_shape tvm_struct_get tvm_struct_set tvm_throw_last_error tvm_tuple
        start_profile_intrinsic end_profile_intrinsic
        """,
    ),
    (
        _COMPILER_INTERNALS,
        """
        attr sblock reads writes func_attr handle Broadcast Ramp
        type_annotation match_buffer Shuffle While sblock_attr If Then Else sblock_alloc_buffer
        target Add And Assert BufferLoad Call CallEffectKind CommReducer Div EQ FloatImm
        FloorDiv FloorMod GE GT IntImm IterVar LE LT Let Max Min Mod Mul NE Not Or ProducerLoad
        Ptr Range Reduce SizeVar StringImm Sub arg axis block_name_suffix_context boolean
        broadcast buffer buffer_decl buffer_store buffer_var env_thread func_name
        func_ret handle_add_byte_offset index_map init isnullptr iter_var meta_var ramp ret undef
        void vscale get_active_lane_mask ignore_loop_partition let has_let_value
        get_let_value get_tvm_dtype KernelLaunchFrame WarpSpecializeFrame
        """,
    ),
    (
        _PACKED_PRODUCTS,
        """
        gemm_sp wgmma_gemm_sp tcgen05_gemm_sp mma_gemm_blockscaled tcgen05_gemm_blockscaled
        tcgen05_mma_blockscaled tcgen05_cp_warpx4 tcgen05_sf_warp_transpose
        make_blockscaled_gemm_layout
        """,
    ),
    (
        _PACKED_VECTORS,
        "add2 sub2 mul2 fma2 max2 min2 abs2 vectorcombine vectorhigh vectorlow",
    ),
    (_GATHERING_COPIES, "tma_gather4 tma_gather4_bytes tma_scatter4 tma_load"),
    (_FIXED_POINT, "lookup_param q_multiply_shift q_multiply_shift_per_axis"),
    (_GRID_BARRIER, "sync_global"),
)

REFUSED: dict[str, Refusal] = {name: refusal for refusal, names in GROUPS for name in names.split()}
