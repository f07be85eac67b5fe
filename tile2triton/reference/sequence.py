"""One order of what the threads of a program do, in which the interpreter runs it."""

from dataclasses import replace

from rewrites import remove_jumps, sequence_roles, split_grids, spread_threads
from rewrites.facts import Program
from rewrites.quote import copy_tree


def in_sequence(program: Program) -> Program:
    """The program with its roles one after the other and its threads as lanes.

    The barriers stay: the interpreter counts who arrives, so that an order in which some wait is
    not satisfied is found out, whatever `erase_protocol` proved of it.
    """
    if not sequence_roles.uses_threads(program.tree, program.facts):
        tree = split_grids.run(copy_tree(program.tree), replace(program.facts, erased=[]))
        return Program(tree, program.facts)
    facts = replace(
        program.facts,
        erased=[],
        tiles=dict(program.facts.tiles),
        variables=dict(program.facts.variables),
        counters=dict(program.facts.counters),
    )
    # What a thread does behind a jump of its own depends on the thread, which conditions say.
    tree = remove_jumps.run(copy_tree(program.tree), facts)
    tree = sequence_roles.run(split_grids.run(tree, facts), facts)
    return Program(spread_threads.run(tree, facts), facts)
