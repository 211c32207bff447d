"""The reference implementation compared with published numbers and tables checked by hand."""

from __future__ import annotations

import random
from itertools import permutations, product

import pytest
from oracle.reference import (
    Attribute,
    Category,
    Number,
    Tree,
    Value,
    check_release,
    covers,
    dist_c,
    eloss_precision,
    first_unmatched,
    flat,
    kacpc,
    kacpc_distance,
    modal_value,
    mondrian,
    places,
    positions,
    scale,
    width,
)

ROWS = [
    ["Private", "*"],
    ["Self-emp-not-inc", "Self-emp", "*"],
    ["Self-emp-inc", "Self-emp", "*"],
    ["Federal-gov", "Gov", "*"],
    ["Local-gov", "Gov", "*"],
    ["State-gov", "Gov", "*"],
    ["Without-pay", "*"],
]
WORKCLASS = Tree(ROWS)
ROOT, GOV, SELF_EMP = ("*",), ("*", "Gov"), ("*", "Self-emp")

PATIENTS: list[list[Value]] = [
    [25, "Local-gov"],
    [27, "State-gov"],
    [29, "Federal-gov"],
    [40, "Private"],
    [46, "Private"],
    [55, "Self-emp-inc"],
]
ATTRIBUTES: list[Attribute] = [Number(), Category(WORKCLASS)]
AGE: list[Attribute] = [Number()]


def column(*values: Value) -> list[list[Value]]:
    """Return a table of one attribute."""
    return [[value] for value in values]


# Trees


def test_tree_heights_equal_workclass_example() -> None:
    private, local = WORKCLASS.leaf("Private"), WORKCLASS.leaf("Local-gov")
    nodes = [ROOT, GOV, SELF_EMP, private, local]
    assert (private, local) == (("*", "Private"), ("*", "Gov", "Local-gov"))
    assert WORKCLASS.levels == 3
    assert [WORKCLASS.depth(node) for node in nodes] == [0, 1, 1, 1, 2]
    assert [WORKCLASS.htop(node) for node in nodes] == [3, 2, 2, 2, 1]
    assert [WORKCLASS.hsub(node) for node in nodes] == [2, 1, 1, 0, 0]
    assert [WORKCLASS.hloss(node) for node in nodes] == [3, 2, 2, 1, 1]
    assert [WORKCLASS.leaves(node) for node in nodes] == [7, 3, 2, 1, 1]


def test_inner_node_above_shallow_leaves_has_larger_htop() -> None:
    tree = Tree([["a", "A", "*"], ["c", "b", "B", "*"]])
    assert (tree.levels, tree.htop(("*", "A")), tree.hsub(("*", "A"))) == (4, 3, 1)
    assert (tree.hloss(("*", "A")), tree.hloss(tree.leaf("a"))) == (3, 1)


def test_lca_of_leaves_and_inner_nodes() -> None:
    private, local, state = (WORKCLASS.leaf(label) for label in ("Private", "Local-gov", "State-gov"))
    assert WORKCLASS.lca(local, state) == GOV
    assert WORKCLASS.lca(local, private) == WORKCLASS.lca(private, local) == ROOT
    assert WORKCLASS.lca(local, GOV) == GOV
    assert WORKCLASS.lca(local, local) == local


def test_one_label_may_name_two_inner_nodes() -> None:
    tree = Tree([["a", "Other", "X", "*"], ["b", "Other", "Y", "*"]])
    assert tree.lca(tree.leaf("a"), tree.leaf("b")) == ROOT
    assert tree.leaves(("*", "X", "Other")) == 1


def test_leaf_order_is_depth_first_in_file_order() -> None:
    tree = Tree([["b1", "B", "*"], ["a1", "A", "*"], ["b0", "B", "*"]])
    assert tree.leaf_order() == ["b1", "b0", "a1"]
    assert tree.pruned(["a1", "b0"]).leaf_order() == ["b0", "a1"], "B stays before A"


def test_pruning_drops_empty_and_keeps_single_child_nodes() -> None:
    pruned = WORKCLASS.pruned(["Private", "Local-gov"])
    assert pruned.children[ROOT] == [("*", "Private"), GOV]
    assert pruned.children[GOV] == [("*", "Gov", "Local-gov")]
    assert (pruned.levels, pruned.leaves(ROOT), WORKCLASS.leaves(ROOT)) == (3, 2, 7)
    assert WORKCLASS.pruned(["Private"]).levels == 2
    assert WORKCLASS.pruned([]).leaf_order() == []


