"""The table of all pages, and their routes. To add a page: a function, its template, its texts, and a row here."""

from __future__ import annotations

import re
from typing import NoReturn

from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.routing import BaseRoute, Route, compile_path

from commonplace.errors import NotFound
from commonplace.memory.local_memory import LocalMemory
from commonplace.web import (
    conversations,
    home_and_projects,
    items,
    review,
    rules,
    search,
    settings,
    timeline,
    topics_and_entities,
)
from commonplace.web.login import KeyCheck, LoginPages, LoginTickets
from commonplace.web.page_handler import Page, PageHandler, PageRequest
from commonplace.web.rendering import STATIC_TREE, Templates, send_static_file
from commonplace.worker_threads import Workers

PAGES: tuple[Page, ...] = (
    Page("GET", "/", "read", home_and_projects.home_page, "home"),
    Page("GET", "/projects", "read", home_and_projects.all_projects_page, "projects"),
    # A name may contain slashes.
    Page("GET", "/projects/{name:path}", "read", home_and_projects.project_page, "projects"),
    Page("GET", "/no-project", "read", home_and_projects.no_project_page, "projects"),
    Page("POST", "/steps/done", "write", home_and_projects.close_open_step, "home"),
    Page("POST", "/steps/undo", "write", home_and_projects.reopen_closed_step, "home"),
    Page("GET", "/search", "read", search.search_page, "search", parts=("results",)),
    Page("GET", "/find", "read", search.find_page, "search", parts=("options",)),
    Page("GET", "/timeline", "read", timeline.timeline_page, "timeline"),
    Page("GET", "/conversations", "read", conversations.list_conversations, "conversations"),
    Page("POST", "/conversations", "write", conversations.change_chosen, "conversations"),
    Page("POST", "/conversations/undo", "write", conversations.undo_changes, "conversations"),
    Page("GET", "/conversations/{id}", "read", conversations.show_conversation, "conversations"),
    Page("POST", "/conversations/{id}", "write", conversations.edit_conversation, "conversations"),
    Page("POST", "/conversations/{id}/status", "write", conversations.change_status, "conversations"),
    Page("POST", "/conversations/{id}/forget", "write", conversations.forget_conversation, "conversations"),
    Page("POST", "/conversations/{id}/restore", "write", conversations.restore_conversation, "conversations"),
    Page("GET", "/conversations/{id}/export", "read", conversations.export_conversation, "conversations"),
    Page("GET", "/items/new", "write", items.new_item_form, "search"),
    Page("POST", "/items/new", "write", items.add_item, "search"),
    Page("GET", "/items/{id}", "read", items.show_item, "search"),
    Page("POST", "/items/{id}", "write", items.edit_item, "search"),
    Page("POST", "/items/{id}/supersede", "write", items.supersede_item, "search"),
    Page("POST", "/items/{id}/forget", "write", items.forget_item, "search"),
    Page("POST", "/items/{id}/restore", "write", items.restore_item, "search"),
    Page("POST", "/items/{id}/revert", "write", items.revert_item, "search"),
    Page("GET", "/rules", "read", rules.list_rules, "rules"),
    Page("POST", "/rules", "write", rules.add_rule, "rules"),
    Page("GET", "/rules/preview", "read", rules.preview_rule_files, "rules"),
    Page("POST", "/rules/{id}", "write", rules.edit_rule, "rules"),
    Page("POST", "/rules/{id}/forget", "write", rules.forget_rule, "rules"),
    Page("POST", "/rules/{id}/restore", "write", rules.restore_rule, "rules"),
    Page("GET", "/review", "read", review.review_page, "review", parts=("undo",)),
    Page("GET", "/review/count", "read", review.count_page, "review"),
    Page("POST", "/review/pairs", "write", review.settle_pair, "review"),
    Page("POST", "/review/archive", "write", review.archive_conversations, "review"),
    Page("POST", "/review/keep", "write", review.keep_conversations, "review"),
    Page("POST", "/review/accept", "write", review.accept_proposals, "review"),
    Page("POST", "/review/dismiss", "write", review.dismiss_proposals, "review"),
    Page("POST", "/review/undo", "write", review.undo_decision, "review"),
    Page("POST", "/review/{id}/accept", "write", review.accept_proposal, "review"),
    Page("POST", "/review/{id}/dismiss", "write", review.dismiss_proposal, "review"),
    Page("GET", "/about", "read", topics_and_entities.entities_page, "search"),
    Page("GET", "/about/{name:path}", "read", topics_and_entities.entity_page, "search"),
    Page("GET", "/profile", "read", topics_and_entities.profile_page, "search"),
    Page("POST", "/profile/{id}", "write", topics_and_entities.show_in_profile, "search"),
    # Where these had pages of their own.
    Page("GET", "/contradictions", "read", review.contradictions_moved, "review"),
    Page("GET", "/prune", "read", review.prune_moved, "review"),
    Page("GET", "/feed", "read", timeline.feed_moved, "timeline"),
    Page("GET", "/topics", "read", topics_and_entities.list_topics, "search"),
    Page("GET", "/topics/{id}", "read", topics_and_entities.show_topic, "search", parts=("inside", "chosen")),
    Page("GET", "/topics/passages/{id}", "read", topics_and_entities.show_passage, "search", parts=("chosen",)),
    Page("GET", "/settings", "read", settings.settings_page, "settings"),
    Page("POST", "/settings/keys", "admin", settings.make_key, "settings"),
    Page("POST", "/settings/keys/{id}/revoke", "admin", settings.revoke_key, "settings"),
    Page("POST", "/settings/backups", "admin", settings.make_backup, "settings"),
    Page("GET", "/settings/doctor", "admin", settings.doctor_page, "settings"),
    Page("POST", "/settings/doctor", "admin", settings.run_doctor, "settings"),
    Page("POST", "/theme", "read", settings.set_theme),
)

