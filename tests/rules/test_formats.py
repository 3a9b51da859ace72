from __future__ import annotations

import gzip
import json
import lzma
import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, get_args

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from stablerule.errors import OptionError, ReadError, StableRuleError, WriteError
from stablerule.rules import LoadedRules, Rule, RuleSet, ScoredRule, read_rules, write_rules
from stablerule.rules.formats import FORMATS, FormatName
from stablerule.rules.formats.atoms import Atom, Constant, express_rule, turn_inverse_head
from tests.rules.strategies import any_rules, rule_sets, scored_rules

CHAIN = Rule("speaks", ("lives_in", "~language_of"))
FIXED = Rule("speaks", ("lives_in",), ("French", "Paris"))
SOME = RuleSet(
    [
        (CHAIN, {"score": 0.1, "support": 8, "body_count": 11, "head_coverage": 1 / 3, "base_rate": 0.25}),
        (FIXED, {"support": 3, "body_count": 3, "pca_confidence": 3 / 8}),
        (Rule("~speaks", ("~lives_in",), ("Ann", None)), {"support": 1, "body_count": 4}),
    ]
)
RULE = "speaks(X,Y) <= lives_in(X,A), language_of(Y,A)"


def there_and_back(rules: RuleSet, name: Any) -> tuple[LoadedRules, tuple[str, ...]]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "rules.file"
        notes = write_rules(rules, path, name)
        return read_rules(path, name), notes


def load(text: str | bytes, tmp_path: Path, name: str = "rules.txt", **options: Any) -> LoadedRules:
    path = tmp_path / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_rules(path, **options)


def all_rules(loaded: LoadedRules) -> set[Rule]:
    return {scored.rule for scored in loaded.rules}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["json", "parquet", "text", "tsv"])
@given(rules=rule_sets)
@example(rules=RuleSet())
def test_our_formats_keep_everything(name: str, rules: RuleSet) -> None:
    assert there_and_back(rules, name) == ((rules, ()), ())


def as_other_tools_see_it(rules: RuleSet) -> dict[Rule, ScoredRule]:
    """Chains for an inverse turned around; the first of equal ones counts."""
    seen: dict[Rule, ScoredRule] = {}
    for scored in rules:
        head, body, constant, near = turn_inverse_head(
            (
                scored.rule.head_relation,
                scored.rule.body,
                *(scored.rule.constants or (None, None)),
            )
        )
        seen.setdefault(Rule(head, body, None if constant is None else (constant, near)), scored)
    return seen


@given(scored_rules(any_rules))
@example([ScoredRule(Rule("~r", ("s", "~t")), support=2, body_count=4)])
@example([ScoredRule(Rule("r (s)", ("t),u",), ("a, b", "c (d), e")), support=2, body_count=4)])
def test_what_anyburl_can_hold_comes_back(entries: list[ScoredRule]) -> None:
    rules = RuleSet(entries)
    complete = RuleSet(s for s in rules if s.support is not None and s.body_count is not None)
    try:
        (found, read_notes), notes = there_and_back(rules, "anyburl")
    except StableRuleError:
        return  # nothing in it can be written
    expected = as_other_tools_see_it(complete)
    for scored in found:
        was = expected[scored.rule]
        assert (scored.support, scored.body_count) == (was.support, was.body_count)
    assert read_notes == ()
    left_out = sum(int(n.split()[1].replace(",", "")) for n in notes if "skipped" in n)
    assert len(found) + left_out == len(rules)


@given(scored_rules(any_rules))
@example([ScoredRule(FIXED, support=793, pca_confidence=793 / 823)])
@example([ScoredRule(FIXED, support=0, pca_confidence=0.0)])
def test_what_amie_can_hold_comes_back(entries: list[ScoredRule]) -> None:
    rules = RuleSet(entries)
    try:
        (found, _), notes = there_and_back(rules, "amie")
    except WriteError:
        return
    expected = as_other_tools_see_it(rules)
    for scored in found:
        was = expected[scored.rule]
        assert (scored.support, scored.body_count) == (was.support, was.body_count)
        assert scored.head_coverage == was.head_coverage
        if was.support and was.pca_confidence and 5 + 1e-3 < was.support / was.pca_confidence < 1e12:
            assert scored.pca_confidence == pytest.approx(was.pca_confidence, rel=1e-6)
    left_out = sum(int(n.split()[1].replace(",", "")) for n in notes if "skipped" in n)
    assert len(found) + left_out == len(rules)


