"""The catalog of known graphs: their sources, sizes and checksums."""

from __future__ import annotations

from dataclasses import dataclass, field

NEURAL_LP = "https://raw.githubusercontent.com/fanyangxyz/Neural-LP/master/datasets"
ROTATE = "https://raw.githubusercontent.com/DeepGraphLearning/KnowledgeGraphEmbedding/master/data"
GRAIL = "https://raw.githubusercontent.com/kkteru/grail/master/data"
PYKEEN = "https://raw.githubusercontent.com/pykeen/pykeen/master/src/pykeen/datasets"
LEI = "https://raw.githubusercontent.com/ZhenfengLei/KGDatasets/master"

FREEBASE = "Freebase, CC BY"
WORDNET = "WordNet licence"
UNSTATED = "no licence stated by its authors; for research"


@dataclass(frozen=True)
class Counts:
    """The sizes that a dataset must have."""

    entities: int
    relations: int
    train: int
    valid: int
    test: int


@dataclass(frozen=True)
class Entry:
    """One row of the catalog.

    address: the address of a public folder with the files, None if there is none. files: the files of each split.
    sha256: of the facts (`Dataset.sha256`), None if unknown.
    """

    name: str
    about: str
    counts: Counts
    licence: str
    address: str | None = None
    sha256: str | None = None
    embedded: bool = False
    files: dict[str, tuple[str, ...]] = field(
        default_factory=lambda: {"train": ("train.txt",), "valid": ("valid.txt",), "test": ("test.txt",)}
    )


# Neural-LP separates facts to reason on from facts to learn from; other work joins them.
FACTS_AND_TRAIN = {"train": ("facts.txt", "train.txt"), "valid": ("valid.txt",), "test": ("test.txt",)}


def _make_grail_entry(name: str, counts: Counts, sha256: str) -> Entry:
    family, version = name.split("_", 1)
    inductive = name.endswith("_ind")
    about = f"GraIL, {'test' if inductive else 'training'} graph"
    folder = f"{'WN18RR' if family == 'wn18rr' else family}_{version}"
    licence = WORDNET if family == "wn18rr" else FREEBASE
    return Entry(name, about, counts, licence, f"{GRAIL}/{folder}", sha256)


