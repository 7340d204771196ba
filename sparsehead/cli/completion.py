"""`sparsehead completion SHELL`: the script that lets a shell complete commands, options and values."""

from typing import Annotated

import typer

from .output import AsJson, emit

VARIABLE = "_SPARSEHEAD_COMPLETE"  # set by the script when the shell asks for completions
SHELLS = ("bash", "zsh", "fish")
INSTALL = {
    "bash": 'eval "$(sparsehead completion bash)"',
    "zsh": 'eval "$(sparsehead completion zsh)"',
    "fish": "sparsehead completion fish | source",
}


def completion(
    shell: Annotated[str, typer.Argument(help="bash, zsh or fish.", autocompletion=lambda: list(SHELLS))],
    as_json: AsJson = False,
) -> None:
    """Print the script that teaches a shell to complete this program's commands.

    For bash and zsh, add to ~/.bashrc or ~/.zshrc:  eval "$(sparsehead completion bash)"  (or zsh). For fish, add to
    ~/.config/fish/config.fish:  sparsehead completion fish | source
    """
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    from .._base.errors import DomainError

    if shell not in SHELLS:
        raise DomainError(f"completion knows {', '.join(SHELLS)}; got {shell[:40]!r}.")
    script = get_completion_script(prog_name="sparsehead", complete_var=VARIABLE, shell=shell)
    result = {"shell": shell, "script": script, "install": INSTALL[shell]}
    emit(result, as_json, lambda _: typer.echo(script))
