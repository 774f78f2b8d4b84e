"""Teams of scripted agents for tests of the patterns that lead them."""
