"""Signing in and out, themes, pages without scripts, and what the frame refuses."""

from __future__ import annotations

from pathlib import Path

import httpx2
import pytest
from playwright.sync_api import Browser, Error
from tests.mcp.conftest import Served
from tests.web.conftest import WAIT_MS, Visit, Visitor

from commonplace.memory import api_keys
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.remember import NewItem, remember

HTML = {"accept": "text/html"}


def test_whoever_has_no_visit_is_asked_for_a_key(visit: Visit) -> None:
    visitor = visit(key="")
    visitor.go("/search?q=redis")
    assert "/login?next=%2Fsearch%3Fq%3Dredis" in visitor.page.url
    visitor.check_access()
    visitor.picture("login")
    visitor.page.fill("#key", "sk-sekha-" + "0" * 48)
    visitor.page.press("#key", "Enter")
    visitor.page.wait_for_selector(".wrong")
    assert "not known" in visitor.page.inner_text(".wrong")
    visitor.page.fill("#key", visitor.served.key)
    visitor.page.press("#key", "Enter")
    visitor.page.wait_for_url("**/search?q=redis")


def test_a_theme_is_chosen_for_the_browser(visit: Visit) -> None:
    visitor = visit()
    visitor.go("/")
    visitor.page.click('.side button[value="dark"]')
    visitor.page.wait_for_selector('html[data-theme="dark"]')
    visitor.go("/search")
    assert visitor.page.get_attribute("html", "data-theme") == "dark"
    visitor.page.emulate_media(media="print")
    assert visitor.page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "light"


def test_pages_work_without_scripts(visit: Visit, memory: LocalMemory) -> None:
    remember(memory, NewItem("The queue moved to PostgreSQL", type="decision"))
    visitor = visit(script=False)
    visitor.go("/search")
    visitor.page.fill("#find-box", "queue")
    visitor.page.press("#find-box", "Enter")
    assert "The queue moved" in visitor.page.inner_text("#results").replace("\n", " ")


def test_a_form_that_no_page_of_this_visit_made_is_refused(visit: Visit, served: Served) -> None:
    visitor = visit()
    cookies = {cookie["name"]: cookie["value"] for cookie in visitor.page.context.cookies()}
    with httpx2.Client(base_url=served.url, cookies=cookies) as client:
        assert client.get("/", headers=HTML).status_code == 200
        without = client.post("/theme", data={"theme": "dark"})
        assert without.status_code == 403 and "does not belong to this login" in without.text
        foreign = client.post("/theme", data={"theme": "dark"}, headers={"sec-fetch-site": "same-site"})
        assert foreign.status_code == 403
        # The cookie is for pages, not for programs.
        assert client.get("/api/v1/items").status_code == 401


def test_nothing_that_another_site_sends_is_kept_for_after_signing_in(served: Served) -> None:
    planted = {"content": "planted by a stranger", "type": "note"}
    for sender in ({"origin": "http://127.0.0.1:1"}, {"sec-fetch-site": "cross-site"}, {"origin": "null"}):
        reply = httpx2.post(served.url + "/items/new", data=planted, headers={**HTML, **sender})
        assert reply.status_code == 403 and "planted" not in reply.text, sender
    stored = httpx2.post(served.url + "/items/new", data=planted, headers={**HTML, "origin": served.url})
    assert stored.status_code == 401 and "planted" in stored.text
    # What is kept would be left behind by any way on but the form.
    assert "<a " not in stored.text.split("<main", 1)[1]


def test_a_mistyped_address_is_a_page_for_people_and_an_error_for_programs(visit: Visit, served: Served) -> None:
    assert httpx2.get(served.url + "/serch").status_code == 401
    stranger = httpx2.get(served.url + "/serch", headers=HTML)
    assert stranger.status_code == 303 and stranger.headers["location"] == "/login?next=%2Fserch"
    cookies = {cookie["name"]: cookie["value"] for cookie in visit().page.context.cookies()}
    with httpx2.Client(base_url=served.url, cookies=cookies, headers=HTML) as client:
        lost = client.get("/serch")
        assert lost.status_code == 404 and "There is no page at this address." in lost.text
        assert 'href="/search"' in lost.text and lost.headers["content-security-policy"].startswith(
            "default-src 'none'"
        )
        assert client.post("/serch").json()["error"]["code"] == "NOT_FOUND"
        for path in ("/api/v1/serch", "/mcp/serch"):
            assert client.get(path).headers["content-type"] == "application/json", path


