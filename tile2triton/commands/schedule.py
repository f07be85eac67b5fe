"""`tile2triton schedule`: the schedules by name, what one says, and how a person adds one."""

import shutil
from pathlib import Path

from tile2triton.commands.kernels import UsageError, suggestion
from tile2triton.schedule import Schedule
from tile2triton.schedule.library import SHIPPED, added_directory, files


def schedule(action: str, name: str | None) -> int:
    """List the schedules, print one, or add a file to a person's own."""
    if action == "list":
        return _list()
    if name is None:
        raise UsageError(f"`schedule {action}` takes {'a file' if action == 'add' else 'a name'}")
    return _show(name) if action == "show" else _add(Path(name))


def _list() -> int:
    found = files()
    width = max(map(len, found))
    for name, path in found.items():
        origin = "shipped" if path.parent == SHIPPED else str(path)
        print(f"{name:{width}}  {origin}")
    return 0


def _show(name: str) -> int:
    found = files()
    if name not in found:
        raise UsageError(f"there is no schedule `{name}`{suggestion(name, found)}")
    print(found[name].read_text(encoding="utf-8"), end="")
    return 0


def _add(path: Path) -> int:
    """Copy a file that holds a schedule; its name is the file's."""
    if not path.is_file():
        raise UsageError(f"there is no file {path}")
    Schedule.read(path)
    directory = added_directory()
    directory.mkdir(parents=True, exist_ok=True)
    for old in directory.glob(f"{path.stem}.*"):
        old.unlink()
    made = shutil.copy(path, directory / path.name)
    print(f"{path.stem}: {made}")
    if path.stem in (one.stem for one in SHIPPED.glob("*.toml")):
        print(f"programs of the sort `{path.stem}` have it as their default from now on")
    return 0
