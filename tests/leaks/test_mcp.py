"""No resource and no prompt says a secret, neither one that was kept by others nor one in what is asked for."""

from __future__ import annotations

import re
from urllib.parse import quote

import mcp_types as types
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from tests.leaks.planting import SEEDS, Seed, leaks
from tests.mcp.conftest import ERAS, connected, play
from tests.whole_items import all_words

from commonplace.mcp.resources_and_prompts import PROMPTS, TEMPLATES
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.remember import NewItem, remember

CARELESS = ("commonplace.memory.draft.redact", "commonplace.text.project_names.redact")


@pytest.fixture(params=SEEDS, ids=lambda seed: seed.kind)
def seed(request: pytest.FixtureRequest, memory: LocalMemory, monkeypatch: pytest.MonkeyPatch) -> Seed:
    """Planted in everything that is kept, as it was before anyone knew this kind of secret."""
    planted: Seed = request.param
    with monkeypatch.context() as patched:
        for name in CARELESS:
            patched.setattr(name, lambda text: text)
        for project in ("my-api", planted.text, None):
            for type_ in ("rule", "decision"):
                reply_text = f"{type_} of {project}: {planted.text}"
                remember(
                    memory,
                    NewItem(reply_text, type=type_, title=planted.text, project=project, tags=[planted.text[:90]]),
                )
    assert leaks(all_words(memory.store.get([1]).values()))
    return planted


async def read(client: Client, uri: str) -> str:
    try:
        result = await client.read_resource(uri)
    except MCPError as error:
        return repr(error.error)
    return "".join(one.text for one in result.contents if isinstance(one, types.TextResourceContents))


async def prompted(client: Client, name: str, arguments: dict[str, str]) -> str:
    try:
        return repr(await client.get_prompt(name, arguments))
    except MCPError as error:
        return repr(error.error)


def test_no_resource_says_one(memory: LocalMemory, seed: Seed) -> None:
    async def story() -> None:
        async with connected(memory, ERAS[0]) as client:
            listed = (await client.list_resources()).resources
            texts = {resource.uri: await read(client, resource.uri) for resource in listed}
            for name in ("1", "my-api", seed.text):
                for template in TEMPLATES:
                    uri = re.sub(r"{\w+}", "{}", template.uri_template)
                    texts[uri] = await read(client, uri.format(quote(name, safe="")))
            assert len(texts) > len(listed) and any(
                "REDACTED" in text or "[private]" in text for text in texts.values()
            )
            assert [(uri, text) for uri, text in texts.items() if leaks(text)] == []
            assert leaks(repr(listed)) == []

    play(story)


def test_no_prompt_says_one(memory: LocalMemory, seed: Seed) -> None:
    async def story() -> None:
        async with connected(memory, ERAS[0]) as client:
            lines = [await prompted(client, "start_task", {"project": "my-api", "task": "deploy"})]
            for prompt in PROMPTS.values():
                arguments = {argument.name: seed.text for argument in prompt.arguments or ()}
                lines.append(await prompted(client, prompt.name, arguments))
                lines.append(await prompted(client, prompt.name, {**arguments, seed.text: seed.text}))
                lines.append(await prompted(client, seed.text, arguments))
            argument = {"name": "project", "value": ""}
            completed = await client.complete(types.PromptReference(name="start_task", type="ref/prompt"), argument)
            assert completed.completion.values
            assert [text for text in (*lines, repr(completed)) if leaks(text)] == []

    play(story)
