"""Released tables and queries, as SQL. A case is one statement, and its name is the statement."""

from __future__ import annotations

from collections.abc import Iterator

FORMS = ("", "_classes", "_metrics")
FAMILIES = ("kacpc", "mdav", "kmember", "oka", "mondrian", "best", "simdiv")
"""Algorithms of every family."""
ALL_FORMS = ("kacpc", "mondrian")
"""Algorithms whose classes and metrics are compared, too: the same SQL makes these from the release for all."""

MODELS = (
    "l := 2",
    "l := 2, diversity := 'entropy'",
    "l := 2, diversity := 'recursive', c := 1.5",
    "t := 0.4",
    "t := 0.2, ground_distance := 'ordered'",
    "t := 0.2, ground_distance := 'hierarchical'",
    "alpha := 0.6",
    "p := 3",
    "beta := 1.0",
    "beta := 1.0, likeness := 'enhanced'",
    "l := 2, t := 0.5, alpha := 0.7, beta := 3",
)

OPTIONS = (
    "person := 'pid', l := 2",
    "suppress := 0.1",
    "improve := 2000",
    "improve := 500, suppress := 0.05, l := 2",
    "nulls := 'drop'",
    "intervals := 'bounds'",
    "qi := ['sex', 'age'], withhold := ['zip']",
    "coarsen := {'age': 10, 'zip': 2}",
    "top := {'age': 70}, bottom := {'age': 30}, rounding := {'age': 4}",
    "min_level := {'zip': 1, 'sex': 1}",
    "max_level := {'zip': 3}",
    "weights := {'age': 5, 'zip': 0.25}",
    "loss_height := 'sub'",
)
"""Options of calls on `clinic`."""

ROLES = (
    "qi := ['age', 'sex'], sensitive := ['disease', 'score'], l := 2, multi_sensitive := 'joint'",
    "qi := ['age', 'sex'], sensitive := ['disease', 'score'], t := 0.5",
    "qi := ['weight', 'born', 'seen'], intervals := 'struct'",
    "qi := ['age', 'weight', 'smoker', 'job']",
    "qi := ['sex', 'age'], insensitive := ['ward'], identifier := ['name']",
    "qi := ['born'], rounding := {'born': 'year'}",
    "qi := ['born', 'seen'], coarsen := {'born': 'decade'}, top := {'seen': '2024-06-01'}",
    "qi := ['job', 'age'], hierarchies := {'job': 'trades'}",
    "qi := ['sex'], insensitive := ['job'], allow_rare := ['job']",
    "qi := ['zip', 'weight'], hierarchies := {'zip': 'zips'}, person := 'pid'",
)
"""Options of calls on `free`, which has no policy."""

