"""SQL as text: quoting, templates, the tokenizer, names."""
