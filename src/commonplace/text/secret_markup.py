"""Secrets in Markdown, HTML, tables and Terraform: bold labels, table cells, headings, variables with a default."""

from __future__ import annotations

import re
from collections.abc import Iterator

from commonplace.text.secret_clue import Clue
from commonplace.text.secret_shape import looks_secret, stands_out, told_in_prose

Found = tuple[int, int, str]
"""Where a secret begins and ends, and its kind."""

_PASSWORD = r"pass(?:words?|wd|phrase|code|wort)?|pwd?|psk"
_TOKEN = r"secret|token|key|credentials?"
# Words that make a secret of a key: `api key`, but not `primary key`.
KEY_OWNERS = (
    r"(?:api|access|private|signing|encryption|auth|master|account|app|application|service|session|storage|license"
    r"|client|shared|subscription|ingest|deploy|admin|secret|jwt|hmac|function|host)"
)
_KEY_OWNER_BEFORE = re.compile(rf"{KEY_OWNERS}[_ -]?\Z", re.IGNORECASE)
_PUBLIC_BEFORE = re.compile(r"public[_ -]?\Z", re.IGNORECASE)
_CHANGED_BEFORE = re.compile(
    r"\b(?:(?:re)?set|resets?|chang(?:e|ed|ing)|updat(?:e|ed|ing)|rotat(?:e|ed|ing)|switch(?:ed)?|mak(?:e|ing)|made)\b[^.:;=\n]{0,40}\Z",
    re.IGNORECASE,
)
_ROW_BEFORE = re.compile(r"(?:\A|\n)[ \t>]*\|[^\n]{0,300}\Z")
_TRIMMED = "*_`\"'"
# Words that stand before a name in code, where `= value` is an expression and nobody's password.
_CODE_WORDS = frozenset(
    "let const var val auto char string str final static public private protected readonly my our local global new"
    " return if and or not where set def self this mut int text select update export env arg echo default type".split()
)
_WORDS_BEFORE = re.compile(r"(?:\A|[\n.!?:;>*-])[ \t>*-]*(?P<words>[A-Za-z]+(?: [A-Za-z]+){0,7}) \Z")


def _labelled(names: str) -> str:
    """A name, what joins it to a value in marked-up text, and the value."""
    return rf"""(?xi)
        (?P<name> (?:{names}) (?:[_\ -]?(?:key|value|\d{{1,3}}))?)
        (?P<join>
            (?P<label> (?:[*_`]{{1,3}}\ {{0,4}}[:=][*_]{{0,3}} | [:=][*_]{{1,3}} | [:=](?=\ {{0,4}}[*_`]) ))
          | (?P<row> [*_`]{{0,3}}\ {{0,40}}\|(?!\|) )
          | (?P<said> (?:\ (?:for|of|on|to|at)\ [\w.\ -]{{1,40}}?)?\ (?:is|was)(?:\ now)?:?(?=\ [*_]) )
          | (?P<changed> (?:\ (?:for|of|on|from|in|at)\ [\w.\ `*-]{{1,60}}?)?\ to:?(?=\ ) )
          | (?P<arrow> [*_`]{{0,3}}\ {{0,4}}(?:→|⇒|->(?=\ )|—|–) )
          | (?P<dash> [*_`]{{0,3}}\ -(?=\ ) )
          | (?P<tags> :?(?:\s{{0,8}}</?(?:b|strong|em|i|code|kbd|td|th|tr|dt|dd|p|span)>){{1,4}}:? )
          | (?P<below> :?[*_]{{0,3}}:?[ \t]{{0,8}}\r?\n(?:[ \t]{{0,8}}\r?\n)?
                (?:[ \t]{{0,8}}```\w{{0,12}}\r?\n | (?=[ \t]{{0,8}}`) | :(?=\ )) )
          | (?P<equals> \ =(?=\ ) )
        )
        [ \t]{{0,40}}
        (?:
            [*_]{{0,3}}(?P<quote>`{{1,2}}|["'])(?P<quoted>(?:(?!(?P=quote))[^\n]){{6,200}})(?P=quote)
          | (?P<emphasis>\*{{1,3}}|_{{1,3}})(?P<secret>(?:(?!(?P=emphasis))[^\n]){{6,200}})(?P=emphasis)
          | (?P<bare>[^\s"'`,;(){{}}\[\]<>|\\]{{6,200}}+)
        )"""


def _value(match: re.Match[str]) -> str:
    value: str = match["quoted"] or match["secret"] or match["bare"]
    return value.strip(_TRIMMED)


def _judged(match: re.Match[str], *, password: bool) -> bool:
    """Whether the value of a labelled name is a secret; how sure it must be depends on what joins the two."""
    text, at = match.string, match.start()
    value = _value(match)
    following = text[match.end() : match.end() + 1]
    if match["bare"] and following in ("(", "{", "["):
        return False
    if match["row"] is not None:
        if not _ROW_BEFORE.search(text, max(0, at - 320), at) or not _ends_cell(text, match.end()):
            return False
    elif match["changed"] is not None:
        if not _CHANGED_BEFORE.search(text, max(0, at - 60), at):
            return False
    elif match["equals"] is not None:
        words = _WORDS_BEFORE.search(text, max(0, at - 80), at)
        if not words or not _CODE_WORDS.isdisjoint(words["words"].lower().split()):
            return False
    elif match["dash"] is not None:
        return stands_out(value, password=password)
    elif match["tags"] is not None and not match["tags"].strip(" :").endswith(">"):
        return False
    return told_in_prose(value, password=password)