def test_a_form_is_sent_once_however_often_it_is_clicked(visit: Visit, memory: LocalMemory) -> None:
    page = visit().go("/settings")
    page.click("text=New key")
    page.fill("#key-name", "clicked thrice")
    page.evaluate("() => { for (let n = 0; n < 3; n++) document.querySelector('form[action$=keys] button').click(); }")
    page.wait_for_selector(".secret")
    assert [key.name for key in api_keys.list_keys(memory)].count("clicked thrice") == 1


def test_what_is_written_stays_while_the_server_is_away(browser: Browser, tmp_path: Path) -> None:
    server = Served(tmp_path, "--port", "0")
    with browser.new_context() as context:
        visitor = Visitor(context.new_page(), server)
        visitor.page.set_default_timeout(WAIT_MS)
        visitor.sign_in()
        page = visitor.go("/items/new")
        page.fill("#f-content", "Written at the last moment")
        server.end()
        page.click("main button.main-button")
        page.wait_for_selector(".away >> text=not responding")
        page.once("dialog", lambda dialog: dialog.dismiss())
        with pytest.raises(Error, match="ABORTED"):
            visitor.go("/search")
        assert page.input_value("#f-content") == "Written at the last moment"
        again = Served(tmp_path, "--port", server.url.rpartition(":")[2])
        page.wait_for_selector(".away >> text=The server is back")
        page.click("main button.main-button")
        page.wait_for_selector(".done >> text=Added")
        again.end()


def test_every_page_tells_browsers_to_run_nothing_but_ours(served: Served) -> None:
    for path in ("/", "/login", "/search"):
        reply = httpx2.get(served.url + path, headers={**served.headers, **HTML})
        policy = reply.headers["content-security-policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy
        assert reply.headers["x-content-type-options"] == "nosniff"


def test_programs_are_told_where_to_go(served: Served) -> None:
    assert "/api/v1" in httpx2.get(served.url + "/").text


def test_after_signing_out_the_pages_are_shut(visit: Visit) -> None:
    visitor = visit()
    visitor.page.click(".side .who >> text=Sign out")
    visitor.page.wait_for_url("**/login")
    visitor.go("/search")
    assert "/login" in visitor.page.url


def test_whoever_took_the_cookie_is_signed_out_too(visit: Visit, served: Served, tmp_path: Path) -> None:
    visitor, other = visit(), visit()
    cookies = {cookie["name"]: cookie["value"] for cookie in visitor.page.context.cookies()}
    with httpx2.Client(base_url=served.url, cookies=cookies, headers=HTML) as thief:
        assert thief.get("/search").status_code == 200
        visitor.page.click(".side .who >> text=Sign out")
        visitor.page.wait_for_url("**/login")
        assert thief.get("/search").headers["location"] == "/login?next=%2Fsearch&over=1"
    other.go("/search")
    assert "/login" not in other.page.url


def test_a_cookie_that_came_over_tls_goes_no_other_way(tmp_path: Path) -> None:
    server = Served(tmp_path, "--port", "0", COMMONPLACE_TRUSTED_PROXIES="127.0.0.0/8")
    for expected, secure in (("https", True), ("http", False)):
        reply = httpx2.post(
            server.url + "/login", data={"key": server.key}, headers={**HTML, "x-forwarded-proto": expected}
        )
        assert ("Secure" in reply.headers["set-cookie"]) is secure and "HttpOnly" in reply.headers["set-cookie"]
    server.end()


def test_servers_on_one_machine_do_not_sign_each_others_visitors_out(visit: Visit, tmp_path: Path) -> None:
    visitor = visit()
    second = Served(tmp_path, "--port", "0")
    guest = Visitor(visitor.page, second)
    guest.sign_in()
    guest.page.click(".side .who >> text=Sign out")
    guest.page.wait_for_url("**/login")
    visitor.go("/search")
    assert "/login" not in visitor.page.url
    visitor.strangers.clear()
    second.end()
