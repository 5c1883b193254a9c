"""A developer's month with three repositories: each step is walked as a person and an agent walk it.

The model is on, the resident process is on, hooks are fired with the command lines of the editor's settings, tools are
called over the server that they name. What the agent is told and what the person sees is compared with what the pages
promise. The steps are in the order of time; each leaves behind what the next one finds.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, sync_playwright
from tests.web.browser import QUIET, chromium

from .desk import COMMAND, Desk, Session, Window

# What the person states on the first days: in which repository, of which type, and the words.
STATED = (
    ("harbor-api", "rule", "Use uv for dependencies, never pip install"),
    ("harbor-api", "rule", "Never push straight to main"),
    ("harbor-api", "decision", "Berths are locked in the order of their ids, because two bookings waited in turn"),
    ("harbor-api", "decision", "Guests stay signed in for 30 days with a refresh token in a cookie"),
    ("harbor-api", "fact", "The booking database is PostgreSQL 17 on port 5433"),
    ("harbor-api", "rejected", "MongoDB for bookings: transactions over several documents were too slow"),
    ("harbor-api", "rejected", "A managed database at AWS RDS: the data has to stay in Norway"),
    ("harbor-api", "constraint", "Invoices must never be renumbered"),
    ("harbor-api", "fact", "The restore test of the backups takes place on the first Monday of a month"),
    ("tide-app", "rule", "Use pnpm, never npm"),
    ("tide-app", "rule", "Do not edit files under src/generated"),
    ("tide-app", "decision", "Tide tables are kept offline in SQLite through op-sqlite"),
    ("tide-app", "rejected", "Push notifications through OneSignal: our privacy officer said no"),
    ("tide-app", "fact", "End-to-end tests run with Maestro on a Pixel emulator"),
    ("tide-app", "fact", "The app needs Android 10 or newer"),
    ("keel", "rule", "Use tofu, never terraform"),
    ("keel", "constraint", "Customer data stays on servers in Norway"),
    ("keel", "decision", "Backups go to Backblaze in Amsterdam every night"),
    ("keel", "fact", "Grafana runs at grafana.internal"),
)  # fmt: skip


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    desk = Desk(tmp_path_factory.mktemp("month"), "liv")
    for name in ("harbor-api", "tide-app", "keel"):
        desk.repository(name, f"git@github.com:fjord/{name}.git")
    yield desk
    desk.leave()


@pytest.fixture(scope="module")
def repositories(desk: Desk) -> dict[str, Path]:
    return {name: desk.home / "src" / name for name in ("harbor-api", "tide-app", "keel")}


@pytest.fixture(scope="module")
def api(repositories: dict[str, Path]) -> Path:
    return repositories["harbor-api"]


@pytest.fixture(scope="module")
def app(repositories: dict[str, Path]) -> Path:
    return repositories["tide-app"]


@pytest.fixture(scope="module")
def window(desk: Desk, app: Path) -> Iterator[Window]:
    """The editor's window on the app, open through the month."""
    with desk.window(app) as window:
        yield window


def test_the_editor_is_connected_and_the_doctor_finds_nothing(desk: Desk) -> None:
    dry = desk.do("connect", "claude-code", "--dry-run")
    assert ".claude" in dry and not (desk.home / ".claude" / "settings.json").exists()
    assert "connected" in desk.do("connect", "claude-code")
    checked = desk.run("doctor")
    assert checked.code == 0, checked
    greeting = desk.do()
    assert "could not be stored" not in greeting and "failed" not in greeting
    assert desk.json("status")["hooks"]["failed"] == 0


def test_what_is_stated_belongs_to_the_repository(desk: Desk, repositories: dict[str, Path]) -> None:
    for name, type_, text in STATED:
        said = desk.do("add", text, "-t", type_, where=repositories[name])
        assert name in said, said
    desk.do("add", "I prefer small pull requests", "-t", "heuristic", "--global")
    listed = desk.json("list", "-p", "harbor-api", "--limit", "50")
    assert len(listed["items"]) >= sum(name == "harbor-api" for name, _type, _text in STATED)


