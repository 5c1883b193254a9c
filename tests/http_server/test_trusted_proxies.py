"""Whose address a request has, and by what it came: as the connection has it, unless a proxy of ours tells better."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.datastructures import Headers

from commonplace.http_server.middleware import UNKNOWN_ADDRESS, TrustedProxies


def caller(trusted: str, client: str | None, *forwarded: str) -> str:
    headers = Headers(raw=[(b"x-forwarded-for", value.encode()) for value in forwarded])
    return TrustedProxies(trusted).caller({"type": "http", "client": client and (client, 1)}, headers)


@pytest.mark.parametrize(
    ("trusted", "client", "forwarded", "expected"),
    [
        ("", "192.0.2.1", ("10.1.1.1",), "192.0.2.1"),
        ("10.0.0.1", "192.0.2.1", ("10.1.1.1",), "192.0.2.1"),
        ("10.0.0.1", "10.0.0.1", (), "10.0.0.1"),
        ("10.0.0.1", "10.0.0.1", ("192.0.2.9",), "192.0.2.9"),
        # The nearest counts: what stands before it may be made up.
        ("10.0.0.0/8", "10.0.0.1", ("1.1.1.1, 192.0.2.9, 10.0.0.2",), "192.0.2.9"),
        ("10.0.0.0/8", "10.0.0.1", ("1.1.1.1", "192.0.2.9", "10.0.0.2"), "192.0.2.9"),
        ("10.0.0.0/8, ::1", "::1", ("2001:db8::5",), "2001:db8::5"),
        ("10.0.0.1", "::ffff:10.0.0.1", ("192.0.2.9",), "192.0.2.9"),
        ("10.0.0.1", "10.0.0.1", ("nonsense",), "nonsense"),
        ("10.0.0.1", None, ("192.0.2.9",), UNKNOWN_ADDRESS),
    ],
)
def test_the_nearest_that_is_no_proxy_of_ours(
    trusted: str, client: str | None, forwarded: tuple[str, ...], expected: str
) -> None:
    assert caller(trusted, client, *forwarded) == expected


@pytest.mark.parametrize(
    ("trusted", "client", "reply", "expected"),
    [
        ("", "10.0.0.1", "https", "http"),
        ("10.0.0.1", "192.0.2.1", "https", "http"),
        ("10.0.0.1", None, "https", "http"),
        ("10.0.0.1", "10.0.0.1", "https", "https"),
        ("10.0.0.1", "10.0.0.1", "http", "http"),
        ("10.0.0.1", "10.0.0.1", "javascript", "http"),
        ("10.0.0.1", "10.0.0.1", "", "http"),
    ],
)
def test_only_a_proxy_of_ours_says_that_somebody_speaks_tls(
    trusted: str, client: str | None, reply: str, expected: str
) -> None:
    scope = {"type": "http", "scheme": "http", "client": client and (client, 1)}
    assert TrustedProxies(trusted).scheme(scope, Headers({"x-forwarded-proto": reply})) == expected


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=60))
def test_nothing_that_is_forwarded_breaks_it(text: str) -> None:
    assert caller("10.0.0.0/8", "10.0.0.1", text)
    assert caller("", "10.0.0.1", text) == "10.0.0.1"
