"""HTML that is built by elements, so that what comes from a run folder is escaped wherever it lands."""

from __future__ import annotations

import unicodedata
from html import escape

_EMPTY = {"img", "input", "link", "meta", "br", "hr"}


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def element(name: str, /, *children: str | None, **attributes: str | int | bool | None) -> Markup:
    """An element with its children, which are escaped unless they are Markup.

    Args:
        name: the element's name.
        *children: text or Markup; None is left out.
        **attributes: escaped; True stands alone, False and None are left out, a final underscore is dropped
            (`class_`), other underscores become hyphens (`aria_label`).

    Returns:
        The element.

    Example:
        >>> print(element("a", "x < y", href="#a", class_="b", hidden=False))
        <a href="#a" class="b">x &lt; y</a>
        >>> print(element("p", element("b", "&"), " and <i>"))
        <p><b>&amp;</b> and &lt;i&gt;</p>
    """
    written = "".join(_attribute(key, value) for key, value in attributes.items() if value not in (None, False))
    if name in _EMPTY:
        return Markup(f"<{name}{written}>")
    return Markup(f"<{name}{written}>{join(*children)}</{name}>")


def join(*parts: str | None, between: str = "") -> Markup:
    """The parts in a row, escaped unless they are Markup.

    Example:
        >>> print(join("a<b", element("br"), None, between=" "))
        a&lt;b <br>
    """
    safe = (part if isinstance(part, Markup) else escape(_printable(part)) for part in parts if part is not None)
    return Markup(escape(between).join(safe))


def _attribute(key: str, value: str | int | bool | None) -> str:
    name = key.removesuffix("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escape(_printable(str(value)))}"'


def _printable(text: str) -> str:
    """The text without what a page cannot show or would be misled by: lone surrogates, control and direction marks."""
    kept = text.encode("utf-8", "backslashreplace").decode("utf-8")
    return "".join(c if unicodedata.category(c)[0] != "C" or c in "\n\t" else "\ufffd" for c in kept)
