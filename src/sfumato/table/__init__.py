"""Tables of records: what they hold (schema), how they are held (microdata), where they come from."""
