"""Which interval is read from a statement, and which times are only mentioned. All is said on Wednesday, 2026-04-15."""

from __future__ import annotations

from datetime import UTC

import pytest

from commonplace.errors import InvalidInput
from commonplace.text.dates import parse_time
from commonplace.text.validity import NOTHING_READ, describe_interval, parse_moment, read_validity

SAID = parse_time("2026-04-15T12:00:00Z", local=False)

READ = {
    "Until 31 May we deploy by hand.": "until 2026-05-31",
    "Until 31 May, the stand-up is every Monday at 9:00.": "until 2026-05-31",
    "Until 31 May, backups are kept for two weeks.": "until 2026-05-31",
    "The deploy freeze is on until 31 May": "until 2026-05-31",
    "Deploys are frozen until May 31st, 2026.": "until 2026-05-31",
    "Do not merge to main until 2026-04-20.": "until 2026-04-20",
    "Use the staging cluster until the 1st of June.": "until 2026-06-01",
    "Ben covers on-call until Friday.": "until 2026-04-17",
    "Until next Monday, send invoices to Clara.": "until 2026-04-20",
    "The office is closed through 19 April.": "until 2026-04-19",
    "Feature flags stay off till the end of the month": "until 2026-04-30",
    "Keep the old API running until the end of June.": "until 2026-06-30",
    "Prices are fixed through Q3.": "until 2026-09-30",
    "We accept both token formats until the end of Q2 2026.": "until 2026-06-30",
    "Reviews need two people for the next two weeks.": "until 2026-04-29",
    "For the next 10 days, page Omar instead of Lena.": "until 2026-04-25",
    "Use Node 20 for the next three months.": "until 2026-07-15",
    "Skip the nightly build for the rest of the week.": "until 2026-04-19",
    "For the rest of the year, expenses go to Nadia.": "until 2026-12-31",
    "The standup is at 10 for this week.": "until 2026-04-19",
    "Deploy from the release branch, this week only.": "until 2026-04-19",
    "Parking is on level 3 until the end of the year.": "until 2026-12-31",
    "The rate limit is 50 per minute until 30.04.2026.": "until 2026-04-30",
    "Maria leads support until June.": "until 2026-06-30",
    "Maria leads support through May.": "until 2026-05-31",
    "Until tomorrow, treat the billing alerts as noise.": "until 2026-04-16",
    "Don't touch the payment tables until 3 May!": "until 2026-05-03",
    "We do not hire until September 2026.": "until 2026-09-30",
    "New hires use the loan laptops (valid until 31 May).": "until 2026-05-31",
    "Valid through Q3: quotes carry a 5 % discount.": "until 2026-09-30",
    "Use port 8443 for previews. Valid until 2 May.": "until 2026-05-02",
    "Requests go through the old proxy until and including 24 April.": "until 2026-04-24",
    "Until 31 May the build runs on the blue runners. Ask Ines for access.": "until 2026-05-31",
    "From 1 May on, Ben leads support.": "from 2026-05-01",
    "From 1 May Ben leads support.": "from 2026-05-01",
    "From 2026-07-01 we deploy on Tuesdays.": "from 2026-07-01",
    "Starting 4 May, pull requests need two approvals.": "from 2026-05-04",
    "Starting on Monday, the standup is at 9:30.": "from 2026-04-20",
    "Pull requests need two approvals, starting 4 May.": "from 2026-05-04",
    "Effective 1 July 2026, travel is booked by Finance.": "from 2026-07-01",
    "Travel is booked by Finance, effective 1 July.": "from 2026-07-01",
    "As of 1 June, the main branch is called trunk.": "from 2026-06-01",
    "Beginning June 1, invoices are sent in EUR.": "from 2026-06-01",
    "Support is in Lisbon from 1 June onwards.": "from 2026-06-01",
    "Since 1 March we use pnpm.": "from 2026-03-01",
    "Since March 2025, the API is on Fly.io.": "from 2025-03-01",
    "From next month on, timesheets go to Finance.": "from 2026-05-01",
    "From Q3 on, we bill in advance.": "from 2026-07-01",
    "From tomorrow on, use the new VPN.": "from 2026-04-16",
    "From 1 May until 31 May, Clara leads the team.": "from 2026-05-01 to 2026-05-31",
    "Anna is on leave from 20 April to 8 May.": "from 2026-04-20 to 2026-05-08",
    "Between 1 June and 15 June the API is read-only.": "from 2026-06-01 to 2026-06-15",
    "Omar will be away from 2026-05-04 until 2026-05-08.": "from 2026-05-04 to 2026-05-08",
    "Holds until 31 May: no schema changes.": "until 2026-05-31",
    # A sprint is taken to end two weeks after it was said.
    "Keep the flag for this sprint.": "until 2026-04-29",
    "For this sprint, deploys go through Ines.": "until 2026-04-29",
    "Reviews need two people for the current sprint.": "until 2026-04-29",
    "Skip the nightly build, this sprint only.": "until 2026-04-29",
    "This sprint Omar is on call.": "until 2026-04-29",
    "This week Omar is on call.": "until 2026-04-19",
    "Omar is on call this week.": "until 2026-04-19",
    "This month, invoices are approved by Nadia.": "until 2026-04-30",
    "Deploys are not allowed this week.": "until 2026-04-19",
    "Ben leads support this month": "until 2026-04-30",
    "This quarter, the main branch is frozen.": "until 2026-06-30",
    "During Q1 2027 deploys are frozen.": "from 2027-01-01 to 2027-03-31",
    "Deploys are frozen during Q1 2027.": "from 2027-01-01 to 2027-03-31",
    "During next week, Clara leads support.": "from 2026-04-20 to 2026-04-26",
    "Deploys are frozen until 5/31.": "until 2026-05-31",
    "Deploys are frozen until 31/5.": "until 2026-05-31",
    "Deploys are frozen until 5/31/2026.": "until 2026-05-31",
    "Deploys are frozen until 5/5.": "until 2026-05-05",
}