def test_flat_tree_sorts_values_as_text() -> None:
    tree = flat(["b", "10", None, "2", "b"])
    assert tree.leaf_order() == ["10", "2", "b"]
    assert (tree.levels, tree.leaves(ROOT)) == (2, 3)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([["a", "*"], ["b", "Any"]], "two roots"),
        ([["a", "A", "*"], ["a", "B", "*"]], "two parents"),
        ([["A", "*"], ["a", "A", "*"]], "has children"),
    ],
)
def test_malformed_tree_refused(rows: list[list[str]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Tree(rows)


# KACPC distance


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("Private", "Private", 0),
        ("Private", "Local-gov", 18),
        ("State-gov", "Local-gov", 0.462828),
        ("Self-emp-inc", "Self-emp-not-inc", 0.205701),
        ("Private", "Without-pay", 9),
        ("Private", "Self-emp-inc", 18),
        ("Local-gov", "Self-emp-inc", 36),
    ],
)
def test_reference_category_distances_equal_published(a: str, b: str, expected: float) -> None:
    assert dist_c(WORKCLASS, a, b) == pytest.approx(expected, abs=5e-7)
    assert dist_c(WORKCLASS, b, a) == dist_c(WORKCLASS, a, b)


def test_published_distances_require_pruned_leaf() -> None:
    rows = [*ROWS[:-1], ["Without-pay", "not-work", "*"], ["Never-worked", "not-work", "*"]]
    full_tree = Tree(rows)
    pruned = full_tree.pruned(WORKCLASS.leaf_order())
    assert dist_c(full_tree, "State-gov", "Local-gov") == pytest.approx(0.3544, abs=5e-5)
    assert dist_c(pruned, "State-gov", "Local-gov") == pytest.approx(0.4628, abs=5e-5)
    assert dist_c(pruned, "Private", "Local-gov") == 18
    assert dist_c(pruned, "Private", "Without-pay") == 18, "a one-child node is not collapsed"


def test_flat_tree_values_have_distance_4() -> None:
    assert dist_c(flat(["f", "m"]), "f", "m") == 4


def test_integer_positions_are_gcd_steps() -> None:
    assert positions([10, 30, None, 60, 10]) == {10: 0, 30: 2, 60: 5}
    assert positions([7, 7]) == {7: 0}
    assert positions([None]) == {}


def test_float_positions_halved_against_overflow() -> None:
    assert positions([1, 1.5, 4]) == {1: 0.0, 1.5: 0.25, 4: 1.5}
    assert positions([1, 1.0, 3]) == {1: 0.0, 3: 1.0}, "one float makes the column float"
    assert positions([-1.5e308, 1.5e308]) == {-1.5e308: 0.0, 1.5e308: 1.5e308}


def test_scale_keeps_sums_below_2_to_62() -> None:
    assert scale(PATIENTS, ATTRIBUTES, 3) == 55, "2 (1 + 36) = 74 is in [2^6, 2^7)"
    assert scale(PATIENTS, [Number(0.5), Category(WORKCLASS, 2.0)], 3) == 54, "2 (0.5 + 72) = 145"
    assert scale(column(0, 1, 2), AGE, 3) == 61, "1 is in [2^0, 2^1)"
    assert scale(column(5, 5), AGE, 2) == 0


def test_distances_are_exact_integers() -> None:
    distance = kacpc_distance(PATIENTS, ATTRIBUTES, 3, prune=False)
    assert distance(PATIENTS[3], PATIENTS[1]) == 18 * 2**55 + 13 * round(2**55 / 30)
    assert distance(PATIENTS[0], PATIENTS[0]) == 0


def test_reference_distances_equal_published_trace() -> None:
    distance = kacpc_distance(PATIENTS, ATTRIBUTES, 3, prune=False)
    modal = [modal_value(kind, [row[j] for row in PATIENTS]) for j, kind in enumerate(ATTRIBUTES)]
    assert modal == [25, "Private"]
    values = [distance(modal, row) / 2**55 for row in PATIENTS]
    assert values == pytest.approx([18, 18.066667, 18.133333, 0.5, 0.7, 19], abs=5e-7)