ENTRIES = (
    Entry(
        "geography",
        "countries, cities, languages",
        Counts(4_627, 10, 10_756, 1_338, 1_341),
        "GeoNames, CC BY 4.0",
        sha256="5c315b10f7e3225bcebe5b6b38194d4e9f9fc00bb5d55f22bfd58040c974a9aa",
        embedded=True,
    ),
    Entry(
        "family",
        "kinship in families",
        Counts(3_007, 12, 23_483, 2_038, 2_835),
        UNSTATED,
        f"{NEURAL_LP}/family",
        "a3b5826cfdd404e45885fd4a493d46377f2542af80ca5a353e4c1d630092f473",
        files=FACTS_AND_TRAIN,
    ),
    Entry(
        "kinship",
        "terms of the Alyawarra",
        Counts(104, 25, 8_487, 1_099, 1_100),
        UNSTATED,
        f"{NEURAL_LP}/kinship",
        "daf55f4fb14d755e75debcb8e92d4333e5fc23efccae17030b3c08e854e9d2ed",
        files=FACTS_AND_TRAIN,
    ),
    Entry(
        "umls",
        "biomedical concepts",
        Counts(135, 46, 5_327, 569, 633),
        UNSTATED,
        f"{NEURAL_LP}/umls",
        "fd01900a27c2dd2e54e8c34988240ab011b46dc995ba226e6858e05c7f54980f",
        files=FACTS_AND_TRAIN,
    ),
    Entry(
        "wn18rr",
        "words and their senses",
        Counts(40_943, 11, 86_835, 3_034, 3_134),
        WORDNET,
        f"{ROTATE}/wn18rr",
        "24965da39b0360efe4282196080ceafc73112e90a337552c0ef04eeca30d167f",
    ),
    Entry(
        "fb15k-237",
        "people, films, places",
        Counts(14_541, 237, 272_115, 17_535, 20_466),
        FREEBASE,
        f"{ROTATE}/FB15k-237",
        "0e4d54917bd97894f9147db244cc35df7f0e1e44dd32f5dd52c5b13737bcb20d",
    ),
    Entry(
        "fb15k",
        "leaks: see `data check`",
        Counts(14_951, 1_345, 483_142, 50_000, 59_071),
        FREEBASE,
        f"{ROTATE}/FB15k",
        "7f17381a0c1cb64e7fffe67ef8383de6137f9e1809fd1c026a5637dadfebe734",
    ),
    Entry(
        "yago3-10",
        "people, places, clubs",
        Counts(123_182, 37, 1_079_040, 5_000, 5_000),
        "YAGO, CC BY 3.0",
        f"{ROTATE}/YAGO3-10",
    ),
    Entry(
        "yago3-10-quarter",
        "a quarter of its train",
        Counts(106_195, 37, 269_760, 5_000, 5_000),
        "YAGO, CC BY 3.0",
        sha256="68b7e255edecff1f75e1d151d3063be93f5f8d27906ee97dfa83f10b65cf1826",
    ),
    Entry(
        "acl-biblio",
        "papers, authors, venues",
        Counts(227_814, 4, 530_547, 66_318, 66_319),
        "ACL Anthology, CC BY 4.0",
        sha256="a92f886c566772216a24d2e108b09360546b6154c3eca7a3fac10ecfb2144c09",
    ),
    Entry(
        "nations",
        "politics of 14 countries",
        Counts(14, 55, 1_592, 199, 201),
        UNSTATED,
        f"{PYKEEN}/nations",
        "ba9aa8bba490f6ff58fdad99f3ed6cb23934f64f64aabe3f46271327c1804af8",
    ),
    Entry(
        "countries",
        "regions, neighbours (S1)",
        Counts(271, 2, 1_110, 24, 24),
        UNSTATED,
        f"{LEI}/Countries/Countries_S1",
    ),
    _make_grail_entry(
        "fb237_v1",
        Counts(1594, 180, 4245, 489, 492),
        "f246d663288920f1a31202738e61d94fad34fa9b92735f5cc45b751f09fa424f",
    ),
    _make_grail_entry(
        "fb237_v1_ind",
        Counts(1093, 142, 1993, 206, 205),
        "62e5d4ffc0201a730ec3bf0b97dadf38ae375da5a78131808345b52effcad07f",
    ),
    _make_grail_entry(
        "fb237_v2",
        Counts(2608, 200, 9739, 1166, 1180),
        "909f4ae9e167e74a4b7a7b563731476a22a81a50a5585b2cf6273e7d797ad4ce",
    ),
    _make_grail_entry(
        "fb237_v2_ind",
        Counts(1660, 172, 4145, 469, 478),
        "ef49ef017ca018455978267f6ea6cae7538942622844fb618f4f6941cb11b5c2",
    ),
    _make_grail_entry(
        "fb237_v3",
        Counts(3668, 215, 17986, 2194, 2214),
        "09224f56bbb996604ad379449d8072129eed832fda490b0fa657356bcc417d6a",
    ),
    _make_grail_entry(
        "fb237_v3_ind",
        Counts(2501, 183, 7406, 866, 865),
        "dca51e7b8c7dc6ecce0c3611235172e7e47bec04d6ebf14681e6256b31a4697b",
    ),
    _make_grail_entry(
        "fb237_v4",
        Counts(4707, 219, 27203, 3352, 3361),
        "fab8858126f147ac86d3472e2701a83fdef5a64384448841bcf6863fc09aa975",
    ),
    _make_grail_entry(
        "fb237_v4_ind",
        Counts(3051, 200, 11714, 1416, 1424),
        "8ddedd77eff6705f05afaa0193fa8e8e2eabb6631b58346d1ff693b9f0326484",
    ),
    _make_grail_entry(
        "wn18rr_v1", Counts(2746, 9, 5410, 630, 638), "8959bef0ac86dd4e3d89b54ca33dd842ac162875b641837c07ee66b089e89172"
    ),
    _make_grail_entry(
        "wn18rr_v1_ind",
        Counts(922, 8, 1618, 185, 188),
        "afc23e65f9f7e8ec4bef4d6ed254d06b59f90499ae7eab2907a84235539ee9eb",
    ),
    _make_grail_entry(
        "wn18rr_v2",
        Counts(6954, 10, 15262, 1838, 1868),
        "03a7d893363b4a805e18571b32527834afaeaf79b4bb7a3d873de1b36cbdadf1",
    ),
    _make_grail_entry(
        "wn18rr_v2_ind",
        Counts(2757, 10, 4011, 411, 441),
        "bb4420100efe52423a500150ea0fd8db210289d4f10317e5a9bf09413d001e5f",
    ),
    _make_grail_entry(
        "wn18rr_v3",
        Counts(12078, 11, 25901, 3097, 3152),
        "71fe7ac945f6b6700abbceea98757f9eef7ec5c8d31731e54247bcf8c0d5e8b1",
    ),
    _make_grail_entry(
        "wn18rr_v3_ind",
        Counts(5084, 11, 6327, 538, 605),
        "6ce07dfaf1b278e39f6e346c85fa224fb4fdffa5c849aa3e994d6cca3d1957f0",
    ),
    _make_grail_entry(
        "wn18rr_v4", Counts(3861, 9, 7940, 934, 968), "457282a95167c7c84d4214d4702769e38383f0aed5d223f1463c04ec1418803c"
    ),
    _make_grail_entry(
        "wn18rr_v4_ind",
        Counts(7084, 9, 12334, 1394, 1429),
        "c0ce713ee9ea42afdbfccdf32744be299eb051d8bf75e25222f59d801df03cb2",
    ),
)

CATALOG = {entry.name: entry for entry in ENTRIES}
