"""Small figures beside the theorems of chapter 2."""
