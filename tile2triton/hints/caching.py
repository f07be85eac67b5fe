"""What caches are to keep of an access: words for Triton's loads and stores."""

import ast

from rewrites.facts import Facts
from rewrites.hint_notes import note, with_option
from tile2triton.targets import target


def caching(facts: Facts, call: ast.Call, policy: object, is_load: bool) -> tuple[str, str]:
    """The eviction policy and the cache modifier, which is what AMD's chips have."""
    how, detail, words = _settled(policy, is_load, target(facts.target).backend == "cuda")
    note(facts, call, with_option(facts, call, "eviction_policy"), how, detail)
    return words


def _settled(policy: object, is_load: bool, is_nvidia: bool) -> tuple[str, str, tuple[str, str]]:
    nothing = ("", "")
    if policy == "evict_normal":
        return "native", "it is the default", nothing
    if policy not in ("evict_first", "evict_last"):
        return "none", "Triton has evict_first and evict_last", nothing
    if is_nvidia:
        return "native", f"`eviction_policy={policy!r}`", (str(policy), "")
    if policy == "evict_last":
        return "none", "AMD's accesses can pass caches by, not stay", nothing
    modifier = ".cg" if is_load else ".cs"
    return (
        "native",
        f"`cache_modifier={modifier!r}`: the access passes the caches by",
        ("", modifier),
    )
