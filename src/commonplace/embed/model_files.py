"""The files of an ONNX sentence model and its tokenizer: those of the built-in one, and a folder of your own.

The built-in model is all-MiniLM-L6-v2, taught to find memories, in int8. It is part of this package, no download.

Of a folder, as model hubs have them, needed are `tokenizer.json` and an ONNX file. How the model wants to be used is
read from the files that Sentence Transformers writes beside them, where they are there: pooling, the longest text,
prefixes of questions and passages.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from commonplace.embed import ModelCost
from commonplace.embed.onnx_embedder import OnnxEmbedder, OnnxModel
from commonplace.embed.onnx_graph import CLS, LAST, MEAN, ModelFiles
from commonplace.errors import EmbedderUnavailable

# Of the built-in model.
NAME = "commonplace-memory-3/int8"
DIM = 384
MAX_TOKENS = 256
MODEL = Path(__file__).with_name("model")

# Where the ONNX file is: the first of these that is there, else the only one.
MODEL_FILES = ("model.onnx", "onnx/model.onnx", "onnx/model_quantized.onnx")
# Tokens of a text that are read if the folder does not say it, and at most: attention grows with their square.
DEFAULT_TOKENS, MOST_TOKENS = 256, 1024
# An ONNX file that keeps its weights outside is smaller than this.
WITHOUT_WEIGHTS = 32 << 20
# Part of the digest in a model's name. Raise it when vectors of the same files are made differently.
VECTORS_MADE = "1"
# Unrelated texts in several languages: how near they are to each other is how near nothing in common is.
REFERENCE_TEXTS = (
    "The train to the coast was twenty minutes late again.",
    "Her grandmother kept bees behind the old barn.",
    "Photosynthesis turns light into chemical energy.",
    "The server refuses connections after the upgrade.",
    "Interest rates were raised by a quarter of a percent.",
    "He practises the violin every evening before dinner.",
    "Die Katze schläft am liebsten auf der warmen Heizung.",
    "Der Vertrag läuft zum Ende des Monats aus.",
    "El río se desbordó después de las lluvias de abril.",
    "La receta lleva dos huevos y una cucharada de aceite.",
    "Le musée ferme ses portes à dix-huit heures.",
    "Les joueurs ont quitté le terrain sous les sifflets.",
    "这家医院新建了一个儿童病房。",
    "他昨天在山上看到了一场流星雨。",
    "新しい自転車のブレーキを調整しました。",
    "会議の資料は金曜日までに送ってください。",
)
_ADVICE = "See the page docs/use/embedding.md for what the folder needs, or set embedder to builtin; then start again."
# What Sentence Transformers does after the model that the runner does too.
_KNOWN_MODULES = frozenset({"Transformer", "Pooling", "Normalize"})
_POOLING = {"mean": MEAN, "cls": CLS, "lasttoken": LAST, "last": LAST, "mean_sqrt_len_tokens": MEAN}
_OLD_POOLING = {
    "pooling_mode_mean_tokens": MEAN,
    # Of the same direction.
    "pooling_mode_mean_sqrt_len_tokens": MEAN,
    "pooling_mode_cls_token": CLS,
    "pooling_mode_lasttoken": LAST,
}
_LFS_POINTER = b"version https://git-lfs"
# The names of files with weights, as they stand in an ONNX file that keeps its weights outside.
_EXTERNAL_DATA = re.compile(rb"\x0a\x08location\x12([\x01-\x7f])")


class MiniLM(OnnxEmbedder):
    """The built-in embedder. Its graph pools and normalises by itself (packaging/minilm_graph.py)."""

    name = NAME
    dim = DIM

    def __init__(self, threads: int = 2, folder: Path = MODEL) -> None:
        super().__init__(threads)
        self._folder = folder

    def files(self) -> ModelFiles:
        names = ("model.onnx", "token_vectors.onnx", "tokenizer.json")
        missing = [name for name in names if not (self._folder / name).is_file()]
        advice = "Install Commonplace again from its wheel, or run `make install` in a source checkout."
        if missing:
            raise EmbedderUnavailable(
                f"The built-in model is incomplete: {', '.join(missing)} not found in the package.", advice
            )
        model, tokens, tokenizer = (self._folder / name for name in names)
        return ModelFiles("The built-in model", advice, model, tokenizer, MAX_TOKENS, tokens, DIM)

    def cost(self) -> ModelCost:
        files = self.files()
        paths = (files.model, files.token_model, files.tokenizer)
        return ModelCost(sum(path.stat().st_size for path in paths if path is not None), DIM, MAX_TOKENS)


class FolderEmbedder(OnnxEmbedder):
    """The model in a folder. Its name is that of the folder and a digest of what makes its vectors."""

    reference_texts = REFERENCE_TEXTS

    def __init__(self, folder: Path, threads: int = 2) -> None:
        super().__init__(threads)
        self._folder = folder
        self._naming = threading.Lock()
        self._identity: _Identity | None = None

    @property
    def name(self) -> str:
        """Known without loading the model. Nothing is stored under the name of a folder that cannot be read."""
        try:
            return self._identified().name
        except EmbedderUnavailable as error:
            self._failure = error
            return f"{_folder_name(self._folder)}/unreadable"

    def files(self) -> ModelFiles:
        return self._identified().files

    def cost(self) -> ModelCost:
        files, dim = _read_folder(self._folder)
        size = sum(size for _path, size, _changed in _stamps(files))
        return ModelCost(size, dim if self._model is None else self._model.dim, files.max_tokens)

    def _load(self) -> OnnxModel:
        model = super()._load()
        if _stamps(model.files) != self._identified().stamps:
            raise model.files.unavailable("was changed while it was in use.")
        return model

    def _identified(self) -> _Identity:
        with self._naming:
            if self._identity is None:
                files, _dim = _read_folder(self._folder)
                try:
                    stamps = _stamps(files)
                    self._identity = _Identity(f"{_folder_name(self._folder)}/{_digest(files)}", files, stamps)
                except OSError as error:
                    raise files.unavailable(f"cannot be read: {error.strerror}.") from error
            return self._identity


@dataclass(frozen=True, slots=True)
class _Identity:
    """The name of a model, and the files that it was made from with their sizes and times."""

    name: str
    files: ModelFiles
    stamps: tuple[tuple[Path, int, int], ...]


def _read_folder(folder: Path) -> tuple[ModelFiles, int | None]:
    """The files of a model, and the dimension of its vectors if the folder says it."""
    title = f"The model {_folder_name(folder)}"
    try:
        if not folder.is_dir():
            raise EmbedderUnavailable(
                f"{title} is not there: its folder does not exist.", "Correct embedder. " + _ADVICE
            )
        model, tokenizer = _find_model(folder, title), folder / "tokenizer.json"
        if not tokenizer.is_file():
            raise EmbedderUnavailable(
                f"{title} has no tokenizer.json.",
                "Put the tokenizer.json of the same model into the folder; other forms of tokenizers are not read.",
            )
        for path in (model, tokenizer):
            with path.open("rb") as file:
                if file.read(len(_LFS_POINTER)) == _LFS_POINTER:
                    raise EmbedderUnavailable(
                        f"{title} is incomplete: {path.name} is only a pointer of Git LFS.",
                        "Run `git lfs pull` in the folder, or download that file.",
                    )
        return _described(_Config(folder, title), title, model, tokenizer)
    except OSError as error:
        raise EmbedderUnavailable(f"{title} cannot be read: {error.strerror}.", _ADVICE) from error


def _described(config: _Config, title: str, model: Path, tokenizer: Path) -> tuple[ModelFiles, int | None]:
    modules = {str(one.get("type", "")).rpartition(".")[2]: str(one.get("path", "")) for one in config.modules()}
    inner = modules.get("Transformer", "")
    pooling_config = config.read(modules.get("Pooling", "1_Pooling"), "config.json")
    model_config = config.read(inner, "config.json") or config.read("", "config.json")
    prompts = config.read("", "config_sentence_transformers.json")
    layers_after = set(modules) - _KNOWN_MODULES
    files = ModelFiles(
        title,
        _ADVICE,
        model,
        tokenizer,
        max_tokens=_max_tokens(config, inner, model_config),
        pooling=_pooling(pooling_config, title),
        query_prefix=_prompt(prompts, "query"),
        passage_prefix=_prompt(prompts, "document", "passage", "corpus"),
        pad_id=_whole(model_config.get("pad_token_id")) or 0,
        needs_text_output=bool(layers_after),
    )
    widths = [pooling_config.get(name) for name in ("word_embedding_dimension", "embedding_dimension")]
    widths += [model_config.get(name) for name in ("hidden_size", "d_model", "dim")]
    return files, None if layers_after else next(filter(None, map(_whole, widths)), None)


def _find_model(folder: Path, title: str) -> Path:
    for name in MODEL_FILES:
        if (folder / name).is_file():
            return folder / name
    found = sorted(path for place in (folder, folder / "onnx") for path in place.glob("*.onnx"))
    if len(found) == 1:
        return found[0]
    if found:
        raise EmbedderUnavailable(
            f"{title} has several ONNX files: {', '.join(path.name for path in found)}.",
            "Call the one to use model.onnx, or remove the others.",
        )
    raise EmbedderUnavailable(
        f"{title} has no ONNX file: there is no model.onnx in its folder, nor in onnx/ below it.",
        "Download the model in the ONNX format, or export it with `optimum-cli export onnx --model NAME FOLDER`.",
    )


class _Config:
    """The JSON files of a folder. One that is not there is empty."""

    def __init__(self, folder: Path, title: str) -> None:
        self._folder, self._title = folder, title

    def read(self, inner: str, name: str) -> dict[str, Any]:
        found = self._load(inner, name)
        return found if isinstance(found, dict) else {}

    def modules(self) -> list[dict[str, Any]]:
        found = self._load("", "modules.json")
        return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []

    def _load(self, inner: str, name: str) -> Any:
        path = self._folder / inner / name
        if ".." in PurePosixPath(inner).parts or not path.is_file():
            return None
        try:
            return json.loads(path.read_bytes())
        except (ValueError, RecursionError) as error:
            shown = PurePosixPath(inner, name)
            raise EmbedderUnavailable(
                f"{self._title} has a file {shown} that is not valid JSON.", "Download that file again."
            ) from error


def _max_tokens(config: _Config, inner: str, model_config: dict[str, Any]) -> int:
    sentence = config.read(inner, "sentence_bert_config.json") or config.read("", "sentence_bert_config.json")
    positions = _whole(model_config.get("max_position_embeddings"))
    if positions and positions % 16 == 2:
        # RoBERTa's family keeps two of them for itself.
        positions -= 2
    limits = [
        _whole(sentence.get("max_seq_length")),
        _whole(config.read("", "tokenizer_config.json").get("model_max_length")),
        positions,
    ]
    return min(min(filter(None, limits), default=DEFAULT_TOKENS), MOST_TOKENS)


def _pooling(config: dict[str, Any], title: str) -> str | None:
    modes = [name for name in config if name.startswith("pooling_mode_") and config[name] is True]
    known: dict[str, str] = _OLD_POOLING
    if isinstance(config.get("pooling_mode"), str):
        modes, known = [config["pooling_mode"]], _POOLING
    if not modes:
        return None
    if len(modes) > 1 or modes[0] not in known:
        raise EmbedderUnavailable(
            f"{title} pools its tokens by {' and '.join(modes)}; only mean, cls and last are known.",
            "Choose another model, or export this one with the output sentence_embedding and remove 1_Pooling.",
        )
    return known[modes[0]]


def _prompt(config: dict[str, Any], *names: str) -> str:
    """The prefix under the first of these names, else the default one."""
    prompts = config.get("prompts")
    if not isinstance(prompts, dict):
        return ""
    found = (prompts.get(name) for name in (*names, config.get("default_prompt_name")))
    return next((one for one in found if isinstance(one, str)), "")


def _whole(value: object) -> int | None:
    """A positive whole number, or None for anything else, also for those that mean "no limit"."""
    good = isinstance(value, int) and not isinstance(value, bool) and 0 < value < 1_000_000
    return value if good and isinstance(value, int) else None


def _weights(files: ModelFiles) -> list[Path]:
    """The ONNX file, and the files beside it in which it keeps its weights."""
    content = files.model.read_bytes() if files.model.stat().st_size < WITHOUT_WEIGHTS else b""
    found = (content[at.end() : at.end() + at[1][0]] for at in _EXTERNAL_DATA.finditer(content))
    names = {name.decode("utf-8", "replace").replace("\0", "") for name in found}
    external = [files.model.parent / name for name in sorted(names) if not {"..", "/"} & set(PurePosixPath(name).parts)]
    return [files.model, *(path for path in external if path.is_file())]


def _stamps(files: ModelFiles) -> tuple[tuple[Path, int, int], ...]:
    found = [(path, path.stat()) for path in (files.tokenizer, *_weights(files))]
    return tuple((path, stat.st_size, stat.st_mtime_ns) for path, stat in found)


def _digest(files: ModelFiles) -> str:
    """Of all that decides about a vector: the weights, the tokenizer, and how the model is used."""
    use = (files.max_tokens, files.pooling, files.query_prefix, files.passage_prefix, files.pad_id)
    digest = hashlib.sha256(json.dumps([VECTORS_MADE, *use, files.needs_text_output]).encode())
    for path in (files.tokenizer, *_weights(files)):
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()[:12]


def _folder_name(folder: Path) -> str:
    """Its name; in the cache of a model hub, where folders are called by revisions, that of the model."""
    cached = folder.parent.parent.name if folder.parent.name == "snapshots" else ""
    return cached.removeprefix("models--").replace("--", "/") or folder.name or "folder"
