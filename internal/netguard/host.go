package netguard

import (
	"fmt"
	"net/netip"
	"strings"
)

// RefusedError says what was refused and why. It wraps nothing: a refusal has
// no cause but itself.
type RefusedError struct {
	Host   string // as given, cut to 253 bytes
	Reason string // one of the Reason constants, or a Class
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("netguard: %q refused: %s", e.Host, e.Reason)
}

// Reasons that concern the spelling of a host.
const (
	ReasonEmpty    = "empty host"
	ReasonLong     = "host too long"
	ReasonZone     = "zone id or escape in host"
	ReasonDot      = "trailing or doubled dot in host"
	ReasonSpelled  = "address spelled as something else"
	ReasonChars    = "character not allowed in host"
	ReasonAlias    = "name of this machine or its network"
	ReasonDenied   = "on the denylist"
	ReasonNetwork  = "network is not tcp"
	ReasonNothing  = "name has no address"
	ReasonPort     = "port is not a number"
	ReasonExempted = "exemption leads elsewhere"
)

// CheckHost judges the spelling of a host without resolving it and returns it
// in canonical form. literal is valid when the host is an address; its class
// is judged by Guard.CheckAddr.
func CheckHost(host string) (canonical string, literal netip.Addr, err error) {
	refuse := func(reason string) (string, netip.Addr, error) {
		return "", netip.Addr{}, &RefusedError{Host: host[:min(len(host), 253)], Reason: reason}
	}
	switch {
	case host == "":
		return refuse(ReasonEmpty)
	case len(host) > 253:
		return refuse(ReasonLong)
	case strings.Contains(host, "%"):
		return refuse(ReasonZone)
	}
	host = strings.ToLower(host)
	if strings.Contains(host, ":") {
		addr, err := netip.ParseAddr(host)
		if err != nil {
			return refuse(ReasonSpelled)
		}
		return addr.String(), addr, nil
	}
	labels := strings.Split(host, ".")
	for _, label := range labels {
		switch {
		case label == "":
			return refuse(ReasonDot)
		case len(label) > 63 || !isLabel(label):
			return refuse(ReasonChars)
		}
	}
	if endsInNumber(labels) {
		addr, err := netip.ParseAddr(host)
		if err != nil || !addr.Is4() {
			return refuse(ReasonSpelled)
		}
		return host, addr, nil
	}
	if isAlias(host, labels) {
		return refuse(ReasonAlias)
	}
	return host, netip.Addr{}, nil
}

func isLabel(label string) bool {
	for i := range len(label) {
		c := label[i]
		edge := i == 0 || i == len(label)-1
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '_':
		case c == '-' && !edge:
		default:
			return false
		}
	}
	return true
}

// endsInNumber is the rule by which URL parsers decide that a host is an IPv4
// address: the last label is decimal, octal or hexadecimal.
func endsInNumber(labels []string) bool {
	last := labels[len(labels)-1]
	if digits, ok := strings.CutPrefix(last, "0x"); ok {
		return strings.Trim(digits, "0123456789abcdef") == ""
	}
	return strings.Trim(last, "0123456789") == ""
}

// isAlias: names that resolve to this machine, its container engine or a
// metadata service, by convention or by a resolver's own rules. A name of one
// label depends on a search list and is never a public host.
func isAlias(host string, labels []string) bool {
	if len(labels) == 1 {
		return true
	}
	for _, suffix := range [...]string{
		".localhost", ".localdomain", ".local", ".internal", ".intranet", ".private", ".corp", ".home", ".lan",
		".unix", ".arpa", ".invalid", ".test", ".onion",
	} {
		if strings.HasSuffix(host, suffix) {
			return true
		}
	}
	return false
}
