"""The command line that repeats a run, as reports print it."""

import shlex
from collections.abc import Collection
from pathlib import Path

import click
from click.core import ParameterSource


def repeating_command(context: click.Context, names: Collection[str]) -> str:
    """The command that gives the same result again, with those options among `names` that were given.

    Files are named without their folders: the command is printed in reports that others read.
    """
    parts = ["neologue", *context.command_path.split()[len(context.find_root().command_path.split()) :]]
    for parameter in context.command.params:
        name = parameter.name or ""
        if context.get_parameter_source(name) is not ParameterSource.COMMANDLINE or name not in names:
            continue
        value = context.params[name]
        if isinstance(parameter, click.Option) and parameter.is_flag:
            parts.append(parameter.opts[0])
            continue
        for each in value if parameter.multiple or parameter.nargs == -1 else [value]:
            text = each.name if isinstance(each, Path) else str(each)
            parts += [text] if isinstance(parameter, click.Argument) else [parameter.opts[0], text]
    return shlex.join(parts)
