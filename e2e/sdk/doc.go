// Package sdk drives the gateway with the SDKs that people really use: the
// provider's own for Go and for npm, unchanged. Base URL is the gateway's
// loopback listener, the API key is a session token; the upstream is a stub
// that speaks the real dialect. The package holds tests only.
package sdk
