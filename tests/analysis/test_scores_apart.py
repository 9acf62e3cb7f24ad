"""Scores of one metric with several sets of parameters get names that differ."""

import json

import pytest

from analysis.ratings.metric_scores import scores_from_file


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_sets_of_parameters_are_named_by_what_differs(tmp_path, kind):
    sets = [{"embedding": "resemblyzer", "hop_s": 2.0}, {"embedding": "wavlm", "hop_s": 2.0}]
    rows = [
        {"stimulus": "a", "metric": "timbre", "version": "1", "value": 0.5, "parameters": told}
        for told in sets
    ]
    rows.append({**rows[0], "metric": "length", "parameters": {}})
    path = tmp_path / f"scores.{kind}"
    if kind == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    else:
        lines = [
            ",".join(
                '"' + json.dumps(v).replace('"', '""') + '"' if isinstance(v, dict) else str(v)
                for v in row.values()
            )
            for row in rows
        ]
        path.write_text("\n".join([",".join(rows[0]), *lines]) + "\n", "utf-8")
    found = scores_from_file(path)
    assert sorted(found["metric"]) == [
        "length",
        "timbre[embedding=resemblyzer]",
        "timbre[embedding=wavlm]",
    ]
