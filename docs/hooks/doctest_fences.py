"""Examples in docstrings, which begin with >>>, become blocks of code: in Markdown, > is a quotation."""

from typing import Any

from griffe import Extension, Object


class DoctestFences(Extension):
    """Puts a fence around each example of a docstring."""

    def on_object(self, *, obj: Object, **kwargs: Any) -> None:  # noqa: ANN401
        """Fence the examples of whatever has just been read."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(docstring: str) -> str:
    """The same docstring, whose examples are blocks of code: each begins with >>> and ends before an empty line."""
    lines: list[str] = []
    inside = False
    for line in [*docstring.splitlines(), ""]:
        if not inside and line.lstrip().startswith(">>>"):
            lines.append("```pycon")
            inside = True
        elif inside and not line.strip():
            lines.append("```")
            inside = False
        lines.append(line.lstrip() if inside and line.lstrip().startswith((">>>", "...")) else line)
    return "\n".join(lines[:-1])
