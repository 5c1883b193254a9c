"""What the two Kiro Memory documents promise, and what we decided where they are silent."""

from __future__ import annotations

from tests.promises.promise import fields, promises

TOOLS = "Kiro Memory, MCP Tools Reference"
SERVER = "Kiro Memory, MCP Server"
DECIDED = "decided where the reference is open"
BAD_INPUT = "decided: bad input"

PROMISES = (
    *promises(
        "kiro:server",
        SERVER,
        stdio="the server is spawned as a subprocess and speaks JSON-RPC on its standard streams",
        command="`mcp` after the program's name starts the server",
        four_tools="it has the tools search, timeline, get_observations and get_context",
        data_dir="KIRO_MEMORY_DATA_DIR says where the data is",
    ),
    *promises(
        "kiro:search",
        TOOLS,
        query_required="query is a required string",
        project_filter="project limits the results to one project",
        project_omitted="without a project all projects are searched, in the profile kiro",
        limit_default="limit is 10 by default",
        limit_max="limit is 50 at most",
        limit_per_category="limit counts observations and summaries apart",
        plain_question="a question in natural language is answered",
        semantic="with embeddings, what means the same is found although no word is shared",
        text_only="without embeddings, keyword search answers alone",
        example_call="the reference's example call answers with the edit and the session's summary",
        example_response="the reply looks like the reference's example",
        created_at="created_at is ISO 8601 in UTC with milliseconds, created_at_epoch the same in milliseconds",
        is_stale="is_stale is 1 once a file that the observation modified has changed since, else 0",
        discovery_tokens="discovery_tokens is a whole number of tokens",
    ),
    *promises("kiro:search", SERVER, second_example_call="the server page's example call answers likewise"),
    *fields(
        "kiro:search:observations",
        TOOLS,
        "id number, type string, title string, subtitle string?, text string?, narrative string?, "
        "facts string?, concepts string?, files_read string?, files_modified string?, project string, "
        "created_at string, created_at_epoch number, is_stale number, discovery_tokens number",
    ),
    *fields(
        "kiro:search:summaries",
        TOOLS,
        "id number, session_id string, project string, request string?, investigated string?, "
        "learned string?, completed string?, next_steps string?, notes string?, created_at string, "
        "created_at_epoch number",
    ),
    *promises(
        "kiro:query",
        TOOLS,
        keyword="authentication: what holds the word",
        phrase='"JWT token validation": what holds the words side by side',
        both="authentication AND middleware: what holds both",
        either="authentication OR authorization: what holds one of them",
        exclude="authentication NOT OAuth: what holds the first and not the second",
        prefix="authen*: what holds a word that begins so",
        column_title="title:auth*: only where the title has it",
        column_concepts="concepts:security: only where the concepts have it",
    ),
    *promises(
        "kiro:timeline",
        TOOLS,
        anchor_required="anchor_id is a required number",
        before_default="depth_before is 5 by default",
        before_max="depth_before is 50 at most",
        after_default="depth_after is 5 by default",
        after_max="depth_after is 50 at most",
        by_time="neighbours stand by their created_at_epoch, oldest first",
        positions="position is negative before the anchor, 0 at it, positive after it",
        example_call="the reference's example call answers with three before, the anchor and what came after",
    ),
    *fields(
        "kiro:timeline:timeline",
        TOOLS,
        "id number, type string, title string, subtitle string?, narrative string?, project string, "
        "created_at string, created_at_epoch number, position number",
    ),
    *promises(
        "kiro:get_observations",
        TOOLS,
        ids_required="ids is a required array of numbers",
        ids_max="at most 50 ids per call",
        full_records="records are complete, `facts` and long texts included",
        example_call="the reference's example call answers with the four records",
    ),
    *promises("kiro:get_observations", SERVER, second_example_call="the server page's example call answers likewise"),
    *promises(
        "kiro:get_context",
        TOOLS,
        project_required="project is a required string",
        budget_default="token_budget is 2000 by default",
        budget_kept="the reply stays within the budget",
        budget_used="items are included until the budget is exhausted",
        token_estimate="an item costs a quarter of the characters of its content, rounded up; tokensUsed is their sum",
        query_optional="query is optional and ranks by relevance",
        weights_with_query="with a query: 45% semantic, 35% fts5, 10% recency, 10% projectMatch",
        weights_without_query="without: 70% recency, 30% projectMatch",
        score_range="score lies between 0 and 1",
        semantic_zero="semantic is 0 without embeddings",
        fts5_zero="fts5 is 0 without a query",
        project_match="projectMatch is 1.0 for the same project and 0.5 for others; others come last",
        knowledge_types="decision, constraint, heuristic and rejected are knowledge",
        knowledge_boost="knowledge counts three times its score",
        knowledge_first="knowledge stands at the top, whatever its age, and within the budget",
        example_call="the reference's example call answers with the decision before the edit",
        example_response="the reply looks like the reference's example",
    ),
    *promises(
        "kiro:get_context",
        SERVER,
        half_life="recency halves every 7 days",
        checkpoint="the latest checkpoint is part of the package",
        summaries="the project's summaries are part of the package",
        second_example_call="the server page's example call answers likewise",
    ),
    *fields(
        "kiro:get_context",
        TOOLS,
        "project string, items array, summaries array, tokenBudget number, tokensUsed number",
    ),
    *fields(
        "kiro:get_context:items",
        TOOLS,
        "id number, title string, content string, type string, project string, created_at string, "
        "created_at_epoch number, score number, signals object",
    ),
    *fields(
        "kiro:get_context:signals",
        TOOLS,
        "semantic number, fts5 number, recency number, projectMatch number",
    ),
    *promises(
        "kiro:decided",
        DECIDED,
        limit_clamped="a limit out of range is moved to its border",
        depth_clamped="depths out of range are moved to their border",
        wrong_types="wrong types are errors",
        timeline_project="timeline neighbours come from all projects, but from one only for a key of one project",
        order_asked="get_observations answers in the order asked, each once",
        missing_named="get_observations names the ids it did not find",
        too_many_ids="more than 50 ids are an error",
        unknown_anchor="a timeline of an unknown or forgotten id is an error",
        boost_orders="the knowledge boost decides the order; the reported score is without it",
        left_out_told="a context tells whether something was left out, and of how much",
        long_texts_cut="a search result's texts are cut at 4,000 characters, a timeline's at 300",
        one_memory="what another dialect wrote is found",
        aliases="a project answers to its short and its long name",
        secrets_stay="secrets are redacted again on the way out",
        notice_once="that meaning does not work is said once, not in every reply",
    ),
    *promises(
        "kiro:bad-input",
        BAD_INPUT,
        unknown_argument="an unknown argument is an error that names the known ones",
        empty_query="an empty query is an error",
        long_query="a query of more than 10,000 characters is an error",
        unbalanced="unbalanced quotes and parentheses are plain words",
        strange_text="NUL bytes, halves of characters and emoji are no error",
        no_such_id="an id that does not exist is told as such",
        null="null means omitted, so a required argument that is null is missing",
    ),
)
