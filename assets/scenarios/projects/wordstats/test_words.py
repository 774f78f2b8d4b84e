from words import count


def test_words_are_counted():
    assert count('one two  three') == 3
