"""Where projects stand, over HTTP: one as a whole, all of them in short."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from commonplace.dialects.overview_records import BriefList, OverviewRecord, brief_record, overview_record
from commonplace.memory.local_memory import LocalMemory
from commonplace.memory.project_overview import CARDS, project_briefs, project_overview
from commonplace.rest import fields
from commonplace.rest.endpoint import Answer, ApiRequest
from commonplace.rest.fields import Strict

MAX_CARDS = 100


class OfProject(Strict):
    """Which project."""

    project: fields.ProjectName | None = Field(None, description="What belongs to none if omitted.")


class HowMany(Strict):
    """How many projects."""

    limit: Annotated[int, Field(ge=1, le=MAX_CARDS), fields.WHOLE] = CARDS


def read_overview(memory: LocalMemory, request: ApiRequest[OfProject, None]) -> Answer[OverviewRecord]:
    """What is open, decided, contradicted, failed and fixed in a project, who works on what, and its last week."""
    return Answer(overview_record(project_overview(memory, request.query.project)))


def list_briefs(memory: LocalMemory, request: ApiRequest[HowMany, None]) -> Answer[BriefList]:
    """Every project in short: what is open, the last decision and the last session."""
    return Answer({"projects": [brief_record(brief) for brief in project_briefs(memory, request.query.limit)]})
