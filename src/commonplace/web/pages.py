"""Every page, in the order of the menu. To add one: a function, its template, its words, and a row here."""

from __future__ import annotations

from commonplace.web import (
    conversations,
    conversations_reading,
    doctor,
    feed,
    home,
    prune,
    rules,
    search,
    settings,
    theme,
    timeline,
)
from commonplace.web.page import Page

PAGES: tuple[Page, ...] = (
    Page("GET", "/", "read", home.home, "home"),
    Page("GET", "/search", "read", search.search, "search", parts=("results",)),
    Page("GET", "/timeline", "read", timeline.show, "timeline"),
    Page("GET", "/conversations", "read", conversations.conversations, "conversations"),
    Page("POST", "/conversations", "write", conversations.change_chosen, "conversations"),
    Page("POST", "/conversations/undo", "write", conversations.undo_changes, "conversations"),
    Page("GET", "/conversations/{id}", "read", conversations_reading.conversation, "conversations"),
    Page("POST", "/conversations/{id}", "write", conversations_reading.change, "conversations"),
    Page("POST", "/conversations/{id}/status", "write", conversations_reading.put_aside, "conversations"),
    Page("POST", "/conversations/{id}/forget", "write", conversations_reading.drop, "conversations"),
    Page("POST", "/conversations/{id}/restore", "write", conversations_reading.bring_back, "conversations"),
    Page("GET", "/conversations/{id}/export", "read", conversations_reading.export, "conversations"),
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
    Page("GET", "/settings", "read", settings.settings, "settings"),
    Page("POST", "/settings/keys", "admin", settings.make_key, "settings"),
    Page("POST", "/settings/keys/{id}/revoke", "admin", settings.revoke_key, "settings"),
    Page("POST", "/settings/backups", "admin", settings.make_backup, "settings"),
    Page("GET", "/settings/doctor", "admin", doctor.rooms, "settings"),
    Page("POST", "/settings/doctor", "admin", doctor.examine, "settings"),
    Page("POST", "/theme", "read", theme.choose),
)
