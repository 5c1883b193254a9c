"""Words that tell what a statement says: opposites, things of one kind, verbs of change, units, forms of sentences.

English only, like the built-in model. Words are compared by their stems (text/tokens.py).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from commonplace.text.tokens import STOP_WORDS, fold, stem


def _stems(words: str) -> frozenset[str]:
    return frozenset(stem(fold(word)) for word in words.split())


# Each group has two sides; a word of the one is the opposite of every word of the other.
_OPPOSITES = """
    allow allows allowed permit permitted fine ok okay welcome safe / forbid forbids forbidden ban banned prohibit
    prohibited disallow disallowed unsafe
    enable enabled on / disable disabled off
    always / never
    dark / light
    black / white milk
    public / private
    open / close closed shut merged
    opened / closed
    manual manually hand / automatic automatically automated pipeline
    sync synchronous synchronously / async asynchronous asynchronously
    mandatory required compulsory obligatory / optional voluntary
    ascending / descending
    encrypted / unencrypted plaintext
    locked / unlocked
    blocked / allowed unblocked
    block / allow
    before / after
    first / last
    temporary / permanent
    internal / external
    active / inactive deactivated disabled suspended
    valid / invalid expired
    included include includes inclusive / excluded exclude excludes exclusive
    same / new different
    remote / person onsite
    strict / lenient loose relaxed
    keep keeps kept store stored save saved retain retains retained preserve preserved archive archived / delete deletes
    deleted remove removes
    removed drop drops dropped discard discarded strip stripped purge purged erase erased wipe wiped throw
    save saved / discard discarded
    like likes love loves enjoy enjoys / dislike dislikes hate hates
    prefer prefers / avoid avoids
    use uses / avoid avoids ban banned
    short brief concise / long detailed verbose
    small / large big
    explicit / implicit inferred
    sooner / later
    progress ongoing pending draft unfinished investigated construction review transit planned / finished done complete
    completed resolved final approved rejected released delivered live
    working / broken
    dry / wet
    deprecated / recommended supported
    unresolved unfixed broken / resolved fixed repaired
    unpaid / paid
    vacant / filled
    negotiation / signed
    sale / sold
    down / up
    red / green
    flaky unstable / stable
    maintained / abandoned unmaintained
    available / taken unavailable down offline
    single unmarried / married
    student / graduated
    beta flag / generally
    leave / back
    supported / unsupported
    visible shown / hidden
    upper uppercase / lower lowercase
    horizontal / vertical
    left / right
    positive / negative
    old / new
    north / south
    east / west
    hot warm / cold
    more / fewer less
    minimum min / maximum max
    increase / decrease
    early / late
    start starts begin / end ends
    success / failure
    passes passed / fails failed
    metric / imperial
    mutable / immutable
    sequential sequentially serial / parallel concurrent concurrently
    stateless / stateful
    monthly / yearly quarterly weekly daily
    full-time / part-time
    free / paid
    online / offline
    static / dynamic
    signed / unsigned
    some-only / everybody-all
    inside / outside
    verbose / quiet silent terse
    read-only readonly / writable editable
    internal private / public
    blocking / non-blocking nonblocking
    opt-in / opt-out
    eager / lazy
    indoor / outdoor
    even / odd
    heavy / light
    cheap / expensive
    rent / own
    married / divorced
    employed / unemployed
    alive / dead
    healthy / sick
    inactive disabled / active enabled
    reversible / irreversible
    cached / uncached
    compressed / uncompressed
    tracked / untracked ignored
    trusted / untrusted
    monolith / microservices
    monorepo / polyrepo split
    trunk / branches
