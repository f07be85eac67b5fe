"""What a value of the program is called that has no name of the user's: by what it is made of."""

from rewrites.operands.terms import MAXIMA, Term, how_reduced, how_scanned

# What becomes of a value, by the operator.
_VERBS = {
    "T.if_then_else": "masked",
    "T.max": "clipped",
    "T.min": "clipped",
    "T.abs": "abs",
    "-x": "negated",
    "~x": "inverted",
}
# What a value is called by itself, by the operator.
_NOUNS = {
    "T.exp": "weights",
    "T.exp2": "weights",
    "T.sqrt": "root",
    "T.rsqrt": "inverse_root",
    "T.log": "logarithm",
    "T.log2": "logarithm",
    "T.tanh": "tanh",
    "T.sigmoid": "gate",
    "T.erf": "erf",
}
_SYMBOLS = {"*": "scaled", "/": "scaled", "+": "shifted", "-": "shifted", "//": "quotient"}
_TESTS = ("<", "<=", ">", ">=", "==", "!=", "&", "|")
# What values are called that run along an axis.
_SCANS = {
    "sum": "sums",
    "prod": "products",
    "max": "peaks",
    "min": "lows",
    "linear": "states",
}
# What is not computed from anything.
_LEAVES = {"number": "value", "size": "extent", "axis": "positions"}
_LONGEST = 24


def called(term: Term) -> str:
    """A name for the tile or scalar of a term."""
    if term.name:
        return term.name
    if term.hints:
        return term.hints[0]
    if term.kind == "reduce":
        how, _ = how_reduced(term)
        return f"row_{'max' if how in MAXIMA else how}"
    if term.kind == "dot":
        return "acc"
    if term.kind == "scan":
        return _SCANS[how_scanned(term)[0]]
    if term.kind in _LEAVES:
        return _LEAVES[term.kind]
    if term.kind == "load":
        return f"{term.detail}_local"
    stem = _stem(term)
    if term.kind == "cast":
        made = f"{stem}_{term.dtype}"
        return made if len(made) <= _LONGEST else "rounded"
    return _of_operator(term, stem)


def _of_operator(term: Term, stem: str) -> str:
    operator = str(term.detail)
    if operator in _TESTS:
        return "mask"
    if operator in _NOUNS:
        return _NOUNS[operator]
    if operator in _VERBS:
        return _short(f"{stem}_{_VERBS[operator]}")
    if operator == "*" and term.operands[0] is term.operands[1]:
        return _short(f"{stem}_squared")
    if operator in _SYMBOLS:
        # Twice scaled is scaled.
        return _short(f"{stem.removesuffix('_scaled')}_{_SYMBOLS[operator]}")
    return _short(f"{stem}_{operator.removeprefix('T.')}")


def _short(name: str) -> str:
    """A name that stays short where values are made of values without names."""
    return name if len(name) <= _LONGEST else name.rpartition("_")[2]


def _stem(term: Term) -> str:
    """The name of the first operand that has one."""
    operands = term.operands
    if term.detail == "T.if_then_else":
        operands = (operands[1], operands[2], operands[0])
    for operand in operands:
        if operand.kind in _LEAVES:
            continue
        if operand.kind == "cast" and operand.operands[0].kind == "load":
            operand = operand.operands[0]
        if operand.kind == "load" and not operand.name:
            return str(operand.detail)
        return called(operand)
    return "value"
