"""The one shape of an answer that bots may give, in all its known spellings."""
