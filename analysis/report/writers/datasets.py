"""A study as a dataset for others: a folder for Hugging Face, and one after Psych-DS."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analysis.ratings.cells import csv_lines
from analysis.ratings.published import ABOUT, PublishedRatings

if TYPE_CHECKING:
    import pyarrow as pa

CLIPS = {  # every column of the clips, and what it holds
    "stimulus": "key of the clip",
    "condition": ABOUT["condition"],
    "label": "what the condition is called",
    "role": "test, reference, anchor, or trap",
    **{name: ABOUT[name] for name in ("system", "voice", "item", "dimension", "language")},
    "trap": "kind of trap; empty for rated clips",
    "duration_s": "length in seconds",
}
OF_AUDIO = {"text": "transcript", "file": "the clip as raters heard it (FLAC)"}
TYPES = {
    **dict.fromkeys(("position", "latency_ms", "plays"), "int64"),
    **dict.fromkeys(("score", "heard_fraction", "duration_s"), "float64"),
    **dict.fromkeys(("trap_passed", "counts", "headphones", "simulated"), "bool"),
}
SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (10**6, "100K<n<1M"))
AT_ONCE = 64  # clips in memory


@dataclass(frozen=True)
class Dataset:
    """What leaves: ratings, clips (rows with the keys of `CLIPS`, `text` and `path`), and terms.

    ``audio_licence`` is empty where audio and texts stay. ``notes`` are sentences on what stayed.
    """

    key: str
    title: str
    language: str
    ratings: PublishedRatings
    clips: Sequence[Mapping[str, Any]]
    ratings_licence: str
    audio_licence: str
    notes: Sequence[str]

    @property
    def clip_columns(self) -> dict[str, str]:
        """The columns of the clips; text and sound only where they have a licence."""
        return CLIPS | (OF_AUDIO if self.audio_licence else {})


def write_hugging_face(dataset: Dataset, folder: Path) -> None:
    """README.md (the card), and ratings and stimuli as Parquet with the audio inside."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    ratings = dataset.ratings
    schema = pa.schema([(name, _arrow(name)) for name in ratings.columns])
    for name in ("ratings", "stimuli"):
        (folder / name).mkdir(parents=True)
    table = pa.Table.from_pylist(ratings.rows, schema=schema)
    pq.write_table(table, folder / "ratings" / "train.parquet")
    schema = _clip_schema(dataset)
    with pq.ParquetWriter(folder / "stimuli" / "train.parquet", schema) as writer:
        for some in _in_lots(dataset.clips):
            rows = [_with_audio(dataset, clip) for clip in some]
            writer.write_table(pa.Table.from_pylist(rows, schema=schema))
    (folder / "README.md").write_text(_card(dataset), "utf-8")


def write_psych_ds(dataset: Dataset, folder: Path) -> None:
    """dataset_description.json, data/*_data.csv, README.md; clips under materials/."""
    (folder / "data").mkdir(parents=True)
    study = f"study-{re.sub('[^A-Za-z0-9]', '', dataset.key) or 'one'}"
    ratings = "".join(csv_lines(dataset.ratings.rows, dataset.ratings.columns))
    columns = list(dataset.clip_columns)
    rows = [{**clip, "file": f"materials/{clip_file(clip['stimulus'])}"} for clip in dataset.clips]
    clips = "".join(csv_lines(rows, columns))
    for name, text in (("ratings", ratings), ("stimuli", clips)):
        path = folder / "data" / f"{study}_description-{name}_data.csv"
        path.write_text(text, "utf-8", newline="")
    if dataset.audio_licence:
        for clip in dataset.clips:
            target = folder / "materials" / clip_file(clip["stimulus"])
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(Path(clip["path"]).read_bytes())
    described = json.dumps(_description(dataset), ensure_ascii=False, indent=2)
    (folder / "dataset_description.json").write_text(described + "\n", "utf-8")
    (folder / "README.md").write_text(_words(dataset, dataset.clip_columns), "utf-8")


def _arrow(name: str) -> pa.DataType:
    import pyarrow as pa

    kinds = {"int64": pa.int64(), "float64": pa.float64(), "bool": pa.bool_()}
    return kinds.get(TYPES.get(name, ""), pa.string())


def _clip_schema(dataset: Dataset) -> pa.Schema:
    """With the note by which the library `datasets` takes the column for sound."""
    import pyarrow as pa

    fields = [(name, _arrow(name)) for name in dataset.clip_columns if name != "file"]
    if not dataset.audio_licence:
        return pa.schema(fields)
    features: dict[str, Any] = {
        name: {"dtype": TYPES.get(name, "string"), "_type": "Value"} for name, _ in fields
    }
    features["audio"] = {"_type": "Audio"}
    note = {"huggingface": json.dumps({"info": {"features": features}})}
    audio = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    return pa.schema([*fields, ("audio", audio)], metadata=note)


