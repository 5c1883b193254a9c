"""Every page, in the order of the menu. To add one: a function, its template, its words, and a row here."""

from __future__ import annotations

from commonplace.web import feed, home, prune, rules, search, theme
from commonplace.web.page import Page

PAGES: tuple[Page, ...] = (
    Page("GET", "/", "read", home.home, "home"),
    Page("GET", "/search", "read", search.search, "search", parts=("results",)),
    Page("GET", "/rules", "read", rules.rules, "rules"),
    Page("POST", "/rules", "write", rules.add, "rules"),
    Page("GET", "/rules/preview", "read", rules.preview, "rules"),
    Page("POST", "/rules/{id}", "write", rules.change, "rules"),
    Page("POST", "/rules/{id}/forget", "write", rules.drop, "rules"),
    Page("POST", "/rules/{id}/restore", "write", rules.bring_back, "rules"),
    Page("POST", "/rules/{id}/settle", "write", rules.settle, "rules"),
    Page("GET", "/prune", "read", prune.candidates, "prune"),
    Page("POST", "/prune/archive", "write", prune.archive, "prune"),
    Page("POST", "/prune/undo", "write", prune.bring_back, "prune"),
    Page("GET", "/feed", "read", feed.feed, "feed"),
    Page("POST", "/theme", "read", theme.choose),
)
