package netguard

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// Resolver turns a name into addresses. *net.Resolver is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Options of a Guard. The zero value is the one for production.
type Options struct {
	Resolver Resolver                          // nil: the pure Go resolver of this machine
	Own      func() ([]netip.Addr, error)      // nil: addresses of the interfaces, read at every dial
	Connect  time.Duration                     // time for one connection; zero: 10 s
	Denied   []netip.Prefix                    // refused although they are public
	dial     func(*net.Dialer) contextDialFunc // tests see what would be dialled
}

type contextDialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// Exemption leads one exact host and port to one Unix socket, or, with an empty
// Unix, to the loopback or private address that host and port spell.
type Exemption struct{ Unix string }

// Guard is the only upstream dialer.
type Guard struct {
	o       Options
	classes classes

	mu     sync.RWMutex
	exempt map[string]Exemption // by "host:port"
}

// New returns a guard without exemptions.
func New(o Options) *Guard {
	if o.Resolver == nil {
		o.Resolver = &net.Resolver{PreferGo: true}
	}
	if o.Own == nil {
		o.Own = interfaceAddrs
	}
	if o.Connect <= 0 {
		o.Connect = 10 * time.Second
	}
	if o.dial == nil {
		o.dial = func(d *net.Dialer) contextDialFunc { return d.DialContext }
	}
	return &Guard{o: o, classes: newClasses()}
}

// IsPrivate says whether addr is an ordinary address of a private network, as a
// user's own server may have. The one private address at which a cloud serves
// its metadata is none.
func IsPrivate(addr netip.Addr) bool {
	return addr.IsPrivate() && !addr.Is4In6() && addr.Zone() == "" && addr != netip.MustParseAddr("fd00:ec2::254")
}

// SetExempt replaces all exemptions. It refuses the whole set when one of them
// is neither an absolute socket path nor a literal loopback or private address.
func (g *Guard) SetExempt(set map[string]Exemption) error {
	own := make(map[string]Exemption, len(set))
	for hostport, e := range set {
		if e.Unix != "" {
			if !filepath.IsAbs(e.Unix) || filepath.Clean(e.Unix) != e.Unix {
				return fmt.Errorf("netguard: exempt %s: socket path %q is not absolute and clean", hostport, e.Unix)
			}
		} else if ap, err := netip.ParseAddrPort(hostport); err != nil || !ap.Addr().IsLoopback() && !IsPrivate(ap.Addr()) || ap.Addr().Is4In6() {
			return fmt.Errorf("netguard: exempt %s: only a literal loopback or private address and port can be exempted", hostport)
		}
		own[hostport] = e
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.exempt = own
	return nil
}

// Exempted says whether exactly this host and port is exempted.
func (g *Guard) Exempted(hostport string) bool {
	_, ok := g.exemption(hostport)
	return ok
}

func (g *Guard) exemption(hostport string) (Exemption, bool) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	e, ok := g.exempt[hostport]
	return e, ok
}

// CheckAddr refuses every address that is not public or is our own.
func (g *Guard) CheckAddr(addr netip.Addr) error {
	if class := g.classes.of(addr); class != Public {
		return &RefusedError{Host: addr.String(), Reason: string(class)}
	}
	for _, p := range g.o.Denied {
		if p.Contains(addr.Unmap().WithZone("")) {
			return &RefusedError{Host: addr.String(), Reason: ReasonDenied}
		}
	}
	own, err := g.o.Own()
	if err != nil {
		return fmt.Errorf("netguard: read own interfaces: %w", err)
	}
	for _, a := range own {
		if a.Unmap() == addr {
			return &RefusedError{Host: addr.String(), Reason: string(Own)}
		}
	}
	return nil
}

// DialContext connects to address, which is a host and a port, if and only if
// every address of the host is public. It is the DialContext of a transport.
func (g *Guard) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	if network != "tcp" && network != "tcp4" && network != "tcp6" {
		return nil, &RefusedError{Host: address, Reason: ReasonNetwork}
	}
	if e, ok := g.exemption(address); ok {
		return g.dialExempt(ctx, address, e)
	}
	host, portText, err := net.SplitHostPort(address)
	if err != nil {
		return nil, &RefusedError{Host: address, Reason: ReasonPort}
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil || port == 0 {
		return nil, &RefusedError{Host: address, Reason: ReasonPort}
	}
	addrs, err := g.resolve(ctx, host)
	if err != nil {
		return nil, err
	}
	return g.dialAny(ctx, addrs, uint16(port))
}

// resolve returns the judged addresses of host.
func (g *Guard) resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	name, literal, err := CheckHost(host)
	if err != nil {
		return nil, err
	}
	addrs := []netip.Addr{literal}
	if !literal.IsValid() {
		// The dot keeps the search list of the machine out of the question.
		if addrs, err = g.o.Resolver.LookupNetIP(ctx, "ip", name+"."); err != nil {
			return nil, fmt.Errorf("netguard: resolve %s: %w", name, err)
		}
	}
	if len(addrs) == 0 {
		return nil, &RefusedError{Host: host, Reason: ReasonNothing}
	}
	for i, a := range addrs {
		if !literal.IsValid() && a.Is4In6() {
			a = a.Unmap() // resolvers write an A record in either form
		}
		if err := g.CheckAddr(a); err != nil {
			return nil, err
		}
		addrs[i] = a
	}
	return addrs, nil
}

func (g *Guard) dialAny(ctx context.Context, addrs []netip.Addr, port uint16) (net.Conn, error) {
	d := &net.Dialer{Timeout: g.o.Connect, KeepAlive: 30 * time.Second, Control: g.control}
	dial := g.o.dial(d)
	var failed []error
	for _, a := range addrs {
		conn, err := dial(ctx, "tcp", netip.AddrPortFrom(a, port).String())
		if err == nil {
			return conn, nil
		}
		failed = append(failed, err)
		if ctx.Err() != nil {
			break
		}
	}
	return nil, errors.Join(failed...)
}

// control judges the address the kernel is about to connect to.
func (g *Guard) control(network, address string, _ syscall.RawConn) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil || (network != "tcp4" && network != "tcp6") {
		return &RefusedError{Host: address, Reason: ReasonNetwork}
	}
	return g.CheckAddr(ap.Addr())
}

func (g *Guard) dialExempt(ctx context.Context, address string, e Exemption) (net.Conn, error) {
	d := &net.Dialer{Timeout: g.o.Connect}
	if e.Unix != "" {
		return g.o.dial(d)(ctx, "unix", e.Unix)
	}
	d.Control = func(_, dialled string, _ syscall.RawConn) error {
		if dialled != address {
			return &RefusedError{Host: dialled, Reason: ReasonExempted}
		}
		return nil
	}
	return g.o.dial(d)(ctx, "tcp", address)
}

func interfaceAddrs() ([]netip.Addr, error) {
	list, err := net.InterfaceAddrs()
	if err != nil {
		return nil, err
	}
	var out []netip.Addr
	for _, a := range list {
		if n, ok := a.(*net.IPNet); ok {
			if addr, ok := netip.AddrFromSlice(n.IP); ok {
				out = append(out, addr.Unmap())
			}
		}
	}
	return out, nil
}
