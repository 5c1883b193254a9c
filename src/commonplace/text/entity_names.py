"""What a text names: people, projects, services, libraries, files, and other things with a name of their own.

By rules and lists, so that the same text always names the same; rather too few than wrong ones. A name is `strong`
where one mention is enough to believe it, and otherwise has to come again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain, pairwise
from typing import Literal, NamedTuple, cast

from commonplace.text.references import file_key, references
from commonplace.text.tokens import STOP_WORDS
from commonplace.text.word_lists import word_map, word_set

EntityKind = Literal["person", "project", "service", "library", "file", "thing"]
ENTITY_KINDS: tuple[EntityKind, ...] = ("person", "project", "service", "library", "file", "thing")
MAX_NAME = 120
# What a statement is about it says early.
_READ = 2_000
_FENCE = re.compile(r"(```|~~~).*?(?:\1|\Z)", re.DOTALL)

_UPPER = r"[A-ZÀ-ÖØ-ÞŁŚŽŠČ]"
_CAPITAL = rf"{_UPPER}[a-zß-öø-ÿłśžšč]+(?:-{_UPPER}?[a-zß-öø-ÿ]+|['’]{_UPPER}[a-zß-öø-ÿ]+)?"
# A surname may have small words before it: Maria de la Cruz.
_SURNAME = rf"(?: (?:(?:von|van|de|der|den|da|dos|la|le|el|al|bin|ter|zu) ){{0,2}}{_CAPITAL}){{0,2}}"
# Whoever has a title is a person, whatever the name.
_TITLES = "Mrs?|Ms|Dr|Prof|Herr|Frau|Mme|Mlle"
# "Frau Aebi" is Aebi.
_TITLE = re.compile(rf"^(?:{_TITLES})\.? (?=\w)", re.IGNORECASE)
_TITLED = re.compile(rf"\b(?:{_TITLES})\.? ([A-ZÄÖÜ][\w'’-]+(?: [A-ZÄÖÜ][\w'’-]+)?)")
# A church, a street or a town: "St. Peter".
_SAINT = re.compile(r"\b(?:St\.?|Saint|Sankt|Santa|San|São) \Z")
_PERSON = re.compile(rf"(?<![\w./@`-])({_CAPITAL})({_SURNAME})(?![\w/`]|\.\w|-\w|\s+\d)")
# Words that begin a sentence, and are no names though somebody "wants" or "says" something.
_COMMON_NOUN = re.compile(r".*(?:tion|sion|ment|ness|ity|ing|ship|ance|ence|or|er|cast|ist|ry|al|ics|s)\Z")
# What only people do.
_DOES = re.compile(
    r"\s+(?:has |have |had |also |still |now |never |always )?(?:said|says|prefers?|wants?|wanted|asked|asks|decided"
    r"|approved|suggested|suggests|insists?|insisted|joined|promised|thinks|believes|complained|agreed|likes|dislikes"
    r"|hates|took over|takes over|proposed|volunteered|resigned|retired|is on (?:call|holiday|vacation|leave|parental)"
    r"|is away|is out of office|is responsible|is in charge|left in|left the|wrote the)\b"
)
_ASKED = re.compile(
    r"\b(?:[Aa]sk|[Pp]ing|[Tt]ell|[Tt]alk to|[Ss]peak to|[Cc]heck with|[Pp]air with|[Pp]aired with|[Rr]eports to"
    r"|[Tt]hanks to|[Aa]ccording to)\s+\Z"
)
_ROLE = re.compile(r"\s+is\s+(?:our|the|a|an)\s+(?:new\s+)?([^.;,:()\n]{2,60})")

_PRODUCT = re.compile(r"(?<![\w@/.-])[A-Za-z][A-Za-z0-9]*(?:\.js)?(?:-[a-z]+)?(?![\w@/-]|\.\w)")
_KEBAB = re.compile(r"(?<![\w@/.-])[a-z][a-z0-9]*(?:-[a-z0-9]+)+(?![\w@/-]|\.\w)")
_HOST = re.compile(
    r"(?<![\w@./-])(?!chrome|browser|storage|window|this|self)[a-z0-9][a-z0-9-]{0,62}(?:\.[a-z0-9-]{1,63}){0,8}"
    r"\.(?:internal|local|lan|corp|intranet)(?![\w.-]*\w)"
)
_REPOSITORY = re.compile(r"(?<![\w.])((?:github\.com|gitlab\.com|bitbucket\.org)/[\w.-]+/[\w.-]*\w)")
_OWNED = re.compile(r"\b[Rr]epo(?:sitory)?\s+`?([\w-]+/[\w.-]*\w)`?|(?<![\w./-])([\w-]+/[\w.-]*\w)\s+repo(?:sitory)?\b")
_SCOPED = re.compile(r"(?<![\w/])@[a-z0-9][a-z0-9-]*/[a-z0-9][\w.-]*\w")
_PINNED = re.compile(r"(?<![\w/.@-])([A-Za-z][\w.-]*\w)(?:==|>=|~=|@)\^?v?\d[\w.]*")
_INSTALLED = re.compile(
    r"\b(?:pip3?|pipx|uv pip|npm|pnpm|gem|brew|go|cargo) (?:install|i|add|get)((?:\s+(?!-)[\w@][\w@/.-]*)+)"
    r"|\b(?:uv|yarn|pnpm|poetry|cargo|composer|bun) (?:add|require)((?:\s+(?!-)[\w@][\w@/.-]*)+)"
)
_BACKTICKED = re.compile(r"`([A-Za-z_@][\w@./:-]{2,79})(?:\(\))?`")
_NOUN_AFTER = re.compile(
    r"(?<![\w.@/-])(`?)([A-Za-z][\w.@/-]*\w)`?\s+(service|server|API|gateway|database|queue|cluster|worker|library"
    r"|package|crate|gem|framework|SDK|ORM|plugin|repo|repository)\b(?!-)"
)
# Not what something is: "X is our payment service" names X.
_ONLY_ONE = re.compile(r"(?<!\bis )(?<!\bas )\b(?:[Tt]he|[Oo]ur)\s+\Z")
_NAMED_WITH_NOUN = frozenset(("service", "server", "API", "database"))
_IS_OUR = re.compile(
    rf"(?<![\w./@-])`?({_CAPITAL}(?: {_CAPITAL}|[0-9]+)?|[A-Z][A-Za-z0-9]+|[a-z][\w]*(?:-[\w]+)+)`?"
    r"\s+is\s+(?:our|my|the team['’]s)\s+([^.;,:()\n]{2,80})"
)
_SPELT_AS_CODE = re.compile(r"[a-z][A-Z]|[A-Z]{2}[a-z]{2}|\w_\w|^[A-Z0-9]+_[A-Z0-9_]+$")


class EntityName(NamedTuple):
    """A name in a text, where it stands, and what it names."""

    name: str
    kind: EntityKind
    start: int
    end: int
    strong: bool = True

    @property
    def key(self) -> str:
        return entity_key(self.name, self.kind)


def entity_key(name: str, kind: str = "") -> str:
    """The same for all spellings of one name."""
    if kind == "file":
        return file_key(name.replace("\\", "/").lstrip("/"))
    folded = _TITLE.sub("", " ".join(name.casefold().split()))
    return word_map("same_products").get(folded, folded).casefold()


@lru_cache(maxsize=4096)
def entity_names(text: str) -> tuple[EntityName, ...]:
    """What the beginning of a text names, in its order; where two rules read the same words, the surer one counts."""
    text = _FENCE.sub(lambda fence: " " * len(fence[0]), text[:_READ])
    referred = references(text)
    taken: list[EntityName] = []
    for found in chain(
        _files(text, referred.files),
        *(rule(text) for rule in (_repositories, _packages, _defined, _hosts, _compounds, _people, _products, _nouns)),
        _code(text, referred.names),
    ):
        free = not any(found.start < one.end and one.start < found.end for one in taken)
        if free and len(found.name) <= MAX_NAME:
            taken.append(found)
    return tuple(sorted(taken, key=lambda one: one.start))


def first_given_name(name: str) -> str:
    """The given name of a person with a surname; empty for others."""
    first, space, _rest = name.partition(" ")
    return first if space and first in word_set("given_names") else ""


def kind_of_word(name: str) -> EntityKind | None:
    """The kind of a name by itself: of a known product, a host or a compound such as mail-worker; None if unknown."""
    found = entity_names(name)
    return found[0].kind if found and found[0].name == name else None


def _files(text: str, files: Iterable[str]) -> Iterator[EntityName]:
    for file in files:
        if _product_kind(file) or file.casefold() in ("a.m", "p.m"):
            continue
        for found in _places(text, file):
            yield EntityName(_from_root(text, found, file), "file", found, found + len(file), strong=False)


def _from_root(text: str, start: int, file: str) -> str:
    """The path as it is written, with the slash that it begins with."""
    return f"/{file}" if not file.startswith("/") and start and text[start - 1] == "/" else file


def _places(text: str, name: str) -> Iterator[int]:
    start = text.find(name)
    while start >= 0:
        yield start
        start = text.find(name, start + len(name))


def _repositories(text: str) -> Iterator[EntityName]:
    for found in _REPOSITORY.finditer(text):
        yield EntityName(found[1].removesuffix(".git"), "project", found.start(), found.end())
    for found in _OWNED.finditer(text):
        yield EntityName(found[1] or found[2], "project", found.start(), found.end())


def _packages(text: str) -> Iterator[EntityName]:
    for found in _SCOPED.finditer(text):
        yield EntityName(found[0], "library", found.start(), found.end())
    for found in _PINNED.finditer(text):
        yield EntityName(found[1], "library", found.start(), found.end())
    for found in _INSTALLED.finditer(text):
        group = 1 if found[1] else 2
        for package in re.finditer(r"[\w@][\w@/.-]*+", found[group]):
            name = package[0].rstrip("@/.-")
            if len(name) > 1 and name not in STOP_WORDS:
                start = found.start(group) + package.start()
                yield EntityName(name, "library", start, start + len(name))


def _defined(text: str) -> Iterator[EntityName]:
    """X in "X is our internal deploy tool": what it is, its last noun says."""
    for found in _IS_OUR.finditer(text):
        kind = _kind_of(found[2])
        if kind and found[1].split()[0] not in word_set("no_people") and found[1].casefold() not in STOP_WORDS:
            known = _product_kind(found[1])
            yield EntityName(found[1], known or kind, found.start(1), found.end(1))


def _kind_of(noun_phrase: str) -> EntityKind | None:
    """The kind that the head of a noun phrase names: of "deploy tool for the web" it is "tool"."""
    head = re.split(r"\b(?:for|in|of|on|at|and|that|which|with|since|until|to|from|by)\b", noun_phrase)[0].split()
    return cast("EntityKind | None", word_map("kind_nouns").get(head[-1].casefold().strip("`\"'"))) if head else None


def _hosts(text: str) -> Iterator[EntityName]:
    for found in _HOST.finditer(text):
        yield EntityName(found[0], "service", found.start(), found.end())


def _compounds(text: str) -> Iterator[EntityName]:
    """checkout-api, mail-worker: what the last part says it is."""
    for found in _KEBAB.finditer(text):
        first, *_between, last = found[0].split("-")
        if first in word_set("no_compounds") or first in STOP_WORDS or found[0] in word_set("describing"):
            continue
        if last in word_set("service_endings"):
            yield EntityName(found[0], "service", found.start(), found.end())
        elif last in word_set("library_endings"):
            yield EntityName(found[0], "library", found.start(), found.end())


def _people(text: str) -> Iterator[EntityName]:
    for titled in _TITLED.finditer(text):
        yield EntityName(titled[1], "person", titled.start(1), titled.end(1))
    found = _PERSON.search(text)
    while found:
        name = _person(text, found)
        end = found.start() + len(name) if name else found.end(1)
        if name:
            yield EntityName(name, "person", found.start(), end)
        found = _PERSON.search(text, end)


def _person(text: str, found: re.Match[str]) -> str:
    """The person that capitalised words name, with a surname if there is one; empty if they name none."""
    first, more = found[1], found[2]
    if _is_no_person(first) or _SAINT.search(text[max(0, found.start() - 8) : found.start()]):
        return ""
    while more and _is_no_person(more.split()[-1]):
        more = more.rpartition(" ")[0]
    whole = first + more
    given_names = word_set("given_names")
    if first in given_names or given_names.issuperset(first.split("-")):
        return whole
    if not given_names.isdisjoint(more.split()):
        return ""
    before, after = text[: found.start()], text[found.start() + len(whole) :]
    return whole if _acts_like_person(first, more, before, after) else ""


def _is_no_person(word: str) -> bool:
    return word in word_set("no_people") or _product_kind(word) is not None


def _acts_like_person(first: str, more: str, before: str, after: str) -> bool:
    """Whether what stands around a name that is not known says that it is a person's."""
    role = _ROLE.match(after)
    if more and role and _kind_of(role[1]) == "person":
        return True
    common = first.casefold() in STOP_WORDS or _COMMON_NOUN.match(first)
    if _DOES.match(after) and (more or not common):
        return True
    return _ASKED.search(before) is not None