@given(st.lists(st.tuples(st.integers(1, 10**6), st.integers(0, 10**6), st.integers(0, 10**6)), max_size=5))
def test_counts_of_a_graph_come_back_from_amie_exactly(counts: list[tuple[int, int, int]]) -> None:
    rules = RuleSet(
        (
            Rule("r", ("s",) * (place + 1)),
            {"support": right, "body_count": right + wrong + more, "pca_confidence": right / (right + wrong + 5)},
        )
        for place, (right, wrong, more) in enumerate(counts)
    )
    assert there_and_back(rules, "amie") == ((rules, ()), ())


def test_plain_names_are_never_left_out() -> None:
    names = ["/film/film/edited_by", "_also_see", "né_à", "http://a.org/r#s", "population (2010)", "it's", 'a"b']
    entities = ["/m/02krf9", "Paris, Texas", "St. John's (Antigua)", "a,b", "O(1)", "x", "12"]
    chains = [Rule(r, (s, f"~{r}")) for r in names for s in names]
    constants = [Rule(f"{i}{r}", (r,), (c, d)) for i in ("", "~") for r in names for c in entities for d in entities]
    rules = RuleSet((rule, {"support": 2, "body_count": 7}) for rule in [*chains, *constants])
    for name in ("anyburl", "amie"):
        assert there_and_back(rules, name) == ((rules, ()), ())


def test_anyburl_lines_are_spelled_as_its_own(tmp_path: Path) -> None:
    path = tmp_path / "rules.anyburl"
    notes = write_rules(SOME, path)
    assert path.read_text().splitlines() == [
        f"11\t8\t{8 / 11}\t{RULE}",
        "3\t3\t1.0\tspeaks(X,French) <= lives_in(X,Paris)",
        "4\t1\t0.25\tspeaks(Ann,Y) <= lives_in(A,Y)",
    ]
    assert notes == ("AnyBURL's format has no score, pca_confidence, head_coverage, base_rate.",)
    found = read_rules(path)
    assert found.notes == ()
    assert [(s.support, s.body_count, s.confidence) for s in found.rules] == [
        (8, 11, 0.5),
        (3, 3, 0.375),
        (1, 4, 1 / 9),
    ]


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (RULE, CHAIN),
        ("speaks(X,Y) <= language_of(Y,A), lives_in(X,A)", CHAIN),
        ("r(Y,X) <= s(Y,A), t(X,A)", Rule("r", ("s", "~t"))),
        ("r(X,Y) <= s(Y,X)", Rule("r", ("~s",))),
        ("r(X,Y) <= s(A,X), t(B,A), u(Y,B)", Rule("r", ("~s", "~t", "~u"))),
        ("/a/b./c/d(X,Y) <= /e/f(X,Y)", Rule("/a/b./c/d", ("/e/f",))),
        ("r(X,c) <= s(X,d)", Rule("r", ("s",), ("c", "d"))),
        ("r(X,c) <= s(d,X)", Rule("r", ("~s",), ("c", "d"))),
        ("r(X,c) <= s(A,X)", Rule("r", ("~s",), ("c", None))),
        ("r(c,Y) <= s(Y,A)", Rule("~r", ("s",), ("c", None))),
        ("r(c,Y) <= s(d,Y)", Rule("~r", ("~s",), ("c", "d"))),
        ("r(X,Paris, Texas) <= s(X,Bonn (Rhine), old)", Rule("r", ("s",), ("Paris, Texas", "Bonn (Rhine), old"))),
        ('r(X,it\'s "c") <= s(a,b,X)', Rule("r", ("~s",), ('it\'s "c"', "a,b"))),
        ("r(s)(c,Y) <= t (u)(Y,d)", Rule("~r(s)", ("t (u)",), ("c", "d"))),
    ],
)
def test_anyburl_rules(text: str, rule: Rule, tmp_path: Path) -> None:
    found = load(f"10\t4\t0.4\t{text}\n", tmp_path)
    assert found == (RuleSet([(rule, {"support": 4, "body_count": 10})]), ())


