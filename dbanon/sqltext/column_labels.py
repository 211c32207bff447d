"""Name the columns of a statement after the columns of the user's table: `"age"`, `"age: code"`, `"age: low"`."""

import re
from functools import lru_cache

from dbanon.sqltext.names import fold_case
from dbanon.sqltext.quote import Sql, identifier

_SUFFIX = " (column)"
_OWN_PREFIX = "dbanon "
"""The start of names of templates that are not a single word, such as `dbanon row`."""

FIXED_NAMES = frozenset(
    re.findall(
        r"\w+",
        """
    a above above_gap above_least accuracy achieved achieved_values actual_accuracy added advantage algorithm
    all_candidates all_people allowed_values ancestor_paths answer answers arrival arrivals arrived arrived_at asked
    atoms attacker attribute average averages b barred_hashes baseline_confidence before begins begun below below_gap
    better beyond bounded_records bounds budget c c_avg candidate_classes candidate_counts candidate_sets candidates
    carried category causes cell cells chance chances change changed changed_values checked_input checks checksum child
    children chosen class class_a class_b class_cells class_contents class_distortions class_ends class_error
    class_features class_id class_labels class_leads class_measures class_members class_originals class_pair_counts
    class_pairs class_populations class_presences class_rows class_seats class_sets class_size_average
    class_size_greatest class_sizes class_values classes cluster cluster_error cluster_id cluster_members cluster_parts
    cluster_spans clustering clusters code code_groups code_sizes codes column_losses column_messages column_metrics
    column_name column_orders column_problems column_ranges column_totals columns common common_values compared_columns
    component computation_errors confidence configuration_metrics configurations confused content copy cost counted
    covered crossing crowded cumulated_records cumulated_shares cut cuts d database_name dealt decidable_classes
    decidable_people delay density departures depth description detail different different_after different_before
    differs discernibility dispersions distance distinct_rows distortion distortions diverse domains drawn_values
    dropped e earlier earlier_steps earlier_trail earlier_trails edge edges end_day end_text end_value ends error errors
    escaped exact examined exposed_people f facts failure features figures filled finer first first_record first_records
    first_seen first_value first_values fits fitting followed_records fork frequency frontier g gain gains gate
    generalized_spans gid greatest_class group_classes group_clusters group_parts guess guesses h has_high has_low
    has_null has_rows hash hash_of hashes height held hidden_share hierarchies hierarchy hierarchy_changed high high_end
    high_key high_place high_text high_value highest hits holders holding id identities identity information_loss
    instants invented is_common is_covered is_filled is_first is_guessed is_high is_in_source is_infeasible is_known
    is_leaf is_left is_misplaced is_new is_open is_open_above is_open_below is_other is_publishable is_published is_rare
    is_readable is_registered is_revealing is_single_class is_split is_strange is_tight is_tree is_unchanged is_vague
    is_varied is_whole is_whole_trail is_within j judged k k_full_record keeps kept kept_groups key key_problem keys
    kind kinds known known_as known_classes l label label_hash label_id labelled_combinations labelled_records labels
    largest last last_record late layer leads leaf leaf_heights learned least least_class least_equal least_low
    least_value leaves left_out levels lifted limits line lineage lines link linked_below_k linked_values listed_sizes
    lists longest looked_up_classes loss losses lost low low_end low_key low_place low_text low_value lowest m magnitude
    majority majority_baseline mark max_value may mean median median_candidates member_changes member_hashes
    member_records member_totals member_values members message messages metric metric_rows metrics middle min_candidates
    min_value misassigned misfits misplaced missed missed_models missing missing_after missing_before model models
    moment moments most n n_added n_after n_ambiguous n_assigned n_before n_changed n_contradictions n_covered_values
    n_decidable n_guessed n_judged n_known n_learned n_learned_raw n_leaves n_mine n_narrowed n_new n_old n_people
    n_persons n_possible_values n_quasi_identifiers n_remaining n_removed n_resolved n_spellings n_theirs n_tried
    n_undecidable n_unique n_with_fewer_classes name named names new new_class new_groups new_records new_values
    newcomers node node_heights nodes noisy_records not_null_records note nulls number number_loss number_positions
    number_steps numbered numbered_people numbers o occupied old_person_key old_row_hash ord ordered ordering_values
    originals other other_classes other_records other_rows other_values own own_class own_classes own_loss own_losses
    own_values p p95 pair parameter parameters parent part part_classes part_records parts passed path paths pending
    people person person_changes person_identity person_key person_links persons piece_id piece_sizes pieces place
    place_of place_step places plain_key plain_keys plain_text policy_changed population_cells population_tuples
    position positions possible_values precision predicate_columns predicates presence problem problems pseudonym
    pseudonyms published published_answers published_at published_cells published_classes published_columns
    published_combinations published_ends published_features published_labels published_names published_rows
    published_texts published_tuples published_values q quasi quasi_cells quasi_values queries query query_columns r
    raised raised_share range_nodes rank rank_intervals rare_cells rare_linked rare_together ratio raw_accuracy
    raw_baseline raw_categories raw_exact raw_features raw_fitting raw_guess raw_matches raw_median_candidates
    raw_min_candidates raw_presences reach reached read reader readings reason record_changes record_classes
    record_hashes record_identity record_signatures records records_assigned records_before records_due records_in
    records_in_worst refusals region register_candidates register_ends register_links register_matches register_people
    register_sizes registered regrouped_classes release_cells released released_rows released_sizes released_values
    remaining_classes removed removed_records replayed_records request reread resolved_accuracy reused rid risk
    risk_average risk_highest risk_values rivals root rounded row_hash row_values rowid rows ruled_out run s said same
    sample_size sampled_cells sampled_classes schema_name scores seal seat second seen seen_high seen_low sensitive
    sensitive_values set_id set_size set_values sets share shared shift shown shown_text side sides sign signature
    signature_counts signatures single_candidates single_in single_rows single_values size size_differences
    sized_classes sizes small small_rows smallest source source_answers source_cells source_copy source_features
    source_people source_ranges source_records source_row source_tuples span span_columns span_ranges span_values spans
    square_error squares squares_of_classes squares_of_clusters sse_share start start_fraction stated stated_check
    statement status step steps stored strange suppressed surplus_rows t table_share targets texts their_key their_value
    tie ties tight top total total_records totals trail trail_values trails tree trees tuple tuple_class_sets
    tuple_features tuple_id tuple_ids tuple_presences tuple_sizes tuples u uid unbounded_high unbounded_low
    unchanged_hash uncovered unique_by_unchanged_columns unknown unplaced unsure untrue usable_records v value
    value_ancestors value_before value_cells value_codes value_counts value_differences value_hash value_pairs
    value_places value_signatures value_text values values_trail variance variation varied_columns version
    version_members version_rows version_values vid w waiting waits weight whole whole_class wide width withheld_records
    worst worst_classes wrong x y
    """,
    )
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
