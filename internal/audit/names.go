package audit

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The names below are for people and JSON; rows hold the numbers.

var kindNames = [...]string{
	KindIntent: "intent", KindOutcome: "outcome", KindRefusal: "refusal", KindAdmin: "admin",
	KindApproval: "approval", KindMerge: "merge", KindFetch: "fetch", KindSystem: "system", KindCI: "ci",
}

var sourceNames = [...]string{SourceGateway: "gateway", SourceHost: "host", SourceRegistry: "registry"}

var actorNames = [...]string{ActorAgent: "agent", ActorPerson: "person", ActorHost: "host", ActorService: "service"}

func name(names []string, n int, what string) string {
	if n > 0 && n < len(names) {
		return names[n]
	}
	return what + "-" + strconv.Itoa(n)
}

func parse(names []string, s, what string) (uint8, error) {
	for i, n := range names {
		if s != "" && n == s {
			return uint8(i), nil
		}
	}
	return 0, fmt.Errorf("audit: %q is not a %s; one of %s", s, what, strings.Join(names[1:], ", "))
}

func (k Kind) known() bool   { return k > 0 && int(k) < len(kindNames) }
func (s Source) known() bool { return s > 0 && int(s) < len(sourceNames) }
func (a Actor) known() bool  { return a > 0 && int(a) < len(actorNames) }

// String is the name of the kind, "kind-42" for one this program does not know.
func (k Kind) String() string { return name(kindNames[:], int(k), "kind") }

// String is the name of the source.
func (s Source) String() string { return name(sourceNames[:], int(s), "source") }

// String is the name of the actor, empty for nobody.
func (a Actor) String() string {
	if a == 0 {
		return ""
	}
	return name(actorNames[:], int(a), "actor")
}

// MarshalText implements encoding.TextMarshaler.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// MarshalText implements encoding.TextMarshaler.
func (s Source) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// MarshalText implements encoding.TextMarshaler.
func (a Actor) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// ParseKind is the inverse of Kind.String for known kinds.
func ParseKind(s string) (Kind, error) {
	n, err := parse(kindNames[:], s, "kind of row")
	return Kind(n), err
}

// ParseSource is the inverse of Source.String for known sources.
func ParseSource(s string) (Source, error) {
	n, err := parse(sourceNames[:], s, "source")
	return Source(n), err
}

// ParseActor is the inverse of Actor.String for known actors.
func ParseActor(s string) (Actor, error) {
	n, err := parse(actorNames[:], s, "actor")
	return Actor(n), err
}

// Clip makes a string from a stranger fit a field: bytes that are not UTF-8
// become U+FFFD and what is over limit bytes is cut, which "…" at the end shows.
func Clip(s string, limit int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= limit {
		return s
	}
	const mark = "…"
	if limit < len(mark) {
		return ""
	}
	cut := limit - len(mark)
	for !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + mark
}
