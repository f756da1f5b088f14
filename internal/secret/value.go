// Package secret holds keys of providers: a type that cannot be printed and a
// store that survives restarts.
//
// A Value shows "[secret]" wherever it is formatted, logged or marshalled, also
// inside a struct field that is not exported. Only Value.Open, alone in open.go,
// gives the text, so one search finds every use of a key.
//
// OpenStore picks where keys live: the system's keychain where a canary can be
// written, read back and deleted in time, else a file encrypted with age. A
// directory stays with what it began with, so that keys never seem to vanish
// when a keychain appears or is locked.
//
//	secrets.json  keychain only: the names, and the id that separates the
//	              entries of this directory from those of another
//	secrets.age   file only: the keys, encrypted
//	secrets.key   file only: the age identity that decrypts them, mode 0600
//	secrets.lock  held during each change and read
//
// The file protects against copies of secrets.age alone (a backup, a synced
// folder); whoever reads as this user reads both. Changes are serialised
// between processes by the lock, replace the file atomically and are durable on
// return. A Store is safe for concurrent use.
//
// The package does not decide who may use a key, and no key reaches a sandbox
// through it.
package secret

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"log/slog"
)

// shown is printed in place of every secret, also of an empty one.
const shown = "[secret]"

// Value is a secret text. The zero Value is empty. It is held behind a pointer
// so that reflection over a containing struct prints an address.
type Value struct{ text *string }

// New makes a Value.
func New(s string) Value {
	if s == "" {
		return Value{}
	}
	return Value{text: &s}
}

// Empty says whether there is no secret.
func (v Value) Empty() bool { return v.text == nil }

// Equal compares in constant time.
func (v Value) Equal(w Value) bool {
	a, b := sha256.Sum256([]byte(v.Open())), sha256.Sum256([]byte(w.Open()))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

// String implements fmt.Stringer.
func (v Value) String() string { return shown }

// GoString implements fmt.GoStringer.
func (v Value) GoString() string { return shown }

// Format implements fmt.Formatter for every verb.
func (v Value) Format(f fmt.State, _ rune) { io.WriteString(f, shown) }

// LogValue implements slog.LogValuer.
func (v Value) LogValue() slog.Value { return slog.StringValue(shown) }

// MarshalJSON implements json.Marshaler.
func (v Value) MarshalJSON() ([]byte, error) { return []byte(`"` + shown + `"`), nil }

// MarshalText implements encoding.TextMarshaler.
func (v Value) MarshalText() ([]byte, error) { return []byte(shown), nil }

// UnmarshalJSON refuses: what was marshalled is not the secret.
func (v *Value) UnmarshalJSON([]byte) error {
	return errors.New("secret: a secret is not read from JSON")
}
