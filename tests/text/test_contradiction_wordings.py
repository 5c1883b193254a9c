"""A change is recognised in the words that people tell it in, and what only sounds like one is not."""

from __future__ import annotations

import pytest
from benchmarks.year_of_life import read_phrases

from commonplace.text.contradiction_detection import contradiction_kind
from commonplace.text.contradiction_phrases import _RULES, in_plainer_words

CHANGED = {
    "names what was": [
        ("The staging site runs on Heroku.", "Goodbye Heroku: the staging site runs on Render"),
        ("The backup lives on the NAS in the office.", "The backup is off the NAS and on Backblaze now."),
        ("Our wiki is hosted on the Mac mini.", "The Mac mini is history for our wiki; it is hosted on Netlify now."),
        ("The retry limit of the mailer is 5.", "5 was wrong for the retry limit of the mailer, it is 8 now."),
        ("The retry limit of the mailer is 5.", "The retry limit of the mailer is 8 now, it was 5."),
        ("The scanner listens on port 9100.", "Port 9100 was taken, so the scanner listens on port 9200."),
        ("Redis does rate limiting in the proxy.", "We moved the proxy to NATS for rate limiting, Redis was too slow."),
        ("Always use tabs in the generator.", "The generator goes with spaces now, tabs is out."),
        ("We keep the bug tracker public.", "The bug tracker was public; it is private now."),
        ("The workshop is on 12 June.", "We set the workshop to 19 June, 12 June is off."),
        ("The board meeting is on 4 May.", "4 May does not work for the board meeting; we do it on 11 May."),
        ("Standup: Monday at 9:00", "Standup: Monday at 9:00 -> Tuesday at 9:30"),
        ("The firmware is built with Python 3.9.", "The firmware dropped Python 3.9, build it with Rust 1.80."),
        ("Our invoices are sent with Mailgun.", "Mailgun is dead to us: invoices are sent with Postmark"),
        ("The API gateway runs on Kong.", "We kicked out Kong; the API gateway runs on Traefik."),
        ("The mobile team uses Jira.", "The mobile team said farewell to Jira and works with Linear."),
        ("The loft is heated with gas.", "The loft is heated with a heat pump now, not with gas."),
    ],
    "where": [
        ("Feature flags are stored in Consul.", "Feature flags were moved out of Consul into etcd."),
        ("The portal sits on the Leipzig server.", "The portal has found a new home on Scaleway."),
        ("The garage is where the bikes live.", "The bikes now live in the cellar."),
        ("Production of the shop is on the Dublin cluster.", "The migration of the shop to Hetzner is done."),
        ("The shop runs on Hetzner.", "The rack in the basement hosts the shop now."),
        ("The shop moved to AWS eu-west-1.", "The shop relocated to Azure North Europe last night."),
        ("We host the shop on Fly.io.", "The shop left Fly.io and runs on the Dublin cluster."),
    ],
    "who": [
        ("Dana chairs the reading group.", "Dana stepped down, Felix chairs the reading group now."),
        ("Olga owns the checklist.", "Olga left the team, Pedro looks after the checklist now."),
        ("Contact for the permits: Ingrid", "Ask Samir about the permits now, Ingrid has moved to another team."),
        ("Helga handed the newsletter over to Ravi.", "The newsletter was reassigned to Maud."),
        ("Greta owns the exporter.", "The exporter is now maintained by Tomasz, not by Greta."),
        ("The owner of the exporter is Elif.", "Greta is the new owner of the exporter."),
    ],
    "how long": [
        ("Keep the footage for 14 days.", "Retention of the footage was set to 30 days."),
        ("Invoices are deleted after ten years.", "Retention of invoices: 7 years"),
        ("Uploaded files are kept for 30 days.", "Uploaded files are deleted after 90 days now."),
        ("Log files are kept forever.", "Log files are deleted after 30 days."),
    ],
    "name and runtime": [
        ("The npm package of the app is called robin.", "The npm package of the app goes by wren now."),
        ("Robin is the name of the npm package.", "We gave the npm package the name wren"),
        ("the npm package of the app is robin.", "We renamed the npm package of the app to wren."),
        ("Node 16 is the runtime of the bot.", "Node 22 is the runtime of the bot now."),
        ("We build the bot with Python 3.11.", "The runtime of the bot changed to Ruby 3.2."),
    ],
    "what stores": [
        ("We use MySQL for the report store.", "The report store is on DynamoDB now."),
        ("The scraper relies on Kafka for buffering.", "The scraper has adopted SQLite for buffering."),
    ],
    "no longer and again": [
        ("Every day of the year the job emails Olga.", "After the audit the job no longer emails Olga."),
        ("The job no longer emails Olga.", "By default the job again emails Olga."),
        ("It is not true any more that guests get a badge.", "Guests get a badge again."),
        ("Stop using moment in the app; use luxon.", "Stop using luxon in the app; use moment."),
        ("The scanner is not on port 9100 but on 9200.", "Port of the scanner: 9200 -> 9300"),
    ],
    "what was left, by name": [
        ("Crash dumps go to Bugsnag.", "Crash reporting moved from Bugsnag to Rollbar."),
        ("We use Gulp to minify the stylesheets.", "Switched the stylesheet minifier from Gulp to Lightning CSS."),
        ("Receipts are sent through Twilio.", "Receipt texts now go out through Vonage rather than Twilio."),
        ("The indexer depends on Memcached.", "The indexer no longer needs Memcached as of 2.3."),
        ("The image builder depends on Kaniko.", "The image builder dropped Kaniko."),
        ("The pip package is published as acme-core.", "The package acme-core got renamed to acme-base."),
        ("The route is /v1/parcels.", "The route /v1/parcels is now /v1/shipments."),
        ("The partner portal is open to resellers.", "The partner portal was shut down on 3 March."),
        ("The heap of the parser is set to 6 GB.", "The parser's heap was reduced from 6 GB to 3 GB."),
    ],
    "what came, and not what was": [
        ("The weekly load reports lie in the share ops-reports.", "Load reports moved to Azure Blob Storage."),
        ("Certificates for the edge nodes are kept in Ansible Vault.", "Edge certificates were migrated to Doppler."),
        ("Session cookies are encrypted with AES128.", "We changed cookie encryption to AES256."),
        ("TypeScript linting is done with eslint.", "We've switched to biome for TypeScript code."),
        ("The infra team maintains the base images.", "Ownership of the base images passed to the build team."),
        ("Accessibility audits are done by Greta.", "Accessibility audits have been handed over to Samir."),
        ("The agency Pixelworks maintains our landing page.", "The growth team has taken over our landing page."),
        ("The QA team runs the smoke tests.", "Smoke tests are now run by the release managers."),
        ("The nightly price feeds are parsed with Saxon.", "Price feeds are now parsed with Xerces."),
        ("We keep trace files for 60 days.", "Trace retention was cut to 14 days to save space."),
        ("Our error budget for the login API is 0.5% per month.", "The login API's error budget was raised to 1%."),
    ],
    "a decision against a rule": [
        ("Never merge on a red build.", "We agreed to allow merges on a red build for typo fixes."),
        ("Do not commit vendored fonts.", "We decided to check in the vendored fonts of the kiosk."),
        ("Don't use singletons, pass arguments.", "We're going with a singleton for the plugin registry."),
        ("No schema changes without sign-off from the data group.", "Squads may make schema changes without sign-off."),
        ("Benchmarks must not access the disk.", "We decided that the cache benchmarks may write to the disk."),
        ("All scrapers must be written in Python.", "We decided to write the price scrapers in Rust."),
        ("Use JSON for all audit exports.", "Audit exports will be CSV from now on."),
        ("Every table must have UUID keys.", "Decided to use bigint keys for the ledger table."),
    ],
}

