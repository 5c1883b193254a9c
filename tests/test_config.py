"""Settings: defaults < file < environment < command line, and clear words for what is wrong."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from commonplace.config import Settings, listed, load
from commonplace.errors import InvalidInput


def environment(**names: str) -> dict[str, str]:
    return {"HOME": "/nowhere", **names}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "data"


def write(folder: Path, text: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "config.toml").write_text(text, encoding="utf-8")


def test_defaults_are_safe_and_local() -> None:
    settings = load(env=environment())
    assert settings == Settings(data_dir=settings.data_dir)
    assert (settings.host, settings.durability, settings.embedder) == ("127.0.0.1", "full", "builtin")
    assert settings.database == settings.data_dir / "commonplace.db"


def test_command_line_beats_environment_beats_file_beats_default(folder: Path) -> None:
    write(folder, 'port = 1\nprofile = "kiro"\nspace = "file"\nbusy_timeout = 7\n')
    env = environment(COMMONPLACE_DATA_DIR=str(folder), COMMONPLACE_PORT="2", COMMONPLACE_SPACE="env")
    settings = load({"space": "line", "host": None}, env)
    assert (settings.profile, settings.port, settings.space) == ("kiro", 2, "line")
    assert (settings.busy_timeout, settings.host) == (7.0, "127.0.0.1")
    assert isinstance(settings.busy_timeout, float)


def test_the_data_folder_is_the_first_that_is_named(tmp_path: Path) -> None:
    one, two, three = (str(tmp_path / name) for name in ("one", "two", "three"))
    ours, seeds = {"COMMONPLACE_DATA_DIR": two}, {"KIRO_MEMORY_DATA_DIR": three}
    assert load({"data_dir": one}, environment(**ours, **seeds)).data_dir == Path(one)
    assert load(env=environment(**ours, **seeds)).data_dir == Path(two)
    assert load(env=environment(**seeds)).data_dir == Path(three)
    assert load(env=environment(COMMONPLACE_DATA_DIR="", **seeds)).data_dir == Path(three)


@pytest.mark.skipif(sys.platform != "linux", reason="the folders of Linux")
def test_without_a_name_the_data_folder_is_where_the_system_wants_it(tmp_path: Path) -> None:
    home = str(tmp_path)
    assert load(env={"HOME": home}).data_dir == tmp_path / ".local" / "share" / "commonplace"
    assert load(env={"HOME": home, "XDG_DATA_HOME": f"{home}/x"}).data_dir == tmp_path / "x" / "commonplace"


def test_a_tilde_is_the_home(home: Path) -> None:
    assert load({"data_dir": "~/memory"}).data_dir == home / "memory"


def test_a_configuration_file_may_be_elsewhere(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("port = 4321", encoding="utf-8")
    assert load(env=environment(COMMONPLACE_CONFIG=str(path))).port == 4321
    with pytest.raises(InvalidInput, match="does not exist"):
        load(env=environment(COMMONPLACE_CONFIG=str(tmp_path / "missing.toml")))


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("port = ", "not valid TOML"),
        ("prot = 1", "prot"),
        ('data_dir = "/elsewhere"', "data_dir"),
        ('port = "many"', "port"),
        ("port = true", "port"),
        ("port = 1.5", "port"),
        ("port = 65536", "port"),
        ("port = -1", "port"),
        ('profile = "everything"', "profile"),
        ("profile = 3", "profile"),
        ('embedder = "gpu"', "embedder"),
        ('embedder = "models/of-mine"', "embedder"),
        ('embedder = "endpoint"', "endpoint_url"),
        ('durability = "none"', "durability"),
        ("query_timeout = 0", "query_timeout"),
        ("query_timeout = nan", "query_timeout"),
        ("busy_timeout = inf", "busy_timeout"),
        ("endpoint_timeout = -1", "endpoint_timeout"),
        ("embedder_threads = 0", "embedder_threads"),
        ('space = ""', "space"),
        ("[endpoint]\nurl = 1", "endpoint"),
    ],
)
def test_a_wrong_value_is_named(folder: Path, text: str, statement: str) -> None:
    write(folder, text)
    with pytest.raises(InvalidInput) as refused:
        load({"data_dir": str(folder)}, environment())
    assert statement in refused.value.message
    assert refused.value.code == "VALIDATION_ERROR"


def test_an_unknown_setting_is_answered_with_the_known_ones(folder: Path) -> None:
    write(folder, "prot = 1")
    with pytest.raises(InvalidInput) as refused:
        load({"data_dir": str(folder)}, environment())
    assert "port" in refused.value.hint and "data_dir" not in refused.value.hint


def test_a_wrong_value_in_the_environment_is_named() -> None:
    with pytest.raises(InvalidInput, match="port"):
        load(env=environment(COMMONPLACE_PORT="eighty"))
    with pytest.raises(InvalidInput, match="profile"):
        load(env=environment(COMMONPLACE_PROFILE="none"))


def test_a_configuration_that_is_no_text_is_refused(folder: Path) -> None:
    folder.mkdir()
    (folder / "config.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidInput, match="cannot be read"):
        load({"data_dir": str(folder)}, environment())
    (folder / "config.toml").unlink()
    (folder / "config.toml").mkdir()
    with pytest.raises(InvalidInput, match="cannot be read"):
        load({"data_dir": str(folder)}, environment())


@pytest.mark.parametrize("name", ["~nobody-of-that-name/x", "with\0nul"])
def test_a_folder_that_cannot_be_is_a_clear_error(name: str) -> None:
    with pytest.raises(InvalidInput, match="path"):
        load({"data_dir": name}, environment())


def test_an_endpoint_is_configured_whole() -> None:
    env = environment(
        COMMONPLACE_EMBEDDER="endpoint",
        COMMONPLACE_ENDPOINT_URL="http://localhost:11434",
        COMMONPLACE_ENDPOINT_MODEL="nomic-embed-text",
    )
    settings = load(env=env)
    assert (settings.endpoint_url, settings.endpoint_model) == ("http://localhost:11434", "nomic-embed-text")


def test_a_password_is_not_shown_with_the_settings() -> None:
    settings = load(env=environment(COMMONPLACE_DATABASE_URL="postgresql://ann:swordfish@db:5432/team"))
    assert settings.database_url.endswith("/team") and "swordfish" not in repr(settings)
    for wrong in ("swordfish", "mysql://ann:swordfish@db/team"):
        with pytest.raises(InvalidInput) as refused:
            load(env=environment(COMMONPLACE_DATABASE_URL=wrong))
        assert "swordfish" not in refused.value.message + refused.value.hint


def test_replicas_are_named_like_the_database_and_beside_it() -> None:
    primary = "postgresql://ann:swordfish@db1:5432,db2:5432/team"
    replicas = "postgresql://ann:swordfish@db2/team, host=db3 password=swordfish"
    settings = load(env=environment(COMMONPLACE_DATABASE_URL=primary, COMMONPLACE_DATABASE_REPLICAS=replicas))
    assert len(listed(settings.database_replicas)) == 2 and "swordfish" not in repr(settings)
    # The second host of one address would be an address of its own.
    for url, wrong in (("", replicas), (primary, "swordfish"), (primary, primary)):
        with pytest.raises(InvalidInput, match="database_replicas") as refused:
            load(env=environment(COMMONPLACE_DATABASE_URL=url, COMMONPLACE_DATABASE_REPLICAS=wrong))
        assert "swordfish" not in refused.value.message + refused.value.hint


@pytest.mark.parametrize("text", ["rate_limit = " + "9" * 400, "port = " + "9" * 4400, "a = " + "[" * 3000])
def test_numbers_and_depths_that_nobody_means_are_refused_like_any_other_mistake(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.toml").write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInput) as error:
        load({"data_dir": str(tmp_path)}, {})
    assert error.value.hint and len(error.value.message) < 500
