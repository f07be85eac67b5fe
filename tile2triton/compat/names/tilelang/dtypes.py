"""`tilelang.dtypes`: element types."""

from .language.dtypes import *  # noqa: F403
from .language.dtypes import __all__ as __all__
