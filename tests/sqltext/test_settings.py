"""Session settings change no result: every setting of DuckDB is listed, and those that may matter are tested."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import duckdb
import pytest
from support.scale import sample_cases

import dbanon
from dbanon.sqltext import resources
from dbanon.table_functions.registry import table_functions

MEANING = {
    "Calendar": "'japanese'",
    "TimeZone": "'Asia/Tokyo'",
    "default_collation": "'nocase'",
    "default_null_order": "'nulls_first'",
    "default_order": "'DESC'",
    "dialect_compatibility_mode": "'SPARK'",
    "error_on_division_by_zero": "false",
    "errors_as_json": "true",
    "ieee_floating_point_ops": "false",
    "integer_division": "true",
    "lambda_syntax": "'ENABLE_SINGLE_ARROW'",
    "legacy_disable_null_type": "true",
    "old_implicit_casting": "true",
    "order_by_non_integer_literal": "true",
    "preserve_identifier_case": "'uppercase'" if duckdb.__version__ >= "2" else "false",
    "regex_match_operator_semantics": "'full'",
    "scalar_subquery_error_on_multiple_rows": "false",
    "show_behavior": "'SETTING'",
    "table_function_identifier_conversion": "'DISABLE_IMPLICIT_STRING'",
}
"""Settings that change what SQL means."""

RUNNING = {
    "approximate_join_order_threshold": "1",
    "arrow_large_buffer_size": "true",
    "arrow_lossless_conversion": "true",
    "arrow_output_list_view": "true",
    "arrow_output_version": "'1.5'",
    "asof_loop_join_threshold": "0",
    "binary_as_string": "true",
    "debug_force_external": "true",
    "debug_physical_table_scan_execution_strategy": "'SYNCHRONOUS'",
    "debug_verify_vector": "'dictionary_expression'",
    "debug_window_mode": "'separate'",
    "delim_join_as_cte": "false",
    "disable_timestamptz_casts": "true",
    "disabled_optimizers": "'filter_pushdown,statistics_propagation,common_subexpressions'",
    "dynamic_or_filter_threshold": "0",
    "enable_caching_operators": "false",
    "enable_fsst_vectors": "true",
    "enable_macro_dependencies": "true",
    "enable_optimizer": "false",
    "enable_view_dependencies": "true",
    "immediate_transaction_mode": "true",
    "late_materialization_max_rows": "0",
    "max_expression_depth": "500",
    "merge_join_threshold": "0",
    "nested_loop_join_threshold": "0",
    "ordered_aggregate_threshold": "1",
    "parquet_can_have_nan": "true",
    "parquet_use_page_index": "false",
    "perfect_ht_threshold": "0",
    "prefer_range_joins": "true",
    "preserve_insertion_order": "false",
    "produce_arrow_string_view": "true",
    "python_enable_replacements": "false",
    "python_scan_all_frames": "true",
    "scheduler_process_partial": "true",
    "streaming_buffer_size": "'1KB'",
    "threads": "1",
}
"""Settings that change how SQL is run, and the form of returned values."""

LEFT_ALONE = {
    "files, folders, networks and secrets; what may be read is tried in test_files.py": """
        access_mode allow_extension_repositories allow_persistent_secrets allow_unredacted_secrets allowed_configs
        allowed_directories allowed_paths autoinstall_extension_repository autoinstall_known_extensions
        autoload_known_extensions cache_local_files custom_extension_repository custom_user_agent default_secret_storage
        disable_parquet_prefetching disabled_filesystems duckdb_api enable_external_access enable_external_file_cache
        enable_geoparquet_conversion enable_http_metadata_cache enable_object_cache extension_directories
        extension_directory extension_repository_directory external_file_cache_local_max_block_size
        external_file_cache_remote_max_block_size external_file_cache_remote_min_block_size
        external_file_cache_request_sizing external_file_cache_spill file_search_path force_mbedtls_unsafe
        home_directory http_client_pool_capacity http_proxy http_proxy_password http_proxy_username
        http_retry_quota_throttled http_retry_throttled_wait_ms
        parquet_metadata_cache parquet_prefetch_column_gap password prefetch_all_parquet_files read_ahead_depth
        redact_http_logs secret_directory storage_block_prefetch temp_directory temp_file_encryption user username
        validate_external_file_cache""",
    "extensions, which can change anything": """
        active_grammar_extensions allow_community_extensions allow_extensions_metadata_mismatch
        allow_parser_override_extension allow_unsigned_extensions current_dialect""",
    "memory, time, threads and what joins are allowed: a statement ends or is refused": """
        allocator_background_threads allocator_bulk_deallocation_flush_threshold allocator_flush_threshold async_threads
        block_allocator_memory debug_asof_iejoin debug_force_no_cross_product external_threads max_execution_time
        max_memory max_streaming_buffer_size
        max_temp_directory_size memory_limit operator_memory_limit pin_threads pivot_limit standard_vector_size
        worker_threads""",
    "how a database is stored; what is stored is what is read": """
        __delta_only_variant_encoding_enabled auto_checkpoint_skip_wal_threshold checkpoint_on_detach
        checkpoint_threshold debug_checkpoint_abort debug_checkpoint_scan_sleep_ms debug_checkpoint_sleep_ms
        debug_eviction_queue_sleep_micro_seconds debug_skip_checkpoint_on_commit debug_verify_blocks default_block_size
        disable_database_invalidation disabled_compression_methods enable_optimistic_write experimental_metadata_reuse
        force_bitpacking_mode force_column_metadata_reuse force_compression force_variant_shredding fsync_mode
        geometry_minimum_shredding_size initial_column_segment_size max_vacuum_tasks partitioned_write_flush_threshold
        partitioned_write_max_open_files storage_compatibility_version vacuum_rebuild_indexes
        variant_minimum_shredding_size wal_autocheckpoint wal_autocheckpoint_entries write_buffer_row_group_count
        write_buffer_row_group_memory_limit zstd_min_string_length""",
    "what is told of a statement beside its answer": """
        catalog_error_max_schemas custom_profiling_settings disabled_log_types enable_http_logging enable_logging
        enable_profiling enable_progress_bar enable_progress_bar_print enabled_log_types explain_output
        http_logging_output log_query_path logging_level logging_mode logging_sink logging_storage profile_output
        profiling_coverage profiling_mode profiling_output profiling_renderer_settings progress_bar_time tracked_metrics
        warnings_as_errors""",
    "where names are looked up, which a call resolves itself": "schema search_path",
    "transactions that failed, settings that may not be set any more": """
        current_transaction_invalidation_policy default_transaction_invalidation_policy lock_configuration""",
    "nothing that a plan has: geometry, PIVOT, indexes of the source, USING KEY, DataFrames of objects": """
        deprecated_using_key_syntax ignore_unknown_crs index_scan_max_count index_scan_percentage json_geometry_format
        pandas_analyze_sample pivot_filter_threshold""",
    "another name of default_null_order": "null_order",
}
"""Settings that are not tried, with the reason."""

TABLE = """
CREATE TABLE t AS SELECT
    i // 2 AS pid, 20 + (i * 7) % 10 AS age, ((i * 3) % 5) / 4.0::DOUBLE AS dose,
    DATE '1999-12-20' + ((i * 11) % 40)::INTEGER AS born,
    TIMESTAMPTZ '2020-02-28 23:30:00+00' + INTERVAL (i % 7) HOUR AS seen,
    CASE WHEN i % 11 > 0 THEN ['a1', 'A1', 'b2', 'B1'][1 + i % 4] END AS zip,
    CASE WHEN i % 9 > 0 THEN ['flu', 'HIV', 'Flu', 'cold'][1 + (i * 5) % 4] END AS disease, i % 3 AS severity
