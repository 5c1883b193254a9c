"""Whatever is done to a store in whichever order: words, tally, passages, vectors and jobs equal a model in Python."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from commonplace.errors import Conflict
from commonplace.model import Draft, Kind, PassageText, Scope
from commonplace.store.protocol import Store
from commonplace.store.rows import QUERY_COLUMNS, columns_of
from commonplace.text.query import parse_query

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray
    from tests.contract.conftest import Embed, Opener

Make = Callable[..., Draft]
NOW = 1_742_049_000_000
WORDS = ("walrus", "penguin", "heron", "otter")
PROJECTS = (None, "a", "github.com/x/b")
QUERIES = ("walrus", "walrus AND penguin", "heron NOT otter", "NOT penguin", "otter OR heron", "title:walrus", "ott*")
MODEL_DIM = 8


@dataclass
class Expected:
    """An item as it should be."""

    draft: Draft
    forgotten: bool = False
    superseded_by: int | None = None
    embedded: bool = False

    @property
    def live(self) -> bool:
        return not self.forgotten and self.superseded_by is None

    @property
    def key(self) -> tuple[str | None, bytes]:
        return self.draft.project, self.draft.content_hash


contents = st.tuples(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=3),
    st.sampled_from(PROJECTS),
    st.sampled_from(("memory", "observation")),
    st.sampled_from(("", "walrus", "heron")),
    st.booleans(),
)
which = st.integers(0, 30)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("put"), contents),
        st.tuples(st.just("rewrite"), which, contents),
        st.tuples(st.just("forget"), which),
        st.tuples(st.just("restore"), which),
        st.tuples(st.just("supersede"), which, which),
        st.tuples(st.just("embed")),
    ),
    max_size=25,
)


def made(draft: Make, content: tuple[list[str], str | None, Kind, str, bool]) -> Draft:
    words, project, kind, title, cut = content
    parts = words if cut else ()
    return draft(" and ".join(words) if not cut else "", parts=parts, project=project, kind=kind, title=title)


def vector(passage: PassageText) -> NDArray[float32]:
    values = np.asarray([passage.text.count(word) for word in WORDS] + [0.5] * (MODEL_DIM - len(WORDS)), np.float32)
    return (values / np.linalg.norm(values)).astype(np.float32)


def follow(store: Store, draft: Make, embed: Embed, script: list[tuple[object, ...]]) -> dict[int, Expected]:
    """Do the steps to the store and to the model."""
    model: dict[int, Expected] = {}
    for step in script:
        match step:
            case ("put", content):
                given_ = made(draft, content)  # type: ignore[arg-type]
                (stored,) = store.put([given_], NOW)
                known = model.get(stored.id)
                assert stored.duplicate == (known is not None)
                if known is None:
                    model[stored.id] = Expected(given_)
                elif not known.live:
                    known.forgotten, known.superseded_by, known.embedded = False, None, False
            case ("embed",):
                embed(store, vector, dim=MODEL_DIM)
                for expected in model.values():
                    expected.embedded = expected.live
            case (verb, int(n), *rest) if model:
                id_ = list(model)[n % len(model)]
                change(store, draft, model, str(verb), id_, rest)
    return model


def change(store: Store, draft: Make, model: dict[int, Expected], verb: str, id_: int, rest: list[object]) -> None:
    expected = model[id_]
    if verb == "rewrite":
        content = rest[0]
        new = made(draft, (content[0], content[1], expected.draft.kind, content[3], content[4]))  # type: ignore[index]
        same = [other for i, other in model.items() if i != id_ and other.key == (new.project, new.content_hash)]
        twin = any(other.live for other in same)
        try:
            store.rewrite(id_, new, NOW)
            assert not twin
        except Conflict:
            assert twin
        else:
            expected.draft, expected.embedded = new, False
            for number, aside in enumerate(same):
                # It steps aside: saying it again finds the item that says it now.
                aside.draft = replace(aside.draft, content_hash=b"aside %d %d" % (id_, number))
    elif verb == "forget":
        assert store.forget([id_], NOW) == ([] if expected.forgotten else [id_])
        expected.forgotten, expected.embedded = True, False
    elif verb == "restore":
        assert store.restore([id_], NOW) == ([] if expected.live else [id_])
        if not expected.live:
            expected.forgotten, expected.superseded_by, expected.embedded = False, None, False
    else:
        other = list(model)[int(str(rest[0])) % len(model)]
        chain = [other]
        while (above := model[chain[-1]].superseded_by) is not None:
            chain.append(above)
        try:
            store.supersede(id_, other, NOW)
            assert id_ not in chain
        except Conflict:
            assert id_ in chain
        else:
            expected.superseded_by, expected.embedded = other, False


@given(script=steps)
@hypothesis_settings(max_examples=40)
def test_a_store_always_equals_its_model(
    open_store: Opener, draft: Make, embed: Embed, script: list[tuple[object, ...]]
) -> None:
    store = open_store(name=f"run {next(_runs)}")
    model = follow(store, draft, embed, script)
    live = {id_: expected for id_, expected in model.items() if expected.live}

    assert {item.id for item in store.newest(Scope(), 1000)} == set(live)
    for query in QUERIES:
        parsed = parse_query(query, QUERY_COLUMNS)
        for project in PROJECTS:
            scope = Scope(project=project) if project else Scope()
            inside = {i: e.draft for i, e in live.items() if project in (None, e.draft.project)}
            found = [hit.item_id for hit in store.search_text(parsed, scope, 200).hits]
            texts = {i: columns_of(d.kind, d.type, d.title, d.body, d.details, d.tags) for i, d in inside.items()}
            if parsed.strict:
                assert sorted(found) == sorted(i for i, columns in texts.items() if parsed.accepts(columns)), query
            else:
                assert set(found) == {i for i, columns in texts.items() if query in " ".join(columns.values())}, query

    counts = store.counts()
    assert {kind: n for kind, n in counts.items.items() if n} == Counter(e.draft.kind for e in live.values())
    assert {p.name: p.items for p in store.projects() if p.items} == Counter(
        e.draft.project for e in live.values() if e.draft.project
    )
    assert counts.forgotten == sum(expected.forgotten for expected in model.values())
    passages = store.passages_of(list(model))
    assert {i: len(p) for i, p in passages.items()} == {i: len(e.draft.passages) for i, e in model.items()}
    assert counts.passages == sum(map(len, passages.values()))
    embedded = {p for i, e in live.items() if e.embedded for p in passages[i]}
    assert counts.vectors == len(embedded)
    assert counts.pending == store.pending() == sum(len(passages[i]) for i in live) - len(embedded)
    query_vector = vector(PassageText(0, 0, "walrus"))
    store.use_model("tiny", MODEL_DIM)
    assert {hit.passage_id for hit in store.search_vectors(query_vector, Scope(), 500)} == embedded


_runs = iter(range(1_000_000))
