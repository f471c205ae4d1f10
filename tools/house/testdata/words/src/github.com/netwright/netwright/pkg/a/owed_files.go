package a // want `owed_files has the word "owed"`