OWN = {
    "kacpc": ("prune_unused := false",),
    "ikac": ("first_seed := 'far-from-random', seed := 3", "mode := 'deterministic'"),
    "mdav": ("scale := 'std'",),
    "gaa_cp": ("next_seed := 'far'", "mode := 'deterministic'"),
    "kmember": ("seed := 7", "mode := 'deterministic'"),
    "kmembers_random": ("seed := 7",),
    "eld": ("l := 3", "p := 2"),
    "mwck": ("bins := 4",),
    "rka": (
        "release := 'noise'",
        "release := 'noise', epsilon := 0.5, seed := 2",
        "release := 'noise', person := 'pid'",
    ),
    "mr_mondrian": ("noise_epsilon := 1",),
    "mondrian": ("strict := false",),
    "ldiversity_mondrian": ("l := 2", "l := 2, base := 'incognito'"),
    "oka": ("centroid_cat := 'mode'", "seed := 5"),
    "kmeans_no1": ("rounds := 2",),
    "kmeans_no2": ("rounds := 2",),
    "kmeans_no3": ("rounds := 2, mode := 'deterministic'",),
    "knn_anon": ("seed := 3", "mode := 'deterministic'"),
    "kmcssa": ("l := 2",),
    "gccg": ("parts := 3",),
    "systematic": ("seed := 3",),
    "bhaladhare": ("sort_quasi := 2, sort_sensitive := 0", "mode := 'deterministic'"),
    "organized": ("sort_quasi := 2", "mode := 'deterministic'"),
    "adaptive_k": ("mode := 'deterministic'",),
    "kmeanspp_cloud": ("seed := 2, deviations := 2", "mode := 'deterministic', suppress := 0"),
    "dissimilarity_tree": ("l := 2", "t := 0.5"),
    "dhkmeans": ("l := 3, seed := 4", "mode := 'deterministic', pairs := 10, rounds := 3"),
    "wfcmeans": ("seed := 6", "mode := 'deterministic', rounds := 2"),
    "wkmca": ("outliers := 0.2, seed := 1",),
    "oka_kmember": ("seed := 5",),
    "kaca": ("beta_edge := 0", "split_donor := true"),
    "r_gather": ("eps := 0.05", "l := 2"),
    "multilevel_mdav": ("levels := 3, group_size_factor := 2", "scale := 'std'"),
    "kapp": ("t := 0.5, seed := 3", "sensitive_clusters := 2, l := 2", "t := 0.8, optimizer := 'vultures'"),
    "ga_clustering": ("generations := 500, patience := 500, seed := 2", "mode := 'deterministic'"),
    "loukides_shao": ("threshold := 0.2, suppress := 0.1", "diversity_weight := 0.2, mode := 'deterministic'"),
    "mckl": ("l := 3", "l := 3, suppress := 1"),
    "knn_gs": ("n_groups := 3, records_per_group := 2", "group_level := 1, mode := 'deterministic'"),
    "pppc": ("parts := 3, seed := 2", "l := 2, mode := 'deterministic'"),
    "s_cpm": ("parts := 3, penalty := 2, seed := 2", "l := 2, mode := 'deterministic'"),
    "datafly": ("max_suppressed := 0", "suppress := 0.02, l := 2"),
    "incognito": ("suppress := 0.1", "recoding := 'tight'"),
    "samarati": ("suppress := 0.1, max_suppressed := 3",),
    "fmdav": ("scale := 'std'",),
    "kl_member": ("l := 3, seed := 2", "mode := 'deterministic'"),
    "tds": ("parts := 3", "l := 2"),
    "k_optimize": ("max_nodes := 20, suppress := 0.1",),
    "best": ("effort := 'normal'", "l := 2, seed := 4"),
    "simdiv": (
        "influence := 'weights'",
        "influence := 'weights', div := 'pair', rank := 'chain', cap := 'half'",
        "influence := 'weights', cs_scale := 'minmax', influential := 'first', levels := 2",
        "influence := 'weights', bounds := {'age': [20, 80]}, drop_duplicates := true",
        "trees := 20",
        "trees := 20, reproduce := 'paper'",
    ),
}
"""Parameters of one algorithm; simdiv without a forest, and with one."""

MEASURES = ("k_anonymity", "l_diversity", "t_closeness", "alpha_k", "p_sensitive", "beta_likeness", "anonymity")
RISKS = ("risk", "reidentification", "uniqueness", "disclosure", "exposure", "distortion", "infeasible_classes")
SENSITIVE = ["disease", "score"]
ATTACKS = ("homogeneity", "skewness", "similarity", "background", "downcoding", "refinement", "reconstruction",
           "majority")  # fmt: skip


def six_statements(algorithms: list[str]) -> Iterator[str]:
    for name in algorithms:
        yield f"FROM {name}('six', k := 2)"
    yield "FROM anonymize('six', algorithm := 'mondrian', k := 2)"
    yield "SELECT * FROM kacpc_metrics('six', k := 2, with_kl_divergence := true)"


def clinic_statements(algorithms: list[str]) -> Iterator[str]:
    for name in algorithms:
        for form in FORMS if name in ALL_FORMS else FORMS[:1]:
            yield f"FROM {name}{form}('clinic', k := 4)"


def declared_statements() -> Iterator[str]:
    for name in FAMILIES:
        yield f"FROM {name}('declared', k := 5)"
    for form in FORMS[1:]:
        yield f"FROM mondrian{form}('declared', k := 5, l := 2)"


def model_statements() -> Iterator[str]:
    for model in MODELS:
        for name in ("kacpc", "best"):
            yield f"FROM {name}('clinic', k := 4, {model})"
        yield f"FROM mondrian_metrics('clinic', k := 4, {model})"


