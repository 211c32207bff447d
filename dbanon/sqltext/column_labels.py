"""Name the columns of a statement after the columns of the user's table: `"age"`, `"age: code"`, `"age: low"`."""

from functools import lru_cache

from dbanon.sqltext.names import fold_case
from dbanon.sqltext.quote import Sql, identifier

_SUFFIX = " (column)"
_OWN_PREFIX = "dbanon "
"""The start of names of templates that are not a single word, such as `dbanon row`."""

FIXED_NAMES = frozenset(
    """
    a above above_gap added alike allowed_values ancestor_paths answer arrival arrivals arrived arrived_at asked
    attribute attributes b barred before begins begun below below_gap better beyond body bounded_records budget
    by_person c candidates carried categories category_counts cell cells change changed checks checksum chosen class
    class_a class_b class_id class_labels class_losses class_originals class_rows class_seats classes cluster
    cluster_classes cluster_id cluster_members cluster_moments cluster_parts cluster_spans clustering clusters code
    code_groups code_nodes column_name confused content copy count_of counted covered cumulated d database_name
    dealt delay density departures depth description detail differ different different_after different_before
    differs differs_in_size distance distinct_rows diverse drawn_values dropped e earlier edges encoded_tuples error
    f failed failure few filled finer first first_records first_seen first_value first_values followed_records found
    g gain gate generalized_spans gid gone group_classes groups h has_null has_rows hash hash_of hashes height held
    held_back hierarchy hierarchy_changed high high_end high_key high_place high_text high_value highest holders
    holding homogeneous id instants invented is_first is_known is_leaf is_misplaced is_new is_open is_other
    is_publishable is_rare is_split is_strange j judged k keeps kept kept_groups key key_problem keys kind known
    known_as known_classes l label label_hash labels last late layer leads leaf least least_low least_value leaves
    led left_out level levels lifted line lineage lines link linked linked_below_k linked_values listed
    listed_classes longest loss lost low low_end low_key low_nodes low_place low_text low_value lowest m made
    magnitude mark may mean message metric metric_rows metrics middle mine misplaced missed missing missing_after
    missing_before model most my_class my_members n n_covered_values n_possible_values name net new_groups new_parts
    newcomers node node_losses nodes noisy_records now nulls number numbered numbers o occurs of_set old_person_key
    old_row_hash ordered other_classes overall own own_class own_loss p pair parameter parent part part_classes
    parts passed people person person_key persons piece pieces place place_of place_step places plain policy_changed
    position possible_values problem pseudonym pseudonyms published published_at published_classes published_rows q
    quasi quasi_cells r raised range_nodes rare rare_linked rare_together ratio reach reached read reader reason
    record_classes records records_in region regrouped_classes released_classes released_rows released_values
    remaining removed replayed_records request reread reused rid rise root round rounded row_hash rowid rows rows_in
    rows_out run s said schema_name seal seat second seen seen_high seen_low sensitive_values set_id sets share
    shared shift shown side signature signatures single_in single_rows single_values size sized sized_classes small
    source source_copy source_counts source_row span span_ranges span_values spelled spellings split square_errors
    squares squares_of_classes squares_of_clusters start stated_check status step steps stored strange stretch
    suppressed t tells texts their_class their_key their_members their_value theirs there tid tie ties told top
    total trail trails tree tree_domains tree_facts tree_problems trees tuple tuple_classes tuples u unbounded_high
    unbounded_low uncovered unknown unplaced untrue usable_counts usable_records v value value_before value_codes
    value_hash value_of values values_trail variance version vid w waiting waits wanted was weight who whole wide
    width worst wrong x
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
