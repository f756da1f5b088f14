// Package netguard owns the danger of reaching an address that was not meant:
// it holds the one dialer that leads to upstreams. Nothing else in this module
// dials outside.
//
// A name is judged twice. CheckHost judges how it is spelled: numbers that only
// look like names (2130706433, 0x7f.1, 0177.0.0.1), zone ids, trailing dots,
// dots and digits of other scripts, names that container engines and clouds
// give to the host. Guard.DialContext then resolves once, judges every address
// of the answer, dials the judged address itself and never the name again, and
// judges once more in Control, on the address the kernel is about to connect
// to. So an answer that changes between check and use changes nothing.
//
// Invariants:
//   - only Public is dialled; a class that is not known is Reserved.
//   - one bad address in an answer refuses the whole answer.
//   - an IPv6 address that carries an IPv4 one (mapped, NAT64, 6to4, Teredo,
//     ISATAP, compatible) is refused as such, whatever it carries.
//   - the addresses of this machine's own interfaces are refused.
//   - no proxy is read from the environment: there is no proxy at all.
//   - an exemption is one exact host and port, leading to one Unix socket or to
//     that one loopback or private address; it comes from configuration, never
//     from a request.
//
// A Guard is safe for concurrent use.
package netguard

import (
	"net/netip"

	"code.dny.dev/ssrf"
	"github.com/gaissmai/bart"
)

// Class is what kind of place an address is.
type Class string

// Classes. The zero value is no class and is never dialled.
const (
	Public      Class = "public"
	Loopback    Class = "loopback"
	Private     Class = "private"
	LinkLocal   Class = "link-local"
	SharedNAT   Class = "carrier-grade NAT"
	Multicast   Class = "multicast"
	Unspecified Class = "unspecified"
	Reserved    Class = "reserved"
	Embedding   Class = "IPv6 that embeds IPv4"
	Own         Class = "own interface"
	Zoned       Class = "zoned"
)

// special lists the prefixes with a class of their own, from the IANA
// special-purpose address registries. The longest prefix decides.
func special() map[string]Class {
	return map[string]Class{
		"0.0.0.0/8": Unspecified, "10.0.0.0/8": Private, "100.64.0.0/10": SharedNAT, "127.0.0.0/8": Loopback,
		"169.254.0.0/16": LinkLocal, "172.16.0.0/12": Private, "192.0.0.0/24": Reserved, "192.168.0.0/16": Private,
		"198.18.0.0/15": Reserved, "224.0.0.0/4": Multicast, "240.0.0.0/4": Reserved,
		"168.63.129.16/32": LinkLocal, // the host as seen from a virtual machine of one cloud; carries its metadata
		"::/128":           Unspecified, "::1/128": Loopback,
		"::/96": Embedding, "::ffff:0:0/96": Embedding, "::ffff:0:0:0/96": Embedding,
		"64:ff9b::/96": Embedding, "64:ff9b:1::/48": Embedding, "2002::/16": Embedding, "2001::/32": Embedding,
		"100::/64": Reserved, "2001::/23": Reserved, "2001:db8::/32": Reserved, "3fff::/20": Reserved,
		"5f00::/16": Reserved, "fc00::/7": Private, "fe80::/10": LinkLocal, "fec0::/10": Private, "ff00::/8": Multicast,
	}
}

// classes maps prefixes to their class.
type classes struct{ table *bart.Table[Class] }

// newClasses merges our own list with the deny lists of the ssrf package, which
// is generated from the same registries by somebody else: where one forgets a
// prefix, the other has it.
func newClasses() classes {
	table := new(bart.Table[Class])
	for _, p := range append(append([]netip.Prefix{}, ssrf.IPv4DeniedPrefixes...), ssrf.IPv6DeniedPrefixes...) {
		table.Insert(p, Reserved)
	}
	for p, c := range special() {
		table.Insert(netip.MustParsePrefix(p), c)
	}
	return classes{table}
}

// of returns the class of an address, without regard to own interfaces.
func (c classes) of(addr netip.Addr) Class {
	switch {
	case !addr.IsValid():
		return Reserved
	case addr.Zone() != "":
		return Zoned
	case addr.Is4In6():
		return Embedding
	}
	if class, ok := c.table.Lookup(addr); ok {
		return class
	}
	if addr.Is6() {
		if b := addr.As16(); b[8]&^0x03 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe {
			return Embedding // ISATAP: the interface identifier holds an IPv4 address
		}
		if !ssrf.IPv6GlobalUnicast.Contains(addr) {
			return Reserved
		}
	}
	return Public
}
