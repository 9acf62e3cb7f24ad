"""Codebooks of reasons: the preset, and others read from and written as CSV or JSON."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from listening.common.plain_json import JsonError, read_json
from listening.common.spreadsheets import TableError, holds_json, read_table, safe_cell

NO_CODE = "none"  # of a reason that names no attribute: so that it is coded, and not forgotten
KEY = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
MOST_CODES = 30
COLUMNS = ("key", "family", "title", "words", "signs")
KEYS_OF_KEYBOARD = "1234567890qwertyiopasdfghjklzxcvbm"  # n and u mean something else


class BadCodebook(ValueError):
    """A codebook that cannot be used; the message says where it is wrong."""


@dataclass(frozen=True)
class Code:
    """An attribute that a reason can name; ``signs`` are words by which rules suggest it."""

    key: str
    family: str
    title: str
    words: str = ""
    signs: tuple[str, ...] = ()


FAMILIES = (
    "Pronunciation accuracy",
    "Prosodic appropriateness",
    "Audio clarity",
    "Naturalness and human-like expressiveness",
)
# The four families and fourteen attributes of the Audio Turing Test (Table 5), in our words.
PRESET = tuple(
    Code(key, FAMILIES[family], title, words, tuple(signs.split(", ")))
    for key, family, title, words, signs in (
        ("characters", 0, "Pronunciation", "A word or character is pronounced correctly or wrongly, especially one with several readings.", "mispronounc, pronounc, wrong word, misread, polyphon, 读错, 发音, 多音字, 咬字"),  # noqa: E501
        ("tones", 0, "Tones", "The tone of a syllable is correct or wrong.", "tone of the word, wrong tone, 声调, 音调不准, 四声"),  # noqa: E501
        ("foreign_words", 0, "Foreign words", "English or other foreign words in the sentence are pronounced correctly or wrongly.", "english word, foreign word, code-switch, 英文, 英语, 单词"),  # noqa: E501
        ("numbers", 0, "Numbers and symbols", "Dates, amounts, phone numbers or symbols are read correctly or wrongly.", "number, digit, date, symbol, 数字, 日期, 金额, 符号"),  # noqa: E501
        ("pauses", 1, "Pauses", "The position and length of pauses are natural or not.", "pause, gap, break between, phrasing, breath group, 停顿, 断句, 卡顿"),  # noqa: E501
        ("intonation", 1, "Intonation", "The intonation fits the meaning of the sentence, or is flat or odd.", "intonation, melody, pitch, flat, monoton, equal weight, same weight, question, 语调, 平淡, 没有起伏, 抑扬顿挫"),  # noqa: E501
        ("speed", 1, "Speed", "The speaking rate is appropriate, or too fast or too slow.", "speed, fast, slow, rush, tempo, pace, rhythm, 语速, 太快, 太慢, 节奏"),  # noqa: E501
        ("noise", 2, "Background and recording", "The recording is clear, or has noise, reverberation or hiss.", "noise, hiss, background, room, echo, recording, microphone, 噪音, 杂音, 背景, 录音, 回声"),  # noqa: E501
        ("distortion", 2, "Voice distortion", "The voice is clear, or it jitters, buzzes or sounds electronic.", "robot, electronic, metallic, buzz, distort, glitch, artefact, artifact, jitter, 电音, 电子, 失真, 机械音"),  # noqa: E501
        ("overall", 3, "Overall human-likeness", "The speech is called natural or artificial as a whole.", "natural, like a person, human-like, like a human, real person, artificial, 自然, 像真人, 真人, 机器"),  # noqa: E501
        ("emphasis", 3, "Emphasis", "Important words are stressed appropriately or not.", "emphas, stress, accent on, 重音, 强调, 轻重"),  # noqa: E501
        ("prolongation", 3, "Lengthened words", "Words are lengthened appropriately or not.", "drawn, prolong, lengthen, stretch, 拖长, 拖音, 延长"),  # noqa: E501
        ("emotion", 3, "Emotion", "The emotion fits the text, or is missing or wrong.", "emotion, feeling, expressi, mood, angry, happy, sad, lifeless, 感情, 情感, 情绪"),  # noqa: E501
        ("paralinguistic", 3, "Breath, laughter, other sounds", "Breathing, laughing, crying, coughing or breathy voice is appropriate, or is missing or wrong.", "breath, laugh, cough, sigh, cry, swallow, 呼吸, 换气, 笑, 咳, 哭"),  # noqa: E501
    )
)  # fmt: skip


def checked(codes: Sequence[Code]) -> tuple[Code, ...]:
    """The codes, or BadCodebook with all that is wrong."""
    wrong = []
    seen: set[str] = set()
    for n, code in enumerate(codes, start=1):
        if not KEY.fullmatch(code.key) or code.key == NO_CODE:
            wrong.append(f"Code {n}: the key “{code.key}” must have 1 to 40 of a-z, 0-9, _ and -.")
        elif code.key in seen:
            wrong.append(f"Code {n}: the key “{code.key}” is used twice.")
        seen.add(code.key)
        if not code.title.strip() or len(code.title) > 80:
            wrong.append(f"Code {n}: the title must have 1 to 80 characters.")
    if not 1 <= len(codes) <= MOST_CODES:
        wrong.append(f"A codebook must have 1 to {MOST_CODES} codes, one shortcut key each.")
    if wrong:
        raise BadCodebook(" ".join(wrong[:8]))
    return tuple(codes)


def from_stored(stored: Iterable[Mapping[str, Any]]) -> tuple[Code, ...]:
    return tuple(Code(**{**each, "signs": tuple(each.get("signs", ()))}) for each in stored)


def as_stored(codes: Iterable[Code]) -> list[dict[str, Any]]:
    return [{**asdict(code), "signs": list(code.signs)} for code in codes]


def from_text(text: str) -> tuple[Code, ...]:
    """A codebook from JSON (a list of objects) or CSV with the columns of `COLUMNS`."""
    text = text.lstrip("\ufeff").strip()
    try:
        if holds_json(text):
            rows = read_json(text)
        else:
            rows = [row for _, row in read_table(text, short_rows=True).records()] if text else []
    except TableError as error:
        raise BadCodebook(f"The table cannot be read: {error}.") from None
    except JsonError as error:
        raise BadCodebook(f"The codebook is not valid JSON: {error}") from None
    if isinstance(rows, dict):
        rows = rows.get("codes", [])
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise BadCodebook("A codebook must be a list of codes.")
    if rows and "key" not in rows[0]:
        raise BadCodebook(f"The codebook has no column key. The columns are {', '.join(COLUMNS)}.")
    return checked([_code(row) for row in rows])


def _code(row: Mapping[str, Any]) -> Code:
    signs = row.get("signs") or ""
    listed = signs.split(";") if isinstance(signs, str) else [str(each) for each in signs]
    fields = {name: str(row.get(name) or "").strip().lstrip("'") for name in COLUMNS[:4]}
    return Code(**fields, signs=tuple(each.strip() for each in listed if each.strip()))


def as_csv(codes: Iterable[Code]) -> str:
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for code in codes:
        cells = (code.key, code.family, code.title, code.words, "; ".join(code.signs))
        writer.writerow([safe_cell(cell) for cell in cells])
    return out.getvalue()


def suggested(codes: Iterable[Code], text: str) -> list[str]:
    """The keys of codes of which a sign begins a word of the text, or stands in Chinese."""
    words = text.casefold()
    return [code.key for code in codes if any(_stands(sign, words) for sign in code.signs)]


def _stands(sign: str, words: str) -> bool:
    edge = r"(?<![a-z])" if sign[:1].isascii() else ""
    return bool(re.search(edge + re.escape(sign.casefold()), words))