def test_a_search_answers_by_meaning_and_says_how_sure_it_is(desk: Desk, api: Path) -> None:
    found = desk.json("search", "how long do visitors stay logged in?", where=api)["results"]
    assert "30 days" in found[0]["content"] and found[0]["relevance"] >= 0.5
    assert all("Norway" not in hit["content"] or hit["project"].endswith("harbor-api") for hit in found)
    database = desk.json("search", "which database do we book into?", where=api)["results"]
    assert "PostgreSQL 17" in database[0]["content"]


@pytest.mark.parametrize(
    "question",
    ["when was the last penetration test?", "what is the minimum version of iOS?", "how many customers are there?"],
)
def test_a_question_that_nothing_answers_gets_no_likely_answer(
    desk: Desk, repositories: dict[str, Path], question: str
) -> None:
    where = repositories["tide-app" if "iOS" in question else "harbor-api"]
    outcome = desk.run("search", question, "--json", where=where)
    assert all(hit["relevance"] < 0.5 for hit in json.loads(outcome.out)["results"])
    printed = desk.run("search", question, where=where).said
    assert "Nothing" in printed, printed


def test_the_rejected_are_not_told_as_decided(desk: Desk, api: Path) -> None:
    overview = desk.do("overview", where=api)
    decided = overview.partition("Decided")[2].partition("\n\n")[0]
    assert "MongoDB" not in decided and "RDS" not in decided
    assert "Berths are locked" in overview and "waited in turn" in overview


def test_an_agent_gets_only_its_project_when_it_asks_for_context(desk: Desk, app: Path, window: Window) -> None:
    told = window.call("get_context", project="tide-app", query="where is customer data stored offline?")
    assert "op-sqlite" in told
    for elsewhere in ("Norway", "Backblaze", "Grafana", "renumbered"):
        assert elsewhere not in told, elsewhere
    printed = desk.do("context", "-q", "where is customer data stored offline?", where=app)
    assert "op-sqlite" in printed and "Norway" not in printed and "Backblaze" not in printed


def test_a_search_of_an_agent_starts_in_its_project(window: Window) -> None:
    found = window.call("search", query="backups every night")
    assert "Backblaze" not in found
    assert "small pull requests" in window.call("search", query="do we like small pull requests")


def test_what_an_agent_adds_belongs_to_its_window(desk: Desk, app: Path, window: Window) -> None:
    said = window.call("add_memory", content="Icons come from the Phosphor set", type="fact")
    assert "tide-app" in said and "global" not in said
    assert desk.json("search", "Phosphor", where=app)["results"][0]["project"].endswith("tide-app")
    assert "Phosphor" not in desk.do("context", "-q", "Where do icons come from?", where=desk.home / "src" / "keel")


def test_what_an_agent_adds_against_a_rule_is_compared_with_it(desk: Desk, app: Path, window: Window) -> None:
    said = window.call("add_memory", content="Use npm, never pnpm", type="rule")
    assert "pnpm, never npm" in said, said
    (added,) = [
        one
        for one in desk.json("list", "-p", "tide-app", "--limit", "50")["items"]
        if one["content"] == "Use npm, never pnpm"
    ]
    window.call("forget_memory", id=added["short_id"])


@pytest.fixture(scope="module")
def first(desk: Desk, app: Path) -> Session:
    return desk.session(app, "11111111-0000-4000-8000-000000000001")


def test_a_session_starts_with_the_rules_of_its_project(desk: Desk, app: Path, first: Session) -> None:
    told = first.start()
    assert "Use pnpm, never npm" in told and "src/generated" in told and "op-sqlite" in told
    for elsewhere in ("tofu", "Norway", "renumbered", "uv for dependencies"):
        assert elsewhere not in told, elsewhere
    assert "data" in told.splitlines()[1]


def test_a_prompt_gets_what_answers_it_unless_the_start_told_it(desk: Desk, app: Path, first: Session) -> None:
    question = "Where do we keep the tide tables when the phone is offline?"
    assert "op-sqlite" not in first.prompt(question)
    # A session that goes on after its start was missed has been told nothing.
    missed = desk.session(app, "11111111-0000-4000-8000-000000000009")
    assert "op-sqlite" in missed.prompt(question)
    assert "op-sqlite" not in missed.prompt(question)


def test_a_rejected_idea_is_told_when_a_prompt_proposes_it(first: Session) -> None:
    assert "privacy officer" in first.prompt("Let's use OneSignal for push notifications")


