"""The names that emitted launchers use besides the user's."""

from dataclasses import dataclass, fields

from rewrites.facts import Facts, Launch, Tensor


@dataclass(frozen=True)
class HostNames:
    """Names of the launcher's own, none of which is one of the user's."""

    fits: str = "fits"
    grid: str = "grid"
    several_gpus: str = "several_gpus"
    refuse: str = "refuse"
    checked: str = "checked"

    @classmethod
    def of(cls, facts: Facts) -> "HostNames":
        taken = {facts.name, *facts.parameters, *facts.tensors, *facts.dims, *facts.scalars}
        taken |= {*facts.constants, *(launch.kernel for launch in facts.launches)}
        taken |= {made.name for launch in facts.launches for made in launch.descriptors}
        return cls(**{field.name: _free(field.name, taken) for field in fields(cls)})

    def grid_of(self, launch: Launch, facts: Facts) -> str:
        return self.grid if len(facts.launches) == 1 else f"{launch.kernel}_{self.grid}"


def input_tensors(facts: Facts) -> list[Tensor]:
    """The tensors that the caller passes, in the order of the parameters."""
    return [facts.tensors[name] for name in facts.parameters if name in facts.tensors]


def scalar_parameters(facts: Facts) -> list[str]:
    return [name for name in facts.parameters if name not in facts.tensors]


def _free(wanted: str, taken: set[str]) -> str:
    while wanted in taken:
        wanted += "_"
    return wanted