def option_statements() -> Iterator[str]:
    """Yield calls with one common parameter each."""
    for option in OPTIONS:
        yield f"FROM kacpc('clinic', k := 4, {option})"
        yield f"FROM mondrian('clinic', k := 4, {option})"
    for option in ROLES:
        yield f"FROM kacpc('free', k := 4, {option})"
        yield f"FROM mondrian_classes('free', k := 4, {option})"
    for option in OPTIONS[:4]:
        yield f"FROM kmember_classes('clinic', k := 4, {option})"


def algorithm_option_statements() -> Iterator[str]:
    """Yield calls with parameters of one algorithm."""
    for name, choices in OWN.items():
        for choice in choices:
            yield f"FROM {name}('clinic', k := 4, {choice})"
    yield "FROM rka_metrics('clinic', k := 4, release := 'noise')"
    yield "FROM mr_mondrian_metrics('clinic', k := 4, noise_epsilon := 2)"


def function_statements() -> Iterator[str]:
    """Yield functions about policies, hierarchies and tables, and those that read published values."""
    yield "FROM profile('clinic')"
    yield "FROM profile('six')"
    yield "FROM hierarchies()"
    yield "FROM hierarchy_problems()"
    yield "FROM policy_problems()"
    yield "FROM dbanon.policy ORDER BY ALL"
    yield "SELECT name, title, family, source, evidence, deterministic, complexity, meets FROM algorithms()"
    yield "FROM uncovered_values('clinic', 'zip', hierarchy := 'us_state')"
    yield "FROM hierarchy_builtin('us_state')"
    yield "FROM hierarchy_to_arx('illness')"
    yield "FROM hierarchy_flat('jobs', 'clinic', 'job')"
    yield "FROM hierarchy_prefix('zip3', 'clinic', 'zip', keep := [3])"
    yield "FROM hierarchy_intervals('ages', 'clinic', 'age', widths := [5, 10, 20])"
    yield "FROM hierarchy_dates('born', 'clinic', 'born', levels := ['year', 'decade'])"
    yield (
        "SELECT v, lower_bound(v), upper_bound(v), midpoint(v), share_within(v, 20, 30), covers(v, '25') "
        "FROM (VALUES ('[25, 29]'), ('25'), ('<=18'), ('>=90'), ('*'), (NULL), ('[-3.5, 1e3]')) AS t (v)"
    )
    yield (
        "SELECT v, lower_date(v), upper_date(v), midpoint_date(v) "
        "FROM (VALUES ('[2024-01-01, 2024-03-31]'), ('2024-02-29'), ('*'), (NULL)) AS t (v)"
    )


def measure_statements() -> Iterator[str]:
    """Yield metrics, risks, errors and attacks, on the table `safe` made of `clinic`."""
    for name in MEASURES:
        sensitive = "" if name == "k_anonymity" else f", sensitive := {SENSITIVE}"
        yield f"FROM {name}('free', qi := ['sex', 'zip']{sensitive})"
    for name in RISKS:
        yield f"FROM {name}('safe', source := 'clinic')"
    yield "FROM uniqueness('safe', source := 'clinic', population := 'clinic')"
    yield (
        "FROM risk('safe', source := 'clinic', classes := 'cluster', fraction := 0.5, count_ties := true, "
        "normalize_levels := true)"
    )
    for kind in ATTACKS:
        yield f"FROM attack('safe', kind := '{kind}', source := 'clinic')"
        yield f"FROM attack_summary('safe', kind := '{kind}', source := 'clinic')"
    yield "FROM attack('safe', kind := 'minimality', source := 'clinic', alpha := 0.5)"
    yield "FROM attack('safe', kind := 'linkage', source := 'clinic', register := 'clinic')"
    yield "FROM attack_summary('safe', kind := 'linkage', source := 'clinic', register := 'clinic', sample := 20)"
    yield "FROM attack('safe', kind := 'membership', source := 'clinic', register := 'clinic', threshold := 0)"
    yield "FROM attack_summary('safe', kind := 'membership', source := 'clinic', register := 'clinic')"
    yield "FROM attack('safe', kind := 'background', source := 'clinic', known_negatives := 2, threshold := 0.5)"
    yield "FROM query_error('safe', 'clinic', queries := 100)"
    yield "FROM inference('clinic', k := 4)"
    yield "FROM inference('clinic', k := 4, algorithm := 'mondrian', min_records := 2)"


