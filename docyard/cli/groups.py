"""A group of commands that answers an unknown name with the nearest one."""

from __future__ import annotations

import click


class NearestGroup(click.Group):
    """A group whose error for a command that there is not names those that are spelled alike."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is named first. Raises click.UsageError."""
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-") and not ctx.resilient_parsing:
            from workspace.document.addresses import nearest

            near = nearest(name, self.list_commands(ctx))
            meant = f"; did you mean '{near[0]}'?" if near else ""
            raise click.UsageError(f"no command '{name[:100]}'{meant}", ctx)
        return super().resolve_command(ctx, args)