NOT_READ = (
    # What was.
    "Anna was team lead until May 2025.",
    "The service ran on Heroku until 31 May.",
    "We used to deploy on Fridays until 1 June.",
    "Deploys were frozen until 20 April.",
    "The outage lasted until Friday.",
    "Until 31 May we had three servers.",
    "The team worked from Berlin until June.",
    "Ben owned billing until the end of May.",
    "The old price held until 30.04.2026.",
    "Payments were on Stripe from 1 March to 31 May.",
    # Said when it was over already.
    "Use the blue cluster until 31 March 2026.",
    "Use the blue cluster until 2025-05-31.",
    "Support is outsourced until 14 April 2026.",
    # Deadlines, and events that are moved.
    "The report is due by 31 May.",
    "Finish the migration by the end of Q2.",
    "The launch is postponed until 31 May.",
    "The retro was moved to Friday.",
    "The audit is delayed until June.",
    "The kick-off is rescheduled until next Monday.",
    "There are ten days until 31 May.",
    "The release is not until 31 May.",
    "The conference starts on 4 May.",
    "The invoice is paid until June.",
    # Things that expire: that they did is worth knowing.
    "The certificate is valid until 31 May 2026.",
    "Our TLS cert for api.example.com stays valid until June.",
    "The Figma licence runs until 31 December 2026.",
    "The API key expires on 31 May.",
    "The domain is registered and paid until 2027-01-31.",
    "The support contract lasts until the end of Q3.",
    "Node 20 LTS support goes until April 2026.",
    # Durations of other things.
    "We keep logs for 90 days.",
    "Sessions live in Redis for 30 days.",
    "Tokens are valid for two weeks.",
    "Users stay signed in for the next 30 days after the last visit.",
    "Retry for 10 minutes, then give up.",
    "Our travel insurance holds until June.",
    "First aider is Hemi, licence until June.",
    "The library card runs until 30 June.",
    "Laptops have a warranty until March 2028.",
    "The position is funded until March 2028.",
    # Seasons, and what says itself what comes then.
    "Only saison beers go to tank 4 from May to September.",
    "Goats are dry from December to February.",
    "The project manager is Sverre until May, then Anneli.",
    "Stay on 40 mg until June, and then go down.",
    "Oneline merged with Telmara; binds stay separate until 1 June.",
    "Programme changes by the 10th for the next month.",
    "Volumes are scanned by Gerda at the end of the week.",
    # Not dates.
    "Wait until the tests pass.",
    "From version 3 on, the config is TOML.",
    "Use the old endpoint until version 3.",
    "The shop is open until 18:00.",
    "Office hours are from 9 to 17.",
    "Up to 5 may fail before we page someone.",
    "The limit goes up to 31.",
    "Read from 3 replicas.",
    "Requests from Q8 are dropped.",
    "Postgres 16 is used from now on.",
    # Periods of data.
    "Delete the logs from 1 March to 31 May.",
    "The report covers 1 March to 31 May.",
    "Export all orders from 1 January until 31 March.",
    "Invoices from 1 May on are in the new system.",
    "The tickets created from 1 May on are in Linear.",
    "Backups until 31 May are in Glacier.",
    "The data is from 1 March to 31 May.",
    # What recurs, and what is not sure.
    "Every year the books are closed from 1 May until 31 May.",
    "The heating is off from May until September each year.",
    "If the vendor delays, we stay on v2 until 31 May.",
    "We might keep the old API until the end of June.",
    "Should we freeze deploys until 31 May?",
    "Who covers on-call until Friday?",
    # Quoted, in code, or one sentence of many.
    'The banner says "free until 31 May".',
    "The default is `until 2026-05-31`.",
    "We moved to Hetzner. Until 31 May the old server stays up.",
    "Ben owns billing. Clara owns search. Until May 31 Omar helps. Ines reviews. Nadia pays.",
    # A week, a month or a sprint that something happens in, or is about.
    "This week we shipped the new editor and it is stable.",
    "This week we will deploy version 3.",
    "This week is the last one before the audit.",
    "The release is this week.",
    "The invoice is due this week.",
    "We are launching the shop this month.",
    "We decided this week that Ben is the lead.",
    "This month's invoice is in the folder.",
    "Revenue is 3 million this quarter.",
    "This month the certificate is renewed.",
    "Is Omar on call this week?",
    "Omar might be on call this week.",
    "The goal for this sprint is a faster start.",
    "The tickets for this sprint are in Linear.",
    "We fixed the login for this sprint.",
    "The audit will happen during Q1 2027.",
    "The migration is during Q1 2027.",
    "Sales were low during Q1 2026.",
    "The heating is off during December.",
    "The books are closed during Q1.",
    # Impossible or unclear days.
    "Deploys are frozen until 5/6.",
    "Deploys are frozen until 13/32.",
    "The hotline is open until 24/7 support starts.",
    "Deploys are frozen until 31 June.",
    "Deploys are frozen until 2026-13-01.",
    "Keep it until 1 March.",
    "The moon landing anniversary is on 20 July.",
    "Ben joined on 1 March 2024.",
    "Ben comes from March.",
)


