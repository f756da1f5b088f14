package netguard

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// answers is a resolver that gives the next list of its script each time.
type answers struct {
	lists [][]string
	asked []string
}

func (a *answers) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	a.asked = append(a.asked, host)
	if len(a.lists) == 0 {
		return nil, errors.New("no such host")
	}
	var out []netip.Addr
	for _, s := range a.lists[0] {
		out = append(out, netip.MustParseAddr(s))
	}
	a.lists = a.lists[1:]
	return out, nil
}

// recorder stands for the network: it runs Control as the real dialer does and
// then notes what would have been connected to.
type recorder struct{ dialled []string }

func (r *recorder) hook(d *net.Dialer) contextDialFunc {
	return func(_ context.Context, network, address string) (net.Conn, error) {
		if d.Control != nil {
			family := "tcp4"
			if strings.HasPrefix(address, "[") {
				family = "tcp6"
			}
			if err := d.Control(family, address, syscall.RawConn(nil)); err != nil {
				return nil, err
			}
		}
		r.dialled = append(r.dialled, network+" "+address)
		c, _ := net.Pipe()
		return c, nil
	}
}

func newGuard(lists ...[]string) (*Guard, *recorder, *answers) {
	rec, res := &recorder{}, &answers{lists: lists}
	return New(Options{
		Resolver: res,
		Own:      func() ([]netip.Addr, error) { return []netip.Addr{netip.MustParseAddr("93.184.216.99")}, nil },
		dial:     rec.hook,
	}), rec, res
}

func TestClasses(t *testing.T) {
	c := newClasses()
	cases := map[string]Class{
		"1.1.1.1": Public, "160.79.104.10": Public, "2606:4700::1111": Public, "2a00:1450:4001:801::200e": Public,
		"127.0.0.1": Loopback, "127.255.255.254": Loopback, "::1": Loopback,
		"0.0.0.0": Unspecified, "0.1.2.3": Unspecified, "::": Unspecified,
		"10.0.0.1": Private, "172.16.0.1": Private, "172.31.255.255": Private, "192.168.1.1": Private, "fd00::1": Private, "fec0::1": Private,
		"169.254.169.254": LinkLocal, "fe80::1": LinkLocal, "168.63.129.16": LinkLocal,
		"fd00:ec2::254": Private,
		"100.64.0.1":    SharedNAT, "100.127.255.255": SharedNAT, "100.100.100.200": SharedNAT,
		"224.0.0.1": Multicast, "239.255.255.250": Multicast, "ff02::1": Multicast,
		"240.0.0.1": Reserved, "255.255.255.255": Reserved, "198.18.0.1": Reserved, "192.0.2.1": Reserved, "203.0.113.9": Reserved,
		"192.0.0.192": Reserved, "192.88.99.1": Reserved, "2001:db8::1": Reserved, "3fff::1": Reserved, "100::1": Reserved, "4000::1": Reserved, "5f00::1": Reserved,
		"::ffff:127.0.0.1": Embedding, "::ffff:8.8.8.8": Embedding, "::127.0.0.1": Embedding, "::ffff:0:7f00:1": Embedding,
		"64:ff9b::7f00:1": Embedding, "64:ff9b:1::7f00:1": Embedding, "2002:7f00:1::": Embedding, "2001:0:4136:e378:8000:63bf:3fff:fdd2": Embedding,
		"2606:4700::5efe:7f00:1": Embedding, "2606:4700::200:5efe:a00:1": Embedding,
		"fe80::1%eth0": Zoned, "2606:4700::1%1": Zoned,
	}
	for text, want := range cases {
		if got := c.of(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s is %q, want %q", text, got, want)
		}
	}
	if got := c.of(netip.Addr{}); got == Public {
		t.Error("no address is public")
	}
}

