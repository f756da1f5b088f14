package gate

import (
	"context"
	"net/http"
	"net/netip"

	"moeca/internal/gateway/upstream"
	"moeca/internal/netguard"
)

// Address refuses hosts that are, or are spelled like, an address that must
// not be reached. Names are judged again, by what they resolve to, when the
// dialer connects: this gate only saves the trouble.
type Address struct {
	Guard interface {
		Exempted(hostport string) bool
		CheckAddr(addr netip.Addr) error
	}
}

// ReasonAddress: the host is not public and not an exemption.
const ReasonAddress = "address"

// Name of the gate.
func (Address) Name() string { return "address" }

// Decide judges the host of the target.
func (g Address) Decide(_ context.Context, r *Request) Decision {
	if r.Upstream.Exempt && g.Guard.Exempted(upstream.DialAddress(r.Target)) {
		return Allow()
	}
	_, literal, err := netguard.CheckHost(r.Target.Hostname())
	if err == nil && literal.IsValid() {
		err = g.Guard.CheckAddr(literal)
	}
	if err != nil {
		return Deny(http.StatusForbidden, ReasonAddress, "the host of %s must not be reached: %v", r.Upstream.Name, err)
	}
	return Allow()
}
