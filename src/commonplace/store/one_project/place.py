"""Which project a narrowed store lets through, and what means it."""

from __future__ import annotations

from dataclasses import replace
from typing import NoReturn

from commonplace.errors import Conflict, Forbidden
from commonplace.identity import Ref
from commonplace.model import Change, Draft, Scope
from commonplace.store.protocol import Store
from commonplace.text.names import normalise_project


class Place:
    """The whole store and the one project. Parts of a narrowed store are made of this.

    To its holder the project is all there is, so what names no project means this one.
    """

    def __init__(self, inner: Store, project: str) -> None:
        self._inner, self._project = inner, project

    def _here(self) -> str:
        """The project's name as it is now: a longer one may have become the canonical one."""
        return self._inner.find_project(self._project) or self._project

    def _means_here(self, name: str | None) -> bool:
        """Whether a name, or none, means our project to its holder, who knows no other of the same short name."""
        if name is None:
            return True
        here, named = self._here().casefold(), normalise_project(name).casefold()
        return here == named or here.endswith("/" + named) or self._inner.find_project(name) == self._here()

    def _narrowed(self, scope: Scope) -> Scope | None:
        """The part of a scope that lies here; None if there is none."""
        if not self._means_here(scope.project):
            return None
        return replace(scope, project=self._here(), with_global=False, only_global=False)

    def _only_here(self, name: str | None) -> str:
        """Our project, where something is to be written that names it or none."""
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
        """A session of another project does not grow from here."""
        known = self._inner.resolve_session(ref, key)
        if known is not None and self._inner.get_sessions([known])[known].project != self._here():
            raise Conflict("Another project has a session of this name.", "Choose another name for it.")

    def _was_here(self, change: Change) -> bool:
        """What was moved here does not tell what it was elsewhere."""
        project = change.before.get("project", self._project)
        return isinstance(project, str) and self._means_here(project)

    def _refuse(self, what: str) -> NoReturn:
        raise Forbidden(f"A key for one project {what}.", "Use a key that is not limited to a project.")
