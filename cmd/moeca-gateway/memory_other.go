//go:build !linux

package main

// protectMemory has no counterpart here; docs/THREATS.md says what that means.
func protectMemory() error { return nil }