UNCHANGED = {
    "of something else": [
        ("Petra waters the plants.", "Petra retired, Jan feeds the cat now."),
        ("The 390 boxes have the old modem.", "Old modems left: 212."),
        ("Tom maintains the wiki.", "Tom now maintains the forum."),
        ("Dana chairs the reading group.", "Dana stepped down as treasurer."),
        ("Feature flags are stored in Consul.", "Secrets were moved from Consul to Vault."),
        ("The staging site runs on Heroku.", "Goodbye Heroku: the demo page runs on Render"),
        ("Our wiki is hosted on the Mac mini.", "The Mac mini is history for our blog; it is hosted on Netlify now."),
        ("The retry limit of the mailer is 8.", "The retry limit of the importer is 6 now, it was 8."),
        ("Prefer camelCase in the media API.", "We replaced camelCase by snake_case in the shipping exporter."),
        ("Olga owns the checklist.", "Olga left the team, Pedro looks after the badges now."),
        ("The job emails Olga.", "After the audit the importer no longer emails Olga."),
        ("The search page again pages Olga at night.", "the audit worker again pages Olga at night."),
        ("Pushes are allowed in the docs repo.", "We agreed that pushes are allowed in the core repo."),
        ("Redis does rate limiting in the proxy.", "The proxy now uses Kafka for audit events."),
        ("The cellar is where the wine is.", "The bikes now live in the cellar."),
        ("Crash dumps go to Bugsnag.", "Billing alerts moved from Bugsnag to Rollbar."),
        ("The tax worker runs on Fargate.", "The tax portal moved from Fargate to Nomad."),
        ("The indexer depends on Memcached.", "The mailer no longer needs Memcached."),
        ("In staging the mailer uses Mailtrap.", "In production the mailer uses Postmark instead of Mailtrap."),
        ("The partner portal is open to resellers.", "The partner newsletter was discontinued."),
        ("The load report server is in Oslo.", "Load reports moved to Azure Blob Storage."),
        (
            "The queue size of the billing flow is set to 30.",
            "We raised the queue size of the training flow from 30 to 60.",
        ),
        ("Squashed pushes are allowed in the tax worker.", "Squashed pushes are now allowed in the fraud worker."),
        ("The ledger API is written in Go.", "The ledger API switched to JSON."),
        ("The infra team maintains the base images.", "Ownership of the design tokens passed to the build team."),
        ("We keep trace files for 60 days.", "Invoice retention was cut to 14 days."),
        ("The login API answers within 300 ms.", "The login API's error budget was raised to 1%."),
        ("In the Asian region orders are kept for 10 days.", "In the Nordic region orders are kept for 20 days."),
        ("Before 3.0 the manifest was XML.", "The manifest is JSON."),
        ("Never ship on Thursdays", "Typo fixes may be shipped on Thursdays"),
        ("Never restart the broker before noon.", "We decided to restart the broker after noon."),
        ("Do not commit vendored fonts.", "We decided to stop committing vendored fonts."),
        ("Do not commit vendored fonts.", "We agreed to commit lock files."),
        ("All scrapers must be written in Python.", "We decided to write the dashboard in Rust."),
        ("Use JSON for all audit exports.", "We decided to use YAML for the deploy manifests."),
    ],
    "another attribute": [
        ("The npm package of the app is stable.", "We renamed the npm package of the app to wren."),
        ("Oskar will take care of the exporter instead of Ines.", "The exporter requires Ruby 3.2."),
        ("Pushes are allowed in the exporter.", "Yuki took over the exporter."),
        ("The exporter runs on Hetzner.", "Aylin no longer maintains the exporter; Chiara does."),
        ("The exporter was ported from Python 3.11 to Ruby 3.3.", "Contact for the exporter: Oskar"),
        ("Babak wrote a load test for the exporter.", "Babak left the team, Aylin looks after the exporter now."),
    ],
    "the same again": [
        ("The retry limit of the mailer is 8 now, it was 5.", "The retry limit of the mailer is 8."),
        ("The scanner is not on port 9100 but on 9200.", "The scanner listens on port 9200."),
        ("The round is not on Monday any more but on Friday.", "The round is on Friday."),
        ("Do not keep logs for 14 days; 60 days is the limit.", "We keep logs for 60 days."),
        ("Logs are kept for 30 days.", "Logs are deleted after 30 days."),
        ("Bruno no longer maintains the archive; Lise does.", "The archive is maintained by Lise."),
        ("Testing with real data is not forbidden any more.", "Testing with real data is allowed."),
        ("In the shop, pushing to main is forbidden.", "As of today pushing to main is forbidden in the shop."),
        ("The migration of the wiki to Netlify is done.", "The wiki runs on Netlify."),
        ("Helga handed the newsletter over to Ravi.", "Ravi maintains the newsletter."),
        ("We moved from Travis to Buildkite.", "Buildkite replaced Travis."),
        ("Prefer small modules over big ones.", "Use small modules rather than big ones."),
    ],
}


