"""Two weeks of a team: a lead and three members with an editor each, a program that reads, and one of a single project.

The team's memory is one server on SQLite, and two servers on one PostgreSQL database. Commands, hooks, tools, requests
and pages are real, the model is on, and so are the background processes of the members' machines. What each is told and
sees is compared with what the pages promise. The steps are in the order of time; each leaves behind what the next one
finds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page
from tests.polling import until
from tests.postgres_server import PostgresServer
from tests.web.conftest import Visitor
from tests.web.conftest import browser as browser

from .team import SPACE, Member, Team

DAY = r"\d{4}-\d\d-\d\d"
RULE = "Never force-push to main."
REJECTED = "We decided against Kafka, because nobody here can run it."
API, WEB = "github.com/acme/shop-api", "github.com/acme/shop-web"


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def team(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    """A space with keys, and running servers."""
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "sqlite":
        yield from running(Team(folder, request.param))
    else:
        postgres: PostgresServer = request.getfixturevalue("postgres")
        yield from running(Team(folder, request.param, postgres.database(folder)))
        postgres.leave(folder)


def running(team: Team) -> Iterator[Team]:
    try:
        team.machine.do("spaces", "create", SPACE)
        team.invite("lead", "--role", "admin")
        for name in ("ada", "bo", "eve"):
            team.invite(name)
        team.invite("ci", "--role", "reader", "--expires", "90d")
        team.invite("web-bot", "-p", WEB)
        team.serve()
        yield team
    finally:
        team.end()


@pytest.fixture(scope="module")
def ada(team: Team) -> Member:
    return team.member("ada", COMMONPLACE_SYNC_PRIVATE="diary")


@pytest.fixture(scope="module")
def bo(team: Team) -> Member:
    return team.member("bo")


@pytest.fixture(scope="module")
def eve(team: Team) -> Member:
    """Somebody who calls herself what she is not."""
    return team.member("eve", COMMONPLACE_AUTHOR="lead")


def test_an_invitation_says_what_its_key_can_do(team: Team) -> None:
    for writer in ("lead", "ada", "bo"):
        assert "connect --http https://<your server>/mcp --key <key> --share" in team.advice[writer]
        assert "It is not shown again" in team.advice[writer]
    for other in ("ci", "web-bot"):
        assert "--no-hooks" in team.advice[other] and "--share" not in team.advice[other]
    people = {key["name"]: key for key in team.machine.json("spaces", "people", SPACE)["keys"]}
    assert [people[name]["role"] for name in ("lead", "ada", "ci", "web-bot")] == [
        *("admin", "writer", "reader", "writer")
    ]
    assert people["web-bot"]["project"] == WEB and people["ci"]["expires_at"] and not people["ada"]["expires_at"]
    assert not any(secret in str(people) for secret in team.keys.values())


def test_connecting_refuses_what_could_not_work(team: Team, ada: Member) -> None:
    everything = ("--share", "all")
    unknown = ada.connect("sk-sekha-" + "0" * 48, *everything)
    assert (
        unknown.code != 0 and "does not know this key" in unknown.err and "Ask whoever runs the server" in unknown.err
    )
    reader = ada.connect(team.keys["ci"], *everything)
    assert reader.code != 0 and "may only read" in reader.err
    limited = ada.connect(team.keys["web-bot"], *everything)
    assert limited.code != 0 and "only the project" in limited.err
    in_clear = ada.run(
        "connect", "claude-code", "--http", "http://memory.example.com", "--key", ada.key, "--share", "all"
    )
    assert in_clear.code != 0 and "https://" in in_clear.err
    unsaid = ada.connect()
    assert unsaid.code != 0 and "Which repositories are shared" in unsaid.err and "--share" in unsaid.err
    # Nothing of it was written.
    assert not (ada.home / ".claude" / "settings.json").exists() and not list(ada.data.glob("teams/*/server.json"))


def test_members_join_and_are_told_what_is_shared(ada: Member, bo: Member, eve: Member) -> None:
    for member in (ada, bo, eve):
        joined = member.connect("", "--share", "github.com/acme/*")
        assert joined.code == 0 and "connected" in joined.out, joined
        assert "github.com/acme/*. Everything else stays on this machine" in joined.err
        assert member.work(member.api).start() == ""


def test_what_happens_in_a_shared_repository_reaches_the_team_and_is_told_once(
    team: Team, ada: Member, bo: Member
) -> None:
    session = ada.work(ada.api)
    session.start()
    session.prompt("The carts lock each other out, please look why")
    session.bash("pytest tests/test_carts.py", "3 passed in 0.2s")
    session.answer("The sweeper freed a reservation too early; carts are locked in the order of their ids now.")
    session.fire("SessionEnd", reason="exit")
    ada.send()
    (answer,) = team.items("The sweeper freed a reservation")
    assert (answer["author"], answer["project"]) == ("ada via claude-code", API) and answer["origin"] == "captured"
    assert len(team.items("The carts lock each other out")) == 1 and len(team.items("test_carts.py")) == 1
    told = bo.work(bo.api).start()
    since = told.partition("## By others since")[2].partition("\n## ")[0]
    assert re.search(rf"{DAY} ada's agent: .*carts", since, re.IGNORECASE), told
    again = bo.work(bo.api).start()
    assert "By others since" not in again and "carts" in again
    assert "carts" not in bo.work(bo.web).start()


def test_a_private_and_an_unshared_folder_stay_on_the_machine(team: Team, ada: Member, bo: Member) -> None:
    diary = ada.repository("diary", "git@github.com:acme/diary.git")
    wedding = ada.home / "wedding"
    wedding.mkdir()
    for folder in (diary, wedding):
        ada.turn(folder, "We marry in Ravenna in June", f"Ravenna in June it is; noted in the {folder.name}.")
        session = ada.work(folder)
        told = session.start()
        assert "Ravenna" in told and "carts" not in told
        for tool in ("add_memory", "search", "get_context"):
            refused = session.refused(f"mcp__commonplace__{tool}", content="We marry in Ravenna")
            assert "not shared" in refused and "memory of this machine" in refused
        assert session.refused("Read", file_path="a") == ""
    assert ada.work(ada.api).refused("mcp__commonplace__add_memory", content="Carts are locked") == ""
    # From a shared repository, an agent writes into one that is not.
    session = ada.work(ada.api)
    session.write(str(diary / "june.md"), "Ravenna in June, with the carts of the uncle")
    session.fire("SessionEnd", reason="exit")
    ada.send()
    assert team.items("Ravenna") == []
    assert team.ask("bo", "GET", "/search", params={"q": "Ravenna", "project": "all"}).text.count("Ravenna") == 0
    assert "Ravenna in June" in ada.do("search", "Where do we marry?", where=wedding)
    assert "Ravenna" not in bo.work(bo.api).start()


def test_secrets_and_private_passages_do_not_arrive(team: Team, ada: Member) -> None:
    key = "sk-ant-api03-" + "Ab1" * 40
    ada.turn(
        ada.api, f"Deploy the checkout with {key} <private>my salary is 91k</private>", "The checkout is deployed."
    )
    (stored,) = team.items("Deploy the checkout with", type="prompt")
    assert key not in stored["content"] and "91k" not in stored["content"]
    # Nor does an agent bring what is private: everybody in the space could read it.
    with ada.window(ada.api) as window:
        fact = {"content": "Ada earns 91k", "type": "fact", "project_id": API}
        assert "private" in window.refused("add_memory", **fact, tags=["private"])
    assert team.items("Ab1Ab1") == [] and team.items("91k") == []


def test_the_command_line_stays_with_the_machine_says_so_and_promotes(team: Team, ada: Member) -> None:
    said = ada.run("add", "Squash before merging", "-t", "rule", where=ada.api)
    assert said.code == 0 and "This is the memory of this machine." in said.err and team.url in said.err
    assert team.items("Squash before merging") == []
    (own,) = [one for one in ada.json("list")["items"] if one["content"] == "Squash before merging"]
    ada.do("promote", str(own["id"]), "--to", team.url, "--key", ada.key)
    (shared,) = team.items("Squash before merging")
    assert (shared["author"], shared["origin"], shared["project"]) == ("ada", "person", API)


def test_what_the_lead_accepts_on_the_review_page_reaches_every_agent(
    team: Team, ada: Member, bo: Member, browser: Browser
) -> None:
    ada.turn(ada.api, f"{RULE} {REJECTED}", "Noted, I will keep to both of these from now on.")
    proposals = [one for one in team.items("") if one["review"] == "proposed"]
    assert {(one["type"], one["content"]) for one in proposals} == {("rule", RULE), ("rejected", REJECTED)}
    unseen = bo.work(bo.api).start()
    assert "[rule]" not in unseen and "[rejected]" not in unseen
    assert team.ask("ci", "POST", f"/review/{proposals[0]['short_id']}/accept").status_code == 403
    with_a_window(team, browser, "lead", lambda page: accept_all(page, proposals))
    accepted = [*team.items(RULE), *team.items(REJECTED)]
    accepted = [one for one in accepted if one["short_id"] in {known["short_id"] for known in proposals}]
    assert [(one["author"], one["origin"], one["review"]) for one in accepted] == [("lead", "agreed", "accepted")] * 2
    for member in (ada, bo):
        told = member.work(member.api).start()
        assert re.search(rf"\(lead, {DAY}\) {re.escape(RULE)}", told), told
        assert REJECTED in told
    assert RULE not in bo.work(bo.web).start()


def accept_all(page: Page, proposals: list[dict[str, Any]]) -> None:
    page.goto(page.url.rpartition("/")[0] + "/review?show=proposals")
    assert "Accept: agents see this from now on, under your name." in page.inner_text("main")
    for one in proposals:
        row = page.locator(f"#p{one['short_id']}")
        assert one["content"] in row.inner_text() and "by ada via claude-code" in row.inner_text()
        with page.expect_response(lambda reply: reply.url.endswith("/accept")) as stored:
            row.locator("form[action$=accept] button[data-key=a]").click()
        assert stored.value.ok or stored.value.status == 303
        row.wait_for(state="detached")


def with_a_window(team: Team, browser: Browser, who: str, visit: Any) -> None:
    """Somebody looks at the dashboard of a server; nothing is wrong with its pages."""
    context = browser.new_context()
    visitor = Visitor(context.new_page(), next(iter(team.running.values())))
    visitor.listen()
    visitor.sign_in(team.keys[who])
    visit(visitor.page)
    context.close()
    assert not visitor.faults and not visitor.strangers, (visitor.faults, visitor.strangers)


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("git push --force origin main", RULE),
        ("docker pull apache/kafka:3.9", REJECTED),
        ("git push origin feature/locks", ""),
        ("docker pull postgres:17", ""),
    ],
)
def test_it_speaks_before_a_command_that_breaks_it(bo: Member, command: str, told: str) -> None:
    session = bo.work(bo.api)
    session.start()
    bo.wait_for_hints()
    said = session.before("Bash", command=command)
    assert told in said and bool(said) == bool(told)
    if told:
        assert re.search(rf"\(lead, {DAY}\)", said), said


def test_what_an_agent_adds_waits(team: Team, ada: Member, bo: Member) -> None:
    with bo.window(bo.api) as window:
        said = window.call(
            "add_memory", content="Always force-push to main after a rebase", type="rule", project_id=API
        )
        assert "Proposed rule" in said and "once a person accepts it" in said
        assert RULE in said and "says the opposite" in said
        context = window.call("get_context", project="shop-api", query="how do we push to main?")
        assert RULE in context and "after a rebase" not in context
    assert "after a rebase" not in ada.work(ada.api).start()
    (waits,) = team.items("after a rebase")
    assert (waits["author"], waits["origin"], waits["review"]) == ("bo via mcp", "agent", "proposed")


def test_an_agents_change_of_what_the_team_agreed_is_a_proposal(team: Team, ada: Member, bo: Member) -> None:
    (rule,) = [one for one in team.items(RULE) if one["review"] == "accepted"]
    with bo.window(bo.api) as window:
        edited = window.call("edit_memory", id=rule["short_id"], content="Force-push to main is fine when CI is green")
        forgot = window.call("forget_memory", id=rule["short_id"])
    assert "Proposed, not done" in edited and "Proposed, not done" in forgot
    (same,) = [one for one in team.items(RULE) if one["id"] == rule["id"]]
    assert (same["content"], same["rev"], same["review"]) == (RULE, rule["rev"], "accepted")
    told = ada.work(ada.api).start()
    assert RULE in told and "fine when CI is green" not in told
    waiting = team.ask("lead", "GET", "/review").json()["items"]
    changes = {one["metadata"]["proposed_change"]["change"]: one for one in waiting if one["type"] == "change"}
    assert set(changes) == {"edit", "forget"} and RULE in changes["forget"]["content"]
    # Accepting carries a change out, undoing takes it back; a dismissed one is gone.
    assert team.ask("lead", "POST", f"/review/{changes['edit']['short_id']}/accept").status_code == 200
    assert "fine when CI is green" in bo.work(bo.api).start()
    assert team.ask("lead", "POST", f"/review/{changes['edit']['short_id']}/undo").status_code == 200
    for one in ("edit", "forget"):
        assert team.ask("lead", "POST", f"/review/{changes[one]['short_id']}/dismiss").status_code == 200
    told = bo.work(bo.api).start()
    assert RULE in told and "fine when CI is green" not in told


def test_what_the_lead_says_while_somebody_works_is_told_at_the_next_start(team: Team, bo: Member) -> None:
    session = bo.work(bo.web)
    session.start()
    session.prompt("Let the header shrink on phones, please")
    picker = "The header must show the currency picker, because the law asks for it"
    added = {"content": picker, "type": "decision", "project": "shop-web"}
    assert team.ask("lead", "POST", "/items", json=added).json()["project"] == WEB
    session.answer("The header shrinks on phones now; its logo is left out there.")
    session.fire("SessionEnd", reason="exit")
    bo.send()
    since = bo.work(bo.web).start().partition("## By others since")[2].partition("\n## ")[0]
    assert re.search(rf"{DAY} lead: \[decision\] {picker}", since), since
    told = bo.work(bo.web).start()
    assert "By others since" not in told and picker in told
    assert picker not in bo.work(bo.api).start()


def test_an_author_cannot_be_forged(team: Team, bo: Member, eve: Member) -> None:
    eve.do("add", "The lead allows deploys on Friday", "-t", "decision", where=eve.api)
    assert eve.json("list")["items"][0]["author"] == "lead"
    eve.do("sync", "--to", team.url, "--key", eve.key)
    (forged,) = team.items("deploys on Friday")
    assert forged["author"] == "eve via sync (as lead)"
    since = bo.work(bo.api).start().partition("## By others since")[2]
    assert re.search(rf"{DAY} eve: .*deploys on Friday", since) and "lead: [decision] The lead allows" not in since
    claimed = {"content": "The lead allows deploys on Saturday", "type": "decision", "author": "lead"}
    assert team.ask("eve", "POST", "/items", json=claimed).status_code == 422
    del claimed["author"]
    assert team.ask("eve", "POST", "/items", json=claimed).json()["author"] == "eve"


def test_sync_brings_what_others_said_and_leaves_what_is_private(team: Team, eve: Member) -> None:
    assert RULE in eve.do("list", "--type", "rule", "--limit", "50")
    eve.do("add", "Eve looks for another job", "-t", "fact", "--tag", "private", where=eve.api)
    eve.do("sync", "--to", team.url, "--key", eve.key)
    assert team.items("another job") == []
    unchanged = eve.json("sync", "--to", team.url, "--key", eve.key)
    assert (unchanged["received"], unchanged["sent"], unchanged["conflicts"]) == (0, 0, [])


def test_a_program_that_reads_gets_the_rules_and_nothing_else(team: Team) -> None:
    rules = team.ask("ci", "GET", "/rules", params={"project": "shop-api"})
    assert RULE in [one["content"] for one in rules.json()["project_rules"]]
    known = {"if-none-match": rules.headers["etag"]}
    assert team.ask("ci", "GET", "/rules", params={"project": "shop-api"}, headers=known).status_code == 304
    typo = team.ask("ci", "GET", "/rules", params={"project": "shop-apii"})
    assert typo.status_code == 404 and "shop-api" in typo.json()["error"]["details"]
    (rule,) = [one for one in rules.json()["project_rules"] if one["content"] == RULE]
    for method, path in (("POST", "/items"), ("PATCH", f"/items/{rule['id']}"), ("DELETE", f"/items/{rule['id']}")):
        refused = team.ask("ci", method, path, **({} if method == "DELETE" else {"json": {"content": "x"}}))
        assert refused.status_code == 403 and "only read" in refused.json()["error"]["message"], (method, refused.text)
    assert team.ask("ci", "GET", f"/items/{rule['id']}").json()["content"] == RULE


def test_a_key_of_one_project_sees_no_other(team: Team) -> None:
    made = {"content": "Buttons are round", "type": "rule", "project": WEB}
    assert team.ask("lead", "POST", "/items", json=made).status_code == 201
    listed = team.ask("web-bot", "GET", "/items").json()["items"]
    assert {one["project"] for one in listed} == {WEB} and "Buttons are round" in [one["content"] for one in listed]
    assert [one["name"] for one in team.ask("web-bot", "GET", "/projects").json()["projects"]] == [WEB]
    found = team.ask("web-bot", "GET", "/search", params={"q": "how do we push to main?"}).text
    assert "force-push" not in found and "Kafka" not in found
    (rule, *_rest) = team.items(RULE)
    assert team.ask("web-bot", "GET", f"/items/{rule['id']}").status_code == 404
    assert team.ask("web-bot", "GET", "/items", params={"project": "shop-api"}).status_code == 404
    assert team.ask("web-bot", "POST", "/items", json={**made, "project": API}).status_code == 403
    assert team.ask("web-bot", "POST", "/items", json={"content": "Built by vite"}).json()["project"] == WEB


def test_the_dashboard_shows_whose_it_is(team: Team, browser: Browser) -> None:
    (rule,) = [one for one in team.items(RULE) if one["review"] == "accepted"]

    def visit(page: Page) -> None:
        address = page.url.rpartition("/")[0]
        page.goto(f"{address}/projects/shop-api")
        said = page.inner_text("main")
        assert RULE in said and "ada via claude-code" in said and "ada with claude-code" in said
        page.goto(f"{address}/review?show=proposals")
        assert "by bo via mcp" in page.locator(".decide", has_text="after a rebase").inner_text()
        page.goto(f"{address}/items/{rule['short_id']}")
        item = page.inner_text("main")
        assert "lead" in item and "ada via claude-code" in item

    with_a_window(team, browser, "lead", visit)


def test_while_the_server_is_away_work_goes_on_and_nothing_is_lost_or_twice(team: Team, bo: Member) -> None:
    # What is news is told once; and no background process may fetch the context again.
    bo.work(bo.api).start()
    bo.send()
    online = bo.work(bo.api).start()
    assert "By others since" not in online
    team.stop()
    question, answer = "Why are the totals of invoices wrong?", "Totals were rounded at each line."
    assert bo.turn_unsent(bo.api, question, answer) == online
    assert bo.waiting() > 0
    waiting = bo.run("doctor", "spool").out
    assert "events are waiting" in waiting and "No events are waiting" not in waiting
    team.serve()
    bo.send()
    assert len(team.items(answer, type="answer")) == 1
    assert len(team.items(question, type="prompt")) == 1
    bo.send()
    assert len(team.items(answer, type="answer")) == 1
    assert "No events are waiting" in bo.run("doctor", "spool").out


def test_a_server_that_goes_is_not_missed(team: Team, ada: Member) -> None:
    """One of two is killed; a single one is replaced by another behind the same address."""
    if len(team.running) > 1:
        team.kill(0)
    else:
        team.stop()
        team.serve()
    told = ada.turn(ada.web, "Does the header still jump on phones?", "The header stays: its font is loaded early now.")
    assert "Buttons are round" in told
    (answer,) = team.items("The header stays", type="answer")
    assert answer["project"] == WEB and answer["author"] == "ada via claude-code"
    with ada.window(ada.web) as window:
        assert "Buttons are round" in window.call("search", query="What form do buttons have?", project="shop-web")
    team.serve()


def test_a_revoked_key_is_refused_and_a_new_one_sends_what_waits(team: Team, bo: Member) -> None:
    if team.engine == "sqlite":
        team.machine.do("backup")
    assert RULE in bo.work(bo.api).start() and bo.kept("openings")
    old = team.keys["bo"]
    said = team.machine.run("keys", "revoke", team.key_id("bo"), "--space", SPACE)
    assert said.code == 0 and "(bo)" in said.out
    until(lambda: team.refused_everywhere("bo"))
    until(lambda: "refuses this person's key" in bo.work(bo.api).start())
    told = bo.work(bo.api).start()
    assert RULE not in told and "carts" not in told and "new one" in told
    # What was being fetched meanwhile is gone with the next start.
    until(lambda: "new one" in bo.work(bo.api).start() and bo.kept("openings") == [])
    assert not any(RULE in path.read_text(encoding="utf-8") for path in bo.kept("hints"))
    bo.turn_unsent(bo.api, "Why is the search of orders slow?", "An index on the date of orders was missing.")
    assert bo.waiting() > 0 and team.items("An index on the date") == []
    assert "does not know this key" in bo.run("doctor", "hooks").out
    if team.engine == "sqlite":
        restore_and_stay_revoked(team)
    assert team.keys["bo"] == old
    team.invite("bo")
    # It remembers what is shared.
    joined = bo.connect()
    assert joined.code == 0 and "github.com/acme/*" in joined.err
    bo.send()
    (answer,) = team.items("An index on the date of orders", type="answer")
    assert answer["author"] == "bo via claude-code"
    assert RULE in bo.work(bo.api).start() and len(list(bo.data.glob("teams/*/server.json"))) == 1


def restore_and_stay_revoked(team: Team) -> None:
    """An earlier backup brings back what was said, but no key."""
    team.stop()
    dry = team.machine.do("backup", "restore", "latest", "--dry-run")
    assert "The key of bo was revoked since, and would stay revoked." in dry
    assert "stays revoked" in team.machine.do("backup", "restore", "latest")
    team.serve()
    assert team.ask("bo", "GET", "/status").status_code == 401
    states = {key["name"]: key["state"] for key in team.machine.json("spaces", "people", SPACE)["keys"]}
    assert states["bo"] == "revoked" and states["ada"] == "works"
    assert team.ask("ada", "GET", "/rules", params={"project": "shop-api"}).text.count(RULE) > 0


def test_who_said_it_who_agreed_and_who_changed_it_can_be_asked(team: Team, bo: Member) -> None:
    (rule,) = [one for one in team.items(RULE) if one["review"] == "accepted"]
    changes = team.ask("lead", "GET", f"/items/{rule['id']}/history").json()["changes"]
    history = team.machine.do("history", rule["short_id"], COMMONPLACE_SPACE=SPACE)
    for text in (str(changes), history):
        assert "ada via claude-code" in text and "lead" in text, text
    shown = team.machine.do("show", rule["short_id"], COMMONPLACE_SPACE=SPACE)
    assert "author: lead" in shown and "origin: agreed" in shown
    # The session in which it was said, and that a forged word came by sync.
    assert rule["session"].startswith("claude-code:")
    conversation = team.ask("lead", "GET", f"/conversations/{rule['session']}").json()
    assert RULE in str(conversation)
    (forged,) = team.items("deploys on Friday")
    assert "eve via sync (as lead)" in team.machine.do("show", forged["short_id"], COMMONPLACE_SPACE=SPACE)
    story = " ".join(map(str, team.ask("lead", "GET", "/overview", params={"project": "shop-api"}).json()["story"]))
    assert re.search(r"sessions by (ada and bo|bo and ada) in the last seven days", story), story
    # And what an agent was shown is told by the machine it worked on.
    assert RULE in bo.do("shown", where=bo.api)


def test_who_leaves_takes_the_key_away(team: Team, ada: Member) -> None:
    ada.send()
    ada.do("disconnect", "claude-code")
    left = [path for path in ada.data.rglob("*") if path.is_file() and path.suffix in (".json", ".toml")]
    assert not any(ada.key in path.read_text(encoding="utf-8", errors="replace") for path in left)
    assert not list(ada.data.glob("teams/*/server.json"))
    settings = ada.home / ".claude" / "settings.json"
    assert not settings.exists() or "commonplace" not in settings.read_text(encoding="utf-8")
    assert Path(ada.data, "commonplace.db").exists()
