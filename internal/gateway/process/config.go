// Package process is the gateway as a process: its configuration, its parts in
// dependency order, its listeners, and its end. cmd/moeca-gateway and the
// end-to-end tests start the same Run.
//
// Order of a start: restrict this process (Landlock), lock and open the audit
// log, build the parts, bind the sockets, record the start, write the endpoints
// file, serve. The log's lock makes sure that no second gateway uses the same
// directory, so a socket file found where ours belongs is a leftover and is
// removed. The end goes the other way: sessions are cut and settled before the
// log is closed.
//
// Keys are not configuration: the host pushes them through the admin listener
// after the start, and they live in memory only. The process reads no
// environment and needs nothing of the system but the paths of its
// configuration, so that it runs from an empty container image.
package process

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"

	"moeca/internal/audit"
	"moeca/internal/gateway"
	"moeca/internal/gateway/admin"
	"moeca/internal/gateway/gate"
)

// Config is the configuration file: one JSON object, unknown keys refused.
// All paths are absolute.
type Config struct {
	// Data is the data directory. The gateway uses Data/audit and nothing else
	// of it: a container sees no more, and Landlock allows no more.
	Data string `json:"data"`
	// AdminSocket and AppendSocket are bound with mode 0600.
	AdminSocket  string `json:"admin_socket"`
	AppendSocket string `json:"append_socket"`
	// Listen is the loopback address of token clients, with port 0 for any.
	Listen string `json:"listen"`
	// Published says that Listen is inside a container whose port the engine
	// publishes on the host's loopback address: it may then be 0.0.0.0, and
	// clients may use another port in their Host header.
	Published bool `json:"published,omitempty"`
	// EndpointsFile is written with mode 0600 once all listeners are bound.
	EndpointsFile string `json:"endpoints_file"`
	// AdminTokenHash is SHA-256 of the admin bearer in hex.
	AdminTokenHash    string             `json:"admin_token_hash"`
	AppendCredentials []AppendCredential `json:"append_credentials,omitempty"`
	// SocketGID is the group of sandbox sockets; 0 or less leaves it.
	SocketGID int `json:"socket_gid"`
	// SocketTop is the directory all sandbox socket directories are below.
	// Empty: the directory of the admin socket where Landlock is on, else any.
	SocketTop string `json:"socket_top,omitempty"`
	// ScriptedSocket is where moeca-scripted listens; it becomes upstream demo.
	ScriptedSocket string         `json:"scripted_socket,omitempty"`
	Limits         gateway.Limits `json:"limits"`
	// DenyNetworks are hosts that no upstream may lead to: a name, .suffix, an
	// address or a prefix. Addresses are judged again when a name resolves.
	DenyNetworks []string `json:"deny_networks,omitempty"`
	// Landlock restricts the process to its own directories, as far as the
	// kernel can; Health says how far.
	Landlock bool `json:"landlock"`
	// ParentPID ends the gateway when that process is gone; 0 = never.
	ParentPID int `json:"parent_pid"`
	// LeaseSeconds ends the gateway when nobody has used its admin socket for
	// that long; 0 = never. It stands in for ParentPID where the gateway cannot
	// see its host's process, so that keys do not outlive a host that was killed.
	LeaseSeconds int `json:"lease_seconds,omitempty"`
}

// AppendCredential lets somebody append rows of some kinds.
type AppendCredential struct {
	Name   string   `json:"name"`
	Source string   `json:"source"` // host or registry
	Hash   string   `json:"hash"`   // SHA-256 of the credential in hex
	Kinds  []string `json:"kinds"`
}

func (c Config) auditDir() string { return filepath.Join(c.Data, "audit") }

// Endpoints is the content of the endpoints file.
type Endpoints struct {
	Address string `json:"address"` // of token clients, host:port
	PID     int    `json:"pid"`
}

// Load reads and checks a configuration file.
func Load(path string) (Config, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return Config{}, fmt.Errorf("gateway: read configuration: %w", err)
	}
	c := Config{SocketGID: -1}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		return Config{}, fmt.Errorf("gateway: configuration %s: %w", path, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Config{}, fmt.Errorf("gateway: configuration %s: data after the object", path)
	}
	if err := c.Check(); err != nil {
		return Config{}, fmt.Errorf("gateway: configuration %s: %w", path, err)
	}
	return c, nil
}

// Check refuses what cannot work.
func (c Config) Check() error {
	paths := map[string]string{"data": c.Data, "admin_socket": c.AdminSocket, "append_socket": c.AppendSocket, "endpoints_file": c.EndpointsFile}
	if c.SocketTop != "" {
		paths["socket_top"] = c.SocketTop
	}
	if c.ScriptedSocket != "" {
		paths["scripted_socket"] = c.ScriptedSocket
	}
	for key, path := range paths {
		if !filepath.IsAbs(path) || filepath.Clean(path) != path {
			return fmt.Errorf("%s: %q is not an absolute clean path", key, path)
		}
	}
	listen, err := netip.ParseAddrPort(c.Listen)
	if err != nil {
		return fmt.Errorf("listen: %q is not an address and a port", c.Listen)
	}
	if !listen.Addr().IsLoopback() && !(c.Published && listen.Addr().IsUnspecified()) {
		return fmt.Errorf("listen: %s is not a loopback address", c.Listen)
	}
	if _, err := parseHash(c.AdminTokenHash); err != nil {
		return fmt.Errorf("admin_token_hash: %w", err)
	}
	if _, err := gate.ParseNetworks(c.DenyNetworks); err != nil {
		return fmt.Errorf("deny_networks: %w", err)
	}
	_, err = c.credentials()
	return err
}

// credentials converts the append credentials.
func (c Config) credentials() ([]admin.Credential, error) {
	var out []admin.Credential
	for _, a := range c.AppendCredentials {
		hash, err := parseHash(a.Hash)
		if err != nil {
			return nil, fmt.Errorf("append_credentials %s: hash: %w", a.Name, err)
		}
		source, err := audit.ParseSource(a.Source)
		if err != nil {
			return nil, fmt.Errorf("append_credentials %s: %w", a.Name, err)
		}
		cred := admin.Credential{Name: a.Name, Source: source, Hash: hash}
		for _, k := range a.Kinds {
			kind, err := audit.ParseKind(k)
			if err != nil {
				return nil, fmt.Errorf("append_credentials %s: %w", a.Name, err)
			}
			cred.Kinds = append(cred.Kinds, kind)
		}
		if err := cred.Check(); err != nil {
			return nil, err
		}
		out = append(out, cred)
	}
	return out, nil
}

func parseHash(s string) (h [32]byte, err error) {
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != len(h) {
		return h, errors.New("write SHA-256 as 64 hex digits")
	}
	return [32]byte(b), nil
}
