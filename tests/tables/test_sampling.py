import numpy as np
import pytest

from cases import cases
from dnip import InvalidInputError, ProbabilityTable
from dnip.tables import Scan
from dnip.tables.on_cluster import add_up
from dnip.tables.rows import Share
from dnip.tables.sampling import RowSample, Sampler

SIZES = np.array([3, 400, 0, 1500])
N_UNLABELLED = 97


@pytest.fixture(scope="module")
def table():
    """2,000 rows of four classes, whose captured mass tells their number."""
    rng = np.random.default_rng(5)
    labels = rng.permutation(np.repeat([0, 1, 2, 3, -1], [*SIZES, N_UNLABELLED]))
    mass = (1000 + np.arange(2000)) / 3000
    return ProbabilityTable(rng.dirichlet(np.ones(4), 2000), labels, mass=mass)


def draw(blocks, rows, seed=0):
    return add_up(Sampler(rows, seed), blocks).sample()


def numbers_of(sample):
    return np.rint(3000 * sample.table.mass - 1000).astype(int)


@cases(
    (300, [3, 100, 0, 100, 97]),
    (4, [1, 1, 0, 1, 1]),
    (302, [3, 101, 0, 101, 97]),
    (1000, [3, 400, 0, 500, 97]),
)
def test_small_classes_are_in_the_sample_whole_and_large_ones_share_the_rest(table, rows, drawn):
    sample = draw([table], rows)
    labels = sample.table.labels
    assert [np.count_nonzero(labels == c) for c in (0, 1, 2, 3, -1)] == drawn
    assert sample.n_rows == 2000
    assert sample.class_sizes.tolist() == SIZES.tolist()
    np.testing.assert_array_equal(sample.class_weights, SIZES / np.maximum(drawn[:-1], 1))
    numbers = numbers_of(sample)
    assert (np.diff(numbers) > 0).all()
    np.testing.assert_array_equal(sample.table.probabilities, table.probabilities[numbers])
    np.testing.assert_array_equal(labels, table.labels[numbers])


@pytest.mark.parametrize("rows", [50, 300, 1999])
@pytest.mark.parametrize("cuts", [[], [1], [1000], list(range(7, 2000, 7))])
def test_the_stratified_sample_depends_on_seed_and_places_alone(table, rows, cuts):
    blocks = [table.take(part) for part in np.split(np.arange(2000), cuts)]
    numbers = numbers_of(draw(blocks, rows))
    np.testing.assert_array_equal(numbers, numbers_of(draw([table], rows)))
    assert set(numbers) != set(numbers_of(draw([table], rows, seed=1)))


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_samples_of_the_shares_of_a_file_make_the_sample_of_the_file(tmp_path, table, suffix):
    path = tmp_path / f"t{suffix}"
    table.write(path)
    if suffix == ".parquet":
        parquet = pytest.importorskip("pyarrow.parquet", reason="Parquet needs pyarrow")
        parquet.write_table(parquet.read_table(path), path, row_group_size=70)
    whole = draw(Scan(path), 300)
    joined = Sampler(300)
    for number in (2, 0, 3, 1):
        share = Sampler(300)
        for chunk in Scan(path, share=Share(number, 4)):
            share.add(chunk)
        joined.join(share)
    sample = joined.sample()
    assert sample.n_rows == whole.n_rows
    assert sample.class_sizes.tolist() == whole.class_sizes.tolist()
    assert sample.table.data_hash == whole.table.data_hash


def test_more_classes_than_can_be_counted_are_refused_at_the_first_rows():
    sampler = Sampler(10)
    with pytest.raises(InvalidInputError, match="4,001 classes"):
        sampler.add(ProbabilityTable(np.full((1, 4001), 1 / 4001)))


def test_every_row_of_a_class_has_the_same_chance():
    table = ProbabilityTable(
        np.full((24, 2), 0.5), np.repeat([0, 1], [4, 20]), mass=np.arange(24) / 24
    )
    seen = np.zeros(24)
    for seed in range(2000):
        sample = draw([table.take(range(9)), table.take(range(9, 24))], 9, seed)
        seen[np.rint(24 * sample.table.mass).astype(int)] += 1
    assert (seen[:4] == 2000).all()
    np.testing.assert_allclose(seen[4:] / 2000, 0.25, atol=0.04)


@pytest.mark.parametrize("most", [5, 60, 1000])
def test_samples_of_shares_make_the_sample_of_the_table(most):
    rows = np.random.default_rng(1).random((200, 3))
    whole = RowSample(most, seed=7)
    shares = [RowSample(most, seed=7) for _ in range(3)]
    for number, block in enumerate(np.split(rows, 20)):
        whole.add(block)
        shares[number % 3].add(block, first_row=10 * number)
    joined = shares[0]
    for share in shares[1:]:
        joined.join(share)
    assert joined.n_rows == whole.n_rows == 200
    assert (joined.rows == whole.rows).all()