def test_fine_unit_keeps_equal_steps() -> None:
    unit = round(2.0**61 / 3)
    assert places([0, 1, 3], 1.0, 61) == {0: 0, 1: unit, 3: 3 * unit}


def test_wide_integer_range_rounds_each_position() -> None:
    reach = 3 * 2**38
    assert places([0, 1, reach], 1.0, 61) == {0: 0, 1: 2796203, reach: 2**61}


def test_equal_steps_require_unit_of_2_to_24() -> None:
    enough, below = 2**37 + 1, 2**37 + 2**13
    assert (round(2.0**61 / enough), round(2.0**61 / below)) == (2**24, 2**24 - 1)
    assert places([0, 1, enough], 1.0, 61)[enough] == enough * 2**24
    assert places([0, 1, below], 1.0, 61)[below] == 2**61


def test_weights_scale_places() -> None:
    assert places([0.0, 0.5, 2.0], 3.0, 10) == {0.0: 0, 0.5: 768, 2.0: 3072}


def test_weights_scale_every_distance() -> None:
    records: list[list[Value]] = [[0, "Private"], [2, "Without-pay"], [None, None]]
    weighted: list[Attribute] = [Number(0.5), Category(WORKCLASS, 2.0)]
    distance = kacpc_distance(records, weighted, 3, prune=False)
    one = 2**57
    assert scale(records, weighted, 3) == 57, "0.5 + 2 9 = 18.5"
    assert distance([0, "Private"], [2, "Private"]) == distance([0, "Private"], [None, "Private"]) == one // 2
    assert distance([0, "Private"], [0, "Without-pay"]) == distance([0, "Private"], [0, None]) == 18 * one


def test_null_has_largest_distance_to_values() -> None:
    records: list[list[Value]] = [[1, "Private"], [2, "Local-gov"], [None, None], [1, "Without-pay"]]
    distance = kacpc_distance(records, ATTRIBUTES, 2)
    s = scale(records, [Number(), Category(WORKCLASS.pruned(["Private", "Local-gov", "Without-pay"]))], 2)
    assert s == 62 - 6, "2 (1 + 18) = 38"
    assert distance([1, "Private"], [None, "Private"]) == 2**s
    assert distance([1, "Without-pay"], [1, None]) == 18 * 2**s
    assert distance([None, None], [None, None]) == 0


@pytest.mark.parametrize("kind", [Number(), Category(flat(["x"]))])
def test_null_with_single_value_has_unit_distance(kind: Attribute) -> None:
    value: Value = 7 if isinstance(kind, Number) else "x"
    distance = kacpc_distance([[value], [None]], [kind], 2)
    assert distance([value], [None]) == 2**61
    assert distance([value], [value]) == 0


# KACPC


def test_modal_value_ties_prefer_first_in_order() -> None:
    assert modal_value(Number(), [3, 2, 3, 2, 1]) == 2
    assert modal_value(Category(WORKCLASS), ["Self-emp-inc", "Self-emp-not-inc"]) == "Self-emp-not-inc"
    assert modal_value(Number(), [None, 3, None, 3]) == 3
    assert modal_value(Number(), [None, 3, None]) is None
    assert modal_value(Category(WORKCLASS), [None]) is None


def test_reference_kacpc_equals_published_fixture() -> None:
    clusters = kacpc(PATIENTS, ATTRIBUTES, 3, prune=False)
    assert [[r + 1 for r in cluster] for cluster in clusters] == [[4, 5, 3], [2, 1, 6]]
    assert eloss_precision(PATIENTS, ATTRIBUTES, clusters) == pytest.approx(0.108333, abs=5e-7)


def test_reference_kacpc_equals_hand_traced_ages() -> None:
    assert kacpc(column(0, 1, 2, 3, 4, 10, 11), AGE, 2) == [[0, 1], [2, 3], [4, 5, 6]]
    assert kacpc(column(0, 0, 4, 4, 2), AGE, 2) == [[0, 1], [4, 2, 3]]


def test_later_centroids_minimize_summed_distance() -> None:
    """Centroids 0 and 5; then 9 (9 + 4 = 13), though -7 (7 + 12 = 19) is nearer to the first.

    Then -7 (7 + 12 + 16 = 35), though 24 (24 + 19 + 15 = 58) is nearer to the last.
    """
    records = column(0, 0, 0, 24, 24, 24, -8, -8, -7, 5, 5, 6, 9, 9, 10)
    expected = [[0, 1, 2], [9, 10, 11], [12, 13, 14], [8, 6, 7], [3, 4, 5]]
    assert kacpc(records, AGE, 3) == expected


