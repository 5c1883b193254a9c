"""Tools and services of one kind, of which a project chooses one: what the one can do, another can too. Data."""

from __future__ import annotations

from commonplace.text.tokens import fold, stem

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


def _families() -> dict[str, frozenset[int]]:
    found: dict[str, set[int]] = {}
    for number, line in enumerate(_FAMILIES.strip().splitlines()):
        for name in line.split():
            found.setdefault(stem(fold(name)), set()).add(number)
    return {name: frozenset(numbers) for name, numbers in found.items()}


FAMILIES = _families()
"""The stem of each name, with the numbers of the kinds that it belongs to."""
