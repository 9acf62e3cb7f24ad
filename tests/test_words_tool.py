"""What `make words` counts: sentences that people read, and no code."""

from tools import words

PYTHON = '''
"""What is not printed: a docstring."""
QUERY = "SELECT a FROM b WHERE c"
STYLE = ".a{color:red} b c d"
print(f"{n} clips cannot be told apart from the rest")
'''
PAGE = """
{# what is a comment #}
<h1>{% translate "Who has heard these clips" %}</h1>
<p>The study was paused by {{ name }}. It is open now.</p>
<script>const x = "what is no text";</script>
"""


def test_strings_are_read_and_code_is_not():
    assert list(words._python_texts(PYTHON, helps=False)) == [
        "{} clips cannot be told apart from the rest"
    ]
    read = [" ".join(text.split()) for text in words._template_texts(PAGE)]
    assert [text for text in read if text] == [
        "Who has heard these clips",
        "The study was paused by {}. It is open now.",
    ]


def test_each_kind_of_finding_is_found_and_plain_words_are_not(tmp_path, monkeypatch):
    monkeypatch.setattr(words, "ROOT", tmp_path)
    (tmp_path / "README.md").write_text(
        "# Title\n\nEarnest reports a mean of five ratings. Raters in progress can finish.\n\n"
        "Whoever runs the study is told of it. What was paid is shown.\n\n" + "word " * 31 + ".\n"
    )
    found = [
        (kind, sentence[:12])
        for kind, _, sentence in words.findings("docs", words.texts_of("docs"))
    ]
    assert sorted(found) == [
        ("headless", "What was pai"),
        ("long", "word word wo"),
        ("passive", "What was pai"),
        ("passive", "What was pai"),
        ("passive", "Whoever runs"),
        ("replaced", "Whoever runs"),
        ("replaced", "Whoever runs"),
    ]
