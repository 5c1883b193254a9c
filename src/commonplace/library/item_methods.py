"""What a program does with items: remember, change, look up, search, and what to know before starting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from commonplace.library.open_memory import Id, Limit, Narrowing, Number, OpenMemory, Question, When, Words

if TYPE_CHECKING:
    from commonplace.library.results import (
        ActiveRules,
        Change,
        Context,
        Contradiction,
        Entity,
        EntityKnowledge,
        FetchedItems,
        Item,
        ItemPage,
        Keep,
        Kind,
        NewItem,
        Profile,
        Project,
        RecallResult,
        RelatedItems,
        Remembered,
        Settled,
        Show,
        StatementPair,
        Stored,
        TimelineEntry,
        Topic,
    )


class ItemMethods(OpenMemory):
    """Items: remember, edit, forget, search, context, rules."""

    def remember(
        self,
        /,
        text: str = "",
        *,
        type: str = "",
        title: str = "",
        project: str | None = None,
        tags: Sequence[str] = (),
        kind: Kind = "memory",
        session: str | None = None,
        importance: float | None = None,
        at: When | None = None,
        valid_from: When | None = None,
        valid_until: When | None = None,
        expires: When | None = None,
        metadata: Mapping[str, object] | None = None,
        proposed: bool = False,
        **fields: Words,
    ) -> Item:
        """Remember one thing, and return it as it was stored.

        The same statement in the same project is stored once; adding it again adds new tags and metadata. Without a
        project it applies everywhere. `type` is a word such as decision, rule, fact or note; `fields` are those of its
        kind, such as `paths`, `category`, `files_modified`, or `request` and `completed` of a summary. `proposed` makes
        it wait for review. `valid_from` and `valid_until` say when it is valid, if its text does not; `none`
        means no limit. It is hidden after `expires`.
        """
        from commonplace.memory.draft import join_fields
        from commonplace.memory.edit_and_forget import with_validity
        from commonplace.memory.remember import NewItem

        new = NewItem(
            content=text,
            kind=kind,
            type=type,
            title=title,
            details=join_fields(fields),
            meta=metadata or {},
            project=project,
            session=session,
            tags=tags,
            importance=importance,
            created_ms=None if at is None else self._moment(at),
            review="proposed" if proposed else None,
        )
        return self.add(with_validity(new, self._local.clock(), valid_from, valid_until, expires)).item

    def add(self, new: NewItem) -> Remembered:
        """Remember one thing; also returns whether it was known, and what earlier statements it may contradict."""
        from commonplace.memory.remember import remember_item

        return remember_item(self._local, new)

    def add_many(self, items: Sequence[NewItem]) -> list[Stored]:
        """Remember several things in one transaction: all of them, or none if one is wrong."""
        from commonplace.memory.remember import remember_all

        return remember_all(self._local, items)

    def edit(
        self,
        /,
        id: Id,
        *,
        text: str | None = None,
        title: str | None = None,
        type: str | None = None,
        project: str | None = None,
        tags: Sequence[str] | None = None,
        importance: float | None = None,
        valid_from: When | None = None,
        valid_until: When | None = None,
        expires: When | None = None,
        metadata: Mapping[str, object] | None = None,
        supersedes: Id | None = None,
        expect_rev: int | None = None,
        **fields: Words,
    ) -> Item:
        """Change what is given and leave the rest; the history keeps what it was.

        `supersedes` names an item that this one replaces. With `expect_rev` the change is refused if the item is at
        another revision by then. `none` takes a bound of when it holds away. An agent may only propose some changes:
        then the item stays as it is, and the proposal comes back, whose `review` is `proposed`.
        """
        from commonplace.memory.draft import join_fields
        from commonplace.memory.edit_and_forget import Changes, edit_item, parse_validity

        changes = Changes(
            content=text,
            title=title,
            type=type,
            project=project,
            tags=tags,
            importance=importance,
            details=join_fields(fields) or None,
            meta=metadata,
            **parse_validity(self._local.clock(), valid_from, valid_until, expires),
        )
        return edit_item(self._local, id, changes, expect_rev, supersedes)

    def forget(self, *ids: Id) -> list[Item]:
        """Take items out of every answer: all of them or none. `restore` brings them back.

        In place of what an agent may only propose to forget, the proposal comes back.
        """
        from commonplace.memory.edit_and_forget import forget_items

        done = forget_items(self._local, ids)
        return [*self.get_many([item.id for item in done], forgotten=True)]

    def restore(self, *ids: Id) -> list[Item]:
        """Bring forgotten or superseded items back."""
        from commonplace.memory.edit_and_forget import restore_items

        done = restore_items(self._local, ids)
        return [*self.get_many([item.id for item in done], forgotten=True)]

    def supersede(self, old: Id, *, by: Id) -> tuple[Item, Item]:
        """Mark an item as replaced by another one; returns both. The old one leaves search and context."""
        from commonplace.memory.edit_and_forget import mark_superseded

        return mark_superseded(self._local, old, by)

    def revert(self, id: Id, revision: int | None = None) -> Item:
        """Let an item say again what it said at a revision, or before its last change."""
        from commonplace.memory.edit_and_forget import revert_to_revision

        return revert_to_revision(self._local, id, revision)

    def get(self, id: Id, *, forgotten: bool = False) -> Item:
        """One item, or NotFound; forgotten ones only if asked for."""
        from commonplace.memory.items import get_item

        return get_item(self._local, id, forgotten=forgotten)

    def get_many(self, ids: Sequence[Id], *, forgotten: bool = False) -> FetchedItems:
        """Those of the items that are there, in the order asked; `missing` names the ids of the others."""
        from commonplace.memory.items import get_items

        return get_items(self._local, ids, forgotten=forgotten)

    def history(self, id: Id) -> list[Change]:
        """What an item was before each of its changes, the oldest first."""
        from commonplace.memory.items import item_history

        return item_history(self._local, id)

    def related(self, id: Id) -> RelatedItems:
        """What belongs to an item: its session, what it replaced, what it contradicts, and what is linked with it."""
        from commonplace.memory.graph import related_items

        return related_items(self._local, self.get(id))

    def contradictions(self, id: Id) -> list[Contradiction]:
        """Earlier rules, decisions and facts that an item may contradict or replace."""
        from commonplace.memory.contradictions import find_contradictions

        return find_contradictions(self._local, self.get(id))

    def open_contradictions(
        self, *, project: str | None = None, twins: bool = False, limit: Limit = 50
    ) -> list[StatementPair]:
        """Pairs of statements that contradict each other, newest first; with `twins` those that say the same too."""
        from commonplace.memory.statement_pairs import READ_FOR_LIST, list_contradictions

        return list_contradictions(self._local, project, limit, twins=twins, read=READ_FOR_LIST)

    def settle(self, one: Id, other: Id, *, keep: Keep) -> Settled:
        """Say which of two statements holds: the `new` one, the `old` one, or `both`. `reopen` undoes it."""
        from commonplace.memory.settle_contradictions import settle_contradiction

        return settle_contradiction(self._local, one, other, keep)

    def reopen(self, one: Id, other: Id) -> StatementPair:
        """Undo how two statements were settled."""
        from commonplace.memory.settle_contradictions import reopen_contradiction

        return reopen_contradiction(self._local, one, other)

    def timeline(self, id: Id, *, before: Number = 5, after: Number = 5) -> list[TimelineEntry]:
        """What happened before and after an item, the oldest first."""
        from commonplace.memory.timeline import timeline

        return timeline(self._local, id, before, after)

    def search(
        self,
        query: Question,
        *,
        project: str | None = None,
        kind: Words = (),
        type: Words = (),
        tag: str = "",
        since: When | None = None,
        until: When | None = None,
        only_global: bool = False,
        with_global: bool = False,
        author: str = "",
        origin: Words = (),
        as_of: When | None = None,
        include_expired: bool = False,
        limit: Limit = 10,
    ) -> RecallResult:
        """Find items by their words and their meaning; iterating over the result gives the hits, best first.

        Without operators the query is a question. With AND, OR, NOT, "a phrase", prefix* or title:word it is a filter.
        Without a project all are searched; `with_global` adds to a project what applies everywhere. `as_of` asks what
        was held true at a moment; `include_expired` adds what does not hold.
        """
        from commonplace.memory.items import require_types
        from commonplace.memory.recall import recall

        wanted = Narrowing(
            kind=kind,
            type=type,
            tag=tag,
            since=since,
            until=until,
            only_global=only_global,
            author=author,
            origin=origin,
            as_of=as_of,
            include_expired=include_expired,
        )
        scope = self._scope(project, wanted, with_global=with_global)
        if self._catches_up:
            from commonplace.memory.search_candidates import embed_for_question

            embed_for_question(self._local, query, [scope])
        found = recall(self._local, query, scope, limit)
        if not found.hits:
            require_types(self._local, scope.types)
        return found

    def context(
        self,
        query: str | None = None,
        *,
        project: str | None = None,
        tokens: Limit = 2000,
        files: Sequence[str] = (),
        limit: Limit | None = None,
        as_of: When | None = None,
    ) -> Context:
        """What an agent should know before it starts: rules, decisions, what answers the query, recent work.

        All of it fits the number of tokens. With `files`, rules for certain paths only if they apply to one of them.
        `as_of` asks what was held true at a moment.
        """
        from commonplace.memory.context import build_context, plain_tokens

        at_ms = self._as_of(as_of)
        return build_context(self._local, project, query, tokens, plain_tokens, files=files, limit=limit, at_ms=at_ms)

    def session_context(self, project: str | None = None, *, tokens: Limit = 625, session: str = "") -> str:
        """The same as a text for the start of a session, as hooks give it to agents; empty if nothing is known."""
        from commonplace.memory.session_context import session_context

        return session_context(self._local, project, tokens, session)

    def rules(
        self,
        project: str | None = None,
        *,
        files: Sequence[str] = (),
        limit: Limit = 1000,
        as_of: When | None = None,
    ) -> ActiveRules:
        """The rules of a project and those that apply everywhere; with `files`, those that apply to them.

        `as_of` asks for those that held at a moment.
        """
        from commonplace.memory.rules import active_rules

        at_ms = self._as_of(as_of)
        return active_rules(self._local, project, files, limit, at_ms)

    def projects(self) -> list[Project]:
        """Every project, the one used last first."""
        from commonplace.memory.projects import list_projects

        return list_projects(self._local)

    def entities(
        self,
        *,
        kind: str = "",
        project: str | None = None,
        named: str = "",
        limit: Limit = 100,
        as_of: When | None = None,
    ) -> list[Entity]:
        """What memories name, what is named most first: people, projects, services, libraries, files, other things.

        Only of one `kind`, or with `named` in their names.
        """
        from commonplace.memory.entities import list_entities

        return list_entities(self._local, kind, project, named, limit, self._as_of(as_of))

    def about(self, name: Question, *, project: str | None = None, as_of: When | None = None) -> EntityKnowledge:
        """What is known of somebody or something: statements, since when, by whom, and what it has to do with."""
        from commonplace.memory.about import about

        return about(self._local, name, project, self._as_of(as_of))

    def profile(self, project: str | None = None) -> Profile:
        """How the people who use this memory work, or those of a project: sentences of memories, at most 300 tokens."""
        from commonplace.memory.profile import build_profile

        return build_profile(self._local, project)

    def show_in_profile(self, id: Id, show: Show) -> Item:
        """Pin a memory to the profile (`pinned`), hide it (`hidden`), or leave that to the rules (`auto`)."""
        from commonplace.memory.profile import show_in_profile

        return show_in_profile(self._local, id, show)

    def topics(self, project: str | None = None) -> list[Topic]:
        """What a project, or everything, is about: topics found among passages, the largest first."""
        from commonplace.memory.topics import list_topics

        return list_topics(self._local, project)

    def proposals(
        self, *, project: str | None = None, author: str = "", limit: Limit = 20, cursor: str | None = None
    ) -> ItemPage:
        """What agents and capture proposed and nobody has accepted or dismissed yet, the newest first."""
        from commonplace.memory.review import list_proposals

        return list_proposals(self._local, self._scope(project, Narrowing(author=author)), limit, cursor)

    def accept(
        self,
        id: Id,
        *,
        text: str | None = None,
        title: str | None = None,
        type: str | None = None,
        expect_rev: int | None = None,
    ) -> Item:
        """Agree with a proposal, as it is or changed: it counts as agreed, and you are its author."""
        from commonplace.memory.edit_and_forget import Changes
        from commonplace.memory.review import accept_changed

        return accept_changed(self._local, id, Changes(content=text, title=title, type=type), expect_rev)

    def dismiss(self, *ids: Id) -> Sequence[Item]:
        """Turn proposals down: they vanish from every answer and are not proposed again."""
        from commonplace.memory.review import dismiss

        return dismiss(self._local, ids)

    def undo_review(self, id: Id) -> Item:
        """Let something that was accepted or dismissed wait for review again."""
        from commonplace.memory.review import undo_review

        return undo_review(self._local, id)

    # The last one: the method hides the type `list` from the annotations that follow.

    def list(
        self,
        *,
        project: str | None = None,
        kind: Words = (),
        type: Words = (),
        tag: str = "",
        since: When | None = None,
        until: When | None = None,
        only_global: bool = False,
        author: str = "",
        origin: Words = (),
        as_of: When | None = None,
        include_expired: bool = False,
        limit: Limit = 20,
        cursor: str | None = None,
    ) -> ItemPage:
        """Items, the newest first; iterating over the page gives them, `next_cursor` leads to the next page.

        `as_of` asks what was held true at a moment; `include_expired` adds what does not hold.
        """
        from commonplace.memory.items import browse_items, require_types

        wanted = Narrowing(
            kind=kind,
            type=type,
            tag=tag,
            since=since,
            until=until,
            only_global=only_global,
            author=author,
            origin=origin,
            as_of=as_of,
            include_expired=include_expired,
        )
        scope = self._scope(project, wanted)
        page = browse_items(self._local, scope, limit, cursor)
        if not page.items:
            require_types(self._local, scope.types)
        return page
