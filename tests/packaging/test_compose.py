"""The compose file: what can be said of it without running containers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]

from commonplace import config
from commonplace.http_server.middleware import READY

FOLDER = Path(__file__).parents[2] / "packaging"
COMPOSE: dict[str, Any] = yaml.safe_load((FOLDER / "compose.yaml").read_text(encoding="utf-8"))
SERVERS = ("one", "two")
# A name and a version; no name of a registry before them.
PINNED = re.compile(r"[a-z]+(?:/[a-z]+)?:\d+\.\d+\.\d+(?:-[a-z0-9]+)*")


def settings_of(service: str, folder: Path) -> config.Settings:
    """What a server of the file reads from its environment."""
    env: dict[str, str] = COMPOSE["services"][service]["environment"]
    given = {"POSTGRES_PASSWORD": "p", "COMMONPLACE_NAME": "memory.example.com"}
    filled = {name: re.sub(r"\$\{(\w+):\?\}", lambda found: given[found[1]], value) for name, value in env.items()}
    return config.load(env={"COMMONPLACE_DATA_DIR": str(folder), **filled})


def test_every_setting_of_the_servers_exists_and_is_valid(tmp_path: Path) -> None:
    known = {f"COMMONPLACE_{name.upper()}" for name in config.Settings.__dataclass_fields__}
    for service in SERVERS:
        assert COMPOSE["services"][service]["environment"].keys() <= known
        settings = settings_of(service, tmp_path)
        assert settings.database_url.startswith("postgresql://commonplace:p@database:")
        assert set(config.listed(settings.allowed_hosts)) == {"memory.example.com", *SERVERS}
        assert (settings.log_format, settings.host) == ("json", "0.0.0.0")
        grace = int(COMPOSE["services"][service]["stop_grace_period"].removesuffix("s"))
        assert grace > settings.shutdown_delay + settings.shutdown_grace


def test_images_have_versions_and_come_from_wherever_they_are_looked_for() -> None:
    images = {name: service["image"] for name, service in COMPOSE["services"].items()}
    assert {images.pop(name) for name in SERVERS} == {"commonplace"}
    images["base"] = next(
        line.split()[1] for line in (FOLDER / "Dockerfile").read_text().splitlines() if line.startswith("FROM")
    )
    assert [image for image in images.values() if not PINNED.fullmatch(image)] == []


def test_only_servers_that_are_ready_are_asked() -> None:
    proxy = (FOLDER / "Caddyfile").read_text(encoding="utf-8")
    assert f"health_uri {READY}" in proxy and "one:8765 two:8765" in proxy
    notices = sum(int(seconds) for seconds in re.findall(r"health_(?:interval|timeout) (\d+)s", proxy))
    delay = float(COMPOSE["x-server"]["environment"]["COMMONPLACE_SHUTDOWN_DELAY"])
    assert 0 < notices <= delay, "a server that ends is answered for until the proxy has noticed"
    for service in SERVERS:
        assert f":8765{READY}" in COMPOSE["services"][service]["healthcheck"]["test"][-1]
    (network,) = COMPOSE["networks"]["default"]["ipam"]["config"]
    assert network["subnet"] == COMPOSE["x-server"]["environment"]["COMMONPLACE_TRUSTED_PROXIES"]


def test_each_server_has_a_folder_of_its_own_and_the_file_names_nothing_unknown() -> None:
    services = COMPOSE["services"]
    named = {volume.partition(":")[0] for service in services.values() for volume in service.get("volumes", ())}
    assert named - {"./Caddyfile"} == COMPOSE["volumes"].keys()
    assert services["one"]["volumes"] != services["two"]["volumes"]
    for service in services.values():
        assert set(service.get("depends_on", ())) <= services.keys()