"""

# Things of one kind, of which one is chosen for a purpose.
_FAMILIES = """
    postgresql postgres mysql mariadb sqlite oracle mssql sqlserver cockroachdb db2 duckdb aurora
    redis memcached valkey dragonfly keydb
    rabbitmq kafka nats activemq sqs zeromq pulsar redpanda
    elasticsearch opensearch solr meilisearch typesense algolia
    mongodb dynamodb couchdb cassandra firestore scylladb
    npm pnpm yarn bun
    pip poetry uv pipenv conda pdm
    jest vitest mocha jasmine ava
    pytest unittest nose
    playwright cypress selenium puppeteer
    webpack vite rollup parcel esbuild turbopack
    react vue angular svelte solid ember preact
    redux zustand mobx jotai recoil pinia vuex
    bootstrap tailwind bulma foundation bem
    black ruff yapf autopep8
    eslint biome tslint
    flask django fastapi starlette tornado
    express fastify koa nestjs hono
    java kotlin scala python ruby go golang rust typescript javascript php perl elixir swift c# dart node deno
    cordova flutter ionic xamarin swiftui
    bcrypt argon2 argon2id scrypt pbkdf2 sha-256 sha256 sha-1 sha1 md5
    master main trunk develop
    tab tabs space spaces
    camelcase snake_case kebab-case pascalcase
    rest graphql grpc soap
    json xml yaml toml csv protobuf parquet msgpack ini
    jira linear trello asana youtrack redmine shortcut
    github gitlab bitbucket gitea codeberg sourcehut
    jenkins circleci travis buildkite drone teamcity
    confluence notion wiki sharepoint
    aws gcp azure hetzner ovh digitalocean heroku netlify vercel render fly.io cloudflare scaleway linode
    ubuntu debian alpine fedora centos rhel arch debian-slim nixos
    nginx apache caddy haproxy traefik envoy
    stripe adyen paypal mollie braintree klarna
    sendgrid postmark mailgun ses mailjet
    sentry rollbar bugsnag datadog
    prometheus graphite influxdb statsd
    logstash vector fluentd fluentbit filebeat
    zendesk freshdesk intercom
    zoom meet teams webex
    slack discord mattermost
    mit apache-2.0 gpl gpl-3.0 bsd mpl agpl lgpl
    english german french spanish polish italian dutch portuguese swedish danish norwegian finnish czech
    vegetarian vegan pescatarian
    coffee tea
    bus car bike cycling train tram
    scrum kanban
    squash rebase
    jwt cookie cookies session sessions
    utc local
    merge squash rebase
    ldap oidc saml
    docker podman
    terraform pulumi cloudformation
    alembic yoyo flyway liquibase
    celery dramatiq rq sidekiq huey
    d3 echarts chart.js plotly highcharts
    markdown asciidoc word restructuredtext latex
    figma sketch xd
    launchdarkly unleash flagsmith
    uuid integer bigint serial ulid
    float floats cents decimal decimals integer integers
    chrome firefox safari edge
    mac macos windows linux
    vim emacs vscode
    british american
    window aisle
    functional class
    green blue red yellow black white grey purple orange brown pink
    tabs spaces
    single double
    url header
    violin viola cello piano guitar flute
    peanuts hazelnuts gluten lactose
    plain json
