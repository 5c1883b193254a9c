"""Limits a store to one project: what counts as that project, and what a key for one project is refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NoReturn

from commonplace.errors import Conflict, Forbidden
from commonplace.item_ids import Ref
from commonplace.model import Change, Draft, Scope
from commonplace.store.protocol import SpaceStore
from commonplace.text.project_names import normalise_project

_NO_WORK, _NO_CHECK = "does no work for others", "looks after no store"

# What `StoreMaintenance` refuses to whoever holds a key for one project.
REFUSALS: Mapping[str, str] = {
    "alias_project": "gives no names to projects",
    "add_key": "makes no keys",
    "all_keys": "lists no keys",
    "keys_with_prefix": "checks no keys",
    "revoke_key": "revokes no keys",
    "touch_key": "changes no keys",
    "end_login": "ends no visits",
    "is_login_ended": "checks no visits",
    "add_space": "makes no spaces",
    "spaces": "lists no spaces",
    "set_space_limits": "limits no spaces",
    "spaces_of_key": "checks no keys",
    "spaces_with_work": _NO_WORK,
    "for_space": "opens no other space",
    "peer": "knows no other store",
    "note_peer": "knows no other store",
    **dict.fromkeys(
        ("source_mark", "save_source_mark", "source_turns", "mark_abandoned", "link_sub_agents"), "reads no files"
    ),
    **dict.fromkeys(("known_events", "session_progress", "capture_events"), "captures nothing"),
    "use_model": "chooses no model",
    "requeue_embeddings": "has no work done for others",
    **dict.fromkeys(("claim_jobs", "finish_jobs", "release_jobs", "link"), _NO_WORK),
    **dict.fromkeys(("topic_points", "built_topics", "topic_members"), _NO_WORK),
    **dict.fromkeys(("extend_topics", "claim_topics", "replace_topics"), _NO_WORK),
    **dict.fromkeys(("text_parts", "text_rows", "clean_text_rows", "clean_items", "erase_deleted"), "cleans no store"),
    **dict.fromkeys(("damaged_rows", "altered_items"), "checks no store"),
    **dict.fromkeys(("invariants", "violations", "repair", "file_damage", "file_problems", "reindex"), _NO_CHECK),
    **dict.fromkeys(("index_state", "clear_text_index", "repair_text_index", "items_by_id"), _NO_CHECK),
    **dict.fromkeys(("unsplit_items", "resplit", "stale_fts_items", "reindex_items"), _NO_CHECK),
    **dict.fromkeys(("miscounted_sessions", "recount_sessions"), _NO_CHECK),
    "backup": "copies no store",
}


class StoreWideRefusals:
    """Stands for `StoreMaintenance` where the key is limited to one project: every call is refused."""

    def __getattr__(self, name: str) -> Callable[..., NoReturn]:
        if name not in REFUSALS:
            raise AttributeError(name)

        def refuse(*_args: object, **_options: object) -> NoReturn:
            raise Forbidden(f"A key for one project {REFUSALS[name]}.", "Use a key that is not limited to a project.")

        return refuse


class ProjectScope:
    """The whole store and the one project. Parts of a project view are made of this.

    To its holder the project is all there is, so whatever names no project means this one.
    """

    def __init__(self, inner: SpaceStore, project: str) -> None:
        self._inner, self._project = inner, project

    def _here(self) -> str:
        """The current name of the project: a longer one may have become the canonical one."""
        return self._inner.find_project(self._project) or self._project

    def _means_here(self, name: str | None) -> bool:
        """Whether a name, or none, means our project to its holder, who knows no other of the same short name."""
        if name is None:
            return True
        here, named = self._here().casefold(), normalise_project(name).casefold()
        return here == named or here.endswith("/" + named) or self._inner.find_project(name) == self._here()

    def _narrowed(self, scope: Scope) -> Scope | None:
        """The part of a scope that is in our project; None if there is none."""
        if not self._means_here(scope.project):
            return None
        return replace(scope, project=self._here(), with_global=False, only_global=False)

    def _only_here(self, name: str | None) -> str:
        """Our project, for something to be written that names it or none."""
        if not self._means_here(name):
            raise Forbidden(
                f"This key is for the project {self._here()} only, not for {name}.",
                "Leave the project out, or use another key.",
            )
        return self._here()

    def _placed(self, draft: Draft) -> Draft:
        if draft.session is not None:
            self._check_session(Ref(""), draft.session)
        return replace(draft, project=self._only_here(draft.project))

    def _check_session(self, ref: Ref, key: str) -> None:
        """A session of another project cannot be continued from here."""
        known = self._inner.resolve_session(ref, key)
        if known is not None and self._inner.get_sessions([known])[known].project != self._here():
            raise Conflict("Another project has a session of this name.", "Choose another name for it.")

    def _was_here(self, change: Change) -> bool:
        """What was moved here does not show what it was elsewhere."""
        project = change.before.get("project", self._project)
        return isinstance(project, str) and self._means_here(project)
