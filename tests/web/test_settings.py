"""The settings page: keys made and revoked, backups, the doctor; and that each sees only what is theirs."""

from __future__ import annotations

import httpx2
from tests.mcp.conftest import Served
from tests.web.conftest import NARROW, Visit

from commonplace.memory import api_keys, spaces
from commonplace.memory.backup import list_backups
from commonplace.memory.local_memory import LocalMemory, for_space
from commonplace.store.maintenance import Limits

HOSTILE = "<b>Zoë</b> {{7*7}} \"'> 名"


def test_a_key_is_made_shown_once_used_and_revoked(visit: Visit, memory: LocalMemory, served: Served) -> None:
    visitor = visit()
    page = visitor.go("/settings")
    page.click("text=New key")
    page.fill("#key-name", HOSTILE)
    page.select_option("#key-role", "reader")
    page.fill("#key-days", "30")
    page.click("text=Create key")
    secret = page.inner_text(".secret")
    visitor.check_access()
    assert HOSTILE in page.inner_text("#keys") and not page.query_selector("#keys b")
    assert httpx2.get(served.url + "/api/v1/items", headers={"authorization": f"Bearer {secret}"}).status_code == 200
    page = visitor.go("/settings")
    assert secret not in page.content()
    visitor.picture("settings")
    made = next(key for key in api_keys.list_keys(memory) if key.name == HOSTILE)
    # It cannot be undone, so it takes a second click.
    page.click(f"tr:has(form[action='/settings/keys/{made.id}/revoke']) summary")
    page.click(f"form[action='/settings/keys/{made.id}/revoke'] button")
    page.wait_for_selector(".done >> text=no longer works")
    assert not next(key for key in api_keys.list_keys(memory) if key.id == made.id).works(memory.clock())


def test_a_backup_is_made(visit: Visit, memory: LocalMemory) -> None:
    visitor = visit(NARROW, "dark")
    page = visitor.go("/settings")
    assert "There are no backups yet" in page.inner_text("#backups")
    page.click("text=Back up now")
    page.wait_for_selector(".done >> text=Backed up")
    (made,) = list_backups(memory.settings)
    assert made.path.name in page.inner_text("#backups")
    visitor.picture("settings-dark-360")
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW[0]


def test_the_doctor_examines_what_is_chosen(visit: Visit) -> None:
    visitor = visit()
    page = visitor.go("/settings/doctor")
    for area in ("index", "model", "connections", "hooks", "versions"):
        page.uncheck(f"input[value={area}]")
    page.click("main button.main-button")
    page.wait_for_selector("table")
    assert "Store" in page.inner_text("table") and "Connections" not in page.inner_text("table")
    visitor.check_access()
    visitor.picture("doctor")


def test_each_sees_only_what_is_theirs(visit: Visit, memory: LocalMemory) -> None:
    _key, reader = api_keys.create_key(memory, "reader", "read")
    page = visit(key=reader).go("/settings")
    assert "Storage" in page.inner_text("main")
    assert not page.query_selector("#keys") and not page.query_selector("#backups")
    spaces.create_space(memory, "team", Limits(items=10))
    _key, admin = api_keys.create_key(for_space(memory, "team"), "admin of team", "admin")
    visitor = visit(key=admin)
    page = visitor.go("/settings")
    output = page.inner_text("main")
    assert "admin of team" in output and "reader" not in page.inner_text("#keys table").split("admin of team")[0]
    assert str(memory.settings.data_dir) not in output and not page.query_selector("#backups")
    page = visitor.go("/settings/doctor")
    assert "server's machine" in page.inner_text(".wrong")
    _key, narrow = api_keys.create_key(memory, "admin of a project", "admin", "my-api")
    assert not visit(key=narrow).go("/settings").query_selector("#backups")
