package gateway

import (
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"moeca/internal/audit"
	"moeca/internal/gateway/gate"
	"moeca/internal/session"
)

// flood opens connections, each with the beginning of a head, and keeps them.
func flood(t *testing.T, network, addr string, n int, head string) {
	t.Helper()
	var open []net.Conn
	t.Cleanup(func() {
		for _, c := range open {
			_ = c.Close()
		}
	})
	for range n {
		c, err := net.Dial(network, addr)
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, c)
		_, _ = io.WriteString(c, head) // may be closed already
	}
}

func TestFloodOfConnectionsIsBounded(t *testing.T) {
	r := newRig(t, Limits{DenialSeconds: 1}, session.Scope{})
	other, _, sock := r.mint(session.Scope{Upstreams: []string{"tool"}}, true)
	before := runtime.NumGoroutine()
	const n = 3000
	flood(t, "unix", r.sock, n, "GET / HTTP/1.1\r\nX: "+strings.Repeat("a", 4000))
	r.until("connections are not bounded", func() bool { return runtime.NumGoroutine() < before+300 })
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	if m.HeapInuse > 64<<20 {
		t.Errorf("%d MiB in use", m.HeapInuse>>20)
	}
	for range 3 {
		resp, body := r.do(socketClient(sock), "POST", "http://g/tool/x", "{}")
		if resp.StatusCode != http.StatusOK {
			t.Fatalf("another session: %d %s", resp.StatusCode, body)
		}
	}
	if resp, body := r.post("/tool/x", "{}"); resp.StatusCode != http.StatusOK {
		t.Errorf("its own new connection: %d %s", resp.StatusCode, body)
	}
	r.until("no row of the flood", func() bool {
		turned := 0
		for _, row := range r.all() {
			if row.Reason == ReasonConnections && row.Attribution.Session == r.sandbox.ID {
				turned += denied(row)
			}
		}
		return turned > n-64
	})
	for _, row := range r.all() {
		if row.Kind == audit.KindRefusal && row.Attribution.Session == other.ID {
			t.Errorf("%+v", row)
		}
	}
	if rows := len(r.all()); rows > 60 {
		t.Errorf("%d rows", rows)
	}
}

// Connections that send nothing, or half a head, or a head whose body never
// comes, do not keep a client with a session out.
func TestStrangersCannotKeepClientsOut(t *testing.T) {
	for name, head := range map[string]string{
		"silent": "", "slow head": "GET / HTTP/1.1\r\nX", "no body": "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, Limits{ClientConns: 16}, session.Scope{})
			flood(t, "tcp", r.addr, 100, head)
			c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}
			for range 3 {
				resp, body := r.do(c, "POST", "http://"+r.addr+"/tool/x", "{}", "X-Moeca-Session", r.token)
				if resp.StatusCode != http.StatusOK {
					t.Fatalf("%d %s", resp.StatusCode, body)
				}
			}
		})
	}
}

// What serves a request is not dropped for what comes.
func TestDoorKeepsWhatIsBusy(t *testing.T) {
	full := 0
	d := newDoor(2, func() { full++ })
	in := func() *conn {
		a, b := net.Pipe()
		t.Cleanup(func() { _ = a.Close(); _ = b.Close() })
		return &conn{Conn: a, door: d}
	}
	first, second, third, fourth := in(), in(), in(), in()
	if !d.enter(first) || !d.enter(second) || full != 0 {
		t.Fatal("there was room")
	}
	first.serves()
	if !d.enter(third) || full != 1 || !second.refused {
		t.Fatal("the one that sent nothing does not make room")
	}
	third.serves()
	if d.enter(fourth) || full != 2 {
		t.Fatal("a busy one was dropped")
	}
	first.rest()
	if !d.enter(fourth) || !first.refused {
		t.Fatal("one at rest does not make room")
	}
	_ = third.Close()
	if len(d.open) != 1 {
		t.Fatalf("%d open, want the fourth", len(d.open))
	}
}

func TestHeadsOfStrangersAreSmall(t *testing.T) {
	r := newRig(t, Limits{}, session.Scope{})
	if answer := r.raw("tcp", r.addr, "GET / HTTP/1.1\r\nX: "+strings.Repeat("a", 20<<10)+"\r\n\r\n"); !strings.HasPrefix(answer, "431") {
		t.Errorf("%.80q", answer)
	}
	c := scanAll("GET / HTTP/1.1\r\nX: "+strings.Repeat("a", 60<<10), 7)
	if cap(c.head.line) > 4*maxLine {
		t.Errorf("%d bytes kept of a line", cap(c.head.line))
	}
}

func TestOneSessionCannotHoldEveryConnection(t *testing.T) {
	r := newRig(t, Limits{SessionConns: 2}, session.Scope{})
	_, other, _ := r.mint(session.Scope{Upstreams: []string{"tool"}}, false)
	release := make(chan struct{})
	reached := make(chan struct{}, 2)
	r.answers(func(_ http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/slow" {
			reached <- struct{}{}
			<-release
		}
	})
	url := "http://" + r.addr
	answered := make(chan int, 2)
	for range 2 {
		go func() {
			resp, _ := r.do(http.DefaultClient, "POST", url+"/tool/slow", "{}", "X-Moeca-Session", r.token)
			answered <- resp.StatusCode
		}()
	}
	<-reached
	<-reached
	for _, body := range []string{"{}", ""} {
		if resp, text := r.do(http.DefaultClient, "POST", url+"/tool/x", body, "X-Moeca-Session", r.token); resp.StatusCode != http.StatusTooManyRequests || !strings.Contains(text, gate.ReasonBusy) {
			t.Errorf("a third request: %d %s", resp.StatusCode, text)
		}
	}
	if resp, text := r.do(http.DefaultClient, "POST", url+"/tool/x", "{}", "X-Moeca-Session", other); resp.StatusCode != http.StatusOK {
		t.Errorf("another session: %d %s", resp.StatusCode, text)
	}
	close(release)
	if a, b := <-answered, <-answered; a != http.StatusOK || b != http.StatusOK {
		t.Errorf("%d %d", a, b)
	}
	if resp, text := r.do(http.DefaultClient, "POST", url+"/tool/x", "{}", "X-Moeca-Session", r.token); resp.StatusCode != http.StatusOK {
		t.Errorf("after their end: %d %s", resp.StatusCode, text)
	}
}
