"""Shifts between queries: path signatures, groups, splits with a known shift, and the shift report."""

from stablerule.shifts.advice import Thresholds
from stablerule.shifts.coverage import measure_body_coverage
from stablerule.shifts.distances import ShiftSize, measure_shift
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
from stablerule.shifts.report import ShiftReport, compare_queries
from stablerule.shifts.signatures import Signatures, make_path_signatures

__all__ = [
    "Grouping",
    "QuerySet",
    "ShiftReport",
    "ShiftSize",
    "Signatures",
    "Thresholds",
    "by_attribute",
    "by_degree",
    "by_file",
    "by_labels",
    "by_paths",
    "by_random",
    "by_relation",
    "compare_queries",
    "group_by_names",
    "make_path_signatures",
    "measure_body_coverage",
    "measure_shift",
    "read_labels",
    "read_query_set",
]