@pytest.mark.parametrize("text", READ)
def test_an_interval_that_is_said_plainly_is_read(text: str) -> None:
    assert describe_interval(*read_validity(text, SAID, UTC), UTC) == READ[text]


@pytest.mark.parametrize("text", NOT_READ)
def test_a_time_that_is_only_mentioned_is_not(text: str) -> None:
    assert read_validity(text, SAID, UTC) == NOTHING_READ


def test_an_end_includes_its_day_and_a_beginning_begins_with_it() -> None:
    read = read_validity("From 1 May until 31 May, Clara leads the team.", SAID, UTC)
    assert read.from_ms == parse_time("2026-05-01", local=False)
    assert read.until_ms == parse_time("2026-06-01", local=False)


@pytest.mark.parametrize(
    ("typed", "end", "expected"),
    [
        ("2026-05-31", False, "2026-05-31"),
        ("2026-05-31", True, "2026-06-01"),
        ("31 May", True, "2026-06-01"),
        ("may 31", True, "2026-06-01"),
        ("end of Q3", True, "2026-10-01"),
        ("now", False, "2026-04-15T12:00"),
        ("Now", True, "2026-04-15T12:00"),
        ("yesterday", False, "2026-04-14"),
        ("yesterday", True, "2026-04-15"),
        ("today", True, "2026-04-16"),
        ("tomorrow", False, "2026-04-16"),
        ("friday", True, "2026-04-18"),
        ("30d", True, "2026-05-15T12:00"),
        ("in 2 weeks", False, "2026-04-29T12:00"),
        ("2026-05-31T18:00:00Z", True, "2026-05-31T18:00"),
    ],
)
def test_times_as_people_type_them(typed: str, end: bool, expected: str) -> None:
    assert parse_moment(typed, SAID, end=end, zone=UTC) == parse_time(expected, local=False)


@pytest.mark.parametrize("typed", ["", "soon", "31 June", "version 3", "-5d"])
def test_what_is_no_time_is_refused_with_an_example(typed: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_moment(typed, SAID, end=True, zone=UTC)
    assert "2026-05-31" in refused.value.hint