FROM range(32) AS r (i)
"""
RELEASE = (
    "('t', k := 2, qi := ['age', 'dose', 'born', 'seen', 'zip'], sensitive := ['disease', 'severity'], "
    "person := 'pid', hierarchies := {'zip': 'zip'})"
)
JUDGED = "('safe', qi := ['age', 'zip'], sensitive := ['severity']"
STATEMENTS = {
    "release": f"FROM mondrian{RELEASE}",
    "classes": f"FROM mondrian_classes{RELEASE}",
    "metrics": f"FROM mondrian_metrics{RELEASE}",
    "model": "FROM mondrian('t', k := 3, qi := ['age', 'zip'], sensitive := ['severity'], l := 2, t := 0.9, "
    "ground_distance := 'ordered', alpha := 0.9, beta := 9, nulls := 'drop', suppress := 0.2)",
    **{name: f"FROM {name}{JUDGED})" for name in ("anonymity", "t_closeness", "alpha_k", "beta_likeness")},
    "l": f"FROM l_diversity{JUDGED}, diversity := 'entropy')",
    "risk": f"FROM risk{JUDGED}, source := 't', hierarchies := {{'zip': 'zip'}})",
    "query_error": "FROM query_error('safe', 't', qi := ['age', 'zip'], hierarchies := {'zip': 'zip'}, queries := 10)",
    "profile": "FROM profile('t')",
    "policy": "FROM policy_problems()",
    "hierarchy": "FROM hierarchy_dates('d', 't', 'born', levels := ['year', 'decade'])",
    "zoned": "SELECT DISTINCT parent FROM hierarchy_dates('d', 't', 'seen', levels := ['month', 'decade']) "
    "ORDER BY ALL ASC NULLS LAST",
    "status": "FROM release_status()",
    "releases": "SELECT * EXCLUDE (released_at) FROM releases()",
}


def setting_names(con: Any) -> set[str]:
    return {name for (name,) in con.execute("SELECT name FROM duckdb_settings()").fetchall()}


def test_every_duckdb_setting_tested_or_excluded_with_reason(con: Any) -> None:
    alone = [name for names in LEFT_ALONE.values() for name in names.split()]
    checked_values = [*MEANING, *RUNNING, *alone]
    assert len(checked_values) == len(set(checked_values))
    assert setting_names(con) - set(checked_values) == set(), "does it change an answer? Try it here, or say why not"


@pytest.fixture(scope="module")
def clinic() -> Any:
    """Create a table with persons, a release of it, a materialized one, and the functions about them."""
    con = dbanon.attach(duckdb.connect())
    con.execute(TABLE)
    con.execute("INSERT INTO dbanon.hierarchy FROM hierarchy_prefix('zip', 't', 'zip', keep := [1])")
    con.execute("CREATE TABLE safe AS FROM mondrian('t', k := 2, qi := ['age', 'zip'], sensitive := ['severity'])")
    dbanon.create_release(con, "held", "mondrian", "t", k=2, qi=["age"], sensitive=["disease"], person="pid")
    yield con, {name: answer(con, query) for name, query in STATEMENTS.items()}
    con.close()


def answer(con: Any, query: str) -> Any:
    try:
        return con.execute(query).fetchall()
    except duckdb.Error as error:
        return f"{query}: {error}"


def apply_settings(con: Any, settings: dict[str, str]) -> None:
    dbanon.clear_cache(con)
    for name in settings.keys() & setting_names(con):
        con.execute(f"SET {name} = {settings[name]}")


def reset_settings(con: Any, settings: dict[str, str]) -> None:
    for name in settings.keys() & setting_names(con):
        con.execute(f"RESET {name}")


@pytest.mark.not_everyday
@pytest.mark.all_cases
@pytest.mark.parametrize("settings", [MEANING, RUNNING], ids=["meaning", "running"])
def test_session_settings_never_change_function_results(clinic: Any, settings: dict[str, str]) -> None:
    con, answers = clinic
    apply_settings(con, settings)
    try:
        answers_by_name = {name: answer(con, query) for name, query in STATEMENTS.items()}
    finally:
        reset_settings(con, settings)
    for name, arguments in answers_by_name.items():
        assert isinstance(arguments, list) and arguments == answers[name], name


@pytest.mark.not_everyday
def test_single_session_setting_never_changes_release(clinic: Any) -> None:
    con, _ = clinic
    query = "FROM mondrian('t', k := 2, qi := ['age', 'seen', 'zip'], sensitive := ['disease'])"
    old_answer = answer(con, query)
    for name in sample_cases([name for name in (*MEANING, *RUNNING) if name in setting_names(con)], 4):
        settings = {name: {**MEANING, **RUNNING}[name]}
        apply_settings(con, settings)
        try:
            assert answer(con, query) == old_answer, settings
        finally:
            reset_settings(con, settings)


def release_outputs(folder: Path, settings: dict[str, str]) -> list[Any]:
    """Return the outputs of a release that is made, refreshed, certified and published under settings."""
    with dbanon.connect(folder / "clinic.duckdb") as con:
        con.execute(TABLE)
        apply_settings(con, settings)
        dbanon.declare(con, "t", pid="person", age="quasi", born="quasi", disease="sensitive")
        dbanon.create_release(con, "held", "mondrian", "t", k=2)
        rows = [con.execute(f"FROM held{ending}").fetchall() for ending in ("", "_classes", "_metrics")]
        certificate = dbanon.certificate(con, "held").splitlines()
        dbanon.publish(con, "held", folder / "held.csv")
        status = con.execute("SELECT * FROM release_status()").fetchall()
        refreshed = dbanon.refresh_release(con, "held", if_stale=True)
        return [
            *rows,
            [line for line in certificate if not re.search("released at|SHA|duckdb", line, re.IGNORECASE)],
            (folder / "held.csv").read_text(encoding="utf-8"),
            status,
            refreshed.version,
        ]


@pytest.mark.not_everyday
def test_settings_do_not_change_release_certificate_or_file(tmp_path: Path) -> None:
    result = []
    for name, settings in {"plain": {}, "set": MEANING}.items():
        (tmp_path / name).mkdir()
        result.append(
            release_outputs(tmp_path / name, {n: v for n, v in settings.items() if n != "preserve_identifier_case"})
        )
    assert result[0] == result[1]


# --- time zones --------------------------------------------------------------------------------------------

VISITS = """
CREATE TABLE visits AS SELECT
    i // 2 AS pid, 20 + i % 9 AS age, i % 3 AS severity,
    TIMESTAMPTZ '2020-02-28 20:30:00+00' + INTERVAL (i % 7) HOUR AS seen,
    TIMESTAMPTZ '2020-02-28 22:00:00+00' + INTERVAL (i * 3 % 5) HOUR AS taken,
    TIMESTAMPTZ '2020-03-01 01:00:00+00' - INTERVAL (i * 5 % 4) HOUR AS onset,
    TIMESTAMPTZ '2020-01-01 00:30:00+00' AS booked