def test_what_anyburl_says_and_we_can_not_is_counted_by_kind(tmp_path: Path) -> None:
    texts = [
        *("r(X,c) <= s(X,A), t(A,d)", "r(c,Y) <= s(A,Y), t(B,A)", "r(X,c) <= s(X,A), t(A,B), u(B,C)"),
        *("r(X,c) <= ", "r(c,Y) <="),
        *("r(X,me_myself_i) <= s(X,A)", "r(X,c) <= s(me_myself_i,X)"),
        *("r(X,Y) <= s(X,A), t(B,Y)", "r(X,Y) <= s(X,Y), t(X,Y)", "r(X,Y) <= s(X,A)", "r(X,Y) <= s(X,A), t(A,c)"),
        *("~r(X,Y) <= s(X,Y)", "r(X,c) <= s(A,B)", RULE, RULE),
    ]
    rules, notes = load("".join(f"9\t2\t0.2\t{text}\r\n" for text in texts), tmp_path)
    assert rules == RuleSet([(CHAIN, {"support": 2, "body_count": 9})])
    behind = "which can't be expressed."
    assert notes == (
        f"skipped 2 acyclic rules of length 2, {behind}",
        f"skipped 2 rules of length 2 without a chain from X to Y, {behind}",
        f"skipped 2 rules with an entity linked to itself, {behind}",
        f"skipped 2 rules without a body, {behind}",
        f"skipped 1 acyclic rule of length 3, {behind}",
        f"skipped 1 rule of length 1 without a chain from X to Y, {behind}",
        f"skipped 1 rule of length 2 from X to Y with a constant in the body, {behind}",
        f"skipped 1 rule whose body lacks the variable of the head, {behind}",
        f"skipped 1 rule with a relation whose name starts with ~, {behind}",
        "skipped 1 repeated rule; the first one counts.",
    )


def test_what_other_tools_can_not_hold_is_counted(tmp_path: Path) -> None:
    counts = {"support": 1.5, "body_count": 3}
    entries = [
        (Rule("r", ("s", "~t")), counts),
        (Rule("~r", ("t", "~s")), counts),
        (Rule("r", ("s",) * 30), counts),
        (Rule("r", ("s",), ("X", "tab\there")), counts),
    ]
    notes = write_rules(RuleSet([*entries, FIXED]), tmp_path / "a", "anyburl")
    assert notes == (
        "skipped 2 rules with a name or length that AnyBURL's format does not allow, which can't be expressed.",
        "skipped 1 chain for an inverse, equivalent to another rule, which can't be expressed.",
        "skipped 1 rule without support and body_count, which can't be expressed.",
        "1 rule with estimated counts; AnyBURL's own tools read whole numbers only.",
    )
    assert (tmp_path / "a").read_text() == "3\t1.5\t0.5\tr(X,Y) <= s(X,A), t(Y,A)\n"
    with pytest.raises(
        WriteError, match="None of 1 rule can be written in AnyBURL's format: skipped 1 rule without support"
    ):
        write_rules(RuleSet([FIXED]), tmp_path / "b", "anyburl")
    assert {path.name for path in tmp_path.iterdir()} == {"a"}


AMIE_FILE = """Using the default schema relations
Loading files...
  Finished facts.tsv, still running: 0

Starting the mining phase... Using 2 threads
Rule\tHead Coverage\tStandard Confidence\tPca Confidence\tSupport\tBody Size\tPca Body Size\tFunctional Variable
?a  lives_in  ?f  ?b  language_of  ?f   => ?a  speaks  ?b\t0.25\t0.8\t0.9\t40\t50\t45\t-1
?b  taught  ?a   => ?a  taught_by  ?b\t0.5\t-9.000000\t0.9\t9\t-1\t10\t-2
?a  lives_in  Paris   => ?a  speaks  French\t0.1\t0.5\t-1.0\t4\t8\t-1\t-1
?a  knows  ?b  ?a  likes  ?b   => ?a  trusts  ?b\t0.1\t0.5\t0.5\t4\t8\t8\t-1
Mining done in 1.5 s
4 rules mined.
"""


