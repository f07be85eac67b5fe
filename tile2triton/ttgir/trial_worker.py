"""The process in which patches are tried: compiles a kernel to machine code with some of them."""

import base64
import pickle
from typing import Any

from triton._C.libtriton import ir
from triton.backends.compiler import GPUTarget, Language
from triton.compiler.compiler import make_backend

from ..worker_loop import answer_questions
from .evidence import count
from .patching import Request
from .pipeline import parse
from .stages import NAMES, BlockedError, chip_of, run_stage


def compile_patched(question: dict[str, Any]) -> dict[str, Any]:
    """Counts of the machine code; or the number of the request that is "blocked", and why."""
    requests = [Request(*given) for given in question["requests"]]
    options = pickle.loads(base64.b64decode(question["options"]))
    target = GPUTarget(*question["target"])
    backend = make_backend(target)
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    module = parse(question["text"], context)
    stages: dict[str, Any] = {}
    backend.add_stages(stages, options, Language.TRITON)
    chip = chip_of(target, options)
    for name in NAMES:
        _patch_stage(backend, name, requests, chip)
    metadata: dict[str, Any] = {"target": target, **vars(options)}
    assembly: dict[str, Any] = {}
    try:
        for extension, stage in stages.items():
            module = stage(module, metadata)
            assembly[extension] = module
    except BlockedError as error:
        return {"blocked": requests.index(error.request), "reason": error.reason}
    return {**count(assembly), "shared memory": metadata["shared"]}


def _patch_stage(backend: Any, name: str, requests: list[Request], chip: Any) -> None:
    stock = getattr(type(backend), name)

    def stage(module: Any, *rest: Any) -> Any:
        if not requests:
            return stock(module, *rest)
        return run_stage(name, stock, module, rest, requests, chip)

    setattr(backend, name, stage)


if __name__ == "__main__":
    answer_questions(compile_patched)