FROM range(48) AS r (i)
"""
"""Instants as quasi-identifiers, with and without a hierarchy, as sensitive and as other values.

Each column has values of two days in one of the zones, of one day in another.
"""

ZONES = ("UTC", "America/New_York", "Asia/Kolkata")
COLUMNS = "qi := ['seen', 'taken'], sensitive := ['onset'], hierarchies := {'taken': 'taken'}"
CALL = f"('visits', k := 3, {COLUMNS}, rounding := {{'seen': 'none'}})"
PAIR = f"('safe', source := 'visits', {COLUMNS}"
MEASURED = "('safe', qi := ['seen', 'taken'], sensitive := ['onset']"
ZONED: dict[str, tuple[str, ...]] = {
    "anonymize": (
        f"FROM anonymize{CALL}",
        "FROM kacpc('kept', k := 3)",
        "FROM kacpc('visits', k := 3, qi := ['seen'], insensitive := ['booked'], sensitive := ['onset'])",
        "FROM kacpc('visits', k := 3, qi := ['seen'], top := {'seen': '2020-02-28 23:00'}, rounding := {'seen': "
        "'none'})",
        "FROM kacpc('visits', k := 3, qi := ['seen', 'taken'], hierarchies := {'taken': 'taken'}, "
        "missing_codes := {'taken': '2020-02-28 22:00:00', 'seen': '2020-02-28 20:30:00'})",
        "FROM castle('visits', k := 3, delta := 20, order_by := 'age', " + COLUMNS + ")",
    ),
    "anonymize_classes": (f"FROM anonymize_classes{CALL}",),
    "anonymize_metrics": (
        f"FROM anonymize_metrics{CALL}",
        "FROM kacpc_metrics('visits', k := 3, t := 0.9, ground_distance := 'hierarchical', qi := ['age'], "
        "sensitive := ['onset'], "
        "hierarchies := {'onset': 'onset'})",
        "FROM kacpc_metrics('visits', k := 13, qi := ['seen'], sensitive := ['onset'])",
        "FROM kacpc_metrics('visits', k := 3, qi := ['age'], sensitive := ['onset'], person := 'seen')",
        "FROM fads_metrics('visits', k := 3, delta := 20, order_by := 'age', " + COLUMNS + ")",
    ),
    "inference": (f"FROM inference{CALL}",),
    "explain_release": (f"FROM explain_release('mondrian', 'visits', k := 3, {COLUMNS})",),
    "explain_step": (f"FROM explain_step('mondrian', 'visits', 'gate', k := 3, {COLUMNS})",),
    "policy_problems": ("FROM policy_problems()",),
    "profile": ("FROM profile('visits')", "FROM profile('kept')"),
    "policy_review": ("FROM policy_review('kept')",),
    "hierarchy_flat": ("FROM hierarchy_flat('d', 'visits', 'taken')",),
    "hierarchy_prefix": ("FROM hierarchy_prefix('d', 'visits', 'taken', keep := [13, 10])",),
    "hierarchy_dates": ("FROM hierarchy_dates('d', 'visits', 'taken', levels := ['day', 'month'])",),
    "hierarchy_to_arx": ("FROM hierarchy_to_arx('taken')",),
    "hierarchies": ("FROM hierarchies()",),
    "hierarchy_problems": ("FROM hierarchy_problems()",),
    "uncovered_values": (
        "FROM uncovered_values('visits', 'seen', hierarchy := 'taken')",
        "FROM uncovered_values('visits', 'seen')",
    ),
    "k_anonymity": ("FROM k_anonymity('safe', qi := ['seen', 'taken'])", "FROM k_anonymity('visits', qi := ['seen'])"),
    **{
        name: (f"FROM {name}{MEASURED})", f"FROM {name}('visits', qi := ['taken'], sensitive := ['onset'])")
        for name in ("l_diversity", "alpha_k", "p_sensitive", "beta_likeness", "delta_disclosure", "anonymity")
    },
    "t_closeness": (
        f"FROM t_closeness{MEASURED})",
        f"FROM t_closeness{MEASURED}, ground_distance := 'hierarchical', hierarchies := {{'onset': 'onset'}})",
    ),
    "attack": (
        *(
            f"FROM attack{PAIR}, kind := '{kind}')"
            for kind in ("homogeneity", "skewness", "background", "majority", "prediction", "reconstruction")
        ),
        *(f"FROM attack{PAIR}, kind := '{kind}')" for kind in ("downcoding", "refinement")),
        *(f"FROM attack{PAIR}, kind := '{kind}', register := 'visits')" for kind in ("linkage", "membership")),
        f"FROM attack{PAIR}, kind := 'minimality', l := 2)",
        "FROM attack('safe', source := 'visits', kind := 'similarity', qi := ['seen'], sensitive := ['onset'], "
        "hierarchies := {'onset': 'onset'})",
    ),
    "attack_summary": (f"FROM attack_summary{PAIR}, kind := 'homogeneity')",),
    "tradeoffs": (f"FROM tradeoffs('visits', k := [3], {COLUMNS})",),
    "compare": (f"SELECT * EXCLUDE (seconds) FROM compare('visits', algorithms := ['mondrian'], k := [3], {COLUMNS})",),
    "influence": (
        "FROM influence('visits', qi := ['seen', 'taken', 'age'], sensitive := ['onset'], "
        "hierarchies := {'taken': 'taken'})",
    ),
    "ml_utility": (
        "FROM ml_utility('safe', source := 'visits', qi := ['seen', 'taken'], hierarchies := {'taken': 'taken'}, "
        "target := 'onset')",
    ),
    "query_error": (
        "FROM query_error('safe', source := 'visits', qi := ['seen', 'taken'], hierarchies := {'taken': 'taken'})",
    ),
    "risk": (f"FROM risk{PAIR})",),
    "reidentification": ("FROM reidentification('safe', qi := ['seen', 'taken'])",),
    "uniqueness": ("FROM uniqueness('safe', qi := ['seen', 'taken'])",),
    "disclosure": (f"FROM disclosure{MEASURED})",),
    "exposure": (f"FROM exposure{MEASURED})",),
    **{
        name: (
            f"FROM {name}('safe', source := 'visits', qi := ['seen', 'taken'], hierarchies := {{'taken': 'taken'}})",
        )
        for name in ("distortion", "infeasible_classes")
    },
    "certificate": ("FROM certificate('held')",),
    "release_status": ("FROM release_status()",),
    "refresh_problems": ("FROM refresh_problems('held')",),
    "composition": ("FROM composition('held', 'held')",),
    "releases": ("SELECT * EXCLUDE (released_at) FROM releases()",),
    "report": ("SELECT regexp_replace(html, '<time.*?</time>', '', 'g') FROM report('held') AS r (html)",),
    "covers": (
        "SELECT seen, covers('[2020-02-28 20:30:00, 2020-02-28 23:30:00]', seen), covers('2020-02-29', seen), "
        "covers('2020-02-28 (day)', taken, 'taken'), covers('2020-02-28 22:00:00+00', taken), covers(seen, taken) "
        "FROM visits ORDER BY ALL",
    ),
    "share_within": (
        "SELECT share_within('2020-02-28', seen, onset), share_within(seen, taken, onset) FROM visits ORDER BY ALL",
    ),
    "ends": (
        "SELECT lower_date(seen), upper_date(seen), midpoint_date(seen), lower_bound(seen::VARCHAR) "
        "FROM visits ORDER BY ALL",
    ),
}
"""Statements by the function that they test."""

WITHOUT_INSTANTS = {
    "algorithms", "attached_databases", "policy_from_labels", "hierarchy_intervals", "hierarchy_from_file",
    "hierarchy_builtin", "stream_status", "published_files",
}  # fmt: skip
"""Functions that read no instant of the data: lists, files, numbers, other databases.