def test_amie_with_its_log_lines(tmp_path: Path) -> None:
    rules, notes = load(AMIE_FILE, tmp_path)
    assert rules == RuleSet(
        [
            (CHAIN, {"support": 40, "body_count": 50, "head_coverage": 0.25, "pca_confidence": 40 / 50}),
            (Rule("taught_by", ("~taught",)), {"support": 9, "head_coverage": 0.5, "pca_confidence": 9 / 15}),
            (FIXED, {"support": 4, "body_count": 8, "head_coverage": 0.1}),
        ]
    )
    assert notes == (
        "skipped 6 log lines.",
        "1 PCA confidence measured from the tail by AMIE.",
        "skipped 1 rule of length 2 without a chain from X to Y, which can't be expressed.",
    )


def test_amie_lines_are_spelled_as_its_own(tmp_path: Path) -> None:
    path = tmp_path / "rules.amie"
    turned = (Rule("~taught", ("s",)), {"support": 5, "body_count": 10, "pca_confidence": 0.5})
    notes = write_rules(RuleSet([turned, *SOME]), path)
    assert path.read_text().splitlines()[1:] == [
        f"?a  lives_in  ?c  ?b  language_of  ?c   => ?a  speaks  ?b\t{1 / 3}\t{8 / 11}\t-1\t8\t11\t-1\t-1",
        "?a  lives_in  Paris   => ?a  speaks  French\t-1\t1\t1\t3\t3\t3\t-1",
        "?c  lives_in  ?b   => Ann  speaks  ?b\t-1\t0.25\t-1\t1\t4\t-1\t-1",
        "?b  s  ?a   => ?a  taught  ?b\t-1\t0.5\t1\t5\t10\t5\t-2",
    ]
    assert notes == ("AMIE's format has no score, base_rate.",)
    assert read_rules(path).rules.filter(kind="constants")[0].pca_confidence == 3 / 8


def test_text_as_people_write_it(tmp_path: Path) -> None:
    text = "# mine\n\nspeaks(X,Y) <- lives_in(X,A), language_of(Y,A)\nr(X, 'c') <- s(X, A)\tsupport=3\t score=.5\n"
    rules, notes = load("\ufeff" + text, tmp_path)
    assert rules == RuleSet([CHAIN, (Rule("r", ("s",), ("c", None)), {"support": 3, "score": 0.5})])
    assert notes == ()
    assert load(text + "r(X, 'c') <- s(X, B)\n", tmp_path).notes == ("skipped 1 repeated rule; the first one counts.",)


def test_text_and_table_are_readable(tmp_path: Path) -> None:
    write_rules(SOME, tmp_path / "rules.txt")
    assert (tmp_path / "rules.txt").read_text().splitlines()[1] == (
        "speaks(X, 'French') <- lives_in(X, 'Paris')\tsupport=3\tbody_count=3\tconfidence=0.375\tpca_confidence=0.375"
    )
    write_rules(SOME, tmp_path / "rules.tsv")
    table = pl.read_csv(tmp_path / "rules.tsv", separator="\t")
    assert table["body"].to_list() == ["lives_in, ~language_of", "lives_in", "~lives_in"]
    assert table["length"].to_list() == [2, 1, 1]
    assert table["support"].to_list() == [8, 3, 1]


