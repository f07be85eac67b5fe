"""Programs that tests start: the environment in which they find what the test itself finds."""

import os
from pathlib import Path

ROOT = Path(__file__).parent.parent


def environment_of_a_child(**settings: str) -> dict[str, str]:
    """This process's environment, with the repository in front of what Python finds anyway."""
    inherited = filter(None, [os.environ.get("PYTHONPATH")])
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *inherited]), **settings}
