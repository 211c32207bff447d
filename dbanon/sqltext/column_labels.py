"""Name the columns of a statement after the columns of the user's table: `"age"`, `"age: code"`, `"age: low"`."""

from functools import lru_cache

from dbanon.sqltext.names import fold_case
from dbanon.sqltext.quote import Sql, identifier

_SUFFIX = " (column)"
_OWN_PREFIX = "dbanon "
"""The start of names of templates that are not a single word, such as `dbanon row`."""

FIXED_NAMES = frozenset(
    """
    a above above_gap achieved_values added allowed_values ancestor_paths answer arrival arrivals arrived arrived_at
    asked atoms attribute attributes b barred_hashes before begins begun below below_gap better beyond
    bounded_records budget c candidate_counts candidate_sets candidates carried categories category_counts cell
    cells change changed checks checksum chosen class class_a class_b class_id class_labels class_leads class_losses
    class_measures class_members class_originals class_pair_counts class_pairs class_rows class_seats class_sizes
    class_values classes cluster cluster_classes cluster_id cluster_members cluster_moments cluster_parts
    cluster_spans clustering clusters code code_groups code_nodes column_name common_values component confused
    content copy counted covered crossing cumulated_records cumulated_shares d database_name dealt delay density
    departures depth description detail different different_after different_before differs distance distinct_rows
    diverse drawn_values dropped e earlier earlier_steps earlier_trail earlier_trails edges encoded_tuples error f
    failure filled finer first first_records first_seen first_value first_values followed_records g gain gate
    generalized_spans gid group_classes group_clusters groups h has_null has_rows hash hash_of hashes height held
    hierarchy hierarchy_changed high high_end high_key high_place high_text high_value highest holders holding
    homogeneous id identity instants invented is_first is_known is_leaf is_misplaced is_new is_open is_other
    is_publishable is_published is_rare is_split is_strange is_whole_trail j judged k keeps kept kept_groups key
    key_problem keys kind known known_as known_classes l label label_hash label_id labels last late layer leads leaf
    leaf_heights least least_low least_value leaves left_out level levels lifted line lineage lines link
    linked_below_k linked_values listed_sizes longest loss lost low low_end low_key low_nodes low_place low_text
    low_value lowest m made magnitude mark may mean member_changes member_records member_values message metric
    metric_rows metrics middle misplaced missed missed_models missing missing_after missing_before model most n
    n_added n_changed n_covered_values n_mine n_moved n_people n_possible_values n_removed n_spellings n_theirs name
    new new_class new_groups new_records new_values newcomers node node_heights node_losses nodes noisy_records
    nulls number numbered numbered_people numbers o old_person_key old_row_hash ordered ordering_values other
    other_classes other_members other_records other_rows other_values own own_class own_loss p pair parameter
    parameters part part_classes part_records parts passed people person person_changes person_identity person_key
    person_links persons piece_id piece_sizes pieces place place_of place_step places plain_key plain_keys
    policy_changed position possible_values problem pseudonym pseudonyms published published_at published_classes
    published_labels published_rows published_values q quasi quasi_cells quasi_values r raised range_nodes
    rank_intervals rare_cells rare_linked rare_together ratio reach reached read reader reason record_changes
    record_classes record_identity record_signatures records records_in region regrouped_classes released_rows
    released_sizes released_values removed replayed_records request reread reused rid root round rounded row_hash
    rowid rows rows_in rows_out run s said schema_name seal seat second seen seen_high seen_low sensitive_values
    set_id set_values sets share shared shift shown side signature signature_counts signatures single_in single_rows
    single_values size size_differences sized_classes small small_rows source source_copy source_counts
    source_people source_records source_row span span_ranges span_values square_errors squares squares_of_classes
    squares_of_clusters start stated_check status step steps stored strange suppressed surplus_rows t table_share
    tells texts their_key their_value tid tie ties told top total trail trail_values trails tree tree_domains
    tree_facts tree_problems trees tuple tuple_classes tuples u unbounded_high unbounded_low uncovered unknown
    unplaced untrue usable_counts usable_records v value value_ancestors value_before value_cells value_codes
    value_counts value_differences value_hash value_pairs value_places values values_trail variance version
    version_classes version_members version_rows version_values vid w waiting waits wanted weight whole wide width
    withheld_records worst wrong x
    """.split()  # noqa: SIM905
)
"""Names that templates give to columns and relations of their own; a test compares this set with the templates."""


def column_label(name: str) -> str:
    """Return the name, unquoted, by which a statement refers to the values of a column of the user's table.

    It is the column's own name. A name that has a colon, or that templates use themselves, gets a suffix, so unequal
    columns have unequal labels, and no label equals one of `FIXED_NAMES` or a derived name such as `age: code`.

    >>> column_label("age"), column_label("Size"), column_label("age: code")
    ('age', 'Size (column)', 'age: code (column)')
    """
    folded_name = fold_case(name)
    is_ambiguous = (
        ":" in name
        or folded_name.endswith(_SUFFIX)
        or folded_name in FIXED_NAMES
        or folded_name.startswith(_OWN_PREFIX)
    )
    return name + _SUFFIX if is_ambiguous else name


@lru_cache(4096)
def column_reference(name: str) -> Sql:
    """Return the label of a column as a quoted SQL identifier, such as `"age"`."""
    return identifier(column_label(name))


@lru_cache(65536)
def derived_reference(step: str, name: str) -> Sql:
    """Return the quoted name of a column or relation derived from one column of the user, such as `"age: code"`.

    `step` has no colon, so the text before the last colon is the column.
    """
    return identifier(f"{name}: {step}")
