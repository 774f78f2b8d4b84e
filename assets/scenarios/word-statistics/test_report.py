from report import report


def test_columns_line_up():
    assert report('bb a a') == 'a   2\nbb  1\n'


def test_nothing_gives_nothing():
    assert report('') == ''
