"""The functions that readers may call, by name: they compute from their arguments and from nothing else.

Omitted on purpose: functions that read files, settings, variables or the catalog; that reveal something about the
session, sleep, or differ from call to call; and that make much from little (`repeat`, `range`, `lpad`, `format`,
`list_resize`, ...).
"""

from dbanon import errors


def require(is_allowed: bool, reason: str, name: str = "") -> None:
    """Raise ReaderStatementRefusedError with the reason and the shortened name, unless `is_allowed`."""
    if not is_allowed:
        raise errors.ReaderStatementRefusedError(reason, name and repr(name[:60]))


def words(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


OPERATORS = words(
    """
    !__postfix !~~ !~~* % & && * ** + - / // << <@ >> @ @> ^ ^@ | || ~ ~~ ~~* ~~~
    """
)
LISTS = words(
    """
    array_contains array_extract array_has array_length array_position array_slice array_to_string array_value
    cardinality element_at flatten len length list_any_value list_apply list_avg list_cat list_concat
    list_contains list_count list_distinct list_element list_extract list_filter list_first list_has list_has_all
    list_has_any list_indexof list_intersect list_last list_max list_median list_min list_mode list_position
    list_product list_reduce list_reverse_sort list_select list_slice list_sort list_stddev_pop list_stddev_samp
    list_string_agg list_sum list_transform list_unique list_value list_var_pop list_var_samp list_where list_zip
    map map_concat map_contains map_entries map_extract map_extract_value map_from_entries map_keys map_values row
    struct_extract struct_extract_at struct_insert struct_keys struct_pack unnest
    """
)
NUMBERS = words(
    """
    abs acos acosh add asin asinh atan atan2 atanh bit_count cbrt ceil ceiling cos cosh cot degrees divide
    equi_width_bins even exp factorial fdiv floor fmod gamma gcd greatest greatest_common_divisor isfinite isinf
    isnan lcm least least_common_multiple lgamma ln log log10 log2 mod multiply nextafter pi pow power radians
    round round_even roundbankers sign signbit sin sinh sqrt subtract tan tanh trunc xor
    """
)
TEXTS = words(
    """
    ascii bit_length char_length character_length chr concat concat_ws contains damerau_levenshtein editdist3
    ends_with hamming hash ilike_escape instr jaccard jaro_similarity jaro_winkler_similarity lcase left
    length_grapheme levenshtein like_escape lower ltrim md5 mismatches nfc_normalize not_ilike_escape
    not_like_escape octet_length ord position prefix regexp_escape regexp_extract regexp_extract_all
    regexp_full_match regexp_matches regexp_replace regexp_split_to_array replace reverse right rtrim sha256 split
    split_part starts_with str_split str_split_regex string_split string_split_regex string_to_array strip_accents
    strlen strpos substr substring substring_grapheme suffix translate trim ucase unicode upper
    """
)
DATES = words(
    """
    age century date_add date_diff date_part date_sub date_trunc datediff datepart datesub datetrunc day dayname
    dayofmonth dayofweek dayofyear days_in_month decade epoch epoch_ms epoch_ns epoch_us era hour isodow isoyear
    julian last_day make_date make_time make_timestamp microsecond millennium millisecond minute month monthname
    nanosecond normalized_interval quarter second strftime strptime time_bucket timezone to_centuries to_days
    to_decades to_hours to_microseconds to_millennia to_milliseconds to_minutes to_months to_quarters to_seconds
    to_timestamp to_weeks to_years try_strptime week weekday weekofyear year yearweek
    """
)
VALUES = words(
    """
    constant_or_null nullif typeof
    """
)
AGGREGATES = words(
    """
    any_value approx_count_distinct approx_quantile approx_top_k arbitrary arg_max arg_max_null arg_min
    arg_min_null argmax argmin array_agg avg bit_and bit_or bit_xor bool_and bool_or corr count count_if
    count_star countif covar_pop covar_samp entropy favg first fsum geomean geometric_mean group_concat
    histogram kahan_sum kurtosis kurtosis_pop last list listagg mad max max_by mean median min min_by mode product
    quantile quantile_cont quantile_disc regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx
    regr_sxy regr_syy sem skewness stddev stddev_pop stddev_samp string_agg sum sum_no_overflow sumkahan var_pop
    var_samp variance wavg weighted_avg
    """
)
WINDOWS = words(
    """
    cume_dist dense_rank fill first_value lag last_value lead nth_value ntile percent_rank rank rank_dense
    row_number
    """
)

FUNCTIONS = OPERATORS | LISTS | NUMBERS | TEXTS | DATES | VALUES | AGGREGATES | WINDOWS
"""DuckDB's functions; dbanon's scalar functions are allowed in addition."""

TYPES = words(
    """
    array bigint binary bit bitstring blob bool boolean bpchar bytea char date datetime dec decimal double float
    float4 float8 guid hugeint int int1 int2 int4 int8 integer integer_literal interval list logical long map null
    numeric real row short signed smallint sqlnull string string_literal struct text time time_tz timestamp
    timestamp_ms timestamp_ns timestamp_s timestamp_us timestamptz timetz tinyint ubigint uhugeint uinteger
    usmallint utinyint uuid varbinary varchar
    """
) | {"timestamp with time zone", "time with time zone", '"null"'}
"""Names of the types that readers may cast to."""
