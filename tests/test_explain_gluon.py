"""What `tile2triton explain` says of kernels in Gluon."""

import json
from functools import lru_cache
from typing import Any

import pytest

from tests import gluon_programs as programs
from tests.kernels.attention_backward import attention_backward
from tests.kernels.flash_attention import flash_attention
from tests.kernels.gemm import gemm
from tests.test_gluon_scans import kernel_of
from tile2triton import CompiledKernel, Schedule, compile_check, transpile
from tile2triton.cli import main
from tile2triton.explaining.machine_text import lines_of_origin
from tile2triton.explaining.printed import lines_of
from tile2triton.explaining.report import Explained, explained
from tile2triton.explaining.specialized import Memory, Specialized

pytestmark = pytest.mark.compile


def said(kernel: CompiledKernel, number: int = 0) -> Explained:
    text, facts = kernel.emitted_for(kernel.target)
    reports = compile_check.check_all([(text, facts, kernel.target)], is_listed=True)
    return explained(text, facts, reports)[number]


@lru_cache
def attention(
    is_causal: bool = False, consumers: int = 2, stages: int = 2, target: str = "cuda:90"
) -> Explained:
    scheduled = flash_attention.scheduled(Schedule(warp_specialize=consumers))
    amd = {"block_M": 128, "threads": 512} if target.startswith("hip") else {}
    options = {"block_M": 64, "block_N": 64, "threads": 128, "num_stages": stages, **amd}
    return said(transpile(scheduled, 1, 2, 512, 64, is_causal, target=target, **options))


def specialized(one: Explained) -> Specialized:
    assert one.specialized is not None
    return one.specialized


def memory(one: Explained, variable: str) -> Memory:
    (found,) = (each for each in specialized(one).memories if each.variable == variable)
    return found


@pytest.mark.parametrize("consumers", [1, 2, 3])
def test_partitions_are_those_of_the_launch(consumers: int) -> None:
    one = attention(consumers=consumers)
    found = [(each.role, each.warps, each.registers) for each in specialized(one).partitions]
    more = [(f"consumer {number}", 4, 240) for number in range(1, consumers)]
    assert found == [("consumer 0", 0, 0), *more, ("producer", 1, 24)]
    lines = "\n".join(lines_of(one))
    assert "consumer 0  attention_consumer  4 warps  what others leave" in lines


@pytest.mark.parametrize(("consumers", "stages"), [(2, 2), (1, 3), (3, 2)])
def test_rings_have_slots_bytes_and_barriers(consumers: int, stages: int) -> None:
    one = attention(consumers=consumers, stages=stages)
    ring = memory(one, "K_shared_ring")
    assert (ring.use, ring.tensor, ring.shape) == ("ring", "K", (1, 1, 64, 64))
    assert (ring.slots, ring.owners, ring.bytes) == (stages, 1, stages * 64 * 64 * 2)
    full, empty = memory(one, "K_shared_full"), memory(one, "K_shared_empty")
    assert (full.use, full.slots, full.arrivals) == ("barriers", stages, 1)
    assert (empty.use, empty.slots, empty.arrivals) == ("barriers", stages, consumers)
    tile, out = memory(one, "Q_shared_tile"), memory(one, "O_tile")
    assert (tile.use, tile.tensor, tile.slots, tile.owners) == ("loaded once", "Q", 1, consumers)
    assert (out.use, out.tensor, out.owners) == ("on its way out", "O", consumers)
    # What is allocated is what the kernel has, but for what the compiler aligns and adds.
    allocated = sum(each.bytes for each in specialized(one).memories)
    assert allocated <= one.shared_memory <= allocated + 2048


def test_consumers_have_rings_of_their_own_of_what_differs() -> None:
    options = {"block_M": 64, "block_N": 64, "block_K": 32, "threads": 128, "num_stages": 3}
    scheduled = gemm.scheduled(Schedule(warp_specialize=2))
    one = said(transpile(scheduled, M=256, N=128, K=320, target="cuda:90", **options))
    rings = [each for each in specialized(one).memories if each.use == "ring"]
    assert {each.tensor: (each.owners, each.slots) for each in rings} == {"A": (2, 3), "B": (1, 3)}
    # Each load has a place of its own, and names the ring that it fills.
    loads = [each.tensor for each in one.tiles.moves if each.kind == "load"]
    assert sorted(loads) == ["A", "A", "B"]
    assert "in registers" not in "\n".join(lines_of(one))


