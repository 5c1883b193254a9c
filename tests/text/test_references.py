"""What a text refers to: the same file, error or name is the same however it is written, and prose is none of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.text.references import (
    BACK_REFERENCES,
    MOST_ERRORS,
    MOST_FILES,
    MOST_NAMES,
    file_key,
    references,
)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("look at src/auth.ts please", "src/auth.ts"),
        ("look at `src/auth.ts`, please", "src/auth.ts"),
        ("it is in (src/auth.ts).", "src/auth.ts"),
        ("see src/auth.ts:12", "src/auth.ts"),
        ("see src/auth.ts:12:7: error", "src/auth.ts"),
        ("src/auth.ts(3,4): error TS2304: Cannot find name", "src/auth.ts"),
        ("src/auth.ts#L12-L14", "src/auth.ts"),
        ("tests/test_auth.py::test_login", "tests/test_auth.py"),
        ("./a/b.go:12", "a/b.go"),
        ("../lib/x.rs", "lib/x.rs"),
        (r"C:\work\y.py", "C:/work/y.py"),
        (r"src\deep\z.cs", "src/deep/z.cs"),
        ("[guide](docs/guide.md)", "docs/guide.md"),
        ("path=conf/app.toml", "conf/app.toml"),
        ("file:///home/a/b.py#L3", "/home/a/b.py"),
        ("edit **README.md** now", "README.md"),
        ("the Dockerfile is old", ""),
        ("./Dockerfile", "Dockerfile"),
        ("assets/logo.blend1", "assets/logo.blend1"),
        ("a folder src/auth/", ""),
        ("and/or e.g. i.e. 3.14 1.5/2.0 v1.2.3", ""),
        ("node.js and Next.js", ""),
        ("https://example.com/index.html", ""),
        ("github.com/acme/my-api", ""),
        ("done.Then we went.", ""),
    ],
)
def test_a_file_is_its_path_without_a_line(text: str, path: str) -> None:
    assert references(text).files == ((path,) if path else ())


def test_one_file_has_one_key_however_it_is_reached() -> None:
    spelt = ["/home/me/api/src/auth.ts", "src/auth.ts", r"C:\w\SRC\Auth.ts", "api/src/auth.ts"]
    assert {file_key(references(text).files[0]) for text in spelt} == {"src/auth.ts"}
    assert file_key("packages/a/index.ts") != file_key("packages/b/index.ts")
    assert file_key("one/src/index.ts") != file_key("two/src/index.ts"), "many folders have one"


@pytest.mark.parametrize(
    ("once", "again"),
    [
        (
            "TypeError: Cannot read properties of undefined (reading 'map') at /home/me/x.tsx:33:12",
            'It says TypeError: Cannot read properties of undefined (reading "map") at C:\\w\\x.tsx:7:1',
        ),
        ("error[E0308]: mismatched types\n --> src/main.rs:4:5", "   error[E0308]: mismatched types"),
        ("src/x.ts(3,4): error TS2304: Cannot find name 'foo'.", "a.ts(9,1): error TS2304: Cannot find name 'foo'."),
        ("FAILED tests/x.py::test_y - assert 1 == 2", "FAILED /w/tests/x.py::test_y - assert 3 == 4"),
        ("npm ERR! code ELIFECYCLE in 2025-01-02T10:11:12.5Z", "npm ERR! code ELIFECYCLE in 2026-11-12T01:02:03Z"),
        ("10:00:01 ERROR could not reach 10.0.0.3:5432", "23:11:59,123 ERROR could not reach 10.0.0.77:1"),
        ("panic: nil pointer at 0x00ff12", "panic: nil pointer at 0xdeadbeef"),
        ("java.lang.IllegalStateException: pool 3 is closed", "java.lang.IllegalStateException: pool 8 is closed"),
        ("make: webpack: command not found", "make: webpack: command not found"),
        ("the process exited with code 137: out of memory", "exited with code 1: out of memory"),
    ],
)
def test_the_same_error_twice_is_equal(once: str, again: str) -> None:
    (error,) = references(once).errors
    assert references(again).errors == (error,)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("KeyError: 'user_id' is not there", "KeyError: 'order_id' is not there"),
        ("error TS2304: Cannot find name 'foo'", "error TS2551: Cannot find name 'foo'"),
        ("bash: webpack: command not found", "bash: cargo: command not found"),
    ],
)
def test_different_errors_differ(one: str, other: str) -> None:
    assert references(one).errors
    assert references(one).errors != references(other).errors


@pytest.mark.parametrize(
    "text", ["There was no error at all.", "handle errors: later", "error: x", "Error", "exit code 0"]
)
def test_talk_of_errors_is_no_error(text: str) -> None:
    assert references(text).errors == ()


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("we call getUserById here", "getUserById"),
        ("`getUserById(id)`", "getUserById"),
        ("class PaymentGateway:", "PaymentGateway"),
        ("the HTTPServer class", "HTTPServer"),
        ("set MAX_RETRY_COUNT=3", "MAX_RETRY_COUNT"),
        ("uses _private_name_", "private_name"),
        ("book.store.get", "book.store.get"),
        ("render() is slow", "render"),
    ],
)
def test_names_of_code_are_found(text: str, name: str) -> None:
    assert references(text).names == (name,)


@pytest.mark.parametrize(
    "text",
    [
        "Ordinary words are not names of code.",
        "GitHub and JavaScript and PostgreSQL",
        "the function(s) and the error(s)",
        "done.Then it was late",
        "d41d8cd98f00b204e9800998ecf8427e a1_b2_c3_d4 x_y",
        "https://example.com/getUserById",
        "TypeError",
        "[Edit] file_path: auth.ts\nold_string: one\nnew_string: two",
        "[Task] subagent_type: Explore\nrun_in_background: true",
    ],
)
def test_ordinary_words_are_no_names(text: str) -> None:
    assert references(text).names == ()


@pytest.mark.parametrize(
    ("text", "reach"),
    [
        ("As we discussed, use tabs", "turn"),
        ("Please continue", "turn"),
        ("go on", "turn"),
        ("you said it would work", "turn"),
        ("do it like before", "turn"),
        ("Your previous suggestion was better", "turn"),
        ("I see that error too", "error"),
        ("the same issue as before", "error"),
        ("it still fails", "error"),
        ("it happened again", "error"),
        ("Like last time, the build stops", "session"),
        ("pick up where we left off", "session"),
        ("Add a login page", None),
        ("To be continued in the docs", None),
    ],
)
def test_what_refers_back(text: str, reach: str | None) -> None:
    assert references(text).back == reach


def test_every_rule_of_the_table_can_be_met_and_only_an_opening_refers_back() -> None:
    assert {reach for reach, _rule in BACK_REFERENCES} == {"error", "turn", "session"}
    assert references("word " * 200 + "as we discussed").back is None


def test_each_kind_is_bounded_and_the_telling_come_first() -> None:
    text = " ".join(f"src/part{n}/file{n}.py callNumber{n}Again" for n in range(50))
    text += "\n" + "\n".join(f"ValueError: field {chr(97 + n) * 5} is wrong" for n in range(20))
    found = references(f"{text} src/most.py src/most.py often_said often_said")
    assert (len(found.files), len(found.errors), len(found.names)) == (MOST_FILES, MOST_ERRORS, MOST_NAMES)
    assert found.files[0] == "src/most.py"
    assert found.names[0] == "often_said"


@given(st.text(max_size=400))
def test_any_text_can_be_read(text: str) -> None:
    found = references(text)
    assert found == references(text)
    assert len(found.files) <= MOST_FILES and len(found.errors) <= MOST_ERRORS and len(found.names) <= MOST_NAMES
    assert all([*found.files, *found.errors, *found.names])


@given(
    st.lists(
        st.sampled_from(["src/a.py", "TypeError: it is gone now\n", "getUserById", "so", "(", "\\", "::", "/", "."])
    )
)
def test_pieces_in_any_order_can_be_read(pieces: list[str]) -> None:
    references("".join(pieces))
    references(" ".join(pieces))
