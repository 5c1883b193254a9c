"""Names that are known beforehand: products, given names, and the nouns that say what a thing is."""

from __future__ import annotations

from collections.abc import Mapping

# Products that teams run or rent, and libraries and tools that they build with, spelt as their makers do. Left out is
# what is an ordinary word too: "the express train", "click here", "go".
SERVICES = frozenset(
    "Adyen Airflow Akamai Algolia Ansible ArangoDB Artifactory Asana Auth0 AWS Azure BigQuery Bitbucket Braintree"
    " Buildkite Cassandra Celery CircleCI ClickHouse Cloudflare CloudFront CloudWatch Cloudinary CockroachDB"
    " Confluence Couchbase CouchDB Databricks Datadog DigitalOcean Docker Dockerhub DynamoDB EC2 ECS EKS Elasticsearch"
    " etcd Fastly Figma Firebase Firestore Fivetran FusionAuth GCP Gerrit GitHub GitLab Gitea GKE Grafana Graylog"
    " HAProxy Heroku Hetzner HubSpot InfluxDB Intercom Jaeger Jenkins Jira Kafka Keycloak Kibana Kubernetes"
    " LaunchDarkly LDAP Linode Logstash Loki Looker Mailchimp Mailgun MariaDB Meilisearch Memcached Metabase MinIO"
    " Mixpanel MongoDB MySQL NATS Neo4j Netlify NewRelic nginx Nginx NGINX Notion Okta Opensearch OpenSearch PagerDuty"
    " PayPal pgbouncer PgBouncer PlanetScale Pinecone Postgres PostgreSQL PostHog Prometheus Qdrant RabbitMQ Rancher"
    " RDS Redis Redshift Rundeck S3 Salesforce SendGrid Sentry Shopify Slack Snowflake SonarQube Splunk SQS Stripe"
    " Supabase TeamCity Terraform Traefik Trello Trino Twilio Typesense Upstash Varnish Vault Vercel Vultr Weaviate"
    " Zendesk ZooKeeper Zookeeper".split()
)
LIBRARIES = frozenset(
    "Alembic Angular AngularJS asyncio Axum Babel Biome Bootstrap boto3 CMake conda cube.js Cypress Dagster dbt Deno"
    " Detox Django duckdb DuckDB Electron Ecto Elixir Erlang esbuild ESLint eslint ExpressJS FastAPI fastapi Fastify"
    " Flask Flutter Gradle GraphQL gRPC Gunicorn gunicorn Hibernate Homebrew HTMX htmx httpx Jest jQuery JUnit Kotlin"
    " Ktor LangChain Laravel Lerna LlamaIndex lodash Lodash Luxon Maven MobX Mypy mypy NestJS NextAuth Next.js next.js"
    " Node.js node.js npm npx NumPy numpy Nuxt Nx OkHttp ONNX OpenSSL OpenTelemetry pandas Pandas PHPUnit pip pipx"
    " Playwright pnpm Polars polars Prettier Prisma Protobuf protobuf psycopg pydantic Pydantic Pyright pyright pytest"
    " PyTorch RSpec Rails React Redux Rollup Ruff ruff RxJS SciPy scikit-learn Selenium Sequelize Serde SkiaSharp"
    " Sidekiq spaCy SQLAlchemy SQLite sqlite Svelte SvelteKit Symfony Tailwind TailwindCSS Tauri TensorFlow tokio"
    " Tokio Turborepo TypeORM TypeScript uvicorn Uvicorn Vite Vitest Vue Vue.js Vuex webpack Webpack"
    " Yarn Zod Zustand".split()
)
# Other names of the same thing, in lower case.
SAME_PRODUCT: Mapping[str, str] = {
    "postgres": "PostgreSQL",
    "pg": "PostgreSQL",
    "k8s": "Kubernetes",
    "nginx": "NGINX",
    "zookeeper": "ZooKeeper",
    "opensearch": "OpenSearch",
    "nodejs": "Node.js",
    "nextjs": "Next.js",
    "tailwindcss": "Tailwind",
    "vue.js": "Vue",
    "elastic search": "Elasticsearch",
}

