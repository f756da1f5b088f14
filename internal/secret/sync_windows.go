package secret

import "io/fs"

// syncDir does nothing: Windows journals names.
func syncDir(string) error { return nil }

// checkMode does nothing: the profile directory's access list protects the file.
func checkMode(string, fs.FileInfo) error { return nil }
