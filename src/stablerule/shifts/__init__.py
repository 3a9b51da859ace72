"""How queries differ: signatures, groups, splits that shift on purpose, and the comparison of two sets of queries."""

from stablerule.shifts.comparing import ShiftReport, Thresholds, compare_queries
from stablerule.shifts.coverage import body_coverage
from stablerule.shifts.grouping import (
    Grouping,
    by_attribute,
    by_degree,
    by_labels,
    by_paths,
    by_random,
    by_relation,
    group_by_names,
)
from stablerule.shifts.labels import by_file, read_labels
from stablerule.shifts.queries import QuerySet, read_query_set
from stablerule.shifts.signatures import Signatures, path_signatures
from stablerule.shifts.sizes import ShiftSize, measure_shift

__all__ = [
    "Grouping",
    "QuerySet",
    "ShiftReport",
    "ShiftSize",
    "Signatures",
    "Thresholds",
    "body_coverage",
    "by_attribute",
    "by_degree",
    "by_file",
    "by_labels",
    "by_paths",
    "by_random",
    "by_relation",
    "compare_queries",
    "group_by_names",
    "measure_shift",
    "path_signatures",
    "read_labels",
    "read_query_set",
]
