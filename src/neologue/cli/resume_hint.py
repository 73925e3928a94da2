"""What an interrupted command says about going on."""

import click

_HINT = "neologue.resume_hint"


def set_resume_hint(hint: str) -> None:
    """From now on, an interruption says this."""
    click.get_current_context().meta[_HINT] = hint


def resume_hint(context: click.Context) -> str | None:
    """What an interruption of this command says, if anything."""
    return context.meta.get(_HINT)
