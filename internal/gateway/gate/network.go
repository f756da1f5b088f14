package gate

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"moeca/internal/netguard"
)

// Network refuses hosts on the gateway's denylist although their upstream is
// configured and granted. Names are judged here; the prefixes of the list also
// stand in the dialer, which judges what a name resolves to.
type Network struct{ Denied Networks }

// ReasonDenied: the host is on the denylist.
const ReasonDenied = "denied-network"

// Name of the gate.
func (Network) Name() string { return "network" }

// Decide compares the host of the target with the list.
func (g Network) Decide(_ context.Context, r *Request) Decision {
	if g.Denied.Denies(r.Target.Hostname()) {
		return Deny(http.StatusForbidden, ReasonDenied, "the host of %s is on the denylist of this gateway (deny_networks)", r.Upstream.Name)
	}
	return Allow()
}

// Networks is a denylist. The zero value denies nothing.
type Networks struct {
	names    []string // exact, or a suffix that begins with a dot
	prefixes []netip.Prefix
}

// ParseNetworks reads a denylist: a name denies that host, a name with a dot in
// front every host below it, an address or a prefix in CIDR form every address
// in it.
func ParseNetworks(list []string) (Networks, error) {
	var n Networks
	for _, entry := range list {
		if p, err := netip.ParsePrefix(entry); err == nil && p == p.Masked() && !p.Addr().Is4In6() {
			n.prefixes = append(n.prefixes, p)
			continue
		}
		host, literal, err := netguard.CheckHost(strings.TrimPrefix(entry, "."))
		switch {
		case err != nil:
			return Networks{}, fmt.Errorf("gate: denylist entry %.80q: write a host, .suffix, an address or a prefix such as 203.0.113.0/24", entry)
		case literal.IsValid():
			n.prefixes = append(n.prefixes, netip.PrefixFrom(literal, literal.BitLen()))
		case strings.HasPrefix(entry, "."):
			n.names = append(n.names, "."+host)
		default:
			n.names = append(n.names, host)
		}
	}
	return n, nil
}

// Prefixes are the denied addresses, for the dialer.
func (n Networks) Prefixes() []netip.Prefix { return slices.Clone(n.prefixes) }

// Denies says whether a host is on the list.
func (n Networks) Denies(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if addr, err := netip.ParseAddr(host); err == nil {
		addr = addr.Unmap().WithZone("")
		return slices.ContainsFunc(n.prefixes, func(p netip.Prefix) bool { return p.Contains(addr) })
	}
	return slices.ContainsFunc(n.names, func(name string) bool {
		return name == host || name[0] == '.' && strings.HasSuffix(host, name)
	})
}