def test_kacpc_ties_prefer_first_record_and_cluster() -> None:
    letters: list[Value] = ["a", "a", "b", "b", "c"]
    assert kacpc(column(*letters), [Category(flat(letters))], 2) == [[0, 1, 4], [2, 3]]
    assert kacpc(column(5, 5, 5, 5), AGE, 2) == [[0, 1], [2, 3]]


def test_kacpc_keeps_nulls_together() -> None:
    assert kacpc(column(None, 1, None, 2), AGE, 2) == [[0, 2], [1, 3]]


def test_reference_kacpc_counts_persons() -> None:
    values = column(0, 0, 0, 1, 2, 3)
    assert kacpc(values, AGE, 2) == [[0, 1], [2, 3], [4, 5]]
    assert kacpc(values, AGE, 2, persons=["A", "A", None, "B", "C", "D"]) == [[0, 1, 2, 3], [4, 5]]
    assert kacpc(values, AGE, 2, persons=["A", "A", None, "B", "C", "C"]) == [[0, 1, 2, 3, 4, 5]]


@pytest.mark.parametrize("persons", [None, ["A", "A", None]])
def test_k_above_record_or_person_count_refused(persons: list[str | None] | None) -> None:
    k = 4 if persons is None else 2
    with pytest.raises(ValueError, match="more than the table holds"):
        kacpc(column(1, 2, 3), AGE, k, persons)
    with pytest.raises(ValueError, match="more than the table holds"):
        mondrian(column(1, 2, 3), AGE, k, persons)


def test_empty_table_has_no_classes() -> None:
    assert kacpc([], ATTRIBUTES, 2) == mondrian([], ATTRIBUTES, 2) == []
    assert eloss_precision([], ATTRIBUTES, []) == 1


# Mondrian


def test_width_is_share_of_range_or_leaves() -> None:
    work, ages = Category(WORKCLASS), [10, 20, 50, None]
    assert width(Number(), [10, 20], ages) == 0.25
    assert width(Number(), [4, 4], [4, 4]) == 0
    assert width(Number(), [-1.6e308, 0.0], [-1.6e308, 0.0, 1.6e308]) == 0.5
    assert width(work, ["Local-gov", "State-gov"], []) == 3 / 7
    assert width(work, ["Local-gov", "Private"], []) == 1
    assert width(work, ["Private", "Private"], []) == 0
    assert width(Number(), [10, None], ages) == width(work, ["Private", None], []) == 1
    assert width(Number(), [None, None], ages) == 0


def test_reference_mondrian_cuts_widest_cuttable_attribute() -> None:
    """Both widths are 1: age is first, at its lower median 24.

    Then workclass is wider (1 compared with 0.1 and 0.25), but leaves one record alone, and so does age.
    """
    records: list[list[Value]] = [
        [20, "Private"],
        [22, "Private"],
        [24, "Local-gov"],
        [50, "Local-gov"],
        [55, "State-gov"],
        [60, "Self-emp-inc"],
    ]
    assert mondrian(records, ATTRIBUTES, 2) == [[0, 1, 2], [3, 4, 5]]
    assert mondrian([row[::-1] for row in records], ATTRIBUTES[::-1], 2) == [[0, 1, 2], [3, 4, 5]]


def test_mondrian_ties_prefer_earlier_attribute() -> None:
    records: list[list[Value]] = [[1, "Private"], [2, "Local-gov"], [3, "Private"], [4, "Local-gov"]]
    assert mondrian(records, ATTRIBUTES, 2) == [[0, 1], [2, 3]]
    assert mondrian([row[::-1] for row in records], ATTRIBUTES[::-1], 2) == [[0, 2], [1, 3]]
    assert mondrian(records, [Number(), Category(WORKCLASS, 2.0)], 2) == [[0, 2], [1, 3]]
    assert mondrian(records, [Number(0.0), Category(WORKCLASS, 0.0)], 2) == [[0, 1, 2, 3]]


