"""Random expressions over the leaves that a place in a program offers."""

import random
from collections.abc import Callable

from rewrites.dtypes import BY_NAME, promoted
from tests.fuzz.exact import (
    MANTISSA,
    SMALL,
    Value,
    cast,
    fits,
    is_integer,
    limited,
    product_fits,
    sum_fits,
    together,
    widest,
    wrapped,
)

COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
CASTS = ("T.cast({}, {!r})", "T.cast({}, T.{})", "{}.astype({!r})", "T.{1}({0})")
FLOATS = ("float32", "float16", "bfloat16", "float64")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32")
LITERALS = (
    Value("3", "int32", 3),
    Value("-5", "int32", 5),
    Value("0", "int32", 0),
    Value("1", "int32", 1),
    Value("1.5", "float32", 1.5, 1),
    Value("-0.25", "float32", 0.25, 2),
    Value('T.cast(200, "int8")', "int8", 128),
    Value('T.cast(-1, "uint32")', "uint32", 2**32),
    Value("T.float16(2.5)", "float16", 2.5, 1),
    Value('T.min_value("int32")', "int32", 2**31),
)
BITWISE = ("T.bitwise_and({0}, {1})", "T.bitwise_or({0}, {1})", "T.bitwise_xor({0}, {1})")
# Functions whose last bits differ between machines, on operands that keep them well conditioned.
ROUGH = (
    "T.exp({})",
    "T.exp2({})",
    "T.sin({})",
    "T.cos({})",
    "T.tanh({})",
    "T.sigmoid({})",
    "T.sqrt(T.abs({}))",
    "T.log(T.abs({}) + 1.0)",
    "T.log2(T.abs({}) + 1.0)",
    "T.rsqrt(T.abs({}) + 0.5)",
    "T.erf({})",
    "1.0 / (T.abs({}) + 1.5)",
    "T.atan({})",
    "T.log1p(T.abs({}))",
)


