package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Question says what to try to reach. The targets are real: the test listens.
type Question struct {
	TCP     []string `json:"tcp"`     // host addresses
	Unix    []string `json:"unix"`    // socket paths that must not exist here
	Gateway string   `json:"gateway"` // socket that must answer
	Paths   []string `json:"paths"`   // host paths that must not exist here
}

// Facts is the answer. An attack's result starts with "blocked" or "reached".
type Facts struct {
	UID, GID   int
	Status     map[string]string // of /proc/self/status
	Env        []string
	Interfaces []string
	Routes     int
	Files      []string          // open descriptors
	Namespaces map[string]string // name → identity
	Writable   []string          // mount points a file could be made on
	Devices    []string          // names in /dev
	Limits     map[string]uint64
	Gateway    string // what the gateway socket answered
	Attacks    map[string]string
}

func gather(q Question) Facts {
	f := Facts{
		UID: unix.Getuid(), GID: unix.Getgid(),
		Status: status(), Env: environment(), Interfaces: interfaces(), Routes: routes(),
		Files: descriptors(), Namespaces: namespaces(), Writable: writable(), Devices: names("/dev"),
		Limits: limits(), Attacks: map[string]string{},
	}
	if q.Gateway != "" {
		f.Gateway = ask(q.Gateway)
	}
	for name, attempt := range attacks(q) {
		f.Attacks[name] = result(attempt())
	}
	return f
}

func result(err error) string {
	if err != nil {
		return "blocked: " + err.Error()
	}
	return "reached"
}

func status() map[string]string {
	data, _ := os.ReadFile("/proc/self/status")
	out := map[string]string{}
	for line := range strings.Lines(string(data)) {
		if k, v, ok := strings.Cut(line, ":"); ok {
			out[k] = strings.Join(strings.Fields(v), " ")
		}
	}
	return out
}

func environment() []string {
	data, _ := os.ReadFile("/proc/self/environ")
	return strings.Split(strings.TrimSuffix(string(data), "\x00"), "\x00")
}

func interfaces() []string {
	list, err := net.Interfaces()
	if err != nil {
		return []string{err.Error()}
	}
	var out []string
	for _, i := range list {
		out = append(out, i.Name)
	}
	return out
}

// routes counts the lines of the IPv4 table below its heading.
func routes() int {
	data, _ := os.ReadFile("/proc/net/route")
	return max(bytes.Count(data, []byte("\n"))-1, 0)
}

func descriptors() []string {
	var out []string
	for _, name := range names("/proc/self/fd") {
		to, err := os.Readlink("/proc/self/fd/" + name)
		// The runtime's own poller, the cpu quota it reads where a cgroup is
		// mounted, and the directory being read are not inherited.
		if err != nil || strings.HasPrefix(to, "anon_inode:") || strings.HasPrefix(to, "/sys/fs/cgroup/") || strings.HasSuffix(to, "/fd") {
			continue
		}
		out = append(out, name+" "+to)
	}
	return out
}

func namespaces() map[string]string {
	out := map[string]string{}
	for _, name := range []string{"cgroup", "ipc", "mnt", "net", "pid", "user", "uts"} {
		out[name], _ = os.Readlink("/proc/self/ns/" + name)
	}
	return out
}

// writable tries to make a file on every mount point.
func writable() []string {
	data, _ := os.ReadFile("/proc/self/mountinfo")
	var out []string
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(line)
		if len(fields) < 5 {
			continue
		}
		name := filepath.Join(fields[4], "probe-was-here")
		if f, err := os.Create(name); err == nil {
			f.Close()
			os.Remove(name)
			out = append(out, fields[4])
		}
	}
	slices.Sort(out)
	return out
}

func names(dir string) []string {
	entries, _ := os.ReadDir(dir)
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func limits() map[string]uint64 {
	out := map[string]uint64{}
	for name, which := range map[string]int{"nofile": unix.RLIMIT_NOFILE, "core": unix.RLIMIT_CORE} {
		var l unix.Rlimit
		if unix.Getrlimit(which, &l) == nil {
			out[name] = l.Max
		}
	}
	return out
}

// ask sends one request through a Unix socket.
func ask(socket string) string {
	client := http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", socket)
		},
	}}
	resp, err := client.Get("http://gateway/")
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1024))
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%d %s", resp.StatusCode, body)
}
