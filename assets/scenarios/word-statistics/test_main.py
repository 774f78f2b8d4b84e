from main import main


def test_a_file_is_reported(tmp_path, capsys):
    path = tmp_path / 'text'
    path.write_text('b a a')
    assert main([str(path)]) == 0
    assert capsys.readouterr().out == 'a  2\nb  1\n'


def test_help_without_a_file(capsys):
    assert main([]) == 2
    assert 'usage' in capsys.readouterr().err