# Given names of people; those that are words, months or places too need a verb that only people do.
GIVEN_NAMES = frozenset(
    "Aaron Abdul Adam Aditi Adrian Agnes Ahmed Aisha Akira Alan Alejandro Alessandro Alex Alexander Alexandra"
    " Alexandre Alexei Ali Alice Alicia Alina Alison Amanda Amelia Amina Amir Amit Amy Ana Anastasia Anders Andrea"
    " Andreas Andrei Andrew Andrzej Andy Angela Anika Anil Anita Anja Anjali Anke Ann Anna Anne Annika Anthony Antoine"
    " Antonia Antonio Anton Arjun Arne Arthur Arun Astrid Aya Ayesha Barbara Bastian Beatriz Ben Benedikt Benjamin"
    " Bernd Beth Bianca Birgit Björn Bob Boris Brandon Brian Bruno Caleb Camila Camille Carl Carla Carlos Carmen Carol"
    " Caroline Catherine Cecilia Charles Charlotte Chiara Chloe Chloé Chris Christian Christina Christine Christoph"
    " Christopher Claire Clara Claudia Clemens Colin Connor Cristina Daan Damien Dan Daniel Daniela Daria David Deepak"
    " Denis Dennis Derek Diana Diego Dieter Dimitri Dmitri Dominik Dorothea Dylan Edgar Eduardo Edward Ekaterina Elena"
    " Eleanor Elias Elif Elisa Elisabeth Elizabeth Ella Ellen Emil Emilia Emily Emma Enrique Eric Erica Erik Esther"
    " Ethan Eva Evelyn Fabian Fabio Farah Fatima Felipe Felix Fernanda Fernando Finn Fiona Florian Frances Francesca"
    " Francesco Francisco Frank Franziska Frederik Friedrich Gabriel Gabriela Gareth Gary Geoff George Georg Gerald"
    " Gerhard Gianluca Giovanni Giulia Greg Gregor Guillaume Gustavo Hamza Hannah Hanna Hans Harriet Hassan Heather"
    " Heidi Heinrich Helen Helena Hélène Helga Henrik Henry Hiroshi Holger Hugo Ian Ibrahim Igor Ilya Ines Ingrid"
    " Irene Irina Isabel Isabella Ivan Jackie Jacob Jacques Jakob Jakub James Jan Jana Jane Janet Jason Javier Jean"
    " Jeff Jennifer Jens Jeremy Jessica Jim Joana Joanna João Jochen Joe Joel Johan Johanna Johannes John Jon Jonas"
    " Jonathan Jorge José Josef Joseph Joshua Juan Judith Julia Julian Juliane Julie Julien Jürgen Kai Karen Karim"
    " Karin Karl Karolina Katarina Kate Katharina Katherine Kathrin Katie Katja Kavya Keiko Keith Kelly Kenji Kevin"
    " Khalid Kim Kirsten Klaus Konrad Konstantin Krzysztof Kyle Lara Larissa Lars Laura Laurent Lea Leah Léa Leila"
    " Lena Leo Leon Leonard Leonie Liam Lina Linda Lisa Lorenzo Louis Louise Luca Lucas Lucia Lucy Luis Luisa Lukas"
    " Luke Lydia Maciej Madeleine Magdalena Malik Manuel Marc Marcel Marcin Marco Marcos Marcus Margaret Maria María"
    " Mariana Marie Marina Mario Marion Markus Marta Martha Martin Martina Mary Mateo Mateusz Mathias Mats Matt Matteo"
    " Matthew Matthias Matthieu Maurice Max Maximilian Maya Megan Mehmet Mei Mei-Lin Mélanie Melissa Mia Michael"
    " Michaela Michal Michele Michelle Miguel Mikael Mike Mila Milan Miriam Mohamed Mohammed Monica Monika Moritz"
    " Muhammad Nadia Nadine Natalia Natalie Natasha Nathan Neha Niamh Nicholas Nick Nico Nicola Nicolas Nicole Niels"
    " Nikita Nikolai Nils Nina Noah Noor Nora Norbert Oleg Olga Oliver Olivia Olivier Omar Oscar Oskar Otto Pablo"
    " Paolo Patricia Patrick Paul Paula Pauline Pavel Pedro Peter Petra Philip Philipp Philippe Pierre Piotr Priya"
    " Rachel Rafael Rahul Rainer Raj Rajesh Ralf Ramona Raphael Rashid Ravi Rebecca Regina Renate Ricardo Richard"
    " Robert Roberto Roland Roman Ronald Rosa Ruth Ryan Sabine Sabrina Salma Sam Samantha Samir Samuel Sandra Sandro"
    " Sanjay Sara Sarah Sascha Sebastian Selim Serge Sergei Sergio Shreya Siddharth Silke Silvia Simon Simone Sina"
    " Sofia Sofie Sonja Sophia Sophie Stefan Stefanie Stefano Steffen Stephan Stephanie Stephen Steve Steven Sunita"
    " Susan Susanne Suzanne Svenja Sven Sylvia Takeshi Tamara Tanja Tara Tatiana Teresa Theo Theresa Thomas Thorsten"
    " Tim Timo Tobias Tom Tomas Tomás Tomasz Torsten Tracy Udo Ulrich Ulrike Uma Ursula Uwe Valentina Valentin Valerie"
    " Vanessa Vera Veronica Victoria Vijay Vikram Viktor Vincent Virginia Vivek Volker Walter Wei Werner Wilhelm"
    " William Wojciech Wolfgang Xavier Xiao Yan Yara Yasmin Yuki Yusuf Yvonne Zainab Zeynep Zofia Zoe Zoë".split()
)

