"""`T.ClusterKernel`: a grid whose programs are neighbours in groups."""

from __future__ import annotations

from typing import Any

from tile2triton.frontend.builder import require
from tile2triton.frontend.erasures import erase
from tile2triton.frontend.operators import call
from tile2triton.frontend.written_hints import write_down_cluster


def ClusterKernel(*blocks: Any, cluster_dims: Any, threads: Any = None, prelude: Any = None) -> Any:
    """`T.Kernel`: what programs of a cluster could do together is refused where it is done."""
    erase("T.ClusterKernel(cluster_dims=…)", "no operator of the kernel reaches another program")
    write_down_cluster(require("T.ClusterKernel"), cluster_dims)
    given = {} if threads is None else {"threads": threads}
    return call("Kernel", blocks, given)
