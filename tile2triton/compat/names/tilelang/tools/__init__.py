"""`tilelang.tools`: analysis; pictures of layouts are not here."""

from tile2triton.tilelang.absent import Absent
from tile2triton.tilelang.analyzer import AnalysisResult, Analyzer

__all__ = [
    "AnalysisResult",
    "Analyzer",
]

plot_layout = Absent("tilelang.tools.plot_layout", "layouts are hints without pictures")