Streaming views are in test_streaming.py.
"""


@pytest.fixture(scope="module")
def visits() -> Any:
    con = dbanon.attach(duckdb.connect())
    con.execute(f"SET TimeZone = 'UTC'; {VISITS}; CREATE TABLE kept AS FROM visits")
    for column in ("taken", "onset"):
        con.execute(
            f"INSERT INTO dbanon.hierarchy FROM hierarchy_dates('{column}', 'visits', '{column}', levels := ['day'])"
        )
    con.execute(
        f"CREATE TABLE safe AS FROM mondrian('visits', k := 3, l := 2, {COLUMNS}, rounding := {{'seen': 'none'}})"
    )
    dbanon.declare(
        con, "kept", pid="person", seen="quasi", taken={"role": "quasi", "hierarchy": "taken"}, onset="sensitive",
        booked="insensitive",
    )  # fmt: skip
    dbanon.create_release(con, "held", "mondrian", "kept", k=2)
    yield con
    con.close()


def in_zone(con: Any, zone: str, queries: tuple[str, ...]) -> list[Any]:
    dbanon.clear_cache(con)
    con.execute(f"SET TimeZone = '{zone}'")
    return [con.execute(query).fetchall() for query in queries]


@pytest.mark.not_everyday
@pytest.mark.parametrize("function", ZONED)
def test_function_results_equal_in_every_time_zone(visits: Any, function: str) -> None:
    expected = in_zone(visits, "UTC", ZONED[function])
    for zone in ZONES[1:]:
        assert in_zone(visits, zone, ZONED[function]) == expected, zone


def test_table_functions_all_listed_for_time_zone_tests() -> None:
    functions = table_functions().values()
    systems = {function.algorithm for function in functions} | {function.stream_algorithm for function in functions}
    own_names = {f.name for f in functions if not any(f.name == s or f.name.startswith(f"{s}_") for s in systems if s)}
    assert own_names - ZONED.keys() - WITHOUT_INSTANTS == set(), "does it read instants? Try it above, or say why not"


@pytest.mark.parametrize("builder", ["flat", "prefix", "dates"])
def test_hierarchy_of_instants_fits_in_other_time_zone(builder: str) -> None:
    con = dbanon.attach(duckdb.connect())
    con.execute(f"SET TimeZone = 'Asia/Kolkata'; {VISITS}")
    con.execute("INSERT INTO visits (pid, seen, taken) VALUES (99, NULL, NULL)")
    con.execute(f"INSERT INTO dbanon.hierarchy FROM hierarchy_{builder}('h', 'visits', 'taken')")
    released_rows = []
    for zone in ZONES:
        con.execute(f"SET TimeZone = '{zone}'")
        assert con.execute("FROM uncovered_values('visits', 'taken', hierarchy := 'h')").fetchall() == []
        released_rows.append(
            con.execute("FROM kacpc('visits', k := 3, qi := ['taken'], hierarchies := {'taken': 'h'})").fetchall()
        )
    assert released_rows[0] == released_rows[1] == released_rows[2]
    con.close()


@pytest.mark.parametrize(("zone", "is_named"), [("Asia/Kolkata", True), ("UTC", False), ("America/New_York", False)])
def test_hierarchy_of_other_zone_named_in_that_zone(zone: str, is_named: bool) -> None:
    con = dbanon.attach(duckdb.connect())
    con.execute(f"SET TimeZone = 'Asia/Kolkata'; {VISITS}")
    rows = "SELECT 'h' AS name, * FROM (VALUES ('*', NULL, '*', 0)) UNION ALL SELECT DISTINCT 'h', "
    con.execute(f"INSERT INTO dbanon.hierarchy {rows} taken::VARCHAR, '*', taken::VARCHAR, 1 FROM visits")
    con.execute(f"SET TimeZone = '{zone}'")
    with pytest.raises(duckdb.Error, match="5 distinct values are missing from hierarchy 'h'") as error_info:
        con.execute("FROM kacpc('visits', k := 3, qi := ['taken'], hierarchies := {'taken': 'h'})")
    assert ("looked up in UTC" in str(error_info.value)) == is_named
    con.close()


# --- order -------------------------------------------------------------------------------------------------

CLAUSE = re.compile(r"ORDER BY\s+", re.IGNORECASE)
GIVEN = re.compile(r"\{\{ (by|order|ordered|class_order)\b.*\}\}$")
"""An order that was defined in another place."""


def order_by_items(sql: str) -> list[str]:
    """Return the items of each ORDER BY of a template, without loops and conditions of the template."""
    plain_result = re.sub(r"\{#.*?#\}|\{%.*?%\}", " ", sql, flags=re.DOTALL)
    texts = []
    for clause in CLAUSE.finditer(plain_result):
        depth, text = 0, ""
        for character in plain_result[clause.end() :] + ";":
            depth += (character in "([{") - (character in ")]}")
            finished_match = (
                depth < 0 or (depth == 0 and character in ",;") or re.search(r"\b(LIMIT|ROWS|RANGE)$", text)
            )
            if not finished_match:
                text += character
                continue
            texts.append(re.sub(r"\b(LIMIT|ROWS|RANGE)$", "", text).strip())
            text = ""
            if depth < 0 or character != ",":
                break
    return [text for text in texts if text]


def test_every_order_by_states_direction() -> None:
    root = Path(str(resources.__file__)).resolve().parents[2] / "sql"
    files = sorted(root.rglob("*.sql"))
    assert len(files) > 90
    unsaid = [
        (path.relative_to(root).as_posix(), order)
        for path in files
        for order in order_by_items(resources.join_lines(path.read_text(encoding="utf-8")))
        if not re.search(r"\b(ASC|DESC)\b", order) and not GIVEN.search(order)
    ]
    assert unsaid == []


def test_every_list_sort_states_direction_and_nulls() -> None:
    root = Path(str(resources.__file__)).resolve().parents[2] / "sql"
    for path in root.rglob("*.sql"):
        sql = resources.join_lines(path.read_text(encoding="utf-8"))
        assert len(re.findall(r"\blist_sort\(", sql)) == len(re.findall(r"'(?:ASC|DESC)', 'NULLS LAST'\)", sql)), path
