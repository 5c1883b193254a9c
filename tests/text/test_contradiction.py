"""Statements that disagree are told apart from statements that are merely related."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.text.contradiction_detection import contradiction_kind

DISAGREE = [
    ("Use pnpm, not npm", "Use npm, not pnpm", "opposite"),
    ("Use pnpm, not npm", "Use npm for installing packages", "opposite"),
    ("Always squash commits before merging", "Never squash commits before merging", "opposite"),
    ("We deploy on Fridays", "We do not deploy on Fridays", "opposite"),
    ("Feature flags are enabled in staging", "Feature flags are disabled in staging", "opposite"),
    ("Logging of request bodies is allowed", "Logging of request bodies is forbidden", "opposite"),
    ("Use of eval is allowed", "Use of eval is not allowed", "opposite"),
    ("Run the tests before committing", "Don't run the tests before committing", "opposite"),
    ("Don’t use semicolons in TypeScript", "Use semicolons in TypeScript", "opposite"),
    ("Prefer composition over inheritance", "Prefer inheritance over composition", "opposite"),
    ("Use tabs, not spaces for indentation", "Use spaces not tabs for indentation", "opposite"),
    ("Use fetch instead of axios", "Use axios instead of fetch", "opposite"),
    ("Access tokens expire after 15 minutes", "Access tokens never expire", "opposite"),
    ("Never log request bodies", "Log request bodies in debug mode", "opposite"),
    ("We use Redis for caching", "We no longer use Redis for caching", "opposite"),
    ("Use Redis for caching", "Stop using Redis for caching", "opposite"),
    ("We deploy on Fridays", "We don't deploy on Fridays anymore", "opposite"),
    ("API rate limit is 100 requests per minute", "API rate limit is 200 requests per minute", "number"),
    ("API rate limit is 100 requests per minute", "The API rate limit was raised to 200 req/min", "number"),
    ("API rate limit is 100 requests per minute", "Rate limit for the API: 200 requests/min", "number"),
    ("Sessions are kept in Redis for 30 days", "Sessions are kept in Redis for 14 days", "number"),
    ("Production DB is PostgreSQL 15 on Supabase", "Prod database is PostgreSQL 16 on Supabase", "number"),
    ("The API listens on port 8080", "The API listens on port 3000", "number"),
    ("Node 18 is required", "Node 20 is required", "number"),
    ("Deploys require two approvals", "Deploys require one approval", "number"),
    ("Always use tabs for indentation", "Always use spaces for indentation", "choice"),
    ("Chose PostgreSQL for the main database", "Chose MySQL for the main database", "choice"),
    ("We use Jest for unit tests", "For unit tests we use Vitest", "choice"),
    ("Use camelCase for variable names", "Use snake_case for variable names", "choice"),
    ("The default branch is main", "The default branch is trunk", "choice"),
    ("The primary database is PostgreSQL", "The primary database is MySQL", "choice"),
]

RELATED = [
    ("Use pnpm, not npm", "Use pnpm workspaces for the monorepo"),
    ("Use pnpm, not npm", "npm audit runs in CI every night"),
    ("Use pnpm, not npm", "Never use npm"),
    ("Prefer pnpm over npm", "Use pnpm instead of npm"),
    ("Use pnpm, not npm", "Use pnpm instead of npm"),
    ("API rate limit is 100 requests per minute", "API responses are cached for 60 seconds"),
    ("API rate limit is 100 requests per minute", "The API rate limit is 100 requests per minute"),
    ("Use TypeScript strict mode", "Use TypeScript for new services"),
    ("Run the tests before committing", "Run the linter before committing"),
    ("Use Redis for caching", "Use Redis for sessions"),
    ("Use TypeScript for the frontend", "Use Tailwind for the frontend"),
    ("Use TypeScript in the frontend", "Use ESLint in the frontend"),
    ("Never log request bodies", "Log request ids"),
    ("Don't use Redis for sessions", "Use Redis for caching"),
    ("Use bcrypt for password hashing", "Use JWT for authentication"),
    ("Don't use var in TypeScript", "Use const in TypeScript"),
    ("The API listens on port 8080", "The web app listens on port 3000"),
    ("The staging API listens on port 3000", "The production API listens on port 8080"),
    ("The timeout is 30 seconds", "The database connection timeout is 60 seconds"),
    ("Error 404 means not found", "Error 403 means forbidden"),
    ("Released version 1.2 on 2024-05-01", "Released version 1.3 on 2024-06-01"),
    ("Run migrations without downtime", "Run migrations in a transaction"),
    ("Chose PostgreSQL for JSONB support", "Chose Redis for pub/sub support"),
    ("The API is versioned", "The API is documented"),
    ("Never force push to main", "Always rebase before you push to main"),
    ("Do not commit secrets", "Secrets are rotated every 90 days"),
    ("Always use TypeScript strict mode", "Always use TypeScript strict mode in tests"),
    ("Use dark mode by default", "Use light colours for charts"),
    ("Components are written in React", "Components are tested with Playwright"),
]


def between(earlier: str, later: str) -> str:
    return contradiction_kind(earlier, later)


@pytest.mark.parametrize(("earlier", "later", "how"), DISAGREE)
def test_statements_that_disagree(earlier: str, later: str, how: str) -> None:
    assert between(earlier, later) == how
    assert between(later, earlier) == how


@pytest.mark.parametrize(("earlier", "later"), RELATED)
def test_statements_that_are_merely_related(earlier: str, later: str) -> None:
    assert between(earlier, later) == ""
    assert between(later, earlier) == ""


@pytest.mark.parametrize("text", [text for pair in RELATED for text in pair])
def test_nothing_disagrees_with_itself(text: str) -> None:
    assert between(text, text) == ""
    assert between(text, text.upper() + ".") == ""


def test_prose_is_not_taken_for_a_statement() -> None:
    prose = " ".join(f"word{letter}{other}" for letter in "abcdefghij" for other in "abcde")
    assert between(f"{prose} is allowed", f"{prose} is not allowed") == ""


@pytest.mark.parametrize("text", ["", "  ", "!!!", "42", "not", "use", "no no no", "\0"])
def test_what_says_nothing_contradicts_nothing(text: str) -> None:
    assert between(text, "Use pnpm, not npm") == ""
    assert between("Use pnpm, not npm", text) == ""


@given(earlier=st.text(max_size=60), later=st.text(max_size=60))
def test_any_two_texts_can_be_compared(earlier: str, later: str) -> None:
    assert between(earlier, later) in ("", "opposite", "number", "choice", "replaced")
    assert between(earlier, earlier) == ""