def test_a_table_with_other_columns_in_another_order(tmp_path: Path) -> None:
    text = "mine\tsupport\trule\nyes\t3\t\"r(X, 'c d') <- s(X, A)\"\n\t\t\nno\t\tr(X, Y) <- s(X, Y)\n"
    assert load(text, tmp_path, "rules.tsv").rules == RuleSet(
        [
            (Rule("r", ("s",), ("c d", None)), {"support": 3}),
            Rule("r", ("s",)),
        ]
    )


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("rules.json", '{"format": 1, "rules": [{"head_relation": "r", "body": ["s"], "confidence_error": 0.1}]}'),
        ("rules.txt", "r(X, Y) <- s(X, Y)\tconfidence_error=0.1\n"),
        ("rules.tsv", "rule\tconfidence_error\nr(X, Y) <- s(X, Y)\t0.1\n"),
    ],
)
def test_a_number_that_older_versions_wrote_is_left_out(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    assert list(read_rules(tmp_path / name).rules) == [ScoredRule(Rule("r", ("s",)))]


def test_json_is_one_rule_a_line(tmp_path: Path) -> None:
    path = tmp_path / "rules.json"
    write_rules(RuleSet([(CHAIN, {"score": 0.5})]), path)
    assert path.read_text().splitlines() == [
        '{"format": 1, "rules": [',
        '{"head_relation": "speaks", "body": ["lives_in", "~language_of"], "score": 0.5}',
        "]}",
    ]
    twice = {"format": 1, "rules": [{"head_relation": "r", "body": ["s"]}] * 2}
    assert load(json.dumps(twice), tmp_path, "rules.json").notes == ("skipped 1 repeated rule; the first one counts.",)


@pytest.mark.parametrize("suffix", ["", ".gz", ".xz", ".zst", ".bz2"])
@pytest.mark.parametrize("name", ["rules.json", "rules.txt", "rules.tsv", "rules.anyburl"])
def test_suffixes_say_format_and_compression(name: str, suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"{name}{suffix}"
    write_rules(SOME, path)
    assert len(read_rules(path).rules) == 3
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("name", ["rules.txt", "rules", "rules.out", "rules-100", "rules.tsv"])
def test_content_says_whose_lines_they_are(name: str, tmp_path: Path) -> None:
    assert all_rules(load(f"9\t2\t0.2\t{RULE}\n", tmp_path, name)) == {CHAIN}
    assert CHAIN in load(AMIE_FILE, tmp_path, name).rules


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", "", "a.txt: no rules: the file is empty."),
        ("a.json", " \n", "no rules: the file is empty."),
        ("a.parquet", "", "no rules: the file is empty."),
        ("a.txt", b"r(X, Y) <- s(X, Y)\nr(X, Y) <- \xff(X, Y)\n", "a.txt, line 2: byte 0xff is not UTF-8."),
        ("a.txt", "r(X, Y) <- s(X, Y)\n\nr(X, Y)\n", "a.txt, line 3: not a rule: expected '<-' at character 8"),
        ("a.txt", "r(X, Y) <- s(X, Y)\tlift=3\n", "line 1: expected name=number with one of score, support"),
        ("a.txt", "r(X, Y) <- s(X, Y)\tscore=high\n", "line 1: expected a number for score, found 'high'."),
        ("a.txt", "r(X, Y) <- s(X, Y)\tscore=nan\n", "a.txt, line 1: expected a number for score, found 'nan'."),
        (
            "a.txt",
            "r(X, Y) <- s(X, Y)\tsupport=-1\n",
            "a.txt, line 1: expected a number of at least 0 for support, found",
        ),
        ("a.txt", "r(X, Y) <- '\\ud800'(X, Y)\n", "a.txt: a name in column 'body' is not valid Unicode"),
        ("a.tsv", "rule\tscore\nr(X, Y) <- s(X, Y)\n", "a.tsv, line 2: expected 2 cells, found 1"),
        ("a.tsv", "head\tbody\n", "a.tsv, line 1: expected a column 'rule' in the header, found 'head, body'."),
        ("a.tsv", 'rule\n"r(X, Y)', "a.tsv, line 2: not a tab-separated table: unexpected end of data."),
        ("a.anyburl", f"9\t2\t{RULE}\n", "line 1: expected 4 tab-separated cells (groundings, support,"),
        (
            "a.txt",
            f"9\t2\t0.2\t{RULE}\nnine\t2\t0.2\t{RULE}\n",
            "a.txt, line 2: expected a number of at least 0 for the",
        ),
        (
            "a.txt",
            f"9\t2\t0.2\t{RULE}\n-9\t2\t0.2\tr(X,Y) <= s(X,Y)\n",
            "a.txt, line 2: expected a number of at least 0 for",
        ),
        (
            "a.anyburl",
            "9\t2\t0.2\tr(X,Y) <- s(X,Y)\n",
            "line 1: expected a rule such as r(X,Y) <= s(X,A), t(A,Y), found",
        ),
        (
            "a.anyburl",
            "9\t2\t0.2\tr(c,d) <= s(X,Y)\n",
            "line 1: expected a head such as r(X,Y) or r(X,name), found 'r(c",
        ),
        ("a.anyburl", "9\t2\t0.2\tr(X,c) <= s(X\n", "line 1: expected atoms such as s(X,A) or s(X,name), found 's(X'"),
        ("a.amie", "Loading files...\n", "a.amie: no rules: expected lines such as '?a  r  ?b   => ?a  s  ?b'"),
        ("a.amie", "?a  r  ?b   => ?a  s  ?b\t0.1\n", "a.amie, line 1: expected 8 tab-separated cells (Rule, Head"),
        ("a.amie", AMIE_FILE.replace("  ?a   =>", "   =>"), "a.amie, line 8: expected a rule such as '?a  r  ?f"),
        ("a.amie", AMIE_FILE.replace("\t40\t", "\tx\t"), "a.amie, line 7: expected a number for Support, found 'x'."),
        ("a.json", '{"format": 1, "rules": [\n{"head', "a.json, line 2: not valid JSON, or truncated:"),
        ("a.json", "[]", 'expected {"format": 1, "rules": [...]}, found another JSON file.'),
        ("a.json", '{"format": 2, "rules": {}}', "a.json: written by a newer version (format 2, this one reads 1). Up"),
        ("a.json", '{"format": 1}', "expected a list of rules, found 'None'."),
        ("a.json", '{"format": 1, "rules": [{"body": ["s"]}]}', "rule 1: expected head_relation and body, found"),
        (
            "a.json",
            '{"format": 1, "rules": [{"head_relation": "r", "body": ["s"], "x": 1}]}',
            "rule 1: unknown key 'x'",
        ),
        ("a.json", '{"format": 1, "rules": [{"head_relation": "r", "body": "s"}]}', "column 'body' must have lists"),
        ("a.json", '{"format": 1, "rules": [{"head_relation": 1, "body": ["s"]}]}', "column 'head_relation' must have"),
        (
            "a.json",
            '{"format": 1, "rules": [{"head_relation": "r", "body": []}]}',
            "a.json: row 1 is not a rule. Argument",
        ),
        ("a.parquet", "not parquet at all", "a.parquet: damaged Parquet file ("),
        (
            "a.json.gz",
            gzip.compress(b'{"format": 1, "rules": []}', mtime=0)[:-9],
            "the compressed data is damaged or truncated",
        ),
        ("a.txt.xz", lzma.compress(b"r(X, Y) <- s(X, Y)\n")[:-20], "the compressed data is damaged or truncated"),
    ],
)
def test_what_can_not_be_read_says_where_and_why(name: str, content: str | bytes, message: str, tmp_path: Path) -> None:
    with pytest.raises(ReadError, match=re.escape(message)) as caught:
        load(content, tmp_path, name)
    assert str(tmp_path / name) in str(caught.value)


