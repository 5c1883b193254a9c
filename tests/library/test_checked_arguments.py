"""What a method is called with is checked before it runs: wrong types, bounds and names are InvalidInput."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import typing
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.rest.conftest import Site, running, settings_in

from commonplace import AsyncMemory, CommonplaceError, InvalidInput, Memory, NewItem, NewMessage
from commonplace.library.checked_arguments import annotation_of


def wrong(value: Any) -> Any:
    """What no type checker would let pass."""
    return value


METHODS = {
    name: inspect.unwrap(method)
    for name, method in inspect.getmembers(Memory, inspect.isfunction)
    if not name.startswith("_")
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with running(settings_in(tmp_path_factory.mktemp("site"))) as site:
        yield site


@pytest.fixture(params=["local", "remote"])
def library(request: pytest.FixtureRequest, tmp_path: Path, site: Site) -> Iterator[Memory]:
    if request.param == "local":
        with Memory(tmp_path, embedder="off") as memory:
            yield memory
    else:
        with Memory(site.url, key=site.secrets["write"]) as memory:
            yield memory


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda m: m.list(project=3), "project must be text or None, not 3."),
        (lambda m: m.list(limit="5"), "limit must be a whole number of at least 1, not '5'."),
        (lambda m: m.list(limit=True), "limit must be a whole number of at least 1, not True."),
        (lambda m: m.list(limit=-1), "limit must be a whole number of at least 1, not -1."),
        (lambda m: m.list(since=2.5), "since must be a datetime or a whole number or text or None, not 2.5."),
        (lambda m: m.list(kind={"memory": 1}), "kind must be text or a list of text, not {'memory': 1}."),
        (lambda m: m.search(5), "query must be text that is not blank, not 5."),
        (lambda m: m.search(" "), "query must be text that is not blank, not ' '."),
        (lambda m: m.search("x", limit=0), "limit must be a whole number of at least 1, not 0."),
        (lambda m: m.recall(""), "question must be text that is not blank, not ''."),
        (lambda m: m.recall("x", min_score="high"), "min_score must be a number, not 'high'."),
        (lambda m: m.timeline(1, before=-1), "before must be a whole number of at least 0, not -1."),
        (lambda m: m.remember(None), "text must be text, not None."),
        (lambda m: m.remember("x", tags="auth"), "tags must be a list of text, not 'auth'."),
        (lambda m: m.remember("x", tags=[1]), "tags must be a list of text, not [1]."),
        (lambda m: m.remember("x", metadata=[1]), "metadata must be a mapping or None, not [1]."),
        (lambda m: m.remember("x", category=3), "category must be text or a list of text, not 3."),
        (lambda m: m.remember("x", importance="7"), "importance must be a number or None, not '7'."),
        (lambda m: m.add("x"), "new must be a NewItem, not 'x'."),
        (lambda m: m.add(NewItem("x", tags="auth")), "new.tags must be a list of text, not 'auth'."),
        (
            lambda m: m.add_many([NewItem("x"), NewItem("x", project=wrong(3))]),
            "items[1].project must be text or None, not 3.",
        ),
        (lambda m: m.get(1.5), "id must be a whole number or text, not 1.5."),
        (lambda m: m.get(None), "id must be a whole number or text, not None."),
        (lambda m: m.forget(1, [2]), "ids, number 2, must be a whole number or text, not [2]."),
        (lambda m: m.settle(1, 2, keep="all"), "keep must be one of 'new', 'old', 'both', not 'all'."),
        (lambda m: m.append("c", [NewMessage("user", wrong(5))]), "messages[0].content must be text, not 5."),
        (lambda m: m.search("x", colour="red"), "search: got an unexpected keyword argument 'colour'."),
        (lambda m: m.get(), "get: missing a required argument: 'id'."),
        (lambda m: m.remember(text="x", content="y"), "`text` is given twice, as `content` too."),
    ],
)
def test_a_wrong_argument_is_an_error_that_names_it(library: Memory, call: Callable[[Any], object], said: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        call(library)
    assert refused.value.message == said
    assert refused.value.hint


def test_a_coroutine_raises_the_same(tmp_path: Path) -> None:
    async def ask() -> None:
        async with AsyncMemory(tmp_path, embedder="off") as memory:
            with pytest.raises(InvalidInput, match="project must be text"):
                await memory.list(project=3)  # type: ignore[arg-type]
            await memory.remember("Tea is green")
            assert [item.text for item in await memory.list()] == ["Tea is green"]

    asyncio.run(ask())


def test_what_opens_a_memory_is_checked_too(site: Site) -> None:
    with pytest.raises(InvalidInput, match="where must be"):
        Memory(3)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="key must be text or None"):
        Memory(site.url, key=5)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", sorted(METHODS))
def test_no_method_raises_anything_else_whatever_it_is_called_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Each parameter in turn gets what it cannot take, and the others what they can."""
    monkeypatch.chdir(tmp_path)
    method = METHODS[name]
    parameters = [one for key, one in inspect.signature(method).parameters.items() if key != "self"]
    named = [one for one in parameters if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)]
    needed = {one.name: _example(annotation_of(method, one.name)) for one in named if one.default is one.empty}
    with Memory(tmp_path / "data", embedder="off") as library:
        for one in named:
            for other in (object(), 1.5, b"x", [object()], {"a": object()}, -1, ""):
                with contextlib.suppress(CommonplaceError):
                    getattr(library, name)(**needed | {one.name: other})


def _example(kind: Any) -> Any:
    """A value of a type; the first of several."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Annotated:
        return _example(arguments[0])
    if origin is typing.Literal:
        return arguments[0]
    if isinstance(origin, type) and issubclass(origin, Sequence):
        return []
    if arguments:
        return _example(arguments[0])
    return {str: "x", int: 1, float: 1.0, bool: True}[kind] if kind in (str, int, float, bool) else kind("x")


def test_what_is_right_passes_as_it_is(library: Memory, tmp_path: Path) -> None:
    item = library.remember(
        text="Tea is green",
        tags=wrong({"tea"}),
        metadata={"a": {"b": [1, None]}},
        importance=7,
        at=datetime(2026, 11, 1, tzinfo=UTC),
        valid_until=None,
    )
    assert item.tags == ("tea",) and item.metadata == {"a": {"b": [1, None]}} and item.importance == 7
    assert [one.id for one in library.list(tag="tea", kind=("memory",), limit=1)] == [item.id]
    library.store_conversation("Tea", [["user", "Which tea?"], {"role": "assistant", "text": "Green."}])  # type: ignore[list-item]