"""

# Verbs of change as they are written when something has changed, by what changes. Of "moved" it may be anything.
CHANGE_VERBS: Mapping[str, str] = {
    verb: kind
    for kind, verbs in {
        "any": "moved moves moving shifted changed became becomes turned went adjusted updated converted brought"
        " become flipped toggled",
        "place": "migrated migrating relocated transferred",
        "tool": "switched switching replaced replaces replacing swapped ditched rewritten ported retired",
        "person": "succeeded succeeds inherited inherits reassigned assigned elected appointed handed passed",
        "time": "postponed postpones delayed deferred rescheduled slipped extended pushed advanced adjourned",
        "name": "renamed renames rebranded",
        "number": "raised raises lowered increased decreased reduced bumped doubled halved shortened lifted rose"
        " risen scaled"
        " grew upgraded downgraded cut",
    }.items()
    for verb in verbs.split()
}
# Of these, said of something in the active voice, what follows is what was.
LEAVING = frozenset(
    "replaced replaces replacing ditched retired succeeded succeeds dropped drops drop abandoned abandon"
    " swapped scrap scrapped abolish abolished".split()
)
# With these a sentence denies what it is said of.
DENYING = _stems(
    "avoid forbid forbids forbidden disallow disallowed deny denies denied reject rejects rejected prohibit"
    " prohibited ban"
    " banned stop stopped stops stopping cease ceased quit discontinue discontinued cancelled canceled cancel"
    " gone ended unsupported scrapped"
)
# With these in the passive voice, and with nothing after it.
DENYING_IF_PASSIVE = frozenset("dropped removed deleted shut retired abandoned abolished killed".split())
# What one has, does or knows several of: two of them are no contradiction.
SEVERAL = _stems(
    "speak speaks support supports read reads play plays know knows accept accepts offer offers include includes"
    " contain"
    " contains has have add adds like likes love visit visits buy bought sell sells see also learn study teach"
)
# Verbs and nouns of whoever is in charge of something.
OWNING = _stems(
    "maintain maintains maintained maintainer own owns owner owned ownership lead leads leader led responsible"
    " responsibility manage manages manager run runs handle handles handled head contact administer administers"
    " administration edit edits editor coach coaches coaching review reviews approve approves approved treasurer"
    " cto ceo"
    " cfo master chair judge director call on-call account roadmap expenses reports takes looks cares"
)
# Verbs that say little about what is stated; they differ between wordings of one thing.
LIGHT = _stems(
    "use uses used using run runs running live lives stay stays host hosts hosted do does done make makes made get gets"
    " got set sets have has take takes took taken put puts go goes went become became happen happens keep kept serve"
    " served store stored stores write written work works named called call handle handled take place come comes need"
    " needs needed require requires required start starts begin begins own owns owner maintain maintains maintained"
    " responsible look looks looking leave leaves allow allows allowed send sent sends deploy deployed deploys"
    " plan planned"
    " schedule scheduled turn turned still currently decide decided decision agree agreed team"
    " everywhere built build target targets pin pinned cap capped limit limited cost costs value number"
    " name names version threshold level minimum maximum length least most manage management date"
    " new old all every each own reminder default enable enabled permit permitted exist exists member"
    " person people time contact lead leads listen listens reach reached answer answers rule mind slot after"
    " before until within later earlier plain place based headquarters located next coming fine ok okay possible"
)
# Verbs that a denial may have besides what it denies.
KEEPING = _stems(
    "keep kept keeps retain retained store stored save saved archive archived preserve preserved stay stays"
)
AUXILIARY = KEEPING | _stems(
    "use uses used using do does make makes get gets have has take takes go goes keep kept need needs allow"
    " allowed permit"
    " permitted enable enabled require required support supported exist exists run runs any all every own still"
)
# Attributes that have one value at a time.
SINGLE_VALUED = _stems(
    "default shell formatter linter primary main current official preferred standard canonical branch license"
    " licence framework broker provider"
    " tracker image key style theme colour color language manager cache database engine tool favourite favorite broker"
    " runtime format bundler vendor supplier domain address region currency capital"
    " registrar cto ceo architecture protocol encoding timezone"
)


def _opposites() -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for line in _joined(_OPPOSITES):
        sides = [_stems(side) for side in line.split(" / ")]
        for one, other in (sides, sides[::-1]):
            for word in one:
                found.setdefault(word, set()).update(other)
    return {word: frozenset(others) for word, others in found.items()}


def _joined(table: str) -> list[str]:
    """The lines of a table; one without a slash goes on from the line before, where there are slashes at all."""
    lines: list[str] = []
    for line in table.strip().splitlines():
        if " / " in table and " / " not in line and lines:
            lines[-1] += " " + line.strip()
        else:
            lines.append(line.strip())
    return lines


def _families() -> dict[str, frozenset[int]]:
    found: dict[str, set[int]] = {}
    for number, line in enumerate(_joined(_FAMILIES)):
        for word in _stems(line):
            found.setdefault(word, set()).add(number)
    return {word: frozenset(numbers) for word, numbers in found.items()}


OPPOSITES = _opposites()
# Stores, caches, queues and search engines: each can do what another did.
STORES = frozenset().union(*map(_stems, _joined(_FAMILIES)[:5]))
FAMILIES = _families()

HEDGES = frozenset(
    "might could would if unless perhaps maybe consider considers considered considering evaluate evaluating propose"
    " proposed proposal idea suggest suggested suggests asked asks whether todo example examples e.g compare tried try"
    " wonder hope hopes hoped looked plans thinking discuss discussed".split()
)
HEDGE_PHRASES = re.compile(
    r"\b(?:plan(?:s|ned|ning)? to|want(?:s|ed)? \w+ to|want(?:s|ed)? to|would like|can (?:change|turn|switch"
    r"|be changed)"
    r"|(?:users?|you|customers?) can|for example|ask \w+ whether|open question|to discuss)\b"
)
QUESTION = re.compile(
    r"\?\s*$|^(?:who|what|when|where|why|how|which|should|shall|could|does|did|do we|is there|are there)\b.*\?",
    re.DOTALL,
)
# The time that a whole sentence is about stands at its beginning, and ends where what it is about begins.
SCOPE = re.compile(
    r"^(?:in|on|at|during|until|till|from|before|after|by|for|within) ((?:\w+ ){0,3}?(?:\d{4}|\d{1,2}|may|week"
    r"|weekdays|"
    r"weekends|summer|winter|spring|autumn|q[1-4]|version \d+|(?:january|february|march|april|june|july|august"
    r"|september|"
    r"october|november|december)(?: \d+)?|region|zone|environment|edition|market|country|tenant|tier"
    r"|monday|tuesday|wednesday|thursday|friday|saturday|sunday)s?)\b(?! on\b)|"
    r"^(yesterday|today|tomorrow|(?:last|next|this) (?:\w+)|(?:during|after|before|while|when|once) (?:\w+ ?){1,3})\b"
)
PAST = re.compile(
    r"\b(?:yesterday|last (?:year|month|week)\b(?=.*\bwas\b)|(?:in|until) (?:19|20)\d\d\b|until last"
    r"|was called .* before"
    r"|before (?:that|\w+ we were))|^the (?:old|first|second|previous) "
    r"|^(?:before|until|prior to|up to) [^,;]{1,40}\b(?:was|were|had|used)\b(?!.*\b(?:is|are|now)\b)"
)
SINCE = re.compile(
    r"\b(?:as of|since|starting) (?:(?:this|last|next|the) )?\w+\b|\b(?:from now on|from today(?: on)?"
    r"|from this \w+(?: on)?"
    r"|this week|last week|last night|last sprint|this morning|after all|for good)\b",
    re.IGNORECASE,
)


NEW = re.compile(r"(?:^|\b(?:is|are|has|have|got) (?:the|our|my|a) )new \w+", re.IGNORECASE)
ADDITIVE = re.compile(
    r"\b(?:also|too|as well|either|in addition|together with|both|another|additionally)\b", re.IGNORECASE
)
# Said of something that happened once: "Released version 1.2", "Fixed the login"; not "Uploaded files are kept".
EVENT = re.compile(
    r"^(?!decided|agreed|required|allowed|used|need"
    r"|(?:moved|migrated|renamed|flipped|toggled|switched|changed|raised|lowered|increased|reduced|replaced|swapped"
    r"|postponed|rescheduled|relocated) (?:the|our) "
    r"|[a-z]+ed (?!the |an? |our )(?:\w+ ){1,2}(?:of [^,;:]+ )?(?:is|are|stay|kept)\b)"
    r"[a-z]+ed\b(?! (?:does|is|are|has|hosts)\b)|^(?:paid|ran|found|wrote|met|sold|bought)\b"
)


# How a sentence is announced.
LABEL = re.compile(
    r"^(?:(?:reminder|for the record|as said before|note(?: that)?|decision|decided|heads-up|fyi|update"
    r"|(?:new )?rule|fact"
    r"|important|agreed|as discussed|we (?:agreed|decided|will) (?:that|to|on)?|(?:it is|it's) (?:decided"
    r"|agreed) that)\b[:,]?\s*)+",
    re.IGNORECASE,
)
DECIDED = re.compile(
    r"(?:decision|decided|(?:new )?rule|update|we (?:agreed|decided)|(?:it is|it's) (?:decided|agreed))\b",
    re.IGNORECASE,
)
# They are followed by what is said of a subject.
PREDICATES = frozenset(
    "runs lives uses has have keeps listens goes takes sends stays owns maintains leads needs requires targets"
    " relies builds"
    " supports accepts writes exports mirrors reviews approves handles happens works serves hosts answers costs expires"
    " speaks plays prefers wants likes sits stores reads returns opens closes starts begins ends takes depends"
    " eats drinks"
    " drives writes chairs meets comes pays teaches cooks ships signs draws live run go come".split()
)
# How words end that describe something instead of naming it.
DESCRIBING = ("ed", "ing", "able", "ible", "ful", "ous", "ive", "less", "ly")
DESCRIPTIONS = frozenset("rebuilt full empty slow fast big small old new ready down up safe broken built kept".split())
# Wide enough for several choices at once: TypeScript and Tailwind are both "for the frontend".
WIDE = frozenset(
    "project code codebas app applic servic frontend backend api web websit team everyth develop product stage"
    " repositori"
    " work new".split()
)


WORD = re.compile(r"[#@/~]?\w+(?:[-./@:+]\w+)*%?")
_POSSESSIVE = re.compile(r"(?<=\w)['’]s?\b")
_ENDINGS = ("ment", "ation", "ion", "ing", "er", "or", "al", "e", "s")
_SHORTEST = 4
# Nouns of what is done with something, and the verbs that say the same of it.
_SAME_ROOT = {
    **dict.fromkeys(("retention", "retain", "retained", "kept", "keeps"), "keep"),
    **dict.fromkeys(("login", "logins"), "log"),
    "prs": "pr",
    **dict.fromkeys(("sent", "sends", "sending"), "send"),
    **dict.fromkeys(("built", "builds", "building"), "build"),
    **dict.fromkeys(("written", "writes", "writing"), "write"),
}
_OWNERSHIP = "ownership|responsibility|maintenance|administration|leadership|stewardship"
_EMPTY = STOP_WORDS | frozenset(
    "we our us they all now new use uses using been also own every each any is are team teams project".split()
    + _OWNERSHIP.split("|")
)
_OWNERSHIP_OF = re.compile(rf"^(?:the )?(?:{_OWNERSHIP}) (?:of|for) ", re.IGNORECASE)
_OF = re.compile(r"^(.+?) (?:for|of|in|on) (.+)$", re.IGNORECASE)


@lru_cache(maxsize=4096)
def root_of(word: str) -> str:
    """A stem without what makes a noun of a verb: signing, signed and signer are the same."""
    if word in _SAME_ROOT:
        return _SAME_ROOT[word]
    made = stem(word)
    if made in FAMILIES:
        return made
    for ending in _ENDINGS:
        if made.endswith(ending) and len(made) - len(ending) >= _SHORTEST and made.isalpha():
            return made[: -len(ending)]
    return made


@lru_cache(maxsize=4096)
def roots_in(text: str) -> frozenset[str]:
    """The roots of all words that are no stop words."""
    words = [fold(word) for word in WORD.findall(_POSSESSIVE.sub("", text))]
    return frozenset(root_of(word) for word in words if word not in _EMPTY)


@lru_cache(maxsize=4096)
def content_in(text: str) -> frozenset[str]:
    """The same without words that say little, unless there are no others."""
    words = [fold(word) for word in WORD.findall(_POSSESSIVE.sub("", text))]
    telling = [word for word in words if word not in _EMPTY and stem(word) not in LIGHT]
    return frozenset(map(root_of, telling)) or roots_in(text)


def related(some: frozenset[str], others: frozenset[str]) -> bool:
    """Whether a word of the one is a thing of the same kind as one of the other."""
    kinds = frozenset().union(*(FAMILIES.get(word, frozenset()) for word in some))
    return any(kinds & FAMILIES.get(word, frozenset()) for word in others)


def head_of(text: str) -> str:
    """The root of the word that says what something is: "secrets for the CI jobs", "CI secrets"."""
    text = _OWNERSHIP_OF.sub("", text)
    found = _OF.match(text)
    words = [fold(word) for word in WORD.findall(_POSSESSIVE.sub("", found[1] if found else text))]
    return next((root_of(word) for word in reversed(words) if word not in _EMPTY), "")