def test_mondrian_cuts_category_into_all_children() -> None:
    labels: list[Value] = ["Private", "Local-gov", "State-gov", "Private", "Local-gov", "State-gov"]
    labels += ["Without-pay", "Without-pay"]
    assert mondrian(column(*labels), [Category(WORKCLASS)], 2) == [[0, 3], [1, 4], [2, 5], [6, 7]]
    assert mondrian(column(*labels[:-1]), [Category(WORKCLASS)], 2) == [[0, 1, 2, 3, 4, 5, 6]]


def test_mondrian_never_separates_equal_numbers() -> None:
    assert mondrian(column(1, 2, 2, 2, 2, 3), AGE, 2) == [[0, 1, 2, 3, 4, 5]]
    assert mondrian(column(1, 1, 2, 3, 3), AGE, 2) == [[0, 1, 2], [3, 4]]


def test_mondrian_cuts_nulls_off_first() -> None:
    assert mondrian(column(None, 1, None, 2), AGE, 2) == [[0, 2], [1, 3]]
    assert mondrian(column(5, 5, None, None), AGE, 2) == [[0, 1], [2, 3]]
    assert mondrian(column(None, 1, 2, 3, 4), AGE, 2) == [[0, 1, 2, 3, 4]], "no other cut of a mixed part"


def test_reference_mondrian_counts_persons() -> None:
    assert mondrian(column(1, 2, 3, 4), AGE, 2, persons=["A", "B", "A", "B"]) == [[0, 1], [2, 3]]
    assert mondrian(column(1, 2, 3, 4), AGE, 2, persons=["A", "A", "B", "B"]) == [[0, 1, 2, 3]]
    assert mondrian(column(1, 2, 3, 4), AGE, 2, persons=["A", "B", "A", None]) == [[0, 1, 2, 3]]


# Precision


def test_precision_equals_published_partition() -> None:
    assert eloss_precision(PATIENTS, ATTRIBUTES, [[0, 1, 2], [3, 4, 5]]) == pytest.approx(0.466667, abs=5e-7)


def test_precision_is_1_unchanged_and_0_suppressed() -> None:
    assert eloss_precision(PATIENTS, ATTRIBUTES, [[r] for r in range(6)]) == 1
    assert eloss_precision(PATIENTS, ATTRIBUTES, [list(range(6))]) == 0


def test_precision_counts_nulls_among_values_as_lost() -> None:
    """Only NULLs lose nothing, NULLs among values everything, a constant number nothing."""
    assert eloss_precision(column(None, None, 1, 3), AGE, [[0, 1], [2], [3]]) == 1
    assert eloss_precision(column(None, None, 1, 3), AGE, [[0, 2], [1], [3]]) == 0.5
    assert eloss_precision(column(4, 4, None), AGE, [[0, 1], [2]]) == 1
    assert eloss_precision(column(None, "Private"), [Category(WORKCLASS)], [[0, 1]]) == 0


def test_precision_does_not_overflow_on_floats() -> None:
    assert eloss_precision(column(-1.6e308, 0.0, 1.6e308), AGE, [[0, 1], [2]]) == pytest.approx(2 / 3)


# Both algorithms on random tables


@pytest.mark.parametrize("seed", range(30))
def test_every_record_is_in_one_class_of_at_least_k(seed: int) -> None:
    rng = random.Random(seed)
    n, k = rng.randint(5, 30), rng.randint(1, 5)
    ages: list[Value] = [None, 1, 2, 3, 5.5 if seed % 2 else 5, 90]
    labels: list[Value] = [None, *WORKCLASS.leaf_order()]
    records: list[list[Value]] = [[rng.choice(ages), rng.choice(labels)] for _ in range(n)]
    for classes in (kacpc(records, ATTRIBUTES, k), mondrian(records, ATTRIBUTES, k)):
        assert sorted(r for members in classes for r in members) == list(range(n))
        assert min(len(members) for members in classes) >= k
    assert len(kacpc(records, ATTRIBUTES, k)) == n // k


@pytest.mark.parametrize("seed", range(10))
def test_single_record_persons_change_nothing(seed: int) -> None:
    rng = random.Random(seed)
    records: list[list[Value]] = [[rng.randint(0, 9), rng.choice(ROWS)[0]] for _ in range(20)]
    persons = [f"p{r}" for r in range(20)]
    assert kacpc(records, ATTRIBUTES, 3, persons) == kacpc(records, ATTRIBUTES, 3)
    assert mondrian(records, ATTRIBUTES, 3, persons) == mondrian(records, ATTRIBUTES, 3)


# The check of a release