# Paths that begin like this are for programs, even in a browser.
_PROGRAMS = ("/api", "/mcp", "/.well-known", "/health", "/live", "/ready", "/metrics")


def is_browser_request(path: str, accept: str) -> bool:
    """Whether a request for a path without a page comes from a person."""
    return "text/html" in accept and not any(path == door or path.startswith(f"{door}/") for door in _PROGRAMS)


def _page_not_found(_memory: LocalMemory, _request: PageRequest) -> NoReturn:
    raise NotFound("There is no page at this address.", "Look for it from the home page.")


NOT_FOUND_PAGE = Page("GET", "/{anywhere}", "read", _page_not_found, "")

_LOGIN_PATHS = ("/login", "/logout", "/enter")
# The event stream of REST, which pages listen to: a login is enough to read it.
_EVENTS = "/api/v1/events"
_COMPRESSED = Middleware(GZipMiddleware, minimum_size=1024, compresslevel=4)


def routes(workers: Workers, key_check: KeyCheck, tickets: LoginTickets) -> list[BaseRoute]:
    """Every page, signing in and out, and the static files."""
    templates = Templates()
    login = LoginPages(key_check, templates, tickets)
    return [
        Route("/login", login.form, methods=["GET"]),
        Route("/login", login.enter, methods=["POST"]),
        Route("/logout", login.leave, methods=["POST"]),
        Route("/enter", login.ticket, methods=["GET"]),
        Route(STATIC_TREE + "/{name}", send_static_file, middleware=[_COMPRESSED]),
        *(
            Route(path, PageHandler(path, pages, workers, templates), middleware=[_COMPRESSED])
            for path, pages in _by_path().items()
        ),
    ]


def not_found_handler(workers: Workers) -> PageHandler:
    """The page shown at addresses where there is none."""
    return PageHandler(NOT_FOUND_PAGE.path, {NOT_FOUND_PAGE.method: NOT_FOUND_PAGE}, workers, Templates())


def is_page(path: str, accept: str) -> bool:
    """Whether a path is for people, who sign in, rather than for programs, which send a key."""
    patterns = _PATTERNS.get(_first_part(path), ())
    known = path in (*_LOGIN_PATHS, _EVENTS) or any(pattern.match(path) for pattern in patterns)
    return known or is_browser_request(path, accept)


def _by_path() -> dict[str, dict[str, Page]]:
    """Pages by path and method; a literal path comes before one with a parameter in the same place."""
    found: dict[str, dict[str, Page]] = {}
    for page in sorted(PAGES, key=lambda one: one.path.replace("{", "\uffff")):
        found.setdefault(page.path, {})[page.method] = page
    return found


def _first_part(path: str) -> str:
    return path[1:].partition("/")[0]


# By the first part of the path, which every page names.
_PATTERNS: dict[str, list[re.Pattern[str]]] = {}
for _path in (*_by_path(), STATIC_TREE + "/{name}"):
    _PATTERNS.setdefault(_first_part(_path), []).append(compile_path(_path)[0])
