"""Another process that compiles a variant of a kernel: prints whether Triton's cache had it."""

import json
import sys
import warnings

import triton

from tests.patched import compiled, product

if __name__ == "__main__":
    warnings.simplefilter("error", RuntimeWarning)
    found: list[bool] = []
    triton.knobs.compilation.listener = lambda *, cache_hit, **_: found.append(cache_hit)
    kernel = compiled(product("cuda:80", block=64), *map(tuple, json.loads(sys.argv[1])))
    print(json.dumps([found, kernel.hash, getattr(kernel.metadata, "tile2triton", "")]))