# What the last noun of "X is our internal deploy tool" makes of X.
_KIND_NOUNS = {
    "person": "lead leader manager engineer developer designer architect analyst admin administrator founder cofounder"
    " ceo cto cfo coo pm owner maintainer contractor consultant colleague intern boss director tester scientist writer"
    " recruiter accountant lawyer",
    "service": "service server api gateway database db queue broker cache cluster provider host platform system backend"
    " frontend app application tool bot worker scheduler daemon proxy warehouse dashboard bus crm cms pipeline site"
    " website registry hoster cloud cdn",
    "library": "library package framework orm sdk module plugin client-library compiler linter formatter bundler"
    " test-runner toolkit",
    "project": "repository repo monorepo",
    "thing": "customer client vendor supplier partner product codename environment region table topic bucket branch",
}
KIND_OF_NOUN: Mapping[str, str] = {noun: kind for kind, nouns in _KIND_NOUNS.items() for noun in nouns.split()}

# Capitalised words that are no names of people: where they stand at the beginning of a sentence, and groups of people.
NO_PEOPLE = frozenset(
    "Monday Tuesday Wednesday Thursday Friday Saturday Sunday January February March April May June July August"
    " September October November December Legal Marketing Finance Security Support Sales Product Design Engineering"
    " Management Operations Ops Platform Infra Infrastructure Procurement Compliance Accounting Customers Customer"
    " Users User Clients Client Everyone Everybody Nobody Someone Somebody Anyone People Developers Reviewers Admins"
    " Staff Leadership Team Teams Agent Agents Claude Copilot Cursor Gemini Codex ChatGPT The This That These Those It"
    " We I You They He She There Here What When Where Who Why How If And But Or So Then Also Not No Yes Please Never"
    " Always Our My Your Their His Her Its One Two Three Both All Some Any Each Every Other Others Nothing Everything"
    " Something Today Tomorrow Yesterday Production Staging Python Java Ruby Rust Go Linux Windows Chrome Firefox"
    " Safari English German French Europe Germany France Brazil London Berlin Paris Europeans Apple Google Microsoft"
    " Amazon Facebook Meta Which Whose Mr Mrs Ms Dr Prof Old Big Little Cousin Uncle Aunt Mum Dad".split()
)

# Words before "service", "library" or "repository" that only describe one: adjectives, and what any of them may be.
DESCRIBING = frozenset(
    "a an the this that these those our your my their its his her each every any some no one all both other another"
    " same new old whole own main single first second third last next previous current existing future different"
    " similar public private internal external shared common central local remote global open closed legacy modern"
    " native custom standard default simple small large big huge tiny fast slow cheap free paid good bad better best"
    " worse right wrong real fake dummy mock test testing tests production prod staging live dev development demo"
    " temporary throwaway separate dedicated managed hosted cloud third-party first-party open-source in-house"
    " upstream downstream rest http json web mobile desktop client server api rpc soap graphql sql nosql relational"
    " document key-value primary secondary replica read write main-memory in-memory customer user users team company"
    " and or of for to in with from by as at on is are was were be been which what whose such only also just even more"
    " most many few several two three four per via using use uses used popular official unofficial well-known"
    " underlying actual entire possible potential additional extra required optional missing broken running failing"
    " stable unstable latest older newer corresponding respective relevant specific particular certain various"
    " multiple individual wrapped helper utility stateless stateful background customer-facing self-hosted on-premise"
    " standalone git".split()
)
