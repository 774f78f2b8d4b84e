"""Tests in a real Chromium; as a package, so that fixtures of the scope `package` end with it."""