def test_instructions_are_counted_for_each_function() -> None:
    """A causal mask makes a second loop, and one that gives back what is left."""
    full, causal = (specialized(attention(is_causal)).functions for is_causal in (False, True))
    wgmma = [
        sum(n for name, n in made["attention_consumer"].items() if name.startswith("wgmma"))
        for made in (full, causal)
    ]
    assert wgmma[0] > 0 and wgmma[1] * 4 == wgmma[0] * 6
    for made, waits in ((full, 1 + 2 * 2), (causal, 1 + 4 * 2)):
        # Each partition has code of its own.
        assert made["attention_consumer"]["mbarrier wait"] == waits * 2
        assert made["attention_consumer"]["warpgroup wait 1"] == 2
        assert made["attention_producer"]["TMA load"] % 2 == 0
        assert not any("wgmma" in name for name in made["attention_producer"])
    alone = specialized(attention(consumers=1)).functions["attention_consumer"]
    assert {name: 2 * count for name, count in alone.items() if "wait" in name} == {
        name: count for name, count in full["attention_consumer"].items() if "wait" in name
    }


def test_products_of_all_partitions_are_one_row() -> None:
    products = attention(is_causal=True).tiles.products
    assert [each.variable for each in products] == [
        "scores",
        "scores",
        "acc",
        "acc",
        "scores",
        "acc",
    ]
    assert len({each.line for each in products}) == len(products)


def test_factors_in_registers_go_nowhere() -> None:
    one = attention(is_causal=True)
    made = specialized(one)
    assert made.written == 3
    assert {each.way for each in made.conversions} == {"in the registers of each thread"}
    assert made.layouts["scores_factor_layout"] == "DotOperandLayout(0, scores_layout, 2)"


def test_factors_that_pass_by_shared_memory_are_said() -> None:
    kernel, _ = kernel_of("state")
    one = said(kernel)
    factors = [each for each in specialized(one).memories if each.use == "factor"]
    assert factors and all(each.owners == 2 and each.slots == 1 for each in factors)


def test_each_kernel_of_a_module_is_said_by_itself() -> None:
    scheduled = attention_backward.scheduled(Schedule(warp_specialize=2))
    options: dict[str, Any] = {"block_M": 64, "block_N": 64, "threads": 128, "target": "cuda:90"}
    kernel = transpile(scheduled, batch=1, heads=2, seq_len=256, dim=64, is_causal=True, **options)
    text, facts = kernel.emitted_for("cuda:90")
    reports = compile_check.check_all([(text, facts, "cuda:90")], is_listed=True)
    plain, keys, queries = explained(text, facts, reports)
    assert plain.specialized is None
    # Triton numbers descriptors of one tensor; it is the tensor that is said.
    assert memory(queries, "k_1_ring").tensor == "K"
    assert [memory(keys, one).tensor for one in ("k_tile", "v_tile")] == ["K", "V"]
    assert len(specialized(keys).conversions) == 2


def test_kernels_for_amd_have_rings_and_no_partitions() -> None:
    one = attention(target="hip:gfx950")
    assert specialized(one).partitions == ()
    assert memory(one, "K_shared_ring").use == "ring"
    assert {move.tensor for move in one.tiles.moves} == {"Q", "K", "V", "O"}


def test_hints_say_what_gluon_has_in_the_place_of_tritons() -> None:
    one = attention(stages=3)
    details = {hint.construct.partition("(")[0]: hint.detail for hint in one.hints}
    assert details["T.Pipelined"] == "tiles come ahead of its turns: `stages=3`"
    assert details["T.gemm"].startswith("the layout of the product gives the 4 warps 4 by 1")
    assert not any("tl.range" in detail for detail in details.values())


def test_text_data_and_page_say_the_same(tmp_path: Any, capsys: Any) -> None:
    path, page = tmp_path / "programs.py", tmp_path / "page.html"
    path.write_text("from tests.gluon_programs import weighted\n")
    assert main(["explain", f"{path}:weighted", "--json", "--html", str(page)]) == 0
    (data,) = json.loads(capsys.readouterr().out)
    memories = {each["variable"]: each for each in data["specialized"]["memories"]}
    assert memories["a_ring"]["owners"] == 2 and memories["b_ring"]["owners"] == 1
    written = page.read_text()
    for words in ("Partitions of warps", "weighted_producer", "2 for each of 2 consumers"):
        assert words in written
    assert main(["explain", f"{path}:weighted"]) == 0
    lines = capsys.readouterr().out
    assert "a_ring   ring from A" in lines and "1 written, 1 kept" in lines


def test_what_stays_in_triton_says_why() -> None:
    one = said(transpile(programs.twice, target="cuda:90"))
    assert one.specialized is None
    lines = "\n".join(lines_of(one))
    assert "partitions of warps" not in lines
    assert "not applied: `twice_kernel`: a loop loads a tile twice in a turn" in lines


def test_kernels_from_the_cache_may_be_of_another_module() -> None:
    """Triton keeps a kernel under its own text; what stands around it gives its file the name."""
    text = '.file 1 "/a" "attention_0123456789abcdef.py"\n.loc 1 7 0\nadd.s32 a, b, c;\n'
    for name, wanted in (
        ("/b/attention_fedcba9876543210.py", 7),
        ("/b/attention.py", 7),
        ("/b/gemm_0123456789abcdef.py", 0),
    ):
        assert list(lines_of_origin(text, name))[-1] == (wanted or 0)