DISEASES = ["Flu", "Flu", "Cancer", "Flu", "Cancer", "HIV"]


def source_table() -> list[dict[str, object]]:
    return [
        {"name": f"n{r}", "age": age, "work": work, "disease": DISEASES[r]} for r, (age, work) in enumerate(PATIENTS)
    ]


def true_release() -> list[dict[str, object]]:
    """Return the published partition, in another order than the source."""
    young = [{"age": "[25, 29]", "work": "Gov", "disease": disease} for disease in ("Cancer", "Flu", "Flu")]
    old = [{"age": "[40, 55]", "work": "*", "disease": disease} for disease in ("HIV", "Flu", "Cancer")]
    return [dict(row) for row in old + young]


def check(release_rows: list[dict[str, object]], k: int = 3) -> None:
    check_release(source_table(), release_rows, ["age", "work"], ATTRIBUTES, k, ["disease"])


def test_check_release_accepts_true_release() -> None:
    check(true_release())


def test_check_release_rejects_k_violation() -> None:
    with pytest.raises(AssertionError, match="has 3 rows"):
        check(true_release(), k=4)


def test_check_release_rejects_missing_row() -> None:
    with pytest.raises(AssertionError, match="6 rows in, 5 out"):
        check(true_release()[:-1], k=2)


@pytest.mark.parametrize(
    ("name", "true", "false"),
    [
        ("age", "[25, 29]", "[26, 29]"),
        ("age", "[25, 29]", "25"),
        ("age", "[25, 29]", "25-29"),
        ("age", "[25, 29]", None),
        ("work", "Gov", "Self-emp"),
        ("work", "Gov", "Local-gov"),
        ("disease", "HIV", "Flu"),
    ],
)
def test_check_release_rejects_false_value(name: str, true: str, false: str | None) -> None:
    result = true_release()
    for row in result:
        row[name] = false if row[name] == true else row[name]
    with pytest.raises(AssertionError, match="cannot be paired"):
        check(result)


def test_check_release_rejects_swapped_sensitive_values() -> None:
    result = true_release()
    result[0]["disease"], result[-1]["disease"] = result[-1]["disease"], result[0]["disease"]
    with pytest.raises(AssertionError, match="cannot be paired"):
        check(result)


def test_check_release_rejects_rows_without_joint_match() -> None:
    source: list[dict[str, object]] = [{"age": age} for age in (22, 25, 30, 28)]
    released_mappings: list[dict[str, object]] = [{"age": text} for text in ("[20, 30]", "[30, 40]") * 2]
    with pytest.raises(AssertionError, match="cannot be paired"):
        check_release(source, released_mappings, ["age"], AGE, 2, [])
    source[0]["age"] = 35
    check_release(source, released_mappings, ["age"], AGE, 2, [])


@pytest.mark.parametrize(
    ("public", "original", "expected"),
    [
        ("*", 3, True),
        ("*", None, True),
        (None, None, True),
        (None, 3, False),
        ("3", None, False),
        (3, 3, False),
        ("[-2.5, -1e-05]", -1e-05, True),
        ("[-2.5, -1]", -0.5, False),
        ("0.1", 0.1, True),
        ("25.0", 25, True),
        ("[25,29]", 27, False),
        ("9007199254740993", 9007199254740992, False),
    ],
)
def test_covers_number_if_equal_or_in_interval(public: object, original: object, expected: bool) -> None:
    assert covers(public, original, Number()) is expected


@pytest.mark.parametrize(
    ("public", "original", "expected"),
    [
        ("Gov", "Local-gov", True),
        ("Local-gov", "Local-gov", True),
        ("*", "Private", True),
        ("*", None, True),
        (None, None, True),
        ("Gov", None, False),
        ("Gov", "Private", False),
        ("gov", "Local-gov", False),
        ("State-gov", "Local-gov", False),
    ],
)
def test_covers_label_if_equal_or_ancestor(public: object, original: object, expected: bool) -> None:
    assert covers(public, original, Category(WORKCLASS)) is expected


def test_matching_agrees_with_all_permutations() -> None:
    subsets = [[], [0], [1], [2], [0, 1], [0, 2], [1, 2], [0, 1, 2]]
    for edges in product(subsets, repeat=3):
        possible = any(all(order[i] in edges[i] for i in range(3)) for order in permutations(range(3)))
        assert (first_unmatched(edges) is None) == possible
