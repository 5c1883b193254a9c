"""Secrets of every kind in the places where people and programs leave them: code, settings, logs, chats, diffs."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from benchmarks.secret_kinds import ALONE, FRAMED, NAMED


@dataclass(frozen=True, slots=True)
class Planted:
    """A text with one secret in it."""

    kind: str
    place: str
    text: str
    secret: str


# Where a secret that is known by itself may stand.
PLACES: Mapping[str, str] = {
    "code": 'client = Client("{}", timeout=3)',
    "code, single quotes": "const value = '{}';",
    "env": "SOMETHING={}",
    "yaml": "service:\n  value: {}\n  replicas: 2",
    "json": '{{"id": 7, "value": "{}"}}',
    "escaped json": '{{"line": "{{\\"value\\": \\"{}\\"}}"}}',
    "after an escape": '{{"content": "use this:\\n{}\\nthanks"}}',
    "log": "2026-05-01T12:00:00Z WARN call with {} failed after 31 ms",
    "prose": "I made a new one for you: {}, please keep it to yourself.",
    "end of a sentence": "It stopped working, the one in use was {}.",
    "shell": "export SOMETHING={} && make deploy",
    "flag": "deploy --with {} --region eu",
    "diff": '+    "value": "{}",',
    "markdown": "Use `{}` for the staging system.",
    "table": "| staging | {} | 2026 |",
    "url": "GET https://x.io/v1/things?q={}&page=2",
    "colour": "\x1b[32m{}\x1b[0m",
    "header": "X-Custom: {}\r\nAccept: */*",
}
# What {name} is spelled like, and how it gets its value.
SPELLINGS: Mapping[str, tuple[str, str]] = {
    "env": ("UPPER", "{name}={}"),
    "env, quoted": ("UPPER", '{name}="{}"'),
    "export": ("UPPER", "export {name}={}"),
    "yaml": ("snake", "config:\n  {name}: {}\n  other: 1"),
    "yaml, quoted": ("camel", "{name}: '{}'"),
    "json": ("camel", '{{"{name}": "{}", "x": 1}}'),
    "escaped json": ("snake", '"{{\\"{name}\\": \\"{}\\"}}"'),
    "toml": ("snake", '[x]\n{name} = "{}"'),
    "ini": ("snake", "[x]\n{name}={}"),
    "python": ("UPPER", "{name} = '{}'"),
    "python, typed": ("snake", 'self.{name}: str = "{}"'),
    "python, index": ("UPPER", 'os.environ["{name}"] = "{}"'),
    "python, call": ("snake", 'connect(host, {name}="{}")'),
    "javascript": ("camel", "const {name} = '{}';"),
    "typescript": ("camel", 'private readonly {name}: string = "{}";'),
    "go": ("camel", '{name} := "{}"'),
    "java": ("UPPER", 'private static final String {name} = "{}";'),
    "rust": ("snake", 'let {name}: &str = "{}";'),
    "ruby": ("snake", ":{name} => '{}',"),
    "php": ("UPPER", "define('{name}', '{}');"),
    "c": ("UPPER", '#define {name} "{}"'),
    "xml": ("camel", "<{name}>{}</{name}>"),
    "docker": ("UPPER", "ENV {name}={}"),
    "kubernetes": ("UPPER", '- name: {name}\n  value: "{}"'),
    "flag": ("dash", "tool --{name} {}"),
    "flag, =": ("dash", "tool --{name}={}"),
    "query": ("snake", "https://x.io/cb?{name}={}&x=1"),
    "diff": ("snake", '-  {name} = "{}"'),
    "r": ("snake", '{name} <- "{}"'),
    "xml attribute": ("camel", '<add name="{name}" value="{}"/>'),
    "setter": ("UPPER", 'environ.setdefault("{name}", "{}")'),
    "changed": ("words", "The {name} was changed to {}, tell the others."),
    "for something": ("words", "{name} for the staging system is {}"),
    "markdown label": ("words", "- **{name}:** {}\n- **Port:** 5432"),
    "markdown label, code": ("words", "**{name}**: `{}`"),
    "markdown value": ("words", "The {name} is **{}**."),
    "markdown row": ("words", "| Setting | Value |\n|---|---|\n| {name} | {} |"),
    "markdown column": ("words", "| Host | {name} | Port |\n|:--|---|--:|\n| db1 | `{}` | 5432 |"),
    "markdown heading": ("words", "### {name}\n\n```\n{}\n```"),
    "html table": ("words", "<tr><td>{name}</td><td>{}</td></tr>"),
    "html label": ("words", "<b>{name}:</b> {}<br>"),
    "csv": ("snake", "host,{name},port\ndb1,{},5432"),
    "set to": ("words", "I set the {name} to {} yesterday."),
    "spaced": ("words", "use {name} = {} for now"),
    "terraform": ("snake", 'variable "{name}" {{\n  type      = string\n  sensitive = true\n  default   = "{}"\n}}'),
    "prose": ("words", "By the way, the {name} is {} since yesterday."),
}


def spelled(name: str, how: str) -> str:
    words = name.split()
    match how:
        case "UPPER":
            return "_".join(words).upper()
        case "camel":
            return words[0] + "".join(map(str.title, words[1:]))
        case "dash":
            return "-".join(words)
        case "words":
            return name
        case _:
            return "_".join(words)


def planted(seed: int) -> Iterator[Planted]:
    """Every kind in every place it may stand in."""
    rng = random.Random(seed)
    for kind, make in ALONE.items():
        for place, template in PLACES.items():
            secret = make(rng)
            yield Planted(kind, place, template.format(secret), _part(secret))
    for kind, (names, make) in NAMED.items():
        for place, (how, template) in SPELLINGS.items():
            for name in names:
                secret = make(rng)
                yield Planted(kind, place, template.format(secret, name=spelled(name, how)), secret)
    for kind, (templates, make) in FRAMED.items():
        for template in templates:
            for _ in range(4):
                secret = make(rng)
                yield Planted(kind, "its frame", template.format(secret), secret)


def _part(secret: str) -> str:
    """What of an address is the secret."""
    if "hooks" in secret:
        return secret.rpartition("/")[2]
    if "://" in secret:
        return secret.partition("://")[2].rpartition("@")[0].rpartition(":")[2]
    return secret.partition(":")[2] if ":AA" in secret else secret


def kinds() -> list[str]:
    return [*ALONE, *NAMED, *FRAMED]


def is_left(one: Planted, redacted: str) -> bool:
    """Whether the secret, or a half of it, can still be read."""
    half = len(one.secret) // 2
    pieces = [one.secret] if half < 8 else [one.secret[:half], one.secret[half:]]
    return any(piece in redacted for piece in pieces)
