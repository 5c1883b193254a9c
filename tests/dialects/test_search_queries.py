"""The query examples of the Kiro reference, on a store where each has something to find and something to leave."""

from __future__ import annotations

import pytest
from tests.dialects.conftest import Call

from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.remember import NewItem, remember, remember_all

NOTES = [
    NewItem(kind="observation", title="Login", details={"narrative": "authentication in the middleware"}),
    NewItem(kind="observation", title="Delegated", details={"narrative": "authentication by OAuth"}),
    NewItem(kind="observation", title="Roles", details={"narrative": "authorization of roles"}),
    NewItem(kind="observation", title="Checks", details={"narrative": "a JWT token validation on every call"}),
    NewItem(kind="observation", title="Mixed", details={"narrative": "validation of a token, maybe a JWT"}),
    NewItem(kind="observation", title="auth.ts", details={"concepts": "security, api", "narrative": "opened"}),
    NewItem(kind="observation", title="Reading", details={"narrative": "title of a book on security"}),
]


def titles(call: Call, query: str) -> set[str]:
    return {found["title"] for found in call("search", query=query, limit=50)["observations"]}


@pytest.fixture
def lazy_memory(memory: LocalMemory) -> LocalMemory:
    remember_all(memory, NOTES)
    return memory


@pytest.mark.promise("kiro:query:keyword")
def test_a_keyword(lazy_memory: LocalMemory, call: Call) -> None:
    assert {"Login", "Delegated"} <= titles(call, "authentication") <= {"Login", "Delegated", "Roles", "auth.ts"}


@pytest.mark.promise("kiro:query:phrase")
def test_an_exact_phrase(lazy_memory: LocalMemory, call: Call) -> None:
    assert titles(call, '"JWT token validation"') == {"Checks"}


@pytest.mark.promise("kiro:query:both")
def test_both_terms(lazy_memory: LocalMemory, call: Call) -> None:
    assert titles(call, "authentication AND middleware") == {"Login"}


@pytest.mark.promise("kiro:query:either")
def test_either_term(lazy_memory: LocalMemory, call: Call) -> None:
    assert titles(call, "authentication OR authorization") == {"Login", "Delegated", "Roles"}


@pytest.mark.promise("kiro:query:exclude")
def test_an_excluded_term(lazy_memory: LocalMemory, call: Call) -> None:
    assert titles(call, "authentication NOT OAuth") == {"Login"}


@pytest.mark.promise("kiro:query:prefix")
def test_a_prefix(lazy_memory: LocalMemory, call: Call) -> None:
    assert titles(call, "authen*") == {"Login", "Delegated"}
    assert {"Login", "Delegated", "Roles", "auth.ts"} <= titles(call, "auth*")


@pytest.mark.promise("kiro:query:column-title")
def test_a_term_in_the_title_only(lazy_memory: LocalMemory, call: Call) -> None:
    remember(lazy_memory, NewItem("Google's", kind="observation", title="OAuth flow"))
    assert titles(call, "title:auth*") == {"auth.ts"}


@pytest.mark.promise("kiro:query:column-concepts")
def test_a_term_in_the_concepts_only(lazy_memory: LocalMemory, call: Call) -> None:
    assert titles(call, "concepts:security") == {"auth.ts"}


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("(authentication OR authorization) AND roles", {"Roles"}),
        ('"token validation" OR concepts:api', {"Checks", "auth.ts"}),
        ("narrative:opened", {"auth.ts"}),
        ("security NOT concepts:security", {"Reading"}),
    ],
)
def test_operators_combine(lazy_memory: LocalMemory, call: Call, query: str, found: set[str]) -> None:
    assert titles(call, query) == found


@pytest.mark.promise("kiro:search:plain-question")
def test_a_question_in_natural_language(lazy_memory: LocalMemory, call: Call) -> None:
    assert "Login" in titles(call, "Where does the authentication happen, in which middleware?")


def test_summaries_obey_the_query_as_well(memory: LocalMemory, call: Call) -> None:
    remember(
        memory, NewItem(kind="summary", session="a", details={"request": "authentication", "learned": "OAuth is slow"})
    )
    remember(
        memory, NewItem(kind="summary", session="b", details={"request": "authentication", "learned": "JWT is fine"})
    )
    found = call("search", query="authentication NOT OAuth")["summaries"]
    assert [summary["session_id"] for summary in found] == ["b"]


BROKEN = ['"unbalanced', "(((", "AND", "NOT", "*", 'a" OR "', "title:", ")(", '""', "a AND (b", "-"]
STRANGE = ["authentication\0", "\ud800authentication", "authentication 🦓", "\x00", "\udfff", "🦓"]


@pytest.mark.parametrize("query", BROKEN)
@pytest.mark.promise("kiro:bad-input:unbalanced")
def test_broken_grammar_is_plain_words(lazy_memory: LocalMemory, call: Call, query: str) -> None:
    assert call("search", query=query).keys() == {"observations", "summaries"}
    assert "Login" in titles(call, f"authentication middleware {query}") or '"' in query or "*" in query or ":" in query


@pytest.mark.parametrize("query", STRANGE)
@pytest.mark.promise("kiro:bad-input:strange-text")
def test_strange_characters_are_no_error(lazy_memory: LocalMemory, call: Call, query: str) -> None:
    found = titles(call, query)
    assert "Login" in found or "authentication" not in query
