"""Why a kernel stays in plain Triton."""


class UnsuitedError(Exception):
    """What a kernel does that has no form in Gluon here."""
