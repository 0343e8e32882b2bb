"""The page in the browser: a sweep's folder, worked on step by step, by one person on one machine."""
