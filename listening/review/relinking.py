"""Reviews of clips after their draft was replaced: the same sound keeps its verdicts."""

from __future__ import annotations

from listening.models import ReviewItem, Study


def relink(study: Study) -> int:
    """Items find the clips of their names again where these are the same sound; how many do.

    The others keep what was said of them, and are given to nobody: their sound is another now.
    """
    clips = {
        (key, sha256): pk for pk, key, sha256 in study.stimuli.values_list("pk", "key", "sha256")
    }
    changed = []
    for item in ReviewItem.objects.filter(job__study=study).exclude(clip={}):
        names = item.all_clips
        found = [clips.get((each["stimulus"], each["sha256"])) for each in names]
        whole = [pk for pk in found if pk is not None]
        same = len(whole) == len(names)
        item.stimulus_id, item.others = (whole[0], whole[1:]) if same else (None, [])
        changed.append(item)
    ReviewItem.objects.bulk_update(changed, ["stimulus", "others"], batch_size=1000)
    return sum(item.stimulus_id is not None for item in changed)
