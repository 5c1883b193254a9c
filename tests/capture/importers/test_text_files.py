"""Conversations as Markdown and plain text: speakers are found where there are some, and nowhere else."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.capture.import_report import Skipped
from commonplace.capture.importers import text_files
from commonplace.memory.conversations import NewConversation

OURS = """# Database Optimization Discussion

**Folder:** /work/engineering  
**Importance:** 9/10  
**Created:** 2026-01-20  
**Messages:** 2  
**Words:** 450

---

## Conversation

**User** (2026-01-20 10:00:00):  
How can we optimize our database queries?

**Assistant** (2026-01-20 10:00:05):  
Here are several strategies:
1. Add indexes

## User
is a heading of the answer.
"""  # noqa: W291 (two spaces break a line in Markdown)


def read_markdown(text: str, name: str = "notes/chat.md") -> NewConversation:
    (found,) = text_files.read_markdown(io.BytesIO(text.encode()), name)
    assert isinstance(found, NewConversation), found
    return found


def read_text(text: str, name: str = "chat.txt") -> NewConversation:
    (found,) = text_files.read_plain_text(io.BytesIO(text.encode()), name)
    assert isinstance(found, NewConversation), found
    return found


def turns_of(conversation: NewConversation) -> list[tuple[str, str]]:
    return [(message.role, message.content) for message in conversation.messages]


def test_our_own_export_comes_back() -> None:
    conversation = read_markdown(OURS)
    assert (conversation.label, conversation.folder, conversation.importance) == (
        "Database Optimization Discussion",
        "/work/engineering",
        9.0,
    )
    assert turns_of(conversation) == [
        ("user", "How can we optimize our database queries?"),
        ("assistant", "Here are several strategies:\n1. Add indexes\n\n## User\nis a heading of the answer."),
    ]
    assert [message.at_ms for message in conversation.messages] == [1_768_903_200_000, 1_768_903_205_000]


LAYOUTS = {
    "headings": "# Colours\n\n## User\n\nName one\n\n## Assistant\n\nBlue\n",
    "headings with colons": "# Colours\n\n### You:\nName one\n### ChatGPT:\nBlue",
    "headings that say said": "# Colours\n\n#### You said:\nName one\n#### ChatGPT said:\nBlue",
    "headings with emoji": "# Colours\n## 👤 Human\nName one\n## 🤖 Claude\nBlue",
    "bold": "# Colours\n\n**User:** Name one\n\n**Assistant:** Blue",
    "bold, colon outside": "# Colours\n\n**User**: Name one\n\n**Assistant**: Blue",
    "bold, alone": "# Colours\n\n**Human**\n\nName one\n\n**AI**\n\nBlue",
    "rules between": "# Colours\n\n---\n\n## User\nName one\n\n---\n\n## Assistant\nBlue\n\n---\n",
    "windows lines": "# Colours\r\n\r\n## User\r\nName one\r\n\r\n## Assistant\r\nBlue\r\n",
}


@pytest.mark.parametrize("text", LAYOUTS.values(), ids=LAYOUTS)
def test_common_layouts_of_chats(text: str) -> None:
    conversation = read_markdown(text)
    assert conversation.label == "Colours" and turns_of(conversation) == [("user", "Name one"), ("assistant", "Blue")]


def test_times_beside_speakers_are_kept() -> None:
    conversation = read_markdown(
        "**User** (2025-03-15 14:30:00): Name one\n\n**Assistant** (2025-03-15T14:31:00Z): Blue"
    )
    assert [message.at_ms for message in conversation.messages] == [1_742_049_000_000, 1_742_049_060_000]


def test_a_text_without_speakers_is_one_message_under_its_title() -> None:
    conversation = read_markdown("# Notes on Redis\n\nKeep sessions there.\n\n## System\n\nOne node.\n")
    assert conversation.label == "Notes on Redis"
    assert turns_of(conversation) == [("user", "Keep sessions there.\n\n## System\n\nOne node.")]


def test_without_a_title_the_file_names_it() -> None:
    assert read_markdown("Only words.").label == "chat"
    assert turns_of(read_markdown("# Only a title")) == [("user", "Only a title")]


def test_speakers_in_code_or_in_another_shape_belong_to_the_answer() -> None:
    text = "## User\nShow a chat\n## Assistant\n```\n## User\nHi\n```\n**User:** quoted\n**Assistant:** too\n"
    (_asked, (_role, answer)) = turns_of(read_markdown(text))
    assert answer == "```\n## User\nHi\n```\n**User:** quoted\n**Assistant:** too"


def test_a_fence_that_nothing_closes_swallows_nobody() -> None:
    assert len(read_markdown("## User\n```\nopen\n## Assistant\nBlue\n").messages) == 2


def test_what_stands_before_the_first_speaker_is_kept() -> None:
    conversation = read_markdown("# Colours\n\nExported on Monday.\n\n## User\nName one\n## Assistant\nBlue")
    assert turns_of(conversation)[0] == ("system", "Exported on Monday.")


PLAIN = {
    "user and assistant": "User: Name one\nAssistant: Blue",
    "human and ai": "Human: Name one\n\nAI: Blue\n",
    "times": "You (2025-03-15 14:30): Name one\nChatGPT (2025-03-15 14:31): Blue",
    "own lines": "User:\nName one\n\nAssistant:\nBlue",
}


@pytest.mark.parametrize("text", PLAIN.values(), ids=PLAIN)
def test_plain_text_with_speakers(text: str) -> None:
    assert turns_of(read_text(text)) == [("user", "Name one"), ("assistant", "Blue")]


def test_plain_text_without_both_sides_is_one_message() -> None:
    text = "Dear diary,\nuser: is a column\nURL: https://a.org:80"
    conversation = read_text(text, "diary.txt")
    assert turns_of(conversation) == [("user", text)] and conversation.label == "diary"


def test_the_same_words_said_twice_are_two_messages_and_again_the_same_two() -> None:
    text = "User: Go on\nAI: Yes\nUser: Go on\nAI: Yes\n"
    identities = [message.identity for message in read_text(text).messages]
    assert len(set(identities)) == 4
    grown = read_text(text + "User: Stop\n")
    assert [message.identity for message in grown.messages][:4] == identities and grown.key == read_text(text).key


def test_another_file_of_the_same_name_is_another_conversation() -> None:
    assert read_text("User: A\nAI: B").key != read_text("User: C\nAI: B").key


@pytest.mark.parametrize("raw", ["Grüße".encode("latin-1"), "User: x".encode("utf-16"), b"", b" \n"], ids=repr)
def test_what_is_no_text_is_skipped_with_its_reason(raw: bytes) -> None:
    for reader in (text_files.read_markdown, text_files.read_plain_text):
        (found,) = reader(io.BytesIO(raw), "a.txt")
        assert isinstance(found, Skipped) and found.unit == "file" and found.why


def test_a_text_too_long_for_a_file_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_files, "MAX_TEXT_BYTES", 10)
    (found,) = text_files.read_plain_text(io.BytesIO(b"x" * 11), "a.txt")
    assert isinstance(found, Skipped) and "more than 10 bytes" in found.why


@given(text=st.text(max_size=300))
def test_no_text_raises(text: str) -> None:
    raw = text.encode("utf-8", "surrogatepass")
    for reader in (text_files.read_markdown, text_files.read_plain_text):
        assert len(list(reader(io.BytesIO(raw), "a.md"))) == 1


@pytest.mark.parametrize("part", ["\n", " ", "**", "# ", "---\n", "User: ", "**a:** x\n", "```\n", "("], ids=repr)
def test_a_long_text_of_nothing_much_is_read_in_linear_steps(part: str) -> None:
    text = "# T\n\n" + part * 200_000
    assert len(read_markdown(text + "\n## User\nHi\n## Assistant\nHello\n").messages) >= 2
    assert read_text(text + "x").messages
