"""Every text that a page can ask for is there: those that templates name, and those that code names as it runs."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection
from functools import cache
from importlib.resources import files
from typing import get_args

import pytest

from commonplace.doctor.checkup import NAMES
from commonplace.memory.contradictions import Reason
from commonplace.memory.conversations import STATUSES
from commonplace.memory.export_conversations import EXPORT_FORMATS
from commonplace.memory.profile import SHOW
from commonplace.memory.profile_sentences import PROFILE_GROUPS
from commonplace.memory.search_steps import SCORE_PARTS
from commonplace.model import DETAIL_FIELDS, KINDS, ORIGINS
from commonplace.text.entity_names import ENTITY_KINDS
from commonplace.web.conversations import ACTIONS
from commonplace.web.page_handler import _MENU
from commonplace.web.rendering import MissingText, Texts, load_texts
from commonplace.web.review import KINDS as INBOX_KINDS
from commonplace.web.search import FILTER_NAMES, SPANS

WEB = files("commonplace.web")
TEMPLATES = {file.name: file.read_text("utf-8") for file in (WEB / "templates").iterdir() if file.name != "__pycache__"}
REASONS = get_args(Reason)
# Of a message the head says who speaks.
FIELDS = [name for kind, names in DETAIL_FIELDS.items() if kind != "message" for name in names]
# What is chosen as a page is made: where the texts stand, as a template writes it, and every name that it may ask for.
CHOSEN: dict[str, Collection[str]] = {
    "about.groups": ENTITY_KINDS,
    "about.kinds": ENTITY_KINDS,
    "conversation.fields": FIELDS,
    "conversation.formats": EXPORT_FORMATS,
    "conversations.statuses": STATUSES,
    "conversations.views": ["current", *STATUSES[1:], "all"],
    "doctor.area_names": NAMES,
    "doctor.states": ["failure", "remark", "ok"],
    "done": [],
    "find.groups": ["commands", "projects", "memories", "conversations", "topics", "recent"],
    "frame.kinds": KINDS,
    "frame.origins": ORIGINS,
    "frame.places": _MENU,
    "home.kinds": KINDS,
    "item.fields": FIELDS,
    "item.opposed": [reason for reason in REASONS if reason != "same"],
    "profile.groups": PROFILE_GROUPS,
    "project": ["question", "failing"],
    "project.decided_when": ["this_week", "last_week", "earlier"],
    "project.reasons": REASONS,
    "project.types": ["decision", "constraint", "heuristic", "rejected"],
    "review.does": INBOX_KINDS,
    "review.kinds": INBOX_KINDS,
    "review.reasons": REASONS,
    "review.teaches": INBOX_KINDS,
    "search": FILTER_NAMES,
    "search.parts": SCORE_PARTS,
    "search.signals": ["relevance", "meaning", "words"],
    "search.spans": SPANS,
    "settings": ["connected", "here", "unclear"],
    "timeline.kind_names": KINDS,
    "topics.reasons": ["file", "error", "name", "backref", "adjacent", "continued", "brief", "debrief", "linked"],
}
# Lists, by the number of a month or a day of the week.
NUMBERED = {"timeline.months", "timeline.short_months", "timeline.weekdays"}


@cache
def _texts() -> Texts:
    return load_texts()


def text(path: str) -> object:
    found: object = _texts()
    for name in path.split("."):
        assert isinstance(found, Texts), path
        found = found[name]
    return found


@pytest.mark.parametrize("place", sorted(CHOSEN))
def test_every_name_that_code_chooses_has_a_text(place: str) -> None:
    missing = [name for name in CHOSEN[place] if isinstance(text(f"{place}.{name}"), MissingText)]
    assert missing == []


def test_everything_that_is_chosen_is_listed_here() -> None:
    found = {place for source in TEMPLATES.values() for place in re.findall(r"say\.([\w.]+)\[", source)}
    assert found == {*CHOSEN, *NUMBERED}


def test_every_text_that_a_template_names_is_there() -> None:
    for name, source in TEMPLATES.items():
        for path in re.findall(r"say\.([a-z_]+(?:\.[a-z_]+)*)", source):
            # What is done with a text is not part of its name.
            path = re.sub(r"\.(?:format|get|items|one|many)$", "", path)
            assert not isinstance(text(path), MissingText), (name, path)


def notices_of(source: str) -> set[str]:
    """What a page says was done: the second argument of what leads elsewhere."""
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call) and len(node.args) > 1]
    said = [call.args[1] for call in calls if getattr(call.func, "id", "") in ("Redirect", "_done")]
    chosen = [one for each in said for one in ((each.body, each.orelse) if isinstance(each, ast.IfExp) else (each,))]
    return {str(one.value) for one in chosen if isinstance(one, ast.Constant)}


def test_every_notice_that_a_page_gives_has_a_text() -> None:
    notices = {*ACTIONS.values(), *(f"profile_{show}" for show in SHOW)}
    for file in WEB.iterdir():
        if file.name.endswith(".py"):
            notices |= notices_of(file.read_text("utf-8"))
    assert {"changed", "revoked", "step_done", "accepted", "known"} <= notices
    known = text("done")
    assert isinstance(known, Texts)
    assert [name for name in notices if known.get(name) is None] == []


def test_a_missing_text_shows_its_name_and_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    text = Texts({"parts": {}}).parts.best_by_far
    assert f"{text}" == "best by far" and text.one.format(n=3) == "best by far"
    assert "say.parts.best_by_far is not in the texts" in caplog.text