def forest_statements() -> Iterator[str]:
    """Yield statements whose results depend on forests."""
    yield "FROM influence('clinic', trees := 20)"
    yield "FROM influence('free', trees := 9, qi := ['age', 'job'], sensitive := ['score'], influence := 'mean')"
    yield "FROM kacpc('clinic', k := 4, weights := 'influence')"
    yield "FROM attack_summary('safe', kind := 'prediction', source := 'clinic')"


def error_statements() -> Iterator[str]:
    """Yield mistakes, whose messages are the answer."""
    yield "FROM kacpc('six')"
    yield "FROM kacpc('six', k := 1)"
    yield "FROM kacpc('six', k := 7)"
    yield "FROM kacpc('six', k := 2.5)"
    yield "FROM kacpc('nowhere', k := 2)"
    yield "FROM kacpc('six', k := 2, qi := ['agee'])"
    yield "FROM kacpc('six', k := 2, insensitive := ['rid'])"
    yield "FROM kacpc('six', k := 2, l := 5)"
    yield "FROM kacpc('six', k := 2, diversity := 'entropy')"
    yield "FROM kacpc('six', k := 2, ground_distance := 'else', t := 0.1)"
    yield "FROM kacpc('six', k := 2, hierarchies := {'workclass': 'nothing'})"
    yield "FROM kacpc('six', k := 2, min_level := {'age': 1})"
    yield "FROM kacpc('clinic', k := 4, nulls := 'error')"
    yield "FROM kacpc('clinic', k := 4, insensitive := ['name'])"
    yield "FROM kacpc('clinic', k := 4, insensitive := ['score', 'seen'])"
    yield "FROM anonymize('six', algorithm := 'kacp', k := 2)"
    yield "FROM attack('six', kind := 'guess', source := 'six')"
    yield "FROM risk('six', threshold := 2)"
    yield "FROM hierarchy_builtin('nothing')"


def adult_statements(algorithms: list[str]) -> Iterator[str]:
    for name in algorithms:
        for form in FORMS if name in ALL_FORMS else FORMS[:1]:
            fewer = ", trees := 20" if name == "simdiv" else ""
            yield f"FROM {name}{form}('adult', k := 10{fewer})"


def adult_option_statements() -> Iterator[str]:
    """Yield calls with parameters, on `adult`."""
    yield "FROM best('adult', k := 10, l := 2)"
    for name in ("kacpc", "mondrian"):
        yield f"FROM {name}('adult', k := 10, l := 2)"
        yield f"FROM {name}('adult', k := 10, sensitive := ['occupation'], t := 0.2)"
    for option in (
        "improve := 5000",
        "suppress := 0.05",
        "top := {'age': 80}, bottom := {'age': 20}, rounding := {'age': 5}",
        "coarsen := {'age': 5, 'education': 2}",
        "intervals := 'bounds', min_level := {'education': 1}",
        "weights := {'age': 3}",
    ):
        yield f"FROM kacpc('adult', k := 10, {option})"
    yield "FROM kacpc('adult', k := 100)"
    yield "FROM kacpc('visits', k := 10)"
    yield "FROM kacpc_metrics('visits', k := 10, l := 2)"
    yield "FROM mondrian('visits', k := 10, l := 2)"
    yield "FROM rka('adult', k := 10, release := 'noise')"
    yield "FROM mr_mondrian('adult', k := 10, noise_epsilon := 1)"
    yield "FROM simdiv('adult', k := 10, influence := 'weights')"
    yield "FROM oka('adult', k := 10, mode := 'deterministic', l := 2)"
    yield "FROM kmember('adult', k := 10, l := 2)"


def adult_metric_statements() -> Iterator[str]:
    """Yield statements on the table `safe` made of `adult`."""
    yield "FROM profile('adult')"
    yield "FROM anonymity('adult')"
    yield "FROM risk('safe', source := 'adult')"
    yield "FROM query_error('safe', 'adult', queries := 100)"
    yield "FROM inference('adult', k := 10)"
    yield "FROM attack_summary('safe', kind := 'homogeneity', source := 'adult')"
    yield "FROM attack_summary('safe', kind := 'reconstruction', source := 'adult')"
    yield "FROM attack('safe', kind := 'downcoding', source := 'adult')"
    yield "FROM influence('adult', trees := 10, sensitive := ['salary'])"
