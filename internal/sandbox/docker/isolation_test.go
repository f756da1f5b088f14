package docker

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"moeca/internal/sandbox"
)

// TestNothingIsReachable starts every listener an engine could put in a
// sandbox's way, shows that each answers from where it should, and then tries
// all of them, and names, from a sandbox.
func TestNothingIsReachable(t *testing.T) {
	b := newBed(t)
	bridge := bridgeAddress(t, b.driver)
	tcp, udp := hostListeners(t)
	service := startProbe(t, b)
	sibling := serviceAddress(t, b, service)
	published := service.Address(8080).String()
	get(t, "http://"+published) // positive control: the service does answer

	targets := []string{
		"tcp", net.JoinHostPort(bridge, tcp), "tcp", "127.0.0.1:" + tcp, "udp", net.JoinHostPort(bridge, udp),
		"tcp", sibling + ":8080", "tcp", published,
		"tcp", "127.0.0.11:53", "udp", "127.0.0.11:53",
		"tcp", "169.254.169.254:80", "tcp", "192.0.2.1:80",
		"tcp", "[fe80::1%lo]:" + tcp, "udp", "255.255.255.255:9",
		"tcp", net.JoinHostPort(bridge, "2375"), "unix", "/var/run/docker.sock",
	}
	for _, addr := range hostAddresses(t) {
		targets = append(targets, "tcp", net.JoinHostPort(addr, tcp))
	}
	control(t, net.JoinHostPort(bridge, tcp))

	box, out := started(t, b.driver, b.spec(t, "net", sandbox.Base), command(append([]string{"/work/probe", "dial"}, targets...)...))
	if exit := wait(t, box); exit.Cause != sandbox.CauseDone {
		t.Fatalf("%+v\n%s", exit, out)
	}
	judge(t, out.String(), len(targets)/2)

	names := []string{"canary.moeca.invalid", "host.docker.internal", service.name, hostName(t)}
	box, out = started(t, b.driver, b.spec(t, "dns", sandbox.Base), command(append([]string{"/work/probe", "lookup"}, names...)...))
	if exit := wait(t, box); exit.Cause != sandbox.CauseDone {
		t.Fatalf("%+v\n%s", exit, out)
	}
	judge(t, out.String(), len(names))
}

// judge wants every attempt blocked, and as many as were made.
func judge(t *testing.T, out string, want int) {
	t.Helper()
	if strings.Contains(out, "REACHED") || strings.Count(out, "blocked ") != want {
		t.Fatalf("from inside a sandbox (want %d blocked):\n%s", want, out)
	}
}

// bridgeAddress is the host's own address on the engine's default bridge.
func bridgeAddress(t *testing.T, d *Driver) string {
	t.Helper()
	n, err := d.api.NetworkInspect(t.Context(), "bridge", client.NetworkInspectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(n.Network.IPAM.Config) == 0 {
		t.Fatalf("the default bridge has no address: %+v", n.Network.IPAM)
	}
	return n.Network.IPAM.Config[0].Subnet.Addr().Next().String()
}

// hostListeners answer on every address of this machine and return their ports.
func hostListeners(t *testing.T) (tcp, udp string) {
	t.Helper()
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			conn.Close()
		}
	}()
	p, err := net.ListenPacket("udp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	go func() {
		buf := make([]byte, 16)
		for {
			_, from, err := p.ReadFrom(buf)
			if err != nil {
				return
			}
			p.WriteTo([]byte("y"), from)
		}
	}()
	_, tcp, _ = net.SplitHostPort(l.Addr().String())
	_, udp, _ = net.SplitHostPort(p.LocalAddr().String())
	return tcp, udp
}

func hostAddresses(t *testing.T) []string {
	t.Helper()
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil {
			out = append(out, n.IP.String())
		}
	}
	return out
}

// control shows from the host that a listener answers, so that "blocked" means
// something.
func control(t *testing.T, addr string) {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatalf("the listener does not answer from the host: %v", err)
	}
	conn.Close()
}

func startProbe(t *testing.T, b *bed) *RunningService {
	t.Helper()
	s, err := b.driver.StartService(t.Context(), probeService(t, b))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func probeService(t *testing.T, b *bed) Service {
	t.Helper()
	return Service{
		Name: "probe", Owner: b.owner, Binary: probeBinary(t), Args: []string{"serve", ":8080"},
		UID: sandbox.GatewayUID, GID: sandbox.GatewayUID, Groups: []int{sandbox.SocketGID}, Ports: []uint16{8080},
	}
}

// serviceAddress is the service's own address on its network.
func serviceAddress(t *testing.T, b *bed, s *RunningService) string {
	t.Helper()
	c, err := b.driver.api.ContainerInspect(t.Context(), s.ID(), client.ContainerInspectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	endpoint := c.Container.NetworkSettings.Networks[upstreamName(b.owner)]
	if endpoint == nil || !endpoint.IPAddress.IsValid() {
		t.Fatalf("the service has no address on its network: %+v", c.Container.NetworkSettings.Networks)
	}
	return endpoint.IPAddress.String()
}

// get asks until the service listens; the engine publishes the port before the
// process has opened it.
func get(t *testing.T, url string) string {
	t.Helper()
	var last error
	for t.Context().Err() == nil {
		resp, err := http.Get(url)
		if err != nil {
			last = err
			time.Sleep(5 * time.Millisecond)
			continue
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatal(err, resp.Status)
		}
		return string(body)
	}
	t.Fatal(fmt.Errorf("no answer: %w", last))
	return ""
}

func hostName(t *testing.T) string {
	t.Helper()
	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	return name
}