def _ends_cell(text: str, at: int) -> bool:
    while text[at : at + 1] and text[at] in "*_` \t":
        at += 1
    return text[at : at + 1] in ("|", "\n", "\r", "")


def _is_password(match: re.Match[str]) -> bool:
    # `pass` and `pw` are words of their own only as a whole.
    if match["name"].lower() in ("pass", "pw") and match.string[max(0, match.start() - 1) : match.start()].isalnum():
        return False
    return _judged(match, password=True)


def _is_token(match: re.Match[str]) -> bool:
    text, at = match.string, match.start()
    if _PUBLIC_BEFORE.search(text, max(0, at - 10), at):
        return False
    if match["name"].lower().startswith("key") and not _KEY_OWNER_BEFORE.search(text, max(0, at - 20), at):
        return False
    return _judged(match, password=False)


def _is_default_password(match: re.Match[str]) -> bool:
    return looks_secret(match["secret"], password=True, quoted=True, env=False, loose=False)


def _is_default_token(match: re.Match[str]) -> bool:
    return looks_secret(match["secret"], password=False, quoted=True, env=False, loose=False)


def _variable(names: str) -> str:
    """A Terraform variable of such a name whose block has a default."""
    return (
        rf'(?i)variable\s{{1,4}}"[\w-]{{0,60}}?(?:{names})[\w-]{{0,20}}"\s{{0,4}}\{{'
        r'(?:[^{}"]|"[^"\n]{0,300}"){0,600}?\bdefault\s{0,40}=\s{0,4}"(?P<secret>[^"\n]{6,512})"'
    )


MARKUP: tuple[Clue, ...] = (
    Clue("password", ("variable",), _variable(_PASSWORD), _is_default_password),
    Clue("secret", ("variable",), _variable(_TOKEN), _is_default_token),
    Clue("password", ("pass", "pw", "psk"), _labelled(_PASSWORD), _is_password),
    Clue("secret", ("secret", "token", "key", "credential"), _labelled(_TOKEN), _is_token),
)

_HEADING = re.compile(
    rf"(?:[\w.]{{1,30}}[ _-]){{0,3}}(?:(?P<password>{_PASSWORD})|(?:secret|token|credentials?|{KEY_OWNERS}[ _-]?key))"
    r"(?:[ _-]?(?:key|value|hash))?",
    re.IGNORECASE,
)
_HASHED = re.compile(r"hash\Z", re.IGNORECASE)
_RULE = re.compile(r"[ \t>]*\|?(?:[ \t]*:?-+:?[ \t]*\|)*[ \t]*:?-+:?[ \t]*\|?[ \t]*")
_PLAIN_HEADER = re.compile(r"[\w-]{1,40}(?: [\w-]{1,40}){0,2}")


def secrets_in_columns(text: str, starts: list[int]) -> Iterator[Found]:
    """Cells under a heading such as `Password`, in Markdown tables, CSV and TSV.

    `starts` are the places where a telling name stands, in order. Every line is read once.
    """
    done = 0
    for start in starts:
        if start < done:
            continue
        at, end = text.rfind("\n", 0, start) + 1, _line_end(text, start)
        done = end
        header = text[at:end]
        delimiter = _delimiter(header)
        if delimiter is None:
            continue
        columns = _telling_columns(header, delimiter)
        if not columns:
            continue
        number, at = len(header.split(delimiter)), end + 1
        if delimiter == "|":
            end = _line_end(text, at)
            if not _RULE.fullmatch(text, at, end):
                continue
            at = end + 1
        while at < len(text):
            end = _line_end(text, at)
            cells = text[at:end].split(delimiter)
            if len(cells) < 2 or (delimiter != "|" and len(cells) != number):
                break
            for index, password in columns.items():
                if index < len(cells) and (found := _cell(cells, index, at, password)):
                    yield found
            at = done = end + 1


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _delimiter(header: str) -> str | None:
    return next((sign for sign in ("|", "\t", ",", ";") if sign in header), None)


def _telling_columns(header: str, delimiter: str) -> dict[int, bool]:
    """The columns that hold secrets, and whether those are passwords."""
    cells = [cell.strip(" \t\r>" + _TRIMMED) for cell in header.split(delimiter)]
    if delimiter != "|" and not all(map(_PLAIN_HEADER.fullmatch, cells)):
        return {}
    return {
        index: heading["password"] is not None
        for index, cell in enumerate(cells)
        if (heading := _HEADING.fullmatch(cell)) and not _HASHED.search(cell)
    }


def _cell(cells: list[str], index: int, at: int, password: bool) -> Found | None:
    raw = cells[index]
    value = raw.strip(" \t\r" + _TRIMMED)
    if " " in value or not told_in_prose(value, password=password):
        return None
    start = at + sum(len(cell) + 1 for cell in cells[:index]) + raw.index(value)
    return start, start + len(value), "password" if password else "secret"