func TestHostSpellings(t *testing.T) {
	cases := map[string]string{ // host → reason, empty = accepted
		"api.anthropic.com": "", "API.Anthropic.COM": "", "xn--bcher-kva.example": "", "1.1.1.1": "", "2606:4700::1111": "",
		"a.1b": "", "_dmarc.example.com": "",
		"": ReasonEmpty, strings.Repeat("a.", 127) + "aa": ReasonLong,
		"2130706433": ReasonSpelled, "017700000001": ReasonSpelled, "0x7f000001": ReasonSpelled, "0x7F.1": ReasonSpelled,
		"0177.0.0.1": ReasonSpelled, "127.1": ReasonSpelled, "127.0.0.01": ReasonSpelled, "0x": ReasonSpelled, "1.2.3.4.5": ReasonSpelled,
		"127.0.0.256": ReasonSpelled, "foo.0x1": ReasonSpelled, "foo.9": ReasonSpelled, "1:2": ReasonSpelled, "[::1]": ReasonSpelled,
		"fe80::1%eth0": ReasonZone, "ex%61mple.com": ReasonZone,
		"example.com.": ReasonDot, "127.0.0.1.": ReasonDot, "a..b": ReasonDot, ".a.b": ReasonDot, ".": ReasonDot,
		"127。0。0。1": ReasonChars, "127．0．0．1": ReasonChars, "①.1.1.1": ReasonChars, "exa mple.com": ReasonChars, "a\x00.com": ReasonChars,
		"exämple.com": ReasonChars, "a/b.com": ReasonChars, "a@b.com": ReasonChars, "-a.com": ReasonChars, "a\\b.com": ReasonChars,
		"localhost": ReasonAlias, "LOCALHOST": ReasonAlias, "foo.localhost": ReasonAlias, "localhost.localdomain": ReasonAlias,
		"host.docker.internal": ReasonAlias, "gateway.docker.internal": ReasonAlias, "host.containers.internal": ReasonAlias,
		"host.lima.internal": ReasonAlias, "metadata.google.internal": ReasonAlias, "instance-data": ReasonAlias, "metadata": ReasonAlias,
		"docker.for.mac.localhost": ReasonAlias, "printer.local": ReasonAlias, "router.lan": ReasonAlias, "demo.invalid": ReasonAlias,
		"kubernetes.default.svc.cluster.local": ReasonAlias, "ip6-localhost": ReasonAlias, "1.0.0.127.in-addr.arpa": ReasonAlias,
	}
	for host, want := range cases {
		_, _, err := CheckHost(host)
		var refused *RefusedError
		switch {
		case want == "" && err != nil:
			t.Errorf("%q refused: %v", host, err)
		case want != "" && (!errors.As(err, &refused) || refused.Reason != want):
			t.Errorf("%q: %v, want %q", host, err, want)
		}
	}
}

func TestDialRefusesEveryBadAnswer(t *testing.T) {
	for name, list := range map[string][]string{
		"loopback": {"127.0.0.1"}, "metadata": {"169.254.169.254"}, "private after public": {"1.1.1.1", "10.0.0.1"},
		"NAT64": {"64:ff9b::a00:1"}, "own interface": {"93.184.216.99"}, "nothing": {}, "mapped loopback": {"::ffff:127.0.0.1"},
	} {
		g, rec, _ := newGuard(list)
		var refused *RefusedError
		if _, err := g.DialContext(t.Context(), "tcp", "evil.example.com:443"); !errors.As(err, &refused) {
			t.Errorf("%s: %v", name, err)
		}
		if len(rec.dialled) != 0 {
			t.Errorf("%s: dialled %v", name, rec.dialled)
		}
	}
}

func TestRebindingChangesNothing(t *testing.T) {
	g, rec, res := newGuard([]string{"1.1.1.1"}, []string{"127.0.0.1"})
	if _, err := g.DialContext(t.Context(), "tcp", "rebind.example.com:443"); err != nil {
		t.Fatal(err)
	}
	if len(rec.dialled) != 1 || rec.dialled[0] != "tcp 1.1.1.1:443" {
		t.Fatalf("dialled %v", rec.dialled)
	}
	if len(res.asked) != 1 || res.asked[0] != "rebind.example.com." {
		t.Fatalf("asked %v: once, and without a search list", res.asked)
	}
	if _, err := g.DialContext(t.Context(), "tcp", "rebind.example.com:443"); err == nil {
		t.Fatal("the second answer was dialled")
	}
}

func TestControlJudgesTheKernelsAddress(t *testing.T) {
	g, _, _ := newGuard()
	for _, address := range []string{"127.0.0.1:80", "[::ffff:10.0.0.1]:80", "[fe80::1%lo]:80", "nonsense", "93.184.216.99:443"} {
		if err := g.control("tcp4", address, nil); err == nil {
			t.Errorf("%s passed", address)
		}
	}
	if err := g.control("udp4", "1.1.1.1:53", nil); err == nil {
		t.Error("udp passed")
	}
	if err := g.control("tcp4", "1.1.1.1:443", nil); err != nil {
		t.Error(err)
	}
}