def test_parquet_of_something_else(tmp_path: Path) -> None:
    pl.DataFrame({"head": ["a"]}).write_parquet(tmp_path / "a.parquet")
    with pytest.raises(ReadError, match=r"a\.parquet: expected the columns .*, found no column"):
        read_rules(tmp_path / "a.parquet")
    pl.DataFrame({"head_relation": ["r"] * 2, "body": [["s"]] * 2}).write_parquet(tmp_path / "b.parquet")
    assert read_rules(tmp_path / "b.parquet").notes == ("skipped 1 repeated rule; the first one counts.",)


def test_options_and_places_that_make_no_sense(tmp_path: Path) -> None:
    unknown: Any = "prolog"
    with pytest.raises(
        OptionError, match="Unknown rule format 'prolog'. Formats are json, parquet, text, tsv, anyburl"
    ):
        read_rules(tmp_path / "a", unknown)
    with pytest.raises(OptionError, match="Unknown rule format 'prolog'"):
        write_rules(SOME, tmp_path / "a", unknown)
    with pytest.raises(OptionError, match="unknown suffix '.xlsx'. Pass format="):
        write_rules(SOME, tmp_path / "a.xlsx")
    with pytest.raises(OptionError, match="Parquet is already compressed. Leave '.gz' out"):
        write_rules(SOME, tmp_path / "a.parquet.gz")
    with pytest.raises(WriteError, match="does not exist. Make it first"):
        write_rules(SOME, tmp_path / "none" / "a.json")
    with pytest.raises(ReadError, match="no such file"):
        read_rules(tmp_path / "a.json")
    assert not list(tmp_path.iterdir())
    assert tuple(FORMATS) == get_args(FormatName)


def test_an_error_while_writing_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "rules.anyburl"
    write_rules(SOME, path)
    before = path.read_bytes()
    with pytest.raises(WriteError):
        write_rules(RuleSet([CHAIN]), path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_head_without_variables_is_a_kind_of_its_own() -> None:
    head = Atom("r", Constant("c"), Constant("d"))
    assert express_rule(head, [Atom("s", "X", "Y")]) == "rule* without a variable in the head"
