"""The works that reports cite: one table for prose, LaTeX and BibTeX."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

_POSSESSIVE = r"(?:'s)?(?: [a-z]+)?"  # Davidson's (1970), Krippendorff's alpha (2019


_ACCENTS = {
    r"{\v{S}}": "Š",
    r"{\v{s}}": "š",
    r"{\v{e}}": "ě",
    r"{\'a}": "á",
    r"{\'e}": "é",
    r"{\ss}": "ß",
    r"{\&}": "&",
}


@dataclass(frozen=True)
class Work:
    """A work as prose names it (``said`` and ``year``), and the fields of its BibTeX entry.

    ``year`` is 0 for a Recommendation, which prose names by its number alone.
    """

    key: str
    kind: str
    said: str
    year: int
    fields: dict[str, str] = field(hash=False)

    @property
    def citation(self) -> str:
        """As it stands in a sentence: Owen 2007."""
        return f"{self.said} {self.year}" if self.year else self.said

    @property
    def pattern(self) -> str:
        """Finds it in prose, with or without brackets around the year."""
        if not self.year:
            series, _, number = self.said.partition(" ")
            return rf"(?:{series} )?\b{re.escape(number)}(?:-\d+)?(?!\d)"
        return rf"{re.escape(self.said)}{_POSSESSIVE},? (?:\({self.year}\)|\(?{self.year}\b)"

    @property
    def reference(self) -> str:
        """As in a list of references, in plain words."""
        told = self.fields
        where = (
            told.get("journal")
            or told.get("booktitle")
            or told.get("institution")
            or told.get("publisher", "")
        )
        numbers = f"{told['volume']}({told['number']})" if "volume" in told else ""
        pages = told.get("pages", "").replace("--", "–")
        tail = ", ".join(filter(None, [f"{where} {numbers}".strip(), pages, told.get("note", "")]))
        year = told.get("year", "")
        author = _plain(told["author"].replace(" and ", "; "))
        title, tail = (_plain(each).rstrip(".") for each in (told["title"], tail))
        return f"{author} ({year}). {title}. {tail}."

    @property
    def bibtex(self) -> str:
        """The entry for a .bib file, in ASCII."""
        lines = "".join(f"  {name} = {{{value}}},\n" for name, value in self.fields.items())
        return f"@{self.kind}{{{self.key},\n{lines}}}\n"


def article(key: str, said: str, year: int, author: str, title: str, **more: str) -> Work:
    """An article in a journal; ``more`` are further fields of its entry."""
    fields = {"author": author, "title": title, **more, "year": str(year)}
    return Work(key, "article", said, year, fields)


def recommendation(key: str, said: str, number: str, title: str, year: int) -> Work:
    """A Recommendation of the ITU."""
    fields = {
        "author": "{International Telecommunication Union}",
        "title": title,
        "institution": "International Telecommunication Union",
        "type": "Recommendation",
        "number": number,
        "year": str(year),
        "note": f"Recommendation {number}",
    }
    return Work(key, "techreport", said, 0, fields)


def _plain(value: str) -> str:
    """A field of BibTeX as people read it."""
    for written, letter in _ACCENTS.items():
        value = value.replace(written, letter)
    return value.replace("{", "").replace("}", "")


RECOMMENDATIONS: tuple[Work, ...] = (
    recommendation(
        "itu_p808",
        "ITU-T P.808",
        "ITU-T P.808",
        "Subjective Evaluation of Speech Quality with a Crowdsourcing Approach",
        2021,
    ),
    recommendation(
        "itu_p910",
        "ITU-T P.910",
        "ITU-T P.910",
        "Subjective Video Quality Assessment Methods for Multimedia Applications",
        2023,
    ),
    recommendation(
        "itu_p1401",
        "ITU-T P.1401",
        "ITU-T P.1401",
        "Methods, Metrics and Procedures for Statistical Evaluation, Qualification and Comparison "
        "of Objective Quality Prediction Models",
        2020,
    ),
    recommendation(
        "itu_bt500",
        "ITU-R BT.500",
        "ITU-R BT.500-15",
        "Methodologies for the Subjective Assessment of the Quality of Television Images",
        2023,
    ),
    recommendation(
        "itu_bs1534",
        "ITU-R BS.1534",
        "ITU-R BS.1534-3",
        "Method for the Subjective Assessment of Intermediate Quality Level of Audio Systems",
        2015,
    ),
)


WORKS: tuple[Work, ...] = (
    article(
        "cameron2011",
        "Cameron, Gelbach and Miller",
        2011,
        "Cameron, A. Colin and Gelbach, Jonah B. and Miller, Douglas L.",
        "Robust Inference With Multiway Clustering",
        journal="Journal of Business {\\&} Economic Statistics",
        volume="29",
        number="2",
        pages="238--249",
        doi="10.1198/jbes.2010.07136",
    ),
    article(
        "korn1998",
        "Korn and Graubard",
        1998,
        "Korn, Edward L. and Graubard, Barry I.",
        "Confidence Intervals for Proportions With Small Expected Number of Positive Counts "
        "Estimated From Survey Data",
        journal="Survey Methodology",
        volume="24",
        number="2",
        pages="193--201",
    ),
    article(
        "zou2008",
        "Zou and Donner",
        2008,
        "Zou, Guang Yong and Donner, Allan",
        "Construction of Confidence Limits About Effect Measures: A General Approach",
        journal="Statistics in Medicine",
        volume="27",
        number="10",
        pages="1693--1702",
        doi="10.1002/sim.3095",
    ),
    article(
        "schuirmann1987",
        "Schuirmann",
        1987,
        "Schuirmann, Donald J.",
        "A Comparison of the Two One-Sided Tests Procedure and the Power Approach for Assessing "
        "the Equivalence of Average Bioavailability",
        journal="Journal of Pharmacokinetics and Biopharmaceutics",
        volume="15",
        number="6",
        pages="657--680",
    ),
    article(
        "satterthwaite1946",
        "Satterthwaite",
        1946,
        "Satterthwaite, F. E.",
        "An Approximate Distribution of Estimates of Variance Components",
        journal="Biometrics Bulletin",
        volume="2",
        number="6",
        pages="110--114",
        doi="10.2307/3002019",
    ),
    article(
        "gelman2006",
        "Gelman",
        2006,
        "Gelman, Andrew",
        "Prior Distributions for Variance Parameters in Hierarchical Models",
        journal="Bayesian Analysis",
        volume="1",
        number="3",
        pages="515--534",
        doi="10.1214/06-BA117A",
    ),
    article(
        "brunner1997",
        "Brunner, Dette and Munk",
        1997,
        "Brunner, Edgar and Dette, Holger and Munk, Axel",
        "Box-Type Approximations in Nonparametric Factorial Designs",
        journal="Journal of the American Statistical Association",
        volume="92",
        number="440",
        pages="1494--1502",
        doi="10.1080/01621459.1997.10473671",
    ),
    article(
        "owen2007",
        "Owen",
        2007,
        "Owen, Art B.",
        "The Pigeonhole Bootstrap",
        journal="The Annals of Applied Statistics",
        volume="1",
        number="2",
        pages="386--411",
        doi="10.1214/07-AOAS122",
    ),
    article(
        "hothorn2008",
        "Hothorn, Bretz and Westfall",
        2008,
        "Hothorn, Torsten and Bretz, Frank and Westfall, Peter",
        "Simultaneous Inference in General Parametric Models",
        journal="Biometrical Journal",
        volume="50",
        number="3",
        pages="346--363",
        doi="10.1002/bimj.200810425",
    ),
    article(
        "sidak1967",
        "Šidák",
        1967,
        "{\\v{S}}id{\\'a}k, Zbyn{\\v{e}}k",
        "Rectangular Confidence Regions for the Means of Multivariate Normal Distributions",
        journal="Journal of the American Statistical Association",
        volume="62",
        number="318",
        pages="626--633",
        doi="10.1080/01621459.1967.10482935",
    ),
    article(
        "waudbysmith2024",
        "Waudby-Smith and Ramdas",
        2024,
        "Waudby-Smith, Ian and Ramdas, Aaditya",
        "Estimating Means of Bounded Random Variables by Betting",
        journal="Journal of the Royal Statistical Society Series B",
        volume="86",
        number="1",
        pages="1--27",
        doi="10.1093/jrsssb/qkad009",
    ),
    Work(
        "cooper2025",
        "misc",
        "Cooper, Le Maguer, Klabbers and Yamagishi",
        2025,
        {
            "author": "Cooper, Erica and Le Maguer, S{\\'e}bastien and Klabbers, Esther and "
            "Yamagishi, Junichi",
            "title": "Good Practices for Evaluation of Synthesized Speech",
            "note": "arXiv:2503.03250",
            "year": "2025",
        },
    ),
    article(
        "holm1979",
        "Holm",
        1979,
        "Holm, Sture",
        "A Simple Sequentially Rejective Multiple Test Procedure",
        journal="Scandinavian Journal of Statistics",
        volume="6",
        number="2",
        pages="65--70",
    ),
    article(
        "piepho2004",
        "Piepho",
        2004,
        "Piepho, Hans-Peter",
        "An Algorithm for a Letter-Based Representation of All-Pairwise Comparisons",
        journal="Journal of Computational and Graphical Statistics",
        volume="13",
        number="2",
        pages="456--466",
        doi="10.1198/1061860043515",
    ),
    Work(
        "wang2025",
        "misc",
        "Wang et al.",
        2025,
        {
            "author": "Wang, Xihuai and Zhao, Ziyi and Ren, Siyu and Zhang, Shao and Li, Song and "
            "Li, Xiaoyu and Wang, Ziwen and Qiu, Lin and Wan, Guanglu and Cao, Xuezhi and "
            "Cai, Xunliang and Zhang, Weinan",
            "title": "{Audio Turing Test}: Benchmarking the Human-likeness of Large Language "
            "Model-based Text-to-Speech Systems in {Chinese}",
            "eprint": "2505.11200",
            "archiveprefix": "arXiv",
            "year": "2025",
            "note": "arXiv:2505.11200",
        },
    ),
    Work(
        "clark2019",
        "inproceedings",
        "Clark et al.",
        2019,
        {
            "author": "Clark, Rob and Silen, Hanna and Kenter, Tom and Leith, Ralph",
            "title": "Evaluating Long-form Text-to-Speech: Comparing the Ratings of Sentences and "
            "Paragraphs",
            "booktitle": "Proc. 10th ISCA Workshop on Speech Synthesis (SSW 10)",
            "pages": "99--104",
            "doi": "10.21437/SSW.2019-18",
            "year": "2019",
        },
    ),
    Work(
        "cooper2023",
        "inproceedings",
        "Cooper and Yamagishi",
        2023,
        {
            "author": "Cooper, Erica and Yamagishi, Junichi",
            "title": "Investigating Range-Equalizing Bias in Mean Opinion Score Ratings of "
            "Synthesized Speech",
            "booktitle": "Proc. Interspeech",
            "year": "2023",
            "note": "arXiv:2305.10608",
        },
    ),
    article(
        "shrout1979",
        "Shrout and Fleiss",
        1979,
        "Shrout, Patrick E. and Fleiss, Joseph L.",
        "Intraclass Correlations: Uses in Assessing Rater Reliability",
        journal="Psychological Bulletin",
        volume="86",
        number="2",
        pages="420--428",
        doi="10.1037/0033-2909.86.2.420",
    ),
    Work(
        "krippendorff2019",
        "book",
        "Krippendorff",
        2019,
        {
            "author": "Krippendorff, Klaus",
            "title": "Content Analysis: An Introduction to Its Methodology",
            "edition": "Fourth",
            "publisher": "SAGE",
            "year": "2019",
        },
    ),
    article(
        "bland1996",
        "Bland and Altman",
        1996,
        "Bland, J. Martin and Altman, Douglas G.",
        "Statistics Notes: Measurement Error",
        journal="BMJ",
        volume="313",
        number="7059",
        pages="744",
        doi="10.1136/bmj.313.7059.744",
    ),
    Work(
        "hossfeld2011",
        "inproceedings",
        "Hossfeld et al.",
        2011,
        {
            "author": "Ho{\\ss}feld, Tobias and Schatz, Raimund and Egger, Sebastian",
            "title": "{SOS}: The {MOS} Is Not Enough!",
            "booktitle": "Proc. Third International Workshop on Quality of Multimedia Experience "
            "(QoMEX)",
            "pages": "131--136",
            "doi": "10.1109/QoMEX.2011.6065690",
            "year": "2011",
        },
    ),
    Work(
        "li2020",
        "inproceedings",
        "Li et al.",
        2020,
        {
            "author": "Li, Zhi and Bampis, Christos G. and Krasula, Luk{\\'a}{\\v{s}} and "
            "Janowski, Lucjan and Katsavounidis, Ioannis",
            "title": "A Simple Model for Subject Behavior in Subjective Experiments",
            "booktitle": "Proc. IS{\\&}T Electronic Imaging: Human Vision and Electronic Imaging",
            "year": "2020",
            "note": "arXiv:2004.02067",
        },
    ),
    article(
        "kendall1940",
        "Kendall and Babington Smith",
        1940,
        "Kendall, M. G. and Babington Smith, B.",
        "On the Method of Paired Comparisons",
        journal="Biometrika",
        volume="31",
        number="3/4",
        pages="324--345",
        doi="10.1093/biomet/31.3-4.324",
    ),
    article(
        "agresti1992",
        "Agresti",
        1992,
        "Agresti, Alan",
        "Analysis of Ordinal Paired Comparison Data",
        journal="Journal of the Royal Statistical Society, Series C",
        volume="41",
        number="2",
        pages="287--297",
        doi="10.2307/2347562",
    ),
    article(
        "davidson1970",
        "Davidson",
        1970,
        "Davidson, Roger R.",
        "On Extending the {Bradley-Terry} Model to Accommodate Ties in Paired Comparison "
        "Experiments",
        journal="Journal of the American Statistical Association",
        volume="65",
        number="329",
        pages="317--328",
        doi="10.1080/01621459.1970.10481082",
    ),
    article(
        "bradley1952",
        "Bradley and Terry",
        1952,
        "Bradley, Ralph Allan and Terry, Milton E.",
        "Rank Analysis of Incomplete Block Designs: {I}. The Method of Paired Comparisons",
        journal="Biometrika",
        volume="39",
        number="3/4",
        pages="324--345",
        doi="10.1093/biomet/39.3-4.324",
    ),
    article(
        "scheffe1952",
        "Scheffé",
        1952,
        "Scheff{\\'e}, Henry",
        "An Analysis of Variance for Paired Comparisons",
        journal="Journal of the American Statistical Association",
        volume="47",
        number="259",
        pages="381--400",
        doi="10.1080/01621459.1952.10501179",
    ),
    article(
        "monroe2008",
        "Monroe et al.",
        2008,
        "Monroe, Burt L. and Colaresi, Michael P. and Quinn, Kevin M.",
        "Fightin' Words: Lexical Feature Selection and Evaluation for Identifying the Content of "
        "Political Conflict",
        journal="Political Analysis",
        volume="16",
        number="4",
        pages="372--403",
        doi="10.1093/pan/mpn018",
    ),
    article(
        "newcombe2006",
        "Newcombe",
        2006,
        "Newcombe, Robert G.",
        "Confidence Intervals for an Effect Size Measure Based on the {Mann-Whitney} Statistic. "
        "Part 2: Asymptotic Methods and Evaluation",
        journal="Statistics in Medicine",
        volume="25",
        number="4",
        pages="559--573",
        doi="10.1002/sim.2324",
    ),
    article(
        "dawid1979",
        "Dawid and Skene",
        1979,
        "Dawid, A. P. and Skene, A. M.",
        "Maximum Likelihood Estimation of Observer Error-Rates Using the EM Algorithm",
        journal="Journal of the Royal Statistical Society, Series C",
        volume="28",
        number="1",
        pages="20--28",
        doi="10.2307/2346806",
    ),
    article(
        "steegen2016",
        "Steegen, Tuerlinckx, Gelman and Vanpaemel",
        2016,
        "Steegen, Sara and Tuerlinckx, Francis and Gelman, Andrew and Vanpaemel, Wolf",
        "Increasing Transparency Through a Multiverse Analysis",
        journal="Perspectives on Psychological Science",
        volume="11",
        number="5",
        pages="702--712",
        doi="10.1177/1745691616658637",
    ),
    *RECOMMENDATIONS,
)
_BY_KEY = {work.key: work for work in WORKS}


def work_named(key: str) -> Work:
    """The work with this key; KeyError where there is none."""
    return _BY_KEY[key]


def cite(*keys: str) -> str:
    """Citations in one pair of brackets: (Owen 2007; Holm 1979)."""
    return f"({'; '.join(_BY_KEY[key].citation for key in keys)})"


def found_in(text: str) -> Iterator[tuple[Work, re.Match[str]]]:
    """Each citation of a work of the table in prose, in the order of the text."""
    hits = [(work, hit) for work in WORKS for hit in re.finditer(work.pattern, text)]
    return iter(sorted(hits, key=lambda found: found[1].start()))


def works_in(texts: Iterable[str]) -> list[Work]:
    """The works that texts cite, each once, in the order of their first citation."""
    return list(dict.fromkeys(work for text in texts for work, _ in found_in(text)))
