"""What each architecture can do, as a table."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Target:
    """One architecture. Sizes are in bytes; `float8` lists TileLang's names.

    `min_dot_k` maps the bits of an operand's element to the least inner size of `tl.dot`.
    """

    name: str
    label: str
    backend: str  # "cuda" or "hip"
    arch: int | str
    warp_size: int
    shared_memory: int
    has_tma: bool
    # Columns of tensor memory, on NVIDIA's Blackwell.
    tensor_memory: int
    float8: tuple[str, ...]
    # Multiprocessors, or compute units: programs that run at once.
    multiprocessors: int
    min_dot_k: tuple[tuple[int, int], ...]

    def least_dot_k(self, bits: int) -> int:
        return dict(self.min_dot_k).get(bits, 1)


_OCP = ("float8_e4m3fn", "float8_e5m2")
_FNUZ = ("float8_e4m3fnuz", "float8_e5m2fnuz")
# Triton 3.6 asks for 16 also with 32-bit and 64-bit operands, where 3.9 takes 8 and 4.
_NVIDIA_DOT = ((8, 32), (16, 16), (32, 16), (64, 16))

TARGETS = (
    Target(
        name="cuda:80",
        label="NVIDIA A100",
        backend="cuda",
        arch=80,
        warp_size=32,
        shared_memory=163 * 1024,
        has_tma=False,
        tensor_memory=0,
        float8=("float8_e5m2",),
        multiprocessors=108,
        min_dot_k=_NVIDIA_DOT,
    ),
    Target(
        name="cuda:90",
        label="NVIDIA H100/H200",
        backend="cuda",
        arch=90,
        warp_size=32,
        shared_memory=227 * 1024,
        has_tma=True,
        tensor_memory=0,
        float8=_OCP,
        multiprocessors=132,
        min_dot_k=_NVIDIA_DOT,
    ),
    Target(
        name="cuda:100",
        label="NVIDIA B200",
        backend="cuda",
        arch=100,
        warp_size=32,
        shared_memory=227 * 1024,
        has_tma=True,
        tensor_memory=512,
        float8=_OCP,
        multiprocessors=148,
        min_dot_k=_NVIDIA_DOT,
    ),
    Target(
        name="hip:gfx942",
        label="AMD MI300X",
        backend="hip",
        arch="gfx942",
        warp_size=64,
        shared_memory=64 * 1024,
        has_tma=False,
        tensor_memory=0,
        float8=(*_FNUZ, *_OCP),
        multiprocessors=304,
        min_dot_k=(),
    ),
    Target(
        name="hip:gfx950",
        label="AMD MI350X",
        backend="hip",
        arch="gfx950",
        warp_size=64,
        shared_memory=160 * 1024,
        has_tma=False,
        tensor_memory=0,
        float8=(*_OCP, *_FNUZ),
        multiprocessors=256,
        min_dot_k=(),
    ),
)

BY_NAME = {target.name: target for target in TARGETS}


def target(name: str) -> Target:
    """The target of that name; raises ValueError that lists the known ones."""
    if name not in BY_NAME:
        raise ValueError(f"unknown target {name!r}; known are {', '.join(BY_NAME)}")
    return BY_NAME[name]
