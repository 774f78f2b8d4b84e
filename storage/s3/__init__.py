"""S3: files of runs in a bucket that all machines can access."""
