"""Every error of the tree can be met: for each there is a test that has it answered at a real door."""

from __future__ import annotations

import inspect
import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.mcp.conftest import connected, data_of, play
from tests.security.named import source_of

from commonplace import errors
from commonplace.config import Settings
from commonplace.errors import CommonplaceError
from commonplace.memory.local_memory import LocalMemory, open_memory

HERE = "tests/security/test_every_error.py"
FAILOVER = "tests/store/postgres/test_failover.py"
CLI, REST = "tests/cli/test_failures.py", "tests/rest/test_sekha_errors.py"
# The test that provokes each error, and what it says of it: its code, but where another one stands for it.
PROVOKED: dict[type[CommonplaceError], tuple[str, str]] = {
    errors.CommonplaceError: (f"{CLI}::test_an_unexpected_failure_is_one_line", "INTERNAL_ERROR"),
    errors.InvalidInput: (f"{CLI}::test_wrong_use_is_exit_code_2", "VALIDATION_ERROR"),
    errors.UnknownArgument: (f"{HERE}::test_an_unknown_argument_is_answered_with_the_known_ones", "VALIDATION_ERROR"),
    errors.NothingToRemember: (f"{HERE}::test_what_is_private_leaves_nothing_to_remember", "VALIDATION_ERROR"),
    errors.WrongMethod: (
        "tests/rest/test_api_handler.py::test_a_wrong_method_is_told_the_right_ones",
        "METHOD_NOT_ALLOWED",
    ),
    errors.WrongMedia: ("tests/rest/test_api_handler.py::test_another_kind_of_body_is_refused", "UNSUPPORTED_MEDIA"),
    errors.Unauthorized: ("tests/rest/test_api_handler.py::test_without_a_key_nothing_is_told", "UNAUTHORIZED"),
    errors.KeyMissing: ("tests/http_server/test_auth.py::test_without_a_key_there_is_no_way_in", "UNAUTHORIZED"),
    errors.Forbidden: ("tests/http_server/test_auth.py::test_a_key_that_may_only_read_writes_nothing", "FORBIDDEN"),
    errors.RateLimited: (f"{REST}::test_too_many_requests_are_told_how_long_to_wait", "RATE_LIMIT_EXCEEDED"),
    errors.NotFound: (f"{CLI}::test_what_is_not_there_is_exit_code_3", "NOT_FOUND"),
    errors.NoResults: ("tests/mcp/test_ecm.py::test_errors_look_as_the_reference_shows_them", "NO_RESULTS"),
    errors.Conflict: (f"{CLI}::test_a_lost_race_is_exit_code_4", "CONFLICT"),
    errors.TooLarge: (f"{CLI}::test_more_text_than_an_item_holds", "TOO_LARGE"),
    errors.TimedOut: ("tests/mcp/test_ecm.py::test_a_query_that_takes_too_long_is_interrupted", "TIMEOUT"),
    # It fails no call: searching goes on by words, and the reply says why.
    errors.EmbedderUnavailable: (f"{HERE}::test_without_its_embedder_a_search_says_so", "Keyword search only"),
    errors.RemoteError: (f"{HERE}::test_another_server_that_is_away_is_told", "REMOTE_ERROR"),
    errors.ShuttingDown: (
        "tests/http_server/test_operations.py::test_what_has_begun_is_finished_while_no_more_is_asked_for",
        "SHUTTING_DOWN",
    ),
    errors.Interrupted: (
        "tests/resident/test_stdio_front_end.py::test_a_killed_process_is_replaced_and_its_calls_are_answered",
        "INTERRUPTED",
    ),
    errors.StoreError: (
        "tests/store/postgres/test_failover.py::test_a_server_that_starts_before_its_database_works_once_it_is_there",
        "DB_ERROR",
    ),
    errors.StoreBusy: (
        f"{REST}::test_a_store_that_is_locked_is_unavailable_and_loses_nothing",
        "SERVICE_UNAVAILABLE",
    ),
    errors.StoreUnavailable: (
        "tests/cli/test_on_postgres.py::test_a_server_that_is_away_is_told_with_what_to_do",
        "SERVICE_UNAVAILABLE",
    ),
    # It fails a record, and not the call that brought it.
    errors.StoreConstraint: (
        "tests/memory/test_incoming_records.py::test_a_record_that_the_store_refuses_does_not_take_the_others_with_it",
        "The store refused",
    ),
    errors.StoreMissing: (
        "tests/http_server/test_replaced_store.py::test_a_removed_store_is_told_and_the_server_goes_on_when_it_is_back",
        "DB_MISSING",
    ),
    errors.StoreReplaced: (
        "tests/http_server/test_replaced_store.py::test_a_file_overwritten_with_nonsense_is_told_until_a_sound_one_is_there",
        "DB_REPLACED",
    ),
    errors.StoreReadOnly: (f"{CLI}::test_a_file_in_place_of_the_data_folder", "DB_READ_ONLY"),
    errors.StoreFull: (f"{CLI}::test_a_full_disk_loses_nothing", "DB_FULL"),
    errors.QuotaExceeded: ("tests/cli/test_spaces.py::test_our_own_space_stops_at_its_limit", "QUOTA_EXCEEDED"),
    errors.StoreCorrupt: (f"{CLI}::test_a_corrupt_file_is_left_alone", "DB_CORRUPT"),
    errors.StoreLocked: ("tests/cli/test_encrypt.py::test_a_store_is_encrypted_and_decrypted", "DB_LOCKED"),
    errors.StoreTooNew: (f"{CLI}::test_a_store_of_a_newer_version_is_left_alone", "DB_TOO_NEW"),
}


