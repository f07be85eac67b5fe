"""Stages and orders of the statements of loops."""

import pytest

import tile2triton
import tile2triton.language as T
from tests.hinted import outcome, outcomes, product

LOOPS = {
    # order, stage: what becomes of them with patches, and without any on AMD.
    ((1, 2, 0), (0, 0, 1)): ("native", "native", 2),
    ((1, 2, 0), (0, 0, 2)): ("native", "native", 3),
    ((1, 2, 0), (0, 1, 2)): ("patch", "none", 3),
    ((0, 1, 2), (0, 0, 1)): ("patch", "none", 2),
    ((0, 1), (0, 1)): ("none", "none", 2),
}

# num_stages, order, stage: what becomes of the schedule on sm_80, and its patches.
BESIDE_STAGES = {
    (2, (1, 2, 0), (0, 0, 1)): ("native", 0),
    (4, (1, 2, 0), (0, 0, 1)): ("patch", 2),
    (4, (1, 2, 0), (0, 2, 3)): ("patch", 1),
    (1, (1, 2, 0), (0, 0, 3)): ("none", 0),
    (2, (1, 2, 0), (0, 0, 3)): ("none", 0),
    (3, (1, 2, 0), (0, 0, 0)): ("patch", 2),
}


@pytest.mark.parametrize(("stages", "order", "stage"), BESIDE_STAGES)
def test_stages_of_statements_are_compared_with_those_of_the_loop(
    all_patches, stages, order, stage
):
    made = product(stages=stages, order=list(order), stage=list(stage))
    kernel, found = outcomes(made, "cuda:80")
    (said,) = [value for key, value in found.items() if "stage=" in key]
    assert (said[0], len(kernel.lowered_facts.patches)) == BESIDE_STAGES[stages, order, stage]
    assert said[0] != "native" or f"num_stages={stages})" in kernel.triton_source


@pytest.mark.parametrize(("order", "stage"), LOOPS)
def test_stages_of_statements_are_stages_of_the_loop_or_patches(all_patches, order, stage):
    made = product(stages=0, order=list(order), stage=list(stage))
    on_nvidia, on_amd, count = LOOPS[order, stage]
    kernel, found = outcomes(made, "cuda:80")
    (said,) = [value for key, value in found.items() if "stage=" in key]
    assert said[0] == on_nvidia
    assert f"num_stages={count})" in kernel.triton_source
    assert outcome(made, "hip:gfx942", "stage=")[0] == on_amd
    kinds = [(one.kind, one.anchor, one.arguments) for one in kernel.lowered_facts.patches]
    if stage == (0, 1, 2):
        assert kinds == [("load_latency", "b", (("stages", 2),))]
    elif on_nvidia == "patch":
        stages, orders = ("a", 0, "b", 0, "c", 1), ("a", 0, "b", 1, "c", 2)
        assert kinds == [("pipeline_schedule", "a", (("stages", stages), ("orders", orders)))]


def test_schedules_of_tcgen05_are_tritons(all_patches):
    made = product(stages=0, order=[0, 1, 2], stage=[0, 0, 1])
    assert outcome(made, "cuda:100", "stage=")[0] == "none"


def test_hints_in_a_loop_without_turns_are_of_nothing(all_patches):
    @tile2triton.kernel(out_idx=[1])
    def made(turns=0):
        @T.prim_func
        def main(A: T.Tensor((64, 64), "float16"), C: T.Tensor((64, 64), "float32")):
            with T.Kernel(1, threads=128):
                a = T.alloc_shared((64, 64), "float16")
                c = T.alloc_fragment((64, 64), "float32")
                T.clear(c)
                for _ in T.Pipelined(turns, num_stages=2):
                    T.copy(A, a, eviction_policy="evict_last")
                    T.gemm(a, a, c, policy=T.GemmWarpPolicy.FullRow)
                T.copy(c, C)

        return main

    kernel, found = outcomes(made, "cuda:80")
    idle = [said for key, said in found.items() if "T.Kernel" not in key]
    assert idle == [("none", "its loop makes no turn")] * 3
    assert not kernel.lowered_facts.patches
