package process

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/landlock-lsm/go-landlock/landlock"
	llsys "github.com/landlock-lsm/go-landlock/landlock/syscall"
)

// restrict confines this process, for good, to its own directories and to the
// files a resolver and TLS read. Network is left to the dialer: upstreams are
// configuration that may change. It says what the kernel enforces.
func restrict(c Config) (string, error) {
	abi, err := llsys.LandlockGetABIVersion()
	if err != nil || abi < 1 {
		return "not supported by this kernel", nil
	}
	own := []string{c.auditDir(), filepath.Dir(c.AdminSocket), filepath.Dir(c.AppendSocket), filepath.Dir(c.EndpointsFile), c.SocketTop}
	if c.ScriptedSocket != "" {
		own = append(own, filepath.Dir(c.ScriptedSocket))
	}
	rules := []landlock.Rule{landlock.RWDirs(own...).WithRefer()}
	system := landlock.RODirs("/etc/ssl", "/etc/pki", "/etc/ca-certificates", "/usr/share/ca-certificates", "/usr/share/zoneinfo", "/run/systemd/resolve").IgnoreIfMissing()
	files := landlock.ROFiles("/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/services", "/etc/protocols", "/etc/localtime", "/dev/null", "/proc/sys/net/core/somaxconn").IgnoreIfMissing()
	if err := landlock.V5.BestEffort().RestrictPaths(append(rules, system, files)...); err != nil {
		return "", err
	}
	if _, err := os.ReadDir(c.auditDir()); err != nil {
		return "", fmt.Errorf("own log directory became unreadable: %w", err)
	}
	return fmt.Sprintf("enforced, ABI %d", abi), nil
}
