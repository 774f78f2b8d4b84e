from shop import total


def test_total():
    assert total([1250, 99]) == '13.49'


def test_nothing_costs_nothing():
    assert total([]) == '0.00'
