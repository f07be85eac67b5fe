"""Stages that run in parts, and variables that are found again behind them."""

from collections import Counter

import pytest
import triton
import triton.language as tl
from triton._C.libtriton import ir
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.compiler.compiler import make_backend

from tests.patched import assembly, compiled, product
from tile2triton.ttgir.anchors import count_operations, move_names, name_sites
from tile2triton.ttgir.patching import RefusedError
from tile2triton.ttgir.pipeline import Interruption, Splitter, parse

pytestmark = pytest.mark.compile


@triton.jit
def chained(A, B, C, size: tl.constexpr):
    rows = tl.arange(0, 16)
    places = rows[:, None] * 16 + rows[None, :]
    left = tl.load(A + places).to(tl.float16)
    right = tl.trans(tl.load(B + places))
    scaled = tl.dot(left, right) * 2.0
    for _ in range(size):
        right = tl.load(B + places).reshape(256).reshape(16, 16)
        scaled = tl.maximum(scaled, tl.dot(left, right))
    total = scaled + 1.0
    tl.store(C + places, total)


def first_form(target: GPUTarget) -> tuple[object, object, object]:
    """A kernel as Triton first writes it, with what compiles it."""
    backend = make_backend(target)
    options = backend.parse_options({"enable_fp_fusion": True})
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    types = {"A": "*fp32", "B": "*fp16", "C": "*fp32", "size": "constexpr"}
    source = ASTSource(chained, types, constexprs={"size": 4})
    generation, modules = backend.get_codegen_implementation(options), backend.get_module_map()
    return source.make_ir(target, options, generation, modules, context), backend, options


def test_names_are_moved_to_loads_and_products() -> None:
    module, backend, options = first_form(GPUTarget("cuda", 80, 32))
    module = backend.make_ttir(module, {}, options, 80)
    move_names(module)
    # Two loads are `right`, and both products `scaled`; `total` is neither.
    wanted = {("load", "left"): 1, ("load", "right"): 2, ("dot", "scaled"): 2}
    assert count_operations(module) == Counter(wanted)


def test_loads_and_products_of_one_variable_are_told_apart() -> None:
    module, backend, options = first_form(GPUTarget("cuda", 80, 32))
    name_sites(["right (2 of 2)", "scaled (1 of 2)", "left"], module)
    module = backend.make_ttir(module, {}, options, 80)
    move_names(module)
    wanted = {("load", "right"): 2, ("dot", "scaled"): 2, ("load", "left"): 1}
    wanted |= {("load", f"right ({n} of 2)"): 1 for n in (1, 2)}
    wanted |= {("dot", f"scaled ({n} of 2)"): 1 for n in (1, 2)}
    assert count_operations(module) == Counter(wanted)


@pytest.mark.parametrize("target", ["cuda:90", "hip:gfx942"])
def test_stage_in_parts_gives_what_the_whole_gives(target: str) -> None:
    """Without patches, the text is Triton's but for the lines of the file."""
    kernel = product(target)
    whole, parts = compiled(kernel).asm, assembly(kernel)
    code = "ptx" if target == "cuda:90" else "amdgcn"
    assert parts[code].count("\n") == whole[code].count("\n")
    assert parts["shared memory"] == compiled(kernel).metadata.shared


def test_places_are_reached_in_order() -> None:
    module, backend, options = first_form(GPUTarget("cuda", 80, 32))
    seen: list[str] = []
    places = ("start:make_ttir", "before:add_combine", "after:add_combine", "end:make_ttir")
    steps = [
        Interruption(place, lambda module, place=place: seen.append(place)) for place in places
    ]
    splitter = Splitter((*reversed(steps), Interruption("after:add_nothing", str)))
    splitter.run(backend.make_ttir, module, {}, options, 80)
    assert tuple(seen) == places
    assert "after:add_nothing" not in splitter.reached


def test_edited_text_that_triton_does_not_read_is_refused() -> None:
    module, _, _ = first_form(GPUTarget("cuda", 80, 32))
    text = str(module)
    assert parse(text, module.context).verify()
    with pytest.raises(RefusedError, match="does not read the edited module"):
        parse(text.replace("tt.dot", "tt.dat"), module.context)
