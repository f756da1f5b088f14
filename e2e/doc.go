// Package e2e drives the built programs as their users do: over the host API
// with a token got from a launch URL, on the command line, and in a browser.
// It holds tests only. Nothing in them switches a gate off; the one stand-in is
// the scripted model, which is a process of the product.
//
// `make e2e` builds first. Tests that need a driver, a browser or the poly
// image are skipped visibly where it is missing, and fail where MOECA_REQUIRE
// names it.
package e2e