@pytest.mark.parametrize(
    ("command", "told"),
    [("npm install lodash", "Use pnpm, never npm"), ("pnpm add react-native-onesignal", "privacy officer")],
)
def test_a_rule_speaks_in_the_moment_it_is_broken(first: Session, command: str, told: str) -> None:
    assert told in first.before("Bash", command=command)


@pytest.mark.parametrize(
    "command", ["pnpm install", "pnpm jest src", "pnpm add date-fns", "git commit -m 'Use pnpm, never npm'", "ls src"]
)
def test_a_rule_that_is_obeyed_is_silent(first: Session, command: str) -> None:
    assert first.before("Bash", command=command) == ""


def test_a_rule_for_a_path_speaks_before_a_file_there_is_written(first: Session) -> None:
    assert "src/generated" in first.before("Write", file_path="src/generated/api.ts", content="export {}\n")
    assert first.before("Write", file_path="src/screens/Tides.tsx", content="export {}\n") == ""


def test_a_rule_is_not_repeated_for_the_same_action_at_once(first: Session) -> None:
    assert first.before("Bash", command="npm install left-pad") == ""


def test_a_subagent_has_the_rules_and_its_own_memory_of_what_was_shown(first: Session) -> None:
    helper = first.subagent("helper-1")
    assert "Use pnpm, never npm" in helper.fire("SubagentStart")
    assert "Use pnpm, never npm" in helper.before("Bash", command="npm install left-pad")


def test_a_session_ends_and_leaves_its_work(desk: Desk, app: Path, first: Session) -> None:
    first.after(
        "Bash", "added 3 packages\nnpm notice New major version of npm available!", command="npm install lodash"
    )
    first.write("src/screens/Tides.tsx", "export const Tides = () => null\n")
    first.answer("I added the screen for the tides.\n\nNext steps:\n- Translate the names of the harbours")
    first.end()
    second = desk.session(app, "11111111-0000-4000-8000-000000000002")
    told = second.start()
    assert "Translate the names of the harbours" in told
    assert "npm notice" not in told and "New major version" not in told
    achieved = [line for line in told.splitlines() if "npm install" in line]
    assert not achieved, achieved


def test_a_session_can_be_read_again(desk: Desk, app: Path, first: Session) -> None:
    shown = desk.do("sessions", "show", first.name, where=app)
    assert "Where do we keep the tide tables" in shown and "I added the screen" in shown
    newest = desk.do("sessions", "show", where=app)
    assert "tide" in newest.lower()


def test_a_prompt_asked_again_is_not_its_own_answer(desk: Desk, app: Path) -> None:
    again = desk.session(app, "11111111-0000-4000-8000-000000000003")
    again.start()
    told = again.prompt("Let's use OneSignal for push notifications")
    assert "privacy officer" in told and "proposed" not in told
    words = "Make the list of harbours scroll faster, it is too slow on old phones"
    assert "scroll faster" not in again.prompt(words)
    again.answer("I looked at the list.")
    again.end()
    later = desk.session(app, "11111111-0000-4000-8000-000000000004")
    assert "scroll faster" not in later.prompt(words)


@pytest.mark.parametrize(
    ("action", "told"),
    [
        ("aws rds create-db-instance --engine postgres", "Norway"),
        ("docker pull mongodb", "MongoDB"),
        ("uv add pymongo mongodb", "MongoDB"),
        ("pip install boto3", "Use uv"),
        ("make renumber-invoices", "renumbered"),
        ("git push origin main", "push straight to main"),
        ("git push --force origin main", "push straight to main"),
    ],
)
def test_rules_of_the_server_speak_before_commands_that_break_them(
    desk: Desk, api: Path, action: str, told: str
) -> None:
    session = desk.session(api, f"22222222-0000-4000-8000-{abs(hash(action)) % 10**12:012}")
    session.start()
    assert told in session.before("Bash", command=action)


@pytest.mark.parametrize(
    "action", ["uv pip install boto3", "uv add httpx", "git push origin feature/locks", "docker pull postgres:17"]
)
def test_they_are_silent_before_commands_that_keep_them(desk: Desk, api: Path, action: str) -> None:
    session = desk.session(api, f"33333333-0000-4000-8000-{abs(hash(action)) % 10**12:012}")
    session.start()
    assert session.before("Bash", command=action) == ""