@pytest.mark.parametrize(("earlier", "later"), [pair for pairs in CHANGED.values() for pair in pairs])
def test_a_change_is_recognised(earlier: str, later: str) -> None:
    assert contradiction_kind(earlier, later)


@pytest.mark.parametrize(("earlier", "later"), [pair for pairs in UNCHANGED.values() for pair in pairs])
def test_what_changes_nothing_is_no_contradiction(earlier: str, later: str) -> None:
    assert contradiction_kind(earlier, later) == ""


def test_a_rule_is_tried_wherever_it_applies() -> None:
    """The words that a rule needs leave out no sentence that it would rewrite."""
    kinds, _others = read_phrases()
    phrases = [phrase for kind in kinds.values() for phrase in (*kind.first, *kind.change)]
    sentences = [p.format(s="the shop", p="the index", v="Redis", o="Kafka") for p in phrases]
    sentences += [text for pairs in (*CHANGED.values(), *UNCHANGED.values()) for pair in pairs for text in pair]
    for sentence in sentences:
        tried = sentence
        for _words, phrase, plainer in _RULES:
            tried = phrase.sub(plainer, tried)
        assert in_plainer_words(sentence) == tried


def test_a_name_with_a_dot_is_kept_whole() -> None:
    assert in_plainer_words("Goodbye Redis: the shop runs on Fly.io.") == "the shop runs on Fly.io, formerly Redis"


def test_a_sentence_of_endless_length_is_no_statement() -> None:
    endless = "ask Olga about " * 5000
    assert contradiction_kind(f"{endless} the shop is allowed", f"{endless} the shop is not allowed") == ""
