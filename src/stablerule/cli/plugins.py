"""Commands of other distributions, beside those of the library; each is imported when somebody asks for it."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

from stablerule.registry import LABORATORY_COMMANDS, load_entry_point, missing_laboratory, read_command_names


class PluginGroup(TyperGroup):
    """A group of commands that other distributions add to, by the entry points `stablerule.commands`.

    An entry point `tune` is `stablerule tune`; `data.aminer` is `stablerule data aminer`.
    """

    _brought: dict[str, Any] | None = None

    def list_commands(self, ctx: Any) -> list[str]:
        """Name the library's own commands, then the others."""
        return [*super().list_commands(ctx), *self._read_names(ctx)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command by its name, or None."""
        if cmd_name in self.commands:
            return super().get_command(ctx, cmd_name)
        entry = self._read_names(ctx).get(cmd_name)
        return None if entry is None else load_entry_point(entry, lambda made: make_command(made, cmd_name))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command that was typed, or say where to get it."""
        if args[0] not in self.commands and args[0] not in self._read_names(ctx) and not ctx.resilient_parsing:
            whole = f"{self._place(ctx)}{args[0]}"
            if whole in LABORATORY_COMMANDS:
                raise missing_laboratory(whole.replace(".", " "))
        return super().resolve_command(ctx, args)

    def _read_names(self, ctx: Any) -> dict[str, Any]:
        if self._brought is None:
            self._brought = read_command_names(self._place(ctx), self.commands)
        return self._brought

    def _place(self, ctx: Any) -> str:
        """What goes before the names of its commands in an entry point."""
        return "" if ctx.parent is None else f"{self.name}."


def make_command(made: Any, name: str) -> Any:
    """Make a command of a function or of an app of commands."""
    holder = typer.Typer(add_completion=False)
    if isinstance(made, typer.Typer):
        holder.add_typer(made, name=name)
    else:
        holder.command(name)(made)
    return typer.main.get_group(holder).commands[name]