func TestExemptionsAreExact(t *testing.T) {
	g, rec, _ := newGuard()
	sock := filepath.Join(t.TempDir(), "s")
	if err := g.SetExempt(map[string]Exemption{"demo.unix:80": {Unix: sock}, "127.0.0.1:11434": {}}); err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{"demo.unix:80", "127.0.0.1:11434"} {
		if _, err := g.DialContext(t.Context(), "tcp", address); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
	if len(rec.dialled) != 2 || rec.dialled[0] != "unix "+sock || rec.dialled[1] != "tcp 127.0.0.1:11434" {
		t.Fatalf("dialled %v", rec.dialled)
	}
	for _, address := range []string{"127.0.0.1:11435", "127.0.0.2:11434", "localhost:11434", "[::1]:11434", "[::ffff:127.0.0.1]:11434", "demo.unix:81", "DEMO.unix:80"} {
		if _, err := g.DialContext(t.Context(), "tcp", address); err == nil {
			t.Errorf("%s passed beside an exemption", address)
		}
	}
	for name, set := range map[string]map[string]Exemption{
		"public": {"1.1.1.1:80": {}}, "metadata": {"169.254.169.254:80": {}}, "metadata in private space": {"[fd00:ec2::254]:80": {}}, "a name": {"localhost:80": {}}, "no port": {"127.0.0.1": {}},
		"mapped": {"[::ffff:127.0.0.1]:80": {}}, "relative socket": {"x:80": {Unix: "run/s"}}, "dirty socket": {"x:80": {Unix: "/run/../s"}},
	} {
		if err := g.SetExempt(set); err == nil {
			t.Errorf("%s was exempted", name)
		}
	}
	if !g.Exempted("demo.unix:80") {
		t.Error("a refused set replaced the old one")
	}
}

func TestOtherNetworksAndPorts(t *testing.T) {
	g, rec, _ := newGuard([]string{"1.1.1.1"}, []string{"1.1.1.1"}, []string{"1.1.1.1"})
	for network, address := range map[string]string{"udp": "example.com:53", "unix": "/run/docker.sock", "tcp": "example.com:0", "tcp4": "example.com", "tcp6": "example.com:http"} {
		if _, err := g.DialContext(t.Context(), network, address); err == nil {
			t.Errorf("%s %s passed", network, address)
		}
	}
	if len(rec.dialled) != 0 {
		t.Fatal(rec.dialled)
	}
}

func TestProxyEnvironmentIsIgnored(t *testing.T) {
	t.Setenv("HTTPS_PROXY", "http://127.0.0.1:3128")
	t.Setenv("ALL_PROXY", "socks5://127.0.0.1:1080")
	g, rec, _ := newGuard([]string{"1.1.1.1"})
	if _, err := g.DialContext(t.Context(), "tcp", "example.com:443"); err != nil {
		t.Fatal(err)
	}
	if rec.dialled[0] != "tcp 1.1.1.1:443" {
		t.Fatal(rec.dialled)
	}
}

func TestRealInterfacesAreRead(t *testing.T) {
	own, err := interfaceAddrs()
	if err != nil || len(own) == 0 {
		t.Fatalf("%v, %v", own, err)
	}
}

func FuzzCheckHost(f *testing.F) {
	for _, s := range []string{"api.anthropic.com", "127.0.0.1", "0x7f.1", "::1", "fe80::1%lo", "a.", "127。0。0。1", "localhost", "017.1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, host string) {
		canonical, literal, err := CheckHost(host)
		if err != nil {
			return
		}
		again, _, err := CheckHost(canonical)
		if err != nil || again != canonical {
			t.Fatalf("%q → %q → %q, %v: not canonical", host, canonical, again, err)
		}
		for i := range len(canonical) {
			if c := canonical[i]; c <= ' ' || c > '~' {
				t.Fatalf("%q holds byte %#x", canonical, c)
			}
		}
		if !literal.IsValid() && endsInNumber(strings.Split(canonical, ".")) {
			t.Fatalf("%q would be read as an address", canonical)
		}
	})
}

func FuzzClass(f *testing.F) {
	f.Add([]byte{127, 0, 0, 1})
	f.Add(netip.MustParseAddr("::ffff:10.0.0.1").AsSlice())
	f.Fuzz(func(t *testing.T, b []byte) {
		addr, ok := netip.AddrFromSlice(b)
		if !ok {
			return
		}
		if newClasses().of(addr) != Public {
			return
		}
		if addr.IsLoopback() || addr.IsPrivate() || addr.IsLinkLocalUnicast() || addr.IsMulticast() || addr.IsUnspecified() || addr.Is4In6() {
			t.Fatalf("%s is public", addr)
		}
	})
}

func TestDenylistIsJudgedWhereANameResolves(t *testing.T) {
	g := New(Options{
		Own: func() ([]netip.Addr, error) { return nil, nil }, Denied: []netip.Prefix{netip.MustParsePrefix("1.2.3.0/24"), netip.MustParsePrefix("2606:4700::/32")},
	})
	for addr, want := range map[string]string{"1.2.3.4": ReasonDenied, "1.2.4.4": "", "2606:4700::1": ReasonDenied, "2606:4800::1": ""} {
		var refused *RefusedError
		err := g.CheckAddr(netip.MustParseAddr(addr))
		if errors.As(err, &refused) != (want != "") || refused != nil && refused.Reason != want {
			t.Errorf("%s: %v", addr, err)
		}
	}
}