def _products(text: str) -> Iterator[EntityName]:
    for found in _PRODUCT.finditer(text):
        kind = _product_kind(found[0])
        if kind:
            yield EntityName(found[0], kind, found.start(), found.end())


def _product_kind(name: str) -> EntityKind | None:
    return "service" if name in word_set("services") else "library" if name in word_set("libraries") else None


def _nouns(text: str) -> Iterator[EntityName]:
    """X in "the X service": by its spelling, or, if it comes again, with the noun."""
    for found in _NOUN_AFTER.finditer(text):
        quoted, name, noun = found.groups()
        kind = _kind_of(noun) or "library"
        plain = (
            name.casefold() in word_set("describing")
            or name.casefold() in STOP_WORDS
            or name.endswith(("ed", "ing", "ly"))
        )
        if not plain and (quoted or re.search(r"[a-z][A-Z]|\w_\w", name)):
            yield EntityName(name, kind, found.start(2), found.end(2))
        elif not plain and name.islower() and noun in _NAMED_WITH_NOUN and _ONLY_ONE.search(text[: found.start()]):
            yield EntityName(f"{name} {noun}", kind, found.start(2), found.end(3), strong=False)


def _code(text: str, names: Iterable[str]) -> Iterator[EntityName]:
    """Names of code: spelt as no ordinary word is, or in backticks."""
    for found in _BACKTICKED.finditer(text):
        name = found[1].strip("./:")
        if name.casefold() not in STOP_WORDS and (_SPELT_AS_CODE.search(name) or re.search(r"\w[-.]\w", name)):
            yield EntityName(name, "thing", found.start(1), found.start(1) + len(name), strong=False)
    for name in names:
        if _SPELT_AS_CODE.search(name) and not _product_kind(name):
            for start in _places(text, name):
                yield EntityName(name, "thing", start, start + len(name), strong=False)


