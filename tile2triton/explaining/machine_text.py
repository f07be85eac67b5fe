"""Which instructions move and multiply tiles, counted for each line of the emitted kernel."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

from tile2triton.ttgir_text.locations import module_name

_FILE = re.compile(r'^\s*\.file\s+(\d+)\s+"([^"]*)"(?:\s+"([^"]*)")?')
_PLACE = re.compile(r"^\s*\.loc\s+(\d+)\s+(\d+)\s+\d+(?:.*?inlined_at (\d+) (\d+))?")
_SECTION = re.compile(r"^\s*\.(section|text|amdgpu_metadata)\b")
_INLINE = re.compile(r"// (begin|end) inline asm")
_CALLER = re.compile(r"@\[ [^\]]*?([\w.-]+\.py):(\d+):\d+ \]")

# An asynchronous copy that says what caches keep.
HINTED = "cp.async.L2::cache_hint"
# What an instruction is called in reports; groups of the pattern are put in.
NVIDIA = (
    (r"wgmma\.mma_async\.sync\.aligned\.(m\d+n\d+k\d+)", "wgmma {}"),
    (r"tcgen05\.mma\.(cta_group::\d)", "tcgen05.mma {}"),
    (r"\bmma\.sync\.aligned\.(m\d+n\d+k\d+)", "mma.sync {}"),
    (r"cp\.async\.bulk\.tensor\.\w+\.shared::c\w+\.global", "TMA load"),
    (r"cp\.async\.bulk\.tensor\.\w+\.global\.shared", "TMA store"),
    (r"cp\.async\.c[ag]\.shared\.global\.L2::cache_hint[^,]*,[^,]*, (\w+)", f"{HINTED} {{}} bytes"),
    (r"cp\.async\.c[ag]\.shared\.global[^,]*,[^,]*, (\w+)", "cp.async {} bytes"),
    (r"(ld\.global[.\w:]*)", "{}"),
    (r"(st\.global[.\w:]*)", "{}"),
    (r"((?:atom|red)\.[.\w:]*global[.\w:]*)", "{}"),
    (r"(ldmatrix[.\w]*)", "{}"),
    (r"(stmatrix[.\w]*)", "{}"),
    (r"mbarrier\.try_wait", "mbarrier wait"),
    (r"mbarrier\.arrive", "mbarrier arrive"),
    (r"wgmma\.wait_group\.sync\.aligned\s+(\d+)", "warpgroup wait {}"),
    (r"\bbar(?:rier)?\.sync\s+(\w+)", "barrier {}"),
)
AMD = (
    (r"\bv_s?(mfma_\w+)", "{}"),
    (r"\b((?:buffer|global)_load_\w+)\s[^;]*\blds\b", "{} to lds"),
    (r"\b(global_load_lds_\w+)", "{}"),
    (r"\b((?:buffer|global)_(?:load|store)_\w+)\s[^;]*\bnt\b", "{} nt"),
    (r"\b((?:buffer|global)_(?:load|store|atomic)_\w+)", "{}"),
    (r"\b(ds_(?:read|load|write|store)\w*)", "{}"),
)


def instructions_by_line(
    text: str, path: str, statements: Mapping[int, int], is_nvidia: bool
) -> dict[int, Counter[str]]:
    """How often each kind of instruction was made of each statement of the file `path`.

    `statements` says of each line in which one its statement begins, which is what they go by.
    """
    table = [(re.compile(pattern), name) for pattern, name in (NVIDIA if is_nvidia else AMD)]
    found: dict[int, Counter[str]] = defaultdict(Counter)
    for at, line in zip(lines_of_origin(text, path), text.splitlines(), strict=True):
        if _PLACE.match(line):
            # It names files, which may be called as instructions are.
            continue
        for pattern, name in table:
            match = pattern.search(line)
            if match:
                found[statements.get(at, at)][name.format(*map(_number, match.groups()))] += 1
                break
    return dict(found)


def without_debug_sections(text: str) -> Iterator[tuple[int, str]]:
    """The numbered lines that say what the machine does, and not where it is said."""
    is_debug = False
    for number, line in enumerate(text.splitlines(), 1):
        if _SECTION.match(line):
            is_debug = ".debug_" in line
        if not is_debug and not _FILE.match(line):
            yield number, line


def _number(text: str) -> str:
    return str(int(text, 16)) if re.fullmatch(r"0x[0-9a-f]+", text) else text


def lines_of_origin(text: str, path: str) -> Iterator[int]:
    """For each line of assembly the line of the file `path` that it is of, 0 for others."""
    name = module_name(path)
    numbers: set[str] = set()
    for line in text.splitlines():
        # NVIDIA's files stand at the end, and its lines name them before.
        file = _FILE.match(line)
        if file and module_name(file[3] or file[2]) == name:
            numbers.add(file[1])
    at = 0
    # Triton 3.9 places the lines of inline assembly below each other, and only the first is right.
    is_settled = is_inline = False
    for line in text.splitlines():
        if _INLINE.search(line):
            is_inline, is_settled = "begin" in line, False
        place = _PLACE.match(line)
        if place is None or (is_inline and is_settled):
            yield at
            continue
        is_settled = is_inline
        caller = _CALLER.search(line)
        if place[1] in numbers:
            at = int(place[2])
        elif place[3] in numbers:
            at = int(place[4])
        elif caller and module_name(caller[1]) == name:
            at = int(caller[2])
        else:
            at = 0
        yield at