class Expressions:
    def __init__(self, chance: random.Random, leaf: Callable[[], Value | None]) -> None:
        self.random = chance
        self.offered = leaf

    def value(self, depth: int) -> Value:
        """An exact expression of at most this depth."""
        if depth <= 0 or self.random.random() < 0.15:
            return self.leaf()
        kinds = [self.arithmetic] * 4 + [self.extreme, self.choice, self.cast, self.unary]
        kinds += [self.whole, self.bits, self.clamp]
        return self.random.choice(kinds)(depth - 1)

    def leaf(self) -> Value:
        found = None if self.random.random() < 0.2 else self.offered()
        return found or self.random.choice(LITERALS)

    def integer(self, depth: int) -> Value:
        for _ in range(8):
            value = self.value(depth)
            if is_integer(value.dtype):
                return value
        return Value("7", "int32", 7)

    def floating(self, depth: int) -> Value:
        for _ in range(4):
            value = self.value(depth)
            if value.is_float:
                return value
        return cast(self.value(depth), "float32")

    def arithmetic(self, depth: int) -> Value:
        left, right, dtype = together(self.value(depth), self.value(depth))
        operator = self.random.choice("+-*")
        if dtype in MANTISSA:
            good = product_fits if operator == "*" else sum_fits
            if not good(left, right, dtype):
                left, right = (limited(side, *SMALL[dtype]) for side in (left, right))
                left, right, dtype = together(left, right)
            if not good(left, right, dtype):
                wide = "float64" if dtype in ("float32", "float64") else "float32"
                left, right, dtype = cast(left, wide), cast(right, wide), wide
                left, right = (limited(side, 2**8, 2) for side in (left, right))
        grain = max(left.grain, right.grain)
        bound = left.bound + right.bound
        if operator == "*":
            grain, bound = left.grain + right.grain, left.bound * right.bound
        text = f"({left.text} {operator} {right.text})"
        if dtype in MANTISSA:
            return Value(text, dtype, bound, grain)
        if BY_NAME[dtype].kind == "uint":
            bound = widest(dtype)
        return wrapped(text, dtype, bound)

    def extreme(self, depth: int) -> Value:
        left, right, dtype = together(self.value(depth), self.value(depth))
        text = f"T.{self.random.choice(['min', 'max'])}({left.text}, {right.text})"
        return self.either(text, left, right, dtype)

    def either(self, text: str, left: Value, right: Value, dtype: str) -> Value:
        bound, grain = max(left.bound, right.bound), max(left.grain, right.grain)
        if dtype in MANTISSA:
            return Value(text, dtype, bound, grain)
        # A change of sign may make any number of another.
        return wrapped(text, dtype, bound if left.dtype == right.dtype else widest(dtype))

    def choice(self, depth: int) -> Value:
        left, right, dtype = together(self.value(depth), self.value(depth))
        if left.dtype == right.dtype:
            dtype = left.dtype
        test = self.condition(depth)
        form = self.random.choice(
            ["T.if_then_else({0}, {1}, {2})", "T.Select({0}, {1}, {2})", "({1} if {0} else {2})"]
        )
        return self.either(form.format(test, left.text, right.text), left, right, dtype)

    def condition(self, depth: int) -> str:
        left, right, _ = together(self.value(depth), self.value(depth))
        test = f"{left.text} {self.random.choice(COMPARISONS)} {right.text}"
        roll = self.random.random()
        if depth > 0 and roll < 0.15:
            return f"{test} {self.random.choice(['and', 'or'])} {self.condition(depth - 1)}"
        return f"not ({test})" if roll < 0.2 else test

    def cast(self, depth: int) -> Value:
        value = self.value(depth)
        if value.dtype == "bool":
            return cast(value, self.random.choice(("int32", "float32")), "T.cast({}, {!r})")
        form = self.random.choice(CASTS)
        if "[" not in value.text:
            # Of numbers that Python knows, only this form is a cast.
            form = CASTS[0]
        return cast(value, self.random.choice(FLOATS + INTEGERS), form)

    def unary(self, depth: int) -> Value:
        value = self.value(depth)
        if value.is_float:
            if value.dtype == "float32" and self.random.random() < 0.15:
                other = self.random.choice(["3.0", "-0.5", "2.0"])
                name = self.random.choice(["fmod", "copysign"])
                return Value(
                    f"T.{name}({value.text}, {other})", "float32", value.bound, value.grain
                )
            name = self.random.choice(["floor", "ceil", "trunc", "round", "abs", "-"])
            if name in ("abs", "-"):
                text = f"(-{value.text})" if name == "-" else f"T.abs({value.text})"
                return Value(text, value.dtype, value.bound, value.grain)
            if not fits(value.dtype, value.bound + 1, 0):
                value = limited(value, *SMALL[value.dtype])
            return Value(f"T.{name}({value.text})", value.dtype, value.bound + 1)
        if value.dtype == "bool":
            return value
        if value.dtype in ("int32", "uint32") and self.random.random() < 0.15:
            name = self.random.choice(["popcount", "clz"])
            return Value(f"T.{name}({value.text})", "int32" if name == "clz" else value.dtype, 32)
        if BY_NAME[value.dtype].kind == "uint":
            return Value(f"(~{value.text})", value.dtype, widest(value.dtype))
        form = self.random.choice(["(-{})", "T.abs({})", "(~{})", "T.bitwise_not({})"])
        return wrapped(form.format(value.text), value.dtype, value.bound + 1)

    def whole(self, depth: int) -> Value:
        value = self.integer(depth)
        name = self.random.choice(
            ["//", "%", "T.floordiv", "T.floormod", "T.truncdiv", "T.truncmod"]
        )
        divisor = self.random.choice(["3", "7", "2", "16", "-5"])
        if BY_NAME[value.dtype].kind == "uint":
            divisor = divisor.strip("-")
        dtype = promoted(value.dtype, "int32")
        bound = (
            value.bound
            if dtype == value.dtype or widest(dtype) > widest(value.dtype)
            else widest(dtype)
        )
        if name in ("//", "%"):
            return wrapped(f"({value.text} {name} {divisor})", dtype, bound + 1)
        return wrapped(f"{name}({value.text}, {divisor})", dtype, bound + 1)

    def bits(self, depth: int) -> Value:
        left = self.integer(depth)
        if self.random.random() < 0.3:
            dtype = promoted(left.dtype, "int32")
            shift = self.random.choice(["<< 1", ">> 1", ">> 3", "<< 4"])
            return Value(f"({left.text} {shift})", dtype, widest(dtype))
        right = self.integer(depth)
        dtype = promoted(left.dtype, right.dtype)
        form = self.random.choice(["({0} & {1})", "({0} | {1})", "({0} ^ {1})", *BITWISE])
        return Value(form.format(left.text, right.text), dtype, widest(dtype))

    def clamp(self, depth: int) -> Value:
        value = self.value(depth)
        if value.dtype == "bool" or BY_NAME[value.dtype].kind == "uint":
            return value
        low, high = self.random.choice([(-2, 3), (0, 5), (-7, -1)])
        dtype = promoted(value.dtype, "int32")
        return Value(f"T.clamp({value.text}, {low}, {high})", dtype, 7, value.grain)

    def rough(self, depth: int) -> str:
        """A float32 expression that is right to a few bits only."""
        argument = limited(cast(self.value(depth), "float32"), 4, 2).text
        text = self.random.choice(ROUGH).format(argument)
        if self.random.random() < 0.3:
            text = f"{text} {self.random.choice('+*-')} {self.rough(depth - 1)}"
        return text
