// Package ci runs a repository's gate on the exact tree a merge would produce.
//
// The tree is checked out fresh into a directory of its own and a command stage
// runs on it in a sandbox: no gateway socket, no network, an environment that is
// an exact list per image policy (Environment), scratch in memory. Nothing of
// the task's own tree is used, so nothing an agent left outside the result tree
// can colour the verdict.
//
// What a result is bound to: the result tree, the gate's hash (Gate.Hash covers
// the definition and the environment it runs in), and the digest of the image.
// The caller adds target and head.
//
// A gate is a test, not a proof: code under test can end its own test process
// early. What a person must look at is therefore named: every gate file the
// result changes against the base (Comparison).
//
// Runner is safe for concurrent use. It stores nothing but the log file.
package ci

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"moeca/internal/sandbox"
)

// Gate is the definition of a gate: an argument vector, never a shell string.
type Gate struct {
	Policy  string   `json:"policy"`
	Argv    []string `json:"argv"`
	Timeout int      `json:"timeout_seconds"`
}

// Bounds and defaults of a gate.
const (
	DefaultPolicy  = sandbox.Poly
	DefaultTimeout = 10 * 60     // seconds
	MaxTimeout     = 2 * 60 * 60 // seconds
	maxArgv        = 256
	maxArgvBytes   = 64 << 10
)

// hashVersion is part of every gate hash; it changes when what a gate hash
// covers does, or what counts as a gate file: a green of an older rule is stale.
const hashVersion = 2

// Normal returns g with defaults filled in, or why it cannot be a gate.
func (g Gate) Normal() (Gate, error) {
	if g.Policy == "" {
		g.Policy = DefaultPolicy
	}
	if g.Timeout == 0 {
		g.Timeout = DefaultTimeout
	}
	if _, err := sandbox.PolicyByName(g.Policy); err != nil {
		return Gate{}, fmt.Errorf("ci: %w", err)
	}
	if _, ok := environments[g.Policy]; !ok {
		return Gate{}, fmt.Errorf("ci: policy %q runs no gates", g.Policy)
	}
	if g.Timeout < 0 || g.Timeout > MaxTimeout {
		return Gate{}, fmt.Errorf("ci: a gate's time limit is between 1 and %d seconds", MaxTimeout)
	}
	var size int
	for _, a := range g.Argv {
		size += len(a)
	}
	switch {
	case len(g.Argv) == 0 || g.Argv[0] == "":
		return Gate{}, errors.New("ci: a gate needs a command, given as a list of arguments")
	case len(g.Argv) > maxArgv || size > maxArgvBytes:
		return Gate{}, errors.New("ci: the gate's command is too long; put it into a script of the repository")
	case slices.ContainsFunc(g.Argv, func(a string) bool { return strings.ContainsRune(a, 0) }):
		return Gate{}, errors.New("ci: an argument holds a NUL byte")
	}
	g.Argv = slices.Clone(g.Argv)
	return g, nil
}

// Hash identifies the gate: SHA-256 over the definition, the policy's limits
// and the environment, in canonical JSON.
func (g Gate) Hash() (string, error) {
	g, err := g.Normal()
	if err != nil {
		return "", err
	}
	policy, err := sandbox.PolicyByName(g.Policy)
	if err != nil {
		return "", fmt.Errorf("ci: %w", err)
	}
	doc, err := json.Marshal(struct {
		Version int            `json:"version"`
		Gate    Gate           `json:"gate"`
		Policy  sandbox.Policy `json:"policy"`
		Env     []string       `json:"env"`
	}{hashVersion, g, policy, Environment(g.Policy)})
	if err != nil {
		return "", fmt.Errorf("ci: encode gate: %w", err)
	}
	sum := sha256.Sum256(doc)
	return hex.EncodeToString(sum[:]), nil
}

func (g Gate) timeout() time.Duration { return time.Duration(g.Timeout) * time.Second }

// Environment is the exact environment of a gate's process.
func Environment(policy string) []string { return slices.Clone(environments[policy]) }

// environments by policy. Tools find nothing outside the tree: no network, no
// module proxy, no registry, caches in memory. GOFLAGS leaves -mod alone so that
// a vendored repository builds; read-only is the tool's own default.
var environments = map[string][]string{
	sandbox.Base: {
		"CI=true", "HOME=/tmp", "LANG=C.UTF-8", "PATH=/", "TMPDIR=/tmp",
	},
	sandbox.Poly: {
		"CI=true", "HOME=/home/agent", "LANG=C.UTF-8",
		"PATH=/usr/local/go/bin:/usr/local/node/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"TMPDIR=/tmp", "XDG_CACHE_HOME=/home/agent/.cache",
		"GOCACHE=/home/agent/.cache/go-build", "GOFLAGS=-buildvcs=false", "GOMODCACHE=/home/agent/go/pkg/mod",
		"GOPATH=/home/agent/go", "GOPROXY=off", "GOSUMDB=off", "GOTELEMETRY=off", "GOTOOLCHAIN=local",
		"npm_config_audit=false", "npm_config_cache=/home/agent/.cache/npm", "npm_config_offline=true",
		"npm_config_update_notifier=false",
		"PIP_DISABLE_PIP_VERSION_CHECK=1", "PIP_NO_INDEX=1", "PYTHONDONTWRITEBYTECODE=1",
		"CARGO_HOME=/home/agent/.cargo", "CARGO_NET_OFFLINE=true",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
	},
}
