"""What brings the tiles of a turn: copies to slots of rings, or loads that are stored there."""

import ast
from dataclasses import dataclass, field

from rewrites.gluon.amd.addresses import Address, address_of, near, require_rows
from rewrites.gluon.amd.fetches import Fetch, loads_in
from rewrites.gluon.amd.layouts import Constants
from rewrites.gluon.amd.parts import Parts
from rewrites.gluon.amd.versions import Versions
from rewrites.gluon.errors import UnsuitedError
from rewrites.gluon.layouts import Layout, in_gluon
from rewrites.nodes import Comment
from rewrites.quote import copy_tree, expr, literal, stmts, substituted
from rewrites.tree import names_in


@dataclass
class Copies:
    """The copies of one loop. Variables that a turn's addresses need have a name of their own."""

    parts: Parts
    constants: Constants
    loop: ast.For
    ring_names: dict[str, str]
    # Tiles on their way through registers, by the names of their rings' tiles.
    coming: dict[str, str]
    ahead: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        assert isinstance(self.loop.target, ast.Name) and isinstance(self.loop.iter, ast.Call)
        self.variable = self.loop.target.id
        args = self.loop.iter.args
        if len(args) > 2:
            raise UnsuitedError("a loop does not count one by one")
        self.start = args[0] if len(args) == 2 else literal(0)
        self.stop = args[-1]
        here = {id(one) for one in self.loop.body}
        self.said = _said(self.loop.body)
        self.fetches = [one for one in self.parts.fetches if id(one.statement) in here]
        self.leading = self._leading()
        for one in self.leading:
            target = _target(one)
            self.ahead[target] = self.parts.names.fresh(f"{target}_ahead")
        self.addresses = {one.name: self._address(one) for one in self.fetches}

    def _address(self, one: Fetch) -> Address:
        """Where a tile is, whose rows buffer instructions reach."""
        definitions, known = self.parts.definitions, self.parts.known
        address = address_of(one.pointers, definitions, self.parts.facts)
        require_rows(address, one.mask, definitions, known)
        return near(address, definitions, set(self.ahead), self.parts.facts, known)

    def _leading(self) -> list[ast.Assign]:
        """The statements of a turn that lead to its addresses."""
        wanted = set().union(*(names_in(one.statement.value) for one in self.fetches))
        found: list[ast.Assign] = []
        for statement in reversed(self.loop.body):
            match statement:
                case ast.Assign(targets=[ast.Name(id=target)], value=value) if target in wanted:
                    if loads_in(value):
                        raise UnsuitedError(f"`{target}` is loaded, and addresses need it")
                    found.insert(0, statement)
                    wanted |= names_in(value)
        self._require_of_this_turn(found)
        return found

    def _require_of_this_turn(self, leading: list[ast.Assign]) -> None:
        """Let addresses follow from the number of a turn alone, and from nothing it is left."""
        set_here = {one for statement in self.loop.body for one in _targets(statement)}
        if names_in(self.start) & set_here or names_in(self.stop) & set_here:
            raise UnsuitedError("a loop sets how far it goes")
        known: set[str] = set()
        fetched = {id(one.statement) for one in self.fetches}
        for statement in self.loop.body:
            if statement in leading or id(statement) in fetched:
                assert isinstance(statement, ast.Assign)
                others = names_in(statement.value) & set_here - known
                if others or _target(statement) in known:
                    carried = min(others, default=_target(statement))
                    raise UnsuitedError(f"addresses need `{carried}`, which goes on in each turn")
                known.add(_target(statement))

    @property
    def indices(self) -> set[str]:
        """The new names of tiles of indices."""
        return {new for old, new in self.ahead.items() if old in self.parts.definitions}

    def issued(self, turn: ast.expr, slot: ast.expr, layouts: Versions) -> list[ast.stmt]:
        """Copy the tiles of a turn to a slot past registers."""
        made = self._places(turn, layouts)
        for one in self.fetches:
            made += map(copy_tree, self.said.get(one.name, []))
            made += stmts(
                "cdna4.async_copy.buffer_load_to_shared(ring.index(slot), base, offsets, mask=m)",
                ring=self.ring_names[one.name],
                slot=copy_tree(slot),
                **self._arguments(one, turn, layouts),
            )
        return [*made, *stmts("cdna4.async_copy.commit_group()")]

    def loaded(self, turn: ast.expr, layouts: Versions) -> list[ast.stmt]:
        """Load the tiles of a turn into registers."""
        made = self._places(turn, layouts)
        for one in self.fetches:
            made += map(copy_tree, self.said.get(one.name, []))
            made += stmts(
                f"x = {self.parts.chip.module}.buffer_load(base, offsets, mask=m)",
                x=self.coming[one.name],
                **self._arguments(one, turn, layouts),
            )
        return made

    def stored(self, slot: ast.expr) -> list[ast.stmt]:
        """Store what was loaded into a slot."""
        return [
            made
            for one in self.fetches
            for made in stmts(
                "ring.index(slot).store(x)",
                ring=self.ring_names[one.name],
                slot=copy_tree(slot),
                x=self.coming[one.name],
            )
        ]

    def _places(self, turn: ast.expr, layouts: Versions) -> list[ast.stmt]:
        """The indices of a turn's tiles."""
        made: list[ast.stmt] = []
        for one in self.leading:
            target = self.ahead[_target(one)]
            value = substituted(one.value, self._renamed(turn))
            if target in layouts.index:
                made += layouts.defined(target, value)
            else:
                made.append(ast.Assign([ast.Name(target, ast.Store())], in_gluon(value)))
        return made

    def _renamed(self, turn: ast.expr) -> dict[str, ast.expr | str]:
        return {**self.ahead, self.variable: turn}

    def _arguments(self, one: Fetch, turn: ast.expr, layouts: Versions) -> dict[str, ast.expr]:
        """Where a tile is, and what of it there is: nothing behind the last turn."""
        address = self.addresses[one.name]
        renamed = self._renamed(turn)
        lanes = Layout(self.constants.lanes[one.name])
        offsets = layouts.placed(substituted(address.offsets, renamed), lanes)
        is_turn = expr("turn < stop", turn=turn, stop=in_gluon(self.stop))
        if one.mask is None:
            rows, columns = one.tile.trees
            mask = expr(
                "gl.full((rows, columns), is_turn, gl.int1, layout=lanes)",
                rows=rows,
                columns=columns,
                is_turn=is_turn,
                lanes=lanes.base,
            )
        else:
            seen = layouts.placed(substituted(one.mask, renamed), lanes)
            mask = expr("seen & is_turn", seen=seen, is_turn=is_turn)
        base = in_gluon(substituted(address.base, renamed))
        return {"base": base, "offsets": offsets, "m": mask}


def _said(body: list[ast.stmt]) -> dict[str, list[Comment]]:
    """The comments right before statements that set a name."""
    found: dict[str, list[Comment]] = {}
    comments: list[Comment] = []
    for statement in body:
        match statement:
            case Comment():
                comments.append(statement)
                continue
            case ast.Assign(targets=[ast.Name(id=target)]):
                found[target] = comments
        comments = []
    return found


def _targets(statement: ast.stmt) -> set[str]:
    """The names that a statement sets."""
    match statement:
        case ast.Assign(targets=targets):
            return set().union(*map(names_in, targets))
    return set()


def _target(statement: ast.Assign) -> str:
    (target,) = statement.targets
    assert isinstance(target, ast.Name)
    return target.id
