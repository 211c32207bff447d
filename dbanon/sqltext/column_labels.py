"""Name the columns of a statement after the columns of the user's table: `"age"`, `"age: code"`, `"age: low"`."""

from functools import lru_cache

from dbanon.sqltext.names import fold_case
from dbanon.sqltext.quote import Sql, identifier

_SUFFIX = " (column)"

FIXED_NAMES = frozenset(
    """
    a above above_gap added agrees alike alone ancestors answer answered arrival arrived arrived_at as_it_came asked
    attribute attributes b barred before begins begun below below_gap better beyond body budget by_person c
    candidates carried categories category cell cells change changed checksum child class class_a class_b class_id
    class_of class_of_cluster class_of_group class_of_part class_of_tuple class_rows classes climb cluster
    cluster_id cluster_of clusters code code_node column_name confused content copy count_of counted covered d
    database_name dealt delay density depth description detail differ different different_after different_before
    differs differs_in_size distance diverse drawn dropped e earlier edges encoded error extent f facts failed few
    filled finer first first_records first_seen first_value first_values followed followed_ foreign found fresh g
    gain gate generalized gid gone grouped groups h has_null hash hash_of hashes height held held_back hidden
    hierarchy hierarchy_changed high high_end high_key high_place high_text high_value highest holders holding id
    identities identity instants invented is_first is_guessed is_known is_leaf is_misplaced is_new is_open is_other
    is_publishable is_rare is_registered is_split is_strange j judged judged_ k keeps kept kept_facts key
    key_problem kind known known_as l label label_hash label_of labels last late layer leads leaf least least_low
    least_value leaves leaving led left_out left_with level levels lifted line lineage lines link linked listed
    listed_classes longest loss lost lost_node lost_of low low_end low_key low_node low_place low_text low_value
    lowest m made magnitude mark may mean member message metric metric_rows metrics middle mine misplaced missed
    missing missing_after missing_before model moment most my_class my_members n n_covered_values n_possible_values
    name net newcomers node nodes now nulls number numbered numbers o occurs of_set old_person_key old_row_hash
    ordered original other_classes overall own own_class own_loss own_u p pair parameter parent part parts passed
    people person person_key persons piece place place_of place_step placed places plain policy_changed position
    possible_values problem pseudonym pseudonyms published published_at published_node q quasi quasi_cells query r
    raised rare rare_together rarely ratio reach reached read reader reason records records_in region released
    released_classes released_rows remaining removed replayed reread reused rid rise root round rounded row row_hash
    rowid rows rows_in rows_out run s said schema_name seal seat seated second seen seen0 seen_high seen_low
    sensitive_values set_id sets share shared shift shown side signature signatures single_in single_rows
    single_values size sized small source source_row span spelled spellings split spread squares squares_of_classes
    squares_of_clusters start stated status stays step steps stored strange stretch suppressed t tally tells texts
    their_class their_key their_members their_value theirs there tid tie ties told told0 told_u top total
    total_records trail tree tree_code tree_domain tree_fact tree_problem trees tuple_id tuples u uid unbounded_high
    unbounded_low uncovered unknown unplaced untrue v value value_before value_hash value_of values values_of
    values_trail variance version vid visible w waiting waits wanted was weight who whole whole_class wide width
    worn wrong x y
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
