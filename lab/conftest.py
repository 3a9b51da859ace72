"""Runs the tests of the laboratory, and the code blocks of its README and docs."""

from pathlib import Path

from tests.documents import collect_documents
from tests.session import parametrize_methods, prepare_session

prepare_session()
pytest_generate_tests = parametrize_methods
pytest_collect_file = collect_documents(Path(__file__).parent)
