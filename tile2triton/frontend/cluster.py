"""`T.ClusterKernel`: a grid whose programs are neighbours in groups."""

from __future__ import annotations

from typing import Any

from tile2triton.frontend.erasures import erase
from tile2triton.frontend.operators import call


def ClusterKernel(*blocks: Any, cluster_dims: Any, threads: Any = None, prelude: Any = None) -> Any:
    """`T.Kernel`: what programs of a cluster could do together is refused where it is done."""
    erase("T.ClusterKernel(cluster_dims=…)", "no operator of the kernel reaches another program")
    given = {} if threads is None else {"threads": threads}
    return call("Kernel", blocks, given)
