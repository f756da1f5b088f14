//go:build !linux

package stack

// ownPeer cannot tell whose a connection is on this system.
func ownPeer(string) bool { return true }