def test_the_cure_of_an_error_is_known_in_the_next_session(desk: Desk, api: Path) -> None:
    session = desk.session(api, "44444444-0000-4000-8000-000000000001")
    session.start()
    session.prompt("Two bookings at once fail, please look")
    error = "Exit code 1\nFAILED test_berths.py\nE   psycopg.errors.DeadlockDetected: deadlock detected\n1 failed"
    session.failed("Bash", error, command="uv run pytest tests/test_berths.py")
    session.write("src/berths.py", "LOCK_ORDER = 'ids'\n")
    session.bash("uv run pytest tests/test_berths.py", "1 passed in 0.4s")
    session.answer("Berths are locked in the order of their ids now.")
    session.end()
    next_one = desk.session(api, "44444444-0000-4000-8000-000000000002")
    next_one.start()
    told = next_one.failed("Bash", error, command="uv run pytest tests")
    assert "Fixed before" in told and "src/berths.py" in told
    predicted = desk.do("predict", "psycopg.errors.DeadlockDetected: deadlock detected", where=api)
    assert "berths" in predicted.lower()


def test_one_correction_is_one_thing_to_review(desk: Desk, app: Path) -> None:
    before = len(desk.json("review", where=app)["proposals"])
    session = desk.session(app, "55555555-0000-4000-8000-000000000001")
    session.start()
    session.prompt("No, use pnpm! Always use pnpm here, never npm.")
    session.answer("Understood.")
    session.end()
    waiting = desk.json("review", where=app)["proposals"]
    assert len(waiting) - before <= 1, waiting


def test_what_is_accepted_reaches_the_agent(desk: Desk, api: Path) -> None:
    session = desk.session(api, "66666666-0000-4000-8000-000000000001")
    session.start()
    session.prompt(
        "Never use sqlite in tests, we always test against PostgreSQL.\nWe decided against Kafka for events."
    )
    session.answer("Noted.")
    session.end()
    waiting = [
        one
        for one in desk.json("review", where=api)["proposals"]
        if "sqlite" in one["content"].lower() or "Kafka" in one["content"]
    ]
    assert waiting
    unseen = desk.session(api, "66666666-0000-4000-8000-000000000002").start()
    # The prompt itself is where work stopped; nothing in it is a rule or a decision yet.
    held = unseen.partition("## Where work stopped")[0]
    assert not [one for one in waiting if one["content"] in held]
    assert "[decision]" not in unseen or "Kafka" not in unseen.partition("## Decisions")[2]
    desk.do("review", "accept", *[str(one["id"]) for one in waiting], where=api)
    told = desk.session(api, "66666666-0000-4000-8000-000000000003").start()
    for one in waiting:
        assert one["content"][:40] in told, (one["content"], told)


def test_an_agents_command_is_an_agents_also_with_a_resident_process(desk: Desk, api: Path) -> None:
    desk.do("add", "Berth 12 has no water", "-t", "fact", where=api, CLAUDECODE="1")
    (item,) = [
        one
        for one in desk.json("list", "--author", "claude-code", "-p", "harbor-api")["items"]
        if "Berth 12" in one["content"]
    ]
    assert item["author"] == "liv via claude-code" and item["origin"] == "agent"


def test_what_is_replaced_is_valid_until_the_new_one_began(desk: Desk, api: Path) -> None:
    desk.do("add", "Emails are sent by Celery", "-t", "fact", where=api)
    desk.do("add", "Emails are sent by procrastinate", "-t", "fact", where=api)
    listed = desk.json("list", "-p", "harbor-api", "--limit", "50")["items"]
    old, new = (
        next(one for one in listed if one["content"] == f"Emails are sent by {name}")
        for name in ("Celery", "procrastinate")
    )
    outcome = desk.run("supersede", str(old["id"]), "--by", str(new["id"]), where=api)
    assert outcome.code == 0 and f"restore {old['id']}" in outcome.said, outcome
    assert "Celery" not in desk.do("search", "how are emails sent?", where=api)


def test_a_change_that_says_why_is_noticed(desk: Desk, app: Path) -> None:
    desk.do("add", "We draw charts with Victory", "-t", "fact", where=app)
    why = "We switched from Victory to Skia (react-native-skia), because scrolling stuttered"
    outcome = desk.run("add", why, "-t", "decision", where=app)
    assert "We draw charts with Victory" in outcome.err and "If it replaces" in outcome.err, outcome
    assert "replaces" in desk.do("contradictions", "-p", "tide-app", where=app)


