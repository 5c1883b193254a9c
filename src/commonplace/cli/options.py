"""Options and arguments that several commands share, how their values are read, and files that a command writes."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar

import click

from commonplace.cli.command import Call
from commonplace.cli.terminal import current_folder, read_stdin
from commonplace.errors import Conflict, InvalidInput

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

F = TypeVar("F", bound=Callable[..., Any])
Option = Callable[[F], F]

STDIN = "-"
FORCE = "Choose another name, or use --force to overwrite it."


def completes(what: str) -> Callable[[click.Context, click.Parameter, str], list[CompletionItem]]:
    """Values that Tab offers, read from the store: projects, types, items, sessions or conversations."""

    def complete(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from commonplace.cli.completion import stored_values

        return stored_values(ctx, what, incomplete)

    return complete


def project_option(help_: str, **more: Any) -> Option[Any]:
    return click.option("-p", "--project", *more.pop("names", ()), help=help_, shell_complete=PROJECTS, **more)


PROJECTS, ITEMS, CONVERSATIONS = completes("projects"), completes("items"), completes("conversations")
SESSIONS, TYPES = completes("sessions"), completes("types")

id_argument = click.argument("id_", metavar="ID", shell_complete=ITEMS)
ids_argument = click.argument("ids", metavar="ID...", nargs=-1, required=True, shell_complete=ITEMS)

# Filters of lists and of search; their names are those of the methods of Memory. One letter means one thing
# everywhere: -p project, -g global, -t type, -k kind, -n limit, -s since, -u until, -o output, -j json, -y yes.
project_filter = project_option("Only this project (default: all).")
everywhere_option = click.option("--everywhere", is_flag=True, help="Search every project.")


def searched_project(function: F) -> F:
    """Where a question is asked: Call.searched_place reads them."""
    named = project_option("Only this project (default: that of the current folder, and what applies everywhere).")
    decorated: F = combine(named, everywhere_option)(function)
    return decorated


global_filter = click.option("-g", "--global", "only_global", is_flag=True, help="Only what belongs to no project.")
type_filter = click.option("-t", "--type", multiple=True, help="Only this type; repeatable.", shell_complete=TYPES)
tag_filter = click.option("--tag", default="", help="Only with a tag that contains this.")
since_filter = click.option("-s", "--since", help='Only since then: 7d, yesterday, "last week", 2026-11-01, ...')
until_filter = click.option("-u", "--until", help="Only until then, including that day.")
author_filter = click.option(
    "--author", default="", help="Only by this person (and the agents that write for them), or by this agent."
)
as_of_filter = click.option(
    "--as-of", metavar="TIME", help='What was true then: now, yesterday, "last week", 2026-11-01, ...'
)
expired_filter = click.option(
    "--include-expired", is_flag=True, help="Include what is no longer valid, or not yet; not what was replaced."
)
folder_filter = click.option("--folder", help="Only this folder and its subfolders.")
source_filter = click.option(
    "--source", default="", help="Only from this source: claude-code, codex, gemini, cursor, chatgpt, claude, text, ..."
)
cursor_option = click.option("--cursor", help="The next page, as printed below the one before.")
dry_run_option = click.option("--dry-run", is_flag=True, help="Change nothing; show what would change.")
force_option = click.option("--force", is_flag=True, help="Overwrite existing files.")
root_option = click.option(
    "--root",
    metavar="FOLDER",
    type=click.Path(),
    help="The project's folder (default: the repository around the current one).",
)


class PluginChoice(click.Choice[str]):
    """One of our own names, or one that a plugin adds; plugins are looked up only for a name that is not ours."""

    def __init__(self, names: Sequence[str], all_names: Callable[[], Sequence[str]]) -> None:
        super().__init__(names)
        self._all_names = all_names

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value in self.choices:
            return str(value)
        known = self._all_names()
        if value in known:
            return str(value)
        from difflib import get_close_matches

        word = str(value).casefold()
        near = [name for name in known if word and name.startswith(word)] or get_close_matches(word, known, 2)
        suggestion = f"Did you mean {' or '.join(map(repr, near))}?" if near else f"There are: {', '.join(known)}."
        return self.fail(f"{value!r} is not known. {suggestion}", param, ctx)


def combine(*options: Option[Any]) -> Option[Any]:
    """Several options as one decorator, in their order."""

    def decorate(function: F) -> F:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def item_filters(function: F, places: Option[Any] = project_filter) -> F:
    """Which items a list takes; `places` are the options that say of which projects."""
    from commonplace.model import KINDS, ORIGINS

    kinds = click.option("-k", "--kind", type=click.Choice(KINDS), multiple=True, help="Only this kind; repeatable.")
    origins = click.option(
        "--origin", type=click.Choice(ORIGINS), multiple=True, help="Only what was stored in this way; repeatable."
    )
    options = (places, global_filter, kinds, type_filter, tag_filter, author_filter, origins)
    filtered: F = combine(*options, since_filter, until_filter, as_of_filter, expired_filter)(function)
    return filtered


def search_filters(function: F) -> F:
    """The same for a search, which begins in the project of the current folder."""
    return item_filters(function, searched_project)


def limit_option(default: int, most: int, help_: str) -> Option[Any]:
    return click.option(
        "-n", "--limit", metavar="N", type=click.IntRange(1, most), default=default, show_default=True, help=help_
    )


def page_options(what: str) -> Option[Any]:
    """How long a page is and where it starts."""
    return combine(limit_option(20, 1000, f"{what} per page."), cursor_option)


def place_options(help_: str) -> Option[Any]:
    """Where something new belongs: a project, or every project."""
    return combine(
        project_option(help_),
        click.option("-g", "--global", "only_global", is_flag=True, help="It applies everywhere, not to one project."),
    )


def validity_options(function: F) -> F:
    """When something is true, and when it is hidden."""
    when = '2026-05-31, "31 May", "end of Q3", 30d; none removes it'
    options = (
        click.option("--valid-from", metavar="TIME", help=f"It is true from then on: {when}."),
        click.option("--valid-until", metavar="TIME", help="It is true until then, including that day."),
        click.option("--expires", metavar="TIME", help="Hide it after that time."),
    )
    decorated: F = combine(*options)(function)
    return decorated


def field_option(help_: str) -> Option[Any]:
    return click.option("--field", "fields", metavar="NAME=VALUE", multiple=True, help=help_)


def parse_fields(given: Sequence[str]) -> dict[str, str]:
    """`NAME=VALUE` strings as a mapping; dashes in names are underscores."""
    fields = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise InvalidInput(
                f"--field {text[:60]!r} is not NAME=VALUE.", "For example --field next_steps='Write tests'."
            )
        fields[name.strip().replace("-", "_")] = value
    return fields


def split_names(values: Sequence[str]) -> list[str]:
    """Comma separated or repeated values, one by one."""
    names = [name.strip() for value in values for name in value.split(",")]
    return [name for name in names if name]


def text_argument(words: Sequence[str], empty: str, hint: str) -> str:
    """The words of an argument as one text; a single `-` reads standard input."""
    text = read_stdin() if tuple(words) == (STDIN,) else " ".join(words)
    if not text.strip():
        raise InvalidInput(empty, hint)
    return text


def root_metadata(details: Mapping[str, str]) -> dict[str, Any]:
    """Metadata that says where relative paths start, so that stale items are recognised from any folder."""
    files = details.get("files_modified", "").split(", ")
    if any(name and not name.startswith("~") and not Path(name).is_absolute() for name in files):
        with contextlib.suppress(OSError):
            return {"root": str(current_folder())}
    return {}


def project_root(root: str | None) -> Path:
    """The given folder, else the top of the repository around the current one, else the current one."""
    from commonplace.hosts.project_files import exact_folder, project_folder

    if root is not None:
        return exact_folder(Path(root))
    try:
        return project_folder(Path.cwd())
    except OSError as error:
        # The folder was removed while we are in it.
        raise InvalidInput("The current folder does not exist.", "Name one with --root.") from error


def project_of_folder(call: Call, folder: Path) -> str | None:
    """The project of a folder; outside a repository there is none, and a note says so."""
    found = call.project_at(folder)
    if found is None:
        call.note("This folder is not a git repository, so this applies to every project. --project names one.")
    return found


def check_target(file: Path, *, force: bool) -> Path:
    """Check that a file may be written, before the work is done."""
    if file.is_dir():
        raise InvalidInput(f"{file} is a folder.", "Name a file.")
    if not file.parent.is_dir():
        raise InvalidInput(f"There is no folder {file.parent}.", "Create it first, or choose another one.")
    if file.exists() and not force:
        raise Conflict(f"{file} exists.", FORCE)
    return file


def make_folder(folder: Path, *, force: bool) -> None:
    """Create a folder; unless forced, it has to be empty."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        used = any(folder.iterdir())
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InvalidInput(f"{folder} cannot be used as a folder: {reason}.", "Choose another one.") from error
    if used and not force:
        raise Conflict(f"The folder {folder} is not empty.", FORCE)


def atomic_file(file: Path, *, force: bool) -> contextlib.AbstractContextManager[IO[bytes]]:
    """A file that appears when it is complete."""
    from commonplace.temporary_files import written_file

    return written_file(file, overwrite=force, hint=FORCE)
