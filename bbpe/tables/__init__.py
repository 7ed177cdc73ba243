"""Finished tables of tokenizers in files of the user's cache folder, which later processes map."""
