from report import report


def test_columns_line_up():
    assert report('bb a a') == 'a   2\nbb  1\n'


def test_an_empty_text_gives_an_empty_report():
    assert report('') == ''
