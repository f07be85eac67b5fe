"""Every error code: what it means, and an example of what is wrong and what is right."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Entry:
    """One error code, as `tile2triton explain CODE` prints it."""

    title: str
    explanation: str
    wrong: str = ""
    right: str = ""

    def __str__(self) -> str:
        parts = [f"**{self.title}**", self.explanation]
        for label, code in (("Wrong:", self.wrong), ("Right:", self.right)):
            if code:
                parts.append(f"{label}\n\n```python\n{code}\n```")
        return "\n\n".join(parts)


CATALOGUE: dict[str, Entry] = {
    # Syntax and tracing.
    "T2T101": Entry(
        title="The source text of a kernel is not available",
        explanation=(
            "A kernel is read from the file or notebook cell that it is written in. Code from "
            "`exec`, `eval` or `python -c` has no such text."
        ),
    ),
    "T2T102": Entry(
        title="Syntax that no kernel can have",
        explanation=(
            "A kernel is executed once to record what it does. Constructs that leave it early, "
            "wait, or change names of other functions cannot be recorded."
        ),
        wrong="for k in range(n):\n    C[k] = A[k]\nelse:\n    C[0] = 0.0",
        right="for k in range(n):\n    C[k] = A[k]\nC[0] = 0.0",
    ),
    "T2T103": Entry(
        title="A lambda as a kernel",
        explanation="A kernel has statements and a name, so it is written with `def`.",
        wrong="kernel = tile2triton.kernel(lambda A: A)",
        right="@tile2triton.kernel\ndef kernel(A): ...",
    ),
    "T2T110": Entry(
        title="A name that the language does not have",
        explanation=(
            "The name after `T.` is misspelled, or an operator of TileLang that has no "
            "counterpart in Triton, such as those on single threads."
        ),
        wrong="T.reduce_summ(x, total, dim=1)",
        right="T.reduce_sum(x, total, dim=1)",
    ),
    "T2T120": Entry(
        title="A name used outside the block that bound it",
        explanation=(
            "What is assigned in a loop or in a branch that is decided at run time has no value "
            "outside of it: the kernel may have taken another branch. A variable from T.alloc_var"
            " keeps its value."
        ),
        wrong="if bx == 0:\n    first = A[0]\nB[bx] = first",
        right='first = T.alloc_var("float32")\nif bx == 0:\n    first = A[0]\nB[bx] = first',
    ),
    "T2T121": Entry(
        title="A number that would change from turn to turn of a loop",
        explanation=(
            "The body of a loop of the kernel is recorded once, so a Python number or a name "
            "cannot add up over its turns. A variable from T.alloc_var can, and a tile that is "
            "stored to: `acc += x` rather than `acc = acc + x`."
        ),
        wrong="total = 0.0\nfor k in range(n):\n    total = total + A[k]",
        right=(
            'total = T.alloc_var("float32", init=0.0)\nfor k in range(n):\n    total = total + A[k]'
        ),
    ),
    "T2T131": Entry(
        title="An element type that is not known yet",
        explanation=(
            "`.dtype` is known of tensors, tiles, variables and casts while a kernel is traced, "
            "but not of every expression."
        ),
        wrong="y = T.cast(z, (x * scale).dtype)",
        right="y = T.cast(z, x.dtype)",
    ),
    "T2T132": Entry(
        title="`**` in a kernel",
        explanation="Powers of what is known at run time are written as products or with T.pow.",
        wrong="y = x ** 2",
        right="y = x * x",
    ),
    "T2T133": Entry(
        title="Python must decide on a value that only the running kernel knows",
        explanation=(
            "`if`, `and`, `or` and `not` in the kernel itself, and in functions under @T.macro, "
            "may depend on run-time values. A plain Python function that the kernel calls, the "
            "built-in `max` and `min`, and `assert` cannot."
        ),
        wrong="def clip(x):\n    return x if x < 1.0 else 1.0",
        right="@T.macro\ndef clip(x):\n    return x if x < 1.0 else 1.0",
    ),
    "T2T134": Entry(
        title="Python needs a number that only the running kernel knows",
        explanation=(
            "List indices, `math` functions, `int()` and `float()` work on static numbers. The "
            "language has its own functions for values of the kernel."
        ),
        wrong="y = math.exp(x[i])",
        right="y = T.exp(x[i])",
    ),
    "T2T135": Entry(
        title="A scalar, tile or tensor taken apart or looped over",
        explanation="Values of a kernel are no Python sequences; loops run over indices.",
        wrong="for x in tile:\n    total = total + x",
        right="T.reduce_sum(tile, total, dim=0)",
    ),
    "T2T136": Entry(
        title="A whole tile or tensor as a condition",
        explanation="A condition is one scalar.",
        wrong="if tile:\n    ...",
        right="if tile[0] > 0:\n    ...",
    ),
    "T2T137": Entry(
        title="Arithmetic on a whole tensor",
        explanation=(
            "A program computes with elements, and with the tiles that it has loaded. What a "
            "tensor holds as a whole is shared out to all programs."
        ),
        wrong="tile += A",
        right="tile += T.copy(A[bx * 64 : (bx + 1) * 64])",
    ),
    "T2T138": Entry(
        title="A region where one element is wanted",
        explanation=(
            "A scalar expression and a store need an index in every dimension, and no slices. "
            "Parts of tensors are operands of T.copy, T.gemm and their like; parts of tiles are "
            "operands of arithmetic, too."
        ),
        wrong="tile[i, :] = A[i, :]",
        right="T.copy(A[i, :], tile[i, :])",
    ),
    "T2T139": Entry(
        title="A Python object that has no meaning in a kernel",
        explanation=(
            "What reaches the kernel are numbers, element types, tiles, tensors and expressions "
            "of them."
        ),
        wrong='T.fill(tile, "zero")',
        right="T.fill(tile, 0)",
    ),
    "T2T141": Entry(
        title="Tiles whose shapes do not go together",
        explanation=(
            "Tiles are broadcast as NumPy does: shapes are compared from the last extent, and an "
            "extent of 1 goes with any other. `x[:, None]` is one number for each row, and "
            "`x[None, :]`, or `x` itself, one for each column."
        ),
        wrong="acc *= scale",
        right="acc *= scale[:, None]",
    ),
    "T2T142": Entry(
        title="An index that is a float",
        explanation="Indices are whole numbers; `/` makes floats, `//` does not.",
        wrong="B[i] = A[n / 2]",
        right="B[i] = A[n // 2]",
    ),
    "T2T143": Entry(
        title="A whole tile computed in T.Parallel",
        explanation="The body of T.Parallel is about one element of each tile.",
        wrong="for i in T.Parallel(64):\n    weights = T.exp(scores)\n    y[i] = weights[i] * x[i]",
        right="y[...] = T.exp(scores) * x",
    ),
    "T2T144": Entry(
        title="An expression of a tile that was stored to before the expression is used",
        explanation=(
            "A plain Python function gives back what it computed as an expression, and lists hold "
            "such, which are computed where they are used: before the tile changes, and not in a "
            "loop that begins later. In the kernel and in a macro a name is a tile at once."
        ),
        wrong="def taken(x):\n    value = x + 1.0\n    T.clear(x)\n    return value",
        right="@T.macro\ndef taken(x):\n    value = x + 1.0\n    T.clear(x)\n    return value",
    ),
    "T2T145": Entry(
        title="A result that nothing uses",
        explanation=(
            "An operator that is called without its destination makes a new tile, which is its "
            "value. As a statement of its own it has no effect."
        ),
        wrong="T.reduce_sum(x, dim=1)",
        right="total = T.reduce_sum(x, dim=1)",
    ),
    "T2T146": Entry(
        title="A store to what is no place",
        explanation="Operators store to tiles and parts of them, and not to what is computed.",
        wrong="T.cumsum(x * 2.0)",
        right="y = x * 2.0\nT.cumsum(y)",
    ),
    "T2T150": Entry(
        title="An operator used outside of a kernel",
        explanation=(
            "Operators that act on tiles belong into a function under @tile2triton.kernel, "
            "@T.prim_func or @T.macro, while it is being traced."
        ),
    ),
    "T2T151": Entry(
        title="A tensor that shares the memory of another",
        explanation="`T.Tensor(shape, dtype, buf.data)` is not supported; index the first tensor.",
    ),
    "T2T152": Entry(
        title="The value of a T.const size is not known",
        explanation=(
            "A T.const size is taken from an argument, so it must stand by itself as an extent of"
            " a tensor, or be given to `compile`."
        ),
        wrong="A: T.Tensor((2 * M,), dtype)",
        right="A: T.Tensor((M,), dtype)",
    ),
    "T2T153": Entry(
        title="A tensor allocated inside of T.Kernel",
        explanation="The launcher allocates tensors, before any program runs.",
        wrong="with T.Kernel(n) as bx:\n    C = T.empty((n,), dtype)",
        right="C = T.empty((n,), dtype)\nwith T.Kernel(n) as bx:\n    ...",
    ),
    "T2T154": Entry(
        title="Something that is no extent in the shape of a tensor",
        explanation=(
            "A shape holds whole numbers, T.const and T.dynamic sizes and what is computed from "
            "them."
        ),
    ),
    "T2T156": Entry(
        title="The first value of a variable is no scalar",
        explanation="T.alloc_var holds one scalar.",
        wrong='x = T.alloc_var("float32", init=tile)',
        right='x = T.alloc_var("float32", init=tile[0])',
    ),
    "T2T157": Entry(
        title="A bound of a loop or grid that is no whole number",
        explanation="Loops and grids count in whole numbers.",
        wrong="for k in T.serial(n / 2):\n    ...",
        right="for k in T.serial(n // 2):\n    ...",
    ),
    "T2T158": Entry(
        title="A loop of the kernel where Python must run it",
        explanation=(
            "List comprehensions, `zip` and `enumerate` are run by Python while the kernel is "
            "traced, so they take static ranges only."
        ),
        wrong="parts = [A[i] for i in range(bx)]",
        right="for i in range(bx):\n    total = total + A[i]",
    ),
    "T2T160": Entry(
        title="Arguments that do not fit an operator",
        explanation="The error shows the operator's signature.",
        wrong="T.copy(A)",
        right="T.copy(A, tile)",
    ),
    "T2T161": Entry(
        title="T.Kernel inside another block",
        explanation=(
            "A function may hold several T.Kernel one after the other, but not one in another or "
            "in a loop."
        ),
    ),
    "T2T162": Entry(
        title="A wrong number of loop or block variables",
        explanation="T.Parallel and T.Kernel give one variable for each of their extents.",
        wrong="for i in T.Parallel(64, 32):\n    ...",
        right="for i, j in T.Parallel(64, 32):\n    ...",
    ),
    "T2T163": Entry(
        title="An operator on numbers that has no result",
        explanation=(
            "Operators on static numbers are computed while the kernel is traced; this one "
            "divides by zero or is outside of its domain."
        ),
    ),
    "T2T164": Entry(
        title="A declaration of a name that is no parameter",
        explanation="`A: T.Tensor(...)` in an eager kernel says what its parameter `A` is.",
        wrong="def double(X):\n    X: T.Tensor((n,), dtype)\n    Y: T.Tensor((n,), dtype)",
        right="def double(X):\n    X: T.Tensor((n,), dtype)\n    Y = T.empty((n,), dtype)",
    ),
    "T2T165": Entry(
        title="`break` or `continue` of a loop over a Python list, decided at run time",
        explanation=(
            "Such a loop is unrolled while the kernel is traced, so that Python must know which "
            "turns there are. In loops of the kernel both work."
        ),
        wrong="for a in [1, 2]:\n    if A[a] < 0:\n        break",
        right="for a in range(1, 3):\n    if A[a] < 0:\n        break",
    ),
    "T2T166": Entry(
        title="`return` inside a block of the kernel",
        explanation=(
            "A `return` with a value stands at the end, or in a branch that is decided while the "
            "kernel is traced; so does any `return` of a macro. A bare `return` inside of T.Kernel "
            "may stand anywhere but in T.Parallel."
        ),
    ),
    "T2T167": Entry(
        title="A store of something that is no scalar",
        explanation="An assignment to an element stores one scalar.",
        wrong="C[i] = tile",
        right="T.copy(tile, C[i])",
    ),
    "T2T168": Entry(
        title="A loop without an end",
        explanation=(
            "The condition of `while` must depend on what the loop changes: a variable or an "
            "element of a buffer."
        ),
        wrong="while True:\n    ...",
        right='k = T.alloc_var("int32")\nwhile k < n:\n    k += 1',
    ),
    "T2T169": Entry(
        title="A macro assigns to what cannot be assigned to",
        explanation=(
            "A parameter under `T.Ref` stands for what is passed: a variable from T.alloc_var or "
            "an element of a buffer."
        ),
    ),
    "T2T170": Entry(
        title="Python raised an error while the kernel was traced",
        explanation=(
            "The kernel's own Python code failed: an `assert`, an unknown name, a wrong call of a"
            " helper function."
        ),
    ),
    "T2T173": Entry(
        title="A statement outside of T.Kernel",
        explanation=(
            "Loops, stores and operators on tiles belong into `with T.Kernel(...)`. Above it "
            "stand sizes, T.empty and static Python."
        ),
    ),
    "T2T174": Entry(
        title="A parameter without a type",
        explanation=(
            "A T.prim_func annotates every parameter with T.Tensor or an element type; an eager "
            "kernel declares its tensors in its body."
        ),
        wrong="@T.prim_func\ndef main(A, n):\n    ...",
        right='@T.prim_func\ndef main(A: T.Tensor((64,), "float32"), n: T.int32):\n    ...',
    ),
    "T2T175": Entry(
        title="out_idx that names no tensor",
        explanation=(
            "out_idx counts the parameters of the T.prim_func from 0, or from the end with "
            "negative numbers. Scalars cannot be outputs."
        ),
    ),
    "T2T177": Entry(
        title="An eager kernel returns something else than T.empty tensors",
        explanation="Only what the kernel allocates is returned; the caller has the rest already.",
    ),
    "T2T178": Entry(
        title="A T.empty tensor that is not returned",
        explanation=(
            "Return it. A tensor that only the kernels of the function see is from T.alloc_global."
        ),
    ),
    "T2T179": Entry(
        title="A function without T.Kernel",
        explanation="The body of a kernel stands under `with T.Kernel(...)`.",
        wrong="def main(A, B):\n    T.copy(A, B)",
        right="def main(A, B):\n    with T.Kernel(1, threads=128) as bx:\n        T.copy(A, B)",
    ),
    "T2T180": Entry(
        title="A run-time size that no argument tells",
        explanation=(
            "The launcher reads each T.dynamic size from the shape of a tensor that is passed, "
            "where it stands by itself as an extent."
        ),
    ),
    "T2T181": Entry(
        title="A T.prim_func that is called",
        explanation="Compile it first; what is compiled can be called.",
        wrong="main(a, b)",
        right="kernel = tile2triton.compile(main, out_idx=[1])\nb = kernel(a)",
    ),
    "T2T182": Entry(
        title="A factory that returns no kernel",
        explanation=(
            "A function under @tile2triton.kernel is a kernel itself, or returns a function under"
            " @T.prim_func."
        ),
    ),
    "T2T183": Entry(
        title="out_idx on an eager kernel",
        explanation="Eager kernels allocate their outputs with T.empty and return them.",
    ),
    "T2T184": Entry(
        title="An index of a variable other than 0",
        explanation="A variable from T.alloc_var is one scalar; `x[0]` and `x` are the same.",
        wrong='x = T.alloc_var("int32")\nx[1] = 3',
        right='x = T.alloc_var("int32")\nx = 3',
    ),
    "T2T185": Entry(
        title="The number of multiprocessors is not known",
        explanation=(
            "A persistent kernel has by default a program for each multiprocessor of the current "
            "GPU. Where there is none, the number must be given."
        ),
        right="sched = T.PersistentTileScheduler(m, n, num_workers=132)",
    ),
    "T2T186": Entry(
        title="T.Persistent without a grid",
        explanation=(
            "The arguments are the extents of the grid of tiles, the number of programs, the index "
            "of this program, and how many columns are a group."
        ),
        wrong="for bx, by in T.Persistent(tiles, 132, pid): ...",
        right="for bx, by in T.Persistent([m, n], 132, pid): ...",
    ),
    "T2T189": Entry(
        title="T.break_loop or T.continue_loop outside of a loop",
        explanation="They leave, or go on with, the loop of the kernel that they stand in.",
    ),
    "T2T190": Entry(
        title="T.make_tensor of what is no address",
        explanation=(
            "An address is a parameter of the type T.ptr, or an element of a tensor of addresses: "
            "`T.Tensor((n,), T.ptr)`, for which int64 tensors of `data_ptr()` are passed."
        ),
        wrong="A = T.make_tensor(n, (M, N), dtype)",
        right="A = T.make_tensor(table[n], (M, N), dtype)",
    ),
    "T2T191": Entry(
        title="Strides that do not fit the shape",
        explanation="There is one stride for each dimension, counted in elements.",
        wrong='A: T.StridedTensor((M, N), (S,), "float16")',
        right='A: T.StridedTensor((M, N), (S, 1), "float16")',
    ),
    "T2T192": Entry(
        title="A view of a tensor with strides",
        explanation=(
            "T.view and T.reshape count the elements of a tensor as they follow each other in "
            "memory. Those of a T.StridedTensor may have gaps between them."
        ),
    ),
    "T2T193": Entry(
        title="T.grid without extents",
        explanation="T.grid(m, n) is a nest of two loops; it has one loop for each extent.",
        wrong="for i in T.grid(): ...",
        right="for i, j in T.grid(m, n): ...",
    ),
    # Operators.
    "T2T201": Entry(
        title="Neither a tensor nor a tile",
        explanation="The operator acts on a tensor parameter, on a tile, or on a region of one.",
        wrong="T.copy(A[i] + 1, tile)",
        right="T.copy(A[i], tile)",
    ),
    "T2T202": Entry(
        title="An unknown element type",
        explanation='Element types are written as T.float16, `"float16"` or torch.float16.',
        wrong='T.alloc_shared((64,), "float17")',
        right='T.alloc_shared((64,), "float16")',
    ),
    "T2T204": Entry(
        title="An option that must be known when the kernel is compiled",
        explanation=(
            "Options such as transpose_B change what is emitted, so no run-time value can decide "
            "them."
        ),
        wrong="T.gemm(a, b, c, transpose_B=bx > 0)",
        right="T.gemm(a, b, c, transpose_B=True)",
    ),
    "T2T205": Entry(
        title="A slice with a step",
        explanation="Regions are contiguous in each dimension.",
        wrong="T.copy(A[0:64:2], tile)",
        right="for i in T.Parallel(32):\n    tile[i] = A[2 * i]",
    ),
    "T2T206": Entry(
        title="A constant index outside of a tile",
        explanation="Reads and writes past the end are masked for tensors, never for tiles.",
        wrong="x = tile[64]  # tile has 64 elements",
        right="x = tile[63]",
    ),
    "T2T210": Entry(
        title="A copy between whole buffers of different shapes",
        explanation=(
            "Without an index both sides are copied whole. With an index, the region starts there"
            " and has the extents of the tile."
        ),
        wrong="T.copy(A, tile)  # A is (1024, 1024), tile is (64, 64)",
        right="T.copy(A[by * 64, bx * 64], tile)",
    ),
    "T2T211": Entry(
        title="A copy between different numbers of dimensions",
        explanation="Dimensions of extent 1 are left out on both sides; what remains must pair up.",
        wrong="T.copy(A[batch], tile)  # A is (8, 128, 32, 64), tile is (128, 64)",
        right="T.copy(A[batch, :, head, :], tile)",
    ),
    "T2T212": Entry(
        title="A source that is larger than the tile",
        explanation="A copy moves as much as the tile holds, and no source may ask for more.",
        wrong="T.copy(A[0:128], tile)  # tile has 64 elements",
        right="T.copy(A[0:64], tile)",
    ),
    "T2T213": Entry(
        title="Tiles of different extents",
        explanation="Two tiles on the chip are copied element by element.",
    ),
    "T2T220": Entry(
        title="An operand of T.gemm that is no matrix",
        explanation="T.gemm multiplies two dimensions; any before them have extent 1.",
        wrong="T.gemm(stages, b, c)",
        right="T.gemm(stages[0, :, :], b, c)",
    ),
    "T2T221": Entry(
        title="The inner sizes of T.gemm differ",
        explanation=(
            "A is (M, K), B is (K, N), C is (M, N); transpose_A and transpose_B turn a tile around."
        ),
        wrong="T.gemm(q, k, s)  # q is (64, 128), k is (32, 128)",
        right="T.gemm(q, k, s, transpose_B=True)",
    ),
    "T2T222": Entry(
        title="The result of T.gemm has another shape",
        explanation="C has as many rows as A and as many columns as B.",
    ),
    "T2T223": Entry(
        title="The operands of T.gemm have different types",
        explanation="Tensor cores multiply one type; T.copy into a tile of another type casts.",
    ),
    "T2T224": Entry(
        title="A type that tensor cores do not multiply",
        explanation=(
            "They multiply float16, bfloat16, float32 (rounded to TF32), float64, the float8 "
            "types and int8."
        ),
    ),
    "T2T225": Entry(
        title="An accumulator of the wrong type",
        explanation="Products of floats are added up in float32 or float16, of int8 in int32.",
    ),
    "T2T226": Entry(
        title="T.gemm on a global tensor",
        explanation="Copy the operand into a tile first.",
        wrong="T.gemm(A, b, c)",
        right="T.copy(A[by * 128, k * 32], a)\nT.gemm(a, b, c)",
    ),
    "T2T230": Entry(
        title="The output of a reduction has the wrong shape",
        explanation=(
            "It has the shape of the input without the dimension that is reduced, or with extent "
            "1 there."
        ),
        wrong="T.reduce_sum(x, total, dim=1)  # x is (64, 32), total is (32,)",
        right="T.reduce_sum(x, total, dim=1)  # x is (64, 32), total is (64,)",
    ),
    "T2T231": Entry(
        title="A reduction along a dimension that does not exist",
        explanation="Dimensions count from 0, or from the end with negative numbers.",
    ),
    "T2T232": Entry(
        title="A reduction of a global tensor",
        explanation="Copy the part into a tile first.",
    ),
    "T2T233": Entry(
        title="An unknown kind of reduction",
        explanation='T.reduce takes "sum", "max", "min", "abssum" or "absmax".',
    ),
    "T2T240": Entry(
        title="An element type without atomic addition",
        explanation=(
            "GPUs add these types atomically: float16, bfloat16, float32, float64 and the "
            "integers of 32 and 64 bits."
        ),
    ),
    "T2T241": Entry(
        title="Elements of a tile that many iterations may update",
        explanation=(
            "Atomic operations work on tensors in global memory. A tile is updated like any value,"
            " so that each element must have one iteration, or all that share it must be known."
        ),
        wrong="for i in T.Parallel(64):\n    T.atomic_add(counts[bucket[i]], 1)  # a tile",
        right="for i in T.Parallel(64):\n    T.atomic_add(Counts[bucket[i]], 1)  # a tensor",
    ),
    "T2T242": Entry(
        title="return_prev of a region",
        explanation="The previous value is given for one element at a time.",
    ),
    "T2T243": Entry(
        title="An unknown memory order",
        explanation='The orders are "relaxed", "acquire", "release", "acq_rel" and "seq_cst".',
    ),
    "T2T250": Entry(
        title="An extent of T.Parallel that is not positive, or not static inside another one",
        explanation="The lanes of nested loops are one tile, whose size is known.",
        wrong="for i in T.Parallel(64):\n    B[i] = 0\n    for j in T.Parallel(n):\n        ...",
        right="for i in T.Parallel(64):\n    B[i] = 0\nfor i, j in T.Parallel(64, n):\n    ...",
    ),
    "T2T251": Entry(
        title="A wrong number of stages",
        explanation=(
            "`num_stages` counts the iterations whose copies are in flight; 0 is a plain loop."
        ),
    ),
    "T2T252": Entry(
        title="A step of a loop that is 0 or not static",
        explanation="Loop over a count and multiply inside.",
        wrong="for k in T.serial(0, n, step):\n    ...",
        right="for t in T.serial(T.ceildiv(n, step)):\n    k = t * step",
    ),
    "T2T253": Entry(
        title="T.Parallel without an extent",
        explanation="Give it one extent for each dimension of the tile.",
    ),
    "T2T260": Entry(
        title="A grid that has not one to three dimensions",
        explanation="Put further dimensions into one extent and take them apart with // and %.",
        wrong="with T.Kernel(a, b, c, d) as (i, j, k, l):\n    ...",
        right="with T.Kernel(a, b, c * d) as (i, j, kl):\n    k, l = kl // d, kl % d",
    ),
    "T2T261": Entry(
        title="A wrong number of threads",
        explanation="A program has 1 to 1024 threads; the number becomes Triton's num_warps.",
    ),
    "T2T270": Entry(
        title="T.fill or T.clear of something that is no tile",
        explanation="Both set tiles, regions of tiles and variables.",
        wrong="T.clear(C)  # a global tensor",
        right="T.clear(tile)\nT.copy(tile, C[by * 64, bx * 64])",
    ),
    "T2T280": Entry(
        title="An extent of a tile that is not static",
        explanation=(
            "The extents of tiles are positive numbers that are known when the kernel is "
            "compiled. T.const sizes are, T.dynamic sizes are not."
        ),
        wrong='tile = T.alloc_fragment((n,), dtype)  # n = T.dynamic("n")',
        right="tile = T.alloc_fragment((1024,), dtype)",
    ),
    "T2T281": Entry(
        title="A tile of more elements than Triton takes",
        explanation="A tile has at most 2**20 elements, each extent rounded up to a power of two.",
    ),
    "T2T290": Entry(
        title="A rounding mode that is not supported",
        explanation="Casts round to the nearest value.",
    ),
    "T2T291": Entry(
        title="A wrong panel size",
        explanation="T.use_swizzle takes a positive number of rows of programs.",
    ),
    "T2T292": Entry(
        title="An unknown order of programs",
        explanation='T.use_swizzle takes order="row", "column" or "mlx".',
    ),
    "T2T293": Entry(
        title="A safe value of something that is no tensor",
        explanation="T.annotate_safe_value says what reads outside of a global tensor give.",
        wrong="T.annotate_safe_value({tile: 0})",
        right="T.annotate_safe_value({A: 0})",
    ),
    "T2T294": Entry(
        title="A static assertion of something known at run time only",
        explanation=(
            "T.static_assert takes a condition on numbers that are known when the kernel is "
            "compiled. T.assume says what holds at run time."
        ),
        wrong="T.static_assert(n % 16 == 0)  # n = T.dynamic(...)",
        right="T.assume(n % 16 == 0)",
    ),
    "T2T295": Entry(
        title="A static assertion that does not hold",
        explanation="The kernel says of its own sizes or parameters what is not so.",
    ),
    # Rewrites and lowering.
    # Run time.
    "T2T296": Entry(
        title="A wrong number in a hint",
        explanation=(
            "A thread has 24 to 256 registers, a multiprocessor one program or more, and AMD's "
            "matrix instructions take one or two parts of k at once. A number that a chip cannot "
            "do is no error: it is reported, and left out."
        ),
        wrong="T.set_max_nreg(0, 1)",
        right="T.set_max_nreg(240, 1)",
    ),
    "T2T297": Entry(
        title="A layout of something that is no buffer",
        explanation="T.annotate_layout takes a dict: tiles, and how each is to lie.",
        wrong='T.annotate_layout({"a": layout})',
        right="T.annotate_layout({a: layout})",
    ),
    "T2T301": Entry(
        title="An expression without a value",
        explanation=(
            "Scalars, elements of buffers and operators that compute have a value; statements do "
            "not."
        ),
    ),
    "T2T302": Entry(
        title="A whole tile where one element is wanted",
        explanation="Index it, inside T.Parallel for every element.",
    ),
    "T2T303": Entry(
        title="`/` between integers",
        explanation="Whole numbers are divided with `//`; for a fraction, cast one side first.",
        wrong="mean = total / count  # both int32",
        right='mean = T.cast(total, "float32") / count',
    ),
    "T2T304": Entry(
        title="`**` in a kernel",
        explanation="Powers are written as products or with T.pow.",
    ),
    "T2T305": Entry(
        title="Many iterations of T.Parallel store to one element",
        explanation=(
            "All iterations happen at once, so which value stays is not defined. `+=` adds them up."
        ),
        wrong="for i, j in T.Parallel(64, 32):\n    row[j] = x[i, j]",
        right="for i, j in T.Parallel(64, 32):\n    row[j] += x[i, j]",
    ),
    "T2T306": Entry(
        title="A tile written at a computed index",
        explanation=(
            "Tiles are written at a loop variable, at a start plus a loop variable, or at a number."
        ),
    ),
    "T2T308": Entry(
        title="An extent of T.Parallel that is known only at run time",
        explanation="Run over the whole tile and guard the body with an `if`.",
    ),
    "T2T309": Entry(
        title="A statement that cannot stand inside T.Parallel",
        explanation="T.Parallel holds element-wise statements: assignments, `if`, `for`, `while`.",
    ),
    "T2T310": Entry(
        title="Every iteration of T.Parallel stores to one variable",
        explanation=(
            "Declare the variable inside the loop, where each element has its own, or reduce."
        ),
    ),
    "T2T311": Entry(
        title="A step of a loop that is 0 or known only at run time",
        explanation="Use a static step, or a `while` loop.",
    ),
    "T2T312": Entry(
        title="A statement that tile programs do not have",
        explanation="The statement has no counterpart in Triton.",
    ),
    "T2T313": Entry(
        title="A wrong number of indices",
        explanation=(
            "A tensor or tile takes as many indices as it has dimensions; in regions, missing "
            "ones stand for whole dimensions."
        ),
        wrong="x = A[i, j]  # A has one dimension",
        right="x = A[i]",
    ),
    "T2T314": Entry(
        title="A loop that cannot stand inside T.Parallel",
        explanation="Put all loop variables in one T.Parallel, or use T.serial inside it.",
        wrong="for i in T.Parallel(64):\n    for j in T.Parallel(32):\n        ...",
        right="for i, j in T.Parallel(64, 32):\n    ...",
    ),
    "T2T315": Entry(
        title="A tile operator inside T.Parallel",
        explanation="Operators on whole tiles stand before or after the loop.",
    ),
    "T2T316": Entry(
        title="A grid extent that the launcher cannot compute",
        explanation=(
            "Grid extents are computed from sizes and scalar parameters with + - * // %, "
            "T.ceildiv, T.min and T.max."
        ),
    ),
    "T2T317": Entry(
        title="A region whose length is known only at run time",
        explanation="Copy through a tile of fixed size, in a loop.",
    ),
    "T2T318": Entry(
        title="An inner size that is too small for tensor cores",
        explanation="The least inner size depends on the element type and on the target.",
    ),
    "T2T319": Entry(
        title="An operator that cannot stand here",
        explanation="Inside T.Parallel and in scalar code stand operators on elements.",
    ),
    "T2T320": Entry(
        title="A dimension of 2³¹ elements or more",
        explanation=(
            "Indices along a dimension have 32 bits. A tensor may have more elements than that,"
            " over several dimensions: its offsets are then computed in 64 bits."
        ),
    ),
    "T2T321": Entry(
        title="An update that several iterations may make to one element",
        explanation=(
            "The iterations of T.Parallel run at once. Two that add to one element of a tensor"
            " would lose an addition; T.atomic_add loses none."
        ),
    ),
    "T2T322": Entry(
        title="An operation on bits, or a floor division, of a float",
        explanation="The operators ~ & | ^ << >> and // take integers, and ~ & | conditions too.",
    ),
    "T2T323": Entry(
        title="An index outside of a tile",
        explanation="What is on the chip is not checked at run time, so a known index has to fit.",
    ),
    "T2T324": Entry(
        title="A division by 0",
        explanation="The divisor is known when the kernel is compiled, and it is 0.",
    ),
    "T2T325": Entry(
        title="The value before an addition that many iterations make at once",
        explanation=(
            "The additions of one T.Parallel to one element are made as one, so that there is no"
            " value before each of them."
        ),
    ),
    "T2T330": Entry(
        title="`break` in T.Parallel",
        explanation=(
            "The iterations of T.Parallel have no order, so that none comes after another. "
            "`continue` and `if` leave statements out of single iterations."
        ),
        wrong="for i in T.Parallel(64):\n    if A[i] < 0:\n        break\n    C[i] = A[i]",
        right="for i in T.Parallel(64):\n    if A[i] < 0:\n        continue\n    C[i] = A[i]",
    ),
    "T2T331": Entry(
        title="`return` in T.Parallel",
        explanation="A program ends as a whole, and its iterations of T.Parallel end together.",
        wrong="for i in T.Parallel(64):\n    if A[i] < 0:\n        return\n    C[i] = A[i]",
        right="for i in T.Parallel(64):\n    if A[i] < 0:\n        continue\n    C[i] = A[i]",
    ),
    "T2T340": Entry(
        title="A view of something that is no whole tile or tensor",
        explanation="A view is of the memory of a buffer, which has a name of its own.",
        wrong="v = T.reshape(tile[0:4, :], (32,))",
        right="v = T.reshape(tile, (64,))",
    ),
    "T2T341": Entry(
        title="A view of another size than its buffer",
        explanation="A view shows all bits of its buffer: elements times width must be the same.",
        wrong='v = T.view(tile, (64, 32), "float32")  # tile: (64, 32) float16',
        right='v = T.view(tile, (64, 16), "float32")',
    ),
    "T2T342": Entry(
        title="The bits of a bool as another type, or the other way round",
        explanation="Bools have no fixed bits on the chip; T.cast makes numbers of them.",
    ),
    "T2T343": Entry(
        title="A T.Parallel that knows one memory by two names",
        explanation=(
            "The loop writes a tile by one name and uses it by another, while a let or variable"
            " keeps it from being done statement by statement."
        ),
    ),
    "T2T344": Entry(
        title="Operands that T.im2col does not take",
        explanation="The image is a whole tensor (N, H, W, C), the matrix a tile of its type.",
    ),
    "T2T345": Entry(
        title="A size of T.im2col that is not static",
        explanation="The kernel, its stride and dilation, and the padding are fixed numbers.",
    ),
    "T2T346": Entry(
        title="Operands that T.transpose does not take",
        explanation="The source is (M, N) and the destination (N, M), of sizes that are known.",
        wrong="T.transpose(a, b)  # a: (64, 32), b: (64, 32)",
        right="T.transpose(a, b)  # a: (64, 32), b: (32, 64)",
    ),
    "T2T347": Entry(
        title="Operands that T.interleave does not take",
        explanation="Two whole tiles have one shape, and the third one twice their last extent.",
        wrong="T.interleave(a, b, c)  # all three: (64, 32)",
        right="T.interleave(a, b, c)  # a, b: (64, 32), c: (64, 64)",
    ),
    "T2T360": Entry(
        title="An allocation in a scope that has no memory here",
        explanation="Tensors are global, tiles are shared or fragments, scalars are variables.",
        wrong='x = T.alloc_buffer((1,), "int32", scope="local.var")',
        right='x = T.alloc_var("int32")',
    ),
    "T2T361": Entry(
        title="An allocation with arguments that only a compiler's own representation has",
        explanation="Memory is allocated whole, contiguous and without a condition.",
        wrong='x = T.decl_buffer((64,), "float32", data=y.data)',
        right="x = T.view(y, (64,))",
    ),
    "T2T380": Entry(
        title="What a thread read is used behind what all threads do",
        explanation=(
            "A name without T.alloc_var is a value of the statements around it. Where the threads "
            "meet, or act on a tile together, each thread's own values are kept in variables."
        ),
        wrong="x = A[tx]\nT.sync_threads()\nA[tx + 1] = x",
        right='x = T.alloc_var("int32")\nx = A[tx]\nT.sync_threads()\nA[tx + 1] = x',
    ),
    "T2T381": Entry(
        title="A loop whose bound is no whole number",
        explanation="Loops count in whole numbers from their start to their end.",
        wrong='for j in T.serial(A[0]):  # A: T.Tensor((64,), "float32")\n    C[j] = 1',
        right='for j in T.serial(T.cast(A[0], "int32")):\n    C[j] = 1',
    ),
    "T2T382": Entry(
        title="Bounds of 64 bits that differ between iterations of T.Parallel",
        explanation="Such a loop turns as often as the iteration with the most turns, in int32.",
        wrong='for j in T.serial(A[i]):  # A: T.Tensor((64,), "int64")\n    C[i] += j',
        right='for j in T.serial(T.cast(A[i], "int32")):\n    C[i] += j',
    ),
    # Run time.
    "T2T401": Entry(
        title="A kernel that needs more than the GPU has",
        explanation=(
            "Shared memory and registers of one program are limited. Smaller tiles need less, and"
            " so does a lower num_stages: each stage holds a copy of the tiles."
        ),
    ),
    "T2T402": Entry(
        title="A tensor on a device that runs no Triton",
        explanation="Kernels run on CUDA and ROCm tensors, and on CPU tensors in the interpreter.",
    ),
    "T2T403": Entry(
        title="Triton is missing or too old",
        explanation=(
            "Transpiling works without Triton; running a kernel needs version 3.6 or newer."
        ),
    ),
    "T2T404": Entry(
        title="Triton does not compile the emitted kernel",
        explanation=(
            "The message holds what Triton's compiler said. This is a fault of tile2triton or of "
            "Triton, not of the kernel; please report it."
        ),
    ),
    "T2T405": Entry(
        title="An element type that the target does not have",
        explanation=(
            "The float8 types differ between architectures: AMD's MI300 has those that end in "
            "`fnuz`."
        ),
    ),
    "T2T410": Entry(
        title="An argument that is no tensor of the right rank",
        explanation=(
            "The sizes of an eager kernel are read from its arguments, which must be tensors with"
            " as many dimensions as declared."
        ),
    ),
    "T2T411": Entry(
        title="A call that does not fit the kernel's parameters",
        explanation="A parameter is missing, unknown or given twice.",
    ),
    "T2T412": Entry(
        title="An unknown target",
        explanation="Targets are such as cuda:90 or hip:gfx942.",
    ),
    "T2T413": Entry(
        title="An option that a kernel does not have",
        explanation=(
            "`@tile2triton.kernel` takes the options of TileLang's `jit`: out_idx, target, "
            "target_host, execution_backend, verbose, pass_configs, debug_root_path and "
            "compile_flags."
        ),
        wrong="@tile2triton.kernel(out_index=[0])\ndef factory(n): ...",
        right="@tile2triton.kernel(out_idx=[0])\ndef factory(n): ...",
    ),
    "T2T414": Entry(
        title="Something that is no function as a kernel",
        explanation="A kernel, or the factory of one, is a Python function that `def` made.",
        wrong="kernel = tile2triton.kernel(3)",
        right="@tile2triton.kernel\ndef kernel(A): ...",
    ),
    # Tuning.
    # Programs written for TileLang.
    "T2T500": Entry(
        title="TileLang was imported before tile2triton.compat",
        explanation=(
            "`import tile2triton.compat` makes `import tilelang` mean tile2triton. A program that "
            "has TileLang itself already keeps it."
        ),
        wrong="import tilelang\nimport tile2triton.compat",
        right="import tile2triton.compat\nimport tilelang",
    ),
    "T2T501": Entry(
        title="A part of TileLang or TVM that is not here",
        explanation=(
            "Passes of TileLang's compiler, TIR, and code for single threads (emitters of tensor "
            "core instructions) can be imported, so that a file fails only for what it uses."
        ),
    ),
    "T2T502": Entry(
        title="A pass config or compile flag that cannot be taken",
        explanation=(
            "Settings of TileLang's compiler are accepted where results do not depend on them. "
            "Unknown ones are refused, as are those that would change results: passes of one's "
            "own, and flags that change how numbers are rounded."
        ),
        wrong='tilelang.jit(compile_flags=["--fmad=false"])',
        right='tilelang.jit(compile_flags=["-O3"])',
    ),
    "T2T503": Entry(
        title="A target that Triton does not compile for",
        explanation=(
            'A target is "auto", "cuda", "hip", such as "cuda:90", or {"kind": "cuda", "arch": '
            '"sm_90a"}. Other architectures of NVIDIA\'s take the nearest row of the table.'
        ),
        wrong='tilelang.jit(target="metal")',
        right='tilelang.jit(target="auto")',
    ),
    "T2T504": Entry(
        title="Something that `tilelang.compile` does not take",
        explanation="It takes a T.prim_func, and the execution back ends that TileLang has.",
        wrong="tilelang.compile(factory)",
        right="tilelang.compile(factory(1024), out_idx=[-1])",
    ),
    "T2T505": Entry(
        title="A form of a kernel that is not made",
        explanation=(
            "A kernel is a Triton module: `kernel.save(path)` writes it, and Triton compiles it. "
            "There is no shared library, PTX or SASS to export before it runs."
        ),
        wrong='kernel.export_library("kernel.so")',
        right='kernel.save("kernel.py")',
    ),
    "T2T506": Entry(
        title="An input that a profiler cannot make up",
        explanation=(
            "Tensors are made from a kernel's shapes. Numbers, and sizes that are known at the "
            "launch only, must be given."
        ),
        wrong="kernel.get_profiler().do_bench()",
        right='kernel.get_profiler().do_bench(dynamic_symbolic_constraints={"m": 1024})',
    ),
    "T2T507": Entry(
        title="A question about a GPU where there is none",
        explanation=(
            "The number of multiprocessors, the compute capability and the sizes of memories are "
            "those of the GPU that torch sees."
        ),
    ),
    "T2T508": Entry(
        title="The inside of a layout that is a hint",
        explanation=(
            "Triton chooses where the elements of a tile lie. A layout with a function of its own "
            "can be asked for its indices; one from make_swizzled_layout and its kin cannot."
        ),
        wrong="make_swizzled_layout(A_shared).map_forward_index([i, j])",
        right="T.Layout((64, 64), lambda i, j: i * 64 + j).map_forward_index([1, 2])",
    ),
    "T2T509": Entry(
        title="A kernel that cannot be analyzed",
        explanation="Operations and bytes are counted where every size is a number.",
    ),
    "T2T540": Entry(
        title="A number among the inputs that are to be made up",
        explanation=(
            "Tuning and profiling make up tensors. A number among the parameters may decide how "
            "long a kernel runs and which elements it touches, so it is given."
        ),
        wrong="kernel = scale(4096)",
        right="with set_autotune_inputs(A, 0.5):\n    kernel = scale(4096)",
    ),
    "T2T541": Entry(
        title="A size among the inputs that nobody knows",
        explanation=(
            "A size that is read at every launch has no value before there are inputs, so a "
            "tensor of that size cannot be made up."
        ),
        wrong="kernel.get_profiler().do_bench()",
        right='kernel.get_profiler().do_bench(dynamic_symbolic_constraints={"m": 4096})',
    ),
    "T2T542": Entry(
        title="`autotune` in the wrong place",
        explanation=(
            "`autotune` chooses parameters or the schedule of a kernel, so it stands above the "
            "decorator that makes the function a kernel."
        ),
        wrong="@tile2triton.kernel\n@tile2triton.autotune(configs=configs)\ndef factory(n): ...",
        right="@tile2triton.autotune(configs=configs)\n@tile2triton.kernel\ndef factory(n): ...",
    ),
    "T2T543": Entry(
        title="Configurations that are none",
        explanation=(
            "A configuration is a dict that gives parameters of the kernel their values; there is "
            'at least one. "pass_configs" may stand in it too.'
        ),
        wrong='@tile2triton.autotune(configs={"block_M": [64, 128]})\n'
        "@tile2triton.kernel\ndef factory(n, block_M): ...",
        right='@tile2triton.autotune(configs=[{"block_M": 64}, {"block_M": 128}])\n'
        "@tile2triton.kernel\ndef factory(n, block_M): ...",
    ),
    "T2T544": Entry(
        title="No configuration will do",
        explanation=(
            "Every configuration was refused, did not compile, failed, or was wrong. The report "
            "says of each what became of it."
        ),
    ),
    "T2T545": Entry(
        title="An option of tuning that makes no sense",
        explanation="The options are those of TileLang's `autotune`, and they must fit together.",
        wrong="@tile2triton.autotune(configs=configs, early_stop_factor=0.5)\n"
        "@tile2triton.kernel\ndef factory(n): ...",
        right="@tile2triton.autotune(configs=configs, early_stop_factor=1.5)\n"
        "@tile2triton.kernel\ndef factory(n): ...",
    ),
    "T2T546": Entry(
        title="A question about the warps of a product",
        explanation=(
            "`T.gemm` works on whole tiles. How many warps share the rows and the columns is for "
            "Triton to choose, so programs that compute with it have no counterpart."
        ),
    ),
    "T2T550": Entry(
        title="A tensor of narrow elements that does not end with a byte",
        explanation=(
            "Elements of less than 8 bits lie side by side in bytes along the last dimension, "
            "which has to fill them."
        ),
        wrong='B = T.empty((4, 15), "int4")',
        right='B = T.empty((4, 16), "int4")',
    ),
    # Names and types of TileLang that have no counterpart.
    "T2T600": Entry(
        title="An operation on the threads of a warp",
        explanation=(
            "A Triton program works on whole tiles; which thread holds which element is the "
            "compiler's choice. Shuffles, votes and loads of single threads have no meaning in it."
        ),
        wrong="x += T.shfl_xor(x, 1)",
        right="T.reduce_sum(tile, total, dim=0)",
    ),
    "T2T601": Entry(
        title="An instruction of one machine",
        explanation=(
            "PTX instructions, matrix fragments and descriptors are what a compiler chooses. "
            "T.gemm and T.copy say what is wanted, and Triton finds the instructions."
        ),
    ),
    "T2T602": Entry(
        title="A cluster of thread blocks",
        explanation=(
            "Stock Triton does not show the members of a cluster to a kernel, so that nothing can "
            "be sent between them."
        ),
    ),
    "T2T603": Entry(
        title="Code in another language",
        explanation="A call of a C or CUDA function by its name has no counterpart in Triton.",
    ),
    "T2T604": Entry(
        title="A node of TileLang's intermediate representation",
        explanation=(
            "These names build TIR by hand, for TileLang's own compiler and its tests. Kernels "
            "are written with Python's statements and with T operators."
        ),
        wrong="with T.sblock('copy'):\n    ...",
        right="for i in T.Parallel(64):\n    ...",
    ),
    "T2T605": Entry(
        title="An element type that Triton has no tiles of",
        explanation=(
            "Types of fewer than eight bits and vectors of one thread can be named, so that files "
            "that mention them can be imported. A tensor or tile of them cannot be made; their "
            "bits can be kept in a tensor of int8 or uint8."
        ),
        wrong='A: T.Tensor((M, K), "int4")',
        right='A: T.Tensor((M, K // 2), "uint8")',
    ),
    "T2T606": Entry(
        title="A matrix product of a packed format",
        explanation=(
            "Structured sparsity and block scales are packed for the instructions of one "
            "generation of hardware. T.gemm takes the unpacked operands."
        ),
    ),
    "T2T607": Entry(
        title="An operation on a vector of one thread",
        explanation=(
            "Packed arithmetic works on two or four values of one thread. A T.Parallel loop works "
            "on all elements, and Triton packs them where that pays."
        ),
        wrong="C[i] = T.add2(A[i], B[i])",
        right="C[i] = A[i] + B[i]",
    ),
    "T2T608": Entry(
        title="A gathering copy of the copy engine",
        explanation="Rows can be gathered in a T.Parallel loop, by an index that is loaded.",
    ),
    "T2T609": Entry(
        title="An operation that TVM has and tile programs do not use",
        explanation="The arithmetic can be written out with the operators of the language.",
    ),
    "T2T610": Entry(
        title="A barrier for the whole grid",
        explanation=(
            "The programs of a launch run in any order, and some may start after others have "
            "ended. What must see all results of a kernel belongs in the next one."
        ),
        wrong="T.sync_global()",
        right="T.sync_grid()",
    ),
    "T2T611": Entry(
        title="An element type that torch does not have",
        explanation="`as_torch()` gives the type of a tensor in memory, where torch has one.",
    ),
    "T2T612": Entry(
        title="A reduction of bits into floats",
        explanation="Bits are combined in integers or in bool.",
        wrong="T.reduce_bitor(x, total, dim=1)  # total: float32",
        right="T.reduce_bitor(x, total, dim=1)  # total: int32",
    ),
    "T2T613": Entry(
        title="A scan into a tile of another shape",
        explanation="A running sum or maximum has one value for each element that it runs over.",
        wrong="T.cumsum(x, total, dim=1)  # x: (64, 32), total: (64,)",
        right="T.cumsum(x, sums, dim=1)  # x: (64, 32), sums: (64, 32)",
    ),
    "T2T614": Entry(
        title="A question about a part that is no row",
        explanation=(
            "T.any_of and T.all_of look at a whole tile, or at a part of one that is longer than 1"
            " in its last dimension only."
        ),
        wrong="T.any_of(mask[:, k])",
        right="T.any_of(mask[k, :])",
    ),
    "T2T615": Entry(
        title="An operation that no reducer has",
        explanation="Reducers combine sums, maxima, minima and bits.",
        wrong='r = T.alloc_reducer((64,), "float32", op="mean")',
        right='r = T.alloc_reducer((64,), "float32", op="sum")',
    ),
    "T2T616": Entry(
        title="A reducer where none is, or a part of one",
        explanation=(
            "T.reducer_update names one element of a reducer, T.reducer_init and "
            "T.finalize_reducer all of it; the results go to a tile of its shape."
        ),
        wrong="T.reducer_update(r, x[i, j])",
        right="T.reducer_update(r[i], x[i, j])",
    ),
    "T2T617": Entry(
        title="A direction of rounding that there is not",
        explanation=(
            'Results are rounded to nearest ("rn"), to zero ("rz"), up ("ru") or down ("rd"); '
            "AMD's GPUs have the first only."
        ),
        wrong='T.ieee_add(x, y, "nearest")',
        right='T.ieee_add(x, y, "rn")',
    ),
    "T2T618": Entry(
        title="Operands of a type that an exact operation does not have",
        explanation=(
            "The next float, and results that are rounded in a named direction, differ from type to"
            " type; Triton has them for float32 and float64."
        ),
        wrong="T.ieee_add(half, half)",
        right='T.ieee_add(T.cast(half, "float32"), T.cast(half, "float32"))',
    ),
    "T2T619": Entry(
        title="A generator, width or distribution of random numbers that there is not",
        explanation="Random floats have 32 or 64 bits and are uniform or normal.",
        wrong='T.rng_rand_float(dist="gamma")',
        right='T.rng_rand_float(dist="normal")',
    ),
    "T2T620": Entry(
        title="A random number before there is a seed",
        explanation="T.rng_init says where the numbers of a kernel start.",
        wrong="A[i] = T.rng_rand()",
        right="T.rng_init(42)\nA[i] = T.rng_rand()",
    ),
    "T2T621": Entry(
        title="Something that cannot be printed",
        explanation=(
            "Triton prints whole values of a size that is known when the kernel is compiled, from"
            " all of their elements."
        ),
        wrong="T.print(A)  # A: (n,), read at the launch",
        right="T.print(A[0:16])",
    ),
    "T2T622": Entry(
        title="An ordered access to more than one element",
        explanation="T.atomic_load and T.atomic_store take one element each.",
        wrong="T.atomic_store(flags, 0)",
        right="T.atomic_store(flags[0], 0)",
    ),
    "T2T623": Entry(
        title="Neighbours that cannot be added at once",
        explanation=(
            "T.atomic_addx2 and T.atomic_addx4 add two and four neighbours of the last dimension, "
            "from the element that is named on, and give nothing back."
        ),
        wrong="T.atomic_addx2(C[0:4, j], x[0:4, j])",
        right="T.atomic_addx2(C[i, 2 * j], x[i, 2 * j])",
    ),
    "T2T624": Entry(
        title="An option that no cast has",
        explanation=(
            'T.cast takes round="rn", "rz", "rp", "rm" or "rs", of which the last needs random '
            "bits, and a bool that says whether numbers that are too large become the largest one."
        ),
        wrong='T.cast(x, "float8_e4m3fn", round="nearest")',
        right='T.cast(x, "float8_e4m3fn")',
    ),
    "T2T625": Entry(
        title="A cast to float8 that does not saturate",
        explanation="What float8 cannot hold becomes the largest number that it can.",
        wrong='T.cast(x, "float8_e4m3fn", sat=False)',
        right='T.cast(x, "float8_e4m3fn")',
    ),
    "T2T626": Entry(
        title="A reduction over a warp of which some threads are missing",
        explanation=(
            "T.warp_reduce_sum and its kind combine the values of whole warps, of 32 threads each "
            "on NVIDIA's GPUs and of 64 on AMD's. All threads of the program have to come there."
        ),
        wrong="if x[tx] > 0:\n    y[tx] = T.warp_reduce_sum(x[tx])",
        right="total = T.warp_reduce_sum(x[tx])\nif x[tx] > 0:\n    y[tx] = total",
    ),
    "T2T627": Entry(
        title="Operands whose types do not mix",
        explanation=(
            "The operands of a product have one type; floats of 8, 6 and 4 bits may differ where "
            "that is allowed."
        ),
        wrong='T.validate_gemm_ab_dtypes("float16", "bfloat16")',
        right='T.validate_gemm_ab_dtypes("float16", "float16")',
    ),
    # Threads and barriers.
    "T2T700": Entry(
        title="An operand is no barrier",
        explanation=(
            "Waits and arrivals take one barrier: the name of a single one, or an element of "
            "several."
        ),
        wrong="b = T.alloc_barrier([128] * 2)\nT.barrier_arrive(b)",
        right="b = T.alloc_barrier([128] * 2)\nT.barrier_arrive(b[k % 2])",
    ),
    "T2T701": Entry(
        title="Threads that do not exist",
        explanation=("T.ws takes the numbers of groups of 128 threads, from 0 on, as constants."),
        wrong="with T.ws(k):  # k is a loop variable\n    T.clear(acc)",
        right="with T.ws(0):\n    T.clear(acc)",
    ),
    "T2T702": Entry(
        title="No number of arrivals",
        explanation="A barrier completes a phase when so many threads, at least one, have arrived.",
        wrong="b = T.alloc_barrier(0)",
        right="b = T.alloc_barrier(128)",
    ),
    "T2T703": Entry(
        title="Threads, blocks or schedules that the kernel does not have",
        explanation=(
            "The threads that T.thread_binding and T.launch_thread name are those of T.Kernel; a "
            "schedule is a T.WSSchedule."
        ),
        wrong='tx = T.thread_binding(0, 64, "threadIdx.x")  # of 128 threads',
        right='tx = T.thread_binding(0, 128, "threadIdx.x")',
    ),
    "T2T705": Entry(
        title="A barrier at which groups of threads meet",
        explanation=(
            "The groups' statements become one sequence, in which nobody can wait for a group "
            "that comes later. Barriers from T.alloc_barrier say who waits for whom, and are "
            "proved; a barrier at which some threads meet others does not."
        ),
        wrong="if tx < 128:\n    ...\n    T.sync_threads(1, 256)",
        right="if tx < 128:\n    ...\n    T.barrier_arrive(ready)",
    ),
    "T2T706": Entry(
        title="Registers of some threads are used by others",
        explanation=(
            "Each thread has its own copy of a variable or fragment. What one group of threads "
            "writes into it, another group does not see, though a kernel of Triton would."
        ),
        wrong="with T.ws(0):\n    T.copy(A, acc)\nwith T.ws(1):\n    T.copy(acc, C)",
        right="with T.ws(0):\n    T.copy(A, acc)\n    T.copy(acc, C)",
    ),
    "T2T707": Entry(
        title="Copies and products of several programs",
        explanation=(
            "Programs of Triton share no memory on the chip, so that no copy can fill the tiles "
            "of several of them and no product can use them."
        ),
        wrong="T.tma_copy(A[i, k], tile, barrier=b, cluster_mask=3)",
        right="T.copy(A[i, k], tile)",
    ),
    "T2T708": Entry(
        title="An atomic operation that several threads repeat",
        explanation=(
            "Each thread that comes here would do it once, but a program of Triton does it once "
            "in all."
        ),
        wrong="if tx < 32:\n    T.atomic_add(C[0], 1)",
        right="if tx == 0:\n    T.atomic_add(C[0], 32)",
    ),
    "T2T709": Entry(
        title="Groups of threads race for data",
        explanation=(
            "Groups run at once. If one writes what another uses, and none of them waits, the "
            "result depends on who is faster, and no order of the statements is the right one."
        ),
        wrong="if tx < 128:\n    T.copy(A, tile)\nelse:\n    T.copy(tile, C)",
        right="T.copy(A, tile)\nT.copy(tile, C)",
    ),
    "T2T710": Entry(
        title="A wait that nothing before it satisfies",
        explanation=(
            "A program of Triton runs its statements in order, so that an arrival that stands "
            "behind a wait comes too late. Groups of threads are put into an order that their "
            "waits allow, if there is one. A wait for parity p passes when the phase of parity p "
            "is complete; phases count from 0, and before the first, the phase of parity 1 counts "
            "as complete."
        ),
        wrong="T.barrier_wait(ready, 0)\nT.copy(tile, C)\nT.barrier_arrive(ready)",
        right="T.barrier_arrive(ready)\nT.barrier_wait(ready, 0)\nT.copy(tile, C)",
    ),
    "T2T711": Entry(
        title="More arrivals than a barrier expects",
        explanation=(
            "All threads that come to an arrival arrive: 128 in `with T.ws(0)`, one under "
            "`if tx == 0`. A phase is complete when as many have arrived as T.alloc_barrier says; "
            "one more breaks the barrier."
        ),
        wrong="b = T.alloc_barrier(1)\nwith T.ws(0):\n    T.barrier_arrive(b)",
        right="b = T.alloc_barrier(128)\nwith T.ws(0):\n    T.barrier_arrive(b)",
    ),
    "T2T712": Entry(
        title="Waits that cannot be proved",
        explanation=(
            "Barriers are left out where every wait is proved to be satisfied in the order of the "
            "text. The proof follows barriers that are indexed, and parities that are computed, "
            "with loop variables and constants."
        ),
        wrong='T.barrier_wait(ready, phase)  # phase = T.alloc_var("int32")',
        right="T.barrier_wait(ready, (k // 2) % 2)",
    ),
    "T2T713": Entry(
        title="An arrival under a condition of each thread's own",
        explanation="How many threads arrive decides when the barrier completes its phase.",
        wrong="if A[tx] > 0:\n    T.barrier_arrive(b)",
        right="T.barrier_arrive(b)",
    ),
    "T2T714": Entry(
        title="Single threads decide about whole tiles",
        explanation=(
            "Operators on tiles, and the loops around them, are done by all threads of a program "
            "together. Their operands, bounds and conditions are the same for all threads."
        ),
        wrong="T.copy(A[tx, 0], tile)",
        right="for i, j in T.Parallel(128, 64):\n    tile[i, j] = A[i, j]",
    ),
    "T2T715": Entry(
        title="An arrival that may count for an earlier phase",
        explanation=(
            "A barrier counts threads, not who they are. If one group arrives twice before "
            "another arrives once, the phase is complete without the other. Who arrives for a "
            "phase must have waited for the one before."
        ),
        wrong=(
            "b = T.alloc_barrier(256)\nwith T.ws(0):\n    for k in T.serial(4):\n"
            "        T.barrier_arrive(b)"
        ),
        right=(
            "b = T.alloc_barrier(256)\nwith T.ws(0):\n    for k in T.serial(4):\n"
            "        T.barrier_arrive(b)\n        T.barrier_wait(b, k % 2)"
        ),
    ),
    "T2T716": Entry(
        title="A view of each thread's own array",
        explanation=(
            "An array from T.alloc_local whose values differ between threads becomes one element, "
            "or one row, of each lane. It has no other shape or type beside that."
        ),
        wrong='mine = T.alloc_local((4,), "int32")\nbits = T.view(mine, dtype="float32")',
        right='x = T.reinterpret(mine[i], "float32")',
    ),
    "T2T717": Entry(
        title="A barrier for the whole grid inside of a loop or branch",
        explanation=(
            "The programs of a launch run in any order, and some may start after others have "
            "ended. T.sync_grid ends the launch and begins another, which only the T.Kernel block "
            "itself can do."
        ),
        wrong="for k in T.serial(2):\n    T.sync_grid()",
        right="T.sync_grid()",
    ),
    "T2T718": Entry(
        title="A value on the chip is needed in another launch",
        explanation=(
            "What follows T.sync_grid is a launch of its own. Tiles and variables begin without "
            "values there; tensors in global memory keep theirs."
        ),
        wrong="T.copy(A, tile)\nT.sync_grid()\nT.copy(tile, C)",
        right="T.sync_grid()\nT.copy(A, tile)\nT.copy(tile, C)",
    ),
    "T2T801": Entry(
        title="Whole operands do not have one shape",
        explanation=(
            "Operands of one operation are broadcast to one shape: extents are compared from the "
            "last one, and are equal, or one of them is 1."
        ),
        wrong="X[:, 0:3] + Y[:, 0:4]",
        right="X + bias[None, :]",
    ),
    "T2T802": Entry(
        title="An index of a whole operand",
        explanation=(
            "Whole operands are indexed with numbers inside of their extents and with slices of "
            "step 1, at most one index for each dimension."
        ),
        wrong="X[::2]",
        right="X[..., 0 : X.shape[-1] // 2]",
    ),
    "T2T803": Entry(
        title="A whole operand where Python needs a number",
        explanation=(
            "The value of a whole operand is known at run time only, so that Python can neither "
            "decide on it nor loop over it. Its extents are numbers."
        ),
        wrong="if X > 0:\n    Y = X",
        right="Y = T.where(X > 0, X, 0)",
    ),
    "T2T804": Entry(
        title="An operator and whole operands",
        explanation=(
            "An operator of tiles belongs into a kernel with T.Kernel, and one of whole operands "
            "into a function without it."
        ),
        wrong="def f(X):\n    T.clear(X)",
        right="def f(X):\n    return T.zeros_like(X)",
    ),
    "T2T805": Entry(
        title="A kernel on whole operands returns its results",
        explanation=(
            "What such a function returns becomes tensors that the launcher allocates, so that it "
            "has to be computed from the arguments."
        ),
        wrong="def f(X):\n    T.relu(X)",
        right="def f(X):\n    return T.relu(X)",
    ),
    "T2T807": Entry(
        title="A number where a whole operand is wanted",
        explanation=(
            "An operator over an extent, such as a softmax, takes an operand that has extents."
        ),
        wrong="T.softmax(2.0)",
        right="T.softmax(X)",
    ),
    "T2T808": Entry(
        title="No such axis",
        explanation=("Axes are numbered from 0, or from -1 for the last one backwards."),
        wrong="T.softmax(X, axis=2)  # X has two dimensions",
        right="T.softmax(X, axis=-1)",
    ),
    "T2T810": Entry(
        title="A program on whole operands that is no one kernel",
        explanation=(
            "One matrix product feeds another, or is needed along all of an extent, in such a way "
            "that a program of the grid would have to hold more than fits on the chip. Two "
            "kernels, the first of which returns what the second takes, do it."
        ),
        wrong="def mlp(X, W, V):\n    return T.relu(X @ W) @ V",
        right="def hidden(X, W):\n    return T.relu(X @ W)\n\ndef output(H, V):\n    return H @ V",
    ),
    "T2T820": Entry(
        title="T.gemm multiplies matrices",
        explanation=(
            "The last two dimensions of both operands are those of matrices. A vector is a matrix "
            "of one column or one row."
        ),
        wrong="T.gemm(A, v)",
        right="T.gemm(A, v[:, None])",
    ),
    "T2T821": Entry(
        title="Nothing to contract",
        explanation=(
            "The last extent of A has to be the second to last of B, or the last one where B is "
            "given as (..., N, K)."
        ),
        wrong="T.gemm(A, B)  # A: (M, 64), B: (32, N)",
        right="T.gemm(A, B)  # A: (M, 64), B: (64, N)",
    ),
    "T2T822": Entry(
        title="Two ways to contract",
        explanation=(
            "Both dimensions of B's matrices have the extent of A's last one. Which of them is "
            "meant must be said."
        ),
        wrong="T.gemm(Q, K)  # Q: (64, 64), K: (64, 64)",
        right="T.gemm(Q, K, transpose_B=True)",
    ),
    "T2T823": Entry(
        title="Operands of two types",
        explanation=("Tensor cores multiply elements of one type."),
        wrong="T.gemm(half, single)",
        right="T.gemm(half, T.cast(single, half.dtype))",
    ),
    "T2T824": Entry(
        title="Batches that do not meet",
        explanation=(
            "The dimensions before the matrices are batches: they are equal, or 1, or those of B "
            "divide those of A, so that several matrices of A share one of B."
        ),
        wrong="T.gemm(A, B)  # A: (4, M, K), B: (3, K, N)",
        right="T.gemm(A, B)  # A: (4, M, K), B: (2, K, N)",
    ),
    "T2T825": Entry(
        title="An approximation that T.gelu does not have",
        explanation=("There are the exact function and torch's approximation by tanh."),
        wrong='T.gelu(x, approximate="fast")',
        right='T.gelu(x, approximate="tanh")',
    ),
    "T2T826": Entry(
        title="T.arange takes an extent",
        explanation=("It numbers the elements along an extent, from 0 on."),
        wrong="T.arange(x)",
        right="T.arange(x.shape[-1])",
    ),
    "T2T827": Entry(
        title="What whole operands are computed with",
        explanation=(
            "Operators on whole operands take whole operands and numbers. A tensor that a kernel "
            "reads is a parameter of it, so that the kernel can be called with another one."
        ),
        wrong="weight = torch.ones(64)\n\ndef f(X):\n    return X * weight",
        right="def f(X, weight):\n    return X * weight",
    ),
    "T2T828": Entry(
        title="A reduction that T.reduce does not know",
        explanation=("The first argument of T.reduce names what is done along the axes."),
        wrong='T.reduce("median", X, axis=-1)',
        right='T.reduce("max", X, axis=-1)',
    ),
    "T2T829": Entry(
        title="So many results of T.topk",
        explanation=(
            "T.topk finds its results one after the other, at least 1, and neither more than there "
            "are nor more than 64."
        ),
        wrong="T.topk(X, 1000)",
        right="T.topk(X, 8)",
    ),
    "T2T830": Entry(
        title="The shape of an operand of one value",
        explanation=("It is made of numbers and of the extents of other operands."),
        wrong="T.zeros(X)",
        right="T.zeros_like(X)",
    ),
    "T2T831": Entry(
        title="T.permute takes each axis once",
        explanation=("The order names all axes of the operand."),
        wrong="T.permute(X, (0, 0, 1))",
        right="T.permute(X, (0, 2, 1))",
    ),
    "T2T832": Entry(
        title="T.concat takes a tuple",
        explanation=("The operands that are joined are given together."),
        wrong="T.concat(a, b)",
        right="T.concat((a, b))",
    ),
    "T2T833": Entry(
        title="Operands that cannot be joined",
        explanation=("Only the extents along which operands are joined may differ."),
        wrong="T.concat((X, X[:, :4]), axis=0)",
        right="T.concat((X, X[:, :4]), axis=1)",
    ),
    "T2T834": Entry(
        title="An operand as an index",
        explanation=(
            "An operand of integers picks elements along a dimension. Several of them stand side "
            "by side, and their dimensions take the place of those that they pick from."
        ),
        wrong="X[X > 0]",
        right="T.where(X > 0, X, 0)",
    ),
    "T2T835": Entry(
        title="The index of T.gather",
        explanation=("It has as many dimensions as the operand, and another extent along one."),
        wrong="T.gather(X, target)",
        right="T.gather(X, target[:, None])",
    ),
    "T2T836": Entry(
        title="A shape for other elements",
        explanation=("T.reshape keeps all elements, so that both shapes have as many."),
        wrong="T.reshape(X, (3, 5))  # X has 16 elements",
        right="T.reshape(X, (4, -1))",
    ),
    "T2T837": Entry(
        title="No such attribute",
        explanation=(
            "Whole operands have the methods that arrays have for operators of the language, such "
            "as `x.sum(axis=-1)`; all others are written as `T.name(x)`."
        ),
        wrong="X.cuda()",
        right="T.gelu(X)",
    ),
    "T2T838": Entry(
        title="Several long extents are needed before the first element is stored",
        explanation=(
            "What is stored depends on sums over several of its own extents, of which only one may "
            "be too long for the chip. Two kernels do it: the first returns the sums."
        ),
        wrong="def f(X):  # X: (100000, 100000)\n    return X / T.sum(X)",
        right="def total(X):\n    return T.sum(X)\n\ndef f(X, total):\n    return X / total",
    ),
    "T2T840": Entry(
        title="An annotation changes nothing",
        explanation=(
            "A schedule says something of a program that cannot act on it, whatever its sizes: "
            "stages where there is no loop, an order of programs that stand in one row, tiles of "
            "an extent that each program has whole, or products to be computed again where none "
            "takes another one."
        ),
        wrong="T.pipeline(3)  # above a kernel that adds two tensors",
        right="T.warps(4)",
    ),
    "T2T841": Entry(
        title="An extreme of nothing",
        explanation=(
            "Along an extent of 0 there is no greatest or smallest element. A sum over nothing is "
            "0, and a mean is NaN."
        ),
        wrong="T.amax(x, axis=-1)  # where x.shape[-1] is 0",
        right="T.sum(x, axis=-1)",
    ),
    "T2T850": Entry(
        title="The values of a scan are known in their order",
        explanation=(
            "What a scan comes to at one index is made of the one before, so that a program has "
            "them one after the other: all of them, or the last one."
        ),
        wrong="T.cumsum(x, axis=-1)[:, 3]",
        right="T.cumsum(x, axis=-1)[:, -1]",
    ),
    "T2T851": Entry(
        title="A program with a scan is no one kernel",
        explanation=(
            "A program runs over the scanned extent index by index. A matrix product along it, a "
            "scan of what is scanned along another extent, or a reduction of too many elements at"
            " each index needs a kernel of its own."
        ),
        wrong="return T.gemm(T.cumsum(x, axis=-2), W)",
        right="return T.cumsum(x, axis=-2)",
    ),
    "T2T852": Entry(
        title="An operation that T.scan does not know",
        explanation=(
            "T.scan combines by addition, multiplication, or taking the larger or smaller."
        ),
        wrong='T.scan("mean", x)',
        right='T.scan("sum", x)',
    ),
    "T2T853": Entry(
        title="A loop that is none over the tiles of an extent",
        explanation=(
            "In a program on whole operands `for i in range(0, x.shape[-2], tile_size)` is the "
            "extent, a tile at a time: it starts at 0, its variable stands in slices `i:i + "
            "tile_size` of dimensions of that extent, and it stands in no other such loop. Other "
            "loops are run by Python, which writes out every turn."
        ),
        wrong="for i in range(0, x.shape[-2], 64):\n    y = T.copy(x[..., i:i + 32, :])",
        right="for i in range(0, x.shape[-2], 64):\n    y = T.copy(x[..., i:i + 64, :])",
    ),
    "T2T854": Entry(
        title="What a loop over tiles carries is no recurrence",
        explanation=(
            "What a name has from the turn before may only become a linear recurrence, the "
            "largest or smallest so far, or a total; it is not used before, and not changed "
            "after."
        ),
        wrong="h = T.exp(h) + x_tile",
        right="h = a * h + x_tile",
    ),
    "T2T855": Entry(
        title="The result would depend on the size of the tiles",
        explanation=(
            "A loop over tiles means the whole extent, wherever tiles end. A tile is not reduced,"
            " scanned or indexed by itself, and does not meet an operand of the whole extent."
        ),
        wrong="y_tile = T.softmax(x_tile, axis=-2)",
        right="y = T.softmax(x, axis=-2)",
    ),
    "T2T856": Entry(
        title="T.empty_like is read",
        explanation=("It has a shape, but no values until something is stored to all of it."),
        wrong="y = T.empty_like(x)\nreturn y + x",
        right="y = T.zeros_like(x)\nreturn y + x",
    ),
    "T2T857": Entry(
        title="Several elements are stored to one",
        explanation=(
            "T.atomic_update stores one element to each; of several it would not be known which "
            "stays."
        ),
        wrong="T.atomic_update(row, matrix)",
        right="T.atomic_add(row, matrix)",
    ),
    "T2T858": Entry(
        title="An addition once for each tile",
        explanation=(
            "What does not have the extent of a loop over tiles would be added once for each "
            "tile, so that the result would depend on their size. What is summed over the tile "
            "may be added: all of it is."
        ),
        wrong="T.atomic_add(total, 1)",
        right="T.atomic_add(total, T.sum(x_tile, axis=-2))",
    ),
    "T2T859": Entry(
        title="A store to a part of an operand",
        explanation=("Stores are to whole operands, or to all of their tiles in a loop."),
        wrong="y[..., 0, :] = x",
        right="y[..., i:i + tile_size, :] = x_tile",
    ),
    "T2T860": Entry(
        title="T.Pipelined around statements on whole operands",
        explanation=(
            "It says how many stages the loops have that compute what is assigned in it, and "
            "nothing else."
        ),
        wrong="with T.Pipelined(8, num_stages=3):\n    P = T.softmax(S)",
        right="with T.Pipelined(num_stages=3):\n    P = T.softmax(S)",
    ),
    "T2T861": Entry(
        title="A parameter that changes in place is read elsewhere",
        explanation=(
            "Programs run at the same time: an element that changes is read by the one that "
            "stores it, where it is stored."
        ),
        wrong="T.atomic_add(C, T.gemm(C, W))",
        right="return C + T.gemm(C, W)",
    ),
    "T2T862": Entry(
        title="Several programs would add to each element of a parameter",
        explanation=("The programs are shared out over extents that the parameter does not have."),
        wrong="T.atomic_add(row, x)\nreturn x * 2",
        right="T.atomic_add(row, x)",
    ),
    "T2T863": Entry(
        title="The tiles of T.linear_scan do not fit",
        explanation=(
            "Factors, additions and results are whole tiles of floats of one shape; what comes "
            "before them has that shape without the dimension that is scanned."
        ),
        wrong="T.linear_scan(a[0], b, h)",
        right="T.linear_scan(a, b, h)",
    ),
    "T2T864": Entry(
        title="Integers that no type holds together",
        explanation=(
            "A result has a type that holds every value of its operands. Nothing holds all of "
            "uint64 and negative numbers, too."
        ),
        wrong="unsigned_64 + signed_8",
        right='unsigned_64.to("int64") + signed_8',
    ),
    "T2T865": Entry(
        title="Truth values have no difference",
        explanation=(
            "As in torch, neither `-` nor a sign is defined for what is True or False: it can mean "
            "that two differ, that one is not so, or how they count."
        ),
        wrong="(x > 0) - (x < 0)",
        right='(x > 0).to("int32") - (x < 0).to("int32")',
    ),
    "T2T866": Entry(
        title="T.cumprod multiplies floats",
        explanation=(
            "Products of integers soon leave every type of them, and are computed as floats here."
        ),
        wrong="T.cumprod(counts)",
        right='T.cumprod(counts.to("float32"))',
    ),
    "T2T867": Entry(
        title="A schedule for several launches",
        explanation=(
            "Results that run over other elements, as products of other shapes do, are computed by "
            "launches one after the other. What a schedule says is of one launch, and would be "
            "wrong for the others."
        ),
        wrong="@T.tile(m=64)\ndef f(A, B):\n    return T.gemm(A, B), T.gemm(B, A)",
        right="@T.tile(m=64)\ndef f(A, B):\n    return T.gemm(A, B)",
    ),
    "T2T870": Entry(
        title="An annotation of a schedule is written wrong",
        explanation=(
            "Threads are 32 times a power of two, tiles are powers of two, and numbers of stages, "
            "programs and parts are whole."
        ),
        wrong="T.warps(3)",
        right="T.warps(4)",
    ),
    "T2T871": Entry(
        title="Two annotations say different things",
        explanation=(
            "Annotations stand in any order, so that none of them can come after another one and "
            "win."
        ),
        wrong="T.warps(8)\nT.parallel(block=(128, 1))",
        right="T.warps(8)",
    ),
    "T2T872": Entry(
        title="A schedule in the wrong place",
        explanation=(
            "Annotations stand above a function and below @tile2triton.kernel. A kernel is "
            "scheduled anew by its method."
        ),
        wrong="T.warps(4)(kernel)",
        right="kernel.scheduled(tile2triton.Schedule(warps=4))",
    ),
    "T2T873": Entry(
        title="A chip that schedules do not know",
        explanation=("Schedules differ by the targets that `tile2triton check` has."),
        wrong='Schedule().on("cuda:12", warps=4)',
        right='Schedule().on("cuda:90", warps=4)',
    ),
    "T2T874": Entry(
        title="No such annotation",
        explanation=(
            "The names of a schedule are those of its annotations: tile, warps, parallel, "
            "pipeline, and so on."
        ),
        wrong='Schedule(tiles={"m": 64})',
        right='Schedule(tile={"m": 64})',
    ),
    "T2T875": Entry(
        title="A file holds no schedule",
        explanation=(
            "A schedule is a table in TOML or JSON: annotations, and a table for each chip that "
            "differs."
        ),
        wrong='Schedule.read("kernel.py")',
        right='Schedule.read("gemm.toml")',
    ),
    "T2T876": Entry(
        title="A schedule names what the program does not have",
        explanation=(
            "Tiles and splits go by the names of extents, or m, n and k of matrix products; in a "
            "kernel with T.Kernel, by those of parameters."
        ),
        wrong="T.tile(q=64)",
        right="T.tile(m=64)",
    ),
    "T2T877": Entry(
        title="An annotation for programs on whole operands",
        explanation=(
            "A kernel with T.Kernel says itself what its programs compute, so that its schedule "
            "cannot compute products again. Nor can programs that wait for all others compute "
            "several tiles in turn."
        ),
        wrong="T.recompute()  # above a kernel with T.Kernel",
        right="T.gemm(a, b, c)",
    ),
    "T2T878": Entry(
        title="A loop that cannot be split",
        explanation=(
            "T.split shares out an extent that one loop sums over. An extent of the results has a "
            "program for each tile already, and sums that need each other run one after the "
            "other."
        ),
        wrong='T.split("m", 2)',
        right='T.split("k", 2)',
    ),
    "T2T880": Entry(
        title="No such mask",
        explanation=(
            "The mask of T.softmax is T.causal, which is of rows and columns, or an operand that "
            "is True where elements count."
        ),
        wrong='T.softmax(S, mask="causal_upper")',
        right="T.softmax(S, mask=T.causal)",
    ),
    "T2T881": Entry(
        title="A program on whole operands that calls itself",
        explanation=(
            "A kernel that is called in another one becomes a part of it, so that a kernel cannot "
            "be called in itself, directly or by way of others."
        ),
        wrong="def f(X):\n    return f(T.relu(X))",
        right="def f(X):\n    for _ in range(3):\n        X = T.relu(X)\n    return X",
    ),
    # Layouts of compiled code.
    "T2T920": Entry(
        title="A size of a layout that is no power of two",
        explanation=(
            "Layouts of registers and of shared memory are maps of bits, so that every size in "
            "them is 1, 2, 4, 8 and so on."
        ),
        wrong="Blocked((1,), (32,), (4,), (0,)).linear((96,))",
        right="Blocked((1,), (32,), (4,), (0,)).linear((128,))",
    ),
    "T2T921": Entry(
        title="A basis of a layout that does not fit the tensor",
        explanation="Each basis is an element of the tensor: a coordinate for each dimension.",
        wrong="SharedLinear(((1,), (2,))).linear((2, 2))",
        right="SharedLinear(((0, 1), (1, 0))).linear((2, 2))",
    ),
    "T2T922": Entry(
        title="A layout of shared memory that lacks elements",
        explanation="What is stored into a buffer or loaded from it has a place there.",
        wrong="offsets = ((0, 1), (0, 1), (1, 0))",
        right="offsets = ((0, 1), (0, 2), (1, 0))",
    ),
    "T2T923": Entry(
        title="Layouts of different shapes",
        explanation=(
            "Where a tensor stands in shared memory is asked of two layouts of the same shape."
        ),
    ),
    "T2T924": Entry(
        title="A matrix instruction whose layout is not known",
        explanation=(
            "Known are mma.sync and wgmma on NVIDIA, whose versions are 2 and 3, and AMD's matrix "
            "instructions of 16 by 16 and 32 by 32."
        ),
    ),
    "T2T925": Entry(
        title="A swizzle that TMA and wgmma do not have",
        explanation="They exchange groups of 16 bytes in rows of 32, 64 or 128 bytes, or none.",
        wrong="NvmmaShared(16, False, 16)",
        right="NvmmaShared(32, False, 16)",
    ),
    "T2T926": Entry(
        title="A layout of TMA that is not known",
        explanation=(
            "Not known are elements of 4 bits that are padded to 8, and transposed buffers of "
            "more than two dimensions."
        ),
    ),
    "T2T927": Entry(
        title="A buffer that is smaller than its swizzle",
        explanation="A swizzle exchanges groups within eight rows that are as wide as itself.",
        wrong="NvmmaShared(128, False, 16).linear((4, 64))",
        right="NvmmaShared(128, False, 16).linear((8, 64))",
    ),
    "T2T928": Entry(
        title="Text that is no TTGIR",
        explanation=(
            "Layouts are read from the text that Triton prints: `#ttg.blocked<{...}>`, "
            "`tensor<128x64xf16, #blocked>`, `!ttg.memdesc<128x64xf16, #shared, #smem>`."
        ),
        wrong='predicted("#shared = #ttg.swizzled_shared<{vec = 8,")',
        right='predicted(kernel.asm["ttgir"])',
    ),
    "T2T929": Entry(
        title="A layout or a type in TTGIR that is not known",
        explanation=(
            "Attributes of other Triton versions, or of units whose memory is not simulated, are "
            "not guessed at."
        ),
    ),
    "T2T930": Entry(
        title="A target whose shared memory is not known",
        explanation="Known are NVIDIA's targets, and AMD's gfx942 and gfx950.",
        wrong='predicted(text, "hip:gfx1100")',
        right='predicted(text, "hip:gfx942")',
    ),
    "T2T931": Entry(
        title="A buffer that TMA or a matrix unit cannot use",
        explanation="TMA, wgmma and tcgen05 take buffers in `#ttg.nvmma_shared` only.",
    ),
    "T2T932": Entry(
        title="A picture that a layout does not have",
        explanation=(
            "Layouts of registers are drawn by their owners, coloured by warp, lane or register; "
            "layouts of shared memory by their banks."
        ),
        wrong="banks_picture(Blocked((1,), (32,), (1,), (0,)), (32,), 32)",
        right="owners_picture(Blocked((1,), (32,), (1,), (0,)), (32,))",
    ),
    "T2T940": Entry(
        title="No loop to share out",
        explanation=(
            "T.split shares out the turns of T.Pipelined or T.serial loops that stand in a "
            "T.Kernel block itself, and in no other loop or branch: the one over the variable that "
            "it names, or else those with stages. All loops of a kernel have as many parts."
        ),
        wrong='T.split("q", 4)  # above a kernel with a loop over `k`',
        right='T.split("k", 4)',
    ),
    "T2T941": Entry(
        title="A loop that cannot be shared out",
        explanation=(
            "What a loop carries from turn to turn must be combined from parts in which other "
            "turns are missing. That is so for sums, maxima and minima of what the turns give by "
            "themselves, and for sums that are rescaled by exp2 or exp whenever such a maximum "
            "moves. Tensors are stored to behind the loop, and threads do nothing by themselves."
        ),
        wrong="for i in T.Parallel(64):\n    a[i] = a[i] * 0.5 + x[i]",
        right="for i in T.Parallel(64):\n    a[i] += x[i]",
    ),
    "T2T942": Entry(
        title="A split without an extent",
        explanation=(
            "A program on whole operands may sum over several extents, so that T.split names the "
            "one that is shared out. T.split(4) is for kernels with T.Kernel."
        ),
        wrong="T.split(4)  # above a program on whole operands",
        right='T.split("k", 4)',
    ),
    "T2T943": Entry(
        title="No turns to share out equally",
        explanation=(
            "T.stream_k gives each program as many turns of the loops in T.Kernel blocks as any "
            "other. A kernel without such a loop has none, and T.split and T.persistent say "
            "otherwise which program computes what."
        ),
        wrong="T.stream_k()  # beside T.persistent()",
        right="T.stream_k()",
    ),
    "T2T944": Entry(
        title="A kernel whose turns cannot be shared out equally",
        explanation=(
            "T.stream_k is for sums, maxima and minima in one loop, of which each tile has as many "
            "turns. Sums begin at 0, and nothing is stored before the loop. What is rescaled from "
            "turn to turn, as in a running softmax, can be shared out by T.split."
        ),
        wrong="T.stream_k()  # above attention",
        right="T.split(4)",
    ),
}
