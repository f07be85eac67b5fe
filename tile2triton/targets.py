"""What each architecture can do, as a table."""

from dataclasses import dataclass

from rewrites.dtypes import BY_NAME as DTYPES

MIB = 1024 * 1024


@dataclass(frozen=True)
class Peaks:
    """What a chip reaches at most, by its vendor's data sheet.

    `matrix` has the TFLOP/s of matrix units without sparsity, by the kind and bits of their
    factors; `vector` those of float32 beside them. `memory` and `cache` are TB/s, `cache` of the
    last one that all multiprocessors share, which holds `cache_bytes`. `clock` is in GHz;
    `registers` of 32 bits and `threads` are a multiprocessor's, `thread_registers` a thread's.
    """

    matrix: tuple[tuple[str, float], ...]
    vector: float
    memory: float
    cache: float
    cache_bytes: int
    clock: float
    registers: int
    thread_registers: int
    threads: int = 2048

    def matrix_units(self, dtype: str) -> float:
        """TFLOP/s of products of that type; those without matrix units take the others."""
        row = DTYPES[dtype]
        return dict(self.matrix).get(f"{row.kind}{row.bits}", self.vector)


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
    peaks: Peaks

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
        # NVIDIA's A100 data sheet (80 GB SXM); its L2 cache gives 5120 bytes a clock by the white
        # paper.
        peaks=Peaks(
            matrix=(("float64", 19.5), ("float32", 156), ("float16", 312), ("int8", 624)),
            vector=19.5,
            memory=2.04,
            cache=7.2,
            cache_bytes=40 * MIB,
            clock=1.41,
            registers=65536,
            thread_registers=255,
        ),
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
        # NVIDIA's H200 data sheet (SXM). None says what its L2 cache delivers, so as many bytes a
        # clock as the A100's are taken.
        peaks=Peaks(
            matrix=(
                ("float64", 67),
                ("float32", 494),
                ("float16", 989),
                ("float8", 1979),
                ("int8", 1979),
            ),
            vector=67,
            memory=4.8,
            cache=9.4,
            cache_bytes=50 * MIB,
            clock=1.83,
            registers=65536,
            thread_registers=255,
        ),
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
        # NVIDIA's HGX B200 data sheet, an eighth of its figures; the L2 cache as the H200's, for
        # each of two dies.
        peaks=Peaks(
            matrix=(
                ("float64", 37),
                ("float32", 1100),
                ("float16", 2250),
                ("float8", 4500),
                ("int8", 4500),
            ),
            vector=75,
            memory=7.7,
            cache=18.9,
            cache_bytes=126 * MIB,
            clock=1.85,
            registers=65536,
            thread_registers=255,
        ),
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
        # AMD's MI300X data sheet; its Infinity Cache by the CDNA 3 white paper.
        peaks=Peaks(
            matrix=(
                ("float64", 163.4),
                ("float32", 653.7),
                ("float16", 1307.4),
                ("float8", 2614.9),
                ("int8", 2614.9),
            ),
            vector=163.4,
            memory=5.3,
            cache=17.2,
            cache_bytes=256 * MIB,
            clock=2.1,
            registers=131072,
            thread_registers=512,
        ),
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
        # AMD's MI350X data sheet; its Infinity Cache as the MI300X's.
        peaks=Peaks(
            matrix=(
                ("float64", 72.1),
                ("float32", 144.2),
                ("float16", 2306.9),
                ("float8", 4613.7),
                ("int8", 4613.7),
            ),
            vector=144.2,
            memory=8.0,
            cache=17.2,
            cache_bytes=256 * MIB,
            clock=2.2,
            registers=131072,
            thread_registers=512,
        ),
    ),
)

BY_NAME = {target.name: target for target in TARGETS}


def target(name: str) -> Target:
    """The target of that name; raises ValueError that lists the known ones."""
    if name not in BY_NAME:
        raise ValueError(f"unknown target {name!r}; known are {', '.join(BY_NAME)}")
    return BY_NAME[name]
