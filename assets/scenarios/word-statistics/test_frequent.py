from frequent import frequent


def test_the_most_frequent_come_first():
    assert frequent('b a a c c c') == [('c', 3), ('a', 2), ('b', 1)]


def test_case_and_punctuation_do_not_matter():
    assert frequent("Don't, don't! Do.") == [("don't", 2), ('do', 1)]


def test_the_number_of_words_is_limited():
    assert len(frequent('a b c', limit=2)) == 2
