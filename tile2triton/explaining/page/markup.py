"""HTML as text that is escaped by construction."""

from html import escape


class Html(str):
    """Text that is HTML already; all other text is escaped where it is put into an element."""

    __slots__ = ()


def element(name: str, *inside: str, **attributes: str | int | bool) -> Html:
    """An element. `class_` and `data_n` are the attributes `class` and `data-n`; False is none."""
    said = "".join(
        f" {key.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{escaped(value)}"')
        for key, value in attributes.items()
        if value is not False
    )
    return Html(f"<{name}{said}>{together(*inside)}</{name}>")


def together(*parts: str) -> Html:
    """Parts behind each other."""
    return Html("".join(part if isinstance(part, Html) else escape(part) for part in parts))


def escaped(value: str | int) -> str:
    """What stands between the quotes of an attribute."""
    return escape(str(value), quote=True)
