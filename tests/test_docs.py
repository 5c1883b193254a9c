"""The documentation keeps up: every setting, tool, prompt, error code and page is where a reader would look for it."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import click
import pytest

from commonplace import errors
from commonplace.cli.main import COMMANDS
from commonplace.cli.main import commonplace as command_line
from commonplace.config import PROFILES, SETTING_MEANINGS, Settings, default_of_setting
from commonplace.dialects.tool_profiles import ALL, tools_of
from commonplace.hosts.host import EDITOR_NAMES, editor_named
from commonplace.mcp.resources_and_prompts import PROMPTS, TEMPLATES
from commonplace.store.rows import QUERY_COLUMNS

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])


PARTS = ("start", "use", "reference", "inside")


def page(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def error_classes() -> list[type[errors.CommonplaceError]]:
    found, todo = [], [errors.CommonplaceError]
    while todo:
        found.append(todo.pop())
        todo += found[-1].__subclasses__()
    return [one for one in found if one.__module__ == errors.__name__]


def test_every_setting_is_described() -> None:
    """The site lists these descriptions (tests/test_docs_site.py)."""
    assert sorted(SETTING_MEANINGS) == sorted(f.name for f in fields(Settings))
    assert [name for name, meaning in SETTING_MEANINGS.items() if not re.fullmatch(r"[A-Z`].+\.", meaning)] == []


def test_the_settings_on_the_page_have_their_defaults() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (?:`([^`]*)`)?", page("docs/reference/settings.md"), re.MULTILINE)
    assert len(rows) >= 10
    assert [name for name, default in rows if default != default_of_setting(name)] == []


def test_every_tool_prompt_and_resource_is_on_the_page_for_agents() -> None:
    text = page("docs/reference/tools.md")
    wanted = [tool.name for tool in ALL] + list(PROMPTS) + [template.uri_template for template in TEMPLATES]
    assert [name for name in wanted if f"`{name}`" not in text] == []


def test_the_number_of_tools_is_what_the_pages_say() -> None:
    (result,) = re.findall(r"All\s+(\d+) tools are there", page("docs/reference/tools.md"))
    assert int(result) == len({tool.name for tool in ALL})
    assert f"all {result} tools" in page("docs/inside/assurance.md")


def test_every_profile_is_on_the_page_for_agents_with_the_number_of_its_tools() -> None:
    text = page("docs/reference/tools.md")
    assert [name for name in PROFILES if f"| `{name}` | {len(tools_of(name))} |" not in text] == []
    assert [name for name in PROFILES if f"`{name}`" not in SETTING_MEANINGS["profile"]] == []


def test_every_error_code_is_on_its_page_with_its_exit_code_and_status() -> None:
    rows = dict(re.findall(r"^\| (\d+) \| (.+) \|$", page("docs/reference/errors.md"), re.MULTILINE))
    found = {(int(code), *one) for code, row in rows.items() for one in re.findall(r"`(\w+)` (\d+)", row)}
    assert found == {(e.exit_code, e.code, str(e.http_status)) for e in error_classes()}


def test_every_error_code_has_a_sentence_and_a_next_step() -> None:
    """The site lists them (tests/test_docs_site.py)."""
    described = errors.with_own_code()
    assert {e.code for e in described} == {e.code for e in error_classes()}
    assert [e.code for e in described if not (e.__doc__ and e.default_hint)] == []


def test_troubleshooting_names_only_codes_that_exist() -> None:
    named = re.findall(r"`([A-Z]+_[A-Z_]+)`", page("docs/troubleshooting.md"))
    assert named and set(named) <= {error.code for error in error_classes()}


def test_the_tree_of_errors_is_drawn_as_it_is() -> None:
    drawn = errors.__doc__ or ""
    for one in error_classes():
        line = next((line for line in drawn.splitlines() if re.search(rf"\b{one.__name__}\b", line)), "")
        assert one.code in line and str(one.exit_code) in line and str(one.http_status) in line, one.__name__


def test_every_column_that_a_query_may_name_is_explained() -> None:
    assert [name for name in QUERY_COLUMNS if f"`{name}`" not in page("docs/use/search.md")] == []


def anchors(path: Path) -> set[str]:
    """The headings of a page, as a link names them."""
    headings = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_between_pages_lead_somewhere(path: Path) -> None:
    for target, heading in re.findall(r"\]\((?!http|<)([^)#]*)#?([^)]*)\)", path.read_text(encoding="utf-8")):
        to = path.parent / target if target else path
        assert to.exists(), f"{path.name} links to {target}"
        assert not heading or heading in anchors(to), f"{path.name} links to {target}#{heading}"


@pytest.mark.parametrize("path", sorted((DOCS / "inside").glob("*.md")), ids=lambda path: path.name)
def test_every_module_that_a_page_about_the_inside_names_exists(path: Path) -> None:
    named = set(re.findall(r"`([\w./-]+\.py)`", path.read_text(encoding="utf-8")))
    folders = ("src", "tests", "benchmarks", "torture", "judges", "training", "packaging")
    modules = [f"/{found.relative_to(ROOT).as_posix()}" for name in folders for found in (ROOT / name).rglob("*.py")]
    assert [name for name in sorted(named) if not any(module.endswith(f"/{name}") for module in modules)] == []


def test_the_first_page_leads_to_every_other_one() -> None:
    text = page("docs/index.md")
    names = [path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")]
    assert [name for name in names if name != "index.md" and f"({name})" not in text] == []


def test_the_readme_leads_to_the_four_parts() -> None:
    assert [part for part in PARTS if f"(docs/index.md#{part})" not in page("README.md")] == []


def test_the_readme_shows_both_commands() -> None:
    assert "make serve" in page("README.md") and "make test" in page("README.md")


def python_blocks(name: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", page(name), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("name", ["README.md", "docs/reference/library.md"])
def test_the_examples_in_python_run_as_they_are_written(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    blocks = python_blocks(name)
    for number, block in enumerate(blocks, start=1):
        code = compile(block, f"{name}, example {number}", "exec")
        if "example.org" not in block:
            exec(code, names)
    assert blocks and "Sessions" in capsys.readouterr().out


def test_every_editor_is_on_its_page_with_the_number_of_its_hooks() -> None:
    lines = page("docs/start/connect.md").splitlines()
    tables = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line.startswith("| ")]
    hooks_of = {cells[1]: cells[3] for cells in tables if len(cells) == 4}
    for name in EDITOR_NAMES:
        hooks = editor_named(name).hooks
        assert hooks_of[f"`{name}`"] == (str(len(hooks.events)) if hooks else ""), name


def options_of(words: list[str]) -> set[str]:
    """The options of the command that these words begin with."""
    made: click.Command = command_line
    options: set[str] = set()
    for word in words:
        options.update(name for option in made.params for name in (*option.opts, *option.secondary_opts))
        found = made.get_command(click.Context(made), word) if isinstance(made, click.Group) else None
        if found is None:
            break
        made = found
    return options | {name for option in made.params for name in (*option.opts, *option.secondary_opts)}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_command_that_a_page_mentions_exists_with_its_options(path: Path) -> None:
    if path.name == "CHANGELOG.md":
        return
    text = path.read_text(encoding="utf-8")
    inline = re.findall(r"`(commonplace [^`]+)`", text)
    listed = re.findall(r"^(?:\$ )?(commonplace [^\n]+?)(?:  +#.*)?$", text, re.MULTILINE)
    for line in (*inline, *listed):
        assert is_a_command(line), f"{path.name}: {line}"


def is_a_command(line: str) -> bool:
    """Whether a command line names a command that exists, with options that it has."""
    words = re.sub(r'"[^"]*"|\'[^\']*\'', "X", line.partition(" | ")[0]).split()[1:]
    named = [word for word in words if not word.startswith(("-", "[", "<"))]
    if named and named[0].islower() and named[0] not in {name for name, *_rest in COMMANDS}:
        return False
    options = {word.partition("=")[0].strip("[],.;:)") for word in words if word.startswith(("--", "[--"))}
    return options <= options_of(named) | {"--help", "--version", "--json", "--data-dir"}


def test_every_command_that_the_program_advises_exists_with_its_options() -> None:
    """The next steps of errors, of the doctor and of the pages."""
    found = []
    for path in sorted((ROOT / "src").rglob("*")):
        if path.suffix in (".py", ".toml", ".html"):
            text = path.read_text(encoding="utf-8")
            # A value that is put in, and a line that goes on in the next string.
            text = re.sub(r"\{[^{}]*\}", "X", re.sub(r'"\n\s*f?"', "", text))
            found += [(path.name, line) for line in re.findall(r"`(commonplace [^`\n]+)`", text)]
    assert len(found) > 60
    assert [(name, line) for name, line in found if not is_a_command(line)] == []
