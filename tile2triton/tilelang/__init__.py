"""What programs written for TileLang call besides the language, by TileLang's names."""