def test_a_pair_is_a_contradiction_or_the_same_never_both(desk: Desk, repositories: dict[str, Path]) -> None:
    keel = repositories["keel"]
    desk.do("add", "Always use tofu, never terraform", "-t", "rule", where=keel)
    contradictions = desk.do("contradictions", "-p", "keel", where=keel)
    twins = desk.do("contradictions", "--twins", "-p", "keel", where=keel)
    assert ("tofu" in contradictions) + ("tofu" in twins) <= 1, (contradictions, twins)


def test_no_text_reaches_another_projects_session(desk: Desk, repositories: dict[str, Path]) -> None:
    told = desk.session(repositories["keel"], "77777777-0000-4000-8000-000000000001").start()
    assert "tofu" in told
    for elsewhere in ("pnpm", "OneSignal", "Phosphor", "Berth", "Celery", "harbours"):
        assert elsewhere not in told, elsewhere


def test_imported_chats_are_not_everywhere(desk: Desk, api: Path, tmp_path: Path) -> None:
    chat = tmp_path / "chat.md"
    chat.write_text(
        "# You\n\nWhich present for my sister Ragnhild?\n\n# Assistant\n\nA book on sailing.\n", encoding="utf-8"
    )
    desk.do("import", str(chat))
    assert "Ragnhild" not in desk.do("search", "present for my sister Ragnhild", where=api, stdin="")
    assert "Ragnhild" not in desk.session(api, "88888888-0000-4000-8000-000000000001").start()


# What a person looks for on each page after this month, and what must not be there.
PAGES = (
    ("/", ("harbor-api", "tide-app", "keel"), ()),
    ("/projects", ("harbor-api", "tide-app", "keel"), ()),
    ("/projects/github.com/fjord/harbor-api", ("Berths are locked",), ("OneSignal",)),
    ("/projects/github.com/fjord/tide-app", ("Translate the names of the harbours",), ("Berths are locked",)),
    ("/rules", ("Use pnpm, never npm", "Never push straight to main", "Use tofu, never terraform"), ()),
    ("/search?q=how+long+do+visitors+stay+logged+in%3F", ("30 days", "%"), ()),
    ("/search?q=when+was+the+last+penetration+test%3F", ("Nothing clearly answers this",), ()),
    ("/timeline", ("harbor-api", "entri"), ()),
    ("/conversations", (), ()),
    ("/contradictions", (), ()),
    ("/review", (), ("npm notice",)),
    ("/profile", ("small pull requests",), ("Backblaze",)),
    ("/settings", ("commonplace",), ()),
)


@pytest.fixture(scope="module")
def page(desk: Desk) -> Iterator[Page]:
    """The dashboard of the desk in a browser, opened with the link that `serve` prints."""
    server = subprocess.Popen(
        [COMMAND, "serve", "--no-open", "--port", "0"],
        env=desk.env,
        cwd=desk.home,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert server.stderr is not None
    greeting = server.stderr.readline()
    address = next(word for word in greeting.split() if word.startswith("http")).removesuffix("/mcp")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=list(QUIET))
        page = browser.new_page(base_url=address)
        page.set_default_timeout(60_000)
        page.goto("/login")
        page.fill("#key", (desk.data / "api-key").read_text(encoding="utf-8").strip())
        page.press("#key", "Enter")
        page.wait_for_selector("header.top")
        yield page
        browser.close()
    server.terminate()
    server.communicate(timeout=60)


@pytest.mark.parametrize(("path", "shown", "absent"), PAGES, ids=[path for path, _shown, _absent in PAGES])
def test_each_page_shows_the_month(page: Page, path: str, shown: tuple[str, ...], absent: tuple[str, ...]) -> None:
    answer = page.goto(path)
    assert answer is not None and answer.status == 200, path
    text = page.inner_text("main")
    for words in shown:
        assert words in text, (path, words)
    for words in absent:
        assert words not in text, (path, words)


def test_the_editor_is_left_as_it_was(desk: Desk) -> None:
    desk.do("disconnect", "claude-code")
    settings = desk.home / ".claude" / "settings.json"
    assert not settings.exists() or "commonplace" not in settings.read_text(encoding="utf-8")
