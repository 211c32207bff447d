"""Name the columns of a statement after the columns of the user's table: `"age"`, `"age: code"`, `"age: low"`."""

from functools import lru_cache

from dbanon.sqltext.names import fold_case
from dbanon.sqltext.quote import Sql, identifier

_SUFFIX = " (column)"

FIXED_NAMES = frozenset(
    """
    a above above_gap achieved_values added agrees alike alone ancestors answer answered arrival arrived arrived_at
    as_it_came asked atoms attribute attributes b barred barred_hashes before begins begun below below_gap better
    beyond body budget by_person c candidate_counts candidate_sets candidates carried categories category cell cells
    change changed checksum class class_a class_b class_id class_leads class_measures class_members class_of
    class_of_cluster class_of_group class_of_part class_of_tuple class_pair_counts class_pairs class_rows class_sizes
    class_values classes climb cluster cluster_id cluster_of clusters code code_node column_name common_values
    component confused content copy count_of counted covered crossing cumulated_records d database_name dealt delay
    density depth description detail differ different different_after different_before differs differs_in_size
    distance diverse drawn dropped e earlier earlier_steps earlier_trail earlier_trails edges encoded error extent f
    facts failed few filled finer first first_records first_seen first_value first_values followed followed_ foreign
    found fresh g gain gate generalized gid gone group_clusters grouped groups h has_null hash hash_of hashes height
    held held_back hidden hierarchy hierarchy_changed high high_end high_key high_place high_text high_value highest
    holders holding id identity instants invented is_first is_known is_leaf is_misplaced is_new is_open is_other
    is_publishable is_published is_rare is_split is_strange is_unchanged is_whole_trail j judged judged_ k keeps kept
    kept_facts key key_problem kind known known_as l label label_hash label_id label_of labels last late layer leads
    leaf leaf_heights least least_low least_value leaves leaving led left_out left_with level levels lifted line
    lineage lines link linked listed listed_classes listed_sizes longest loss lost lost_node lost_of low low_end
    low_key low_node low_place low_text low_value lowest m made magnitude mark may mean member member_changes
    member_records member_values message metric metric_rows metrics middle mine misplaced missed missed_models missing
    missing_after missing_before model moment most my_class my_members n n_added n_changed n_covered_values n_mine
    n_moved n_people n_possible_values n_removed n_spellings n_theirs name net new new_class new_people new_records
    new_values newcomers node node_heights nodes now nulls number numbered numbered_people numbers o occurs of_set
    old_person_key old_row_hash ordered ordering_values original other other_classes other_members other_people
    other_records other_rows other_values overall own own_class own_loss own_u p pair parameter parameters parent part
    part_records parts passed people person person_changes person_identity person_key person_links persons piece
    piece_id piece_sizes pieces place place_of place_step placed places plain plain_key plain_keys policy_changed
    position possible_values problem proposals pseudonym pseudonyms published published_at published_labels
    published_node published_values q quasi quasi_cells quasi_values r raised rank_intervals rare rare_cells
    rare_together rarely ratio reach reached read reader reason record_changes record_identity record_signatures
    records records_in region released released_classes released_rows released_sizes released_values remaining removed
    replayed reread reused rid rise root round rounded row row_hash rowid rows rows_in rows_out run s said schema_name
    seal seat seated second seen seen0 seen_high seen_low sensitive_values set_id set_values sets share shared shift
    shown side signature signature_counts signatures single_in single_rows single_values size size_differences sized
    small source source_people source_records source_row span spelled spellings split spread squares
    squares_of_classes squares_of_clusters start stated status stays step steps stored strange stretch suppressed
    surplus_rows t table_share tally tells texts their_class their_key their_members their_value theirs there tid tie
    ties told told0 told_u top total trail trail_values trails tree tree_code tree_domain tree_fact tree_problem trees
    tuples u unbounded_high unbounded_low uncovered unknown unplaced untrue v value value_ancestors value_before
    value_counts value_differences value_hash value_of value_pairs value_places values values_of values_trail variance
    version version_classes version_members version_rows version_values vid visible w waiting waits wanted was weight
    who whole wide width withheld_records worn wrong x
    """.split()  # noqa: SIM905
)
"""Names that templates give to columns and relations of their own; a test compares this set with the templates."""


def column_label(name: str) -> str:
    """Return the name, unquoted, by which a statement refers to the values of a column of the user's table.

    It is the column's own name. A name that has a colon, or that templates use themselves, gets a suffix, so unequal
    columns have unequal labels, and no label equals a `FIXED_NAMES` or a derived name such as `age: code`.

    >>> column_label("age"), column_label("Size"), column_label("age: code")
    ('age', 'Size (column)', 'age: code (column)')
    """
    is_ambiguous = ":" in name or name.endswith(_SUFFIX) or fold_case(name) in FIXED_NAMES
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
    return identifier(f"{column_label(name)}: {step}")
