"""How Sphinx makes a site of these pages (`make docs`): every warning is an error, and nothing comes from elsewhere.

The pages are plain Markdown that reads well without the site. Their order is that of docs/index.md: its headings are
the parts of the sidebar, and its links are the pages in them.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from pathlib import Path

from docs.command_options import reference, to_markdown
from sphinx.application import Sphinx

from commonplace import Memory, errors
from commonplace.cli.main import GROUPS
from commonplace.config import SETTING_DESCRIPTIONS, default_of_setting
from commonplace.dialects.tool_profiles import ALL
from commonplace.hosts.host import EDITOR_NAMES, Locations, editor_named, rule_targets
from commonplace.mcp.resources_and_prompts import PROMPTS, TEMPLATES
from commonplace.rest.endpoint_table import ENDPOINTS
from commonplace.rest.metrics import METRICS

ROOT = Path(__file__).parent.parent

project = "Commonplace"
project_copyright = "the authors of Commonplace"
release = re.findall(r'__version__ = "(.*)"', (ROOT / "src/commonplace/__init__.py").read_text(encoding="utf-8"))[0]

extensions = ["myst_parser"]
exclude_patterns = ["pictures", "static"]
# A link may name a heading, as on GitHub.
myst_heading_anchors = 4
nitpicky = True

html_theme = "furo"
html_title = "Commonplace"
# The colours of the dashboard.
html_theme_options = {
    "light_css_variables": {
        "color-brand-primary": "#1c5d48",
        "color-brand-content": "#1a5a8a",
        "color-brand-visited": "#1a5a8a",
        "color-background-primary": "#fbfaf7",
        "color-background-secondary": "#f3f0ea",
    },
    "dark_css_variables": {
        "color-brand-primary": "#84cfae",
        "color-brand-content": "#8fc3ee",
        "color-brand-visited": "#8fc3ee",
        "color-background-primary": "#161513",
        "color-background-secondary": "#1e1d1a",
    },
}
html_logo = "../src/commonplace/web/static/mark.svg"
html_favicon = "../src/commonplace/web/static/mark.svg"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False


def add_contents(app: Sphinx, name: str, source: list[str]) -> None:
    """Tell Sphinx the order of the pages: a table of contents for each group of links on the first page."""
    if name == "index":
        source[0] += "".join(contents_of(part) for part in source[0].split("\n## ")[1:])


def contents_of(part: str) -> str:
    """Hidden tables of contents for a part of the first page: one for it, or one for each line that ends in a colon."""
    heading, _, rest = part.partition("\n")
    first, *groups = re.split(r"^(.+):$", rest, flags=re.MULTILINE)
    links_of = {heading: first}
    links_of |= {f"{heading}: {name.lower()}": links for name, links in zip(groups[::2], groups[1::2], strict=True)}
    tables = ""
    for caption, links in links_of.items():
        pages = dict.fromkeys(re.findall(r"\]\(([\w/-]+)\.md\)", links))
        if pages:
            tables += "\n".join(["", "```{toctree}", ":hidden:", f':caption: "{caption}"', "", *pages, "```", ""])
    return tables


def add_commands(app: Sphinx, name: str, source: list[str]) -> None:
    """On the site only: what each command does below the title of its group, and at the end every option of each."""
    if name == "reference/commands":
        for title, rows in GROUPS:
            table = [f"| [`{command}`](#{command}) | {to_markdown(what)} |" for command, _where, what in rows]
            assert f"\n## {title}\n" in source[0]
            source[0] = source[0].replace(
                f"\n## {title}\n", "\n".join(["", f"## {title}", "", "| command | |", "|---|---|", *table, ""])
            )
        source[0] += f"\n{reference()}"


def add_settings(app: Sphinx, name: str, source: list[str]) -> None:
    """Below the settings that most people change, on the site only: all of them."""
    if name == "reference/settings":
        source[0] += "\n## All settings\n"
        for title, meanings in SETTING_DESCRIPTIONS.items():
            source[0] += f"\n### {title}\n\n| setting | default | meaning |\n|---|---|---|\n"
            for setting, meaning in meanings.items():
                default = default_of_setting(setting)
                source[0] += f"| `{setting}` | {default and f'`{default}`'} | {meaning} |\n"


def add_metrics(app: Sphinx, name: str, source: list[str]) -> None:
    """After the metrics to watch, on the site only: all of them."""
    if name == "reference/metrics":
        source[0] += "\n## All metrics\n\n| metric | type | labels | meaning |\n|---|---|---|---|\n"
        for one in METRICS.values():
            labels = ", ".join(f"`{label}`" for label in one.labels)
            source[0] += f"| `{one.sample_name}` | {one.kind} | {labels} | {one.meaning} |\n"


def add_errors(app: Sphinx, name: str, source: list[str]) -> None:
    """Below the codes, on the site only: what each means and what to do next."""
    if name == "reference/errors":
        source[0] += "\n## What they mean\n\n| code | meaning | next step |\n|---|---|---|\n"
        for one in errors.with_own_code():
            meaning = " ".join((one.__doc__ or "").split())
            source[0] += f"| `{one.code}` | {meaning} | {to_markdown(one.default_hint)} |\n"


def add_tools(app: Sphinx, name: str, source: list[str]) -> None:
    """At the end, on the site only: what each tool is for, and its parameters; the resources and the prompts."""
    if name == "reference/tools":
        source[0] += "\n## All resources and prompts\n\n| | |\n|---|---|\n"
        for template in TEMPLATES:
            source[0] += f"| `{template.uri_template}` | {template.description} |\n"
        for prompt in PROMPTS.values():
            arguments = ", ".join(f"`{one.name}`" for one in prompt.arguments or ())
            source[0] += f"| `{prompt.name}` ({arguments}) | {prompt.description} |\n"
        source[0] += "\n## All tools\n"
        for tool in ALL:
            source[0] += f"\n### {tool.name}\n\n{to_markdown(tool.description)}\n"
            listed = [param for param in tool.params if param.listed]
            if listed:
                source[0] += "\n| parameter | |\n|---|---|\n"
            for param in listed:
                needed = " (required)" if param.required else ""
                source[0] += f"| `{param.name}`{needed} | {to_markdown(param.description)} |\n"


def add_routes(app: Sphinx, name: str, source: list[str]) -> None:
    """Below the main routes, on the site only: every route, its methods and, if it is an unusual one, its key."""
    if name != "reference/rest":
        return
    source[0] += "\n## All routes\n"
    for tag in dict.fromkeys(one.tag for one in ENDPOINTS):
        source[0] += f"\n### {tag}\n\n| path | |\n|---|---|\n"
        for path in dict.fromkeys(one.path for one in ENDPOINTS if one.tag == tag):
            source[0] += f"| `{path}` | {methods_of(path)} |\n"


def methods_of(path: str) -> str:
    """What each method of a path does: "GET: List keys (admin); POST: ..."."""
    usual = {"GET": "read"}
    return "; ".join(
        f"{one.method}: {one.summary}"
        + ("" if one.scope == usual.get(one.method, "write") else f" ({one.scope or 'no key'})")
        for one in ENDPOINTS
        if one.path == path
    )


def library_methods() -> set[str]:
    """What users of the library call; the others are for this package."""
    return {name for name in dir(Memory) if not name.startswith("_")} - {"over", "local", "embedding_state"}


def add_methods(app: Sphinx, name: str, source: list[str]) -> None:
    """At the end, on the site only: every method of the library with its arguments."""
    if name == "reference/library":
        source[0] += "\n## All methods\n"
        for method in sorted(library_methods()):
            made = getattr(Memory, method)
            source[0] += f"\n### {method}\n\n`{method}{arguments_of(made)}`\n\n{inspect.getdoc(made)}\n"


def arguments_of(method: Callable[..., object]) -> str:
    """The signature of a method as its users call it, without types."""
    signature = inspect.signature(method)
    named = [one.replace(annotation=inspect.Parameter.empty) for one in signature.parameters.values()]
    return str(signature.replace(parameters=named[1:], return_annotation=inspect.Signature.empty))


def add_settings_files(app: Sphinx, name: str, source: list[str]) -> None:
    """At the end, on the site only: which files `connect` changes, on Linux."""
    if name == "start/connect":
        source[0] += "\n## Which files are changed\n\nOn Linux. Elsewhere, applications may keep theirs in"
        source[0] += " `~/Library/Application Support` or `%APPDATA%` instead of `~/.config`.\n\n"
        source[0] += "| name | your settings | in a project (`--project`) |\n|---|---|---|\n"
        for editor in EDITOR_NAMES:
            own, of_project = (
                ", ".join(f"`{file.as_posix()}`" for file in settings_files(editor, project))
                for project in (None, Path())
            )
            source[0] += f"| `{editor}` | {own} | {of_project} |\n"


def settings_files(editor: str, project: Path | None) -> list[Path]:
    """The settings of an editor with our server and our hooks."""
    host, at = editor_named(editor), Locations(Path("~"), "linux", project=project)
    found = (part.file(at) for part in (host.mcp, host.hooks) if part is not None)
    return list(dict.fromkeys(file for file in found if file is not None))


def add_rule_files(app: Sphinx, name: str, source: list[str]) -> None:
    """At the end, on the site only: which files `generate` writes for each target, and when."""
    if name == "use/rule-files":
        source[0] += "\n## All targets\n\n| target | used if the project has | rules | skills |\n|---|---|---|---|\n"
        for target in rule_targets():
            signs, rules = (", ".join(f"`{one}`" for one in each) for each in (target.signs, target.patterns))
            source[0] += f"| `{target.name}` | {signs} | {rules} | `{target.skills}` |\n"


def setup(app: Sphinx) -> None:
    for added in (add_contents, add_commands, add_routes, add_settings, add_metrics, add_errors, add_tools):
        app.connect("source-read", added)
    for added in (add_methods, add_settings_files, add_rule_files):
        app.connect("source-read", added)
