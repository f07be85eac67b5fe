"""The process that compiles: jobs come in as lines of JSON, results go out the same way.

It stands apart from its caller because LLVM ends the process that it finds a mistake in.
"""

import re
import subprocess
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.experimental.gluon import language as gl
from triton.experimental.gluon._runtime import GluonASTSource

from .kernel_report import AMD_INSTRUCTIONS, NVIDIA_INSTRUCTIONS, count_instructions
from .knobs import cuobjdump_path, nvdisasm_path
from .machine_code import unwritten_registers
from .patch_metadata import KEY
from .runtime import import_module
from .targets import target
from .ttgir.trial import in_this_process
from .ttgir_text.locations import kernel_path
from .worker_loop import answer_questions

_MODULES: dict[str, ModuleType] = {}


def compile_job(job: dict[str, Any]) -> dict[str, Any]:
    """Compile one job to machine code and read its figures."""
    path = job["path"]
    if path not in _MODULES:
        _MODULES[path] = import_module(Path(path).read_text(), Path(path))
    kernel = getattr(_MODULES[path], job["kernel"])
    names = kernel.arg_names
    count = len(job["types"])
    if len(names) != count + len(job["constants"]):
        raise ValueError(f"{job['kernel']} takes {len(names)} arguments, the facts name others")
    signature = dict(
        zip(names, [*job["types"], *["constexpr"] * len(job["constants"])], strict=True)
    )
    is_gluon = kernel.is_gluon()
    if is_gluon:
        signature = {one: _laid_out(kind) for one, kind in signature.items()}
    source = (GluonASTSource if is_gluon else ASTSource)(
        kernel,
        signature,
        constexprs=dict(zip(names[count:], job["constants"].values(), strict=True)),
        attrs={(int(index),): given for index, given in job["attributes"].items() if given},
    )
    goal = target(job["target"])
    with in_this_process(not job["is_careful"]):
        compiled = triton.compile(
            source,
            target=GPUTarget(goal.backend, goal.arch, goal.warp_size),
            # Triton 3.9 warns unless it is told; contraction is what the JIT does.
            options={**job["options"], "enable_fp_fusion": True},
        )
    read = _nvidia_figures if goal.backend == "cuda" else _amd_figures
    metadata = compiled.metadata
    # Only back ends with tensor memory say how much they take, and not for every kernel.
    columns = getattr(metadata, "tmem_size", None) or 0
    answer = {
        "shared_memory": metadata.shared,
        "tensor_memory": columns,
        "patches": getattr(metadata, KEY, None) or "",
        **read(compiled.asm),
    }
    if job["is_listed"]:
        answer["listing"] = {
            "ttgir": compiled.asm["ttgir"],
            "machine": compiled.asm["ptx" if goal.backend == "cuda" else "amdgcn"],
            "patches": answer["patches"],
            "path": kernel_path(compiled.asm["ttgir"]) or path,
        }
    return answer


def _laid_out(kind: str) -> str:
    """The type of a descriptor, with the layout of its blocks in shared memory."""
    found = re.fullmatch(r"tensordesc<(\w+)\[([\d, ]+)\]>", kind)
    if found is None:
        return kind
    extents = [int(one) for one in found[2].split(", ")]
    element = gl.dtype(found[1])
    layout = gl.NVMMASharedLayout.get_default_for(extents, element)
    return f"{kind[:-1]},{layout!r}>"


def _nvidia_figures(assembly: Any) -> dict[str, Any]:
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(assembly["cubin"])
        file.flush()
        usage = _output(cuobjdump_path(), "--dump-resource-usage", file.name)
        unwritten = unwritten_registers(_output(nvdisasm_path(), "-c", file.name))
    if unwritten:
        raise RuntimeError(
            f"ptxas made wrong code of this kernel: it reads {', '.join(unwritten)}, "
            "which nothing writes"
        )
    registers, stack = _number(r"REG:(\d+)", usage), _number(r"STACK:(\d+)", usage)
    counted = count_instructions(assembly["ptx"], NVIDIA_INSTRUCTIONS)
    return {"registers": registers, "spills": stack // 4, "instructions": counted}


def _output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def _amd_figures(assembly: Any) -> dict[str, Any]:
    text = assembly["amdgcn"]
    return {
        "registers": _number(r"\.vgpr_count:\s+(\d+)", text),
        "spills": _number(r"\.vgpr_spill_count:\s+(\d+)", text),
        "instructions": count_instructions(text, AMD_INSTRUCTIONS),
    }


def _number(pattern: str, text: str) -> int:
    found = re.search(pattern, text)
    assert found is not None, f"the compiler's listing lacks {pattern}"
    return int(found[1])


if __name__ == "__main__":
    answer_questions(compile_job)
