"""The most that chips can do by their data sheets: what measured rates are a part of."""

# TFLOP/s of tensor cores without sparsity, by the type of the factors, and GB/s of memory.
PEAKS: dict[str, dict[str, float]] = {
    "H200": {"16-bit": 989.5, "8-bit": 1979.0, "tf32": 494.7, "memory": 4800.0},
    "H100": {"16-bit": 989.5, "8-bit": 1979.0, "tf32": 494.7, "memory": 3350.0},
    "B200": {"16-bit": 2250.0, "8-bit": 4500.0, "tf32": 1125.0, "memory": 8000.0},
    "A100": {"16-bit": 312.0, "tf32": 156.0, "memory": 2039.0},
}


def part_of_peak(rate: float, ceiling: str, gpu: str) -> float | None:
    """The rate over the chip's most; None for chips and types that are not in the table."""
    for name, peaks in PEAKS.items():
        if name in gpu and ceiling in peaks:
            return rate / peaks[ceiling]
    return None