def distinct(names: Iterable[EntityName]) -> dict[str, EntityName]:
    """Each thing once, by its key: a strong mention of it, if there is one, else the first."""
    found: dict[str, EntityName] = {}
    for one in names:
        known = found.get(one.key)
        if known is None or (one.strong and not known.strong):
            found[one.key] = one
    return found


# What may stand between two names that have to do with each other, and what that is called.
_VERBS = (
    "owns|maintains|leads|runs|manages|reviews|wrote|built|created|develops|uses|calls|hosts|replaces|replaced|wraps"
    "|extends|imports|contains|includes|depends on|relies on|talks to|reads from|writes to|publishes to|subscribes to"
    "|listens to|connects to|deploys to|runs on|lives in|lives on|is part of|belongs to|reports to|works on|works with"
    "|works for|is built with|is built on|is written in|is hosted on|is hosted by|is deployed to|is owned by"
    "|is maintained by|is managed by|is led by|is replaced by|was replaced by|is used by|consumes|produces|supports"
)
_RELATION = re.compile(
    rf"`?\s+(?:now |also |still |currently |only |mainly )?({_VERBS})\s+(?:now )?(?:the |our |an? |its )?`?",
    re.IGNORECASE,
)


class StatedRelation(NamedTuple):
    """Two names of one sentence, and the verb between them."""

    one: EntityName
    relation: str
    other: EntityName


def stated_relations(text: str) -> Iterator[StatedRelation]:
    """Which of the names in a text follow each other with nothing but a verb of relation between them."""
    names = entity_names(text)
    for one, other in pairwise(names):
        verb = _RELATION.fullmatch(text, one.end, other.start)
        if verb:
            yield StatedRelation(one, verb[1].casefold(), other)
