"""One identity, three spellings."""

from __future__ import annotations

import subprocess
import sys
import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.errors import InvalidInput
from commonplace.model import MAX_INTEGER, Ref, new_uid, ref

NOW = 1_742_049_000_000


def milliseconds(uid: str) -> int:
    return uuid.UUID(uid).int >> 80


def test_a_uid_is_a_uuid_of_version_seven_with_its_time() -> None:
    parsed = uuid.UUID(new_uid(NOW))
    assert (parsed.version, parsed.variant) == (7, uuid.RFC_4122)
    # Another test of this process may have borrowed from the future.
    assert milliseconds(str(parsed)) >= NOW
    script = f"from commonplace.model import new_uid; print(new_uid({NOW}))"
    fresh = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert milliseconds(fresh.stdout.strip()) == NOW


@given(st.lists(st.integers(0, 2**47), min_size=1, max_size=50))
def test_uids_never_go_back_even_if_the_clock_does(times: list[int]) -> None:
    uids = [new_uid(now) for now in times]
    assert uids == sorted(uids)
    assert len(set(uids)) == len(uids)


def test_a_burst_within_one_millisecond_stays_in_order() -> None:
    far = 2**47 + 1
    uids = [new_uid(far) for _ in range(10_000)]
    assert uids == sorted(set(uids))
    assert milliseconds(uids[-1]) - milliseconds(uids[0]) <= 3


def test_threads_never_share_a_uid() -> None:
    with ThreadPoolExecutor(8) as pool:
        uids = [uid for batch in pool.map(lambda _: [new_uid(NOW) for _ in range(500)], range(8)) for uid in batch]
    assert len(set(uids)) == 4000


def test_short_ids_differ_within_a_burst() -> None:
    assert len({new_uid(NOW)[-12:] for _ in range(5000)}) == 5000


@pytest.mark.parametrize(
    "spelling",
    [
        "01959a12-5f3e-7abc-8def-0123456789ab",
        "01959A12-5F3E-7ABC-8DEF-0123456789AB",
        "01959a125f3e7abc8def0123456789ab",
        "  01959a12-5f3e-7abc-8def-0123456789ab\n",
        "#01959a12-5f3e-7abc-8def-0123456789ab",
    ],
)
def test_a_uuid_is_read_in_any_spelling(spelling: str) -> None:
    assert ref(spelling).uid == "01959a12-5f3e-7abc-8def-0123456789ab"
    assert ref(spelling).number is None


def test_numbers_short_ids_and_what_could_be_both() -> None:
    assert ref(42) == Ref("42", number=42)
    assert ref("#42") == Ref("42", number=42)
    assert ref("0123456789AB") == Ref("0123456789ab", short="0123456789ab")
    assert ref("123456789012") == Ref("123456789012", number=123456789012, short="123456789012")
    assert ref(123456789012).short is None, "a number that was given as one is no short id"


@pytest.mark.parametrize("value", [MAX_INTEGER + 1, -MAX_INTEGER - 1, 10**30, "9" * 39])
def test_a_number_no_item_can_have_is_an_id_that_nothing_answers_to(value: int | str) -> None:
    read = ref(value)
    assert (read.number, read.uid, read.short) == (None, None, None)


@pytest.mark.parametrize("value", [0, -1, MAX_INTEGER, "-5"])
def test_any_other_number_is_looked_up(value: int | str) -> None:
    assert ref(value).number == int(value)


@pytest.mark.parametrize(
    "value",
    [
        "abc",
        "12a",
        "1.0",
        "1e3",
        "0x10",
        "٣",
        "12345678901g",
        "01959a12-5f3e-7abc-8def",
        "1 2",
        "\0",
        "9" * 50,
    ],
)
def test_anything_else_is_an_id_that_nothing_answers_to(value: str) -> None:
    read = ref(value)
    assert (read.number, read.uid, read.short) == (None, None, None)


@pytest.mark.parametrize("value", [True, False, "", " ", "#"])
def test_a_truth_value_and_nothing_are_no_ids(value: bool | str) -> None:
    with pytest.raises(InvalidInput):
        ref(value)


@given(st.text(max_size=60).filter(lambda text: text.strip().removeprefix("#")))
def test_reading_an_id_never_fails_otherwise(text: str) -> None:
    assert ref(text).text == text.strip().lower().removeprefix("#")


@given(st.uuids())
def test_every_uuid_reads_back(value: uuid.UUID) -> None:
    assert ref(str(value)).uid == ref(value.hex).uid == str(value)
