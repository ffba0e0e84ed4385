"""Every choice has its own seed."""

from itertools import product

from cotrain.core.seeds import derive_seed


def test_every_part_and_its_place_change_the_seed() -> None:
    # trl#2824, Megatron-LM#5983: run, step, episode, agent, turn, candidate
    parts = product((5, 6), (1, 2), range(3), ("planner", "tester"), range(3), range(4))
    seeds = [derive_seed(*part) for part in parts]
    assert len(set(seeds)) == len(seeds)
    assert derive_seed(1, 2) != derive_seed(2, 1)
    assert derive_seed("1") != derive_seed(1)
    assert derive_seed(1, 23) != derive_seed(12, 3)


def test_a_seed_is_the_same_on_every_machine_and_fits_63_bits() -> None:
    assert derive_seed(5, "train", 1, 0, "planner", 2, 3) == 7473312226611129690
    assert all(0 <= derive_seed(number) < 2**63 for number in range(1000))
