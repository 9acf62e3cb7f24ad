"""Auto-ATT's baseline on the demo study's audio, with labels of simulated raters.

    python benchmarks/auto_att_demo.py FOLDER

The raters are simulated (listening.sessions.simulated_raters.opinions);
how human each voice is to them is assumed below,
in the order in which these synthesisers are usually placed. So the numbers show what the machinery
gives with 70 clips, not how well anything predicts people.
"""

import csv
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from listening.sessions.simulated_raters.opinions import KnownClip, Opinions, Truth  # noqa: E402

QUALITIES = {  # 0 is "Unclear"; 0.3 and more is called Human, -0.3 and less Machine
    "human": 1.4,
    "festival-hts": 0.3,
    "flite-slt": 0.0,
    "flite-rms": -0.3,
    "flite-awb": -0.5,
    "flite-kal": -0.9,
    "espeak-ng": -1.4,
    "flawed": 0.0,
}
LABELS = ("Human", "Unclear", "Machine")
RATERS = 14


def main(folder: Path) -> None:
    """Ratings, a manifest, and the commands of the guide one after the other."""
    folder.mkdir(parents=True, exist_ok=True)
    with (ROOT / "demo" / "stimuli.csv").open() as source:
        stimuli = list(csv.DictReader(source))
    write_manifest(stimuli, folder / "clips.csv")
    write_ratings(stimuli, folder / "ratings.csv")
    made = folder / "dataset"
    att("dataset", folder / "ratings.csv", "--manifest", folder / "clips.csv", "--out", made)
    for features in ("", "distillmos", "resemblyzer"):
        base = folder / f"baseline-{features or 'all'}"
        att("baseline", made, "--out", base, "--features", features, "--leave-out", "voice", "item")
        att("evaluate", made, *(base / f"without-own-{by}.jsonl" for by in ("voice", "item")))


def write_manifest(stimuli: list[dict[str, str]], path: Path) -> None:
    """Each clip's file, system and voice."""
    with path.open("w", newline="") as out:
        table = csv.writer(out)
        table.writerow(["stimulus", "path", "system", "voice", "item", "dimension", "trap"])
        for row in stimuli:
            system, _, voice = row["condition"].partition("-")
            place = ROOT / "demo" / row["file"]
            known = [row["stimulus"], place, system, voice or system]
            table.writerow([*known, row["item"], row["dimension"], row["trap"]])


def write_ratings(stimuli: list[dict[str, str]], path: Path) -> None:
    """One label of each simulated rater for each clip that is no trap."""
    truth = Truth(1, QUALITIES)
    with path.open("w", newline="") as out:
        table = csv.writer(out)
        table.writerow(["stimulus", "rater", "label", "method"])
        for number in range(RATERS):
            rater = Opinions(truth, number)
            for row in stimuli:
                if not row["trap"]:
                    clip = KnownClip(row["condition"], row["stimulus"])
                    label = rater.label(LABELS, [clip])
                    table.writerow([row["stimulus"], f"r{number}", label, "att"])


def att(*words: object) -> None:
    """Run manage.py auto_att, showing it."""
    print("\n$ manage.py auto_att", *words, flush=True)
    command = [sys.executable, ROOT / "manage.py", "auto_att", *words]
    subprocess.run([str(word) for word in command], check=True)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