def _with_audio(dataset: Dataset, clip: Mapping[str, Any]) -> dict[str, Any]:
    if not dataset.audio_licence:
        return dict(clip)
    content = Path(clip["path"]).read_bytes()
    return {**clip, "audio": {"bytes": content, "path": clip_file(clip["stimulus"])}}


def clip_file(key: str) -> str:
    """Return a file name of a clip's key, with a mark where the key holds what no file name may."""
    plain = re.sub(r"[^A-Za-z0-9_.-]", "_", key)
    mark = "" if plain == key else f"-{hashlib.sha256(key.encode()).hexdigest()[:8]}"
    return f"{plain}{mark}.flac"


def _in_lots(clips: Sequence[Mapping[str, Any]]) -> Iterator[Sequence[Mapping[str, Any]]]:
    for start in range(0, len(clips), AT_ONCE):
        yield clips[start : start + AT_ONCE]


def _licence(dataset: Dataset) -> dict[str, str]:
    """One licence by its id; two as a name that says both."""
    ratings, audio = dataset.ratings_licence, dataset.audio_licence
    if audio in ("", ratings):
        return {"license": ratings.lower()}
    return {"license": "other", "license_name": f"ratings {ratings}, audio {audio}"}


def _card(dataset: Dataset) -> str:
    """The card: its head is JSON line by line, which YAML reads as it is."""
    count = len(dataset.ratings.rows)
    head: dict[str, Any] = {
        **_licence(dataset),
        "language": [dataset.language],
        "pretty_name": dataset.title,
        "task_categories": ["text-to-speech"],
        "tags": ["listening-test", "speech-quality", *_methods(dataset)],
        "size_categories": [next((name for most, name in SIZES if count < most), "n>1M")],
        "configs": [
            {"config_name": name, "data_files": [{"split": "train", "path": f"{name}/*.parquet"}]}
            for name in ("ratings", "stimuli")
        ],
        "dataset_info": [
            {"config_name": "ratings", "features": _features(dataset.ratings.columns)},
            {"config_name": "stimuli", "features": _clip_features(dataset)},
        ],
    }
    columns = {"audio" if name == "file" else name: x for name, x in dataset.clip_columns.items()}
    lines = [f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in head.items()]
    return "---\n" + "\n".join(lines) + "\n---\n\n" + _words(dataset, columns)


def _methods(dataset: Dataset) -> list[str]:
    return sorted({str(row["method"]) for row in dataset.ratings.rows})


def _features(columns: Iterable[str]) -> list[dict[str, str]]:
    return [{"name": name, "dtype": TYPES.get(name, "string")} for name in columns]


def _clip_features(dataset: Dataset) -> list[dict[str, str]]:
    plain = _features(name for name in dataset.clip_columns if name != "file")
    return [*plain, {"name": "audio", "dtype": "audio"}] if dataset.audio_licence else plain


def _words(dataset: Dataset, clips: Mapping[str, str]) -> str:
    rows = dataset.ratings.rows
    raters = len({row["rater"] for row in rows})
    audio = dataset.audio_licence
    terms = f"Ratings: {dataset.ratings_licence}. "
    terms += f"Audio and texts: {audio}." if audio else "Audio and texts are not included."
    columns = {name: ABOUT[name] for name in dataset.ratings.columns}
    tables = [_table(each) for each in (columns, clips)]
    listing = "\n".join(f"- {note}" for note in dataset.notes)
    return (
        f"# {dataset.title}\n\n"
        f"{len(rows):,} ratings by {raters:,} raters, and {len(dataset.clips):,} clips, of a "
        f"listening test (study `{dataset.key}`) made with Earnest. "
        f"Language: {dataset.language}.\n\n"
        f"## Licence\n\n{terms}\n\n## Not included\n\n{listing}\n\n"
        f"## Ratings\n\n{tables[0]}\n\n## Clips\n\n{tables[1]}\n"
    )


def _table(columns: Mapping[str, str]) -> str:
    rows = "\n".join(f"| `{name}` | {description} |" for name, description in columns.items())
    return f"| column | holds |\n| --- | --- |\n{rows}"


def _description(dataset: Dataset) -> dict[str, Any]:
    """Metadata after Psych-DS: all columns of all files are in variableMeasured."""
    descriptions = dataset.clip_columns | {name: ABOUT[name] for name in dataset.ratings.columns}
    licences = dict.fromkeys(filter(None, (dataset.ratings_licence, dataset.audio_licence)))
    return {
        "@context": "https://schema.org/",
        "@type": "Dataset",
        "name": dataset.title,
        "description": f"Ratings of synthetic speech from the listening test “{dataset.key}”.",
        "license": [f"https://spdx.org/licenses/{name}" for name in licences],
        "inLanguage": dataset.language,
        "keywords": ["listening test", "speech quality", *_methods(dataset)],
        "variableMeasured": [
            {"@type": "PropertyValue", "name": name, "description": words}
            for name, words in descriptions.items()
        ],
    }