def tree(kind: type[CommonplaceError] = CommonplaceError) -> Iterator[type[CommonplaceError]]:
    yield kind
    for below in kind.__subclasses__():
        yield from tree(below)


def test_every_error_has_its_test() -> None:
    ours = {kind for kind in tree() if kind.__module__ == errors.__name__}
    assert ours == PROVOKED.keys()


@pytest.mark.parametrize("kind", PROVOKED, ids=lambda kind: kind.__name__)
def test_the_test_exists_and_names_the_error(kind: type[CommonplaceError]) -> None:
    id_, says = PROVOKED[kind]
    assert says in source_of(id_), f"{id_} does not say {says}"
    if kind not in (errors.EmbedderUnavailable, errors.StoreConstraint):
        assert kind.code == says


@pytest.mark.parametrize("kind", PROVOKED, ids=lambda kind: kind.__name__)
def test_every_error_is_raised_somewhere_and_drawn_in_the_tree(kind: type[CommonplaceError]) -> None:
    package = Path(inspect.getfile(errors)).parent
    raised = [path for path in package.rglob("*.py") if f"{kind.__name__}(" in path.read_text(encoding="utf-8")]
    assert [path for path in raised if path.name != "errors.py"], f"nobody raises {kind.__name__}"
    assert f"{kind.__name__} " in (errors.__doc__ or "")


def test_an_unknown_argument_is_answered_with_the_known_ones(memory: LocalMemory) -> None:
    async def story() -> None:
        async with connected(memory) as client:
            error = data_of(await client.call_tool("search", {"query": "a", "colour": "b"}))["error"]
            assert (
                error["code"] == "VALIDATION_ERROR" and "'colour'" in error["message"] and "query" in error["details"]
            )

    play(story)


def test_what_is_private_leaves_nothing_to_remember(memory: LocalMemory) -> None:
    async def story() -> None:
        async with connected(memory) as client:
            error = data_of(await client.call_tool("add_memory", {"content": "<private>mine</private>"}))["error"]
            assert error["code"] == "VALIDATION_ERROR" and "private" in error["message"] + error["details"]

    play(story)


def test_without_its_embedder_a_search_says_so(settings: Settings) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
        own_settings = replace(
            settings, embedder="endpoint", endpoint_url=url, endpoint_model="m", endpoint_timeout=2.0
        )
        memory = open_memory(own_settings)

        async def story() -> None:
            async with connected(memory) as client:
                notice = data_of(await client.call_tool("search", {"query": "anything"}))["notice"]
                assert notice.startswith("Keyword search only") and "endpoint" in notice

        play(story)
        memory.close()


def test_another_server_that_is_away_is_told(settings: Settings, tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}"
        command = ["--data-dir", str(settings.data_dir), "sync", "--to", address, "--key", "sk-sekha-x", "--json"]
        done = subprocess.run([sys.executable, "-m", "commonplace", *command], capture_output=True, check=False)
    assert json.loads(done.stdout)["error"]["code"] == "REMOTE_ERROR"
    assert done.returncode == errors.RemoteError.exit_code
