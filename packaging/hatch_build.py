"""The build hook: a wheel, editable or not, carries the embedding model inside."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

MODEL = Path("src", "commonplace", "embed", "model")


class ModelHook(BuildHookInterface[Any]):
    """Runs before the files of a wheel are collected. A source distribution stays without the model."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        # Building calls nobody either; see `embed/model_files.py`.
        os.environ.update(ORT_DISABLE_TELEMETRY="1", ORT_TELEMETRY_DISABLED="1")
        here = str(Path(self.root, "packaging"))
        sys.path.insert(0, here)
        try:
            import minilm_artefacts

            if minilm_artefacts.ensure(Path(self.root) / MODEL):
                self.app.display_info(f"Built the embedding model in {MODEL.as_posix()}")
        finally:
            sys.path.remove(here)
