"""Rules as hypothesis makes them: any names that a table can hold, often with signs that mean something in a format."""

from __future__ import annotations

from hypothesis import strategies as st

from stablerule.rules import Rule, RuleSet, ScoredRule

characters = st.one_of(
    st.characters(exclude_categories=["Cs"]), st.sampled_from("~'\"\\(),<-=> \n\r\t#XYAab?\u2028\x85")
)
names = st.one_of(st.text(characters, min_size=1, max_size=8), st.sampled_from(["r", "s", "t", "a, b", "c (d)"]))
plain_relations = names.filter(lambda name: not name.startswith("~"))
relations = st.builds("{}{}".format, st.sampled_from(["", "", "~"]), plain_relations)
few_relations = st.sampled_from(["r", "s", "~r", "~s"])


def rules_of(relation: st.SearchStrategy[str], name: st.SearchStrategy[str]) -> st.SearchStrategy[Rule]:
    chains = st.builds(Rule, relation, st.lists(relation, min_size=1, max_size=4).map(tuple))
    constants = st.builds(Rule, relation, st.tuples(relation), st.tuples(name, st.one_of(st.none(), name)))
    return st.one_of(chains, constants)


any_rules = rules_of(relations, names)
few_rules = rules_of(few_relations, st.sampled_from(["c", "d"]))
shares = st.one_of(st.none(), st.sampled_from([0.0, 0.25, 0.5]), st.floats(0, 1))
counts = st.one_of(st.none(), st.integers(0, 1000).map(float), st.floats(0, 1e9))


def scored_rules(rule: st.SearchStrategy[Rule]) -> st.SearchStrategy[list[ScoredRule]]:
    one = st.builds(
        ScoredRule,
        rule,
        score=st.one_of(st.none(), st.sampled_from([0.5, 1.0]), st.floats(allow_nan=False, allow_infinity=False)),
        support=counts,
        body_count=counts,
        confidence=shares,
        pca_confidence=shares,
        head_coverage=shares,
        base_rate=shares,
        confidence_low=shares,
        confidence_high=shares,
    )
    return st.lists(one, max_size=12, unique_by=lambda scored: scored.rule)


rule_sets = scored_rules(any_rules).map(RuleSet)
small_sets = scored_rules(few_rules).map(RuleSet)
