"""The two stages that patches edit, in the place of a back end's own: `make_ttir`, `make_ttgir`."""

import threading
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import triton

from ..patch_metadata import KEY
from ..patch_targets import refusal
from .anchors import count_operations, move_names, name_sites
from .outcome import Outcome
from .patches import KINDS
from .patching import Chip, Edit, Module, PassEdit, RefusedError, Request, Site, Step
from .pipeline import Interruption, Splitter, parse
from .registry import requests_of
from .trial import try_patches
from .unkept import keep_out_of_cache

NAMES = ("make_ttir", "make_ttgir")


class BlockedError(Exception):
    """A request that was refused while a stage ran."""

    def __init__(self, request: Request, reason: str) -> None:
        super().__init__(reason)
        self.request = request
        self.reason = reason


def patch_stages(backend: Any, options: Any) -> None:
    """Give a back end stages that apply what is asked for the kernel that they are given."""
    for name in NAMES:
        setattr(backend, name, PatchedStage(backend, name, options))


class PatchedStage:
    """One stage: as it was for kernels without patches, else with those that a trial passed."""

    def __init__(self, backend: Any, name: str, options: Any) -> None:
        self.backend = backend
        self.name = name
        self.stock: Callable[..., Module] = getattr(type(backend), name)

    def __call__(self, module: Module, metadata: dict[str, Any], *rest: Any) -> Module:
        requests = requests_of(module.get_entry_func_name())
        if not requests:
            return self.stock(module, metadata, *rest)
        text = str(module)
        if self.name == NAMES[0]:
            outcome = self._settle(module, requests, rest[0])
            metadata[KEY] = outcome.to_json(requests)
            # What was tried was made of this text, too.
            module = parse(text, module.context)
        else:
            outcome = Outcome.from_json(metadata[KEY], requests)
        chosen = [requests[index] for index in outcome.applied]
        if not chosen:
            return self.stock(module, metadata, *rest)
        chip = chip_of(self.backend.target, rest[0])
        try:
            return run_stage(self.name, self.stock, module, (metadata, *rest), chosen, chip)
        except (BlockedError, RefusedError, RuntimeError) as error:
            outcome = outcome.without(f"its trial passed, but {error}")
            metadata[KEY] = outcome.to_json(requests)
            keep_out_of_cache()
            for request in chosen:
                _warn(f"{request}: not applied to `{_kernel(module)}`: {error}")
            return self.stock(parse(text, module.context), metadata, *rest)

    def _settle(self, module: Module, requests: Sequence[Request], options: Any) -> Outcome:
        outcome = try_patches(str(module), requests, self.backend.target, options)
        for index, reason in outcome.refused.items():
            if requests[index].construct:
                _warn(f"{requests[index]}: not applied to `{_kernel(module)}`: {reason}")
        if not outcome.is_lasting:
            keep_out_of_cache()
        return outcome


def run_stage(
    name: str,
    stock: Callable[..., Module],
    module: Module,
    rest: tuple[Any, ...],
    requests: Sequence[Request],
    chip: Chip,
) -> Module:
    """A stage with the edits of `requests`; raises `BlockedError` where one cannot be made."""
    site = Site(chip, count_operations(module))
    interruptions: list[Interruption] = []
    if name == NAMES[0]:
        names = [one for request in requests for one in request.names]
        interruptions.append(Interruption(f"start:{name}", partial(name_sites, names)))
        interruptions.append(Interruption(f"end:{name}", move_names))
    changes: list[Callable[[list[Step]], list[Step]]] = []
    wanted = [(request, edit) for request in requests for edit in edits_of(request, chip)]
    places: list[tuple[Request, str]] = []
    for request, edit in wanted:
        if isinstance(edit, Edit) and _stage_of(edit.place) == name:
            interruptions.append(Interruption(edit.place, _blocking(request, edit, site, name)))
            places.append((request, edit.place))
        elif isinstance(edit, PassEdit) and name == NAMES[1]:
            changes.append(_changing(request, edit, site))
    splitter = Splitter(tuple(interruptions), tuple(changes))
    result = splitter.run(stock, module, *rest)
    for request, place in places:
        if place not in splitter.reached:
            reason = f"Triton {triton.__version__} has no place {place} for {chip}"
            raise BlockedError(request, reason)
    return result


def edits_of(request: Request, chip: Chip) -> tuple[Edit | PassEdit, ...]:
    """Raises `BlockedError` where there is no such patch, or not for that chip."""
    kind = KINDS.get(request.kind)
    if kind is None:
        raise BlockedError(request, f"this tile2triton has no patch `{request.kind}`")
    unknown = request.arguments.keys() - set(kind.arguments)
    if unknown:
        raise BlockedError(request, f"the patch `{kind.name}` takes no `{min(unknown)}`")
    reason = refusal(kind.name, chip, request.arguments)
    if reason:
        raise BlockedError(request, reason)
    try:
        return kind.edits(request, chip)
    except RefusedError as error:
        raise BlockedError(request, str(error)) from error


def chip_of(target: Any, options: Any) -> Chip:
    version = tuple(int(part) for part in triton.__version__.split(".")[:2])
    return Chip(target.backend, target.arch, options.num_warps, options.num_stages, version)


def _stage_of(place: str) -> str:
    return NAMES[0] if place.endswith(f":{NAMES[0]}") else NAMES[1]


def _blocking(
    request: Request, edit: Edit, site: Site, stage: str
) -> Callable[[Module], str | None]:
    def run(module: Module) -> str | None:
        # What is named is only known when the first stage has run.
        known = Site(site.chip, count_operations(module)) if stage == NAMES[0] else site
        try:
            return edit.run(module, known)
        except RefusedError as error:
            raise BlockedError(request, str(error)) from error

    return run


def _changing(request: Request, edit: PassEdit, site: Site) -> Callable[[list[Step]], list[Step]]:
    def run(steps: list[Step]) -> list[Step]:
        try:
            return edit.run(steps, site)
        except RefusedError as error:
            raise BlockedError(request, str(error)) from error

    return run


def _kernel(module: Module) -> str:
    return str(module.get_entry_func_name()).rpartition("__")[0]


_WARNED: set[str] = set()
_LOCK = threading.Lock()


def _warn(text: str) -> None:
    """Say it once in a process."""
    with _LOCK:
        if text in _WARNED:
            return
        _WARNED.add(text)
    warnings.warn(text, RuntimeWarning, stacklevel=2)
