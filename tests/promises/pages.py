"""What the pages for users promise without exception, each with a test that proves it.

A sentence with "always", "never", "nothing", "at most" or "byte for byte" is such a promise. Whoever writes one on
these pages names its test here, or says it without that word. An empty list is a sentence that promises nothing: an
example, a condition, or a heading about what went wrong.
"""

from __future__ import annotations

Proofs = dict[str, list[str]]

PAGES: dict[str, Proofs] = {
    "README.md": {},
    "docs/compare.md": {"*Here:* capturing costs nothing": []},
    "docs/index.md": {},
    "docs/faq.md": {
        "At most 2.5 kB when a session starts": [
            "tests/memory/test_session_context.py::test_it_keeps_to_its_budget_as_printed"
        ],
        "Text between `<private>` and `</private>` is never stored": [
            "tests/capture/hooks/test_noise_filter.py::test_what_is_private_is_never_stored",
            "tests/text/test_private_tags.py::test_what_is_private_is_left_out",
        ],
        "**What does it cost?** Nothing": [],
    },
    "docs/start/connect.md": {
        "have the tools, but capture nothing": [
            "tests/doctor/test_connections.py::test_no_hooks_is_a_remark_and_hooks_alone_a_failure"
        ],
        "`--no-hooks` adds only the tools; nothing is captured": [
            "tests/hosts/connect/test_connections.py::test_hooks_can_be_left_out_later"
        ],
        "A second run changes nothing.": ["tests/hosts/connect/test_round_trip.py::test_every_byte_comes_back"],
        "`disconnect` restores the file byte for byte if nothing else in it changed": [
            "tests/hosts/connect/test_round_trip.py::test_every_byte_comes_back"
        ],
    },
    "docs/start/install.md": {
        "nothing is downloaded later": [
            "tests/packaging/test_wheel.py::test_the_installed_model_works_without_a_network",
            "tests/packaging/test_wheel.py::test_the_installed_command_starts_without_a_network",
        ],
    },
    "docs/start/tutorial.md": {},
    "docs/troubleshooting.md": {
        "**Nothing is captured.**": [],
        "**It finds nothing.** Nothing stored is likely to answer": [],
    },
    "docs/use/about.md": {},
    "docs/use/backup.md": {
        "Backups you made yourself, and those made before an upgrade, repair or restore, are never deleted": [
            "tests/memory/test_backup.py::test_days_and_weeks_are_kept"
        ],
    },
    "docs/use/captured.md": {
        '"Always use pnpm here", "Never deploy on Fridays"': [
            "tests/text/test_proposed_memories.py::test_a_statement_is_found_with_its_kind"
        ],
        '"Customer data must never leave the EU"': [
            "tests/text/test_proposed_memories.py::test_a_statement_is_found_with_its_kind"
        ],
        '("Never mind the mobile team")': [
            "tests/capture/hooks/test_open_steps.py::test_a_later_turn_or_session_closes_them"
        ],
        'Plans, questions and "not added yet" close nothing': [
            "tests/capture/hooks/test_open_steps.py::test_a_later_turn_or_session_closes_them"
        ],
    },
    "docs/use/contradictions.md": {
        "Nothing is replaced until you decide": [
            "tests/memory/test_contradictions.py::test_what_is_reported_is_not_replaced"
        ],
        '"Squash commits before merging" and "Never squash commits before merging"': [
            "tests/memory/test_contradictions.py::test_an_earlier_statement_is_found_by_its_words"
        ],
        "Two statements either contradict each other or say the same, never both": [
            "tests/memory/test_twins.py::test_what_says_the_same_is_never_a_contradiction_as_well"
        ],
    },
    "docs/use/conversations.md": {
        "A pinned one is never proposed for pruning": [
            "tests/dialects/test_sekha_pruning.py::test_what_is_pinned_or_archived_is_never_proposed"
        ],
    },
    "docs/use/dashboard.md": {
        "loads nothing from elsewhere": [
            "tests/web/test_page_handler.py::test_every_page_tells_browsers_to_run_nothing_but_ours"
        ],
    },
    "docs/use/doctor.md": {
        "It never changes what people and agents wrote": [
            "tests/memory/test_repair.py::test_whatever_is_derived_is_made_anew"
        ],
    },
    "docs/use/embedding.md": {
        "the number of tokens that are read (else 256; at most 1,024)": [
            "tests/embed/test_model_folder.py::test_texts_are_read_as_far_as_the_model_reads"
        ],
    },
    "docs/use/hooks.md": {
        "A hook never blocks the editor": [
            "tests/capture/hooks/test_hook_command.py::test_a_host_that_leaves_standard_input_open_is_not_waited_for",
            "tests/capture/hooks/test_context_cache.py::test_a_context_that_takes_too_long_is_not_waited_for",
            "tests/capture/hooks/test_context_cache.py::test_whoever_holds_the_write_lock_is_not_waited_for",
            "tests/capture/hooks/test_context_cache.py::test_a_damaged_store_or_configuration_harms_no_session",
        ],
        "It takes at most 625 tokens": ["tests/memory/test_session_context.py::test_it_keeps_to_its_budget_as_printed"],
        "starts with the rules and constraints, in at most 300 tokens": [
            "tests/capture/hooks/test_hints_before_tools.py::test_a_sub_agent_is_told_only_so_much"
        ],
        'With "Use pnpm, never npm", `npm install` and `npx jest` show it, `pnpm add react` does not': [
            "tests/capture/hooks/test_hints_before_tools.py::test_the_examples_of_the_page_are_true"
        ],
        '"Keep functions short" is never shown there.': [
            "tests/capture/hooks/test_hints_before_tools.py::test_the_examples_of_the_page_are_true"
        ],
        "`pnpm remove axios` shows nothing": [
            "tests/memory/test_rule_checks.py::test_a_breach_is_told_from_what_is_innocent"
        ],
        "Nothing is stopped.": [
            "tests/capture/hooks/test_hints_before_tools.py::test_the_examples_of_the_page_are_true"
        ],
        "At most three memories appear at a time, marked as data, none of other projects, and all others once": [
            "tests/capture/hooks/test_hints_before_tools.py::test_three_at_most_are_told_at_a_time",
            "tests/capture/hooks/test_hints.py::test_nothing_is_told_twice_in_a_session",
            "tests/capture/hooks/test_hints.py::test_what_is_forgotten_or_replaced_or_elsewhere_is_not_told",
        ],
        "Cursor shows nothing at a prompt": [
            "tests/capture/hooks/test_hints.py::test_a_host_that_takes_in_nothing_is_told_nothing"
        ],
        "Windsurf only captures, and shows nothing at the start either": [
            "tests/capture/hooks/test_context_cache.py::test_every_host_gets_its_shape"
        ],
    },
    "docs/use/import.md": {
        "If nothing can be read, the exit code is 2": [
            "tests/cli/test_import.py::test_when_nothing_can_be_read_the_command_fails_and_says_why"
        ],
        "`--undo` forgets what came with it and nothing else": [
            "tests/cli/test_import.py::test_an_import_is_taken_back_as_a_whole_and_brought_back",
            "tests/cli/test_import.py::test_messages_that_joined_an_older_conversation_are_taken_back_alone",
        ],
    },
    "docs/use/keys.md": {},
    "docs/use/moving-in.md": {"nothing may be encrypted": []},
    "docs/use/operations.md": {},
    "docs/use/overview.md": {},
    "docs/use/past-sessions.md": {
        "a summary in at most six phases": [
            "tests/dialects/test_ecm_explain.py::test_many_days_are_told_in_a_few_phases"
        ],
        "`Unresolved:` means that it never was": [],
    },
    "docs/use/profile.md": {},
    "docs/use/review.md": {},
    "docs/use/rules.md": {
        "what should always be done": [],
        "an agent gets that project's memories and the global ones, never another project's": [
            "tests/security/test_between_projects.py::test_a_door_that_is_asked_about_one_project_tells_of_no_other",
            "tests/security/test_between_projects.py::test_no_tool_tells_of_another_project_unasked",
        ],
    },
    "docs/use/rule-files.md": {
        "It changes none of them, and a second run adds nothing": [
            "tests/hosts/test_learn.py::test_learning_twice_adds_nothing"
        ],
        "At most 500 files are read": ["tests/hosts/test_learn.py::test_only_so_many_files_are_read"],
    },
    "docs/use/search.md": {
        "If nothing is likely to answer, search says so: *Nothing clearly answers this": [
            "tests/memory/test_likelihood.py::test_the_command_says_it_and_leaves_out_what_hardly_answers",
            "tests/memory/test_likelihood.py::test_the_tools_of_each_dialect_say_that_nothing_clearly_answers",
            "tests/memory/test_likelihood.py::test_the_dashboard_says_it_in_the_same_words",
        ],
    },
    "docs/use/secrets.md": {
        "text between `<private>` and `</private>` is never stored": [
            "tests/capture/hooks/test_noise_filter.py::test_what_is_private_is_never_stored",
            "tests/text/test_private_tags.py::test_what_is_private_is_left_out",
        ],
    },
    "docs/use/sync.md": {
        "share single memories, and nothing else": [
            "tests/remote/test_sync.py::test_one_memory_is_promoted_and_nothing_else"
        ],
    },
    "docs/use/team.md": {
        "A server takes nothing with the tag `private`, except from an admin": [
            "tests/http_server/test_permissions.py::test_nothing_private_is_stored_where_others_read_it"
        ],
    },
    "docs/use/transcripts.md": {
        "Commonplace reads those files and never changes them": [
            "tests/cli/test_ingest.py::test_the_files_of_agents_stay_as_they_are"
        ],
    },
    "docs/use/validity.md": {},
}
