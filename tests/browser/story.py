"""The fake study's content: tasks, trials and texts, in the shape of the API's State."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.browser.sounds import tone

ATT = {
    "title": "Human or machine?",
    "instructions": (
        "You hear one clip of speech. Listen to its end, then say whether a human or a machine "
        "speaks.\n\nThen give your reason: what did you hear that made you choose?"
    ),
    "clip_names": ["Clip"],
    "criteria": [
        {
            "index": 0,
            "question": "Is this voice a human or a machine?",
            "help": "",
            "scale": {
                "widget": "choice",
                "steps": [
                    {"label": name, "text": name, "hotkey": str(place)}
                    for place, name in enumerate(("Human", "Unclear", "Machine"), start=1)
                ],
            },
        }
    ],
    "justification": {
        "required": True,
        "min_chars": 10,
        "prompt": "Why? Name what you heard.",
        "good": ["The pause before “but” is too short and the pitch stays flat."],
        "poor": ["Sounds robotic.", "Just a feeling."],
    },
}
MOS_NAMES = {"1": "Bad", "2": "Poor", "3": "Fair", "4": "Good", "5": "Excellent"}
MOS = {
    "title": "How natural?",
    "instructions": "Rate how natural the speech sounds, from 1 (bad) to 5 (excellent).",
    "clip_names": ["Clip"],
    "criteria": [
        {
            "index": 0,
            "question": "How natural does this speech sound?",
            "help": "Natural: as a person would say it.",
            "scale": {
                "widget": "steps",
                "steps": [
                    {
                        "label": f"{half / 2:g}",
                        "text": MOS_NAMES.get(f"{half / 2:g}", ""),
                        "hotkey": "" if half % 2 else f"{half // 2}",
                    }
                    for half in range(2, 11)
                ],
            },
        }
    ],
    "justification": None,
}
CMOS_NAMES = ["much worse", "worse", "slightly worse", "", "slightly better", "better"]
CMOS = {
    "title": "Which is better?",
    "instructions": "Listen to both clips, then say how the second compares with the first.",
    "clip_names": ["First", "Second"],
    "criteria": [
        {
            "index": 0,
            "question": "Compared with the first clip, how is the second one?",
            "help": "",
            "scale": {
                "widget": "steps",
                "steps": [
                    {
                        "label": str(value),
                        "text": f"Second is {name}" if name else "About the same",
                        "hotkey": str(value) if value >= 0 else "",
                    }
                    for value, name in zip(range(-3, 4), [*CMOS_NAMES, "much better"], strict=True)
                ],
            },
        }
    ],
    "justification": None,
}
CRITERIA = ("Naturalness", "Expression", "Voice")
SEVERAL = {
    **MOS,
    "criteria": [
        {
            "index": index,
            "question": f"{name}: how good is it?",
            "help": "Judge this alone." if index else "",
            "scale": {
                "widget": "steps",
                "steps": [
                    {"label": label, "text": text, "hotkey": label}
                    for label, text in MOS_NAMES.items()
                ],
            },
        }
        for index, name in enumerate(CRITERIA)
    ],
}
CONTEXT = {
    **MOS,
    "title": "Speech in context",
    "clip_names": ["Context", "To rate"],
    "roles": ["context", "rated"],
}
ABX = {**ATT, "clip_names": ["A", "B", "X"], "justification": None}
PLAYBACK: dict[str, Any] = {  # what the server says of a task that asks for nothing else
    "share": None,
    "restart": False,
    "reference_first": False,
    "hidden_reference": True,
    "waveform": False,
}
ORDINARY = {
    "screen": "sequence",
    "heard_out": True,
    "several": False,
    "autoplay": False,
    "examples": [],
}
PLAIN_SCALE = {"span": None, "longest": 0}


def as_sent(task: dict[str, Any], index: int) -> dict[str, Any]:
    """A task in the shape of the State."""
    criteria = [
        {**each, "scale": {**PLAIN_SCALE, **each["scale"], "steps": steps_of(each["scale"])}}
        for each in task["criteria"]
    ]
    ours = {key: value for key, value in task.items() if key not in ("clip_names", "roles")}
    share = 1.0 if ours.get("heard_out", True) else None
    playback = {**PLAYBACK, "share": share, **ours.pop("playback", {})}
    if ours.get("screen") != "parallel":
        playback = {
            name: v for name, v in playback.items() if name in ("share", "restart", "plays")
        }
    whole = {**ORDINARY, **ours, "criteria": criteria, "index": index, "playback": playback}
    return {**whole, "heard_out": playback["share"] == 1}


def steps_of(scale: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"apart": False, **step} for step in scale["steps"]]


@dataclass
class Story:
    """What the fake house serves: the tasks in order, one (task, clip lengths, text) per trial."""

    tasks: list[dict[str, Any]]
    trials: list[tuple[int, list[float], str | None]]
    check: bool = False
    prolific: bool = False
    title: str = "How do these voices sound?"
    clips: dict[str, bytes] = field(default_factory=dict)
    address: str = ""  # what clip addresses begin with
    break_every: int = 0
    strict: bool = True  # all must be heard
    extras: dict[int, dict[str, Any]] = field(default_factory=dict)  # by place: lines, training
    feedback: dict[int, dict[str, Any]] = field(default_factory=dict)  # by place
    end: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for place, (_task, lengths, _text) in enumerate(self.trials):
            for clip, length_s in enumerate(lengths):
                self.clips[f"{place}x{clip}"] = tone(length_s, 220.0 + 30 * place + 90 * clip)

    def task_list(self) -> list[dict[str, Any]]:
        return [as_sent(task, index) for index, task in enumerate(self.tasks)]

    def trial(self, place: int) -> dict[str, Any]:
        task, lengths, text = self.trials[place]
        names = self.tasks[task]["clip_names"]
        roles = self.tasks[task].get("roles", ["rated"] * len(names))
        more = dict(self.extras.get(place, {}))
        lines = more.pop("lines", [[]] * len(names))
        return {
            "id": f"t{place}",
            "position": place + 1,
            "task": task,
            "clips": [f"/c/{self.address}{place}x{clip}" for clip in range(len(lengths))],
            "parts": [
                {"name": name, "role": role, "lines": timeline}
                for name, role, timeline in zip(names, roles, lines, strict=True)
            ],
            "text": text,
            "training": None,
            **more,
        }


def line(role: str, start_s: float, end_s: float, text: str | None = None) -> dict[str, Any]:
    return {"role": role, "start_s": start_s, "end_s": end_s, "text": text}


def short_story(trials: int = 3, *, task: dict[str, Any] = MOS, **more: Any) -> Story:
    """A study of quick trials for tests."""
    lengths = [0.7] * len(task["clip_names"])
    return Story([task], [(0, lengths, None)] * trials, **more)
