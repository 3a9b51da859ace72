"""The rules that the paper prints, its Tables 6 and 8, all about YAGO3-10."""

from __future__ import annotations

from stablerule.rules import Rule

PRINTED_RULES: dict[str, tuple[Rule, ...]] = {
    "printed stablerule": (
        Rule("isLocatedIn", ("hasNeighbor", "isLocatedIn")),
        Rule("isLocatedIn", ("hasNeighbor", "dealsWith", "isLocatedIn")),
        Rule("isCitizenOf", ("isMarriedTo", "isCitizenOf")),
        Rule("isCitizenOf", ("hasAcademicAdvisor", "worksAt", "isLocatedIn")),
        Rule("livesIn", ("worksAt", "isLocatedIn")),
        Rule("livesIn", ("hasChild", "isMarriedTo", "livesIn")),
        Rule("graduatedFrom", ("hasAcademicAdvisor", "worksAt")),
        Rule("graduatedFrom", ("hasAcademicAdvisor", "influences", "graduatedFrom")),
    ),
    "printed ncrl": (
        Rule("isLocatedIn", ("isLocatedIn", "isLocatedIn")),
        Rule("isLocatedIn", ("hasAcademicAdvisor", "isLocatedIn", "isLocatedIn")),
        Rule("livesIn", ("graduatedFrom", "isLocatedIn")),
        Rule("livesIn", ("hasAcademicAdvisor", "hasAcademicAdvisor", "livesIn")),
    ),
}
