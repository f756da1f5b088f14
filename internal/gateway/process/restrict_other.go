//go:build !linux

package process

// restrict has no Landlock to use here and says so.
func restrict(Config) (string, error) { return "not supported by this system", nil }
