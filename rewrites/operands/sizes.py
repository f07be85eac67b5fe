"""Which extents of a program are one: operands that meet in an operation share their extents."""

from rewrites.operands.terms import Size


class Sizes:
    """Extents that have been found to be one; each kind of them goes by its first name."""

    def __init__(self, is_settled: bool = False) -> None:
        self._first: dict[str, str] = {}
        # Extents whose values have decided something.
        self.fixed: set[str] = set()
        # Once a program has its names, extents of two names are two.
        self._is_settled = is_settled

    def same(self, left: Size, right: Size) -> bool:
        """Whether two extents are one; from now on they go by one name."""
        if left.value != right.value:
            return False
        a, b = self.name_of(left.name), self.name_of(right.name)
        if a and b and a != b:
            assert not self._is_settled, f"the extents {a} and {b} are one, but have two names"
            self._first[b] = a
        if bool(a) != bool(b):
            self.fixed.add(a or b)
        return True

    def name_of(self, name: str) -> str:
        """The name that stands for this one and all that are the same."""
        while name in self._first:
            name = self._first[name]
        return name

    def merged(self) -> dict[str, str]:
        """What each name that is not the first of its kind is to be called."""
        return {name: self.name_of(name) for name in self._first}
